"""The chunk files of a zarr array, written and read without zarr.

The rule: an array's bytes in C order, cut after whole rows into files of one size; what
plain zarr calls chunk ``c.3.0`` of an uncompressed array is exactly such a file. zarr
itself neither flushes nor reads into memory that is there already, and costs four
times the processor time.
"""

import re
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import prod
from typing import Any

from nbresume.errors import Damaged
from nbresume.settings import CHUNK_BYTES
from nbresume.store.port import Backend, Begun, Buffer

_NAME = re.compile(r"c(?:\.(\d+)(?:\.0)*)?", re.ASCII)
_THREADS = 2
_UNFLUSHED = 32
"""So many chunks at most wait for their flush: files that are open, bytes in memory."""
_PADDING = 8
"""At most one byte in so many is padding, where smaller chunks can reach that."""
_SMALLEST = CHUNK_BYTES // 4


@dataclass(frozen=True, slots=True)
class Grid:
    """How an array is cut: chunks of `rows` whole rows each."""

    shape: tuple[int, ...]
    rows: int
    """Length of a chunk along the first axis."""
    row_bytes: int

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """The shape of one chunk; zarr wants each side to be 1 or more."""
        whole = tuple(max(side, 1) for side in self.shape[1:])
        return (self.rows, *whole) if self.shape else ()

    @property
    def chunk_bytes(self) -> int:
        """The size of one chunk file."""
        return self.rows * self.row_bytes

    @property
    def count(self) -> int:
        """How many chunk files there are; an empty array has none."""
        if 0 in self.shape:
            return 0
        return -(-self.shape[0] // self.rows) if self.shape else 1

    def name(self, index: int) -> str:
        """Return the file name of a chunk."""
        axes = [str(index), *("0" for _ in self.shape[1:])] if self.shape else []
        return ".".join(["c", *axes])


def grid_of(shape: Sequence[int], item_bytes: int) -> Grid:
    """Return how an array is cut; below two chunks it is not cut at all.

    Rows per chunk are a power of two, so that the same rows lie in the same chunk when
    the array grows. zarr pads the last chunk to full size, so chunks are smaller where
    that would waste much.
    """
    shape = tuple(shape)
    length = shape[0] if shape else 1
    row_bytes = prod(shape[1:]) * item_bytes
    if length * row_bytes < 2 * CHUNK_BYTES:
        return Grid(shape, max(length, 1), row_bytes)
    rows = 1
    while 2 * rows * row_bytes <= CHUNK_BYTES:
        rows *= 2
    while _wastes(length, rows) and rows * row_bytes > _SMALLEST:
        rows //= 2
    return Grid(shape, rows, row_bytes)


def _wastes(length: int, rows: int) -> bool:
    return rows > 1 and -length % rows * _PADDING > length


def write_chunks(
    backend: Backend,
    folder: str,
    grid: Grid,
    data: memoryview,
    *,
    written: Callable[[str], None],
) -> None:
    """Write the array's chunk files into `folder`, and tell each key once it is there.

    Raises
    ------
    KeyTaken
        The folder holds such a file already.
    Unavailable
        The device failed.
    """
    size = grid.chunk_bytes
    begun = _Begun()

    def write_one(index: int) -> None:
        part = data[index * size : (index + 1) * size]
        padding: tuple[Buffer, ...] = ()
        if part.nbytes < size:
            padding = (bytes(size - part.nbytes),)
        key = f"{folder}/{grid.name(index)}"
        file = backend.begin(key, (part, *padding))
        written(key)
        begun.add(file)

    with begun:
        _for_each(write_one, range(grid.count))
        begun.flush()


class _Begun:
    """Files that were written and not flushed: the device takes them meanwhile.

    One flush after the other would let the device wait for the processor, and the
    processor for the device. None is forgotten: whoever has written them all calls
    `flush`, and only then seals the folder.
    """

    def __init__(self) -> None:
        self._files: deque[Begun] = deque()

    def add(self, file: Begun) -> None:
        """Take a file up; with too many of them, flush the oldest."""
        self._files.append(file)
        if len(self._files) > _UNFLUSHED:
            _last(self._files.popleft())

    def flush(self) -> None:
        """Make all of them durable."""
        while self._files:
            _last(self._files.popleft())

    def __enter__(self) -> None:
        """Hold files."""

    def __exit__(self, *_: object) -> None:
        """Let go of all, flushed or not."""
        while self._files:
            self._files.popleft().close()


def _last(file: Begun) -> None:
    try:
        file.flush()
    finally:
        file.close()


def read_chunks(backend: Backend, folder: str, target: memoryview) -> None:
    """Fill `target` with the array's bytes.

    Raises
    ------
    Damaged
        A chunk file is missing or too short.
    """
    pieces = _pieces(backend, folder, target.nbytes)
    if pieces is None:
        raise Damaged(
            f"the array {folder} cannot be read",
            because="some of its files are missing",
            remedy="Type nbresume verify to see what else is affected.",
            key=folder,
        )

    def read_one(piece: tuple[str, int, int]) -> None:
        key, start, length = piece
        backend.read_into(key, target[start : start + length])

    _for_each(read_one, pieces)


def are_whole(backend: Backend, folder: str, length: int) -> bool:
    """Return whether the chunk files of `length` bytes are there and long enough."""
    pieces = _pieces(backend, folder, length)
    return pieces is not None and all(
        (backend.size(key) or 0) >= length for key, _, length in pieces
    )


def _pieces(
    backend: Backend, folder: str, length: int
) -> list[tuple[str, int, int]] | None:
    """Return (key, start in the array, length) of each chunk; None if one is missing.

    The files say how the array was cut: they have one size and follow each other. So
    nothing that could be damaged stands between a payload and its digest.
    """
    matches = map(_NAME.fullmatch, backend.names(folder))
    found = {int(match[1] or 0): match[0] for match in matches if match}
    size = backend.size(f"{folder}/{found[0]}") if 0 in found else None
    if not size:
        return None if length else []
    count = -(-length // size)
    if any(index not in found for index in range(count)):
        return None
    return [
        (
            f"{folder}/{found[index]}",
            index * size,
            min(size, length - index * size),
        )
        for index in range(count)
    ]


def _for_each(work: Callable[[Any], None], items: Sequence[Any]) -> None:
    if len(items) < 2:  # noqa: PLR2004 - one piece needs no thread
        for item in items:
            work(item)
        return
    pool = ThreadPoolExecutor(_THREADS)
    try:
        for done in [pool.submit(work, item) for item in items]:
            done.result()
    finally:
        # After an interrupt or a failure, what has not begun is not begun any more.
        pool.shutdown(cancel_futures=True)
