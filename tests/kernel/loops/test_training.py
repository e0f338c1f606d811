"""A training loop in real kernels, killed with SIGKILL at moments that nobody chose."""

import random
import time
from itertools import pairwise
from pathlib import Path

import pytest
from real_kernel import LOAD, Kernel, kinds, save

pytestmark = pytest.mark.kernel

EVERY = 20
FEW, MANY = 300, 900
"""Items of the loop: more kills need more of them."""
DATA = """%%step data
import numpy as np
rng = np.random.default_rng(5)
X = rng.normal(size=(4000, 12))
y = X @ rng.normal(size=12) + rng.normal(size=4000)
"""
TRAIN = """%%step train
import random, time
import numpy as np
from nbresume import resumable

class Momentum:
    def __init__(self, weights):
        self.weights, self.speed = weights, np.zeros_like(weights)

    def step(self, gradient):
        self.speed *= 0.9
        self.speed -= 0.01 * gradient
        self.weights += self.speed

random.seed(1)
np.random.seed(2)
order = np.random.default_rng(3)
weights = np.zeros(12)
opt = Momentum(weights)
losses = []
for n in resumable(range(ITEMS), every=EVERY, bar=BAR):
    rows = order.integers(len(X), size=32)
    noise = np.random.normal(scale=0.01, size=12) * random.random()
    error = X[rows] @ weights - y[rows]
    opt.step(X[rows].T @ error / 32 + noise)
    losses.append(float((error ** 2).mean()))
    with open("ledger.txt", "a") as ledger:
        print(n, file=ledger)
    time.sleep(0.004)
"""
LOOK = (
    "import hashlib\nprint('digest', hashlib.sha256(weights.tobytes() "
    "+ np.array(losses).tobytes()).hexdigest(), opt.weights is weights, len(losses))"
)


def _cells(
    folder: Path, items: int = FEW, *, bar: bool = False
) -> tuple[str, str, str]:
    train = TRAIN.replace("ITEMS", str(items)).replace("EVERY", str(EVERY))
    cells = (DATA, train.replace("BAR", str(bar)), LOOK)
    save(folder / "main.ipynb", LOAD, *cells)
    return cells


def _ledger(folder: Path) -> list[int]:
    path = folder / "ledger.txt"
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def _digest(kernel: Kernel, cells: tuple[str, str, str]) -> tuple[str, str]:
    """Run everything; return what the loop left, and what its cell showed."""
    kernel.ok(LOAD, "c0")
    kernel.ok(cells[0], "c1")
    shown = kernel.ok(cells[1], "c2").text
    told = kernel.ok(cells[2], "c3").streams("stdout")
    return told.strip(), shown


def _kill_once(
    folder: Path, cells: tuple[str, str, str], dice: random.Random, items: int = FEW
) -> bool:
    """Kill a kernel some items after it went on; say whether it was in the loop."""
    before = len(_ledger(folder))
    # three early kills in a row would leave no progress to go on from
    wanted = (before or EVERY) + dice.randrange(1, 2 * EVERY)
    return _kill_at(folder, cells, wanted, items, pause_s=dice.random() / 100)


def _kill_at(
    folder: Path,
    cells: tuple[str, str, str],
    wanted: int,
    items: int = FEW,
    *,
    pause_s: float = 0,
) -> bool:
    with Kernel(folder) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(cells[0], "c1")
        kernel.send(cells[1], "c2")
        until = time.monotonic() + 60
        while len(done := _ledger(folder)) < wanted and time.monotonic() < until:
            if done and done[-1] == items - 1:
                break
            time.sleep(0.002)
        time.sleep(pause_s)
        kernel.kill()
    return _ledger(folder)[-1] < items - 1


def _play(tmp_path: Path, kills: int, count: int) -> None:
    seed = random.randrange(10**6)  # noqa: S311
    whole, folder = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    folder.mkdir()
    with Kernel(whole) as kernel:
        expected, _ = _digest(kernel, _cells(whole, count))
    cells, dice = _cells(folder, count), random.Random(seed)  # noqa: S311
    times = 0
    while times < kills and _kill_once(folder, cells, dice, count):
        times += 1
    with Kernel(folder) as kernel:
        found, shown = _digest(kernel, cells)

    assert times == kills, "the loop was over before it was killed so often"
    assert found == expected, f"seed {seed}"
    assert f"True {count}" in found
    assert "goes on at item" in shown
    items = _ledger(folder)
    jumps = [a + 1 - b for a, b in pairwise(items) if b != a + 1]
    assert all(0 < jump <= EVERY for jump in jumps), jumps
    assert len(items) <= count + EVERY * times
    assert kinds(folder / ".nbresume").count("committed") == 2


@pytest.mark.long
def test_a_loop_that_is_killed_three_times(tmp_path):
    """Its weights are those of an undisturbed run, bit by bit."""
    _play(tmp_path, 3, FEW)


@pytest.mark.long
def test_a_loop_that_is_killed_twenty_times(tmp_path):
    """At most `every` items are done again for each kill."""
    _play(tmp_path, 20, MANY)


def test_its_bar_begins_where_the_loop_goes_on(tmp_path):
    """The bar is tqdm's, and shows what was done before the kill as done."""
    cells = _cells(tmp_path, bar=True)
    _kill_at(tmp_path, cells, EVERY + 5)
    with Kernel(tmp_path) as kernel:
        _, shown = _digest(kernel, cells)

    position = shown.partition("goes on at item ")[2].split()[0]
    assert int(position) > 0
    assert f" {position}/300 " in shown


def test_ctrl_c_leaves_the_progress_to_the_same_kernel(tmp_path):
    """The cell is stopped, run again, and goes on."""
    cells = _cells(tmp_path)
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(cells[0], "c1")
        request = kernel.send(cells[1], "c2")
        while len(_ledger(tmp_path)) < 2 * EVERY + 5:
            time.sleep(0.01)
        kernel.interrupt()
        said = kernel.finish(request)
        assert said.error.startswith("KeyboardInterrupt")
        table = kernel.ok("%steps", "x").text
        again = kernel.ok(cells[1], "c2").text
    items = _ledger(tmp_path)

    assert "at item 40 of 300" in table
    assert "goes on at item 40 of 300" in again
    assert len(items) <= FEW + EVERY
