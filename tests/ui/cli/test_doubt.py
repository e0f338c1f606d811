"""Doubt by evidence with nobody there: `nbresume run`, and who settles it."""

import pytest
from real_kernel import LOAD, kinds, save

from nbresume.run.view import RunView

pytestmark = pytest.mark.kernel

CALL = "import os\nos.system('printf tok-123')\n"
DIES = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
SEEN = "it was seen starting the program printf"


@pytest.fixture
def notebook(tmp_path):
    """Return the path of a notebook; `step` saves it."""
    return tmp_path / "nb.ipynb"


def step(notebook, body, header="%%step c"):
    """Save the notebook with this step."""
    save(notebook, LOAD, f"{header}\n{body}")


def state(done):
    """Return the state of the only step in a printed RunView."""
    return str(RunView.from_json(done.out.encode()).steps[0].state)


@pytest.mark.long
def test_a_failure_with_evidence_waits_for_a_person(in_child, nbresume, notebook):
    """Nobody saw the traceback: refused with 2, until somebody says retry."""
    step(notebook, f"{CALL}raise ValueError")
    assert in_child("run", notebook).code == 1
    step(notebook, f"{CALL}x = 1")

    refused = in_child("run", notebook)

    assert refused.code == 2
    assert f"{SEEN} at " in refused.err
    assert "and failed" in refused.err
    assert f"nbresume resolve {notebook} c retry | evidence | abandon" in refused.err
    told = nbresume("resolve", notebook, "c", "retry", "--because", "looked")
    assert f"on record: {SEEN}" in told.out
    assert "on record: outside calls seen: 1" in told.out
    done = in_child("run", notebook)
    assert done.code == 0, done.said
    assert "tok-123" not in refused.said + told.said


@pytest.mark.long
def test_retry_is_a_policy_on_record(in_child, notebook):
    """`--retry` runs it again, and the resolution says so before the intent."""
    step(notebook, f"{CALL}raise ValueError")
    assert in_child("run", notebook).code == 1
    step(notebook, f"{CALL}x = 1")

    done = in_child("run", notebook, "--retry")

    assert done.code == 0, done.said
    found = kinds(notebook.parent / ".nbresume")
    assert found[-3:] == ["resolution", "intent", "committed"]


@pytest.mark.long
def test_a_kernel_that_died_behind_a_call(in_child, nbresume, notebook):
    """In doubt by default; the lax policy reruns it and locks nothing."""
    step(notebook, CALL + DIES)
    assert in_child("run", notebook).code == 1
    step(notebook, f"{CALL}x = 1")
    assert state(nbresume("status", notebook, "--json")) == "AMBIGUOUS"
    assert f"{SEEN}; type nbresume resolve" in nbresume("status", notebook).out
    assert in_child("run", notebook).code == 2

    lax = in_child("run", notebook, env={"NBRESUME_UNDECLARED": "rerun"})

    assert lax.code == 0, lax.said
    step(notebook, f"{CALL}x = 2")
    assert in_child("run", notebook).code == 0


def test_the_strict_policy(in_child, nbresume, notebook, monkeypatch):
    """Whatever declared nothing is in doubt; `--pure` in the header answers that."""
    step(notebook, DIES)
    assert in_child("run", notebook).code == 1
    assert state(nbresume("status", notebook, "--json")) == "INTERRUPTED"
    monkeypatch.setenv("NBRESUME_UNDECLARED", "refuse")

    step(notebook, "x = 1")
    refused = in_child("run", notebook)
    assert refused.code == 2
    assert "it declared neither --effects nor --pure" in refused.err
    assert state(nbresume("status", notebook, "--json")) == "AMBIGUOUS"
    step(notebook, "x = 1", "%%step c --pure")
    assert in_child("run", notebook).code == 0


def test_a_policy_that_does_not_exist_is_refused(nbresume, notebook, monkeypatch):
    """Usage, and nothing is guessed."""
    save(notebook, LOAD)
    monkeypatch.setenv("NBRESUME_UNDECLARED", "perhaps")

    done = nbresume("status", notebook)

    assert done.code == 3
    assert "evidence, refuse, rerun" in done.err


def test_a_kind_of_evidence_that_does_not_exist_is_refused(nbresume, notebook):
    """A typed proof has one of three types."""
    done = nbresume(
        "resolve", notebook, "c", "evidence", "--because", "x", "--kind", "rumor"
    )

    assert done.code == 3
    assert "receipt" in done.err
