"""Digests: of record bytes (the hash chain), of payload bytes, of cues.

The rule: one function for each use, so that the algorithm stands in one place.
"""

import hashlib

import blake3

RECORD_DIGEST_CHARS = 64
Bytes = bytes | bytearray | memoryview


def record_digest(data: bytes) -> str:
    """Return the SHA-256 of a record's bytes, as hex: the links of the chain."""
    return hashlib.sha256(data).hexdigest()


def payload_digest(data: Bytes) -> str:
    """Return the BLAKE3 of payload bytes, as 64 hex digits."""
    return blake3.blake3(data).hexdigest()


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
