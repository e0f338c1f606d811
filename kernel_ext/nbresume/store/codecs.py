"""How the chunks of an array are compressed: tried out on samples of its bytes.

The rule: the quickest codec that comes close to the smallest, or none where little is
saved: what is not compressed is read at the speed of the device. Each is one that any
zarr reads. A compressed chunk says how long it is and ends with a checksum (both are
standard codecs): a changed bit in it may leave its values as they were, and is found.
"""

from typing import Any

from msgspec import Struct

from nbresume.errors import Damaged
from nbresume.store.port import Buffer

BLOSC = "blosc"
HEADER_BYTES = 16
_CHECKSUM_BYTES = 4
_LEVEL = 1
_SAMPLES = 3
_GLANCE_BYTES, _SAMPLE_BYTES = 1 << 15, 1 << 18
"""A glance tells noise, which is frequent; to compare codecs they need room …"""
_SHARE = 16
"""… but at most so small a part of the bytes: each is compressed by every codec."""
_LARGEST_ITEM = 255
"""What the compressor can take apart."""
_NONE, _BYTES, _BITS = 0, 1, 2
_SHUFFLES = {_NONE: "noshuffle", _BYTES: "shuffle", _BITS: "bitshuffle"}
# The quickest first. Without a shuffle, rounded decimals take half the space.
_CANDIDATES = (
    ("lz4", _BYTES),
    ("lz4", _BITS),
    ("zstd", _BYTES),
    ("zstd", _BITS),
    ("zstd", _NONE),
)
_CLOSE = 1.05
"""A quicker codec is taken if it needs at most so many times the smallest size."""
_WORTH = 1.2
"""Bytes that are not made so many times smaller are written as they are."""


class Codec(Struct, frozen=True):
    """One way to compress chunks."""

    name: str
    shuffle: int
    item_bytes: int

    @property
    def metadata(self) -> list[dict[str, Any]]:
        """What zarr calls it: the codecs that follow that of the items."""
        blosc = {
            "typesize": self.item_bytes,
            "cname": self.name,
            "clevel": _LEVEL,
            "shuffle": _SHUFFLES[self.shuffle],
            "blocksize": 0,
        }
        return [{"name": BLOSC, "configuration": blosc}, {"name": "crc32c"}]

    def encode(self, data: Buffer) -> tuple[bytes, bytes]:
        """Return the bytes of a chunk, compressed, and their checksum."""
        packed = self.compress(data)
        return packed, _checksum(packed)

    def compress(self, data: Buffer) -> bytes:
        """Return the bytes of a chunk, compressed."""
        blosc = _blosc()
        packed: bytes = blosc.compress(
            _items(data, self.item_bytes),
            self.name.encode(),
            _LEVEL,
            self.shuffle,
            blosc.AUTOBLOCKS,
        )
        return packed


def probe(data: memoryview, item_bytes: int) -> Codec | None:
    """Return the codec for an array; None if it is better written as it is."""
    if item_bytes > _LARGEST_ITEM:
        item_bytes = 1
    codecs = [
        Codec(name, shuffle, item_bytes)
        for name, shuffle in _CANDIDATES
        if item_bytes > 1 or shuffle != _NONE  # single bytes have none to shuffle
    ]
    chosen = None
    room = min(_SAMPLE_BYTES, data.nbytes // (_SHARE * _SAMPLES))
    for size in sorted({_GLANCE_BYTES, max(_GLANCE_BYTES, room)}):
        samples = _samples(data, item_bytes, size)
        sizes = [sum(len(one.compress(part)) for part in samples) for one in codecs]
        least = min(sizes)
        if least * _WORTH > sum(map(len, samples)):
            return None
        close = [size <= least * _CLOSE for size in sizes]
        chosen = codecs[close.index(True)]
    return chosen


def decode(data: bytes, target: memoryview, *, key: str) -> None:
    """Fill `target` with what a compressed chunk begins with.

    Raises
    ------
    Damaged
        It is cut short, or something else.
    """
    packed, checksum = data[:-_CHECKSUM_BYTES], data[-_CHECKSUM_BYTES:]
    whole = items_bytes(packed)
    if whole < target.nbytes or stored_bytes(data) != len(data):
        raise _damaged(key)
    if checksum != _checksum(packed):
        raise _damaged(key)
    # The last chunk of an array is padded.
    room = target if whole == target.nbytes else memoryview(bytearray(whole))
    try:
        _blosc().decompress(packed, room)
    except (RuntimeError, ValueError) as error:
        raise _damaged(key) from error
    if room is not target:
        target[:] = room[: target.nbytes]


def items_bytes(header: Buffer) -> int:
    """Return how many bytes of items a compressed chunk holds."""
    return _number(header, 4)


def stored_bytes(header: Buffer) -> int:
    """Return how many bytes a compressed chunk takes, by its first bytes."""
    return _number(header, 12) + _CHECKSUM_BYTES


def _number(header: Buffer, at: int) -> int:
    if len(header) < HEADER_BYTES:
        return -_CHECKSUM_BYTES
    return int.from_bytes(header[at : at + 4], "little")


def _checksum(packed: bytes) -> bytes:
    import google_crc32c  # noqa: PLC0415 - as below

    return int(google_crc32c.value(packed)).to_bytes(_CHECKSUM_BYTES, "little")


def _samples(data: memoryview, item_bytes: int, size: int) -> list[memoryview]:
    """Return pieces from the beginning, the middle and the end."""
    size = max(size // item_bytes, 1) * item_bytes
    if data.nbytes <= _SAMPLES * size:
        return [data]
    last = (data.nbytes - size) // item_bytes
    starts = [last * at // (_SAMPLES - 1) * item_bytes for at in range(_SAMPLES)]
    return [data[start : start + size] for start in starts]


def _items(data: Any, item_bytes: int) -> Any:
    """Return bytes as items: the compressor asks them for their size."""
    import numpy as np  # noqa: PLC0415 - as below

    return np.frombuffer(data, dtype=f"V{item_bytes}")


def _blosc() -> Any:
    # 0.1 s: only a step that keeps a large payload pays for it
    from numcodecs import blosc  # noqa: PLC0415

    return blosc


def _damaged(key: str) -> Damaged:
    return Damaged(
        f"{key} cannot be read",
        because="it is no whole compressed chunk",
        remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
        key=key,
    )
