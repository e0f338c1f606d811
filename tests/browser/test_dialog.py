"""The dialog for a step in doubt: it shows, asks and records; it never chooses."""

import re

import pytest
from desk import LOAD, noted
from playwright.sync_api import expect

MAIL = "%%step mail --effects\nimport time\nprint('mailing')\ntime.sleep(120)\nsent = 1"
CHARGE = """%%step charge
import time
from nbresume import effect
def call(amount):
    print("charging")
    time.sleep(120)
receipt = effect("card", call, 20)"""
REPORT = "%%step report\nprint('reported', sent)"


@pytest.fixture
def doubt(desk):
    """Return a function that leaves a notebook with its second step in doubt."""

    def left(name, source, step):
        at = desk(name, LOAD, "%%step fetch\nx = 1", source, REPORT)
        at.run(0)
        at.run(1)
        at.start(2)
        expect(at.output(2)).to_contain_text("ing")
        at.kill_kernel()
        at.expect_states(fetch="COMMITTED", **{step: "AMBIGUOUS"})
        return at

    return left


def states(at):
    """Return the states that the store tells."""
    return {step["name"]: step["state"] for step in at.stored()["steps"]}


def dialog(at, step):
    """Open the dialog by the button of its row."""
    at.step(step).get_by_role("button", name="Decide").click()
    found = at.page.get_by_role("dialog")
    expect(found).to_contain_text(f"Decide about step {step}")
    return found


@pytest.mark.long
def test_it_chooses_nothing_and_says_what_lacks(doubt):
    """Nothing is preselected; without a way out and a reason nothing is recorded."""
    at = doubt("mail.ipynb", MAIL, "mail")
    revision = at.stored()["revision"]

    asked = dialog(at, "mail")

    expect(asked).to_contain_text("it declared --effects")
    expect(asked.get_by_role("radio")).to_have_count(3)
    for radio in asked.get_by_role("radio").all():
        expect(radio).not_to_be_checked()
    at.shoot("dialog")
    # Enter, wherever the focus is: it names what lacks, and leads there
    at.page.keyboard.press("Enter")
    expect(asked.get_by_role("alert")).to_have_text("Choose what is to be done.")
    expect(asked.get_by_role("radio").first).to_be_focused()
    asked.get_by_role("radio", name="retry", exact=True).check()
    asked.get_by_role("button", name="Decide").click()
    expect(asked.get_by_role("alert")).to_have_text("Give a reason.")
    expect(asked.get_by_role("textbox", name="Reason")).to_be_focused()
    at.shoot("dialog-lacks")
    at.page.keyboard.press("Escape")

    expect(asked).to_be_hidden()
    assert at.stored()["revision"] == revision
    assert states(at)["mail"] == "AMBIGUOUS"


def test_retry_moves_the_resume_point(doubt):
    """A decision is recorded with who and why, and the run can go on."""
    at = doubt("retry.ipynb", MAIL.replace("120", "0.1 if x > 1 else 120"), "mail")
    expect(at.headline).to_contain_text("stopped at mail")

    asked = dialog(at, "mail")
    asked.get_by_role("radio", name="retry", exact=True).check()
    asked.get_by_role("textbox", name="Reason").fill("no mail arrived")
    asked.get_by_role("button", name="Decide").click()

    expect(asked).to_be_hidden()
    at.expect_states(fetch="COMMITTED", mail="NEW", report="NEW")
    expect(at.headline).to_contain_text("goes on at mail")
    expect(at.step("mail")).to_contain_text("Goes on here")
    stored = at.stored()
    assert stored["resume_from"] == "mail"
    expect(at.headline).to_have_text(stored["headline"])
    # the audit trail says who and why
    at.sidebar.get_by_text("History").click()
    newest = at.sidebar.locator("[data-revision]").first
    expect(newest).to_contain_text("no mail arrived")
    expect(newest).to_have_attribute("data-revision", str(stored["revision"]))
    # what had the focus is gone: it went to the row, not to the page
    expect(at.page.locator("body")).not_to_be_focused()


@pytest.mark.long
def test_evidence_commits_the_step_with_values(doubt):
    """With evidence the step counts as committed; a refused value keeps the form."""
    at = doubt("evidence.ipynb", MAIL, "mail")
    asked = dialog(at, "mail")
    asked.get_by_role("radio", name="evidence", exact=True).check()
    values = asked.get_by_role("textbox", name="Values")
    asked.get_by_role("textbox", name="Reason").fill("it is in the outbox")

    # the page refuses what has no shape, the server what has no value
    values.fill("sent")
    asked.get_by_role("button", name="Decide").click()
    expect(asked.get_by_role("alert")).to_contain_text("This is no NAME = VALUE: sent")
    values.fill("sent = today")
    asked.get_by_role("button", name="Decide").click()
    expect(asked.get_by_role("alert")).to_contain_text("no Python literal")
    at.shoot("dialog-refused")
    expect(values).to_have_value("sent = today")
    expect(asked.get_by_role("textbox", name="Reason")).to_have_value(
        "it is in the outbox"
    )
    assert states(at)["mail"] == "AMBIGUOUS"
    values.fill("sent = 17")
    asked.get_by_role("button", name="Decide").click()

    expect(asked).to_be_hidden()
    at.expect_states(mail="COMMITTED", report="NEW")
    expect(at.headline).to_contain_text("goes on at report")
    assert at.stored()["resume_from"] == "report"
    at.resume("report")
    at.expect_states(report="COMMITTED")
    # the value that was given is the step's
    expect(at.output(3)).to_contain_text("reported 17")


@pytest.mark.long
def test_an_open_effect_is_settled_with_its_result(doubt):
    """Evidence about one effect is recorded with the result, and is replayed."""
    at = doubt("effect.ipynb", CHARGE, "charge")
    expect(at.step("charge")).to_contain_text("effect card may or may not have")

    asked = dialog(at, "charge")
    expect(asked).to_contain_text("card")
    asked.get_by_role("radio", name="evidence: card", exact=True).check()
    asked.get_by_role("textbox", name="Its result").fill("'ch_17'")
    asked.get_by_role("textbox", name="Reason").fill("the bank says so")
    at.shoot("dialog-effect")
    asked.get_by_role("button", name="Decide").click()

    expect(asked).to_be_hidden()
    charge = next(s for s in at.stored()["steps"] if s["name"] == "charge")
    assert charge["open_effects"] == []
    assert charge["effect_count"] == 1


@pytest.mark.long
def test_keyboard_only_from_the_row_to_the_decision(doubt):
    """Tab, Space and Enter are enough, and the focus is never lost."""
    at = doubt("keys.ipynb", MAIL, "mail")
    keys = at.page.keyboard
    at.step("fetch").get_by_role("button", name="fetch").focus()
    keys.press("ArrowDown")
    expect(at.step("mail").get_by_role("button").first).to_be_focused()
    keys.press("Enter")
    asked = at.page.get_by_role("dialog")
    expect(asked.get_by_role("radio").first).to_be_focused()

    keys.press("Space")
    expect(asked.get_by_role("radio", name="retry", exact=True)).to_be_checked()
    keys.press("Tab")
    expect(asked.get_by_role("textbox", name="Reason")).to_be_focused()
    keys.type("no mail arrived")
    keys.press("Tab")
    expect(asked.get_by_role("button", name="Cancel")).to_be_focused()
    keys.press("Tab")
    expect(asked.get_by_role("button", name="Decide")).to_be_focused()
    keys.press("Enter")

    expect(asked).to_be_hidden()
    at.expect_states(mail="NEW")
    assert states(at)["mail"] == "NEW"
    focused = at.page.evaluate(
        "document.activeElement.closest('[data-step]')?.dataset.step"
    )
    assert focused == "mail"
    # nothing of ours speaks to the console
    assert [line for line in at.page.said if "nbresume" in line] == []
    assert [line for line in at.page.said if line.startswith("pageerror")] == []


@pytest.mark.long
def test_it_is_reached_by_command_and_by_menu(doubt):
    """The menu of the row and the keys of the notebook lead to the same dialog."""
    at = doubt("ways.ipynb", MAIL, "mail")
    asked = at.page.get_by_role("dialog")

    at.step("mail").get_by_role("button", name="More").click()
    menu = at.page.get_by_role("menu")
    at.shoot("menu")
    menu.get_by_role("menuitem", name=re.compile("Decide")).click()
    expect(asked).to_contain_text("Decide about step mail")
    expect(asked.get_by_role("radio").first).to_be_focused()
    at.page.keyboard.press("Escape")
    expect(asked).to_be_hidden()
    expect(at.step("mail").get_by_role("button", name="More")).to_be_focused()
    at.select(2)
    at.page.keyboard.press("Alt+Shift+D")
    expect(asked).to_contain_text("Decide about step mail")
    expect(asked.get_by_role("radio").first).to_be_focused()
    at.page.keyboard.press("Escape")
    expect(asked).to_be_hidden()

    assert states(at)["mail"] == "AMBIGUOUS"


@pytest.mark.long
def test_what_was_typed_outlives_escape(doubt):
    """It is there again when the dialog is opened anew, until it is recorded."""
    at = doubt("draft.ipynb", MAIL, "mail")
    asked = dialog(at, "mail")
    expect(asked.locator(".jp-nbresume-kept")).to_have_count(0)
    asked.get_by_role("radio", name="evidence", exact=True).check()
    asked.get_by_role("combobox", name="How it is known").select_option("receipt")
    proof = asked.get_by_role("textbox", name="What proves it")
    proof.fill("outbox 17")
    asked.get_by_role("textbox", name="Values").fill("sent = 17")
    asked.get_by_role("textbox", name="Reason").fill("it is in the outbox")
    at.page.keyboard.press("Escape")
    expect(asked).to_be_hidden()
    assert states(at)["mail"] == "AMBIGUOUS"

    # another look does not lose it either
    at.sidebar.get_by_role("button", name="Look again").click()
    asked = dialog(at, "mail")
    expect(asked).to_contain_text("What you filled in before is still here")
    expect(asked.get_by_role("radio", name="evidence", exact=True)).to_be_checked()
    expect(proof).to_have_value("outbox 17")
    expect(asked.get_by_role("combobox", name="How it is known")).to_have_value(
        "receipt"
    )
    expect(asked.get_by_role("textbox", name="Values")).to_have_value("sent = 17")
    at.shoot("dialog-draft")
    asked.get_by_role("button", name="Decide").click()
    expect(asked).to_be_hidden()

    at.expect_states(mail="COMMITTED", report="NEW")
    decided = at.history()[-1]
    assert decided["kind"] == "nbresume.resolution"
    assert "receipt" in decided["text"]
    assert "outbox 17" in decided["text"]
    assert decided["why"] == "it is in the outbox"


@pytest.mark.long
def test_effects_are_made_anew_by_their_keys(desk):
    """A step that is run again replays its effects, but for those that are named."""
    pay = noted(
        "pay",
        "from nbresume import effect\n"
        "def call(what):\n    print(what, file=open('calls', 'a'))\n    return what\n"
        "paid = [effect(key, call, key) for key in ('card', 'mail')]",
    )
    at = desk("again.ipynb", LOAD, pay)
    at.run(0)
    at.run(1)
    at.expect_states(pay="COMMITTED")
    calls = at.lab.root / "calls"
    assert calls.read_text().split() == ["card", "mail"]

    at.step("pay").get_by_role("button", name="More").click()
    at.page.get_by_role("menuitem", name="Run it again").click()
    asked = at.page.get_by_role("dialog", name="Decide about step pay")
    asked.get_by_role("radio", name="rerun", exact=True).check()
    again = asked.get_by_role("textbox", name="Effects to be made anew")
    asked.get_by_role("textbox", name="Reason").fill("the mail was lost")
    # what is no key is refused, and the form stays
    again.fill("letter")
    asked.get_by_role("button", name="Decide").click()
    expect(asked.get_by_role("alert")).to_contain_text("letter")
    at.shoot("dialog-again")
    again.fill("mail")
    asked.get_by_role("button", name="Decide").click()

    expect(asked).to_be_hidden()
    expect(at.step("pay")).to_contain_text("2 attempts")
    at.expect_states(pay="COMMITTED")
    assert calls.read_text().split() == ["card", "mail", "mail"]
    assert at.ledger() == ["pay", "pay"]
    assert "the mail was lost" in [event["why"] for event in at.history()]
