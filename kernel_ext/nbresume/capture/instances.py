"""Instances as the canonical walk sees them: their state, and what is no part of it.

The rule: what reading fills or looking changes is no part of a value. An instance is
plain when pickle would write its class and its attributes and nothing else, and when
reading these runs no code of anybody.
"""

import copyreg
import datetime as dt
import decimal
import enum
import fractions
import functools
import pathlib
import re
import types
import uuid
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct

from nbresume.capture import arrays, definition_parts, denied
from nbresume.capture.atoms import (
    Parts,
    Undecidable,
    reducer_of,
    tag_of,
    type_name,
)
from nbresume.capture.registry import DEFAULT

_IMMUTABLE = (
    *(range, slice, re.Pattern, uuid.UUID, pathlib.PurePath),
    *(dt.date, dt.time, dt.timedelta, dt.tzinfo),
    *(decimal.Decimal, fractions.Fraction, types.GenericAlias, int, float, str, bytes),
)
_IMMUTABLE_HOMES = ("numpy.dtypes", "pandas._libs.tslibs", "pandas.core.dtypes.dtypes")
_ASIDE = {
    # counts on each time its object is looked at or pickled
    "matplotlib.cbook.CallbackRegistry": frozenset({"_cid_gen"}),
    # says, by addresses, who refers to its object
    "matplotlib.transforms.TransformNode": frozenset({"_parents"}),
}
"""Attributes of classes that are no part of their value."""
_CACHES = {
    "dask": frozenset(
        {
            *("_cached_dict", "_cached_keys", "_dims", "_is_coro", "_repr", "_token"),
            *("_all_external_keys", "_to_dict", "key_dependencies"),
        }
    ),
    "pandas": frozenset({"_cache", "_item_cache"}),
    "statsmodels": frozenset(
        {
            *("_cache", "_summary_cache", "_summary_statistics_cache", "_nobs_int"),
            *("diagn", "predict_start", "predict_end", "predict_dates"),
        }
    ),
}
"""Attributes that reading fills, in all classes of a library."""
_OWN_WAY = frozenset(
    {
        *("__reduce__", "__reduce_ex__", "__getstate__", "__getnewargs__"),
        *("__getnewargs_ex__", "__getattribute__", "__getattr__", "__call__"),
        "__class__",
    }
)
"""A class that has one of these says itself what its instances are."""
_DICTS = {type(None), types.GetSetDescriptorType}
_SPECIAL = (*_IMMUTABLE, type, types.FunctionType, types.ModuleType)


_SCALARS: Mapping[type, Callable[[Any], str]] = {
    dt.date: str,
    # aware ones hold a time zone, which may be anybody's object
    dt.datetime: lambda value: f"{value}.{value.fold}" if not value.tzinfo else "",
    dt.time: lambda value: f"{value}.{value.fold}" if not value.tzinfo else "",
    dt.timedelta: lambda value: f"{value.days} {value.seconds} {value.microseconds}",
    # its text depends on the context
    decimal.Decimal: lambda value: str(tuple(value.as_tuple())),
}


def scalar_token(value: Any, kind: type) -> bytes:
    """Return the token of a date, a number or the like; nothing for all others."""
    write = _SCALARS.get(kind)
    if write is not None:
        text = write(value)
        return b"\2" + tag_of(kind.__name__, text) if text else b""
    return arrays.scalar_token(value) if kind.__module__ == "numpy" else b""


def is_immutable(value: Any, kind: type) -> bool:
    """Tell whether an identity says nothing, as of a date or a number."""
    if kind.__module__.startswith(_IMMUTABLE_HOMES) or isinstance(value, enum.Enum):
        return True
    return isinstance(value, _IMMUTABLE) and not getattr(value, "__dict__", None)


def cached_names(kind: type) -> frozenset[str]:
    """Return the names of attributes that are no part of a value."""
    names = {
        name
        for base in kind.__mro__
        for name, found in vars(base).items()
        if isinstance(found, functools.cached_property)
    }
    for base in kind.__mro__:
        names |= _ASIDE.get(f"{base.__module__}.{base.__qualname__}", set())
    names |= _CACHES.get(kind.__module__.partition(".")[0], set())
    return frozenset(names)


def state_kids(
    state: Any, caches: AbstractSet[str]
) -> tuple[list[Any], list[int], list[Any]]:
    """Return the parts of an instance's state, their counts, and what it caches."""
    # The dicts are made for this occasion: nobody can see their identity.
    if state is None:
        states: list[dict[Any, Any]] = [{}]
    elif type(state) is dict:
        states = [state]
    elif (
        type(state) is tuple
        and len(state) == 2  # noqa: PLR2004 - dict and slots
        and all(not part or type(part) is dict for part in state)
    ):
        states = [part or {} for part in state]
    else:
        return [state], [-1], []
    kids, counts, aside = [], [], []
    for part in states:
        kept = [(key, item) for key, item in part.items() if key not in caches]
        kids += [piece for pair in kept for piece in pair]
        counts.append(len(kept))
        aside += [item for key, item in part.items() if key in caches]
    return kids, counts, aside


class Plain(Struct, frozen=True):
    """How the plain instances of one class hold their attributes."""

    names: tuple[str, ...] = ()
    """The slots."""
    has_dict: bool = False
    """There are no slots, but a ``__dict__``."""


def plain(value: Any, kind: type) -> Plain | None:
    """Return how this instance and all others of its class hold their attributes.

    None if the class says itself what its instances are. The answer holds for the
    class as it is now.
    """
    bodies = [vars(base) for base in kind.__mro__[:-1]]
    if (
        reducer_of(kind) is not None
        or any(not _OWN_WAY.isdisjoint(body) for body in bodies)
        or {type(body.get("__dict__")) for body in bodies} - _DICTS
        or issubclass(kind, _SPECIAL)
        or cached_names(kind)
        or is_immutable(value, kind)
        or denied.reason(value) is not None
        or DEFAULT.find(kind) is not None
        or definition_parts.is_known(kind)
        or arrays.is_known(kind)
    ):
        return None
    return _layout(value, kind)


def _layout(value: Any, kind: type) -> Plain | None:
    try:
        make, arguments, _, *items = value.__reduce_ex__(4)
    except TypeError:  # it has more than Python can see
        return None
    newobj = copyreg.__newobj__  # type: ignore[attr-defined]
    if make is not newobj or arguments != (kind,) or any(items):
        return None
    names: list[str] = copyreg._slotnames(kind)  # type: ignore[attr-defined]  # noqa: SLF001 - as pickle finds them
    slots = {type(getattr(kind, name, None)) for name in names}
    if slots - {types.MemberDescriptorType} or (names and kind.__dictoffset__):
        return None
    return Plain(tuple(names), has_dict=bool(kind.__dictoffset__))


def six(reduced: Any) -> tuple[Any, ...]:
    """Return all that a reduce value may consist of, None where it has less."""
    make, arguments, *rest = reduced
    return make, tuple(arguments), *rest, *([None] * (4 - len(rest)))


def named_parts(value: Any, name: str) -> Parts:
    """Return the parts of what pickles as a global name."""
    inner = getattr(value, "__wrapped__", None)
    if inner is not None and inner is not value:
        return Parts(tag_of("wrapper", type_name(value)), [inner], seen=[value])
    module = getattr(value, "__module__", None)
    if module == "__main__":
        message = f"a {type_name(value)} made in the notebook cannot be compared"
        raise Undecidable(message)
    return Parts(tag_of("global", module, name))
