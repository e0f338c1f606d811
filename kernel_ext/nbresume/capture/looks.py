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

from nbresume.capture.addresses import ids_of


class _Reach(Struct, frozen=True):
    """Objects by their ids."""

    all: dict[int, Any]
    alone: AbstractSet[int]
    """The ids of those that stand in no group."""


class Seen:
    """Objects whose identity can be seen."""

    def __init__(self) -> None:
        self.single: dict[int, Any] = {}
        """Those that were taken one by one, as functions, classes and arrays are."""
        self.groups: list[Sequence[Any]] = []
        """The others: the alike items of large containers."""
        self.by_id: _Reach | None = None
        """All of them, once somebody asked for their ids."""

    def __len__(self) -> int:
        """Return how many there are, or a few more."""
        return len(self.single) + sum(map(len, self.groups))

    def add(self, value: Any) -> None:
        """Note an object."""
        self.single[id(value)] = value

    def add_all(self, groups: Iterable[Sequence[Any]]) -> None:
        """Note all objects in these groups."""
        self.groups += groups

    def reach(self) -> dict[int, Any]:
        """Return all of them by their ids."""
        return self._reach().all

    def _reach(self) -> _Reach:
        if self.by_id is None:
            found: dict[int, Any] = {}
            for group in self.groups:
                found.update(_by_id(group))
            alone = self.single.keys() - found.keys()
            found.update(self.single)
            self.by_id = _Reach(found, alone)
        return self.by_id

    def take_over(self, former: "Seen") -> None:
        """Go on from what a former look knows, if all that it saw is seen again."""
        known = former.by_id
        if (
            known is None
            or not former.single.keys() <= self.single.keys()
            or len(self.groups) != len(former.groups)
            or not all(map(_begins, self.groups, former.groups))
        ):
            return
        more: dict[int, Any] = {}
        for group, old in zip(self.groups, former.groups, strict=True):
            more.update(_by_id(group[len(old) :]))
        if more or len(self.single) > len(former.single):
            new = self.single.keys() - known.all.keys()
            found = known.all | more
            found.update(self.single)
            known = _Reach(found, (known.alone | new) - more.keys())
        self.by_id = known

    def has_in_groups(self, ids: AbstractSet[int]) -> bool:
        """Say whether one of these objects, by their ids, stands in a group."""
        if not self.groups:
            return False
        known = self._reach()
        return not (ids & known.all.keys()) <= known.alone

    def has_twice(self) -> bool:
        """Say whether an object stands in several places of the groups."""
        known = self._reach()
        count = len(known.all) - len(known.alone)
        return count < sum(map(len, self.groups))


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
            yield from ids_of(group)
            done = at
        yield from self.ids[done:]

    def is_same(self, other: "Visits") -> bool:
        """Say whether the same objects stand at the same places."""
        return self.ids == other.ids and _are_same(self.rows, other.rows)

    def hidden(self, ids: AbstractSet[int]) -> set[int]:
        """Return those of these ids that stand somewhere: also those of short tuples.

        Rows of anything else are left out: all their objects can be seen.
        """
        return {*(ids & set(self.ids)), *self.tuples(ids)}

    def tuples(self, ids: AbstractSet[int]) -> set[int]:
        """Return those of these ids that tuples in the rows have."""
        found: set[int] = set()
        for _, row in self.rows:
            if type(row[0]) is tuple and not ids.isdisjoint(map(id, row)):
                found |= ids & set(map(id, row))
        return found

    def has_tuple_twice(self) -> bool:
        """Say whether a tuple stands in several places of the rows."""
        tuples = [row for _, row in self.rows if type(row[0]) is tuple]
        once = set[int]().union(*map(ids_of, tuples))
        return len(once) < sum(map(len, tuples))

    def among(self, ids: AbstractSet[int], *, rows: bool) -> list[int]:
        """Return the ids at the places where one of these objects stands.

        Without `rows` it is known that none of them stands in a row.
        """
        return [*filter(ids.__contains__, self if rows else self.ids)]


def _are_same(
    rows: list[tuple[int, Sequence[Any]]], others: list[tuple[int, Sequence[Any]]]
) -> bool:
    return len(rows) == len(others) and all(
        at == there and len(row) == len(other) and _begins(row, other)
        for (at, row), (there, other) in zip(rows, others, strict=True)
    )


def _begins(row: Sequence[Any], other: Sequence[Any]) -> bool:
    """Say whether a row begins with all objects of another one."""
    return len(row) >= len(other) and all(map(is_, row, other))


def _by_id(group: Sequence[Any]) -> Iterable[tuple[int, Any]]:
    return zip(ids_of(group), group, strict=True)


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
    table: tuple[type, ...] | None = None
    """The classes of its instances, each once, if it is one large table of data and of
    plain instances; else None."""

    @cached_property
    def reach(self) -> dict[int, Any]:
        """Every object in it whose identity can be seen, by its id."""
        return (
            self.own.reach() | self.through.reach()
            if self.through
            else self.own.reach()
        )

    @cached_property
    def types(self) -> frozenset[type]:
        """The types of all that it reaches."""
        groups = (*self.own.groups, *self.through.groups)
        found = frozenset(map(type, self.singles))
        return found.union(*(map(type, group) for group in groups))

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
        rows = self.has_in_rows(ids)
        return [*self.visits.among(ids, rows=rows), *self.aside.among(ids, rows=rows)]

    def visited(self, ids: AbstractSet[int]) -> list[int]:
        """Return those of them that are part of the value."""
        return self.visits.among(ids, rows=self.has_in_rows(ids))

    def rows_once(self) -> Sequence[Sequence[Any]]:
        """Return all objects in a table, if each of them stands in one place."""
        if self.table is None or self.own.has_twice() or self.visits.has_tuple_twice():
            return ()
        return [row for _, row in self.visits.rows]

    def has_in_rows(self, ids: AbstractSet[int]) -> bool:
        """Say whether one of these objects is one of many alike items."""
        return (
            self.own.has_in_groups(ids)
            or self.through.has_in_groups(ids)
            or bool(self.visits.tuples(ids))
            or bool(self.aside.tuples(ids))
        )

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
    return before.visited(one) != now.visited(other)
