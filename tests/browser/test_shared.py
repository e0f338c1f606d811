"""Notebooks that share what should be one's own: a run, the ids of cells, a name."""

import json

import pytest
from desk import LOAD, Desk, noted, write_notebook
from playwright.sync_api import expect
from serving import Lab
from test_cells import badge, expect_silence

FETCH = noted("fetch", "rows = [1, 2, 3]")
REPORT = noted("report", "print(len(rows), 'rows')")


@pytest.fixture
def one_run(tmp_path_factory, window, monkeypatch):
    """Return a function that opens a notebook in a server that names one run."""
    monkeypatch.setenv("NBRESUME_RUN", "weekly")
    lab = Lab(
        tmp_path_factory.mktemp("shared"),
        "jupyterlab",
        "--YDocExtension.disable_rtc=True",
    )
    lab.start()
    page = window.new_page()
    page.said = []

    def opened(name, *sources):
        write_notebook(lab.root / name, *sources)
        at = Desk(page, lab, name)
        at.open()
        return at

    yield opened
    page.close()
    lab.stop()


@pytest.mark.long
def test_two_notebooks_on_one_run(one_run):
    """The second one is told of the first, and what to do; so is the first then."""
    at = one_run("first.ipynb", LOAD, FETCH, REPORT)
    told = at.sidebar.locator("p.jp-nbresume-notice", has_text="two notebooks are on")
    at.run(0)
    at.run(1)
    at.expect_states(fetch="COMMITTED", report="NEW")
    expect(told).to_have_count(0)
    first = at.kernel_pid()

    at.turn_to("second.ipynb", LOAD, REPORT)
    then = Desk(at.page, at.lab, "second.ipynb")
    expect(at.sidebar.get_by_role("heading", name="second.ipynb")).to_be_visible()
    then.wait_idle()
    expect(told).to_contain_text("the other one is")
    expect(told).to_contain_text("first.ipynb; give one of them a run of its own")
    expect(told).to_contain_text("set NBRESUME_RUN to another name for it")
    at.shoot("two-notebooks")
    # the kernel says the same where it is loaded, and nothing is mixed up silently
    then.run(0)
    expect(then.output(0)).to_contain_text("two notebooks are on this run")
    assert first != then.kernel_pid()
    assert at.ledger() == ["fetch"]

    # it runs a step of its own, and takes the run: now the first one is told
    then.cell(1).locator(".cm-content").click()
    then.page.keyboard.press("Control+a")
    then.page.keyboard.insert_text("%%step other\nz = 1")
    then.run(1)
    # what ran is saved by itself
    then.expect_states(other="COMMITTED")
    at.turn_to("first.ipynb")
    expect(at.sidebar.get_by_role("heading", name="first.ipynb")).to_be_visible()
    at.sidebar.get_by_role("button", name="Look again").click()
    expect(told).to_contain_text("second.ipynb; give one of them")
    at.expect_states(fetch="COMMITTED", report="NEW")
    assert "second.ipynb" in at.stored()["differs"][0]


def test_cells_of_one_id(desk):
    """A file whose cells share an id is told, runs right, and is mended by a save."""
    at = desk("other.ipynb", "1")
    path = at.lab.root / "ids.ipynb"
    write_notebook(path, LOAD, FETCH, "factor = 2", REPORT)
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"][1:]:
        cell["id"] = "same"
    path.write_text(json.dumps(notebook))
    at.turn_to("ids.ipynb")
    at = Desk(at.page, at.lab, "ids.ipynb")
    expect(at.sidebar.get_by_role("heading", name="ids.ipynb")).to_be_visible()
    at.wait_idle()
    at.run(0)
    told = at.sidebar.locator("p.jp-nbresume-notice", has_text="have the same id")
    expect(told).to_contain_text(
        'another one of the notebook: "factor = 2", step report'
    )
    expect(told).to_contain_text("save it in Jupyter, which gives each its own")
    at.shoot("same-ids")

    at.menu("Run", "Run All Cells")
    at.expect_states(fetch="COMMITTED", report="COMMITTED")
    expect(at.output(3)).to_contain_text("3 rows")
    at.menu("File", "Save Notebook")
    expect(told).to_have_count(0)
    ids = [cell["id"] for cell in json.loads(path.read_text())["cells"]]
    assert len(set(ids)) == len(ids)
    # what was committed under the shared id is found under the new ones
    at.menu("Kernel", "Restart Kernel and Run All Cells")
    at.answer("Restart Kernel", "Restart")
    expect(at.output(3)).to_contain_text("[restored] step report")
    assert at.ledger() == ["fetch", "report"]
    assert at.stored()["resume_from"] == ""
    expect_silence(at)


@pytest.mark.long
def test_a_copy_above_its_original(desk):
    """Saved and loaded anew, the copy is still the copy: the run knows who ran it."""
    at = desk("above.ipynb", LOAD, FETCH, REPORT)
    at.menu("Run", "Run All Cells")
    at.expect_states(fetch="COMMITTED", report="COMMITTED")
    at.select(1)
    at.page.keyboard.press("c")
    at.menu("Edit", "Paste Cell Above")
    expect(badge(at, 1)).to_have_attribute("data-badge", "copy")
    at.save()
    at.open()

    expect(badge(at, 1)).to_have_attribute("data-badge", "copy")
    expect(badge(at, 2)).to_have_attribute("data-badge", "ran")
    at.expect_states(fetch="COMMITTED", report="COMMITTED")
    # the kernel says so too: the copy is refused, the original replays
    at.run(1)
    expect(at.output(1)).to_contain_text("its name is used by another cell")
    at.run(2)
    expect(at.output(2)).to_contain_text("restored")
    assert at.ledger() == ["fetch", "report"]
    steps = {step["name"]: step for step in at.stored()["steps"]}
    assert (steps["fetch"]["cell_id"], steps["fetch"]["place"]) == ("c1", 2)
    expect_silence(at)
