# ruff: noqa: S102 - definitions of a notebook are made with exec
"""How definitions are pickled: by name, by value, or as what the kernel has once."""

import collections
import dataclasses
import enum
import functools
import json
import random
import sys
import threading
import types
import typing
import weakref

import pytest

from nbresume.capture.code_text import code_bits
from nbresume.capture.definition_parts import globals_home
from nbresume.capture.definitions import Definitions, reduce_class, reduce_code
from nbresume.capture.singletons import singletons
from nbresume.errors import CaptureError


def _define(source, name="f", **more):
    namespace = {"__name__": "__main__", **more}
    exec(source, namespace)
    return namespace[name]


def _never(value):
    return False


def _reduce(value, units=None, own=(), namespace=None):
    return Definitions(units or {}, frozenset(own), namespace or {}).reduce(value)


@pytest.mark.parametrize("value", [json.dumps, json.JSONDecoder, len, 3, [], object()])
def test_what_an_import_finds_is_left_to_the_pickler(value):
    """It goes by name."""
    assert _reduce(value) is NotImplemented


def test_a_function_of_the_notebook_refers_to_the_namespace():
    """Never to a copy of it."""
    namespace = {"__name__": "__main__"}
    exec("def f(): return z", namespace)
    _, arguments, *_ = _reduce(namespace["f"], namespace=namespace)

    assert arguments[1] is namespace


def test_a_function_made_by_a_module_refers_to_the_module():
    """A decorator of a library closes over the library's globals."""
    wrapper = functools.singledispatch(lambda x: x)
    _, arguments, *_ = _reduce(wrapper)

    assert arguments[1] == "functools"


def test_a_cell_with_an_id_of_its_own_is_not_filled():
    """An older stream of the function must not put an older content into it."""
    make = _define("def f():\n    n = [1]\n    def g(): return n\n    return g")
    function = make()
    cell = function.__closure__[0]
    filled = _reduce(function)[2][2]
    left = _reduce(function, units={id(cell): "o1"})[2][2]
    member = _reduce(function, units={id(cell): "o1"}, own=[id(cell)])[2][2]

    assert (filled, left, member) == ([([1],)], [None], [([1],)])


def test_a_class_has_no_random_id_and_no_trace_of_pickling():
    """Two dumps agree, and loading never leads to a live class."""
    kind = _define("class f:\n    __slots__ = ('a',)")
    kind().__reduce_ex__(4)
    _, arguments, (body, _, _), *_ = reduce_class(kind, _never)

    assert arguments[-2] is None
    assert "__slotnames__" not in body
    assert arguments[3]["__slots__"] == ("a",)


def test_an_enum_has_no_random_id():
    """Enums take another way through cloudpickle."""
    kind = _define("import enum\nclass f(enum.Enum):\n    A = 1")

    assert reduce_class(kind, _never)[1][-2] is None


@pytest.mark.parametrize("kind", [type(None), types.FunctionType, type(...), int])
def test_types_without_a_name_in_builtins(kind):
    """They are built into Python, and found by another way."""
    reduced = reduce_class(kind, _never)

    if reduced is not NotImplemented:
        make, arguments = reduced
        assert make(*arguments) is kind


def test_modules_go_by_name():
    """Their state is never stored."""
    make, arguments = _reduce(json)

    assert make(*arguments) is json


def test_modules_made_at_run_time_are_refused():
    """No import finds them."""
    with pytest.raises(CaptureError, match="run time"):
        _reduce(types.ModuleType("made"))


def test_objects_that_exist_once_are_referred_to():
    """The global random state, the environment, the standard streams."""
    make, arguments = _reduce(random._inst)

    assert make(*arguments) is random._inst
    assert singletons()[id(sys.stdout)] == ("sys", "stdout")
    assert _reduce(dataclasses.MISSING)[1] == ("dataclasses", "MISSING")


@pytest.mark.parametrize(
    "value",
    [
        property(len, None, None, "doc"),
        types.MappingProxyType({"a": 1}),
        threading.Lock(),
        threading.RLock(),
        typing.TypeVar("T"),
        weakref.WeakSet(),
        weakref.WeakValueDictionary(),
        functools.lru_cache(lambda: 0),
    ],
)
def test_what_only_definitions_know_is_made_again(value):
    """Each has a maker, and comes out as its own type."""
    make, arguments, *_ = _reduce(value)

    assert type(make(*arguments)) is type(value)


def test_class_and_static_methods_keep_their_function():
    """As they stand in the body of a class."""
    assert _reduce(classmethod(len)) == (classmethod, (len,))
    assert _reduce(staticmethod(len)) == (staticmethod, (len,))


def test_a_held_lock_is_refused():
    """It would stay locked for ever."""
    lock = threading.Lock()
    with lock, pytest.raises(CaptureError, match="held lock"):
        _reduce(lock)


def test_code_is_rebuilt_with_lines_but_without_paths():
    """Tracebacks of steps work, and no path of a kernel is stored."""
    code = compile("def f(): pass", "/somewhere/ipykernel_1/2.py", "exec")
    make, fields = reduce_code(code, {})
    rebuilt = make(*fields)

    assert rebuilt.co_filename == "<dynamic-code>"
    assert rebuilt.co_firstlineno == code.co_firstlineno
    assert code_bits(rebuilt) == code_bits(code)


def test_code_bits_tell_constants_apart_by_type():
    """1, 1.0 and True are equal for Python and not for a reader."""
    codes = [compile(f"x = [{c}]", "", "exec") for c in ("1", "1.0", "True", "'1'")]
    codes += [compile(f"x in {s}", "", "exec") for s in ("{1, 2}", "{1.0, 2}")]

    assert len(set(map(code_bits, codes))) == len(codes)


def test_globals_home_tells_three_kinds_of_functions():
    """Of the notebook, of a module, of nobody."""
    namespace = {}
    exec("def f(): pass", namespace)

    assert globals_home(namespace["f"], namespace) == "namespace"
    assert globals_home(json.dumps, namespace) == "json"
    assert globals_home(namespace["f"], {}) == ""


def test_named_tuples_and_enums_are_classes_of_the_notebook():
    """They are made by calls, and live in __main__ all the same."""
    kind = collections.namedtuple("N", "a")  # noqa: PYI024 - the kind is the test
    kind.__module__ = "__main__"
    colors = enum.Enum("Colors", "A", module="__main__")

    assert reduce_class(kind, _never) is not NotImplemented
    assert reduce_class(colors, _never) is not NotImplemented
