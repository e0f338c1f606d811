"""Saving: what ran is in the file, and no two saves are in each other's way."""

import json
import re
import threading

import pytest
from desk import LOAD, noted
from playwright.sync_api import expect
from test_cells import expect_silence

FETCH = noted("fetch", "rows = [1, 2, 3]")


@pytest.mark.parametrize(
    "first", ["ours", pytest.param("theirs", marks=pytest.mark.long)]
)
def test_two_saves_at_once_take_turns(desk, first):
    """JupyterLab does not take one of them for another program's."""
    at = desk("both.ipynb", LOAD, FETCH)
    at.run(0)
    seen = threading.Event()

    def slow(route):
        # the file is written, and the page hears of it late
        answer = route.fetch()
        if route.request.method == "PUT" and not seen.is_set():
            seen.set()
            at.page.wait_for_timeout(3000)
        route.fulfill(response=answer)

    at.page.route(re.compile(r"/api/contents/both\.ipynb"), slow)
    at.edit(1, "Control+End", "; more = 1")
    # one of the two is on its way when the other one begins
    if first == "theirs":
        at.page.keyboard.press("Control+s")
        at.edit(1, "Control+End", "; last = 1")
        at.run(1)
    else:
        at.run(1)
        at.until(seen.is_set)
        at.edit(1, "Control+End", "; last = 1")
        at.page.keyboard.press("Control+s")
    path = at.lab.root / at.name
    at.until(lambda: "; last = 1" in path.read_text())
    at.page.wait_for_timeout(500)

    expect(at.page.locator(".jp-Dialog")).to_have_count(0)
    at.expect_states(fetch="COMMITTED" if first == "theirs" else "STALE")
    saved = json.loads(path.read_text())["cells"][1]["source"]
    assert "".join(saved).endswith("; more = 1; last = 1")
    at.page.unroute_all(behavior="wait")
    expect_silence(at)


def test_a_step_that_is_in_no_file_yet_is_told(desk):
    """Its cell is not gone: it stands in the notebook, and nobody saved it."""
    at = desk("new.ipynb", LOAD, FETCH)
    at.menu("Settings", "Autosave Documents")
    at.run(0)
    at.run(1)
    at.cell(2).locator(".cm-content").click()
    at.page.keyboard.insert_text("%%step later\ny = 1")
    at.page.keyboard.press("Shift+Enter")
    unsaved = at.sidebar.get_by_role("list", name="Steps whose cell is not saved yet")
    expect(unsaved.locator("[data-step='later']")).to_contain_text("committed")
    expect(unsaved).to_contain_text("its place is known when the notebook is saved")
    expect(at.sidebar).not_to_contain_text("cell is gone")
    expect(at.sidebar).not_to_contain_text("No longer in the notebook")
    at.shoot("unsaved-step")

    at.sidebar.get_by_role("button", name="Save").click()
    expect(unsaved).to_have_count(0)
    at.expect_states(fetch="COMMITTED", later="COMMITTED")
    assert [s["place"] for s in at.stored()["steps"]] == [1, 2]
    at.menu("Settings", "Autosave Documents")
    expect_silence(at)
