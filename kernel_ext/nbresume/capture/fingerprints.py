"""Digests of bytes that this process has digested before.

The rule: xxh3, under a seed that nobody outside of this process knows, tells whether a
chunk was digested before; its digest is BLAKE3 all the same, and what is written and
read is checked with that alone.
"""

import secrets
from collections.abc import Sequence

from nbresume.model.digests import Digest, chunk_digest, joined
from nbresume.model.grids import Grid
from nbresume.model.threads import in_threads

_LEAST_BYTES = 1 << 16
"""Fewer bytes are digested as quickly as they are looked up."""
_KEPT = 1 << 15
"""So many chunks (128 GB, if they are whole) are remembered, and as many older ones."""


class Fingerprints:
    """Remembers the digests of chunks by their bytes."""

    def __init__(self) -> None:
        self._seed = secrets.randbits(64)
        self._recent: dict[bytes, bytes] = {}
        self._older: dict[bytes, bytes] = {}

    def chunk(self, data: memoryview) -> bytes:
        """Return the BLAKE3 of one chunk."""
        if data.nbytes < _LEAST_BYTES:
            return chunk_digest(data)
        import xxhash  # noqa: PLC0415 - a small step has no chunk

        key = xxhash.xxh3_128_digest(data, self._seed) + data.nbytes.to_bytes(8)
        digest = self._recent.get(key) or self._older.get(key)
        if digest is None:
            digest = chunk_digest(data)
        if len(self._recent) >= _KEPT:
            self._older, self._recent = self._recent, {}
        self._recent[key] = digest
        return digest

    def of(self, data: memoryview, grid: Grid) -> Digest:
        """Return the digest of an array's bytes, cut like this."""
        size = grid.chunk_bytes
        starts: Sequence[int] = range(0, data.nbytes, size) if size else ()
        return joined(in_threads(lambda at: self.chunk(data[at : at + size]), starts))


FINGERPRINTS = Fingerprints()
"""Those of this process: they hold no value, and no answer depends on them."""
