"""Cells in a real JupyterLab: badges, locks, the mark where the run goes on."""

import json
import re

import pytest
from desk import noted
from playwright.sync_api import expect

LOAD = "%load_ext nbresume"
FETCH = "%%step fetch\nrows = list(range(10))"
CLEAN = "%%step clean\nkept = [r for r in rows if r % 2]"
MAIL = "%%step mail --effects\nsent = len(kept)"
PLAIN = "factor = 2"
# what JupyterLab says of every plugin when the machine is busy
SLOW = "warning: Plugin"
REPORT = "%%step report\nprint(rows)"


def badge(at, place):
    """Return the badge of a cell."""
    return at.cell(place).locator(".jp-nbresume-badge")


def marker(at):
    """Return the marks of the notebook: there is never more than one."""
    return at.page.locator(".jp-NotebookPanel:visible .jp-nbresume-marker")


def unlock(at, place):
    """Return the button that takes a cell's lock off."""
    return at.cell(place).get_by_role("button", name="Unlock to edit")


def type_into(at, place, text):
    """Type at the end of a cell, as a person does."""
    at.cell(place).locator(".cm-content").click()
    at.page.keyboard.press("Control+End")
    at.page.keyboard.type(text)


def source(at, place):
    """Return the text of a cell in the document."""
    return at.page.evaluate(
        "place => window.jupyterapp.shell.currentWidget.content.widgets[place]"
        ".model.sharedModel.getSource()",
        place,
    )


def is_dirty(at):
    """Say whether the notebook waits to be saved."""
    return at.page.evaluate("window.jupyterapp.shell.currentWidget.context.model.dirty")


def expect_silence(at, *crossed):
    """Nothing of ours speaks to the console, and nothing is thrown.

    `crossed` ends what the browser says of a question that crossed with a change.
    """
    said = [line for line in at.page.said if not line.startswith(SLOW)]
    said = [line for line in said if not (crossed and line.endswith(crossed))]
    wrong = ("pageerror", "error: Failed to load resource")
    assert [s for s in said if s.startswith(wrong) or "nbresume" in s] == []


def test_locked_after_a_recovery(desk):
    """Cells that this kernel ran stay editable; after a recovery they are read-only."""
    at = desk("locks.ipynb", "# Title", LOAD, FETCH, CLEAN, "# Text", PLAIN, REPORT)
    expect(marker(at)).to_have_count(0)

    # ran here: told, and editable
    for place in (1, 2, 3):
        at.run(place)
    for place in (2, 3):
        expect(badge(at, place)).to_have_attribute("data-badge", "ran")
        expect(unlock(at, place)).to_be_hidden()
    expect(badge(at, 2)).to_have_attribute(
        "title", "This kernel ran step fetch. Editing makes it stale."
    )
    type_into(at, 2, " ")
    assert source(at, 2) == FETCH + " "
    at.page.keyboard.press("Backspace")
    # the mark stands above the first cell below, text or plain
    expect(at.cell(4).locator(".jp-nbresume-marker")).to_have_text("Goes on here")
    expect(marker(at)).to_have_count(1)
    at.shoot("cells-ran")

    # another kernel: read-only in the view, and nowhere else
    at.save()
    at.kill_kernel()
    expect(badge(at, 2)).to_have_attribute("data-badge", "committed")
    expect(badge(at, 2)).to_contain_text("committed, locked")
    type_into(at, 2, "; more = 1")
    assert source(at, 2) == FETCH
    assert not is_dirty(at)
    expect(at.cell(2).get_by_role("alert")).to_contain_text("read-only here")
    at.shoot("cells-locked")

    # restored is told from ran, and nothing was run
    at.wait_idle()
    at.sidebar.get_by_role("button", name="Restore only").click()
    for place in (2, 3):
        expect(badge(at, place)).to_have_attribute("data-badge", "restored")
        expect(at.cell(place).locator(".jp-InputPrompt")).to_have_text(f"[{place}]:")
    expect(at.cell(5).locator(".jp-InputPrompt")).to_have_text("[ ]:")
    assert {s["name"]: s["attempts"] for s in at.stored()["steps"]} == {
        "fetch": 1,
        "clean": 1,
        "report": 0,
    }

    # one click, and it is as before; the other cell stays locked
    unlock(at, 2).click()
    expect(badge(at, 2)).to_have_attribute("data-badge", "unlocked")
    expect(badge(at, 3)).to_have_attribute("data-badge", "restored")
    at.page.keyboard.press("Control+End")
    at.page.keyboard.type("; more = 1")
    assert source(at, 2) == FETCH + "; more = 1"
    at.shoot("cells-unlocked")

    # and run again it is a step that this kernel ran
    at.page.keyboard.press("Shift+Enter")
    expect(badge(at, 2)).to_have_attribute("data-badge", "ran")
    assert at.stored()["steps"][0]["attempts"] == 2
    expect_silence(at)


def test_effects_are_always_locked(desk):
    """A committed step that acts on the outside is read-only, also where it ran."""
    at = desk("effects.ipynb", LOAD, FETCH, CLEAN, MAIL, REPORT)
    for place in range(4):
        at.run(place)
    expect(badge(at, 3)).to_contain_text("ran, locked")
    expect(badge(at, 2)).to_have_attribute("data-badge", "ran")

    at.cell(3).locator(".cm-content").dblclick()
    expect(at.cell(3).get_by_role("alert")).to_contain_text("acts on the outside")
    at.page.keyboard.type("x = 1")
    assert source(at, 3) == MAIL
    at.shoot("cells-effects")

    # by keyboard: the button is reached by Tab, and its keys are no shortcuts
    unlock(at, 3).focus()
    at.page.keyboard.press("Enter")
    expect(badge(at, 3)).to_have_attribute("data-badge", "unlocked")
    at.page.keyboard.press("Control+End")
    at.page.keyboard.type("  # why")
    assert source(at, 3) == MAIL + "  # why"
    # a comment is no change: it is replayed, and nothing is sent again
    at.page.keyboard.press("Shift+Enter")
    expect(at.cell(3).locator(".jp-OutputArea")).to_contain_text("[restored]")
    assert {s["name"]: s["attempts"] for s in at.stored()["steps"]}["mail"] == 1
    expect_silence(at)


@pytest.mark.long
def test_a_copy_is_flagged_and_not_locked(desk):
    """A pasted copy of a locked step is editable, and says that its name is taken."""
    at = desk("copies.ipynb", LOAD, FETCH, CLEAN)
    for place in range(3):
        at.run(place)
    at.kill_kernel()
    expect(badge(at, 1)).to_have_attribute("data-badge", "committed")

    at.cell(1).locator(".jp-InputPrompt").click(position={"x": 20, "y": 6})
    at.page.keyboard.press("c")
    at.page.keyboard.press("v")
    expect(badge(at, 2)).to_have_attribute("data-badge", "copy")
    expect(badge(at, 2)).to_contain_text("name used twice: fetch")
    expect(at.cell(2)).to_contain_text("Give this step a name of its own.")
    # also above the one that had the name first
    at.cell(1).locator(".jp-InputPrompt").click(position={"x": 20, "y": 6})
    at.page.get_by_role("menuitem", name="Edit", exact=True).click()
    at.page.get_by_role("menuitem", name="Paste Cell Above").click()
    expect(badge(at, 1)).to_have_attribute("data-badge", "copy")
    expect(badge(at, 2)).to_have_attribute("data-badge", "committed")
    expect(badge(at, 3)).to_have_attribute("data-badge", "copy")
    at.shoot("cells-copies")

    # its own name settles it
    at.cell(3).locator(".cm-content").click()
    at.page.keyboard.press("Control+Home")
    at.page.keyboard.press("End")
    at.page.keyboard.type("_2")
    expect(badge(at, 3)).to_have_count(0)
    assert source(at, 3).startswith("%%step fetch_2\n")
    expect_silence(at)


@pytest.mark.long
def test_a_long_notebook(desk):
    """Cells that come and go with the scroll are told and locked all the same."""
    steps = [f"%%step s{n}\nv{n} = {n}" for n in range(100)]
    steps[25] += "\nraise ValueError"
    cells = [text for n, step in enumerate(steps) for text in (step, f"p{n} = {n}")]
    at = desk("long.ipynb", LOAD, *cells)
    at.menu("Run", "Run All Cells")
    expect(at.headline).to_have_text(
        "25 of 100 steps locked; goes on at s25", timeout=60_000
    )
    at.wait_idle()
    at.save()
    at.kill_kernel()
    at.open()

    # the page has a part of the cells only
    expect(badge(at, 1)).to_have_attribute("data-badge", "committed")
    attached = at.panel.locator(".jp-Notebook .jp-Cell")
    assert attached.count() < 100

    at.menu("Run", "Go to the Step Where the Notebook Goes On")
    expect(at.cell(51)).to_be_in_viewport()
    # below step 24: its plain cell, not step 25
    expect(at.cell(50).locator(".jp-nbresume-marker")).to_have_text("Goes on here")
    expect(marker(at)).to_have_count(1)
    expect(badge(at, 49)).to_have_attribute("data-badge", "committed")
    expect(badge(at, 51)).to_have_count(0)
    type_into(at, 49, "x")
    assert source(at, 49) == "%%step s24\nv24 = 24"
    at.shoot("cells-long")

    # there and back again
    at.page.mouse.wheel(0, -100_000)
    expect(badge(at, 1)).to_be_in_viewport()
    expect(badge(at, 49)).not_to_be_in_viewport()
    at.menu("Run", "Go to the Step Where the Notebook Goes On")
    expect(marker(at)).to_be_in_viewport()
    expect(badge(at, 49)).to_have_count(1)
    expect(marker(at)).to_have_count(1)
    expect_silence(at)


def metadata(at, place):
    """Return a cell's metadata in the document, but for what trusting it left."""
    found = at.page.evaluate(
        "place => window.jupyterapp.shell.currentWidget.content.widgets[place]"
        ".model.sharedModel.getMetadata()",
        place,
    )
    return {key: value for key, value in found.items() if key != "trusted"}


@pytest.mark.long
def test_locks_in_the_metadata_by_setting(desk):
    """By a setting locks are written down, marked as ours, and taken out again."""
    at = desk("metadata.ipynb", LOAD, FETCH, CLEAN)
    for place in range(3):
        at.run(place)
    at.save()
    at.set(**{"Write locks into the notebook": True})
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    assert metadata(at, 1) == {}
    at.kill_kernel()
    expect(badge(at, 1)).to_have_attribute("data-badge", "committed")
    type_into(at, 1, "x")
    assert source(at, 1) == FETCH
    at.page.wait_for_function(
        "window.jupyterapp.shell.currentWidget.content.widgets[2]"
        ".model.sharedModel.getMetadata('editable') === false"
    )
    assert metadata(at, 1) == {"editable": False, "nbresume": {"locked": True}}
    at.save()
    saved = json.loads((at.lab.root / "metadata.ipynb").read_text())["cells"]
    assert [c["metadata"].get("editable") for c in saved[:3]] == [None, False, False]

    # a copy comes without; the other ones keep theirs
    at.select(1)
    at.page.keyboard.press("c")
    at.page.keyboard.press("v")
    expect(badge(at, 2)).to_have_attribute("data-badge", "copy")
    assert "editable" not in metadata(at, 2)
    at.page.keyboard.press("z")
    expect(badge(at, 2)).to_have_attribute("data-badge", "committed")

    unlock(at, 1).click()
    expect(badge(at, 1)).to_have_attribute("data-badge", "unlocked")
    assert metadata(at, 1) == {}
    at.page.keyboard.press("Control+End")
    at.page.keyboard.type("; more = 1")
    assert source(at, 1) == FETCH + "; more = 1"
    assert metadata(at, 2) == {"editable": False, "nbresume": {"locked": True}}
    expect_silence(at)


@pytest.mark.long
def test_resume_begins_at_the_mark(desk):
    """Where cells stand counts as they are open: moved, with text and plain cells."""
    other, count = "other = 3", "%%step count\nn = other * len(rows)"
    at = desk("resume.ipynb", LOAD, FETCH, CLEAN, "# Text", PLAIN, other, count)
    for place in range(3):
        at.run(place)
    at.save()
    at.kill_kernel()
    at.wait_idle()
    expect(at.cell(3).locator(".jp-nbresume-marker")).to_be_visible()
    # the last committed step moves below a plain cell, and nobody saves
    at.select(2)
    at.page.keyboard.press("Control+Shift+ArrowDown")
    at.page.keyboard.press("Control+Shift+ArrowDown")
    expect(badge(at, 4)).to_have_attribute("data-badge", "committed")
    expect(at.cell(5).locator(".jp-nbresume-marker")).to_be_visible()

    at.resume("count")
    at.expect_states(count="COMMITTED")
    # what stands below the mark ran, and nothing above it
    expect(at.prompt(3)).to_have_text("[ ]:")
    expect(at.prompt(5)).to_have_text("[2]:")
    expect(at.prompt(6)).to_have_text("[3]:")
    saved = json.loads((at.lab.root / "resume.ipynb").read_text())["cells"]
    assert ["".join(c["source"]) for c in saved[3:5]] == [PLAIN, CLEAN]
    assert {s["name"]: s["attempts"] for s in at.stored()["steps"]} == {
        "fetch": 1,
        "clean": 1,
        "count": 1,
    }
    expect(marker(at)).to_have_count(0)
    expect_silence(at)


@pytest.mark.long
def test_resume_runs_what_always_runs_and_goes_on_below(desk):
    """A step that is made anew each time does not move the resume point."""
    connect = "import sqlite3\ncon = sqlite3.connect('db')"
    query = "con.execute('select 7').fetchall()"
    con = noted("con", connect, "--always")
    load = noted("load", f"rows = {query}")
    at = desk("always.ipynb", LOAD, con, load, PLAIN, noted("last", f"print({query})"))
    for place in range(3):
        at.run(place)
    at.expect_states(con="COMMITTED", load="COMMITTED", last="NEW")
    at.save()
    at.kill_kernel()
    at.wait_idle()
    expect(at.cell(3).locator(".jp-nbresume-marker")).to_have_text("Goes on here")
    expect(at.headline).to_have_text("1 of 3 steps locked; goes on at last")
    assert at.stored()["resume_from"] == "last"

    at.resume("last")
    at.expect_states(last="COMMITTED")
    # the connection was made anew, what was read through it was not read again
    assert at.ledger() == ["con", "load", "con", "last"]
    expect(at.output(4)).to_contain_text("[(7,)]")
    expect(at.sidebar.locator("[data-notice='said']")).to_contain_text("--always: con")
    expect_silence(at)


@pytest.mark.long
def test_run_again_asks_for_the_reason(desk):
    """A step that acts on the outside runs again only with a reason, kept on record."""
    at = desk("rerun.ipynb", LOAD, FETCH, CLEAN, MAIL)
    for place in range(4):
        at.run(place)
    at.expect_states(mail="COMMITTED")
    at.step("mail").get_by_role("button", name="More").click()
    at.page.locator(".lm-Menu-itemLabel", has_text="Run it again").click()
    dialog = at.page.get_by_role("dialog", name="Decide about step mail")
    dialog.get_by_role("radio", name="rerun", exact=True).check()
    dialog.get_by_role("textbox", name="Reason").fill("the list was wrong")
    at.shoot("dialog-rerun")
    dialog.get_by_role("button", name="Decide").click()
    expect(at.prompt(3)).to_have_text("[5]:")
    at.expect_states(mail="COMMITTED")
    assert {s["name"]: s["attempts"] for s in at.stored()["steps"]}["mail"] == 2
    assert "the list was wrong" in [event["why"] for event in at.history()]
    expect(badge(at, 3)).to_contain_text("ran, locked")
    expect_silence(at)


def test_nothing_is_covered(desk):
    """Badges and mark have a place of their own, also in a narrow or dark window."""
    stop = "%%step mail --effects\nimport time\nprint('mailing')\ntime.sleep(120)"
    at = desk("covered.ipynb", "# Sales", LOAD, FETCH, CLEAN, PLAIN, stop, REPORT)
    for place in (1, 2, 3, 4):
        at.run(place)
    at.start(5)
    expect(at.output(5)).to_contain_text("mailing")
    at.kill_kernel()
    at.expect_states(mail="AMBIGUOUS")
    expect(at.cell(5).locator(".jp-nbresume-marker")).to_have_text("Stopped here")
    # clicks on the mark and beside the badge reach the cell
    at.cell(5).locator(".jp-nbresume-marker").click(force=True)
    expect(at.cell(5)).to_have_class(re.compile("jp-mod-active"))
    beside = at.cell(3).locator(".jp-nbresume-badgeLine")
    beside.click(position={"x": 400, "y": 5}, force=True)
    expect(at.cell(3)).to_have_class(re.compile("jp-mod-active"))
    # the badge itself tells its sentence, and the prompt is free
    at.select(2)
    expect(at.cell(2)).to_have_class(re.compile("jp-mod-active"))

    for look, width in (("light", 1000), ("dark", 1000), ("dark-narrow", 620)):
        at.page.set_viewport_size({"width": width, "height": 700})
        if look == "dark":
            at.dark()
        for place in (2, 3, 5):
            above = at.cell(place).locator(".jp-nbresume-strip").bounding_box()
            text = at.cell(place).locator(".jp-InputArea").bounding_box()
            assert above["y"] + above["height"] <= text["y"] + 1
            assert above["height"] < 60
        at.shoot(f"cells-{look}")
    at.page.set_viewport_size({"width": 1000, "height": 600})
    at.light()
    expect_silence(at)
