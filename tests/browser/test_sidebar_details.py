"""What the sidebar tells when it is asked: stored values, reasons, the plan."""

import re

import pytest
from desk import LOAD
from playwright.sync_api import expect

FETCH = "%%step fetch\nrows = list(range(1000))\nname = 'sales'\nprint('fetched')"
CLEAN = "%%step clean\nkept = [r for r in rows if r % 2]"
EVIL = """%%step shown
from IPython.display import HTML, display
display(HTML("<b>bold</b><img src=x onerror='window.harmed = 1'>"))
mark = 1"""
SLOW = """%%step slow
import os, time
print("started")
while not os.path.exists("go"):
    time.sleep(0.1)"""


def choose(at, step, item):
    """Choose from the menu of a step."""
    at.step(step).get_by_role("button", name="More").click()
    at.page.get_by_role("menuitem", name=item).click()


def test_what_a_step_stored_is_inspected(desk):
    """Names, kinds and sizes come from the store; HTML of it can do no harm."""
    at = desk("inspect.ipynb", LOAD, FETCH, EVIL, CLEAN)
    for place in (0, 1, 2):
        at.run(place)
    at.expect_states(fetch="COMMITTED", shown="COMMITTED", clean="NEW")
    at.kill_kernel()
    revision = at.stored()["revision"]

    choose(at, "fetch", "Inspect")
    told = at.step("fetch").get_by_role("region", name="What step fetch stored")
    expect(told.locator("[data-name='rows']")).to_contain_text("list")
    expect(told.locator("[data-name='rows']")).to_contain_text("kB")
    expect(told.locator("[data-name='name']")).to_contain_text("sales")
    told.get_by_text("The cell as it ran").click()
    expect(told).to_contain_text("rows = list(range(1000))")
    at.shoot("inspect")
    stored = {s["name"]: s for s in at.stored()["steps"]}
    assert {
        n.get_attribute("data-name") for n in told.locator("[data-name]").all()
    } == (set(stored["fetch"]["outputs"]))

    # one question at a time; the cell itself may do as it likes
    at.page.evaluate("delete window.harmed")
    choose(at, "shown", "Inspect")
    expect(told).to_be_hidden()
    told = at.step("shown").get_by_role("region", name="What step shown stored")
    told.get_by_text("What the cell showed").click()
    expect(told.locator("b", has_text="bold")).to_be_visible()
    assert at.page.evaluate("window.harmed") is None
    told.get_by_role("button", name="Close").click()
    expect(told).to_be_hidden()
    # what was never committed cannot be inspected, and the menu says why
    at.step("clean").get_by_role("button", name="More").click()
    item = at.page.get_by_role("menuitem", name="Inspect")
    expect(item).to_have_attribute("aria-disabled", "true")
    expect(item).to_have_attribute("title", re.compile("Nothing is committed"))
    at.page.keyboard.press("Escape")
    expect(at.step("clean").get_by_role("button", name="More")).to_be_focused()

    # looking writes nothing
    assert at.stored()["revision"] == revision


@pytest.mark.long
def test_reasons_and_the_plan_are_tables(desk):
    """Why a step would run, and what running all would do, as the commands say."""
    at = desk("plan.ipynb", LOAD, FETCH, CLEAN)
    for place in range(3):
        at.run(place)
    at.expect_states(fetch="COMMITTED", clean="COMMITTED")
    at.cell(1).locator(".cm-content").click()
    at.page.keyboard.press("Control+End")
    at.page.keyboard.type("; more = 1")
    at.save()
    at.expect_states(fetch="STALE")

    choose(at, "fetch", "Explain")
    told = at.step("fetch").get_by_role("region", name="Why step fetch would run")
    expect(told.get_by_role("row", name=re.compile("code"))).to_contain_text("changed")
    expect(told.get_by_role("row")).to_have_count(2)
    at.shoot("explain")
    at.sidebar.get_by_role("button", name="Plan").click()
    expect(told).to_be_hidden()
    plan = at.sidebar.get_by_role("region", name="What running all cells would do")
    expect(plan.get_by_role("row", name=re.compile("^fetch"))).to_contain_text("again")
    expect(plan.get_by_role("row")).to_have_count(3)
    at.shoot("plan")

    # the answer follows the run
    at.run(1)
    at.expect_states(fetch="COMMITTED")
    expect(plan.get_by_role("row", name=re.compile("^fetch"))).to_contain_text("replay")
    assert {s["name"]: s["plan"] for s in at.stored()["steps"]}["fetch"] == "replay"


@pytest.mark.long
def test_a_running_step_shows_how_long(desk):
    """The time since it began goes on while the kernel is busy, and says why not."""
    at = desk("running.ipynb", LOAD, FETCH, SLOW)
    at.run(0)
    at.run(1)
    at.expect_states(fetch="COMMITTED")
    status = at.page.locator(".jp-nbresume-status")
    expect(status).to_have_text("1 of 2 steps locked")

    at.start(2)
    at.expect_states(slow="RUNNING")
    timer = at.step("slow").get_by_role("timer")
    expect(timer).to_have_text(re.compile(r"running for [2-9] s"))
    resume = at.sidebar.locator(".jp-nbresume-buttons").get_by_role("button").first
    expect(resume).to_have_attribute("aria-disabled", "true")
    expect(resume).to_have_attribute("title", "The kernel is busy")
    at.shoot("running")
    # the server is asked, not the kernel
    at.sidebar.get_by_role("button", name="Plan").click()
    plan = at.sidebar.get_by_role("region", name="What running all cells would do")
    expect(plan.get_by_role("row")).to_have_count(3)

    (at.lab.root / "go").touch()
    at.expect_states(slow="COMMITTED")
    expect(timer).to_be_hidden()
    expect(status).to_have_text("2 of 2 steps locked")
    # a click on the status bar brings the sidebar back
    at.tab("Steps of the notebook").click()
    expect(at.sidebar).to_be_hidden()
    status.click()
    expect(at.sidebar).to_be_visible()
    assert all(step["locked"] for step in at.stored()["steps"])
