"""Each kind of evidence in a real kernel that is killed: the step is in doubt.

A body makes the call and sleeps; once the note is there, the kernel is killed with
SIGKILL, and a new one is asked to run the same cell.
"""

import re
import time

import pytest
from real_kernel import LOAD, Kernel, kinds, plant, save

pytestmark = pytest.mark.kernel

QUIET = "import contextlib, os, socket\nwith contextlib.suppress(OSError):\n    "
UDP = "socket.socket(socket.AF_INET, socket.SOCK_DGRAM)"
SECRET = "tok-123"  # noqa: S105 - what must not be kept
PORT = "127.0.0.1:9"

KINDS = {
    "connect": (
        f"{QUIET}socket.create_connection(('127.0.0.1', 9))",
        f"connecting to {PORT}",
    ),
    "url": (
        (
            "import contextlib, urllib.request\nwith contextlib.suppress(OSError):\n"
            f"    urllib.request.urlopen('http://user:{SECRET}@{PORT}/?key={SECRET}')\n"
            f"with contextlib.suppress(OSError):\n"
            f"    urllib.request.urlopen('http://{PORT}/?key={SECRET}')"
        ),
        f"connecting to {PORT}",
    ),
    "asyncio": (
        (
            "import asyncio\n_ = await asyncio.gather("
            "asyncio.open_connection('127.0.0.1', 9), return_exceptions=True)"
        ),
        f"connecting to {PORT}",
    ),
    "sendto": (
        f"{QUIET}{UDP}.sendto(b'{SECRET}', ('127.0.0.1', 9))",
        f"sending to {PORT}",
    ),
    "sendmsg": (
        f"{QUIET}{UDP}.sendmsg([b'{SECRET}'], [], 0, ('127.0.0.1', 9))",
        f"sending to {PORT}",
    ),
    "unix-socket": (
        f"{QUIET}socket.socket(socket.AF_UNIX).connect('/nowhere/docker.sock')",
        "connecting to the socket docker.sock",
    ),
    "popen": (
        f"import subprocess\nsubprocess.run(['env', 'KEY={SECRET}', 'true'])",
        "starting the program env",
    ),
    "popen-shell": (
        f"import subprocess\nsubprocess.run('printf {SECRET}', shell=True)",
        "starting the program printf",
    ),
    "popen-asyncio": (
        (
            "import asyncio\np = await asyncio.create_subprocess_exec('true')\n"
            "await p.wait()"
        ),
        "starting the program true",
    ),
    "system": (
        f"import os\nos.system('printf {SECRET}')",
        "starting the program printf",
    ),
    "posix-spawn": (
        (
            "import os\nos.waitpid(os.posix_spawn('/bin/echo', "
            f"['echo', '{SECRET}'], os.environ), 0)"
        ),
        "starting the program echo",
    ),
    "spawn": (
        f"import os\nos.spawnlp(os.P_WAIT, 'echo', 'echo', '{SECRET}')",
        "starting the program echo",
    ),
    "fork": (
        (
            "import os\nchild = os.fork()\nif child == 0:\n    os._exit(0)\n"
            "os.waitpid(child, 0)"
        ),
        "forking the kernel",
    ),
    "forkpty": (
        (
            "import os\nchild, _ = os.forkpty()\nif child == 0:\n    os._exit(0)\n"
            "os.waitpid(child, 0)"
        ),
        "forking the kernel into a terminal",
    ),
    "pty": (
        f"import pty\npty.spawn(['echo', '{SECRET}'])",
        "starting the program echo",
    ),
    "exec": (
        f"import os\nos.execvp('sleep', ['sleep', '20', '{SECRET}'])",
        "replacing the kernel by the program sleep",
    ),
    "shell-line": (f"!printf {SECRET}", "starting the program printf"),
    "shell-line-in-a-function": (
        f"def call(word):\n    !printf {{word}}\ncall('{SECRET}')",
        "starting the program printf",
    ),
    "shell-output": (f"lines = !printf {SECRET}", "starting the program printf"),
    "shell-script": (
        f"get_ipython().run_cell_magic('bash', '', 'printf {SECRET}')",
        "starting the program bash",
    ),
    "sqlite": (
        "import sqlite3\nsqlite3.connect('file:orders.db?mode=rwc', uri=True)",
        "opening the database orders.db",
    ),
}


def wait_for_note(store, *, timeout_s=30):
    """Return the path of the only note once it is there."""
    until = time.monotonic() + timeout_s
    while not (found := list(store.glob("seen/*/*"))):
        assert time.monotonic() < until, "no note was written"
        time.sleep(0.02)
    assert len(found) == 1
    return found[0]


def cut_off(folder, body, header="%%step act"):
    """Run a step in a kernel that is killed while it sleeps behind its call."""
    step = f"{header}\n{body}\nimport time\ntime.sleep(60)"
    save(folder / "main.ipynb", LOAD, step)
    with Kernel(folder) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.send(step, "c1")
        note = wait_for_note(folder / ".nbresume")
        kernel.kill()
    return step, note


@pytest.mark.parametrize(("body", "seen"), KINDS.values(), ids=list(KINDS))
def test_a_step_that_was_seen_and_killed_is_in_doubt(tmp_path, body, seen):
    """The next kernel refuses it and says what was seen, and nothing secret."""
    step, note = cut_off(tmp_path, body)
    stored = [
        p.read_bytes() for p in (tmp_path / ".nbresume").rglob("*") if p.is_file()
    ]

    with Kernel(tmp_path) as kernel:
        greeted = kernel.ok(LOAD, "c0").text
        refused = kernel.run(step, "c1")

    assert refused.status == "error"
    assert refused.error.startswith("AmbiguousStep: step act is ambiguous (in doubt)")
    assert re.search(rf"it was seen {re.escape(seen)} at \d\d:\d\d:\d\d", refused.error)
    assert "%steps resolve act retry | evidence | abandon" in refused.error
    assert "%%step act --pure" in refused.error
    assert f"it was seen {seen}" in greeted
    assert kinds(tmp_path / ".nbresume") == ["claim", "intent"]
    assert SECRET.encode() not in b"".join(stored)
    assert note.stat().st_mode & 0o777 == 0o600


def test_a_cell_that_is_a_shell_script_is_in_doubt(tmp_path):
    """``%%bash`` below ``%%step`` starts its shell from a thread of IPython."""
    step = f"%%step act\n%%bash\nprintf {SECRET}\nsleep 20"
    save(tmp_path / "main.ipynb", LOAD, step)
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.send(step, "c1")
        wait_for_note(tmp_path / ".nbresume")
        kernel.kill()

    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        refused = kernel.run(step, "c1")

    assert "it was seen starting the program bash at" in refused.error
    assert SECRET not in refused.error


def test_pure_in_the_intent_is_the_authors_word(tmp_path):
    """The same call in a step that only reads runs again by itself."""
    step, _ = cut_off(tmp_path, KINDS["connect"][0], "%%step act --pure")
    step = step.replace("time.sleep(60)", "pass")

    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(step, "c1")
        history = kernel.ok("%steps history act").text

    assert "repeats attempt" in history
    assert "committed as number 1 (it was seen connecting to 127.0.0.1:9)" in history


def test_a_retry_says_what_was_told_and_runs_it(tmp_path):
    """`%steps resolve` quotes what is put on record; then the step runs."""
    step, _ = cut_off(tmp_path, "!printf x")
    step = step.replace("time.sleep(60)", "pass")

    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        told = kernel.ok("%steps resolve act retry --because looked").text
        again = kernel.ok(step, "c1").text

    assert "step act is settled: retry (looked)" in told
    assert "on record: it was seen starting the program printf" in told
    assert "on record: outside calls seen: at least 1" in told
    assert "step act is locked from now on" in again


FULL = """
import errno
from nbresume.store import disk
from nbresume.store.local import LocalBackend
create = LocalBackend.create
def full(self, key, data, **options):
    if key.startswith("seen/"):
        raise disk.told(OSError(errno.ENOSPC, ""), f"{key} was not written")
    create(self, key, data, **options)
LocalBackend.create = full
"""


def test_a_note_that_cannot_be_written_breaks_no_body(tmp_path):
    """It is told at once, the call goes on, and the commit knows what was seen."""
    step = "%%step act\nlines = !printf x\nassert lines == ['x']\n!printf y"
    save(tmp_path / "main.ipynb", LOAD, step)
    with Kernel(tmp_path, env=plant(tmp_path / "fault", FULL)) as kernel:
        kernel.ok(LOAD, "c0")
        said = kernel.ok(step, "c1").text
        history = kernel.ok("%steps history act").text

    assert said.count("should the kernel die now, nobody will know") == 2
    assert "the disk is full" in said
    assert "step act is locked from now on" in said
    assert "(it was seen starting the program printf)" in history
    assert not list(tmp_path.glob(".nbresume/seen/*/*"))
