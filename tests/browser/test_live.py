"""What the kernel tells while it runs, and what becomes of that when it ends."""

import os
import signal

import pytest
from desk import CURRENT, LOAD, Desk, write_notebook
from playwright.sync_api import expect
from test_cells import badge, expect_silence, marker, unlock

FETCH = "%%step fetch\nrows = list(range(10))"
SLOW = """%%step train
import os, time
print("started")
while not os.path.exists("go"):
    time.sleep(0.1)"""
REPORT = "%%step report\nprint(rows)"
DEAF = """from ipykernel.comm import Comm
for comm in list(get_ipython().kernel.comm_manager.comms.values()):
    comm.close()"""
MUTE = """manager = get_ipython().kernel.comm_manager
manager.targets.pop("nbresume")
for comm in list(manager.comms.values()):
    comm.close()"""


def press(at, name):
    """Press a button of a dialog of JupyterLab, by what is written on it."""
    dialog = at.page.locator(".jp-Dialog")
    dialog.locator("button.jp-mod-accept, button.jp-mod-warn", has_text=name).click()
    expect(dialog).to_have_count(0)


@pytest.mark.long
def test_a_page_that_comes_later(desk):
    """A page that is loaded anew learns what the kernel ran, also while it is busy."""
    unload = "%unload_ext nbresume"
    at = desk("reload.ipynb", LOAD, FETCH, SLOW, REPORT, unload)
    at.run(0)
    at.run(1)
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    at.save()
    at.open()
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    expect(unlock(at, 1)).to_have_count(0)

    at.start(2)
    expect(at.output(2)).to_contain_text("started")
    at.expect_states(train="RUNNING")
    expect(marker(at)).to_have_count(0)
    (at.lab.root / "go").touch()
    at.expect_states(train="COMMITTED")
    expect(badge(at, 2)).to_have_attribute("data-badge", "ran")
    expect(at.cell(3).locator(".jp-nbresume-marker")).to_be_visible()

    # unloaded is told from lost; what the kernel ran it ran
    at.run(4)
    expect(at.sidebar.get_by_role("button", name="Enable here")).to_be_visible()
    expect(at.sidebar.locator("[data-notice='live']")).to_have_count(0)
    expect(badge(at, 2)).to_have_attribute("data-badge", "ran")
    expect_silence(at)


@pytest.mark.long
def test_another_kernel(desk):
    """After a restart nothing of the former kernel is told of the new one."""
    at = desk("restart.ipynb", LOAD, FETCH, REPORT)
    at.run(0)
    at.run(1)
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    former = at.kernel_pid()

    at.menu("Kernel", "Restart Kernel")
    press(at, "Restart")
    expect(badge(at, 1)).to_have_attribute("data-badge", "committed")
    at.wait_idle()
    at.run(0)
    expect(badge(at, 1)).to_have_attribute("data-badge", "committed")
    at.run(1)
    expect(badge(at, 1)).to_have_attribute("data-badge", "restored")
    assert at.stored()["steps"][0]["attempts"] == 1
    assert at.kernel_pid() != former

    # none at all
    at.menu("Kernel", "Shut Down Kernel")
    expect(badge(at, 1)).to_have_attribute("data-badge", "committed")
    expect(at.headline).to_have_text("1 of 2 steps locked; goes on at report")
    expect_silence(at)


def test_a_lost_line(desk):
    """A line that ended is asked for again; without one the page says so."""
    at = desk("lost.ipynb", LOAD, FETCH, DEAF, MUTE, REPORT)
    at.run(0)
    at.run(1)
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    at.run(2)
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")

    at.run(3)
    told = at.sidebar.locator("[data-notice='live']")
    expect(told).to_contain_text("does not tell this page")
    at.shoot("live-lost")
    at.run(4)
    at.expect_states(report="COMMITTED")
    # what it told before still holds; of what ran since only the store tells
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    expect(badge(at, 4)).to_have_attribute("data-badge", "committed")
    assert at.stored()["steps"][1]["state"] == "COMMITTED"
    expect_silence(at)


@pytest.mark.long
def test_a_dead_kernel_is_told_and_replaced(desk):
    """In words, with the button that helps; then the run goes on where it stood."""
    at = desk("dead.ipynb", LOAD, FETCH, REPORT)
    at.run(0)
    at.run(1)
    at.save()
    # none that the server starts in its place lives long enough
    dies = at.lab.home / "ipython" / "profile_default" / "startup" / "00-dies.py"
    dies.parent.mkdir(parents=True, exist_ok=True)
    dies.write_text("__import__('os')._exit(1)")
    told = at.sidebar.locator("[data-notice='kernel']")
    try:
        os.kill(at.kernel_pid(), signal.SIGKILL)
        expect(told).to_contain_text("choose a kernel", timeout=120_000)
    finally:
        dies.unlink()
    while (asked := at.page.locator(".jp-Dialog")).count() > 0:
        asked.last.get_by_role("button", name="Ok").click()
    at.shoot("dead")
    expect(at.headline).to_have_text("1 of 2 steps locked; goes on at report")
    resume = at.step("report").get_by_role("button", name="Resume")
    expect(resume).to_have_attribute("aria-disabled", "true")

    choose = told.get_by_role("button", name="Choose a Kernel")
    lost = at.page.locator(".jp-Dialog", has_text="Session not found")
    choose.click()
    at.answer("Select Kernel", "Select")
    at.until(lambda: lost.is_visible() or not told.is_visible())
    if lost.is_visible():
        # JupyterLab finds out by this that the session ended with its kernel
        lost.get_by_role("button", name="Ok").click()
        choose.click()
        at.answer("Select Kernel", "Select")
    expect(told).to_have_count(0)
    at.wait_idle()
    at.resume("report")
    at.expect_states(fetch="COMMITTED", report="COMMITTED")
    assert at.stored()["resume_from"] == ""


def test_a_notebook_beside_another(desk):
    """A notebook that is seen beside the current one is told what its kernel does."""
    train, tune = (
        SLOW.replace("train", name).replace('"go"', f'"{name}"')
        for name in ("train", "tune")
    )
    at = desk("left.ipynb", LOAD, FETCH, train, tune, REPORT)
    at.run(0)
    at.run(1)
    at.start(2)
    at.start(3)
    expect(at.output(2)).to_contain_text("started")
    write_notebook(at.lab.root / "right.ipynb", LOAD, "%%step other\nx = 1")
    at.turn_to("right.ipynb")
    expect(at.sidebar.get_by_role("heading", name="right.ipynb")).to_be_visible()

    def states():
        return {step["name"]: step["state"] for step in at.stored()["steps"]}

    # what happened while nobody saw it is known when it comes into view
    (at.lab.root / "train").touch()
    at.until(lambda: states()["tune"] == "RUNNING")
    at.beside("right.ipynb")
    left = at.page.locator(".jp-NotebookPanel:visible").first
    expect(left.locator("[data-badge='ran']")).to_have_count(2)
    expect(left.locator(".jp-nbresume-marker")).to_have_count(0)

    (at.lab.root / "tune").touch()
    expect(left.locator("[data-badge='ran']")).to_have_count(3)
    expect(left.locator(".jp-nbresume-marker")).to_have_text("Goes on here")
    # the other one has a run and cells of its own
    right = at.page.locator(".jp-NotebookPanel:visible").last
    expect(right.locator(".jp-nbresume-badge")).to_have_count(0)
    assert states() == {
        "fetch": "COMMITTED",
        "train": "COMMITTED",
        "tune": "COMMITTED",
        "report": "NEW",
    }
    expect_silence(at)


def test_two_windows(desk):
    """Two windows on one kernel are told alike; what is unlocked is of one window."""
    at = desk("windows.ipynb", LOAD, FETCH, "%%step mail --effects\nn = len(rows)")
    for place in range(3):
        at.run(place)
    at.save()
    other = Desk(at.page.context.new_page(), at.lab, at.name)
    other.page.said = []
    other.page.on("pageerror", lambda e: other.page.said.append(f"pageerror: {e}"))
    try:
        other.open()
        expect(badge(other, 1)).to_have_attribute("data-badge", "ran")
        expect(badge(other, 2)).to_contain_text("ran, locked")
        unlock(other, 2).click()
        expect(badge(other, 2)).to_have_attribute("data-badge", "unlocked")
        expect(badge(at, 2)).to_contain_text("ran, locked")
        other.run(1)
        expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
        assert at.stored()["steps"][0]["attempts"] == 1
        expect_silence(other)
    finally:
        other.page.close()
    expect_silence(at)


def test_two_views(desk):
    """Views of one notebook are told alike, and its name may change."""
    at = desk("views.ipynb", LOAD, FETCH, REPORT)
    at.run(0)
    at.run(1)
    at.save()
    at.kill_kernel()
    expect(badge(at, 1)).to_have_attribute("data-badge", "committed")

    at.menu("File", "New View for Notebook")
    views = at.page.locator(".jp-NotebookPanel:visible")
    expect(views).to_have_count(2)
    buttons = at.page.get_by_role("button", name="Unlock to edit")
    expect(buttons).to_have_count(2)
    expect(at.page.locator(".jp-nbresume-marker:visible")).to_have_count(2)
    # one page, one cell: unlocked in both
    buttons.first.click()
    expect(at.page.locator("[data-badge='unlocked']:visible")).to_have_count(2)
    at.shoot("cells-views")
    at.page.keyboard.press("Escape")

    # the name changes while it is open
    at.menu("File", "Rename Notebook")
    at.page.locator(".jp-Dialog").get_by_role("textbox").fill("renamed.ipynb")
    press(at, "Rename")
    expect(at.sidebar.get_by_role("heading", name="renamed.ipynb")).to_be_visible()
    expect(at.page.locator("[data-badge='unlocked']:visible")).to_have_count(2)
    expect(at.page.locator(".jp-nbresume-marker:visible")).to_have_count(2)
    path = at.page.evaluate(f"{CURRENT}.context.path")
    assert path == "renamed.ipynb"
    # whoever asks by the old name while the server changes it is told that it is gone
    expect_silence(at, "404 (Not Found)")


@pytest.mark.long
def test_a_notebook_not_yet_saved(desk):
    """A new notebook has no badges until a step of it is committed."""
    at = desk("old.ipynb", LOAD, FETCH)
    at.menu("File", "New", "Notebook")
    press(at, "Select")
    at.wait_idle()
    expect(at.sidebar.get_by_role("heading", name="Untitled.ipynb")).to_be_visible()
    at.page.keyboard.type(LOAD)
    at.page.keyboard.press("Shift+Enter")
    at.page.keyboard.type(FETCH)
    at.page.keyboard.press("Shift+Enter")
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    # what ran is in the file, though nobody saved it
    at.expect_states(fetch="COMMITTED")
    saved = (at.lab.root / "Untitled.ipynb").read_text()
    assert "%%step fetch" in saved
    expect_silence(at)
