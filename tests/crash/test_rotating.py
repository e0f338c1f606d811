"""Point 32: a rotation of keys is killed at each of its file operations.

Until `--finish` is typed who has the former key alone reads everything; once it has
ended, who has the new one alone; and who has both, always.
"""

import secrets
import shutil
import signal

import killed_command
import pytest
from click.testing import CliRunner
from judge import Judge
from real_kernel import LOAD, Kernel, save

from nbresume.ui.cli import cli

OLD, NEW = secrets.token_hex(32), secrets.token_hex(32)
BOTH = f"{NEW},{OLD}"
CELLS = (
    LOAD,
    "%%step a\nL = ['a value'] * 3\nbig = list(range(300_000))",
    """%%step b --effects
import nbresume
got = nbresume.effect('k', lambda: ['a result'])""",
    "%%step c\nn = len(L) + len(big)\nprint(n, got)",
)
COUNTS = """
CHANGES = ("os.remove", "os.rmdir", "os.link", "os.mkdir", "os.rename", "open")

def counts(event, args):
    if event == "open" and not (args[2] or 0) & os.O_CREAT:
        return False
    is_change = event in CHANGES and ".nbresume" in str(args[0])
    return event.startswith("nbresume.") or is_change
"""
EVENTS = {False: 24, True: 36}
"""With or without `--finish`: at least as many as a rotation of this store has."""
FEW = {False: (1, 9, 17), True: (3, 15, 27)}


def command(folder, keys, *words, nth=0):
    """Run a command as who has these keys; it is killed at the nth operation."""
    return killed_command.command(folder, COUNTS, nth, *words, NBRESUME_KEY=keys)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a notebook that was run, in an encrypted store."""
    folder = tmp_path_factory.mktemp("made")
    save(folder / "nb.ipynb", *CELLS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_DATA_DIR", str(folder / "user"))
        patch.setenv("NBRESUME_KEY", OLD)
        patch.setenv("NBRESUME_ENCRYPT", "1")
        with Kernel(folder, "nb.ipynb") as kernel:
            for number, code in enumerate(CELLS):
                kernel.ok(code, f"c{number}")
    return folder


@pytest.fixture(scope="module")
def both(made, tmp_path_factory):
    """Return the same when the new key reads everything, and the former one still."""
    folder = tmp_path_factory.mktemp("both") / "folder"
    shutil.copytree(made, folder)
    done = command(folder, BOTH, "key", "rotate")
    assert done.returncode == 0, done.stderr
    return folder


def run_of(folder):
    """Return the id of the run: beside a copy of the notebook it has to be named."""
    [run] = (folder / ".nbresume" / "journal").iterdir()
    return run.name


def reads(folder, keys):
    """Say whether who has these keys reads every record and every payload."""
    env = {
        "JUPYTER_DATA_DIR": str(folder / "user"),
        "NBRESUME_KEY": keys,
        "NBRESUME_RUN": run_of(folder),
    }
    done = CliRunner().invoke(cli, ["verify", str(folder / "nb.ipynb")], env=env)
    if done.exit_code == 0:
        assert not done.output.startswith("0 records")
        return "every digest holds" in done.output
    return False


def situations():
    """Return (finish, nth) of every operation; most of them take their time."""
    return [
        pytest.param(finish, nth, marks=() if nth in FEW[finish] else pytest.mark.long)
        for finish, most in EVENTS.items()
        for nth in range(1, most + 1)
    ]


@pytest.mark.kernel
@pytest.mark.parametrize(("finish", "nth"), situations())
def test_32_killed_while_the_key_is_rotated(
    made, both, tmp_path, finish, nth, record_property
):
    """Nobody is without values for a moment; typed again, it is done."""
    record_property("crash", {"situations": 1})
    folder = tmp_path / "copy"
    shutil.copytree(both if finish else made, folder)
    words = ["key", "rotate", *(["--finish"] if finish else [])]

    done = command(folder, BOTH, *words, nth=nth)

    if done.returncode == 0:
        assert nth > int(done.stderr.split()[-1]) >= EVENTS[finish] - 4
    else:
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert reads(folder, BOTH)
    if finish:
        assert reads(folder, NEW)
    else:
        assert reads(folder, OLD)
    again = command(folder, BOTH, "key", "rotate", "--finish")
    assert again.returncode == 0, again.stderr
    after = {keys: reads(folder, keys) for keys in (OLD, NEW, BOTH)}
    assert after == {OLD: False, NEW: True, BOTH: True}
    assert len(list((folder / ".nbresume" / "keys").glob("*/*"))) == 2


@pytest.mark.kernel
def test_a_kernel_goes_on_after_a_rotation_that_was_killed(made, tmp_path, monkeypatch):
    """With both keys it replays, commits, and what it adds is read by the new one."""
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    killed = command(folder, BOTH, "key", "rotate", nth=9)
    assert killed.returncode == -signal.SIGKILL
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(folder / "user"))
    monkeypatch.setenv("NBRESUME_KEY", BOTH)
    monkeypatch.setenv("NBRESUME_RUN", run_of(folder))
    more = "%%step d\nm = n + 1"
    save(folder / "nb.ipynb", *CELLS, more)

    with Kernel(folder, "nb.ipynb") as kernel:
        for number, code in enumerate((*CELLS, more)):
            kernel.ok(code, f"c{number}")
        told = kernel.evaluate("(n, got, m)")

    assert told == "(300003, ['a result'], 300004)"
    done = command(folder, BOTH, "key", "rotate", "--finish")
    assert done.returncode == 0, done.stderr
    kinds = [record["kind"] for record in Judge(folder).records()]
    assert kinds.count("nbresume.committed") == 4
    assert reads(folder, NEW)
