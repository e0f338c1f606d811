"""A dict whose attributes are its items, because it is its own ``__dict__``.

The rule: pickle stores such a dict as one with attributes beside its items, which then
part. It is made as it was, before its items are put in.
"""

from collections.abc import Iterator
from typing import Any


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
