"""`nbresume export` and `import`, killed: a whole file and a whole run, or none."""

import os
import shutil
import signal
import subprocess
import sys

import pytest
from unit.compose.shelves import shelf

from nbresume.store.backup_reader import BackupReader

KILLED = """
import os, signal, sys
name, _, at = sys.argv.pop(1).rpartition(":")
at, count = int(at), 0

def hook(event, args):
    global count
    if event.startswith(f"nbresume.{name}"):
        count += 1
        if count == at:
            os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(hook)
from nbresume.ui.cli import main
try:
    main()
finally:
    print(count, file=sys.stderr)
"""


def command(user, at, *words):
    """Run a command of a user, killed at ``NAME:n``, its nth such event; 0: never."""
    return subprocess.run(
        [sys.executable, "-c", KILLED, str(at), *map(str, words)],
        env=os.environ | {"JUPYTER_DATA_DIR": str(user.folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def events(done):
    """Return how many events there were."""
    assert done.returncode == 0, done.stderr
    return int(done.stderr.split()[-1])


@pytest.fixture(scope="module", params=["clear", "encrypted"])
def made(request, tmp_path_factory):
    """Return a store with a run and a fork of it, and a backup of both."""
    folder = tmp_path_factory.mktemp("made")
    mine = shelf(folder, encrypt=request.param == "encrypted")
    k = mine.ran()
    origin = k.run_id
    k.fork("b")
    k.go()
    mine.runs = {origin, k.run_id}
    mine.file = folder / "runs.zip"
    command(mine, 0, "export", mine.folder / "store", mine.file)
    # the first one made the folder of the log, too
    done = command(mine, 0, "export", mine.folder / "store", folder / "again.zip")
    mine.export_events = events(done)
    other = user(mine, folder)
    done = command(other, 0, "import", mine.file, other.folder / "store")
    mine.import_events = events(done)
    other = user(mine, folder)
    done = command(other, "placed:0", "import", mine.file, other.folder / "store")
    mine.placed = events(done)
    return mine


def user(made, folder):
    """Return another folder of the same user."""
    other = shelf(folder)
    made.share_key(other)
    return other


def killed_export(made, tmp_path, at):
    """Kill an export there; the file is whole or not there; a second one is made."""
    path = tmp_path / "run.zip"
    done = command(made, at, "export", made.folder / "store", path)
    assert done.returncode == -signal.SIGKILL, done.stderr
    was_there = path.exists()
    if was_there:
        with BackupReader(path) as reader:
            reader.check()
            assert set(reader.contents.runs) == made.runs
        path.rename(tmp_path / "first.zip")
    again = command(made, 0, "export", made.folder / "store", path)

    assert again.returncode == 0, again.stderr
    assert [p.name for p in tmp_path.glob("*.part")] == []
    for found in tmp_path.glob("*.zip"):
        with BackupReader(found) as reader:
            reader.check()
        found.unlink()
    return was_there


def killed_import(made, tmp_path, at):
    """Kill an import there: each run is whole or not there, and comes the next time."""
    other = user(made, tmp_path)
    store = other.folder / "store"
    done = command(other, at, "import", made.file, store)
    assert done.returncode == -signal.SIGKILL, done.stderr
    there = set()
    if (store / "store.json").exists():
        there = other.open().runs().ids()
        for run_id in there:
            assert other.problems(run_id) == []
    left = [word for run in made.runs - there for word in ("--run", run)]
    if left:
        again = command(other, 0, "import", made.file, store, *left)
        assert again.returncode == 0, again.stderr

    assert other.open().runs().ids() == made.runs
    for run_id in made.runs:
        assert other.problems(run_id) == []
        other.open()
        assert other.lab.kernel(run_id=run_id).go() == []
    if left:
        assert not any(name.startswith("tmp/import-") for name in other.files())
    shutil.rmtree(other.folder)
    return len(there)


@pytest.mark.parametrize("at", ["write:2", "flush:1", "link:1", "linked:1"])
def test_an_export_is_killed(made, tmp_path, at):
    """While it is written, when it is whole, and before and after it has its name."""
    was_there = killed_export(made, tmp_path, at)

    assert was_there == (at == "linked:1")


@pytest.mark.parametrize(
    ("at", "there"),
    [
        ("write:9", 0),
        ("place:1", 0),
        ("placed:1", 0),
        ("placed:-2", 1),
        ("placed:-1", 2),
    ],
)
def test_an_import_is_killed(made, tmp_path, at, there):
    """While it is staged, when the first group, a run and the last one moved in."""
    name, _, number = at.partition(":")
    if number.startswith("-"):
        number = made.placed + 1 + int(number)

    assert killed_import(made, tmp_path, f"{name}:{number}") == there


@pytest.mark.long
def test_an_export_is_killed_everywhere(made, tmp_path):
    """At each event; under its name is a whole file, or none."""
    found = [
        killed_export(made, tmp_path, at) for at in range(1, made.export_events + 1)
    ]

    assert found == sorted(found)
    assert True in found


@pytest.mark.long
def test_an_import_is_killed_everywhere(made, tmp_path):
    """At each event; a run is there as a whole, or not."""
    found = [
        killed_import(made, tmp_path, at) for at in range(1, made.import_events + 1)
    ]

    assert found == sorted(found)
    assert {0, 1, 2} == set(found)
