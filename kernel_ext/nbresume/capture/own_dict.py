"""Attributes that somebody else holds too: ``vars(x)``, a shared ``__dict__``.

The rule: pickle copies attributes into a new ``__dict__``. Where another object holds
that dict too, it is set as it is; a dict that is its own ``__dict__`` is made as one
before its items are put in.
"""

import sys
from collections.abc import Iterator
from typing import Any


class _Probe:
    """An object whose attributes nobody else holds."""


def _holders(value: Any) -> int:
    return sys.getrefcount(value.__dict__)


_ALONE = _holders(_Probe())


def held_dict(value: Any) -> dict[str, Any] | None:
    """Return the attributes of an object if something else holds their dict too."""
    if type(getattr(value, "__dict__", None)) is dict and _holders(value) > _ALONE:
        attributes: dict[str, Any] = value.__dict__
        return attributes
    return None


def set_attributes(value: Any, state: tuple[dict[str, Any], Any]) -> None:
    """Give an object its attributes: this very dict, and values of slots."""
    attributes, slots = state
    object.__setattr__(value, "__dict__", attributes)
    for name, item in (slots or {}).items():
        object.__setattr__(value, name, item)


def reduce_held_dict(value: Any, protocol: int) -> Any:
    """Return how an object is pickled whose attributes something else holds too."""
    reduced = value.__reduce_ex__(protocol)
    if isinstance(reduced, str):
        return NotImplemented
    parts: list[Any] = [*reduced, None, None, None]
    make, arguments, state, items, pairs = parts[:5]
    two = isinstance(state, tuple) and len(state) == 2  # noqa: PLR2004 - dict, slots
    attributes, slots = state if two else (state, None)
    # Python leaves out an empty dict
    if attributes is not value.__dict__ and (attributes or value.__dict__):
        return NotImplemented
    return make, arguments, (value.__dict__, slots), items, pairs, set_attributes


def is_own_dict(value: Any) -> bool:
    """Return whether a value is a dict that is its own ``__dict__``."""
    return isinstance(value, dict) and getattr(value, "__dict__", None) is value


def make_own_dict(kind: Any) -> Any:
    """Return an empty dict of a class that is its own ``__dict__``."""
    value = kind.__new__(kind)
    object.__setattr__(value, "__dict__", value)
    return value


def reduce_own_dict(value: dict[Any, Any]) -> tuple[Any, ...]:
    """Return how such a dict is pickled."""
    items: Iterator[tuple[Any, Any]] = iter(dict.items(value))
    return make_own_dict, (type(value),), None, None, items
