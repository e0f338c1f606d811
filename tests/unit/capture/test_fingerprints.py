"""What was digested before is known by its bytes; all else is digested."""

import numpy as np
import pytest
import xxhash

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


@pytest.fixture
def looked(monkeypatch):
    """Return how many bytes each call of xxh3 saw."""
    seen = []
    look = xxhash.xxh3_128_digest

    def count(data, seed):
        seen.append(data.nbytes)
        return look(data, seed)

    monkeypatch.setattr(xxhash, "xxh3_128_digest", count)
    return seen


def test_within_a_moment_memory_is_seen_once(looked):
    """The digest is that of the bytes that the look saw; afterwards it is made anew."""
    known, array = Fingerprints(), ARRAY.copy()
    wanted = digest_of(bytes_of(array), GRID)
    with known.moment():
        assert known.of_array(array, bytes_of(array), GRID) == wanted
        assert sum(looked) == array.nbytes
        array[5] = 7.0  # as another thread might do
        assert known.again(bytes_of(array), GRID) == wanted
        assert sum(looked) == array.nbytes
        # a look sees what is there now
        now = digest_of(bytes_of(array), GRID)
        assert known.of_array(array, bytes_of(array), GRID) == now

    assert known.again(bytes_of(array), GRID) == now
    array[5] = 8.0
    assert known.again(bytes_of(array), GRID) == digest_of(bytes_of(array), GRID)


def test_a_block_is_known_by_its_columns(looked, digested):
    """A frame is looked at column by column and stored block by block."""
    rows = 3 * CHUNK_BYTES // 8 + 100
    block = np.random.default_rng(2).random((3, rows))
    column, whole = grid_of((rows,), 8), grid_of(block.shape, 8)
    assert whole.chunk_bytes > column.chunk_bytes
    known = Fingerprints()
    for _ in range(2):
        looked.clear()
        digested.clear()
        with known.moment():
            for row in block:
                known.of_array(row, bytes_of(row), column)
            found = known.again(bytes_of(block), whole)
        assert found == digest_of(bytes_of(block), whole)
        assert sum(looked) == block.nbytes
    assert not digested


def test_only_whole_columns_make_a_block(looked):
    """One that was not looked at, or looked at in part, is looked at now."""
    block = np.random.default_rng(2).random((3, CHUNK_BYTES))
    column, whole = grid_of((CHUNK_BYTES,), 8), grid_of(block.shape, 8)
    known = Fingerprints()
    with known.moment():
        for row in (block[0], block[1][: CHUNK_BYTES // 2]):
            known.of_array(row, bytes_of(row), grid_of(row.shape, 8))
        looked.clear()
        assert known.again(bytes_of(block), whole) == digest_of(bytes_of(block), whole)

    assert sum(looked) == 2 * column.count * column.chunk_bytes


def test_memory_that_another_array_got_is_looked_at(looked):
    """What was made for a look alone is let go, and its place says nothing."""
    known, size = Fingerprints(), CHUNK_BYTES // 8
    grid = grid_of((size,), 8)
    with known.moment():
        for number in range(20):
            array = np.full(size, float(number))
            wanted = digest_of(bytes_of(array), grid)
            assert known.again(bytes_of(array), grid) == wanted
            known.of_array(array, bytes_of(array), grid)
            del array

    assert len(looked) == 40


def test_an_array_can_be_resized_once_the_moment_is_over():
    """As long as it lasts NumPy refuses, so that no memory changes its owner."""
    known, array = Fingerprints(), np.arange(CHUNK_BYTES // 8, dtype=float)
    with known.moment():
        known.of_array(array, bytes_of(array), grid_of(array.shape, 8))
        with pytest.raises(ValueError, match="cannot resize"):
            array.resize(8, refcheck=False)

    array.resize(8, refcheck=False)
    assert array.size == 8
