"""Python's own containers as the canonical walk sees them."""

import marshal
from typing import Any

from nbresume.capture.atoms import Parts
from nbresume.capture.tables import MARSHAL

BOXES = frozenset({list, tuple, dict, set, frozenset})
_SORTABLE = ({int}, {str}, {bytes})


def box_token(value: Any, kind: type, kinds: set[type]) -> bytes:
    """Return the token of a container that holds only leaves, of these kinds."""
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
