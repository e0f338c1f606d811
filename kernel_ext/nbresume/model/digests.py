"""Digests: of record bytes (the hash chain), of payload bytes, of cues.

The rule: one function for each use, so that the algorithm stands in one place. A large
array is digested chunk by chunk: its digest is that of the digests of its chunks, so
that two threads share the work, a chunk is checked while it is written and read, and an
unchanged one is known.
"""

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

import blake3

from nbresume.model.grids import Grid
from nbresume.model.threads import in_threads

RECORD_DIGEST_CHARS = 64
Bytes = bytes | bytearray | memoryview


class Digest(NamedTuple):
    """The digest of a payload, and what it was made of."""

    hex: str
    """64 hex digits."""
    chunks: tuple[bytes, ...]
    """The digest of each chunk; of one chunk it is the payload's own."""

    @property
    def raw(self) -> bytes:
        """The digest as 32 bytes."""
        return bytes.fromhex(self.hex)


def record_digest(data: bytes) -> str:
    """Return the SHA-256 of a record's bytes, as hex: the links of the chain."""
    return hashlib.sha256(data).hexdigest()


def payload_digest(data: Bytes) -> str:
    """Return the BLAKE3 of payload bytes that are not cut, as 64 hex digits."""
    return blake3.blake3(data).hexdigest()


def chunk_digest(data: Bytes) -> bytes:
    """Return the BLAKE3 of one chunk."""
    return blake3.blake3(data).digest()


def digest_of(data: memoryview, grid: Grid) -> Digest:
    """Return the digest of an array's bytes, cut like this."""
    size = grid.chunk_bytes
    starts = range(0, data.nbytes, size) if size else ()
    return joined(in_threads(lambda at: chunk_digest(data[at : at + size]), starts))


def joined(chunks: Sequence[bytes]) -> Digest:
    """Return the digest of an array from those of its chunks."""
    if len(chunks) == 1:
        return Digest(chunks[0].hex(), tuple(chunks))
    return Digest(payload_digest(b"".join(chunks)), tuple(chunks))


class ContentDigest:
    """The digest of a file's content, as its bytes are read."""

    def __init__(self) -> None:
        self._hasher = blake3.blake3()

    def add(self, data: Bytes) -> None:
        """Take the next bytes."""
        self._hasher.update(data)

    def hex(self) -> str:
        """Return 32 hex digits."""
        return self._hasher.hexdigest()[:32]


def cue_digest(data: bytes) -> str:
    """Return a 24-digit hex digest of a cue of a step's key."""
    return hashlib.blake2b(data, digest_size=12).hexdigest()
