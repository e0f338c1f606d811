"""Point 31: what takes values away is killed, or without power, at each write.

Before its tombstone nothing has happened; from then on what it took looks committed to
nobody, and whatever somebody needs has every byte. The next command finishes it.
"""

import shutil
import signal
from pathlib import Path

import killed_command
import pytest
from click.testing import CliRunner
from judge import Judge
from real_kernel import LOAD, Kernel, save
from unit.run.fakes import Killed, Lab

from nbresume.compose.keeping import plan_collection, plan_erasure
from nbresume.model.values import Erased
from nbresume.run.erasing import Target
from nbresume.run.retention import Rules
from nbresume.run.verify import verify
from nbresume.ui.cli import cli

CANARY = "canary-31"
A = f"%%step a\nL = ['{CANARY}'] * 200_000\nx = 0"
CELLS = {"a": A, "b": "%%step b\ny = len(L) + x", "c": "%%step c\nz = y"}
CHANGES = ("create", "delete", "prune")
"""The operations of the store by which something is taken away."""
DAY_S = 24 * 3600


# -- at every write, without a disk --------------------------------------------------


def built():
    """Return a lab, the origin and its fork: both made anew what they shared."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go()
    lab.clock.advance(DAY_S)
    origin = k.run_id
    k.fork("b")
    lab.edit(a=A.replace("x = 0", "x = 1"))
    k.go()
    k.kill()
    other = lab.kernel(run_id=origin)
    lab.edit(a=A.replace("x = 0", "x = 2"))
    other.go()
    other.kill()
    lab.clock.advance(9 * DAY_S)
    return lab, origin, k.run_id


def erase(lab, origin):
    """Erase step a in the run and its fork."""
    target = Target(Erased.STEP, origin, step="a")
    planned = plan_erasure(lab.store(), target, lab.world(alive=False))
    planned.eraser.erase(planned.erasure, because="asked for")


def collect(lab, _):
    """Collect what does not count any more."""
    plan_collection(lab.store(), lab.world(alive=False), Rules(count=1)).collect()


TAKING = {"erase": erase, "gc": collect}


def boundaries():
    """Return (what is done, operation, nth, late, power) of every write."""
    found = []
    for what, take in TAKING.items():
        lab, origin, _ = built()
        before = len(lab.backend.operations)
        take(lab, origin)
        done = [name for name, _ in lab.backend.operations[before:] if name in CHANGES]
        found += [
            (what, name, done[: at + 1].count(name), late, power)
            for at, name in enumerate(done)
            for late in (False, True)
            for power in (False, True)
        ]
    return found


BOUNDARIES = boundaries()
FEW = {("create", 1), ("create", 2), ("delete", 1), ("delete", 4), ("prune", 2)}


def situation(row):
    """Return a row as a test case; most of them take their time."""
    what, operation, nth, late, power = row
    name = f"{what}-{operation}-{nth}{'-late' * late}{'-no-power' * power}"
    marks = () if (operation, nth) in FEW else pytest.mark.long
    return pytest.param(*row, id=name, marks=marks)


def test_both_have_tombstones_and_deletions():
    """Both runs get one where both are concerned, and bytes go after them."""
    for what in TAKING:
        done = [row[1] for row in BOUNDARIES if row[0] == what][::4]
        assert done[:3] == ["create", "create", "delete"]
        assert done.count("create") == 2
        assert done.count("prune") > 1


@pytest.mark.parametrize(
    ("what", "operation", "nth", "late", "power"),
    [situation(row) for row in BOUNDARIES],
)
def test_cut_off_nothing_is_lost_and_nothing_looks_committed(
    what, operation, nth, late, power, record_property
):
    """And when it is done again, all is done."""
    record_property("crash", {"situations": 1})
    lab, origin, fork = built()
    lab.backend.fail_at(operation, nth, Killed(), late=late)
    with pytest.raises(Killed):
        TAKING[what](lab, origin)
    lab.backend.forget_faults()
    if power:
        lab.backend.lose_power()

    for run in (origin, fork):
        assert verify(lab.inspect(run).journal).problems == []
    is_erased = what == "erase" and has_tombstone(lab, origin, fork)
    lab.clock.advance(2 * DAY_S)
    collect(lab, origin)
    if is_erased:
        assert not [key for key, v in lab.backend.files.items() if CANARY.encode() in v]
        for run in (origin, fork):
            assert lab.inspect(run).journal.state.commit("a") is None

    for run, x in ((origin, 2), (fork, 1)):
        lab.edit(a=A.replace("x = 0", f"x = {x}"))
        assert verify(lab.inspect(run).journal).problems == []
        k = lab.kernel(run_id=run)
        ran = k.go()
        assert (k["z"], k["L"][-1]) == (200_000 + x, CANARY), run
        assert what == "erase" or ran == []
        k.kill()


def has_tombstone(lab, *runs):
    """Say whether there is one in one of the runs."""
    return any("tombstone" in lab.records(run) for run in runs)


# -- with real processes, on a disk --------------------------------------------------

COUNTS = """
def counts(event, args):
    if event in ("os.remove", "os.rmdir"):
        return "/.nbresume/data.zarr" in str(args[0])
    return event in ("nbresume.append", "nbresume.created")
"""
WORDS = ("erase", "nb.ipynb", "a", "--yes", "--because", "asked for")


def command(folder, nth, *words, **env):
    """Run a command as a child that is killed at the nth event, if there is one."""
    return killed_command.command(folder, COUNTS, nth, *words, **env)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a notebook that was run, and a fork of its run."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_DATA_DIR", str(folder / "user"))
        cells = (LOAD, *CELLS.values())
        save(folder / "nb.ipynb", *cells)
        with Kernel(folder, "nb.ipynb") as kernel:
            for number, code in enumerate(cells):
                kernel.ok(code, f"c{number}")
    done = command(folder, 0, "fork", "nb.ipynb", "--at", "b")
    assert done.returncode == 0, done.stderr
    return folder


def holding(folder):
    """Return the files of the store that hold the value."""
    files = [path for path in (folder / ".nbresume").rglob("*") if path.is_file()]
    return [path for path in files if CANARY.encode() in path.read_bytes()]


EVENTS = 20
"""More than an erasure of this store has."""


@pytest.mark.kernel
@pytest.mark.parametrize(
    "nth",
    [
        pytest.param(nth, marks=() if nth in (2, 5, 8) else pytest.mark.long)
        for nth in range(1, EVENTS)
    ],
)
def test_31_killed_while_it_is_erased(made, tmp_path, nth, record_property):
    """By SIGKILL, before a tombstone, before and after each deletion."""
    record_property("crash", {"situations": 1})
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    run = first_of(folder)
    killed = command(folder, nth, *WORDS, NBRESUME_RUN=run)
    records = Judge(folder).records()
    stands = [r for r in records if r["kind"] == "nbresume.tombstone"]

    if killed.returncode == 0:
        assert nth > int(killed.stderr.split()[-1]) > len(CHANGES)
    else:
        assert killed.returncode == -signal.SIGKILL
        if not stands:
            assert holding(folder)
    problems = [shown(folder, run.name) for run in runs_of(folder)]
    assert problems == [[]] * 2
    again = command(folder, 0, "gc", "--yes", "--grace", "0")
    assert again.returncode == 0, again.stderr

    if stands:
        assert holding(folder) == []
        assert "erased" in judged(folder, "status", NBRESUME_RUN=run)
    else:
        assert command(folder, 0, *WORDS, NBRESUME_RUN=run).returncode == 0
        assert holding(folder) == []
    assert [shown(folder, run.name) for run in runs_of(folder)] == [[]] * 2


def runs_of(folder) -> list[Path]:
    """Return the folders of the chains."""
    return sorted((folder / ".nbresume" / "journal").iterdir())


def first_of(folder) -> str:
    """Return the run that is no fork: the notebook lies elsewhere now."""
    (first,) = [run.name for run in runs_of(folder) if len(list(run.iterdir())) > 1]
    return first


def judged(folder, word, **env):
    """Run a command that only looks, in this process; return what it printed."""
    env = {"JUPYTER_DATA_DIR": str(folder / "user"), **env}
    done = CliRunner().invoke(cli, [word, str(folder / "nb.ipynb")], env=env)
    assert done.exit_code == 0, done.output
    return done.output


def shown(folder, run) -> list[str]:
    """Return what `verify` says against one of the runs."""
    told = judged(folder, "verify", NBRESUME_RUN=run)
    return [] if "every digest holds" in told else [told]
