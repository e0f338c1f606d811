"""Functions, classes, cells and other definitions: how they are pickled.

The rule: a function made in the notebook sees the live namespace, never a copy of it;
a class made there goes by value, and its stream holds nothing that is random. The
``make_…`` and ``set_…`` functions are named in stored streams: they are part of the
stored format and are never renamed.
"""

import dataclasses
import functools
import importlib
import queue
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
from nbresume.capture.atoms import importable, resolve_import
from nbresume.capture.definition_parts import (
    LOCKS,
    LRU,
    WEAK,
    globals_home,
    remade_attributes,
    repeated_attributes,
    used_globals,
    with_layout,
)
from nbresume.capture.singletons import singletons
from nbresume.capture.sources import (
    code_parts,
    make_code_of,
    set_dataclass,
)
from nbresume.errors import CaptureError

Reduced = tuple[Any, ...]

_SPECIAL = (
    *("__defaults__", "__kwdefaults__", "__annotations__"),
    *("__doc__", "__qualname__", "__module__", "__type_params__"),
)
_HOOK = "__init_subclass__"
_FIELD_KIND = type(dataclasses._FIELD)  # type: ignore[attr-defined]  # noqa: SLF001 - no public name


# -- what streams name ------------------------------------------------------------


def make_cell() -> types.CellType:
    """Return an empty closure cell; whoever shares it fills it later."""
    return types.CellType()


def set_cell(cell: types.CellType, state: tuple[Any]) -> None:
    """Fill a cell."""
    cell.cell_contents = state[0]


def make_class(meta: Any, name: str, bases: Any, *more: Any) -> Any:
    """Return a class without a body; code of the notebook does not hear of it."""
    builtin = next(base for base in meta.__mro__ if importable(base))
    quiet = meta if builtin is meta else functools.partial(builtin.__new__, meta)
    hooks = [(base, vars(base)[_HOOK]) for base in _hooked(bases)]
    # It was called when the class was defined; again, it would register it twice.
    for base, _ in hooks:
        type.__setattr__(base, _HOOK, classmethod(lambda *_, **__: None))
    try:
        return cloudpickle._make_skeleton_class(quiet, name, bases, *more)  # noqa: SLF001 - see reduce_class
    finally:
        for base, hook in hooks:
            type.__setattr__(base, _HOOK, hook)


def _hooked(bases: Any) -> list[type]:
    kinds = dict.fromkeys(
        base for kind in types.resolve_bases(bases) for base in kind.__mro__
    )
    return [kind for kind in kinds if _HOOK in vars(kind) and not importable(kind)]


def set_class(kind: Any, state: tuple[Any, ...]) -> None:
    """Give a class its body, and what this version of Python adds to it."""
    body, slots, extra = state
    cloudpickle._class_setstate(kind, (body, slots))  # noqa: SLF001 - see reduce_class
    if "dataclass" in extra:
        set_dataclass(kind, *extra["dataclass"])
    for name, fields in extra.get("members", {}).items():
        kind[name].__dict__.update(fields)
    if extra.get("protocol"):
        _set_protocol(kind)


def _set_protocol(kind: Any) -> None:
    # Python 3.12 and later list the members when a class is made; then it was empty.
    if sys.version_info >= (3, 12):
        kind.__protocol_attrs__ = typing._get_protocol_attrs(kind)  # type: ignore[attr-defined]  # noqa: SLF001 - no public name
        if vars(kind).get("_is_runtime_protocol"):
            typing.runtime_checkable(kind)


def make_single(module: str, path: str) -> Any:
    """Return the object of this process that exists once in each.

    Raises
    ------
    CaptureError
        This process has none.
    """
    found = resolve_import(f"{module}:{path}")
    if found is None:
        raise CaptureError(
            f"{module}.{path} was referred to",
            because="this process has none",
            remedy="Restore it in a kernel of Jupyter.",
        )
    return found


def make_type_parameter(
    kind: str, name: str, arguments: tuple[Any, ...], options: dict[str, Any]
) -> Any:
    """Return a TypeVar, ParamSpec, TypeVarTuple or NewType of the notebook."""
    made = getattr(typing, kind)(name, *arguments, **options)
    made.__module__ = "__main__"
    return made


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
        self._texts: dict[str, str] = {}

    def reduce(self, value: Any) -> Any:
        """Return how a definition is pickled; NotImplemented if it is none.

        Raises
        ------
        CaptureError
            It is a module that was made at run time.
        """
        if isinstance(value, type):
            return reduce_class(value, self._is_apart)
        kind = type(value)
        if kind is types.CodeType:
            return reduce_code(value, self._texts)
        if kind is types.FunctionType:
            return self._function(value)
        if kind is types.CellType:
            return self._cell(value)
        if kind is types.ModuleType or isinstance(value, types.ModuleType):
            return _reduce_module(value)
        named = self._singletons.get(id(value))
        if named is not None:
            return make_single, named
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
            if (value := getattr(function, name, None)) not in (None, {})
        }
        if not special.get("__type_params__", True):
            del special["__type_params__"]
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

    def _is_apart(self, value: Any) -> bool:
        return id(value) in self._units and id(value) not in self._own

    def _content(self, cell: types.CellType) -> tuple[Any] | None:
        # A cell with an object id has a stream of its own; an older stream of the
        # function must not put an older content into it.
        if self._is_apart(cell):
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


def reduce_class(kind: type, is_apart: Callable[[Any], bool]) -> Any:
    """Return how a class is pickled: by value if no import finds it again.

    `is_apart` tells which objects have streams of their own.
    """
    if importable(kind):
        return NotImplemented
    reduced = cloudpickle._class_reduce(kind)  # noqa: SLF001 - no public reducer
    if reduced is NotImplemented or len(reduced) < 3:  # noqa: PLR2004 - built-in types
        return reduced
    make, arguments, (body, slots), *_ = reduced
    # The last but one is cloudpickle's tracker id: random, and on loading it would
    # turn the class into whatever live class has the same id.
    arguments = (*arguments[:-2], None, arguments[-1])
    if make is cloudpickle._make_skeleton_class:  # noqa: SLF001 - as above
        make, arguments = make_class, with_layout(kind, arguments)
        body = {**body, **repeated_attributes(kind)}
    remade, extra = remade_attributes(kind, is_apart)
    kept = {
        name: value
        for name, value in body.items()
        if name not in remade and not isinstance(value, types.MemberDescriptorType)
    }
    return make, arguments, (kept, slots, extra), None, None, set_class


def reduce_code(code: types.CodeType, texts: dict[str, str]) -> Reduced:
    """Return how code is pickled: with its text, without a file of one kernel."""
    return make_code_of, code_parts(code, texts)


def _reduce_module(module: types.ModuleType) -> Reduced:
    if sys.modules.get(module.__name__) is not module:
        raise CaptureError(
            f"the module {module.__name__}",
            because="it was made at run time and no import finds it again",
            remedy="Put its code into a file, or mark the step with --always.",
        )
    return import_module, (module.__name__,)


def _reduce_type_parameter(value: Any) -> Any:
    name, kind = value.__name__, type(value)
    found = cloudpickle._lookup_module_and_qualname(value, name=name)  # noqa: SLF001 - as for classes
    if found is not None:
        return getattr, found
    if kind is typing.NewType:
        return make_type_parameter, (kind.__name__, name, (value.__supertype__,), {})
    options = {
        option: given
        for option in ("bound", "covariant", "contravariant", "infer_variance")
        if (given := getattr(value, f"__{option}__", None))
    }
    if getattr(value, "has_default", bool)():  # new in Python 3.13
        options["default"] = value.__default__
    constraints = getattr(value, "__constraints__", ())
    return make_type_parameter, (kind.__name__, name, constraints, options)


def _reduce_cached_property(value: Any) -> Reduced:
    # Python 3.11 has a lock in it, later ones do not know it.
    kept = {name: item for name, item in vars(value).items() if name != "lock"}
    return type(value), (value.func,), kept


def _reduce_queue(value: Any) -> Reduced:
    # Made by its own class, it has what each version of Python looks for in it.
    return type(value), (value.maxsize,), value.__dict__


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
    types.MappingProxyType: lambda value: (make_proxy, (dict(value),)),
    typing.TypeVar: _reduce_type_parameter,
    typing.ParamSpec: _reduce_type_parameter,
    typing.TypeVarTuple: _reduce_type_parameter,
    typing.NewType: _reduce_type_parameter,
    functools.cached_property: _reduce_cached_property,
    LRU: _reduce_cached,
    property: lambda value: (
        property,
        (value.fget, value.fset, value.fdel, value.__doc__),
    ),
    classmethod: lambda value: (classmethod, (value.__func__,)),
    staticmethod: lambda value: (staticmethod, (value.__func__,)),
    _FIELD_KIND: cloudpickle._dataclass_field_base_reduce,  # noqa: SLF001 - as for classes
    **dict.fromkeys((queue.Queue, queue.LifoQueue, queue.PriorityQueue), _reduce_queue),
    **dict.fromkeys(LOCKS, _reduce_lock),
    **dict.fromkeys(WEAK, _reduce_weak),
}
