"""What people do with a notebook, in a real JupyterLab: each step runs once.

The rule: what the page says, what the store says, and what the bodies of the steps
wrote into the ledger are compared with each other.
"""

import pytest
from desk import LOAD, Desk, noted
from playwright.sync_api import expect
from serving import Lab

FETCH = noted("fetch", "rows = [1, 2, 3]\nprint('fetched')")
CLEAN = noted("clean", "kept = [row * 10 for row in rows]")
REPORT = noted("report", "print(sum(kept), 'in all')")
REPORT_ROWS = noted("report", "print(len(rows))")
SLOW = noted(
    "train",
    "import os, time\nprint('started')\nwhile not os.path.exists('go'):\n"
    "    time.sleep(0.1)\nmodel = len(rows)",
)


def test_the_run_menu_runs_what_has_to_run(desk):
    """Run All, Restart and Run All, Run Above, Run Selected: nothing runs twice."""
    at = desk("menu.ipynb", LOAD, FETCH, "bonus = 1", CLEAN, REPORT)

    at.menu("Run", "Run All Cells")
    at.expect_states(fetch="COMMITTED", clean="COMMITTED", report="COMMITTED")
    expect(at.output(4)).to_contain_text("60 in all")
    pid = at.kernel_pid()
    assert at.ledger() == ["fetch", "clean", "report"]
    assert set(at.pids()) == {pid}
    before = at.stored()

    # another process, the same results: nothing is recorded, nothing runs
    at.menu("Kernel", "Restart Kernel and Run All Cells")
    at.answer("Restart Kernel", "Restart")
    expect(at.output(4)).to_contain_text("[restored] step report")
    expect(at.output(4)).to_contain_text("60 in all")
    at.wait_idle()
    assert at.kernel_pid() != pid
    assert at.ledger() == ["fetch", "clean", "report"]
    assert at.stored()["revision"] == before["revision"]
    expect(at.headline).to_have_text("3 of 3 steps locked; all are committed")

    # an edit, and what is above a cell: what depends on the edit runs, that far
    at.cell(1).get_by_role("button", name="Unlock to edit").click()
    at.edit(1, "Control+Home", "ArrowDown", "ArrowDown", "End", "ArrowLeft", ", 4")
    at.select(4)
    at.menu("Run", "Run All Above Selected Cell")
    expect(at.prompt(3)).to_have_text("[9]:")
    at.wait_written(", 4")
    at.expect_states(fetch="COMMITTED", clean="COMMITTED", report="STALE")
    assert at.ledger()[3:] == ["fetch", "clean"]
    expect(at.step("report")).to_have_attribute("aria-current", "step")

    # two selected cells: one replays, one runs
    at.select(3)
    at.prompt(4).click(position={"x": 20, "y": 6}, modifiers=["Shift"])
    at.menu("Run", "Run Selected Cells")
    at.expect_states(report="COMMITTED")
    expect(at.output(4)).to_contain_text("100 in all")
    assert at.ledger()[5:] == ["report"]
    assert set(at.pids()[3:]) == {at.kernel_pid()}
    steps = at.stored()["steps"]
    assert {step["name"]: step["attempts"] for step in steps} == {
        "fetch": 2,
        "clean": 2,
        "report": 2,
    }


def test_cells_are_moved_deleted_and_brought_back(desk):
    """The order of cells is no change; a cell that is gone keeps its commit."""
    at = desk("cells.ipynb", LOAD, FETCH, noted("note", "said = 'hello'"), REPORT_ROWS)
    at.menu("Run", "Run All Cells")
    at.expect_states(fetch="COMMITTED", note="COMMITTED", report="COMMITTED")

    # drag a cell by its prompt, above another one; its strip has come by then
    expect(at.page.locator("[data-badge='ran']")).to_have_count(3)
    at.drag(2, above=1)
    expect(at.cell(1)).to_contain_text("%%step note")
    at.save()
    names = at.sidebar.locator("[data-step]")
    expect(names.first).to_have_attribute("data-step", "note")
    at.expect_states(fetch="COMMITTED", note="COMMITTED", report="COMMITTED")
    assert [step["name"] for step in at.stored()["steps"]] == [
        "note",
        "fetch",
        "report",
    ]

    # delete it; its commit stays, apart. What is done within half a second of each
    # other JupyterLab takes back together
    at.page.wait_for_timeout(600)
    at.select(1)
    at.page.keyboard.press("d")
    at.page.keyboard.press("d")
    expect(at.cell(1)).to_contain_text("%%step fetch")
    at.save()
    at.expect_states(note="ORPHANED")
    expect(at.sidebar.get_by_text("No longer in the notebook")).to_be_visible()

    # undo, and run everything: it is the step that it was
    at.menu("Edit", "Undo Cell Operation")
    expect(at.cell(1)).to_contain_text("%%step note")
    at.save()
    at.expect_states(note="COMMITTED")
    revision = at.stored()["revision"]
    at.menu("Run", "Run All Cells")
    expect(at.output(3)).to_contain_text("[restored] step report")
    assert at.ledger() == ["fetch", "note", "report"]
    assert at.stored()["revision"] == revision


def test_a_second_kernel_takes_over(desk, lab, window):
    """Two kernels, one run: the first is told that it is fenced, and writes no more."""
    take_over = "%steps resume --take-over"
    at = desk("two.ipynb", LOAD, FETCH, SLOW, REPORT_ROWS, take_over)
    at.run(0)
    at.run(1)
    at.start(2)
    expect(at.output(2)).to_contain_text("started")
    first = at.kernel_pid()

    # the same notebook in another server of the same person
    other = Lab(lab.home)
    other.start()
    page = window.new_page()
    then = Desk(page, other, at.name)
    then.open()
    then.expect_states(fetch="COMMITTED", train="RUNNING")
    then.run(0)
    then.run(2)
    expect(then.output(2)).to_contain_text(f"another kernel (pid {first} on")
    expect(then.output(2)).to_contain_text("type: %steps resume --take-over")
    then.run(4)
    expect(then.output(4)).to_contain_text("this kernel writes the run now")

    # the first one's body ends: it is not committed, and the cell says so
    (lab.root / "go").touch()
    expect(at.output(2)).to_contain_text("fenced")
    then.expect_states(train="INTERRUPTED")
    assert at.stored()["resume_from"] == "train"
    at.run(3)
    second = then.kernel_pid()
    expect(at.output(3)).to_contain_text(f"another kernel (pid {second} on")

    then.run(2)
    then.run(3)
    for each in (then, at):
        each.page.bring_to_front()
        each.sidebar.get_by_role("button", name="Look again").click()
        each.expect_states(fetch="COMMITTED", train="COMMITTED", report="COMMITTED")
    assert at.ledger() == ["fetch", "train", "train", "report"]
    assert at.pids() == [first, first, second, second]
    page.close()
    other.stop()


@pytest.mark.parametrize(
    "mode", ["contentVisibility", pytest.param("full", marks=pytest.mark.long)]
)
def test_a_notebook_of_200_cells(desk, lab, mode):
    """Cells that the page has not drawn are run, resumed and reached like others."""
    lab.set("notebook-extension", "tracker", windowingMode=mode)
    cells = [LOAD]
    for number in range(40):
        body = SLOW if number == 30 else noted(f"s{number}", f"rows = [{number}]")
        cells += ["# Text\n\nof a few words", f"plain = {number}", body, "1 + 1", "2"]
    at = desk("big.ipynb", *cells)

    at.menu("Run", "Run All Cells")
    expect(at.step("train")).to_have_attribute("data-state", "RUNNING", timeout=60_000)
    at.kill_kernel()
    # of a long list only what is near the seen is in the page
    at.step("train").scroll_into_view_if_needed()
    at.expect_states(s29="COMMITTED", train="INTERRUPTED", s31="NEW")
    at.open()
    expect(at.headline).to_have_text("30 of 40 steps locked; goes on at train")
    (at.lab.root / "go").touch()
    at.resume("train")
    expect(at.headline).to_have_text(
        "40 of 40 steps locked; all are committed", timeout=60_000
    )

    # by name to a cell that was never seen
    at.step("s35").get_by_role("button", name="s35").click()
    expect(at.cell(178)).to_be_in_viewport()
    expect(at.cell(178)).to_contain_text("%%step s35")
    names = [f"s{n}" if n != 30 else "train" for n in range(40)]
    assert at.ledger() == [*names[:31], *names[30:]]
    assert at.stored()["revision"] == len(at.history()) - 1


def test_both_themes_can_be_read(desk):
    """Each text of the sidebar stands out from what is behind it."""
    at = desk("theme.ipynb", LOAD, FETCH, noted("bad", "1 / 0"), REPORT)
    at.menu("Run", "Run All Cells")
    at.expect_states(fetch="COMMITTED", bad="FAILED", report="NEW")
    at.sidebar.get_by_text("History").click()
    expect(at.sidebar.locator("[data-revision]").first).to_be_visible()
    at.shoot("theme-light")

    light = at.contrasts()
    at.dark()
    at.shoot("theme-dark")
    dark = at.contrasts()

    # WCAG AA for text of this size; an icon needs less, and has it
    assert {text: ratio for text, ratio in light.items() if ratio < 4.5} == {}
    assert {text: ratio for text, ratio in dark.items() if ratio < 4.5} == {}
    assert light.keys() == dark.keys()
    assert {"committed", "icon of report"} <= light.keys()
