"""Digests of bytes that this process has digested before.

The rule: xxh3, under a seed that nobody outside of this process knows, tells whether a
chunk was digested before; its digest is BLAKE3 all the same, and what is read is
checked with that alone. Between the end of a body and its commit memory is
fingerprinted once, and each chunk that is written once more: what is committed is what
the look saw.
"""

import secrets
import sys
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nbresume.model.digests import Digest, chunk_digest, joined
from nbresume.model.grids import Grid
from nbresume.model.threads import in_threads

_LEAST_BYTES = 1 << 16
"""Fewer bytes are digested as quickly as they are looked up."""
_SHARED_BYTES = 1 << 27
"""Fewer bytes are fingerprinted as quickly by one thread as by two."""
_KEPT = 1 << 15
"""So many chunks (128 GB, if they are whole) are remembered, and as many older ones."""


_KeyOf = Callable[[int, memoryview], bytes]
"""Place of a chunk, its bytes → its key."""


class _Moment:
    """Which memory was fingerprinted a moment ago."""

    def __init__(self) -> None:
        self._keys: dict[int, tuple[bytes, weakref.ref[Any]]] = {}
        """Address of a chunk → its key, whose last 8 bytes are its size; its owner.

        While the owner lives no other array gets its memory: NumPy resizes none that a
        weak reference leads to. It is not kept alive: many are made for the look alone.
        """

    def note(self, begin: int, key: bytes, owner: "weakref.ref[Any]") -> None:
        """Note the key of the chunk that begins at an address."""
        self._keys[begin] = key, owner

    def __bool__(self) -> bool:
        """Say whether anything was fingerprinted."""
        return bool(self._keys)

    def key_of(self, begin: int, size: int) -> bytes:
        """Return the keys of the chunks that a piece of memory consists of.

        Nothing if it does not consist of such chunks.
        """
        found: list[bytes] = []
        at = begin
        while at < begin + size:
            key, owner = self._keys.get(at, (b"", None))
            if owner is None or owner() is None:
                return b""
            found.append(key)
            at += int.from_bytes(key[-8:])
        return b"".join(found) if at == begin + size else b""


class Fingerprints:
    """Remembers the digests of chunks by their bytes."""

    def __init__(self) -> None:
        self._seed = secrets.randbits(64)
        self._recent: dict[bytes, bytes] = {}
        self._older: dict[bytes, bytes] = {}
        self._moment: _Moment | None = None

    @contextmanager
    def moment(self) -> Iterator[None]:
        """Let `again` believe what `of_array` saw, until this ends.

        No statement of the user runs meanwhile in this thread. What another thread
        changes in between is seen by the next look, as a change after the commit.
        """
        self._moment = _Moment()
        try:
            yield
        finally:
            self._moment = None

    def chunk(self, data: memoryview) -> bytes:
        """Return the BLAKE3 of one chunk."""
        return self._digest(data, self._key_of_chunk(data))

    def of(self, data: memoryview, grid: Grid) -> Digest:
        """Return the digest of bytes, cut like this."""
        return self._each(data, grid, lambda _, piece: self._key_of_chunk(piece))

    def of_array(self, array: Any, data: memoryview, grid: Grid) -> Digest:
        """Return the digest of a NumPy array's own memory, cut like this."""
        moment = self._moment
        if moment is None or data.nbytes < _LEAST_BYTES:
            return self.of(data, grid)
        owner, begin = weakref.ref(_owner(array)), _address(data)

        def seen(at: int, piece: memoryview) -> bytes:
            key = self._key(piece)
            moment.note(begin + at, key, owner)
            return key

        return self._each(data, grid, seen)

    def again(self, data: memoryview, grid: Grid) -> Digest:
        """Return the digest of bytes that may have been digested a moment ago."""
        moment = self._moment
        if not moment or data.nbytes < _LEAST_BYTES:
            return self.of(data, grid)
        begin = _address(data)
        return self._each(
            data,
            grid,
            lambda at, piece: (
                moment.key_of(begin + at, piece.nbytes) or self._key_of_chunk(piece)
            ),
        )

    def _each(self, data: memoryview, grid: Grid, key_of: _KeyOf) -> Digest:
        """Return the digest of bytes; `key_of` is asked with each chunk's place."""
        size = grid.chunk_bytes
        starts = range(0, data.nbytes, size) if size else range(0)
        pieces = [(at, data[at : at + size]) for at in starts]
        if data.nbytes >= _SHARED_BYTES:
            return joined(in_threads(lambda p: self._digest(p[1], key_of(*p)), pieces))
        keyed = [(piece, key_of(at, piece)) for at, piece in pieces]
        is_known = all(not key or self._find(key) for _, key in keyed)
        threads = 1 if is_known else 2
        return joined(in_threads(lambda p: self._digest(*p), keyed, threads=threads))

    def _key_of_chunk(self, data: memoryview) -> bytes:
        return self._key(data) if data.nbytes >= _LEAST_BYTES else b""

    def _key(self, data: memoryview) -> bytes:
        import xxhash  # noqa: PLC0415 - a small step has no chunk

        return xxhash.xxh3_128_digest(data, self._seed) + data.nbytes.to_bytes(8)

    def _find(self, key: bytes) -> bytes | None:
        return self._recent.get(key) or self._older.get(key)

    def _digest(self, data: memoryview, key: bytes) -> bytes:
        if not key:
            return chunk_digest(data)
        digest = self._find(key)
        if digest is None:
            digest = chunk_digest(data)
        if len(self._recent) >= _KEPT:
            self._older, self._recent = self._recent, {}
        self._recent[key] = digest
        return digest


def _address(data: memoryview) -> int:
    # only arrays of NumPy are noted, so it is loaded
    flat = sys.modules["numpy"].frombuffer(data, "u1")
    begin: int = flat.__array_interface__["data"][0]
    return begin


def _owner(array: Any) -> Any:
    """Return the last array below a view: what is in its memory is in the view's."""
    while type(array.base) is type(array):
        array = array.base
    return array


FINGERPRINTS = Fingerprints()
"""Those of this process: no answer depends on them."""
