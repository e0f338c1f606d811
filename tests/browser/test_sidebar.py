"""The sidebar in a real JupyterLab: what people see is what is stored."""

import re

import pytest
from playwright.sync_api import expect

LOAD = "%load_ext nbresume"
FETCH = "%%step fetch\nrows = list(range(1000))\nprint('fetched')"
CLEAN = "%%step clean\nkept = [r for r in rows if r % 2]"
SLOW = """%%step train
import os, time
print("started")
while not os.path.exists("go"):
    time.sleep(0.1)"""
MAIL = "%%step mail --effects\nimport time\nprint('mailing')\ntime.sleep(120)"
REPORT = "%%step report\nprint(len(kept), 'kept')"


def test_killed_kernel_goes_on_by_one_button(desk):
    """Committed steps, a killed one, a reload: the page knows where to go on."""
    at = desk("sales.ipynb", "# Sales", LOAD, FETCH, CLEAN, SLOW, REPORT)

    # before `%load_ext`: nothing is stored, and the sidebar offers to begin
    expect(
        at.sidebar.get_by_text("Nothing of this notebook is stored yet")
    ).to_be_visible()
    at.shoot("not-enabled")
    at.sidebar.get_by_role("button", name="Enable here").click()
    expect(at.sidebar.get_by_role("button", name="Enable here")).to_be_hidden()
    at.expect_states(fetch="NEW", clean="NEW", train="NEW", report="NEW")

    # steps commit
    at.run(2)
    at.run(3)
    at.expect_states(fetch="COMMITTED", clean="COMMITTED", train="NEW")
    expect(at.step("train")).to_have_attribute("aria-current", "step")
    expect(at.headline).to_have_text("2 of 4 steps locked; goes on at train")
    assert at.stored()["resume_from"] == "train"

    # a step runs: the kernel is busy, the sidebar is not
    at.start(4)
    expect(at.cell(4).locator(".jp-OutputArea")).to_contain_text("started")
    at.expect_states(train="RUNNING")

    # the kernel dies in the middle of it, and the page is loaded anew
    at.kill_kernel()
    at.expect_states(train="INTERRUPTED")
    at.open()
    at.expect_states(
        fetch="COMMITTED", clean="COMMITTED", train="INTERRUPTED", report="NEW"
    )
    expect(at.step("train")).to_have_attribute("aria-current", "step")
    expect(at.step("train")).to_contain_text("Goes on here")
    expect(at.step("train")).to_contain_text("its kernel ended")

    at.shoot("resume-point")

    # the page says what the store says
    stored = at.stored()
    assert stored["resume_from"] == "train"
    expect(at.headline).to_have_text(stored["headline"])
    assert {s["name"]: s["state"] for s in stored["steps"]} == {
        "fetch": "COMMITTED",
        "clean": "COMMITTED",
        "train": "INTERRUPTED",
        "report": "NEW",
    }

    # one button: what is committed is bound, what is below it runs
    (at.lab.root / "go").touch()
    at.step("train").get_by_role("button", name="Resume").click()
    at.expect_states(train="COMMITTED", report="COMMITTED")
    expect(at.cell(5).locator(".jp-OutputArea")).to_contain_text("500 kept")
    expect(at.headline).to_have_text("4 of 4 steps locked; all are committed")
    for place in (2, 3):
        expect(at.cell(place).locator(".jp-InputPrompt")).to_have_text("[ ]:")
    expect(at.sidebar.locator("[data-notice='said']")).to_contain_text("are restored")
    at.shoot("resumed")
    assert {s["name"]: s["attempts"] for s in at.stored()["steps"]} == {
        "fetch": 1,
        "clean": 1,
        "train": 2,
        "report": 1,
    }


@pytest.mark.long
def test_doubt_is_told_with_its_remedy(desk):
    """A step with effects that was cut off is in doubt, and stops the run."""
    at = desk("mail.ipynb", LOAD, FETCH, MAIL, REPORT)
    at.run(0)
    at.run(1)
    at.start(2)
    expect(at.cell(2).locator(".jp-OutputArea")).to_contain_text("mailing")
    at.kill_kernel()

    at.expect_states(fetch="COMMITTED", mail="AMBIGUOUS", report="NEW")
    expect(at.step("mail")).to_contain_text("ambiguous (in doubt)")
    expect(at.step("mail")).to_contain_text("Stopped here")
    expect(at.step("mail")).to_contain_text("%steps resolve mail")
    expect(at.headline).to_contain_text("stopped at mail")
    assert {s["name"]: s["plan"] for s in at.stored()["steps"]}["mail"] == "refused"

    # the audit trail is folded until somebody asks
    expect(at.sidebar.locator("[data-revision]")).to_have_count(0)
    at.sidebar.get_by_text("History").click()
    records = at.sidebar.locator("[data-revision]")
    expect(records.first).to_contain_text("mail began")
    expect(records).to_have_count(at.stored()["revision"] + 1)
    at.shoot("in-doubt")
    at.dark()
    at.shoot("in-doubt-dark")


@pytest.mark.long
def test_a_step_is_reached_by_keyboard(desk):
    """A step's button leads to its cell, and the cell has the focus then."""
    texts = (f"# Text {n}\n\n" + "line\n\n" * 30 for n in range(6))
    at = desk("long.ipynb", LOAD, FETCH, *texts, CLEAN)
    at.run(0)
    at.run(1)
    at.expect_states(fetch="COMMITTED", clean="NEW")

    at.step("clean").get_by_role("button", name="clean").focus()
    at.page.keyboard.press("Enter")

    expect(at.cell(8)).to_be_in_viewport()
    expect(at.cell(8)).to_have_class(re.compile("jp-mod-active"))
    at.page.keyboard.press("Shift+Enter")
    at.expect_states(clean="COMMITTED")
    # nothing of ours speaks to the console
    assert [line for line in at.page.said if "nbresume" in line] == []
    assert [line for line in at.page.said if line.startswith("pageerror")] == []


@pytest.mark.long
def test_an_edit_is_foreseen_when_it_is_saved(desk):
    """Code that was changed makes its step stale, once the file has it."""
    at = desk("edit.ipynb", LOAD, FETCH, CLEAN)
    for place in range(3):
        at.run(place)
    at.expect_states(fetch="COMMITTED", clean="COMMITTED")
    expect(at.headline).to_have_text("2 of 2 steps locked; all are committed")
    # outputs alone are no edit
    expect(at.sidebar.get_by_role("button", name="Save")).to_be_hidden()

    at.cell(1).locator(".cm-content").click()
    at.page.keyboard.press("Control+End")
    at.page.keyboard.type("; more = 1")
    at.sidebar.get_by_role("button", name="Save").click()

    at.expect_states(fetch="STALE")
    expect(at.step("fetch")).to_contain_text("its code changed")
    expect(at.sidebar.get_by_role("button", name="Save")).to_be_hidden()
    assert at.stored()["resume_from"] == "fetch"
    at.shoot("stale")


@pytest.mark.long
def test_it_follows_the_current_notebook(desk):
    """Each notebook has its own run, also where the steps are the same."""
    at = desk("first.ipynb", LOAD, FETCH)
    at.run(0)
    at.run(1)
    at.expect_states(fetch="COMMITTED")

    at.turn_to("second.ipynb", "# Second", "# Text", FETCH)
    expect(at.sidebar.get_by_role("heading", name="second.ipynb")).to_be_visible()
    at.expect_states(fetch="NEW")
    at.turn_to("first.ipynb")
    expect(at.sidebar.get_by_role("heading", name="first.ipynb")).to_be_visible()
    at.expect_states(fetch="COMMITTED")
