"""Where a step may stand: on the first line of a cell of its own, nowhere else."""

import threading

import pytest
from IPython.core.completer import provisionalcompleter

from nbresume.errors import RefusedError
from nbresume.ui.ipython import hooks, marker

STEP = "%%step a\nx = 1"


def check_refused(shell, ran, before):
    """Assert that the step was refused clearly, did not run and wrote nothing."""
    assert isinstance(ran.error, RefusedError), ran.text
    assert ran.error.remedy
    assert "x" not in shell.ip.user_ns
    assert shell.hashes() == before


@pytest.mark.parametrize(
    "code",
    [
        "for i in range(2):\n    get_ipython().run_cell_magic('step', 'a', 'x = 1')",
        "def f():\n    get_ipython().run_cell_magic('step', 'a', 'x = 1')\nf()",
        "get_ipython().run_cell_magic('step', 'a', 'x = 1')",
        "get_ipython().run_cell_magic('step', '', 'x = 1')",
        "%%time\n%%step a\nx = 1",
        "%%capture out\n%%step a\nx = 1",
        "get_ipython().run_cell('%%step a\\nx = 1').raise_error()",
        "y = 1\n%%step a\nx = 1",
    ],
)
def test_a_step_inside_something_is_refused(shell, code):
    """A step in a loop, a function or another magic does not run."""
    before = shell.hashes()

    ran = shell.run(code, "c1")

    check_refused(shell, ran, before)
    assert shell.run(STEP, "c2").ok


def test_a_step_inside_a_step_is_refused(shell):
    """A step that starts another one fails and does not run the other."""
    inner = "get_ipython().run_cell('%%step b\\nx = 1').raise_error()"
    ran = shell.run(f"%%step outer\n{inner}", "c1")

    assert isinstance(ran.error, RefusedError)
    assert "x" not in shell.ip.user_ns
    assert shell.kinds() == ["claim", "intent", "failed"]


def test_a_silent_step_is_refused(shell):
    """What a front end runs silently is no cell that could be a step."""
    before = shell.hashes()

    ran = shell.run(STEP, None, silent=True)

    check_refused(shell, ran, before)
    assert shell.run(STEP, "c1").ok


def test_a_silent_execution_between_two_cells_changes_nothing(shell):
    """Polls of a front end neither end nor begin a cell."""
    assert shell.run(STEP, "c1").ok
    assert shell.run("1 + 1", None, silent=True).ok

    ran = shell.run(STEP, "c1")

    assert "[restored]" in ran.text


def test_a_step_in_a_thread_is_refused(shell):
    """A step outside the main thread does not run."""
    before = shell.hashes()
    found = []
    thread = threading.Thread(target=lambda: found.append(shell.run(STEP, "c1")))
    thread.start()
    thread.join()

    check_refused(shell, found[0], before)
    assert "subshell" in str(found[0].error)
    assert shell.run(STEP, "c1").ok


@pytest.mark.parametrize(
    "lines",
    [
        ["%%step a --after b\n", "x = 1\n"],
        ["# c\n", "%%step a\n", "%%time\n", "x = 1\n"],
        ["%%step a\n", "%%bash\n", "echo hi\n"],
        ["%%step\n"],
        ["%%step 'open\n", "x\n"],
        ["%%step a\n", "x = (\n"],
        ["x = 1\n"],
        [],
        ["\n"],
        ["%%step a"],
    ],
)
def test_the_transformer_is_pure(lines):
    """The same lines give the same lines, and the given ones stay as they are."""
    given = list(lines)

    first, second = marker.strip_header(lines), marker.strip_header(lines)

    assert first == second
    assert lines == given


def test_completion_and_is_complete_run_nothing(shell):
    """Asking whether a step is complete, or for completions in it, runs nothing."""
    before = shell.hashes()

    complete = shell.ip.check_complete("%%step a\nx = 1\n\n")
    open_ = shell.ip.check_complete("%%step a\nfor i in range(2):")
    with provisionalcompleter():
        assert list(shell.ip.Completer.completions("%%step a\nimpo", 13))
    shell.ip.transform_cell(STEP)

    assert complete[0] == "complete"
    assert open_[0] == "incomplete"
    assert "x" not in shell.ip.user_ns
    assert shell.hashes() == before


def test_a_refusal_keeps_the_hook(shell):
    """After any refusal the next step is still a step."""
    for _ in range(3):
        assert not shell.run("%%step\nx = 1", "c1").ok

    assert shell.run(STEP, "c1").ok
    assert shell.kinds() == ["claim", "intent", "committed"]


def test_an_error_of_nbresume_itself_keeps_the_hook(shell, monkeypatch):
    """A fault inside nbresume stops the cell, is told, and unregisters nothing."""

    def broken(body):
        raise ZeroDivisionError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(hooks, "code_version", broken)
        ran = shell.run(STEP, "c1")

    assert isinstance(ran.error, RefusedError)
    assert "ZeroDivisionError: planted" in str(ran.error)
    assert "x" not in shell.ip.user_ns
    assert shell.run(STEP, "c1").ok
    assert shell.kinds() == ["claim", "intent", "committed"]


def test_an_error_of_nbresume_over_a_plain_cell_keeps_the_hook(shell, monkeypatch):
    """A fault over a plain cell is told, and later steps are still steps."""

    def broken(tree):
        raise ZeroDivisionError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(hooks, "names_of", broken)
        ran = shell.run("plain = 1", "c0")

    assert isinstance(ran.error, RefusedError)
    assert shell.run(STEP, "c1").ok
    assert shell.kinds() == ["claim", "intent", "committed"]
