"""Identities of many objects at once: id() of each, and which others stand in a row.

The rule: the answer is what id() says. A call of id() is an audit event, and the hook
that watches a step makes it four times dearer (measured); the hash that every object
inherits is its address, turned by four bits, and no event. Where it is not, id() is
asked. Of a row of NumPy the addresses are compared as numbers, and no object is touched
a second time: among ten thousand that lie apart, each touch waits for the memory.
"""

import sys
from collections.abc import Collection, Iterable, Sequence
from itertools import compress, count, repeat
from operator import is_not, lshift
from typing import Any, Protocol

_BITS = 4
_MOST = (1 << 64 - _BITS) - 1
"""The hash of an object at an address that is a multiple of 16."""
_MANY = 1024
"""Fewer objects are compared as quickly one by one."""
_VERY_MANY = 4096
"""For so many it is worth while to load NumPy."""


def _is_turned(probe: Any) -> bool:
    here = id(probe)
    turned = here >> _BITS | (here & (1 << _BITS) - 1) << 64 - _BITS
    return object.__hash__(probe) in (turned, turned - (1 << 64))


_IS_ADDRESS = all(map(_is_turned, (None, object, object(), [], {}, (1,), _is_turned)))


def ids_of(group: Sequence[Any]) -> Iterable[int]:
    """Return the id() of each of these objects, in order."""
    if not group or not _IS_ADDRESS:
        return map(id, group)
    hashes = [*map(object.__hash__, group)]
    if min(hashes) < 0 or max(hashes) > _MOST:
        return map(id, group)
    return map(lshift, hashes, repeat(_BITS))


class Row(Protocol):
    """Objects in a row, as they stood when it was made."""

    def __len__(self) -> int:
        """Return how many."""

    def others_in(self, later: Any) -> Iterable[int]:
        """Return the places at which a row of the same kind has another object.

        Of those that stood here; the later row may be longer.
        """


class _Listed:
    """A row that holds its objects."""

    def __init__(self, objects: Iterable[Any]) -> None:
        self._objects = [*objects]

    def __len__(self) -> int:
        return len(self._objects)

    def others_in(self, later: "_Listed") -> Iterable[int]:
        return compress(count(), map(is_not, self._objects, later._objects))  # noqa: SLF001 - its own kind


class _Addressed:
    """A row that only knows where its objects lie: whoever compares it holds them."""

    def __init__(self, objects: Iterable[Any]) -> None:
        import numpy  # noqa: ICN001, PLC0415 - 0.1 s: a kernel with few names loads it not

        held = numpy.fromiter(objects, dtype=object)
        self._addresses = numpy.frombuffer(held, dtype=numpy.uintp).copy()

    def __len__(self) -> int:
        return len(self._addresses)

    def others_in(self, later: "_Addressed") -> Iterable[int]:
        there = later._addresses[: len(self)]  # noqa: SLF001 - its own kind
        places: list[int] = (self._addresses != there).nonzero()[0].tolist()
        return places


def row_of(objects: Collection[Any]) -> Row:
    """Return a row of these objects, to be compared with one that is made later.

    While they are compared, what stood in the earlier row has to be alive still: else
    another object may lie where one of them lay.
    """
    if len(objects) >= (_MANY if "numpy" in sys.modules else _VERY_MANY):
        return _Addressed(objects)
    return _Listed(objects)
