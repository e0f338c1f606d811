"""Crash point 35: the server or the browser dies at each action of the page.

The rule: afterwards the store is whole, no committed step has run twice, and a page
that is opened anew leads to where the run goes on.
"""

import contextlib
import re

import psutil
import pytest
from desk import LOAD, Desk, noted
from playwright.sync_api import expect

FETCH = noted("fetch", "rows = [1, 2, 3]")
SLOW = noted(
    "train",
    "import os, time\nprint('started')\nwhile not os.path.exists('go'):\n"
    "    time.sleep(0.1)\nmodel = len(rows)",
)
REPORT = noted("report", "print('model', model)")
MAIL = noted("mail", "import time\nprint('mailing')\ntime.sleep(120)", "--effects")


@pytest.fixture
def doomed(chromium, lab):
    """Return a page of a browser of its own, and what kills that browser."""
    mine = psutil.Process()
    before = set(mine.children(recursive=True))
    browser = chromium()
    started = list(set(mine.children(recursive=True)) - before)
    page = browser.new_page(viewport={"width": 1000, "height": 600})
    page.set_default_timeout(30_000)

    def kill():
        for process in started:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(started, 30)

    yield page, kill
    if browser.is_connected():
        browser.close()


@pytest.fixture
def dies(lab, doomed):
    """Return a function that kills the server with its kernels, or the browser."""

    def die(victim):
        if victim == "browser":
            doomed[1]()
            return
        kernels = lab.kernels()
        lab.kill()
        # a kernel whose server is gone ends by itself
        _, left = psutil.wait_procs(kernels, 60)
        assert left == []
        lab.start()

    return die


@pytest.fixture
def at(desk, doomed):
    """Return a function that opens a notebook in the doomed browser, and a desk."""

    def opened(name, *sources):
        # the page that is opened anew afterwards
        later = desk(name, *sources)
        later.page.goto("about:blank")
        doomed_desk = Desk(doomed[0], later.lab, name)
        doomed_desk.open()
        return doomed_desk, later

    return opened


def kinds(at):
    """Return the kinds of the records of the run, oldest first."""
    return [event["kind"] for event in at.history()]


def finish(later, *, victim, ran):
    """Let the run go on from a page that is opened anew; return the ledger."""
    (later.lab.root / "go").touch()
    if victim == "server":
        later.open()
        later.expect_states(fetch="COMMITTED", train="INTERRUPTED", report="NEW")
        expect(later.step("train")).to_contain_text("Goes on here")
        assert later.stored()["resume_from"] == "train"
        assert later.ledger() == ran
        later.resume("train")
    else:
        # nobody looked, and the kernel went on
        later.open()
        later.expect_states(fetch="COMMITTED", train="COMMITTED")
        if later.stored()["resume_from"] == "report":
            later.resume("report")
    later.expect_states(fetch="COMMITTED", train="COMMITTED", report="COMMITTED")
    expect(later.headline).to_have_text("3 of 3 steps locked; all are committed")
    stored = later.stored()
    assert stored["resume_from"] == ""
    assert stored["damaged"] == []
    assert stored["revision"] == len(later.history()) - 1
    return later.ledger()


@pytest.mark.parametrize(
    "victim", ["server", pytest.param("browser", marks=pytest.mark.long)]
)
def test_it_dies_while_a_step_runs(at, dies, victim):
    """What was committed stays; the step that ran is known to have been cut off."""
    doomed, later = at("run.ipynb", LOAD, FETCH, SLOW, REPORT)
    doomed.menu("Run", "Run All Cells")
    expect(doomed.output(2)).to_contain_text("started")

    dies(victim)

    again = ["train"] if victim == "server" else []
    ledger = finish(later, victim=victim, ran=["fetch", "train"])
    assert ledger == ["fetch", "train", *again, "report"]
    assert len(set(later.pids())) == 1 + len(again)


@pytest.mark.long
@pytest.mark.parametrize("victim", ["server", "browser"])
@pytest.mark.parametrize("moment", ["at once", "while it runs"])
def test_it_dies_at_resume(at, dies, victim, moment):
    """Resume that was cut off is pressed again: it goes on at the same step."""
    doomed, later = at("resume.ipynb", LOAD, FETCH, SLOW, REPORT)
    for place in (0, 1):
        doomed.run(place)
    doomed.start(2)
    expect(doomed.output(2)).to_contain_text("started")
    doomed.kill_kernel()
    doomed.expect_states(train="INTERRUPTED")

    doomed.resume("train")
    if moment == "while it runs":
        expect(doomed.output(2)).to_contain_text("started")
        doomed.expect_states(train="RUNNING")
    dies(victim)

    if moment == "at once" and victim == "browser":
        # it may have come to the step, or not
        (later.lab.root / "go").touch()
        later.open()
        later.wait_idle()
        if later.stored()["resume_from"] == "train":
            later.resume("train")
        finish(later, victim=victim, ran=[])
    else:
        finish(later, victim=victim, ran=later.ledger())
    steps = {step["name"]: step for step in later.stored()["steps"]}
    assert later.ledger().count("fetch") == steps["fetch"]["attempts"] == 1
    assert later.ledger().count("train") == steps["train"]["attempts"]
    assert later.ledger().count("report") == steps["report"]["attempts"] == 1
    assert kinds(later).count("nbresume.committed") == 3


def decide(desk):
    """Decide for a retry in the dialog."""
    desk.step("mail").get_by_role("button", name="Decide").click()
    asked = desk.page.get_by_role("dialog")
    asked.get_by_role("radio", name="retry", exact=True).check()
    asked.get_by_role("textbox", name="Reason").fill("no mail arrived")
    asked.get_by_role("button", name="Decide").click()
    return asked


@pytest.mark.long
@pytest.mark.parametrize("victim", ["server", "browser"])
@pytest.mark.parametrize("is_recorded", [False, True], ids=["before", "after"])
def test_it_dies_at_a_decision(at, dies, victim, is_recorded):
    """A decision is recorded once or not at all, and the page then says which."""
    doomed, later = at("mail.ipynb", LOAD, FETCH, MAIL)
    for place in (0, 1):
        doomed.run(place)
    doomed.start(2)
    expect(doomed.output(2)).to_contain_text("mailing")
    doomed.kill_kernel()
    doomed.expect_states(mail="AMBIGUOUS")

    def cut_off(route):
        if is_recorded:
            route.fetch()
        dies(victim)
        if victim == "server":
            route.abort()

    doomed.page.route(re.compile("/nbresume/decide"), cut_off)
    asked = decide(doomed)
    if victim == "server":
        # the dialog stays, with what was filled in
        expect(asked.get_by_role("alert")).to_contain_text("does not answer")
        expect(asked.get_by_role("textbox", name="Reason")).to_have_value(
            "no mail arrived"
        )

    later.open()
    later.expect_states(fetch="COMMITTED", mail="NEW" if is_recorded else "AMBIGUOUS")
    assert kinds(later).count("nbresume.resolution") == int(is_recorded)
    if not is_recorded:
        decide(later)
        later.expect_states(mail="NEW")
    assert kinds(later).count("nbresume.resolution") == 1
    assert later.stored()["resume_from"] == "mail"
    assert later.ledger() == ["fetch", "mail"]
