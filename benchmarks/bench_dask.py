"""How much memory a kernel needs for a dask array that workers store.

One kernel, one cluster of two workers in processes of their own, one step that leaves
an array of 4 GB (with ``--scale 1``): its peak, that of the workers, and how long it
took; then a second kernel that restores the array and reads one block of it. The bar is
a kernel below 300 MB, whatever the array weighs.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from peers.kernel import Kernel

FULL_BYTES = 4 << 30
BLOCK_BYTES = 64 << 20
BAR_MB = 300
ALONE = """import os
def peaks(pids):
    found = []
    for pid in pids:
        with open(f"/proc/{pid}/status") as file:
            line = next(line for line in file if line.startswith("VmHWM"))
        found.append(int(line.split()[1]) >> 10)
    return found"""
CLUSTER = """from distributed import Client, LocalCluster
cluster = LocalCluster(
    n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0)
client = Client(cluster)
import dask.array as da"""
MAKE = """%%step make
import dask.array as da
rows = {rows}
x = da.random.default_rng(1).random((rows, 1024), chunks=({block}, 1024))"""
TOLD = "print(*peaks([os.getpid(), *client.run(os.getpid).values()]))"
TOTAL = "print(float(x.sum().compute()))"
ONE = "print(float(x[-1, -1].compute()))"


def notebook(folder: Path, *cells: str) -> None:
    """Write a notebook of these cells."""
    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {},
        "cells": [
            {
                "cell_type": "code",
                "id": f"c{number}",
                "source": source,
                "metadata": {},
                "outputs": [],
                "execution_count": None,
            }
            for number, source in enumerate(cells)
        ],
    }
    (folder / "main.ipynb").write_text(json.dumps(document))


def asked(kernel: Kernel, code: str, cell_id: str = "") -> tuple[float, str]:
    """Run a cell that must succeed; return its seconds and what it printed."""
    answer = kernel.run(code, cell_id, timeout_s=3600)
    if answer.error:
        sys.exit(answer.error)
    return answer.seconds, answer.printed.strip()


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.05, help="1 is 4 GB")
    parser.add_argument("--store", default="", help="s3://bucket/prefix; else a folder")
    options = parser.parse_args()
    rows_of_block = BLOCK_BYTES >> 13
    blocks = max(round(FULL_BYTES * options.scale) // BLOCK_BYTES, 1)
    make = MAKE.format(rows=blocks * rows_of_block, block=rows_of_block)
    size_mb = blocks * BLOCK_BYTES >> 20
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as name:
        folder = Path(name)
        notebook(folder, "%load_ext nbresume", CLUSTER, make)
        variables = {
            "JPY_SESSION_NAME": str(folder / "main.ipynb"),
            "JUPYTER_DATA_DIR": str(folder / "data"),
        }
        if options.store:
            variables["NBRESUME_STORE"] = options.store
        first = session(folder, variables, make, TOTAL)
        second = session(folder, variables, make, ONE)
    print(f"array: {size_mb} MB in {blocks} blocks")
    for title, (before, seconds, after, printed, used_s) in (
        ("committed", first),
        ("restored", second),
    ):
        kernel, *workers = after
        print(
            f"{title}: {seconds:.1f} s, kernel {before[0]} → {kernel} MB, "
            f"workers {workers} MB; then used in {used_s:.1f} s ({printed})"
        )
    most = max(first[2][0], second[2][0])
    print(f"bar: {most} of {BAR_MB} MB, {'met' if most < BAR_MB else 'MISSED'}")


def session(
    folder: Path, variables: dict[str, str], make: str, use: str
) -> tuple[list[int], float, list[int], str, float]:
    """Run the notebook in a kernel of its own, and what uses the array."""
    kernel = Kernel(Path(sys.executable), folder, variables)
    try:
        for code in (ALONE, "%load_ext nbresume", CLUSTER):
            asked(kernel, code)
        before = [int(one) for one in asked(kernel, TOLD)[1].split()]
        seconds, _ = asked(kernel, make, "c2")
        used_s, printed = asked(kernel, use)
        after = [int(one) for one in asked(kernel, TOLD)[1].split()]
    finally:
        kernel.run("client.shutdown()")
        kernel.kill()
    return before, seconds, after, printed, used_s


if __name__ == "__main__":
    main()
