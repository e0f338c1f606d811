"""Memory that the machine has already: what is compared pays for none of it.

The rule: a virtual machine may get memory from its host when it is first touched, which
was seen to take 2.2 ms a megabyte in place of 0.2, and may give back within seconds
what lies free. So none lies free: the page cache is full of holes of a file that is
larger than the memory, and whoever needs memory takes it from there.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

BLOCK = 8 << 20
AGAIN = 4 << 30
"""Bytes that are read before a kernel: more than the one before has freed."""


@contextmanager
def warm(folder: Path, *, scale: float) -> Iterator[Callable[[], None]]:
    """Fill the page cache; give what fills it again before each run.

    Filling takes 40 s where the host gives 24 GB, so runs at less than full size, which
    need little memory, do without.
    """
    if scale < 1:
        yield lambda: None
        return
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    size = memory + memory // 2
    path = folder / "holes"
    with path.open("wb") as file:
        file.truncate(size)
    buffer, at = bytearray(BLOCK), 0
    with path.open("rb", buffering=0) as holes:

        def read(count: int) -> None:
            nonlocal at
            for _ in range(0, count, BLOCK):
                os.preadv(holes.fileno(), [buffer], at)
                at = (at + BLOCK) % size

        try:
            read(size)
            yield lambda: read(AGAIN)
        finally:
            path.unlink()
