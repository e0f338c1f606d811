"""Python's own containers as the canonical walk sees them."""

import marshal
from itertools import chain
from typing import Any

from nbresume.capture.atoms import ATOM_BYTES, Parts
from nbresume.capture.tables import LEAVES, MARSHAL, TEXTS

BOXES = frozenset({list, tuple, dict, set, frozenset})
_SORTABLE = ({int}, {str}, {bytes})


def leaves_of(value: Any, kind: type) -> tuple[bytes, list[Any]] | None:
    """Return the token of a container of leaves and the long texts in it.

    None for any other container.
    """
    for first in value:
        # what holds others mostly begins with one: a look at all takes its time
        if type(first) not in LEAVES:
            return None
        break
    kinds = set(map(type, value))
    if kind is dict:
        kinds.update(map(type, value.values()))
    if not kinds <= LEAVES:
        return None
    token = _token(value, kind, kinds)
    if len(token) <= ATOM_BYTES or not kinds & TEXTS:
        return token, []
    leaves = chain(value, value.values()) if kind is dict else value
    return token, [x for x in leaves if type(x) in TEXTS and len(x) > ATOM_BYTES]


def _token(value: Any, kind: type, kinds: set[type]) -> bytes:
    if kind is not set and kind is not frozenset:
        return marshal.dumps(value, MARSHAL)
    if kinds in _SORTABLE:
        items = marshal.dumps(sorted(value), MARSHAL)
    else:
        tokens = sorted(marshal.dumps(item, MARSHAL) for item in value)
        items = marshal.dumps(tokens, MARSHAL)
    return kind.__name__.encode() + items


def box_parts(value: Any, kind: type) -> Parts:
    """Return the parts of a container."""
    ordered = kind is not set and kind is not frozenset
    return Parts(box_tag(value, kind), box_kids(value, kind), ordered=ordered)


def box_tag(value: Any, kind: type) -> bytes:
    """Return what a container is, apart from its parts."""
    return b"%b %d" % (kind.__name__.encode(), len(value))


def box_kids(value: Any, kind: type) -> list[Any]:
    """Return the objects that a container refers to, in their order."""
    if kind is dict:
        return [part for pair in value.items() for part in pair]
    return list(value)
