"""Take the pictures of docs/images anew: ``make screenshots``, about a minute.

The rule: every state is brought about as in the tests; nothing is drawn by hand.
"""

import json
from collections import defaultdict

import pytest
from desk import LOAD
from pictures import IMAGES, THEMES, read_taken, write_taken
from playwright.sync_api import Locator, expect

FETCH = """%%step fetch
rows = [(day, day * 7 % 5) for day in range(1000)]
print("1000 rows")"""
CLEAN = "%%step clean\nkept = {day: sold for day, sold in rows if sold}"
SLOW = """%%step train
import os, time
print("epoch 1")
while not os.path.exists("go"):
    time.sleep(0.1)
weekly = sum(kept.values()) / len(kept)"""
REPORT = "%%step report\nprint(f'{weekly:.1f} a day')"
LOOP = """%%step train
import os, time
from nbresume import resumable
total = 0
for day in resumable(kept, every=100, bar=False):
    while day > 420 and not os.path.exists("go"):
        time.sleep(0.1)
    total += kept[day]"""
POSTER = "%%step poster --when 'len(rows) > 5000'\nprint('too many')"
JUNE = "## the rows of June\nrows = [(day, day * 7 % 5) for day in range(1000)]"
SOLD = "kept = {day: sold for day, sold in rows if sold}"
WEEKLY = "weekly = sum(kept.values()) / len(kept)"
LAPTOP = "import socket\nsocket.gethostname = lambda: 'laptop'\n"
MAIL = "%%step mail --effects\nimport time\nprint('mailing')\ntime.sleep(120)"


@pytest.fixture(autouse=True, scope="session")
def _a_laptop(tmp_path_factory):
    """Let server and kernels take this machine for one of nobody: histories name it."""
    folder = tmp_path_factory.mktemp("laptop")
    (folder / "sitecustomize.py").write_text(LAPTOP)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder))
        patch.setenv("LOGNAME", "ada")
        yield


@pytest.fixture(autouse=True)
def _tall(page):
    """Make room, so that nothing has to be scrolled."""
    page.set_viewport_size({"width": 940, "height": 860})


class Camera:
    """Takes each picture in both themes, cut to what is to be seen."""

    def __init__(self) -> None:
        self.taken: dict[str, list[str]] = defaultdict(list)

    def take(self, at, view, name, what: Locator, *, upto: Locator | None = None):
        """Picture what is seen of one thing, down to the end of what it holds."""
        for theme in THEMES:
            # with a menu or a dialog open, nobody could reach the menu of themes
            at.page.evaluate(THEME, f"JupyterLab {theme.title()}")
            is_light = str(theme == "light").lower()
            body = at.page.locator("body")
            expect(body).to_have_attribute("data-jp-theme-light", is_light)
            file = f"{view}-{name}-{theme}.png"
            at.page.screenshot(
                path=IMAGES / file,
                clip=_clip(what, upto or what),
                animations="disabled",
                caret="hide",
            )
            self.taken[view].append(file)

    def sidebar(self, at, name, view="sidebar"):
        """Picture the sidebar."""
        at.page.mouse.move(300, 845)
        at.sidebar.evaluate("node => node.scrollTo(0, 0)")
        self.take(at, view, name, at.sidebar)

    def cells(self, at, name):
        """Picture the notebook, down to the step that was killed."""
        at.page.mouse.move(300, 845)
        self.take(at, "cells", name, at.panel.locator(".jp-Notebook"), upto=at.cell(3))


THEME = """theme =>
  window.jupyterapp.commands.execute('apputils:change-theme', { theme })"""
LOWEST = """node => Math.max(...[...node.querySelectorAll('*')]
  .filter(one => one.childElementCount === 0 && one.checkVisibility())
  .map(one => one.getBoundingClientRect().bottom))"""


def _clip(what: Locator, upto: Locator):
    box, margin = what.bounding_box(), 12
    bottom = min(box["y"] + box["height"], upto.evaluate(LOWEST) + margin)
    return box | {"height": bottom - box["y"]}


@pytest.fixture(scope="module")
def camera():
    """Take pictures, and say at the end of which files they are."""
    # other pictures are not ours: `make bench-curves` draws some
    for view in read_taken().values():
        for name in view["pictures"]:
            (IMAGES / name).unlink(missing_ok=True)
    camera = Camera()
    yield camera
    write_taken(camera.taken)


def test_from_the_beginning_to_the_end(desk, camera):
    """A run: not begun, running, killed, resumed, looked at, edited."""
    at = desk("sales.ipynb", LOAD, FETCH, CLEAN, SLOW, REPORT)
    expect(at.sidebar.get_by_role("button", name="Enable here")).to_be_visible()
    camera.sidebar(at, "begin")

    for place in (0, 1, 2):
        at.run(place)
    at.start(3)
    expect(at.output(3)).to_contain_text("epoch 1")
    at.expect_states(clean="COMMITTED", train="RUNNING")
    camera.sidebar(at, "running")
    camera.cells(at, "ran")

    at.save()
    at.kill_kernel()
    at.open()
    at.expect_states(clean="COMMITTED", train="INTERRUPTED")
    expect(at.step("train").get_by_role("button", name="Resume")).to_be_enabled()
    camera.sidebar(at, "resume-point")
    camera.cells(at, "locked")

    (at.lab.root / "go").touch()
    at.resume("train")
    at.expect_states(train="COMMITTED", report="COMMITTED")
    at.wait_idle()
    camera.sidebar(at, "resumed")
    camera.cells(at, "restored")
    at.sidebar.get_by_role("button", name="Dismiss").click()

    at.step("fetch").get_by_role("button", name="More").click()
    at.page.get_by_role("menu").wait_for()
    menu = at.page.get_by_role("menu")
    camera.take(at, "sidebar", "menu", at.sidebar, upto=menu)
    at.choose("Inspect what it stored")
    details = at.sidebar.locator(".jp-nbresume-details")
    expect(details).to_contain_text("rows")
    camera.sidebar(at, "stored", "details")
    details.get_by_role("button", name="Close").click()

    at.edit(3, "Control+End", " * 7")
    at.save()
    at.expect_states(train="STALE")
    camera.sidebar(at, "stale")
    at.sidebar.get_by_role("button", name="Plan").click()
    expect(details).to_contain_text("train")
    camera.sidebar(at, "plan", "details")
    details.get_by_role("button", name="Close").click()
    at.sidebar.get_by_text("History").click()
    expect(at.sidebar.locator("[data-revision]").first).to_be_visible()
    camera.sidebar(at, "history")


def test_in_doubt(desk, camera):
    """A step with effects that was cut off, and the dialog about it."""
    at = desk("mail.ipynb", LOAD, FETCH, MAIL, REPORT)
    at.run(0)
    at.run(1)
    at.start(2)
    expect(at.output(2)).to_contain_text("mailing")
    at.save()
    at.kill_kernel()
    at.expect_states(fetch="COMMITTED", mail="AMBIGUOUS")
    # else one theme shows it, and the other one does not yet
    expect(at.sidebar.get_by_role("button", name="Enable here")).to_be_visible()
    camera.sidebar(at, "in-doubt")
    at.step("mail").get_by_role("button", name="Decide").click()
    asked = at.page.locator(".jp-Dialog-content")
    expect(asked).to_contain_text("Decide about step mail")
    camera.take(at, "dialog", "in-doubt", asked)
    asked.get_by_role("radio", name="evidence", exact=True).check()
    camera.take(at, "dialog", "evidence", asked)


def test_not_readable(desk, camera):
    """A store of another release."""
    at = desk("sales.ipynb", LOAD, FETCH)
    at.run(0)
    at.run(1)
    at.expect_states(fetch="COMMITTED")
    path = at.lab.root / ".nbresume" / "store.json"
    said = json.loads(path.read_text())
    path.chmod(0o600)
    path.write_text(json.dumps(said | {"format": 99}))
    at.sidebar.get_by_role("button", name="Look again").click()
    expect(at.sidebar).to_contain_text("99")
    camera.sidebar(at, "refused")


def test_run_again(desk, camera):
    """A committed step that acts on the outside: why it may, and what is made anew."""
    at = desk("mail.ipynb", LOAD, FETCH, "%%step mail --effects\nsent = 1")
    for place in range(3):
        at.run(place)
    at.expect_states(mail="COMMITTED")
    at.step("mail").get_by_role("button", name="More").click()
    at.choose("Run it again")
    asked = at.page.locator(".jp-Dialog-content")
    asked.get_by_role("radio", name="rerun", exact=True).check()
    camera.take(at, "dialog", "rerun", asked)


def test_not_saved(desk, camera):
    """A step that ran, whose cell is in no file yet."""
    at = desk("sales.ipynb", LOAD, FETCH)
    at.menu("Settings", "Autosave Documents")
    for place in range(2):
        at.run(place)
    at.cell(2).locator(".cm-content").click()
    at.page.keyboard.insert_text(CLEAN)
    at.page.keyboard.press("Shift+Enter")
    expect(at.sidebar).to_contain_text("Not in the saved notebook yet")
    camera.sidebar(at, "unsaved")


def test_while_developing(desk, camera):
    """A loop half-way, a step that is not taken, and an edit, explained."""
    at = desk("sales.ipynb", LOAD, FETCH, CLEAN, POSTER, LOOP, REPORT)
    for place in range(4):
        at.run(place)
    at.start(4)
    expect(at.step("train").get_by_role("progressbar")).to_be_visible()
    expect(at.step("train")).to_contain_text("at item 300 of 800")
    camera.sidebar(at, "loop")

    (at.lab.root / "go").touch()
    at.expect_states(poster="NOT_TAKEN", train="COMMITTED")
    at.wait_idle()
    camera.sidebar(at, "not-taken")

    at.edit(2, "Control+End", "Backspace", " > 2}")
    at.save()
    at.run(2)
    at.edit(2, "Control+End", "Backspace", " and day}")
    at.save()
    at.expect_states(clean="STALE")
    at.step("clean").get_by_role("button", name="More").click()
    at.choose("Explain whether it would run")
    details = at.sidebar.locator(".jp-nbresume-details")
    expect(details.locator("[data-sign='+']").first).to_be_visible()
    camera.sidebar(at, "explained", "details")


def test_without_headers(desk, camera):
    """Every cell is a step by itself."""
    at = desk("sales.ipynb", f"{LOAD}\n%nbresume auto", JUNE, SOLD, WEEKLY)
    for place in range(3):
        at.run(place)
    at.save()
    at.kill_kernel()
    at.expect_states(**{"cell-c1": "COMMITTED", "cell-c3": "NEW"})
    expect(at.cell(3).locator(".jp-nbresume-marker")).to_be_visible()
    expect(at.sidebar.get_by_role("button", name="Enable here")).to_be_visible()
    resume = at.step("cell-c3").get_by_role("button", name="Resume")
    expect(resume).to_have_attribute("aria-disabled", "false")
    camera.sidebar(at, "auto")
    camera.cells(at, "auto")
