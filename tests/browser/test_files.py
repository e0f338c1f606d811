"""Notebooks that are renamed, copied, saved under another name, new or gone.

The rule: the sidebar says in a sentence what is the case and what to do; no run is
lost, none is mixed with another.
"""

import json
import subprocess
import sys

import pytest
from desk import LOAD, Desk, noted
from playwright.sync_api import expect
from serving import environment

FETCH = noted("fetch", "rows = [1, 2, 3]")
REPORT = noted("report", "print(len(rows), 'rows')")


def run_all(at):
    """Run all cells, to the end."""
    at.menu("Run", "Run All Cells")
    at.expect_states(fetch="COMMITTED", report="COMMITTED")


def named(at, name):
    """Return the same desk with its notebook under another name."""
    expect(at.sidebar.get_by_role("heading", name=name)).to_be_visible()
    return Desk(at.page, at.lab, name)


def runs(at):
    """Return the runs of the store."""
    folders = (at.lab.root / ".nbresume" / "journal").iterdir()
    return sorted(path.name for path in folders)


def rename(at, name):
    """Rename the notebook by the menu."""
    at.menu("File", "Rename Notebook")
    at.page.locator(".jp-Dialog input").first.fill(name)
    at.answer("Rename File", "Rename")
    return named(at, name)


def test_a_renamed_notebook_goes_on(desk):
    """Its run is found under the new name, also by a new kernel."""
    at = desk("old.ipynb", LOAD, FETCH, REPORT)
    run_all(at)
    before = runs(at)

    at = rename(at, "new.ipynb")
    at.expect_states(fetch="COMMITTED", report="COMMITTED")
    at.edit(2, "Control+End", "; x = 1")
    at.run(2)
    # the page saves what has run by itself
    at.wait_written("; x = 1")
    at.expect_states(fetch="COMMITTED", report="COMMITTED")

    at.menu("Kernel", "Restart Kernel and Run All Cells")
    at.answer("Restart Kernel", "Restart")
    expect(at.output(2)).to_contain_text("[restored] step report")
    assert at.ledger() == ["fetch", "report", "report"]
    assert runs(at) == before
    assert at.stored()["resume_from"] == ""


@pytest.mark.long
def test_a_copy_is_a_run_of_its_own(desk):
    """A copied notebook begins anew, says so, and leaves the first one alone."""
    at = desk("sales.ipynb", LOAD, FETCH, REPORT)
    run_all(at)
    at.save()
    before = at.stored()

    at.file_menu("sales.ipynb", "Duplicate")
    at.turn_to("sales-Copy1.ipynb")
    copy = named(at, "sales-Copy1.ipynb")
    copy.wait_idle()
    copy.expect_states(fetch="NEW", report="NEW")
    copy.run(0)
    expect(copy.output(0)).to_contain_text("copy of sales.ipynb")
    run_all(copy)

    assert at.ledger() == ["fetch", "report"] * 2
    assert len(set(at.pids())) == 2
    assert at.stored()["revision"] == before["revision"]
    assert len(runs(at)) == 2


def test_a_store_that_cannot_be_read_is_told(desk):
    """A store of another release: the sidebar says what the command says."""
    at = desk("sales.ipynb", LOAD, FETCH, REPORT)
    run_all(at)
    path = at.lab.root / ".nbresume" / "store.json"
    said = json.loads(path.read_text())
    path.chmod(0o600)
    path.write_text(json.dumps(said | {"format": 99}))

    at.sidebar.get_by_role("button", name="Look again").click()
    expect(at.sidebar.locator(".jp-nbresume-notice").first).to_contain_text("99")

    done = subprocess.run(
        [sys.executable, "-m", "nbresume", "status", at.name],
        cwd=at.lab.root,
        env=environment(at.lab.home),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    for sentence in at.sidebar.locator("p.jp-nbresume-notice").all_inner_texts():
        assert sentence.rstrip(".") in done.stderr
    # and it comes back as it was
    path.write_text(json.dumps(said))
    at.sidebar.get_by_role("button", name="Look again").click()
    at.expect_states(fetch="COMMITTED", report="COMMITTED")


@pytest.mark.long
def test_a_deleted_notebook_is_told(desk):
    """Its file is gone: the sidebar says so; saved again, its run is there again."""
    at = desk("sales.ipynb", LOAD, FETCH, REPORT)
    run_all(at)
    at.save()
    path = at.lab.root / "sales.ipynb"
    path.unlink()
    at.sidebar.get_by_role("button", name="Look again").click()
    expect(at.sidebar).to_contain_text("the server shows no such file")

    at.edit(2, "Control+End", "  # kept")
    at.menu("File", "Save Notebook")
    at.expect_states(fetch="COMMITTED", report="COMMITTED")
    assert at.ledger() == ["fetch", "report"]


def test_a_notebook_that_was_never_saved(desk):
    """Steps of a new notebook see each other, and its first name keeps their run."""
    at = desk("other.ipynb", "1")
    at.menu("File", "New", "Notebook")
    at.answer("Select Kernel", "Select")
    at = named(at, "Untitled.ipynb")
    at.wait_idle()
    for place, source in enumerate((LOAD, FETCH, REPORT)):
        at.cell(place).locator(".cm-content").click()
        at.page.keyboard.insert_text(source)
        at.page.keyboard.press("Shift+Enter")
    expect(at.output(2)).to_contain_text("3 rows")
    at.show()

    at = rename(at, "mine.ipynb")
    at.save()
    at.expect_states(fetch="COMMITTED", report="COMMITTED")
    assert at.ledger() == ["fetch", "report"]
    assert len(runs(at)) == 1
    at.menu("Kernel", "Restart Kernel and Run All Cells")
    at.answer("Restart Kernel", "Restart")
    expect(at.output(2)).to_contain_text("[restored] step report")
    assert at.ledger() == ["fetch", "report"]
    assert at.stored()["resume_from"] == ""


def test_saved_under_another_name(desk):
    """The copy has a kernel and a run of its own; the first one's stay as they are."""
    at = desk("first.ipynb", LOAD, FETCH, REPORT)
    run_all(at)
    at.save()
    before = at.stored()
    pid = at.kernel_pid()

    at.menu("File", "Save Notebook As")
    at.page.locator(".jp-Dialog input").first.fill("second.ipynb")
    at.answer("Save File As", "Save")
    copy = named(at, "second.ipynb")
    copy.expect_states(fetch="NEW", report="NEW")
    copy.wait_idle()
    assert copy.kernel_pid() != pid
    run_all(copy)
    assert at.ledger() == ["fetch", "report"] * 2
    assert at.pids() == [pid, pid, copy.kernel_pid(), copy.kernel_pid()]
    assert at.stored()["revision"] == before["revision"]
    assert len(runs(at)) == 2
