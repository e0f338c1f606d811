"""Functions, classes, cells and other definitions: how they are pickled.

The rule: a function made in the notebook sees the live namespace, never a copy of it;
a class made there goes by value, and its stream holds nothing that is random. The
``make_…`` and ``set_…`` functions are named in stored streams: they are part of the
stored format and are never renamed.
"""

import dataclasses
import functools
import importlib
import sys
import threading
import types
import typing
import weakref
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from cloudpickle import cloudpickle

from nbresume.capture import denied
from nbresume.capture.atoms import importable
from nbresume.capture.definition_parts import (
    LOCKS,
    LRU,
    WEAK,
    globals_home,
    singletons,
    used_globals,
)
from nbresume.errors import CaptureError

Reduced = tuple[Any, ...]

_CODE_FIELDS = (
    *("argcount", "posonlyargcount", "kwonlyargcount", "nlocals", "stacksize"),
    *("flags", "code", "consts", "names", "varnames", "filename", "name"),
    *("qualname", "firstlineno", "linetable", "exceptiontable"),
    *("freevars", "cellvars"),
)
_SPECIAL = (
    *("__defaults__", "__kwdefaults__", "__annotations__"),
    *("__doc__", "__qualname__", "__module__"),
)
_FIELD_KIND = type(dataclasses._FIELD)  # type: ignore[attr-defined]  # noqa: SLF001 - no public name


# -- what streams name ------------------------------------------------------------


def make_cell() -> types.CellType:
    """Return an empty closure cell; whoever shares it fills it later."""
    return types.CellType()


def set_cell(cell: types.CellType, state: tuple[Any]) -> None:
    """Fill a cell."""
    cell.cell_contents = state[0]


def make_code(*fields: Any) -> types.CodeType:
    """Return a code object of this Python minor."""
    return types.CodeType(*fields)


def make_function(
    code: types.CodeType,
    namespace: dict[str, Any],
    name: str,
    closure: tuple[types.CellType, ...] | None,
) -> types.FunctionType:
    """Return a function that sees `namespace`; `set_function` completes it."""
    return types.FunctionType(code, namespace, name, None, closure)


def make_module_function(
    code: types.CodeType,
    module: str,
    name: str,
    closure: tuple[types.CellType, ...] | None,
) -> types.FunctionType:
    """Return a function that sees the globals of an importable module."""
    return make_function(code, import_module(module).__dict__, name, closure)


def set_function(function: types.FunctionType, state: tuple[Any, ...]) -> None:
    """Give a function its attributes, its cells their contents, its globals names."""
    attributes, special, contents, own = state
    for name, value in special.items():
        setattr(function, name, value)
    function.__dict__.update(attributes)
    for cell, content in zip(function.__closure__ or (), contents, strict=True):
        if content is not None:
            cell.cell_contents = content[0]
    function.__globals__.update(own)


def import_module(name: str) -> types.ModuleType:
    """Return the module of that name."""
    return importlib.import_module(name)


def make_cached(function: Any, maxsize: int | None, typed: Any) -> Any:
    """Return an ``lru_cache`` wrapper with an empty cache."""
    return functools.lru_cache(maxsize, typed)(function)


def make_weak(kind: str, items: Any) -> Any:
    """Return a weak container of these items."""
    return getattr(weakref, kind)(items)


def make_lock(kind: str) -> Any:
    """Return a lock that nobody holds."""
    return getattr(threading, kind)()


def make_proxy(content: dict[Any, Any]) -> Any:
    """Return a read-only view of a dict."""
    return types.MappingProxyType(content)


# -- for the pickler ----------------------------------------------------------------


class Definitions:
    """The reducers of one pickle; `units` are cut out of it, apart from `own`."""

    def __init__(
        self,
        units: Mapping[int, str],
        own: AbstractSet[int],
        namespace: Mapping[str, Any],
    ) -> None:
        self._units = units
        self._own = own
        self._namespace = namespace
        self._singletons = singletons()
        self._bare: set[int] = set()
        self._globals: dict[int, tuple[Any, dict[str, Any]]] = {}

    def reduce(self, value: Any) -> Any:
        """Return how a definition is pickled; NotImplemented if it is none.

        Raises
        ------
        CaptureError
            It is a module that was made at run time.
        """
        if isinstance(value, type):
            return reduce_class(value)
        kind = type(value)
        if kind is types.FunctionType:
            return self._function(value)
        if kind is types.CellType:
            return self._cell(value)
        if kind is types.ModuleType or isinstance(value, types.ModuleType):
            return _reduce_module(value)
        named = self._singletons.get(id(value))
        if named is not None:
            return getattr, named
        reduce = _REDUCERS.get(kind)
        return NotImplemented if reduce is None else reduce(value)

    def _function(self, function: types.FunctionType) -> Any:
        if importable(function):
            return NotImplemented
        closure = function.__closure__ or ()
        self._bare.update(map(id, closure))
        special = {
            name: value
            for name in _SPECIAL
            if (value := getattr(function, name)) not in (None, {})
        }
        contents = [self._content(cell) for cell in closure]
        seen: dict[str, Any] = function.__globals__
        home = globals_home(function, self._namespace)
        own: dict[str, Any] = {}
        make: Callable[..., Any] = make_function
        where: Any = seen
        if not home:
            # One empty dict stands for each foreign dict of globals: functions made
            # together share it again, and one may be found in its own globals.
            where = self._globals.setdefault(id(seen), (seen, {}))[1]
            own = used_globals(function)
        elif home != "namespace":
            make, where = make_module_function, home
        code, name = function.__code__, function.__name__
        state = (function.__dict__, special, contents, own)
        arguments = (code, where, name, function.__closure__)
        return make, arguments, state, None, None, set_function

    def _content(self, cell: types.CellType) -> tuple[Any] | None:
        # A cell with an object id has a stream of its own; an older stream of the
        # function must not put an older content into it.
        if id(cell) in self._units and id(cell) not in self._own:
            return None
        try:
            return (cell.cell_contents,)
        except ValueError:
            return None

    def _cell(self, cell: types.CellType) -> Any:
        if id(cell) in self._bare:
            return make_cell, ()
        try:
            return make_cell, (), (cell.cell_contents,), None, None, set_cell
        except ValueError:
            return make_cell, ()


def reduce_class(kind: type) -> Any:
    """Return how a class is pickled: by value if no import finds it again."""
    if importable(kind):
        return NotImplemented
    reduced = cloudpickle._class_reduce(kind)  # noqa: SLF001 - no public reducer
    if reduced is NotImplemented or len(reduced) < 3:  # noqa: PLR2004 - built-in types
        return reduced
    make, arguments, (body, slots), *rest = reduced
    # The last but one is cloudpickle's tracker id: random, and on loading it would
    # turn the class into whatever live class has the same id.
    arguments = (*arguments[:-2], None, arguments[-1])
    if make is cloudpickle._make_skeleton_class:  # noqa: SLF001 - as above
        arguments = _with_layout(kind, arguments)
    kept = {
        name: value
        for name, value in body.items()
        if name != "__slotnames__" and not isinstance(value, types.MemberDescriptorType)
    }
    return (make, arguments, (kept, slots), *rest)


def _with_layout(kind: type, arguments: Reduced) -> Reduced:
    # cloudpickle forgets both: instances would get a dict, and a local class the
    # name of a global one.
    *first, body, tracker, extra = arguments
    body = {**body, "__qualname__": kind.__qualname__}
    made_by_typing = typing.NamedTuple in vars(kind).get("__orig_bases__", ())
    if "__slots__" in vars(kind) and not made_by_typing:
        body["__slots__"] = vars(kind)["__slots__"]
    return (*first, body, tracker, extra)


def reduce_code(code: types.CodeType) -> Reduced:
    """Return how code is pickled; the name of a file of one kernel is left out."""
    fields = {name: getattr(code, f"co_{name}") for name in _CODE_FIELDS}
    if not code.co_filename.startswith("<"):
        fields["filename"] = "<dynamic-code>"
    return make_code, tuple(fields.values())


def _reduce_module(module: types.ModuleType) -> Reduced:
    if sys.modules.get(module.__name__) is not module:
        raise CaptureError(
            f"the module {module.__name__}",
            because="it was made at run time and no import finds it again",
            remedy="Put its code into a file, or mark the step with --always.",
        )
    return import_module, (module.__name__,)


def _reduce_typevar(value: Any) -> Any:
    reduced = cloudpickle._typevar_reduce(value)  # noqa: SLF001 - as for classes
    if reduced[0] is getattr:
        return reduced
    return reduced[0], (*reduced[1][:-1], None)


def _reduce_cached(value: Any) -> Any:
    if importable(value):
        return NotImplemented
    limits = value.cache_parameters()
    made = (value.__wrapped__, limits["maxsize"], limits["typed"])
    return make_cached, made, value.__dict__


def _reduce_lock(value: Any) -> Reduced:
    denied.refuse(value)
    return make_lock, (LOCKS[type(value)],)


def _reduce_weak(value: Any) -> Reduced:
    kind = type(value)
    items = list(value) if kind is weakref.WeakSet else dict(value.items())
    return make_weak, (kind.__name__, items)


_REDUCERS: Mapping[type, Callable[[Any], Any]] = {
    types.CodeType: reduce_code,
    types.MappingProxyType: lambda value: (make_proxy, (dict(value),)),
    typing.TypeVar: _reduce_typevar,
    LRU: _reduce_cached,
    property: lambda value: (
        property,
        (value.fget, value.fset, value.fdel, value.__doc__),
    ),
    classmethod: lambda value: (classmethod, (value.__func__,)),
    staticmethod: lambda value: (staticmethod, (value.__func__,)),
    _FIELD_KIND: cloudpickle._dataclass_field_base_reduce,  # noqa: SLF001 - as for classes
    **dict.fromkeys(LOCKS, _reduce_lock),
    **dict.fromkeys(WEAK, _reduce_weak),
}
