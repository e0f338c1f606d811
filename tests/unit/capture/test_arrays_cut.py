"""Large arrays are looked at chunk by chunk: how they lie in memory does not count."""

import numpy as np
import pytest

from nbresume.capture import arrays
from nbresume.capture.canonical import look
from nbresume.model.digests import digest_of
from nbresume.model.grids import grid_of
from nbresume.settings import CHUNK_BYTES

ROWS = 3 * CHUNK_BYTES // 8 + 5
MADE = np.random.default_rng(1).random((ROWS, 2))


def digest(value):
    """Return what the walk says of a value."""
    found = look(value, {}).digest
    assert found is not None
    return found


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(MADE),
        np.repeat(MADE, 2, axis=1)[:, ::2],
        MADE[::-1][::-1],
        np.array(memoryview(MADE)),
    ],
    ids=["columns first", "every other column", "back and forth", "copy"],
)
def test_strides_do_not_count(array):
    """Equal values have one digest, however they lie in memory."""
    assert digest(array) == digest(MADE)


@pytest.mark.parametrize("at", [0, ROWS // 2, ROWS - 1])
def test_every_chunk_counts(at):
    """A change in any chunk is another value, also in the rest at the end."""
    other = MADE.copy()
    other[at, 1] += 1.0

    assert digest(other) != digest(MADE)
    assert digest(np.asfortranarray(other)) == digest(other)


def test_shape_counts():
    """The same bytes in another shape are another value."""
    assert digest(MADE.reshape(-1)) != digest(MADE)
    assert digest(MADE[None]) != digest(MADE)


def test_a_look_and_a_capture_cut_alike():
    """So that what one of them has digested is known to the other."""
    grid = grid_of(MADE.shape, 8)
    data = memoryview(MADE).cast("B")

    assert arrays._content(MADE) == digest_of(data, grid).raw
