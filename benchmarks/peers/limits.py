"""What this machine can do at best, measured in the same round as the tools.

Run in the environment of the plain kernel: ``python -m peers.limits FOLDER SIZES``
prints seconds and bytes as JSON. The rule: nothing here knows a checkpoint; it is the
least work that the task could be done with.
"""

import hashlib
import json
import os
import pickle
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numcodecs
import numpy as np
import xxhash

from peers.bare import CHUNK, three_creates, write_raw

CREATES = 20
SHUFFLES = (numcodecs.Blosc.SHUFFLE, numcodecs.Blosc.BITSHUFFLE)


@dataclass
class Rec:
    """The small object of the workload `soup`."""

    k: int
    tags: list = field(default_factory=list)


def timed(action: Callable[[], object], times: int = 1) -> float:
    """Return the median seconds of an action."""
    taken = []
    for _ in range(times):
        begun = time.perf_counter()
        action()
        taken.append(time.perf_counter() - begun)
    return statistics.median(taken)


def hash_pass(array: np.ndarray) -> bytes:
    """Return the xxh3 of an array's bytes."""
    return xxhash.xxh3_128(array.data.cast("B")).digest()


def array(folder: Path, count: int) -> dict[str, float]:
    """Return what an array of random floats costs to write, hash and read."""
    made = np.random.default_rng(1).random(count)
    path = folder / "array"

    def save() -> None:
        with path.open("wb") as file:
            np.save(file, made)
            file.flush()
            os.fsync(file.fileno())
        hashlib.blake2b(made.data.cast("B")).digest()

    found = {
        "array_bytes": made.nbytes,
        "array_save": timed(save),
        "array_hash": timed(lambda: hash_pass(made), 3),
        "array_write": timed(lambda: write_raw(path, [made])),
    }
    return found | {"array_read": timed(lambda: np.fromfile(path))}


def frame(folder: Path, rows: int, columns: int) -> dict[str, float]:
    """Return what a frame costs to hash, and one of its columns to write."""
    made = np.random.default_rng(7).standard_normal((columns, rows))
    path = folder / "column"
    return {
        "column_bytes": made[0].nbytes,
        "column_write": timed(lambda: write_raw(path, [made[0]]), 3),
        "frame_bytes": made.nbytes,
        "frame_hash": timed(lambda: hash_pass(made)),
    }


def objects(count: int) -> dict[str, float]:
    """Return what one C pickle of the small objects costs."""
    kinds = (
        lambda i: Rec(i, [i]),
        lambda i: {"k": i, "s": str(i)},
        lambda i: [i, i + 1],
    )
    made = [kinds[i % 3](i) for i in range(count)]
    return {"soup_pickle": timed(lambda: pickle.dumps(made, protocol=5), 3)}


def dicts(count: int) -> dict[str, float]:
    """Return what one C pickle of a list of dicts costs, and its bytes."""
    made = [{"i": i, "s": str(i)} for i in range(count)]
    return {
        "list_pickle": timed(lambda: pickle.dumps(made, protocol=5), 3),
        "list_bytes": len(pickle.dumps(made, protocol=5)),
    }


def smooth(folder: Path, count: int) -> dict[str, float]:
    """Return the least bytes of zstd-1 and lz4 with either shuffle, and its seconds."""
    made = np.cumsum(np.random.default_rng(3).integers(0, 8, count, dtype="int64"))
    parts = [made[at : at + CHUNK // 8] for at in range(0, count, CHUNK // 8)]
    best: dict[str, float] = {}
    for codec in ("zstd", "lz4"):
        for shuffle in SHUFFLES:
            packer = numcodecs.Blosc(codec, clevel=1, shuffle=shuffle)
            begun = time.perf_counter()
            packed = [packer.encode(part) for part in parts]
            write_raw(folder / "packed", packed)
            seconds = time.perf_counter() - begun
            size = sum(map(len, packed))
            if not best or size < best["smooth_bytes"]:
                best = {"smooth_bytes": size, "smooth_alone": seconds}
    return best


def mixed(folder: Path, count: int, rows: int, columns: int) -> dict[str, float]:
    """Return what one raw write of all that the mixed workload changes costs."""
    made = np.random.default_rng(1).random(count + (columns + 1) * rows)
    return {
        "changed_bytes": made.nbytes,
        "changed_write": timed(lambda: write_raw(folder / "changed", [made])),
    }


def measure(folder: Path, sizes: dict[str, int]) -> dict[str, float]:
    """Return the limits that a workload of these sizes is compared with."""
    creates = [three_creates(folder / "bare") for _ in range(CREATES)]
    found = {"three_creates": statistics.median(creates)}
    if "dicts" in sizes:
        found |= dicts(sizes["dicts"])
        found |= mixed(folder, sizes["array"], sizes["rows"], sizes["columns"])
    elif "array" in sizes:
        found |= array(folder, sizes["array"])
    elif "rows" in sizes:
        found |= frame(folder, sizes["rows"], sizes["columns"])
    elif "objects" in sizes:
        found |= objects(sizes["objects"])
    elif "smooth" in sizes:
        found |= smooth(folder, sizes["smooth"])
    return found


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), json.loads(sys.argv[2]))))
