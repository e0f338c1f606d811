"""What a tiny step costs in a real kernel: files, flushes and bytes, counted exactly.

Counted by wrapping the system's calls inside the kernel, and in a run that is short
and one that is long: the cost of a step must not grow with the run.
"""

import json

import pytest
from real_kernel import LOAD, Kernel, plant, save

pytestmark = pytest.mark.kernel

COUNTER = """
import json, os
NAMES = ("fsync", "link", "mkdir", "unlink", "replace")
counts = dict.fromkeys((*NAMES, "files", "bytes"), 0)
def watch(name):
    original = getattr(os, name)
    def watched(*args, **options):
        counts[name] += 1
        return original(*args, **options)
    setattr(os, name, watched)
for name in NAMES:
    watch(name)
def counting_open(path, flags, *rest, _open=os.open, **options):
    if ".nbresume" in str(path) and flags & os.O_CREAT:
        counts["files"] += 1
    return _open(path, flags, *rest, **options)
def counting_write(fd, data, _write=os.write):
    if ".nbresume" in os.readlink(f"/proc/self/fd/{fd}"):
        counts["bytes"] += len(data)
    return _write(fd, data)
os.open, os.write = counting_open, counting_write
import nbresume
nbresume.counts = counts
"""
STEP = "%%step s{0:03}\nn{0:03} = {0}"
COST = {"fsync": 8, "link": 2, "mkdir": 2, "unlink": 2, "replace": 2, "files": 5}
"""Intent and record: link, file, folder each; pack: one file, three folders."""


def cost(kernel, number):
    """Run one tiny step; return what it cost."""
    before = json.loads(
        kernel.evaluate("__import__('nbresume').counts").replace("'", '"')
    )
    kernel.ok(STEP.format(number), f"c{number}")
    after = json.loads(
        kernel.evaluate("__import__('nbresume').counts").replace("'", '"')
    )
    return {name: after[name] - before[name] for name in after}


@pytest.fixture(scope="module")
def costs(tmp_path_factory):
    """Return what each of the first 107 steps of a run cost."""
    folder = tmp_path_factory.mktemp("tiny")
    steps = [(f"c{n}", STEP.format(n)) for n in range(1, 108)]
    save(folder / "main.ipynb", LOAD, *steps)
    with Kernel(folder, env=plant(folder / "counter", COUNTER)) as kernel:
        kernel.ok(LOAD, "c0")
        return {number: cost(kernel, number) for number in range(1, 108)}


def test_the_second_step_costs_eight_flushes(costs):
    """Files, links and flushes of a tiny step are what the layout says."""
    found = dict(costs[2])
    size = found.pop("bytes")

    assert found == COST
    assert 3_000 < size < 4_000


def test_a_step_costs_the_same_in_a_long_run(costs):
    """Step 105 costs what step 5 costs; so does every step that writes no fold."""
    counts = {n: {k: v for k, v in c.items() if k != "bytes"} for n, c in costs.items()}

    assert counts[5] == counts[105] == COST
    assert {tuple(counts[n].values()) for n in range(2, 108)} == {
        tuple(counts[2].values())
    }


def test_the_bytes_of_a_step_stay_flat(costs):
    """Without a fold step 105 writes as many bytes as step 5, give or take digits."""
    sizes = [costs[n]["bytes"] for n in range(2, 108)]
    usual = sorted(sizes)[len(sizes) // 2]
    folds = [size for size in sizes if size > 1.5 * usual]

    assert abs(costs[5]["bytes"] - usual) < 0.1 * usual
    assert len(folds) <= 12
    assert sum(sizes) < 2.5 * usual * len(sizes)
