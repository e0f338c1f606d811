"""Bytes that a capture wants stored: streams and buffers, each with its digest.

The rule: the digest is taken here and nowhere else before the bytes are written, and
an array is cut for it as it is cut for the disk.
"""

from math import prod

from msgspec import Struct

from nbresume.capture.fingerprints import FINGERPRINTS
from nbresume.model.digests import Digest
from nbresume.model.grids import grid_of


class Part(Struct, frozen=True):
    """Bytes of one stream or buffer, to be stored once."""

    data: memoryview
    dtype: str
    shape: tuple[int, ...]
    name: str
    """Object id."""
    digest: Digest


def part_of(data: memoryview, dtype: str, shape: tuple[int, ...], name: str) -> Part:
    """Return bytes with their digest; from now on they must not change."""
    item_bytes = len(data) // (prod(shape) or 1)
    digest = FINGERPRINTS.again(data, grid_of(shape, item_bytes))
    return Part(data, dtype, shape, name, digest)
