"""How arrays and frames are pickled: out of band, with what they share."""

import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from nbresume.capture.buffers import Buffers, make_view
from nbresume.capture.pickling import dump
from nbresume.capture.rebuild import rebuild


def _stored(value, units=None):
    dumped = dump([value], units=units or {}, namespace={})
    return len(dumped.stream) + sum(buffer.data.nbytes for buffer in dumped.buffers)


def test_other_values_are_left_to_the_pickler():
    """Only what holds large memory is of interest here."""
    for value in (1, "x", [], object(), np.float64(1), pd.Timestamp("2020")):
        assert Buffers({}).reduce(value) is NotImplemented


@pytest.mark.parametrize(
    "cut",
    [
        np.s_[2:5],
        np.s_[::-1],
        np.s_[1::3],
        np.s_[:],
    ],
)
@pytest.mark.parametrize("dtype", ["f8", "M8[s]", "i2"])
def test_a_view_is_an_offset_into_its_owner(cut, dtype):
    """Nothing of the view is stored but where it lies."""
    owner = np.arange(20).astype(dtype)
    view = owner[cut]
    make, arguments = Buffers({id(owner): "o1"}).reduce(view)
    again = make(*arguments)

    assert make is make_view
    assert np.shares_memory(again, owner)
    assert again.dtype == view.dtype
    assert again.tolist() == view.tolist()


def test_the_nearest_named_array_is_the_owner():
    """A view of a view refers to the one that has an id of its own."""
    owner = np.arange(20)
    middle = owner[4:]
    view = middle[::2]

    assert Buffers({id(owner): "o1"}).reduce(view)[1][0] is owner


def test_a_view_of_nothing_named_is_a_copy_of_its_part():
    """The owner is not dragged along."""
    assert _stored(np.zeros(1_000_000)[::100_000]) < 500
    assert _stored(np.zeros((1000, 1000))[3]) < 10_000


def test_a_read_only_view_stays_read_only():
    """Its owner stays writable."""
    owner = np.zeros(3)
    view = owner[1:]
    view.flags.writeable = False
    make, arguments = Buffers({id(owner): "o1"}).reduce(view)

    assert not make(*arguments).flags.writeable
    assert owner.flags.writeable


def test_slices_store_no_parent():
    """Frames, tables and texts hold only what they show."""
    frame = pd.DataFrame({"s": ["some text"] * 100_000, "n": 1.0})
    table = pa.table({"s": ["some text"] * 100_000})

    assert _stored(frame.iloc[:10]) < 10_000
    assert _stored(table.slice(50_000, 10)) < 10_000
    assert _stored(frame["s"].iloc[:10]) < 10_000


def test_a_slice_holds_nothing_of_its_neighbours():
    """What was cut away may be secret."""
    array = pa.array(["secret", "shown", "hidden"] * 1000)[1:2]
    dumped = dump([array], units={}, namespace={})
    whole = dumped.stream + b"".join(bytes(part.data) for part in dumped.buffers)

    assert b"shown" in whole
    assert b"secret" not in whole
    assert b"hidden" not in whole


def test_a_block_that_is_a_unit_is_stored_with_its_frame():
    """Only pandas counts who shares a block, and that count does not come back.

    The columns of any frame share its block, so it is stored from where it lies: a
    copy would cost memory as large as the frame.
    """
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    block = frame["a"].to_numpy()
    while block.base is not None:
        block = block.base
    dumped = dump([frame], units={id(block): "o1"}, namespace={})

    assert dumped.refs == frozenset()
    (buffer,) = (one for one in dumped.buffers if one.dtype == "<f8")
    lies_at = np.frombuffer(buffer.data, np.uint8).__array_interface__["data"][0]
    assert lies_at == block.__array_interface__["data"][0]
    again = rebuild(
        dumped.stream,
        [memoryview(bytearray(one.data)) for one in dumped.buffers],
        resolve=None,
        namespace={},
    )
    pd.testing.assert_frame_equal(again, frame)


def test_fortran_order_is_kept():
    """The memory is stored as it lies."""
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    dumped = dump([array], units={}, namespace={})
    memory = [memoryview(bytearray(part.data)) for part in dumped.buffers]
    again = rebuild(dumped.stream, memory, resolve=None, namespace={})

    assert again.flags.f_contiguous
    assert again.tolist() == array.tolist()


def test_describe_tells_arrays_from_other_lenders():
    """Type and shape go into the store's own arrays."""
    buffers = Buffers({})

    assert buffers.describe(pickle.PickleBuffer(b"abc")) == ("|u1", (3,))
    assert buffers.describe(pickle.PickleBuffer(np.zeros((2, 2)))) == ("<f8", (2, 2))
    records = np.zeros(2, [("a", "i4")])
    assert buffers.describe(pickle.PickleBuffer(records)) == ("|u1", (8,))
