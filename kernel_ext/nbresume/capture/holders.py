"""Which names hold which objects: the looks at all values, asked by object.

The rule: a look is entered when it is taken and dropped when it is void, so that who
shares an object is known without going through all names. Small values stand in a table
by object; large ones are few, and are asked one by one.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from nbresume.capture.looks import Look

SMALL = 1000
"""A value that reaches more objects than this is asked by itself."""


class Holders:
    """Name → the newest look at its value, and the way back from the objects."""

    def __init__(self) -> None:
        self._looks: dict[str, tuple[Look, int]] = {}
        """Name → (look, id() of the value)."""
        self._small: dict[int, set[str]] = {}
        self._large: dict[str, Look] = {}

    def put(self, name: str, seen: Look, value: Any) -> Look | None:
        """Enter a look at the value of a name; return the former one."""
        former = self._looks.get(name)
        if former is not None and former[0] is seen:
            return None
        before = self.drop(name)
        self._looks[name] = seen, id(value)
        if len(seen.own) + len(seen.through) > SMALL:
            self._large[name] = seen
        else:
            for i in self._ids(seen, id(value)):
                self._small.setdefault(i, set()).add(name)
        return before

    def drop(self, name: str) -> Look | None:
        """Forget the look at a name's value; return it."""
        seen, value_id = self._looks.pop(name, (None, 0))
        if seen is None or self._large.pop(name, None) is not None:
            return seen
        for i in self._ids(seen, value_id):
            names = self._small[i]
            names.discard(name)
            if not names:
                del self._small[i]
        return seen

    def of(self, ids: AbstractSet[int]) -> set[str]:
        """Return the names whose value reaches one of these objects."""
        found: set[str] = set()
        for i in self._small.keys() & ids:
            found |= self._small[i]
        for name, seen in self._large.items():
            if not seen.reach.keys().isdisjoint(ids):
                found.add(name)
        return found

    @staticmethod
    def _ids(seen: Look, value_id: int) -> Iterator[int]:
        yield from seen.reach
        if value_id not in seen.reach:
            yield value_id
