"""What was digested before is known by its bytes; all else is digested."""

import numpy as np
import pytest

from nbresume.capture import fingerprints
from nbresume.capture.fingerprints import Fingerprints
from nbresume.model.digests import chunk_digest, digest_of
from nbresume.model.grids import grid_of
from nbresume.settings import CHUNK_BYTES

ARRAY = np.random.default_rng(1).random(10 * CHUNK_BYTES // 8 + 3)
GRID = grid_of(ARRAY.shape, 8)


def bytes_of(array):
    """Return the bytes of an array."""
    return memoryview(array).cast("B")


@pytest.fixture
def digested(monkeypatch):
    """Return how many bytes each call of BLAKE3 digested."""
    seen = []

    def count(data):
        seen.append(len(data))
        return chunk_digest(data)

    monkeypatch.setattr(fingerprints, "chunk_digest", count)
    return seen


def test_digests_are_those_of_blake3(digested):
    """Known or not, the digest is the same."""
    known = Fingerprints()
    wanted = digest_of(bytes_of(ARRAY), GRID)

    assert known.of(bytes_of(ARRAY), GRID) == wanted
    assert known.of(bytes_of(ARRAY), GRID) == wanted
    assert sum(digested) == ARRAY.nbytes + 24  # its last items are too few to remember


def test_only_what_changed_is_digested(digested):
    """One item costs one chunk."""
    known, other = Fingerprints(), ARRAY.copy()
    known.of(bytes_of(ARRAY), GRID)
    digested.clear()
    other[CHUNK_BYTES // 4] = 7.0

    assert known.of(bytes_of(other), GRID) == digest_of(bytes_of(other), GRID)
    assert sorted(digested) == [24, CHUNK_BYTES]  # two threads do it


def test_a_copy_is_known(digested):
    """Bytes count, not where they lie."""
    known = Fingerprints()
    known.chunk(bytes_of(ARRAY))
    known.chunk(bytes_of(ARRAY.copy()))

    assert len(digested) == 1


def test_lengths_are_told_apart():
    """Zeros of two lengths are two values."""
    known = Fingerprints()
    long, short = (memoryview(bytes(1 << n)) for n in (18, 17))

    assert known.chunk(long) == chunk_digest(long)
    assert known.chunk(short) == chunk_digest(short)


def test_what_is_remembered_is_limited(digested, monkeypatch):
    """The oldest are forgotten; what was asked for again is not."""
    monkeypatch.setattr(fingerprints, "_KEPT", 4)
    known = Fingerprints()
    chunks = [memoryview(bytes([n]) * (1 << 16)) for n in range(20)]
    for chunk in chunks:
        known.chunk(chunk)
        known.chunk(chunks[0])

    assert len(digested) == 20
    known.chunk(chunks[1])
    assert len(digested) == 21
