"""What the canonical walk found out about a value: a digest, and who stands where.

The rule: a digest says whether two values are equal; identities say whether the same
objects make them up, and are good in this process only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class Seen:
    """Objects whose identity can be seen; many at once cost little until asked for."""

    def __init__(self) -> None:
        self.single: dict[int, Any] = {}
        self._groups: list[Sequence[Any]] = []
        self._all: dict[int, Any] | None = None

    def add(self, value: Any) -> None:
        """Note an object."""
        self.single[id(value)] = value

    def add_all(self, groups: Iterable[Sequence[Any]]) -> None:
        """Note all objects in these groups; they stand in the visits too."""
        self._groups += groups

    def reach(self) -> dict[int, Any]:
        """Return all of them by their ids."""
        if self._all is None:
            self._all = dict(self.single)
            for group in self._groups:
                self._all.update(zip(map(id, group), group, strict=True))
            self._groups.clear()
        return self._all


@dataclass
class Look:
    """What the walk found out about a value."""

    digest: str | None
    """Equal for equal values; None when the walk cannot decide."""
    why: str
    """Why it cannot decide; empty otherwise."""
    seen: Seen
    """Every object in it whose identity can be seen."""
    visits: list[int]
    """The id of what stands at each place, in the order of the walk."""
    aside: list[int]
    """The same of what is pickled with the value and is no part of it: caches."""

    @property
    def reach(self) -> dict[int, Any]:
        """Every object in it whose identity can be seen, by its id."""
        return self.seen.reach()

    @property
    def places(self) -> list[int]:
        """The id of what stands at each place of its pickle."""
        return [*self.visits, *self.aside]

    def is_same(self, other: "Look") -> bool:
        """Say whether the same objects stand where they stood, and are equal."""
        return (
            self.digest is not None
            and self.digest == other.digest
            and self.visits == other.visits
            and self.aside == other.aside
            and self.seen.single.keys() == other.seen.single.keys()
        )


def is_swapped(before: Look, now: Look, others: Iterable[Mapping[int, Any]]) -> bool:
    """Say whether an equal object stands where another one was.

    Only objects that the reaches of other names hold matter: nobody else can tell,
    and a walk meets parts that are made for it alone.
    """
    ids = before.reach.keys() | now.reach.keys()
    shared = {i for reach in others for i in reach.keys() & ids}
    one, other = shared & before.reach.keys(), shared & now.reach.keys()
    return [i for i in before.visits if i in one] != [
        i for i in now.visits if i in other
    ]
