"""A real JupyterLab with the built extension, and one Chromium for the whole run.

Run by ``make test-browser``, in an environment in which the wheel is installed.
"""

import os
import sys
from pathlib import Path

import pytest
from chromium import find_chromium
from desk import SHOTS, Desk, write_notebook
from playwright.sync_api import expect, sync_playwright
from serving import Lab

EXTENSION = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / "nbresume"
# long enough for a machine that does something else too
WAIT_MS = 30_000
FLAGS = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """Run JupyterLab over an empty folder."""
    assert (EXTENSION / "package.json").exists(), (
        f"the extension is not installed in {sys.prefix}: type make test-browser"
    )
    # one person at a time; test_sidebar_together.py is about two
    alone = "--YDocExtension.disable_rtc=True"
    lab = Lab(tmp_path_factory.mktemp("lab"), "jupyterlab", alone)
    lab.start()
    yield lab
    lab.stop()


@pytest.fixture(scope="session")
def chromium():
    """Give Playwright's launcher of the system's browser."""
    path = find_chromium(os.environ)
    with sync_playwright() as playwright:
        yield lambda: playwright.chromium.launch(executable_path=path, args=FLAGS)


@pytest.fixture(scope="session")
def browser(chromium):
    """Start the system's Chromium."""
    # of every test, whatever ran before it
    expect.set_options(timeout=WAIT_MS)
    started = chromium()
    yield started
    started.close()


@pytest.fixture(scope="session")
def window(browser):
    """One window for all tests: what it has loaded once it does not load again."""
    context = browser.new_context(
        viewport={"width": 1000, "height": 600}, locale="en-US"
    )
    context.set_default_timeout(WAIT_MS)
    yield context
    context.close()


def listened(page):
    """Keep what the page's console says in ``page.said``."""
    page.said = []
    page.on("console", lambda m: page.said.append(f"{m.type}: {m.text}"))
    page.on("pageerror", lambda e: page.said.append(f"pageerror: {e}"))
    return page


@pytest.fixture
def page(window):
    """Return a page of its own, with what its console said."""
    page = listened(window.new_page())
    yield page
    page.close()


@pytest.fixture
def desk(lab, page):
    """Return a function that opens a new notebook of these cells."""

    def opened(name, *sources) -> Desk:
        write_notebook(lab.root / name, *sources)
        desk = Desk(page, lab, name)
        desk.open()
        return desk

    yield opened
    # first the page, so that nothing of it asks for a kernel again
    page.close()
    lab.clear()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Leave a picture of a failed test, and what its console said."""
    report = (yield).get_result()
    page = item.funcargs.get("page")
    if report.when == "call" and report.failed and page is not None:
        report.sections.append(("browser console", "\n".join(page.said)))
        if not page.is_closed():
            SHOTS.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=SHOTS / f"failed-{item.name}.png")
