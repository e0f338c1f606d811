"""The sidebar, resume and the dialog in Notebook 7."""

import pytest
from desk import LOAD, Desk, noted, write_notebook
from playwright.sync_api import expect
from serving import Lab

MAIL = "%%step mail --effects\nimport time\nprint('mailing')\ntime.sleep(120)"


class Notebook7(Desk):
    """A notebook in a page of its own."""

    def open(self):
        """Open the notebook, wait for the kernel, and choose the sidebar by menu."""
        self.page.goto(
            f"{self.lab.url}/notebooks/{self.name}?token={self.lab.token}&reset"
        )
        self.panel.locator(".jp-Notebook").wait_for()
        self.wait_idle()
        if not self.sidebar.is_visible():
            self.menu("View", "Show Steps of the Notebook")
        expect(self.sidebar).to_be_visible()


@pytest.fixture
def notebook7(tmp_path_factory, window):
    """Return a function that opens a notebook in Notebook 7."""
    expose = "--JupyterNotebookApp.expose_app_in_browser=True"
    alone = "--YDocExtension.disable_rtc=True"
    lab = Lab(tmp_path_factory.mktemp("notebook7"), "notebook", expose, alone)
    lab.start()
    page = window.new_page()
    faults = []

    # a method of a list itself cannot be a listener
    def keep(fault):
        faults.append(fault)

    page.on("pageerror", keep)

    def opened(name, *sources):
        write_notebook(lab.root / name, *sources)
        at = Notebook7(page, lab, name)
        at.open()
        return at

    yield opened
    page.close()
    # what others put into the page may have faults of its own
    assert [fault for fault in faults if "nbresume" in (fault.stack or "")] == []
    lab.stop()


def test_resume_and_dialog(notebook7):
    """Commit, kill, decide and resume, with the same bundle and the same words."""
    at = notebook7(
        "nb.ipynb",
        LOAD,
        noted("fetch", "x = 1"),
        MAIL,
        noted("report", "print('x is', x)"),
    )
    at.run(0)
    at.run(1)
    at.expect_states(fetch="COMMITTED", mail="NEW")
    at.start(2)
    expect(at.output(2)).to_contain_text("mailing")
    at.kill_kernel()
    at.expect_states(fetch="COMMITTED", mail="AMBIGUOUS", report="NEW")
    at.shoot("notebook7")

    at.step("mail").get_by_role("button", name="Decide").click()
    asked = at.page.get_by_role("dialog", name="Decide about step mail")
    asked.get_by_role("radio", name="evidence", exact=True).check()
    asked.get_by_role("textbox", name="Reason").fill("it is in the outbox")
    at.shoot("notebook7-dialog")
    asked.get_by_role("button", name="Decide").click()
    expect(asked).to_be_hidden()
    at.expect_states(mail="COMMITTED")
    at.wait_idle()
    at.resume("report")

    at.expect_states(report="COMMITTED")
    expect(at.output(3)).to_contain_text("x is 1")
    assert at.ledger() == ["fetch", "report"]
    assert at.stored()["resume_from"] == ""
