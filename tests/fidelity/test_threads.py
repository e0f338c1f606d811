"""A value that a thread changes while it is captured is named; nothing else is lost."""

import threading

import pytest
from unit.run.fakes import Lab

from nbresume.capture import snapshot


class Racer:
    """A thread of the user's that changes a value between its look and its pickle."""

    def __init__(self, monkeypatch, change):
        self.asked, self.done = threading.Event(), threading.Event()
        self.change = change
        self.thread = threading.Thread(target=self.run, daemon=True)
        dump = snapshot.dump

        def raced(values, **options):
            if self.thread.is_alive() and not self.done.is_set():
                self.asked.set()
                self.done.wait(5)
            return dump(values, **options)

        monkeypatch.setattr(snapshot, "dump", raced)

    def run(self):
        """Wait until something is captured; change the value; stay alive."""
        self.asked.wait(30)
        self.change()
        self.done.set()
        threading.Event().wait(2)


@pytest.fixture
def raced(monkeypatch):
    """Return a kernel that has run a step whose list a thread changes meanwhile."""
    lab = Lab(a="%%step a\nx = [1]\nh = {'x': x}\ny = [2]\ngo()", b="%%step b\nz = y")
    kernel = lab.kernel()
    racer = Racer(monkeypatch, lambda: kernel["x"].append(9))
    lab.tools["go"] = racer.thread.start
    kernel = lab.kernel()
    outcome = kernel.run("a")
    racer.thread.join()
    return kernel, outcome


def test_it_is_named_with_all_that_holds_it(raced):
    """Whether the old or the new value was stored is not guessed."""
    kernel, outcome = raced
    assert outcome.how == "ran"
    assert "a thread changed it while it was captured" in outcome.text
    assert kernel.commits("a").not_kept.keys() == {"x", "h"}


def test_nothing_else_is_lost(raced):
    """The other names of the step are committed, and the live value is untouched."""
    kernel, _ = raced
    assert kernel["x"] == [1, 9]
    again = kernel.restart()
    again.run("a")
    assert again.run("b").how == "ran"
    assert again["z"] == [2]


def test_a_thread_that_changes_nothing_costs_no_name(monkeypatch):
    """Threads that only read, or work elsewhere, are common."""
    lab = Lab(a="%%step a\nx = [1]\ngo()")
    racer = Racer(monkeypatch, lambda: None)
    lab.tools["go"] = racer.thread.start
    kernel = lab.kernel()
    assert kernel.run("a").how == "ran"
    racer.thread.join()
    assert kernel.commits("a").not_kept == {}
