"""The least that durability costs: small files that survive power loss.

The rule: it knows neither kernels nor libraries, so that it can be timed anywhere, in
the same seconds as what is compared with it.
"""

import os
import time
from pathlib import Path

CHUNK = 8 << 20


def write_raw(path: Path, parts: list) -> None:
    """Write a new file and flush it."""
    with path.open("wb", buffering=0) as file:
        for part in parts:
            view = memoryview(part).cast("B")
            for at in range(0, len(view), CHUNK):
                file.write(view[at : at + CHUNK])
        os.fsync(file.fileno())


def durable_create(path: Path) -> None:
    """Create a small file so that it survives power loss."""
    write_raw(path, [b"x" * 800])
    handle = os.open(path.parent, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


def three_creates(folder: Path) -> float:
    """Return the seconds of three durable creates; the files stay (see `scratch`)."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{time.time_ns()}-{number}" for number in range(3)]
    begun = time.perf_counter()
    for path in paths:
        durable_create(path)
    return time.perf_counter() - begun
