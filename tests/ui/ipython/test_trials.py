"""A type that does not come back is told by a trial, before anybody needs the value."""

import time

import pytest
from msgspec.structs import replace
from real_kernel import LOAD

from nbresume.run import trials

SPY = """\
import os
class Spy:
    def __init__(self, kept): self.kept = kept
    def __reduce__(self): return (rebuild, (self.kept,))
"""
RAISES = "def rebuild(kept): raise OSError('no such device')\n"
EXITS = "def rebuild(kept): os._exit(3)\n"
HANGS = "def rebuild(kept):\n    while True: pass\n"
DIFFERS = "def rebuild(kept):\n    spy = Spy(kept); spy.kept = 0; return spy\n"
EQUAL = "def rebuild(kept): return Spy(kept)\n"


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Let tests not wait for a person's pause."""
    monkeypatch.setattr(trials, "PATIENCE_S", 0.0)


def found_by_trial(shell, *, within_s=60.0):
    """Do the idle work of trials to its end; return what was found."""
    tried = shell.ip._nbresume.session.join().trials
    end_s = time.monotonic() + within_s
    while not tried.slice(0.02):
        assert time.monotonic() < end_s
        time.sleep(0.02)
    return tried.findings()


def commit(shell, body, *plain):
    """Run plain cells and a step that makes `spy`; the step must be committed."""
    step = f"%%step make\n{body}"
    shell.save(LOAD, *plain, step)
    for code in (LOAD, *plain, step):
        assert shell.run(code).ok


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (RAISES, "OSError: no such device"),
        (EXITS, "the process that loaded it ended (3)"),
        (DIFFERS, "it comes back as another value"),
    ],
    ids=["raises", "exits", "differs"],
)
def test_a_value_that_does_not_come_back_is_told(shell, code, words):
    """The kernel that made it is not harmed by the trial."""
    commit(shell, "spy = Spy(7)", SPY + code)
    [sentence] = found_by_trial(shell)
    assert "spy of step make" in sentence
    assert words in sentence
    assert "__main__.Spy" in sentence
    assert "nbresume.register" in sentence
    assert shell.ip.user_ns["spy"].kept == 7


def test_a_value_that_never_comes_back_is_given_up(shell):
    """A trial ends by itself, also while it is in a loop of somebody else."""
    commit(shell, "spy = Spy(7)", SPY + HANGS)
    tried = shell.ip._nbresume.session.join().trials
    tried._launch = replace(tried._launch, limit_s=3.0)
    [sentence] = found_by_trial(shell)
    assert "the process that loaded it ended" in sentence


def test_a_value_that_comes_back_equal_is_not_spoken_of(shell):
    """The trial was made, and nothing was found."""
    commit(shell, "spy = Spy([1, 2])", SPY + EQUAL)
    launched = []
    tried = shell.ip._nbresume.session.join().trials
    launch = tried._launch
    tried._launch = lambda *asked: launched.append(asked) or launch(*asked)
    assert found_by_trial(shell) == []
    assert launched == [("make", ["spy"])]


def test_the_names_behind_the_one_that_ended_the_process_are_tried(shell):
    """Each name is judged by itself."""
    body = "a = Spy(7)\nclass Odd(Spy):\n    def __reduce__(self): return (odd, ())\n"
    plain = SPY + EXITS + "def odd(): raise OSError('odd one')\n"
    commit(shell, body + "b = Odd(8)", plain)
    told = found_by_trial(shell)
    assert [sentence.split()[0] for sentence in told] == ["a", "b"]
    assert "OSError: odd one" in told[1]


def test_types_that_are_known_to_come_back_need_no_process(shell, monkeypatch):
    """Plain classes, containers and arrays are what our own tests load back."""
    commit(shell, "import numpy as np\nclass P: pass\np = P()\nx = {'a': np.ones(3)}")
    tried = shell.ip._nbresume.session.join().trials
    monkeypatch.setattr(tried, "_launch", None)
    assert found_by_trial(shell) == []


def test_a_type_of_a_module_beside_the_notebook_is_found(shell):
    """The other process looks for modules where the kernel does."""
    (shell.folder / "devices.py").write_text(
        "class Gauge:\n    def __init__(self): self.value = 3\n"
    )
    commit(
        shell,
        f"import sys\nsys.path.insert(0, {str(shell.folder)!r})\n"
        "import devices\ngauge = devices.Gauge()",
    )
    assert found_by_trial(shell) == []


def test_what_was_found_is_told_before_the_next_cell(shell):
    """A person reads it where cells show what they say."""
    commit(shell, "spy = Spy(7)", SPY + RAISES)
    tried = shell.ip._nbresume.session.join().trials
    while not tried.slice(0.02):
        time.sleep(0.02)
    assert "could not load it back" in shell.run("1").text
