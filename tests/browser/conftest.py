"""A real JupyterLab with the built extension, and one Chromium for the whole run.

Run by ``make test-browser``, in an environment in which the wheel is installed.
"""

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
EXTENSION = Path(sys.prefix) / "share" / "jupyter" / "labextensions" / "nbresume"
SHOTS = Path(__file__).resolve().parents[2] / ".work" / "shots"
START_S = 90
IDLE = (
    "() => window.jupyterapp?.shell.currentWidget?.sessionContext"
    "?.session?.kernel?.status === 'idle'"
)


@dataclass(frozen=True)
class Lab:
    """A JupyterLab that runs."""

    url: str
    token: str
    root: Path
    connections: Path
    """Where the connection files of its kernels lie."""


def environment(home):
    """Return variables by which a server keeps everything in one folder."""
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    return os.environ | {name: str(home / folder) for name, folder in own.items()}


def without_news(home):
    """Keep the question about news from covering the page."""
    folder = home / "settings" / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True)
    said = {"fetchNews": "false", "checkForUpdates": False}
    (folder / "notification.jupyterlab-settings").write_text(json.dumps(said))


def wait_until_up(port, process, log):
    """Wait until the server answers; fail with its log if it ended."""
    end = time.monotonic() + START_S
    while True:
        connection = HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/login")
            connection.getresponse()
        except OSError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)
        else:
            return
        finally:
            connection.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory):
    """Run JupyterLab over an empty folder."""
    assert (EXTENSION / "package.json").exists(), (
        f"the extension is not installed in {sys.prefix}: type make test-browser"
    )
    home = tmp_path_factory.mktemp("lab")
    root = home / "root"
    root.mkdir()
    without_news(home)
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    lab = Lab(f"http://127.0.0.1:{port}", secrets.token_hex(16), root, home / "runtime")
    log = home / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
                *("--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"),
                "--ServerApp.port_retries=0",
                f"--IdentityProvider.token={lab.token}",
                f"--ServerApp.root_dir={root}",
                "--LabApp.expose_app_in_browser=True",
            ],
            env=environment(home),
            cwd=root,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_up(port, process, log)
        yield lab
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


@pytest.fixture(scope="session")
def browser():
    """Start the system's Chromium."""
    assert CHROMIUM.exists(), (
        f"there is no {CHROMIUM}: type apt-get install chromium fonts-dejavu-core"
    )
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=str(CHROMIUM),
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        yield started
        started.close()


@pytest.fixture
def page(browser):
    """Return a page of a context of its own, with what its console said."""
    context = browser.new_context(
        viewport={"width": 1000, "height": 600}, locale="en-US"
    )
    page = context.new_page()
    page.set_default_timeout(20_000)
    page.said = []
    page.on("console", lambda m: page.said.append(f"{m.type}: {m.text}"))
    page.on("pageerror", lambda e: page.said.append(f"pageerror: {e}"))
    yield page
    context.close()


def write_notebook(path, *sources):
    """Write a notebook; a source that begins with ``#`` is Markdown."""
    cells = []
    for number, source in enumerate(sources):
        is_text = source.startswith("# ")
        cell = {"id": f"c{number}", "metadata": {}, "source": source}
        cell["cell_type"] = "markdown" if is_text else "code"
        if not is_text:
            cell |= {"outputs": [], "execution_count": None}
        cells.append(cell)
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    path.write_text(
        json.dumps(
            {
                "cells": cells,
                "metadata": {"kernelspec": spec},
                "nbformat": 4,
                "nbformat_minor": 5,
            }
        )
    )


@dataclass(frozen=True)
class Desk:
    """A notebook that is open beside the sidebar, as a person uses it."""

    page: Page
    lab: Lab
    name: str

    @property
    def sidebar(self):
        """The sidebar."""
        return self.page.get_by_role("region", name="Steps of the notebook")

    @property
    def headline(self):
        """The sentence at its head."""
        return self.sidebar.get_by_role("status")

    def open(self):
        """Open the notebook and the sidebar, and wait for the kernel."""
        self.page.goto(
            f"{self.lab.url}/lab/tree/{self.name}?token={self.lab.token}&reset"
        )
        self.page.locator(".jp-NotebookPanel:visible .jp-Notebook").wait_for()
        self.wait_idle()
        self.command("application:toggle-left-area")
        self.command("nbresume:show")
        expect(self.sidebar).to_be_visible()

    def wait_idle(self):
        """Wait until there is a kernel that is idle."""
        self.page.wait_for_function(IDLE, timeout=60_000)

    def turn_to(self, name, *sources):
        """Open another notebook in front of this one; a new one of these cells."""
        if sources:
            write_notebook(self.lab.root / name, *sources)
        self.command("docmanager:open", path=name)

    def command(self, name, **arguments):
        """Run a command of JupyterLab."""
        self.page.evaluate(
            "([name, given]) => window.jupyterapp.commands.execute(name, given)",
            [name, arguments],
        )

    def cell(self, place):
        """Return a cell by its place."""
        return self.page.locator(
            f".jp-Notebook .jp-Cell[data-windowed-list-index='{place}']"
        )

    def start(self, place):
        """Run a cell and do not wait for it."""
        self.cell(place).locator(".jp-InputPrompt").click(position={"x": 20, "y": 6})
        self.page.keyboard.press("Shift+Enter")

    def run(self, place):
        """Run a cell to its end."""
        self.start(place)
        prompt = self.cell(place).locator(".jp-InputPrompt")
        expect(prompt).to_have_text(re.compile(r"\[\d+\]:"))

    def step(self, name):
        """Return a step's row in the sidebar."""
        return self.sidebar.locator(f"[data-step='{name}']")

    def expect_states(self, **states):
        """Wait until the sidebar shows these states."""
        for name, state in states.items():
            expect(self.step(name)).to_have_attribute("data-state", state)

    def kill_kernel(self):
        """Kill the notebook's kernel as the system does when memory runs out."""
        kernel_id = self.page.evaluate(
            "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.id"
        )
        done = subprocess.run(
            ["pgrep", "-f", f"kernel-{kernel_id}"],
            capture_output=True,
            text=True,
            check=True,
        )
        for pid in done.stdout.split():
            os.kill(int(pid), signal.SIGKILL)
        told = self.page.get_by_role("dialog", name=re.compile("Kernel Restarting"))
        told.get_by_role("button", name="Ok").click()

    def stored(self):
        """Return what the command line says of the run: the store, not the page."""
        done = subprocess.run(
            [sys.executable, "-m", "nbresume", "status", self.name, "--json"],
            cwd=self.lab.root,
            env=environment(self.lab.connections.parent),
            capture_output=True,
            check=True,
        )
        return json.loads(done.stdout)

    def shoot(self, name):
        """Keep a picture for people; no test compares it."""
        expect(self.page.locator("#jupyterlab-splash")).to_have_count(0)
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")


@pytest.fixture
def desk(lab, page):
    """Return a function that opens a new notebook of these cells."""

    def opened(name, *sources) -> Desk:
        write_notebook(lab.root / name, *sources)
        desk = Desk(page, lab, name)
        desk.open()
        return desk

    yield opened
    shutil.rmtree(lab.root / ".nbresume", ignore_errors=True)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Leave a picture of a failed test, and what its console said."""
    report = (yield).get_result()
    page = item.funcargs.get("page")
    if report.when == "call" and report.failed and page is not None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SHOTS / f"failed-{item.name}.png")
        report.sections.append(("browser console", "\n".join(page.said)))
