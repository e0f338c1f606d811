"""The sidebar and the dialog without a mouse, and for those who do not see them."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from desk import LOAD, noted
from playwright.sync_api import expect

SERIOUS = ("serious", "critical")
MAIL = "%%step mail --effects\nimport time\nprint('mailing')\ntime.sleep(120)"


def faults(page, where):
    """Return what axe finds below an element that a person could not overcome."""
    found = Axe().run(page, context=where, options={"resultTypes": ["violations"]})
    return [
        (fault["id"], node["html"][:200], node.get("failureSummary", "")[:200])
        for fault in found.response["violations"]
        if fault["impact"] in SERIOUS
        for node in fault["nodes"]
    ]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_no_serious_fault(desk, theme):
    """Neither in the sidebar with all that it can show, nor in the dialog."""
    at = desk("axe.ipynb", LOAD, noted("fetch", "x = 1"), MAIL, noted("report"))
    getattr(at, theme)()
    at.run(0)
    at.run(1)
    at.start(2)
    expect(at.output(2)).to_contain_text("mailing")
    at.expect_states(mail="RUNNING")
    assert faults(at.page, ".jp-nbresume") == []
    at.kill_kernel()
    at.expect_states(fetch="COMMITTED", mail="AMBIGUOUS")
    at.sidebar.get_by_text("History").click()
    expect(at.sidebar.locator("[data-revision]").first).to_be_visible()
    at.sidebar.get_by_role("button", name="Plan").click()
    expect(at.sidebar.get_by_role("row").first).to_be_visible()
    at.shoot(f"access-{theme}")
    assert faults(at.page, ".jp-nbresume") == []
    assert faults(at.page, ".jp-nbresume-status") == []

    at.step("mail").get_by_role("button", name="Decide").click()
    asked = at.page.get_by_role("dialog", name="Decide about step mail")
    asked.get_by_role("radio", name="evidence", exact=True).check()
    asked.get_by_role("button", name="Decide").click()
    expect(asked.get_by_role("alert")).to_contain_text("Give a reason")
    at.shoot(f"access-dialog-{theme}")
    assert faults(at.page, ".jp-nbresume-doubt") == []


@pytest.mark.long
def test_axe_would_notice(desk):
    """A planted fault: a button with no name is found, so the others would be."""
    at = desk("planted.ipynb", LOAD)
    at.page.evaluate(
        "document.querySelector('.jp-nbresume-head button').ariaLabel = ''"
    )
    at.page.evaluate("document.querySelector('.jp-nbresume-head button').title = ''")

    assert [found[0] for found in faults(at.page, ".jp-nbresume")] == ["button-name"]


def test_resume_by_keyboard_only(desk):
    """From the menu to the last step, with no click and with the focus never lost."""
    at = desk("keys.ipynb", LOAD, noted("fetch", "x = 1"), noted("sum", "y = x + 1"))
    keys = at.page.keyboard
    at.run(0)
    at.run(1)
    at.kill_kernel()
    at.expect_states(fetch="COMMITTED", sum="NEW")
    at.wait_idle()

    # from the cell to the sidebar, and there from button to button
    keys.press("Alt+Shift+S")
    at.page.locator(".jp-nbresume-head button").focus()
    keys.press("Tab")
    resume = at.sidebar.locator(".jp-nbresume-buttons").get_by_role("button").first
    expect(resume).to_be_focused()
    expect(resume).to_have_attribute("aria-disabled", "false")
    keys.press("Enter")

    at.expect_states(sum="COMMITTED")
    expect(at.page.locator("body")).not_to_be_focused()
    assert at.ledger() == ["fetch", "sum"]
    assert at.stored()["resume_from"] == ""
    # on to the rows, the menu of one, and back
    at.step("fetch").get_by_role("button", name="fetch").focus()
    keys.press("ArrowDown")
    expect(at.step("sum").get_by_role("button").first).to_be_focused()
    keys.press("Tab")
    more = at.step("sum").get_by_role("button", name="More")
    expect(more).to_be_focused()
    keys.press("Enter")
    expect(at.page.get_by_role("menu")).to_be_visible()
    keys.press("ArrowDown")
    keys.press("Enter")
    told = at.step("sum").get_by_role("region", name="What step sum stored")
    expect(told.locator("[data-name='y']")).to_contain_text("int")
    # the focus is where it was asked from
    expect(more).to_be_focused()
