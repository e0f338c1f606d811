"""The parts of functions, classes and cells: for the canonical walk and the pickler.

The rule: what a definition does counts, not where it was written: code without file
names and line numbers, defaults, cells, attributes, and the body of a class. Names of
the live namespace are inputs of their own and no parts of a function.
"""

import collections
import enum
import functools
import itertools
import sys
import threading
import types
import typing
import warnings
import weakref
from collections.abc import Callable, Mapping
from typing import Any

from nbresume.capture.atoms import Parts, Undecidable, importable, tag_of
from nbresume.capture.code_text import code_token
from nbresume.capture.denied import has_own_code, reason, reduce_unchanged
from nbresume.capture.registry import DEFAULT
from nbresume.capture.sources import (
    codes,
    dataclass_choices,
    dataclass_spec,
    generated_methods,
)
from nbresume.errors import CaptureError

LRU = functools._lru_cache_wrapper  # noqa: SLF001 - the type has no public name
"""The type of what ``functools.lru_cache`` returns."""
LOCKS: Mapping[type, str] = {
    type(threading.Lock()): "Lock",
    type(threading.RLock()): "RLock",
}
"""Types of locks and the names of their makers."""
WEAK: tuple[type, ...] = (
    *(weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet),
)
"""Containers that hold their items weakly."""
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)
_STATIC_TYPE = 1 << 9
"""``Py_TPFLAGS_HEAPTYPE``: not set for the types that are built into C code."""
_VOLATILE = frozenset(
    {
        *("__dict__", "__weakref__", "__module__", "__qualname__", "__slotnames__"),
        *("__firstlineno__", "__static_attributes__", "_abc_impl"),
        *("__annotations_cache__", "__annotate_func__"),
    }
)
_DISPATCH_CACHES = frozenset({"dispatch_cache", "cache_token", "_clear_cache"})
"""What functools.singledispatch fills when it is called."""
ENUM_TABLES = frozenset(
    {
        *("_member_map_", "_member_names_", "_member_type_", "_value2member_map_"),
        *("_hashable_values_", "_unhashable_values_", "_unhashable_values_map_"),
        *("_generate_next_value_", "_new_member_", "_use_args_", "_value_repr_"),
    }
)
"""What making an enum fills, each version of Python its own."""
_MEMBER_FIELDS = frozenset({"_value_", "_name_", "__objclass__", "_sort_order_"})
"""What every member of an enum has of its class."""
_PROTOCOL_FIELDS = ("__protocol_attrs__", "__non_callable_proto_members__")


def globals_home(function: types.FunctionType, namespace: Mapping[str, Any]) -> str:
    """Return ``namespace``, the name of a module, or nothing for a dict of its own."""
    seen = function.__globals__
    main = sys.modules.get("__main__")
    if seen is namespace or (main is not None and seen is main.__dict__):
        return "namespace"
    name = seen.get("__name__")
    module = sys.modules.get(name) if isinstance(name, str) else None
    if isinstance(name, str) and getattr(module, "__dict__", None) is seen:
        return name
    return ""


def used_globals(function: types.FunctionType) -> dict[str, Any]:
    """Return what a function with globals of its own can see of them."""
    seen = function.__globals__
    names = dict.fromkeys(
        name for code in codes(function.__code__) for name in code.co_names
    )
    return {name: seen[name] for name in names if name in seen}


# -- classes, for the pickler ----------------------------------------------------


def repeated_attributes(kind: type) -> dict[str, Any]:
    """Return what a class says again after a base; cloudpickle leaves it out."""
    bases = [vars(base) for base in kind.__mro__[1:]]
    return {
        name: value
        for name, value in vars(kind).items()
        if any(base.get(name, bases) is value for base in bases)
    }


def remade_attributes(
    kind: Any, is_apart: Callable[[Any], bool]
) -> tuple[set[str], dict[str, Any]]:
    """Return names that are made anew on loading, and what `set_class` needs for it.

    Each version of Python fills classes in another way.
    """
    names = {"__slotnames__"}
    extra: dict[str, Any] = {}
    own = vars(kind)
    methods = {n: m for n, m in generated_methods(kind).items() if not is_apart(m)}
    if methods:
        names |= {*methods, "__dataclass_params__"}
        extra["dataclass"] = (dataclass_spec(kind), tuple(sorted(methods)))
    if isinstance(kind, enum.EnumType):
        names |= ENUM_TABLES
        rows: Mapping[str, Any] = kind.__members__
        members = {
            name: fields
            for name, member in rows.items()
            if (fields := _member_fields(member))
        }
        extra |= {"members": members} if members else {}
    if own.get("_is_protocol"):
        names |= {*_PROTOCOL_FIELDS}
        hook = own.get("__subclasshook__")
        hook = getattr(hook, "__func__", hook)
        if getattr(hook, "__module__", "") == "typing":
            names.add("__subclasshook__")
        extra["protocol"] = True
    return names, extra


def _member_fields(member: Any) -> dict[str, Any]:
    return {n: v for n, v in vars(member).items() if n not in _MEMBER_FIELDS}


def with_layout(kind: type, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments for the maker of a class, completed."""
    # cloudpickle forgets both: instances would get a dict, and a local class the
    # name of a global one.
    *first, body, tracker, extra = arguments
    body = {**body, "__qualname__": kind.__qualname__}
    made_by_typing = typing.NamedTuple in vars(kind).get("__orig_bases__", ())
    if "__slots__" in vars(kind) and not made_by_typing:
        body["__slots__"] = vars(kind)["__slots__"]
    return (*first, body, tracker, extra)


# -- for the walk -----------------------------------------------------------------


def parts(value: Any, namespace: Mapping[str, Any]) -> Parts | None:
    """Return what a definition consists of; None if it is none.

    Raises
    ------
    Undecidable
        It is a module that was made at run time, or what was written to describe or
        to pickle the value fails or changes it.
    """
    if isinstance(value, type):
        return _class_parts(value)
    if isinstance(value, types.FunctionType):
        return _function_parts(value, namespace)
    if isinstance(value, types.ModuleType):
        return _module_parts(value)
    kind = type(value)
    rebuilder = DEFAULT.find(kind)
    try:
        if rebuilder is not None:
            kids = [rebuilder.describe(value), rebuilder.rebuild]
            return Parts(tag_of("registered", rebuilder.kind), kids, seen=[value])
        target = importable(value)
        if target:
            return Parts(tag_of("import", target))
        if has_own_code(kind) and reason(value) is None:
            reduce_unchanged(value, 4)
    except CaptureError as error:
        raise Undecidable(f"{error.refused} cannot be compared") from error
    expand = _BY_TYPE.get(kind)
    return None if expand is None else expand(value)


def is_known(kind: type) -> bool:
    """Say whether values of a class are definitions or something like it."""
    return kind in _BY_TYPE


def reduce_iterator(value: Any) -> tuple[Any, ...]:
    """Return what an iterator of itertools pickles as, without a word.

    Python 3.12 warns of it each time; the author has asked for nothing of the kind.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reduced: tuple[Any, ...] = value.__reduce__()
    return reduced


def _function_parts(
    function: types.FunctionType, namespace: Mapping[str, Any]
) -> Parts:
    target = importable(function)
    if target:
        return Parts(tag_of("import", target))
    closure, attributes = function.__closure__ or (), function.__dict__
    if function.__globals__ is functools.__dict__:
        names = function.__code__.co_freevars
        closure = tuple(
            cell
            for name, cell in zip(names, closure, strict=True)
            if name not in _DISPATCH_CACHES
        )
        attributes = {
            name: value
            for name, value in attributes.items()
            if name not in _DISPATCH_CACHES
        }
    # Names of the live namespace are inputs of their own, not parts of the function.
    own = {} if globals_home(function, namespace) else used_globals(function)
    kids = [
        *(function.__defaults__, function.__kwdefaults__, *closure),
        *_flat(attributes),
        *_flat(own),
    ]
    counts = (len(closure), len(attributes), len(own))
    return Parts(
        tag_of("function", *counts) + code_token(function.__code__),
        kids,
        seen=[function],
    )


def _flat(mapping: Mapping[Any, Any]) -> list[Any]:
    return [item for pair in mapping.items() for item in pair]


def _class_parts(kind: type) -> Parts:
    target = importable(kind)
    if target or not kind.__flags__ & _STATIC_TYPE:
        return Parts(
            tag_of("import", target or f"{kind.__module__}:{kind.__qualname__}")
        )
    body = {
        name: value
        for name, value in vars(kind).items()
        if name not in _VOLATILE and not isinstance(value, _DESCRIPTORS)
    }
    for name in generated_methods(kind):  # the fields say all about them
        del body[name]
    if not body.get("__annotations__"):  # reading them makes an empty dict
        body.pop("__annotations__", None)
    if "__dataclass_fields__" in body:
        # dataclass writes this text from the fields, with addresses of defaults.
        body.pop("__doc__", None)
        # later versions of Python remember more, which the fields say too
        body["__dataclass_params__"] = dataclass_choices(kind)
    if issubclass(kind, tuple) and "_fields" in body:
        body = _namedtuple_body(body)
    members: Mapping[str, Any] = getattr(kind, "__members__", {})
    if hasattr(kind, "_member_map_"):
        body = _enum_body(body, members)
    # A class that was rebuilt has its attributes in another order.
    kids = [type(kind), *kind.__bases__, *_flat(dict(sorted(body.items())))]
    tag = tag_of("class", kind.__qualname__, len(kind.__bases__), len(body))
    return Parts(tag, kids, seen=[kind])


def _namedtuple_body(body: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out what each version of Python writes in its own way from the fields."""
    rest = {}
    for name, value in body.items():
        code = getattr(getattr(value, "__func__", value), "__code__", None)
        made = code is not None and (
            code.co_filename == collections.__file__
            or (code.co_name == "<lambda>" and code.co_varnames[:1] == ("_cls",))
        )
        if type(value).__name__ == "_tuplegetter":
            rest[name] = value.__doc__
        elif not made:
            rest[name] = value
    return rest


def _enum_body(body: Mapping[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
    rest = {
        name: value
        for name, value in body.items()
        if name not in members and name not in ENUM_TABLES
    }
    values = {name: member._value_ for name, member in members.items()}
    return {**rest, "": values}


def _cell_parts(cell: types.CellType) -> Parts:
    try:
        return Parts(b"cell", [cell.cell_contents], seen=[cell])
    except ValueError:
        return Parts(b"empty cell", seen=[cell])


def _module_parts(module: types.ModuleType) -> Parts:
    if sys.modules.get(module.__name__) is not module:
        message = f"the module {module.__name__} was made at run time"
        raise Undecidable(message)
    return Parts(tag_of("module", module.__name__))


def _cached_parts(value: Any) -> Parts:
    limits = value.cache_parameters()
    tag = tag_of("cached", limits["maxsize"], limits["typed"])
    return Parts(tag, [value.__wrapped__], seen=[value])


def _typevar_parts(value: Any) -> Parts:
    bound = (value.__bound__, *value.__constraints__)
    return Parts(tag_of("typevar", value, len(bound)), list(bound), seen=[value])


def _new_type_parts(value: Any) -> Parts:
    tag = tag_of("new type", value.__qualname__)
    return Parts(tag, [value.__supertype__], seen=[value])


def _weak_parts(value: Any) -> Parts:
    if isinstance(value, weakref.WeakSet):
        return Parts(b"weak set", list(value), ordered=False, seen=[value])
    return Parts(tag_of(type(value).__name__), [dict(value.items())], seen=[value])


def _lock_parts(value: Any) -> Parts | None:
    # A lock that nobody holds is as good as any other.
    if reason(value) is not None:
        return None
    return Parts(tag_of(LOCKS[type(value)]), seen=[value])


def _iterator_parts(value: Any) -> Parts:
    kids = [*reduce_iterator(value)]
    return Parts(tag_of("iterator", type(value)), kids, seen=[value])


def _bound_parts(value: Any) -> Parts:
    return Parts(tag_of("bound", value.__name__), [value.__self__])


_BY_TYPE: Mapping[type, Callable[[Any], Parts | None]] = {
    types.CodeType: lambda value: Parts(b"code" + code_token(value)),
    types.MethodType: lambda value: Parts(b"method", [value.__func__, value.__self__]),
    types.CellType: _cell_parts,
    types.MappingProxyType: lambda value: Parts(b"mapping proxy", [dict(value)]),
    types.BuiltinMethodType: _bound_parts,
    types.MethodWrapperType: _bound_parts,
    property: lambda value: Parts(b"property", [value.fget, value.fset, value.fdel]),
    classmethod: lambda value: Parts(b"class method", [value.__func__]),
    staticmethod: lambda value: Parts(b"static method", [value.__func__]),
    functools.cached_property: lambda value: Parts(b"cached property", [value.func]),
    typing.TypeVar: _typevar_parts,
    typing.ParamSpec: lambda value: Parts(tag_of("paramspec", value), seen=[value]),
    typing.TypeVarTuple: lambda value: Parts(tag_of("types", value), seen=[value]),
    typing.NewType: _new_type_parts,
    LRU: _cached_parts,
    **{
        kind: _iterator_parts for kind in vars(itertools).values() if type(kind) is type
    },
    **dict.fromkeys(LOCKS, _lock_parts),
    **dict.fromkeys(WEAK, _weak_parts),
}
