"""What a person sets: loading by itself, the offer to resume, locks and saving.

The rule: each setting is found by its title in the settings editor, and does what it
says there.
"""

import json

import pytest
from desk import noted
from playwright.sync_api import expect
from test_cells import badge, expect_silence, source, type_into, unlock

AUTO_LOAD = "Load nbresume by itself"
OFFER = "Offer to resume after a restart"
SAVE = "Save when a step has ended"
LOCK = "Lock committed cells after a recovery"
TITLES = [AUTO_LOAD, OFFER, SAVE, LOCK, "Write locks into the notebook"]
FETCH = noted("fetch", "rows = [1, 2, 3]")
REPORT = noted("report", "print(len(rows), 'rows')")


def toast(at):
    """Return the offer to resume."""
    return at.page.locator(".jp-toastContainer .Toastify__toast", has_text=at.name)


def restart(at):
    """Restart the kernel by the menu."""
    at.menu("Kernel", "Restart Kernel")
    at.answer("Restart Kernel", "Restart")
    at.wait_idle()


@pytest.mark.long
def test_a_restarted_kernel_offers_to_resume(desk):
    """By setting: no cell loads nbresume, and one button goes on after a restart."""
    at = desk("auto.ipynb", "# Sales", FETCH, "bonus = 1", REPORT)
    at.set(**{AUTO_LOAD: True})
    at.run(1)
    at.expect_states(fetch="COMMITTED", report="NEW")
    expect(badge(at, 1)).to_have_attribute("data-badge", "ran")
    # nothing is offered where the kernel has all that is committed
    expect(toast(at)).to_have_count(0)
    former = at.kernel_pid()

    restart(at)
    expect(toast(at)).to_contain_text("1 of 2 steps locked; goes on at report")
    # nothing was restored or run before somebody said so
    expect(badge(at, 1)).to_have_attribute("data-badge", "committed")
    assert at.ledger() == ["fetch"]
    at.shoot("offer")
    toast(at).get_by_role("button", name="Resume").click()
    at.expect_states(fetch="COMMITTED", report="COMMITTED")
    expect(at.output(3)).to_contain_text("3 rows")
    expect(toast(at)).to_have_count(0)
    assert at.ledger() == ["fetch", "report"]
    assert at.pids() == [former, at.kernel_pid()]
    assert former != at.kernel_pid()
    assert at.stored()["resume_from"] == ""
    expect_silence(at)


@pytest.mark.long
def test_the_offer_is_by_setting_and_goes_with_the_first_cell(desk):
    """It is withdrawn when somebody runs a cell, and made no more when it is off."""
    at = desk("quiet.ipynb", FETCH, REPORT, "1 + 1")
    at.set(**{AUTO_LOAD: True})
    at.run(0)
    at.expect_states(fetch="COMMITTED")
    restart(at)
    expect(toast(at)).to_be_visible()
    at.run(2)
    expect(toast(at)).to_have_count(0)

    at.set(**{OFFER: False})
    restart(at)
    # it was loaded all the same, and says so in its first cell
    at.run(2)
    expect(at.output(2)).to_contain_text("1 of 2 steps locked")
    expect(toast(at)).to_have_count(0)
    assert at.ledger() == ["fetch"]
    expect_silence(at)


@pytest.mark.long
def test_nothing_loads_by_itself_unless_it_is_set(desk):
    """A kernel of a notebook with steps is left alone."""
    at = desk("manual.ipynb", FETCH, REPORT)
    expect(at.sidebar.get_by_role("button", name="Enable here")).to_be_visible()
    assert not (at.lab.root / ".nbresume").exists()
    # and one of a notebook without steps when it is set
    at.set(**{AUTO_LOAD: True})
    expect(at.sidebar.get_by_role("button", name="Enable here")).to_be_hidden()
    at.turn_to("plain.ipynb", "x = 1")
    at.wait_idle()
    at.run(0)
    expect(at.sidebar.get_by_role("button", name="Enable here")).to_be_visible()


@pytest.mark.long
def test_settings_have_titles_and_the_locks_of_a_recovery_are_one(desk):
    """Without it only what acts on the outside is read-only."""
    mail = noted("mail", "sent = len(rows)", "--effects")
    at = desk("locks.ipynb", "%load_ext nbresume", FETCH, mail)
    for place in range(3):
        at.run(place)
    at.save()
    at.kill_kernel()
    expect(badge(at, 1)).to_contain_text("committed, locked")
    at.open_settings()
    shown = at.page.locator("#setting-editor, #settings-editor")
    for title in TITLES:
        expect(shown.get_by_text(title, exact=True).first).to_be_visible()
    at.close_settings()

    at.set(**{LOCK: False})
    expect(badge(at, 1)).not_to_contain_text("locked")
    expect(unlock(at, 1)).to_have_count(0)
    expect(badge(at, 2)).to_contain_text("committed, locked")
    type_into(at, 1, "; more = 1")
    assert source(at, 1) == FETCH + "; more = 1"
    type_into(at, 2, "x")
    assert source(at, 2) == mail
    expect_silence(at)


@pytest.mark.long
def test_saving_after_a_step_is_by_setting(desk):
    """Off, the sidebar asks, and the person saves."""
    at = desk("saving.ipynb", "%load_ext nbresume", FETCH)
    at.set(**{SAVE: False})
    at.run(0)
    at.edit(1, "Control+End", "; more = 1")
    at.run(1)
    at.expect_states(fetch="STALE")
    expect(at.sidebar.get_by_role("button", name="Save")).to_be_visible()
    path = at.lab.root / at.name
    saved = json.loads(path.read_text())["cells"][1]["source"]
    assert "more" not in "".join(saved)
    at.sidebar.get_by_role("button", name="Save").click()
    at.expect_states(fetch="COMMITTED")
