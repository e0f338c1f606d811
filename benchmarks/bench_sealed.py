"""What encryption costs: the commit of a large array, as a ratio to one in the clear.

Two shells in processes of their own, one with an encrypted store, take turns: each runs
a step that makes an array of random numbers, which no codec makes smaller, and says how
long the cell took beyond its body. The bar is 1.5 times.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

BAR = 1.5

SHELL = """
import contextlib, io, json, os, sys, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()

def run(cell_id, source):
    with contextlib.redirect_stdout(io.StringIO()):
        done = shell.run_cell(source, cell_id=cell_id)
    done.raise_error()

run("load", "%load_ext nbresume")
for line in sys.stdin:
    number, items = map(int, line.split())
    source = (
        f"%%step s{number}\\nimport time\\nimport numpy as np\\n"
        f"began = time.perf_counter()\\n"
        f"x = np.random.default_rng({number}).random({items})\\n"
        f"body_s = time.perf_counter() - began"
    )
    began = time.perf_counter()
    run(f"c{number}", source)
    print(time.perf_counter() - began - shell.user_ns["body_s"], flush=True)
"""


def shell_in(folder: Path, *, encrypt: bool) -> "subprocess.Popen[str]":
    """Start a shell with a store of its own."""
    folder.mkdir()
    (folder / "nb.ipynb").write_text(
        json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": []})
    )
    env = os.environ | {
        "JPY_SESSION_NAME": str(folder / "nb.ipynb"),
        "JUPYTER_DATA_DIR": str(folder / "data"),
        "NBRESUME_ENCRYPT": "1" if encrypt else "",
    }
    return subprocess.Popen(
        [sys.executable, "-c", SHELL],
        cwd=folder,
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def commit_s(shell: "subprocess.Popen[str]", number: int, items: int) -> float:
    """Let a shell run a step; return the seconds beyond its body."""
    assert shell.stdin is not None
    assert shell.stdout is not None
    shell.stdin.write(f"{number} {items}\n")
    shell.stdin.flush()
    return float(shell.stdout.readline())


def measure(rounds: int, megabytes: int) -> list[tuple[float, float]]:
    """Return the seconds of each round: in the clear, encrypted."""
    top = Path(tempfile.mkdtemp(prefix="nbresume-bench-"))
    items = (megabytes << 20) // 8
    kinds = [False, True]
    shells = {kind: shell_in(top / f"{kind}", encrypt=kind) for kind in kinds}
    found: list[dict[bool, float]] = []
    try:
        for number in range(rounds + 1):
            random.shuffle(kinds)
            found.append({k: commit_s(shells[k], number, items) for k in kinds})
            # what is no longer looked at leaves room on the disk
            for data in top.glob("*/.nbresume/data.zarr/*/*/o*"):
                shutil.rmtree(data)
    finally:
        for shell in shells.values():
            shell.kill()
            shell.wait()
        shutil.rmtree(top)
    # the first one of each imports what it needs
    return [(one[False], one[True]) for one in found[1:]]


def main() -> None:
    """Print seconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--mb", type=int, default=1024)
    options = parser.parse_args()
    found = measure(options.rounds, options.mb)
    ratios = sorted(sealed / clear for clear, sealed in found)
    for clear, sealed in found:
        print(f"{clear:7.2f} s in the clear  {sealed:7.2f} s encrypted")
    ratio = statistics.median(ratios)
    verdict = "met" if ratio <= BAR else "missed"
    print(
        f"{options.mb} MB: {ratio:.2f} times ({ratios[0]:.2f} to {ratios[-1]:.2f}), "
        f"at most {BAR}: {verdict}"
    )


if __name__ == "__main__":
    main()
