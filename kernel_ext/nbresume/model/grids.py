"""How an array is cut into chunks: by its shape alone.

The rule: an array's bytes in C order, cut after whole rows into chunks of one size.
Whoever digests an array and whoever writes it cut it alike, so that a chunk is read
from memory once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from nbresume.settings import CHUNK_BYTES

_PADDING = 8
"""At most one byte in so many is padding, where smaller chunks can reach that."""
_SMALLEST = CHUNK_BYTES // 4


@dataclass(frozen=True, slots=True)
class Grid:
    """How an array is cut: chunks of `rows` whole rows each."""

    shape: tuple[int, ...]
    rows: int
    """Length of a chunk along the axis that is cut."""
    row_bytes: int
    axis: int = 0
    """The axis that is cut; those before it have one item."""

    @property
    def chunk_shape(self) -> tuple[int, ...]:
        """The shape of one chunk; zarr wants each side to be 1 or more."""
        if not self.shape:
            return ()
        whole = tuple(max(side, 1) for side in self.shape[self.axis + 1 :])
        return (*(1 for _ in self.shape[: self.axis]), self.rows, *whole)

    @property
    def chunk_bytes(self) -> int:
        """The size of one chunk."""
        return self.rows * self.row_bytes

    @property
    def count(self) -> int:
        """How many chunks there are; an empty array has none."""
        if 0 in self.shape:
            return 0
        return -(-self.shape[self.axis] // self.rows) if self.shape else 1

    def name(self, index: int) -> str:
        """Return what zarr calls a chunk."""
        axes = ["0" for _ in self.shape]
        if axes:
            axes[self.axis] = str(index)
        return ".".join(["c", *axes])


def grid_of(shape: Sequence[int], item_bytes: int) -> Grid:
    """Return how an array is cut; below two chunks it is not cut at all.

    Rows per chunk are a power of two, so that the same rows lie in the same chunk when
    the array grows. zarr pads the last chunk to full size, so chunks are smaller where
    that would waste much.
    """
    shape = tuple(shape)
    # A column of a frame is a block of one row.
    axis = next((at for at, side in enumerate(shape) if side != 1), 0)
    length = shape[axis] if shape else 1
    row_bytes = prod(shape[axis + 1 :]) * item_bytes
    if length * row_bytes < 2 * CHUNK_BYTES:
        return Grid(shape, max(length, 1), row_bytes, axis)
    if row_bytes >= _SMALLEST:
        # A row is a column of a frame: another one that changes moves none of these.
        return Grid(shape, 1, row_bytes, axis)
    rows = 1
    while 2 * rows * row_bytes <= CHUNK_BYTES:
        rows *= 2
    while _wastes(length, rows) and rows * row_bytes > _SMALLEST:
        rows //= 2
    return Grid(shape, rows, row_bytes, axis)


def _wastes(length: int, rows: int) -> bool:
    return rows > 1 and -length % rows * _PADDING > length
