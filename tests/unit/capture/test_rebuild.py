"""Bytes become values again."""

import pickle
from pathlib import PurePosixPath

import numpy as np
import pytest

from nbresume.capture.pickling import dump, dump_atoms
from nbresume.capture.rebuild import rebuild, rebuild_atoms
from nbresume.errors import CaptureError, Damaged


class Fails:
    """A value that raises when it is loaded."""

    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        return _fail, (self.error,)


def _fail(error):
    raise error


def test_arrays_stand_on_the_given_memory():
    """Writable memory makes writable arrays, without a copy."""
    dumped = dump([np.arange(3.0)], units={}, namespace={})
    memory = bytearray(dumped.buffers[0].data)
    array = rebuild(dumped.stream, [memoryview(memory)], resolve=None, namespace={})
    array[0] = 5

    assert np.frombuffer(memory)[0] == 5


def test_streams_may_be_views():
    """A pack is mapped; its slices are not copied into bytes first."""
    stream = dump([[1, 2]], units={}, namespace={}).stream

    assert rebuild(memoryview(stream), [], resolve=None, namespace={}) == [1, 2]


def test_references_are_resolved():
    """Identity is the caller's to keep."""
    inner = [1]
    dumped = dump([[inner, inner]], units={id(inner): "o3"}, namespace={})
    got = rebuild(dumped.stream, [], resolve={"o3": inner}.get, namespace={})

    assert got[0] is inner
    assert got[1] is inner


def test_a_failing_type_is_told():
    """An error of loading code is no damage of the store."""
    stream = pickle.dumps(pickle.PickleBuffer(b""), 5)[:-1]
    with pytest.raises(CaptureError, match="loading code"):
        rebuild(stream, [], resolve=None, namespace={})


@pytest.mark.parametrize("error", [SystemExit, RecursionError, ZeroDivisionError])
def test_a_value_that_fails_when_it_is_loaded_fails_alone(error):
    """Even if it asks the kernel to end."""
    stream = dump([Fails(error)], units={}, namespace={}).stream
    with pytest.raises(CaptureError, match=error.__name__):
        rebuild(stream, [], resolve=None, namespace={})


def test_an_interrupt_ends_the_loading():
    """It is the user's, not the value's."""
    stream = dump([Fails(KeyboardInterrupt)], units={}, namespace={}).stream
    with pytest.raises(KeyboardInterrupt):
        rebuild(stream, [], resolve=None, namespace={})


def test_classes_that_a_python_moved_are_found():
    """Python 3.13 keeps its paths in another module."""
    stream = b"cpathlib._local\nPurePosixPath\n(Va/b\ntR."

    assert rebuild(stream, [], resolve=None, namespace={}) == PurePosixPath("a/b")


def test_a_missing_module_is_told():
    """The library that a value needs is named."""
    with pytest.raises(CaptureError, match="no_such_module"):
        rebuild(b"cno_such_module\nx\n.", [], resolve=None, namespace={})


def test_our_own_errors_pass():
    """What resolve refuses is not the type's fault."""
    inner = [1]
    dumped = dump([[inner]], units={id(inner): "o3"}, namespace={})

    def resolve(object_id):
        raise Damaged(object_id)

    with pytest.raises(Damaged):
        rebuild(dumped.stream, [], resolve=resolve, namespace={})


def test_atoms_come_back():
    """With their exact types."""
    atoms = {"a": 1, "b": "x", "c": 1j, "d": ..., "e": NotImplemented, "f": 1.0}
    got = rebuild_atoms(dump_atoms(atoms))

    assert got == atoms
    assert [type(value) for value in got.values()] == [
        type(value) for value in atoms.values()
    ]


@pytest.mark.parametrize("stream", [b"", b"cos\ngetcwd\n(tR.", pickle.dumps(1)])
def test_nothing_but_atoms_is_loaded(stream):
    """No code runs for small values."""
    with pytest.raises(CaptureError):
        rebuild_atoms(stream)
