"""What a tiny step costs: ratios measured side by side in one run.

In one IPython shell, in rounds whose order is shuffled: a plain cell, the same cell as
a step (first run), its replay, and three bare durable file creations in the same
folder. Every step is also restored in a second shell's object graph by the tests; here
only time is taken.
"""

import argparse
import contextlib
import io
import json
import os
import random
import secrets
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def durable_create(folder: Path) -> None:
    """Create a file so that it survives power loss: the least that can be done."""
    name = folder / "bare" / secrets.token_hex(8)
    with name.open("wb") as file:
        file.write(b"x" * 800)
        file.flush()
        os.fsync(file.fileno())
    handle = os.open(name.parent, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def timed(action: Callable[[], object]) -> float:
    """Return how many milliseconds it takes."""
    start = time.perf_counter()
    action()
    return (time.perf_counter() - start) * 1e3


def notebook(folder: Path, rounds: int) -> list[tuple[str, str]]:
    """Write a notebook of tiny steps; return its cells."""
    cells = [(f"s{i}", f"%%step s{i}\nv{i} = {i} + k") for i in range(rounds)]
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {
                "cell_type": "code",
                "id": cell_id,
                "source": source,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for cell_id, source in cells
        ],
    }
    (folder / "nb.ipynb").write_text(json.dumps(document))
    return cells


def measure(rounds: int) -> dict[str, list[float]]:
    """Return the milliseconds of each kind of work, one a round."""
    folder = Path(tempfile.mkdtemp(prefix="nbresume-bench-"))
    (folder / "bare").mkdir()
    os.chdir(folder)
    os.environ["JPY_SESSION_NAME"] = str(folder / "nb.ipynb")
    os.environ["JUPYTER_DATA_DIR"] = str(folder / "data")
    cells = notebook(folder, rounds)
    from IPython.core.interactiveshell import InteractiveShell  # noqa: PLC0415

    shell = InteractiveShell.instance()

    def run(cell_id: str, source: str) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            done = shell.run_cell(source, cell_id=cell_id)
        assert done.success, (done.error_before_exec, done.error_in_exec)

    run("setup", "%load_ext nbresume\nk = 1")
    found: dict[str, list[float]] = {
        name: [] for name in ("plain", "step", "replay", "three")
    }
    for number, (cell_id, source) in enumerate(cells):
        body = source.split(" = ")[1]
        work: list[tuple[str, Callable[[], object]]] = [
            ("plain", lambda b=body, n=number: run(f"p{n}", b)),
            ("step", lambda c=cell_id, s=source: run(c, s)),
            ("three", lambda: [durable_create(folder) for _ in range(3)]),
        ]
        random.Random(number).shuffle(work)  # noqa: S311 - an order, no secret
        for name, action in work:
            found[name].append(timed(action))
        found["replay"].append(timed(lambda c=cell_id, s=source: run(c, s)))
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("rounds", nargs="?", type=int, default=200)
    found = measure(parser.parse_args().rounds)
    warm = {name: times[5:] for name, times in found.items()}
    medians = {name: statistics.median(times) for name, times in warm.items()}
    first = statistics.median(found["step"][5:15])
    last = statistics.median(found["step"][-10:])
    print(f"Python {sys.version.split()[0]}, {len(found['step'])} steps")
    print("| work | median ms | over three bare durable creates |")
    print("|---|---|---|")
    for name, value in medians.items():
        print(f"| {name} | {value:.2f} | {value / medians['three']:.2f} |")
    cost = (medians["step"] - medians["plain"]) / medians["three"]
    print(f"tiny step over its plain cell: {cost:.2f} x three bare durable creates")
    print(f"last ten steps over steps 5 to 15: {last / first:.2f}")


if __name__ == "__main__":
    main()
