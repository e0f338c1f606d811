"""What the canonical walk found out about a value: a digest, and who stands where.

The rule: a digest says whether two values are equal; identities say whether the same
objects make them up, and are good in this process only. Many objects at once are kept
as the walk found them, and cost nothing more until somebody asks for their ids.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import chain
from operator import is_
from typing import Any

from msgspec import Struct


class Seen:
    """Objects whose identity can be seen."""

    def __init__(self) -> None:
        self.single: dict[int, Any] = {}
        """Those that were taken one by one, as functions, classes and arrays are."""
        self._groups: list[Sequence[Any]] = []
        self._all: dict[int, Any] | None = None

    def __len__(self) -> int:
        """Return how many there are, or a few more."""
        return len(self.single) + sum(map(len, self._groups))

    def add(self, value: Any) -> None:
        """Note an object."""
        self.single[id(value)] = value

    def add_all(self, groups: Iterable[Sequence[Any]]) -> None:
        """Note all objects in these groups."""
        self._groups += groups

    def reach(self) -> dict[int, Any]:
        """Return all of them by their ids."""
        if self._all is None:
            self._all = dict(self.single)
            for group in self._groups:
                self._all.update(zip(map(id, group), group, strict=True))
        return self._all


class Visits:
    """Who stands at each place, in the order of the walk."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.rows: list[tuple[int, Sequence[Any]]] = []
        """(how many ids stand before it, objects that stand in a row)."""

    def add(self, value: Any) -> None:
        """Note who stands at the next place."""
        self.ids.append(id(value))

    def add_row(self, group: Sequence[Any]) -> None:
        """Note who stands at the next places, one after the other."""
        if group:
            self.rows.append((len(self.ids), group))

    def __iter__(self) -> Iterator[int]:
        """Yield the id of what stands at each place."""
        done = 0
        for at, group in self.rows:
            yield from self.ids[done:at]
            yield from map(id, group)
            done = at
        yield from self.ids[done:]

    def is_same(self, other: "Visits") -> bool:
        """Say whether the same objects stand at the same places."""
        return self.ids == other.ids and _are_same(self.rows, other.rows)

    def hidden(self, ids: AbstractSet[int]) -> set[int]:
        """Return those of these ids that stand somewhere: also those of short tuples.

        Rows of anything else are left out: all their objects can be seen.
        """
        found = {*(ids & set(self.ids))}
        for _, row in self.rows:
            if type(row[0]) is tuple and not ids.isdisjoint(map(id, row)):
                found |= ids & set(map(id, row))
        return found

    def among(self, ids: AbstractSet[int]) -> list[int]:
        """Return the ids at the places where one of these objects stands."""
        found: Iterator[int] = iter(self)
        if self.rows and all(ids.isdisjoint(map(id, group)) for _, group in self.rows):
            found = iter(self.ids)
        return [*filter(ids.__contains__, found)]


def _are_same(
    rows: list[tuple[int, Sequence[Any]]], others: list[tuple[int, Sequence[Any]]]
) -> bool:
    return len(rows) == len(others) and all(
        at == there and len(row) == len(other) and all(map(is_, row, other))
        for (at, row), (there, other) in zip(rows, others, strict=True)
    )


class Rows(Struct, frozen=True):
    """A value that is one large table of data and of plain instances."""

    kinds: tuple[type, ...]
    """The classes of its instances, each once."""
    held: list[Sequence[Any]]
    """All that is no leaf and stands below the value, but for the classes."""

    def holds_any(self, ids: AbstractSet[int]) -> bool:
        """Say whether one of these objects, by their ids, stands below the value."""
        return any(not ids.isdisjoint(map(id, row)) for row in self.held)


class Look(Struct, dict=True):
    """What the walk found out about a value."""

    digest: str | None
    """Equal for equal values; None when the walk cannot decide."""
    why: str
    """Why it cannot decide; empty otherwise."""
    own: Seen
    """What the walk reached without passing through an object that has a name."""
    through: Seen
    """What it reached through one; what is in both is the value's own."""
    visits: Visits
    """Who stands at each place, in the order of the walk."""
    aside: Visits
    """The same of what is pickled with the value and is no part of it: caches."""
    named: frozenset[int] = frozenset()
    """The ids of objects with a name that the walk passed through, one by one."""
    is_mixed: bool = False
    """Something was reached through an object with a name first, and then without."""
    is_data: bool = False
    """It consists of Python's own containers and leaves, and of nothing else."""
    rows: "Rows | None" = None
    """What it consists of, if that is data and plain instances, taken as a table."""

    @cached_property
    def reach(self) -> dict[int, Any]:
        """Every object in it whose identity can be seen, by its id."""
        return (
            self.own.reach() | self.through.reach()
            if self.through
            else self.own.reach()
        )

    @property
    def singles(self) -> Iterator[Any]:
        """Every object in it that is no item of a large container: each function."""
        return chain(self.own.single.values(), self.through.single.values())

    def inside(self, ids: AbstractSet[int]) -> set[int]:
        """Return those of these objects, by their ids, that its pickle meets."""
        return (
            (ids & self.reach.keys()) | self.visits.hidden(ids) | self.aside.hidden(ids)
        )

    def places_of(self, ids: AbstractSet[int]) -> list[int]:
        """Return the ids at the places of its pickle where one of these stands."""
        return [*self.visits.among(ids), *self.aside.among(ids)]

    def is_same(self, other: "Look") -> bool:
        """Say whether the same objects stand where they stood, and are equal."""
        return (
            self.digest is not None
            and self.digest == other.digest
            and self.visits.is_same(other.visits)
            and self.aside.is_same(other.aside)
            and _singles(self) == _singles(other)
        )


def _singles(seen: Look) -> AbstractSet[int]:
    if seen.through:
        return seen.own.single.keys() | seen.through.single.keys()
    return seen.own.single.keys()


def is_swapped(before: Look, now: Look, others: Iterable[Mapping[int, Any]]) -> bool:
    """Say whether an equal object stands where another one was.

    Only objects that the reaches of other names hold matter: nobody else can tell,
    and a walk meets parts that are made for it alone.
    """
    shared: set[int] = set()
    for reach in others:
        shared |= reach.keys() & before.reach.keys()
        shared |= reach.keys() & now.reach.keys()
    one, other = shared & before.reach.keys(), shared & now.reach.keys()
    return before.visits.among(one) != now.visits.among(other)
