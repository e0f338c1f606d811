"""What the page shows of loops, branches, edits, trips and cells without headers."""

import re

import pytest
from desk import LOAD, noted
from playwright.sync_api import expect
from test_cells import badge, marker
from test_sidebar_details import choose

FETCH = "%%step fetch\nrows = list(range(10))"
LOOP = """%%step train
import os, time
from nbresume import resumable
total = 0
for n in resumable(range(40), every=10, bar=False):
    while n == 25 and not os.path.exists("go"):
        time.sleep(0.05)
    total += n"""
AUTO = "%load_ext nbresume\n%nbresume auto"


def test_a_loop_tells_how_far_it_has_come(desk):
    """While it runs by the kernel, cut off by the store; then it goes on there."""
    at = desk("loop.ipynb", LOAD, FETCH, LOOP)
    at.run(0)
    at.run(1)
    at.start(2)
    at.expect_states(train="RUNNING")
    far = at.step("train").get_by_role("progressbar", name="Progress of step train")
    expect(far).to_have_attribute("value", "20")
    expect(at.step("train")).to_contain_text("at item 20 of 40")

    at.save()
    at.kill_kernel()
    at.expect_states(fetch="COMMITTED", train="INTERRUPTED")
    expect(far).to_have_attribute("value", "20")
    stored = {step["name"]: step for step in at.stored()["steps"]}
    assert stored["train"]["progress"]["text"] == "at item 20 of 40"

    (at.lab.root / "go").touch()
    at.resume("train")
    at.expect_states(train="COMMITTED")
    expect(far).to_have_count(0)
    assert {s["name"]: s["state"] for s in at.stored()["steps"]} == {
        "fetch": "COMMITTED",
        "train": "COMMITTED",
    }


def test_cells_without_headers_are_steps_as_others(desk):
    """Rows say how their cells begin; badges, locks and the mark stand by the id."""
    rows = noted("rows", "rows = list(range(9))").partition("\n")[2]
    total = noted("total", "total = sum(rows)").partition("\n")[2]
    at = desk("auto.ipynb", AUTO, f"\n# the rows of June\n{rows}", total)
    for place in range(2):
        at.run(place)
    at.save()
    at.expect_states(**{"cell-c1": "COMMITTED", "cell-c2": "NEW"})
    first = at.step("cell-c1").get_by_role("button").first
    expect(first).to_have_text("the rows of June")
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    expect(badge(at, 2)).to_have_count(0)
    expect(at.cell(2).locator(".jp-nbresume-marker")).to_be_visible()

    at.kill_kernel()
    expect(badge(at, 1)).to_have_attribute("data-badge", "committed")
    expect(at.cell(1).get_by_role("button", name="Unlock to edit")).to_be_visible()
    at.sidebar.get_by_role("button", name="Resume").first.click()
    at.expect_states(**{"cell-c1": "COMMITTED", "cell-c2": "COMMITTED"})
    expect(badge(at, 1)).to_have_attribute("data-badge", "restored")
    expect(badge(at, 2)).to_have_attribute("data-badge", "ran")
    expect(marker(at)).to_have_count(0)
    assert at.ledger() == ["rows", "total"]
    assert len(set(at.pids())) == 2


@pytest.mark.long
def test_a_step_that_is_not_taken(desk):
    """An icon and a word of its own, and the reason; the plan says it, too."""
    report = "%%step report --when 'len(rows) > 99'\nbig = 1"
    at = desk("branch.ipynb", LOAD, FETCH, report, noted("end"))
    for place in range(4):
        at.run(place)
    at.expect_states(fetch="COMMITTED", report="NOT_TAKEN", end="COMMITTED")
    expect(at.step("report")).to_contain_text("not taken")
    expect(at.step("report")).to_contain_text("its condition is false")
    expect(badge(at, 2)).to_have_count(0)
    at.sidebar.get_by_role("button", name="Plan").click()
    plan = at.sidebar.get_by_role("region", name="What running all cells would do")
    row = plan.get_by_role("row", name=re.compile("^report"))
    expect(row).to_contain_text("is not taken")
    plans = {s["name"]: s["plan"] for s in at.stored()["steps"]}
    assert plans == {"fetch": "replay", "report": "not taken", "end": "replay"}


@pytest.mark.long
def test_an_edit_is_explained_line_by_line(desk):
    """The sign stands before each line, and what an input was and is is told."""
    clean = "%%step clean\nkept = rows[:3]"
    at = desk("edit.ipynb", LOAD, FETCH, clean)
    for place in range(3):
        at.run(place)
    at.edit(1, "Control+End", "[1:]")
    at.save()
    at.expect_states(fetch="STALE")
    choose(at, "fetch", "Explain")
    told = at.step("fetch").get_by_role("region", name="Why step fetch would run")
    diff = told.get_by_role("group", name="What changed in its code")
    expect(diff.locator("[data-sign='-']")).to_have_text(["-rows = list(range(10))"])
    expect(diff.locator("[data-sign='+']")).to_have_text(
        ["+rows = list(range(10))[1:]"]
    )

    at.run(1)
    choose(at, "clean", "Explain")
    told = at.step("clean").get_by_role("region", name="Why step clean would run")
    row = told.get_by_role("row", name=re.compile("input rows"))
    expect(row).to_contain_text("[0, 1, 2")
    expect(row).to_contain_text("[1, 2, 3")


@pytest.mark.long
def test_what_was_taken_back_has_no_badge_of_this_kernel(desk):
    """An undo: the commit stays, and the values are no longer here."""
    clean = "%%step clean\nkept = rows[:3]"
    at = desk("undo.ipynb", LOAD, FETCH, clean, "%steps undo")
    for place in range(3):
        at.run(place)
    expect(badge(at, 2)).to_have_attribute("data-badge", "ran")
    at.run(3)
    expect(badge(at, 2)).to_have_attribute("data-badge", "committed")
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    at.run(2)
    expect(badge(at, 2)).not_to_have_attribute("data-badge", "committed")


@pytest.mark.long
def test_a_fork_names_its_origin(desk):
    """Above the steps, in the words of `%steps`."""
    at = desk("fork.ipynb", LOAD, FETCH, noted("end"), "%steps fork --at fetch")
    for place in range(3):
        at.run(place)
    at.expect_states(end="COMMITTED")
    before = at.stored()["run_id"]
    at.run(3)
    at.expect_states(fetch="COMMITTED", end="NEW")
    expect(at.sidebar).to_contain_text(f"a fork of run {before}, behind step fetch")
    assert at.stored()["origin"]["run"] == before
