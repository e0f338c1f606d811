"""Two people at one notebook: real-time collaboration and the steps go together."""

import pytest
from desk import LOAD, Desk, noted, write_notebook
from playwright.sync_api import expect
from serving import Lab

MAIL = "%%step mail --effects\nimport time\nprint('mailing')\ntime.sleep(120)"


@pytest.fixture
def two(tmp_path_factory, browser):
    """Return a function that opens a notebook in two windows of two people."""
    lab = Lab(tmp_path_factory.mktemp("together"))
    lab.start()
    windows = []

    def opened(name, *sources):
        write_notebook(lab.root / name, *sources)
        desks = []
        for _ in range(2):
            window = browser.new_context(
                viewport={"width": 1000, "height": 600}, locale="en-US"
            )
            window.set_default_timeout(20_000)
            windows.append(window)
            desk = Desk(window.new_page(), lab, name)
            desk.open()
            desks.append(desk)
        return desks

    yield opened
    for window in windows:
        window.close()
    lab.stop()


def test_both_see_one_run(two):
    """What one runs and decides the other sees; nothing runs twice."""
    cells = (LOAD, noted("fetch", "x = 1"), MAIL, noted("report", "print('x is', x)"))
    one, other = two("both.ipynb", *cells)
    # it is one document: what one types the other reads
    one.cell(3).locator(".cm-content").click()
    one.page.keyboard.press("Control+End")
    one.page.keyboard.type("  # typed by one")
    expect(other.cell(3)).to_contain_text("# typed by one")

    one.run(0)
    one.run(1)
    one.expect_states(fetch="COMMITTED", mail="NEW")
    other.expect_states(fetch="COMMITTED", mail="NEW")
    one.start(2)
    expect(other.output(2)).to_contain_text("mailing")
    # the other page tells the restart, too, whenever it comes to it
    told = other.page.get_by_role("dialog", name="Kernel Restarting")

    def read(dialog):
        dialog.get_by_role("button", name="Ok").click()

    other.page.add_locator_handler(told, read)
    other.expect_states(mail="RUNNING")
    one.kill_kernel()
    for at in (one, other):
        at.expect_states(fetch="COMMITTED", mail="AMBIGUOUS")

    # the other decides, the one resumes
    other.step("mail").get_by_role("button", name="Decide").click()
    asked = other.page.get_by_role("dialog", name="Decide about step mail")
    asked.get_by_role("radio", name="evidence", exact=True).check()
    asked.get_by_role("textbox", name="Reason").fill("it is in the outbox")
    asked.get_by_role("button", name="Decide").click()
    expect(asked).to_be_hidden()
    other.expect_states(mail="COMMITTED")
    one.sidebar.get_by_role("button", name="Look again").click()
    one.expect_states(mail="COMMITTED")
    one.wait_idle()
    # the kernel has said that it is a new one: nothing moves below the mouse any more
    expect(one.sidebar.get_by_role("button", name="Enable here")).to_be_visible()
    one.resume("report")
    for at in (one, other):
        at.expect_states(report="COMMITTED")
        expect(at.output(3)).to_contain_text("x is 1")
    other.shoot("together")

    assert one.ledger() == ["fetch", "report"]
    stored = one.stored()
    assert stored["resume_from"] == ""
    expect(other.headline).to_have_text(stored["headline"])
    decided = [e for e in one.history() if "outbox" in e["why"]]
    assert len(decided) == 1
