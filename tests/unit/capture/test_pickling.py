# ruff: noqa: S102, S301 - definitions of a notebook are made with exec
"""One unit becomes one stream, its buffers and its references."""

import copyreg
import functools
import gc
import pickle
import pickletools
import sys
import typing

import numpy as np
import pytest
from IPython.core import interactiveshell as shells

from nbresume.capture.alike import Alike
from nbresume.capture.canonical import look
from nbresume.capture.pickling import dump, dump_atoms
from nbresume.capture.rebuild import rebuild
from nbresume.errors import CaptureError


def _plain(value, **units):
    return dump([value], units={}, namespace={})


def test_other_units_are_cut_out():
    """The stream holds their object ids, not their content."""
    inner = ["inner content"]
    dumped = dump([{"x": inner}], units={id(inner): "o7"}, namespace={})

    assert dumped.refs == {"o7"}
    assert b"inner content" not in dumped.stream


def test_a_unit_is_not_cut_out_of_its_own_stream():
    """It is in the table of units like any other."""
    value = [1]
    dumped = dump([value], units={id(value): "o1"}, namespace={})

    assert dumped.refs == frozenset()


def test_a_circle_is_one_stream():
    """Its members come as a list, in the order they were given."""
    a, b = ["a"], ["b"]
    a.append(b)
    b.append(a)
    units = {id(a): "o1", id(b): "o2"}
    dumped = dump([a, b], units=units, namespace={})
    one, two = rebuild(dumped.stream, [], resolve=None, namespace={})

    assert dumped.refs == frozenset()
    assert one[1] is two
    assert two[1] is one


def test_the_namespace_is_a_reference():
    """globals() in a value never drags the notebook along."""
    namespace = {"secret": "x" * 10}
    dumped = dump([[namespace]], units={}, namespace=namespace)
    target = {}

    assert b"secret" not in dumped.stream
    assert rebuild(dumped.stream, [], resolve=None, namespace=target)[0] is target


def test_main_is_a_reference():
    """The module of the notebook is the one of the kernel that loads."""
    main = sys.modules["__main__"]
    dumped = _plain([main])

    assert rebuild(dumped.stream, [], resolve=None, namespace={})[0] is main


def test_an_equal_copy_of_the_namespace_is_no_reference():
    """Identity decides, not equality."""
    namespace = {"x": 1}
    dumped = dump([dict(namespace)], units={}, namespace=namespace)
    target = {}

    assert rebuild(dumped.stream, [], resolve=None, namespace=target) == {"x": 1}
    assert target == {}


def test_buffers_are_flat_bytes_with_type_and_shape():
    """Arrays lend their memory; nothing is copied."""
    array = np.arange(6.0).reshape(2, 3)
    (buffer,) = _plain(array).buffers

    assert (buffer.dtype, buffer.shape) == ("<f8", (2, 3))
    assert (buffer.data.format, buffer.data.ndim, buffer.data.nbytes) == ("B", 1, 48)
    array[0, 0] = 7
    assert np.frombuffer(buffer.data)[0] == 7


class _Point:
    def __init__(self, x):
        self.x = x


def _operations(stream):
    return [code.name for code, *_ in pickletools.genops(stream)]


def test_the_class_of_many_instances_is_referred_to_once():
    """The stream is a plain pickle, and each instance has that class again."""
    points = [_Point(i) for i in range(100)]
    points[7] = points[8]
    units = {id(_Point): "o3", id(points): "o1"}
    dumped = dump([points], units=units, namespace={}, alike=Alike((_Point,)))
    found = rebuild(dumped.stream, [], resolve={"o3": _Point}.__getitem__, namespace={})

    assert dumped.refs == {"o3"}
    assert _operations(dumped.stream).count("BINPERSID") == 1
    assert b"_Point" not in dumped.stream
    assert [type(one) for one in found] == [_Point] * 100
    assert [one.x for one in found] == [one.x for one in points]
    assert found[7] is found[8]


def test_a_class_without_a_name_is_written_with_its_instances(monkeypatch):
    """No import finds it, and no unit holds it: it is in the stream, whole."""
    monkeypatch.setattr(_Point, "__module__", "__main__")
    points = [_Point(i) for i in range(3)]
    dumped = dump([points], units={}, namespace={}, alike=Alike((_Point,)))
    found = rebuild(dumped.stream, [], resolve=None, namespace={})

    assert [one.x for one in found] == [0, 1, 2]
    assert type(found[0]) is not _Point
    assert type(found[0]).__qualname__ == "_Point"


def test_dates_say_their_own_type():
    """They go out of band as integers, and are told as dates."""
    array = np.array(["2020-01-01"] * 3, "M8[s]")
    (buffer,) = _plain(array).buffers

    assert (buffer.dtype, buffer.shape) == ("<M8[s]", (3,))


def test_other_buffers_are_bytes():
    """A lender that is no plain array is told by its size."""
    (buffer,) = _plain(pickle.PickleBuffer(b"12345")).buffers

    assert (buffer.dtype, buffer.shape) == ("|u1", (5,))


def test_a_stream_is_the_same_twice():
    """Capturing a value that did not change writes nothing new."""
    namespace = {"__name__": "__main__"}
    exec(
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int = 1\n"
        "    def m(self): return self.x\ndef f(a=A(2)): return a",
        namespace,
    )
    value = [namespace["f"], namespace["A"], namespace["A"](3)]
    one, two = (dump([value], units={}, namespace=namespace) for _ in range(2))

    assert one.stream == two.stream


def test_no_file_name_of_a_kernel_is_stored():
    """A kernel names cells by a temporary folder with the process id."""
    namespace = {}
    name = "ipykernel_4711/123.py"
    exec(compile("def f(): return lambda: 1", name, "exec"), namespace)

    assert b"4711" not in dump([namespace["f"]], units={}, namespace=namespace).stream


def test_values_are_not_changed():
    """Pickling only reads."""

    class A:
        __module__ = "__main__"

        def __init__(self):
            self.x = [1]

    a = A()
    before = (dict(vars(A)), dict(vars(a)))
    _plain(a)
    after = dict(vars(A))
    after.pop("__slotnames__", None)

    assert (after, vars(a)) == before


def test_nothing_is_loaded():
    """A value whose loading would do harm is only written."""
    loaded = []

    class Harm:
        def __reduce__(self):
            return Harm.load, ()

        @staticmethod
        def load():
            loaded.append(1)

    _plain(Harm())

    assert loaded == []


def test_the_culprit_and_the_way_out_are_told():
    """An error of the C pickler is put into one sentence."""
    with pytest.raises(CaptureError, match="memoryview") as told:
        _plain([memoryview(b"x")])

    assert "--always" in told.value.remedy


def test_errors_of_a_value_become_capture_errors():
    """A reducer that fails stops the capture of this value only."""

    class Rude:
        def __reduce__(self):
            raise ZeroDivisionError("no")

    with pytest.raises(CaptureError, match="ZeroDivisionError: no"):
        _plain(Rude())


@pytest.mark.parametrize("error", [ZeroDivisionError, SystemExit])
@pytest.mark.parametrize("method", ["__reduce__", "__reduce_ex__", "__getstate__"])
def test_a_value_whose_own_code_fails_is_named(error, method):
    """Deep inside another one; looking at it does no harm either."""

    def fail(self, *args):
        raise error

    value = type("Rude", (), {method: fail, "__module__": "__main__"})()
    with pytest.raises(CaptureError, match=rf"Rude.*{error.__name__}"):
        _plain([{"deep": (value,)}])

    assert look([value], {}).digest is None


def _forget(self):
    self.callback = None
    return self.__dict__


def _count(self):
    self.log.append(1)
    self.seen.add(1)
    self.table["n"] = 1
    return {}


def _mark(self):
    self.pickled = True
    return {}


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (_forget, "callback"),
        (_count, "log and seen and table"),
        (_mark, "pickled"),
    ],
)
def test_a_value_that_pickling_changes_is_put_back_and_named(change, names):
    """Neither looking at a value nor capturing it may change it."""
    kind = type("Sly", (), {"__getstate__": change, "__module__": "__main__"})
    value = kind()
    value.callback, value.log, value.seen, value.table = len, [0], {0}, {"m": 0}
    before = {"callback": len, "log": [0], "seen": {0}, "table": {"m": 0}}
    with pytest.raises(CaptureError, match=rf"Sly: pickling it changes its {names}\."):
        _plain([value])
    assert vars(value) == before

    assert look([value], {}).digest is None
    assert vars(value) == before


def test_slots_that_pickling_changes_are_put_back():
    """They are attributes like any other."""

    def change(self):
        self.x = 2
        return (None, {"x": 1})

    body = {"__slots__": ("x",), "__getstate__": change, "__module__": "__main__"}
    value = type("Sly", (), body)()
    value.x = 1
    with pytest.raises(CaptureError, match="changes its x"):
        _plain([value])

    assert value.x == 1


def test_a_value_that_only_reads_is_kept():
    """A cached property may be filled on the way."""

    class Fair:
        def __init__(self):
            self.a, self.log = [1], [2]

        @functools.cached_property
        def cached(self):
            return 3

        def __getstate__(self):
            return {"a": self.a, "cached": self.cached}

    Fair.__module__ = "__main__"
    stream = _plain(Fair()).stream

    assert vars(rebuild(stream, [], resolve=None, namespace={})) == {
        "a": [1],
        "cached": 3,
    }


@pytest.mark.parametrize(
    "array",
    [
        np.array(3.0),
        np.zeros((0, 3)),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
        np.array([(1, 2.0)], [("x", "i4"), ("y", "f8")]),
        np.array([1, "a", None, [2]], object),
        np.array([(1, [2])], [("n", "i8"), ("o", object)]),
    ],
)
def test_odd_arrays_come_back(array):
    """Without dimension, element or C order; structured, of objects."""
    dumped = _plain([array])
    buffers = [memoryview(bytearray(buffer.data)) for buffer in dumped.buffers]
    (got,) = rebuild(dumped.stream, buffers, resolve=None, namespace={})

    assert got.dtype == array.dtype
    assert got.shape == array.shape
    assert got.tolist() == array.tolist()
    assert look(got, {}).digest == look(array, {}).digest


def test_the_shell_of_the_kernel_is_a_reference(monkeypatch):
    """And so is get_ipython, which is bound to it."""

    class Shell(shells.InteractiveShell):
        def __init__(self):
            pass

        def get_ipython(self):
            return self

    shell = Shell.__new__(Shell)
    monkeypatch.setattr(shells.InteractiveShell, "_instance", shell)
    stream = _plain([shell, shell.get_ipython]).stream
    got = rebuild(stream, [], resolve=None, namespace={})

    assert got[0] is shell
    assert got[1]() is shell
    assert look([shell], {}).digest is not None
    monkeypatch.setattr(shells.InteractiveShell, "_instance", None)
    with pytest.raises(CaptureError, match="this process has none"):
        rebuild(stream, [], resolve=None, namespace={})


def test_what_is_nested_too_deep_is_told():
    """No pickler can do it; dill is not even asked."""
    deep = []
    for _ in range(20_000):
        deep = [deep]
    with pytest.raises(CaptureError, match="too deep"):
        _plain(deep)


def test_what_pickles_as_a_name_in_main_is_refused(monkeypatch):
    """The name is not there in the next kernel, or is something else."""

    class Named:
        __module__ = "__main__"

        def __reduce__(self):
            return "named"

    value = Named()
    monkeypatch.setattr(sys.modules["__main__"], "named", value, raising=False)
    with pytest.raises(CaptureError, match="'named'"):
        _plain([value])


def test_dill_does_what_the_c_pickler_refuses():
    """References still go by object id, and the namespace stays the live one."""
    inner, namespace = [1], {}
    value = [{"a": 1}.keys(), inner, namespace, {}, {}]
    dumped = dump([value], units={id(inner): "o1"}, namespace=namespace)
    target = {}
    got = rebuild(
        dumped.stream, [], resolve={"o1": inner}.__getitem__, namespace=target
    )

    assert list(got[0]) == ["a"]
    assert got[1] is inner
    assert got[2] is target
    assert got[3] == {}
    assert got[3] is not target
    assert got[3] is not got[4]
    assert dumped.refs == {"o1"}


def test_refusals_by_type_do_not_reach_dill():
    """The fall-back would write an open file, and truncate it when it is loaded."""

    def running():
        yield

    with pytest.raises(CaptureError, match="half-way"):
        _plain([{"a": 1}.keys(), running()])


def test_typevars_have_no_random_id():
    """By default they are numbered at random."""
    kind = typing.TypeVar("kind")
    kind.__module__ = "__main__"

    assert _plain(kind).stream == _plain(kind).stream


def test_registered_reducers_are_used():
    """It is the standard way to pickle a foreign type."""

    class A:
        __module__ = "__main__"

        def __reduce_ex__(self, protocol):
            raise TypeError

    copyreg.pickle(A, lambda a: (list, ((1, 2),)))
    try:
        stream = _plain(A()).stream
    finally:
        del copyreg.dispatch_table[A]

    assert rebuild(stream, [], resolve=None, namespace={}) == [1, 2]


def test_atoms_are_one_pickle():
    """Small values of all names together."""
    atoms = {"a": 1, "b": "x", "c": 1j, "d": ..., "e": NotImplemented, "f": None}

    assert pickle.loads(dump_atoms(atoms)) == atoms


def test_nothing_keeps_the_values_alive():
    """A capture that held on to values would delay their finalizers."""

    class A:
        pass

    a = A()
    _plain([a])
    gc.collect()

    assert not [
        holder
        for holder in gc.get_referrers(a)
        if isinstance(holder, dict) and "_values" in holder
    ]
