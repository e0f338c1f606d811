"""The audit hook in a shell: one for the process, and inert while no step runs."""

import json
import os
import subprocess
import sys
import threading

import pytest

from nbresume.compose import watch
from nbresume.compose.watch import AuditWatch
from nbresume.run.outside import EVENTS
from nbresume.run.ports import OwnCalls
from nbresume.ui.ipython import magics

CALL = "import subprocess\n_ = subprocess.run(['true'])"

ONE_HOOK = """
import sys
hooks = []
sys.addaudithook(lambda event, _: hooks.append(event) if "addaudithook" in event else 0)
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for name in ("one", "two", "three"):
    shell.run_cell("%load_ext nbresume")
    result = shell.run_cell(f"%%step {name}\\nx = 1")
    assert result.success
    shell.run_cell("%unload_ext nbresume")
print("hooks:", len(hooks))
"""


def notes(shell):
    """Return the paths of all notes."""
    return sorted(shell.store.glob("seen/*/*"))


def test_there_is_one_hook_for_the_process(tmp_path):
    """It cannot be taken out again, so loading once more adds none."""
    env = {**os.environ, "JPY_SESSION_NAME": str(tmp_path / "main.ipynb")}
    env |= {"IPYTHONDIR": str(tmp_path / ".ipython")}
    done = subprocess.run(
        [sys.executable, "-c", ONE_HOOK],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )

    assert "hooks: 1" in done.stdout


def test_a_call_of_a_step_makes_a_note(shell):
    """And only a step's: plain cells before and after make none."""
    assert shell.run(CALL, "p").ok
    assert notes(shell) == []

    ran = shell.run(f"%%step a\n{CALL}", "a")

    assert "it was seen starting the program true" in ran.text
    assert len(notes(shell)) == 1
    assert shell.run("subprocess.run(['false'])", "q").ok
    assert len(notes(shell)) == 1


def test_a_thread_of_the_step_is_seen(shell):
    """Whichever thread makes the call."""
    code = "import os, threading\nt = threading.Thread(target=os.system, args=['true'])"

    shell.run(f"%%step a\n{code}\nt.start(); t.join(); del t", "a")

    assert len(notes(shell)) == 1


def test_threads_that_call_at_once_make_one_note(shell):
    """Each call waits until the note is durable, and all are counted."""
    code = (
        "import os, threading\nrow = [threading.Thread(target=os.system, "
        "args=['true']) for _ in range(8)]\n"
        "for t in row: t.start()\nfor t in row: t.join()\ndel row, t"
    )

    shell.run(f"%%step a\n{code}", "a")

    records = sorted(shell.store.glob("journal/*/*.rec"))
    (seen,) = json.loads(records[-1].read_bytes())["payload"]["seen"]
    assert seen["calls"] == 8
    assert len(notes(shell)) == 1


def test_nothing_is_watched_after_the_extension_is_unloaded(shell):
    """Also when a step was still running then."""
    shell.run("%%step a\nget_ipython().run_line_magic('unload_ext', 'nbresume')", "a")
    assert shell.run(CALL, "p").ok

    assert watch._HOOK._watchers == ()
    assert notes(shell) == []


def test_a_forked_child_is_none_of_the_steps_business(shell):
    """Neither what it does nor a note of it; the fork itself is seen once."""
    code = (
        "import os\nchild = os.fork()\nif child == 0:\n"
        "    os.system('true')\n    os._exit(0)\n_ = os.waitpid(child, 0)"
    )

    ran = shell.run(f"%%step a\n{code}", "a")

    assert "it was seen forking the kernel." in ran.text
    assert len(notes(shell)) == 1


@pytest.fixture
def told():
    """Return a list of the events that are told, and what stops it."""
    events = []
    stop = AuditWatch(OwnCalls()).start(lambda event, *_: events.append(event), EVENTS)
    yield events
    stop()


def test_only_events_that_can_be_evidence_are_told(told, tmp_path):
    """Not each file that is opened."""
    (tmp_path / "x").write_text("x")
    sys.audit("os.system", b"true")

    assert told == ["os.system"]


def test_what_a_watcher_causes_is_not_told():
    """Writing a note must not be seen as reaching out."""
    events = []

    def told(event, *_):
        events.append(event)
        sys.audit("os.system", b"again")

    stop = AuditWatch(OwnCalls()).start(told, EVENTS)
    sys.audit("os.system", b"true")
    stop()

    assert events == ["os.system"]


def test_watching_ends_when_the_event_that_is_being_told_has_been():
    """What a thread was about to do belongs to the step that stops watching."""
    begun, go, seen = threading.Event(), threading.Event(), []

    def told(event, *_):
        begun.set()
        go.wait(10)
        seen.append(event)

    stop = AuditWatch(OwnCalls()).start(told, EVENTS)
    caller = threading.Thread(target=sys.audit, args=("os.system", b"true"))
    caller.start()
    assert begun.wait(10)
    ender = threading.Thread(target=stop)
    ender.start()
    ender.join(0.1)
    assert ender.is_alive()
    go.set()
    ender.join(10)
    caller.join(10)

    assert seen == ["os.system"]
    assert not ender.is_alive()


def test_the_kernels_ports_are_its_own(shell):
    """A shell without a kernel has none."""

    class Application:
        shell_port, iopub_port, stdin_port, control_port, hb_port = 1, 2, 3, 4, 0

    class Kernel:
        parent = Application

    class Other:
        kernel = Kernel

    assert magics._own_calls(Other).ports == {1, 2, 3, 4}
    assert magics._own_calls(shell.ip).ports == frozenset()
