# ruff: noqa: S301 - pickles of its own other half
"""Three pipelines, restored at their step boundaries in processes of their own.

The uninterrupted run is one without the product. A boundary counts as right when each
name that a restore binds is described as that run described it there, and every name
that it does not bind was named when its step was committed.
"""

import importlib.util
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PIPELINES = ("econometrics", "learning", "survival")
EVERY = 5
PYTHON = {
    "PYTHONHASHSEED": "0",
    "MPLBACKEND": "Agg",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
}
"""One thread: sums do not depend on who comes first, and a fork is safe."""


def _load(name):
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DESCRIBE = _load("describe")


@cache
def _cells(name):
    return list(_load(name).CELLS)


def _run(*arguments, seed):
    ended = subprocess.run(
        [sys.executable, str(HERE / "runner.py"), *map(str, arguments)],
        env={**os.environ, **PYTHON, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3000:]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return (descriptions without the product, the recorded run's file) by name."""
    folder = tmp_path_factory.mktemp("pipelines")

    @cache
    def run(name):
        with ThreadPoolExecutor(2) as both:
            plainly = both.submit(
                _run, "plain", name, folder / f"{name}.plain", seed="1"
            )
            _run("record", name, folder / f"{name}.recorded", seed="2")
            plainly.result()
        plain = pickle.loads((folder / f"{name}.plain").read_bytes())
        return plain, folder / f"{name}.recorded"

    return run


def _lost(rows):
    """Return the names that no commit up to here has kept, all of them named."""
    lost, problems = {}, []
    for row in rows:
        said = "\n".join(row["said"])
        bound = row["described"]["values"]
        lost = {n: why for n, why in lost.items() if n in bound} | row["not_kept"]
        for name, why in row["not_kept"].items():
            if f"{name} ({why})" not in said:
                problems.append(f"{row['cell']} did not name {name}")
    return lost, problems


def _check(name, at, row, lost, told):
    if "failed" in told:
        return [f"{name} at {row['cell']}: {told['failed'][-1500:]}"]
    wanted = DESCRIBE.without(row["described"], lost)
    got = DESCRIBE.without(told["described"], lost)
    problems = DESCRIBE.differences(wanted, got)
    kept = lost.keys() & told["described"]["values"].keys()
    problems += [f"{one} was not kept and is bound" for one in kept]
    if told["grew"]:
        problems.append("the restore wrote records")
    return [f"{name} at {row['cell']}: {problem}" for problem in problems]


def _restore_all(name, recorded, how, boundaries):
    """Return (names compared, equal, not kept) and what is wrong."""
    plain, file = recorded(name)
    rows = pickle.loads(file.read_bytes())["rows"]
    problems, counts = [], [0, 0, 0, 0]
    for row in rows:
        # the product changes nothing in the run that it watches
        wanted = DESCRIBE.by_itself(plain[row["cell"]])
        found = DESCRIBE.differences(wanted, DESCRIBE.by_itself(row["described"]))
        problems += [f"{name}, while it was recorded: {one}" for one in found]
    target = file.with_suffix(f".{how}")
    _run("restore", name, file, target, how, *boundaries, seed="3")
    answers = pickle.loads(target.read_bytes())
    for at, told in answers.items():
        lost, unnamed = _lost(rows[: at + 1])
        wrong = _check(name, at, rows[at], lost, told)
        compared = len(rows[at]["described"]["values"])
        counts[0] += compared
        counts[1] += compared - len(lost) - len(wrong)
        counts[2] += len(lost)
        bound = rows[at]["described"]["values"].values()
        counts[3] += sum(digest is None for _, digest, _ in bound)
        problems += wrong + unnamed
    compared, equal, not_kept, told_only = counts
    print(  # noqa: T201 - counts
        f"{name}, {how}: {len(answers)} boundaries, {compared} names compared, "
        f"{equal} equal, {not_kept} named as not kept, "
        f"wrong {compared - equal - not_kept}; {told_only} of them by what they tell "
        f"and not by their digest: {', '.join(DESCRIBE.KNOWN)}"
    )
    return problems


def _steps(name):
    return [at for at, cell in enumerate(_cells(name)) if not cell.startswith("p_")]


@pytest.mark.parametrize("name", PIPELINES)
def test_the_pipeline_is_long_enough(name):
    """Twenty-five cells or more, and plain cells among them."""
    assert len(_steps(name)) >= 25
    assert len(_cells(name)) - len(_steps(name)) >= 4


@pytest.mark.long
@pytest.mark.parametrize("name", PIPELINES)
def test_every_boundary(name, recorded):
    """Run All after a restart, at each boundary, in a process of its own."""
    assert _restore_all(name, recorded, "replay", _steps(name)) == []


@pytest.mark.long
@pytest.mark.parametrize("name", PIPELINES)
def test_resuming_at_every_fifth_boundary(name, recorded):
    """`%steps resume` brings every name back."""
    steps = _steps(name)
    boundaries = sorted({*steps[::EVERY], steps[-1]})

    assert _restore_all(name, recorded, "resume", boundaries) == []
