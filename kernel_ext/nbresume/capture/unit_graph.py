"""The objects that are pickled by themselves, while one capture makes their units."""

from collections.abc import Callable, Collection, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct, field

from nbresume.capture.alike import Alike
from nbresume.capture.looks import Look
from nbresume.capture.units import Identities, deep_versions


class Units(Mapping[int, str]):
    """id() → object id, of every object that is pickled by itself.

    An object gets its object id when it is asked for.
    """

    def __init__(
        self, named: Mapping[int, Any], loose: Mapping[int, Any], ids: Identities
    ) -> None:
        self._named = named
        self._loose = loose
        self._ids = ids

    def __contains__(self, key: object) -> bool:
        """Say whether the object with this id() is pickled by itself."""
        return key in self._named or key in self._loose

    def __getitem__(self, key: int) -> str:
        """Return the object id of the object with this id()."""
        if key in self._named:
            return self._ids.id_of(self._named[key])
        return self._ids.id_of(self._loose[key])

    def __iter__(self) -> Iterator[int]:
        """Yield the id() of each."""
        return iter(self._named.keys() | self._loose.keys())

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._named.keys() | self._loose.keys())

    def tables(self) -> tuple[Mapping[int, Any], Mapping[int, Any]]:
        """Return id() → object of those with a name, and of those without."""
        return self._named, self._loose

    def inside(self, seen: Look) -> set[int]:
        """Return the id() of those that the pickle of a value meets."""
        return seen.inside(self._named.keys()) | seen.inside(self._loose.keys())

    def alike_in(self, seen: Look, cut: Collection[str]) -> Alike | None:
        """Return what is known of a value of data and plain instances, if it is one.

        None if anything in it is pickled by itself, other than a class or the value.

        Parameters
        ----------
        seen
            The newest look at it.
        cut
            The units in it that are not itself, as far as they are known.
        """
        if seen.is_data and not cut:
            return Alike(rows=seen.rows_once())
        if seen.table is None or seen.has_in_rows(self._named.keys()):
            return None
        if seen.has_in_rows(self._loose.keys()):
            return None
        return Alike(seen.table, seen.rows_once())

    def holds(self, object_id: str) -> bool:
        """Say whether an object with this object id is pickled by itself."""
        value = self._ids.object_of(object_id)
        return value is not None and id(value) in self

    def object_of(self, object_id: str) -> Any:
        """Return the live object with this object id."""
        return self._ids.object_of(object_id)


class UnitGraph(Struct):
    """The objects that are pickled by themselves, while the units are made."""

    units: Units
    names_of: Callable[[int], Collection[str]]
    """id() → the names that are bound to the object."""
    cuts: dict[str, tuple[str, ...]]
    """Object id → the unit at each place inside it: what it is cut into."""
    reached: tuple[AbstractSet[int], ...]
    """For each name that shares something with these, the id() of all it reaches."""
    tight: list[frozenset[str]]
    """Groups of names that become one unit."""
    dumped: dict[str, tuple[str, list[str], list[str]]] = field(default_factory=dict)
    """Object id → (stream, buffers, refs) as digests and object ids."""
    members: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    deep: dict[str, str] = field(default_factory=dict)

    def name_of(self, object_id: str) -> str | None:
        """Return one name that is bound to an object."""
        return min(self.names_of(id(self.units.object_of(object_id))), default=None)


class Remembered(Struct, frozen=True):
    """What an object was pickled to, and when that still holds."""

    seen: str
    """Digest of its look."""
    cut: tuple[str, ...]
    """The units that were inside it, in their places."""
    unit: tuple[str, list[str], list[str]]
    is_recipe: bool = False
    """It holds a dask collection that workers have not stored."""
    content: str = ""
    """If it is a collection that they have: its content."""


def deep_of(graph: UnitGraph) -> dict[str, str]:
    """Return the deep version of every unit that could be pickled."""
    good = {o: u for o, u in graph.dumped.items() if o not in graph.errors}
    return deep_versions(
        {o: (u[0], u[1]) for o, u in good.items()},
        {o: u[2] for o, u in good.items()},
        graph.members,
    )


def lose_holders(graph: UnitGraph) -> None:
    """Lose every unit that refers to one that cannot be kept."""
    while True:
        lost = {
            object_id: f"it holds {graph.name_of(ref) or 'a part'}: {graph.errors[ref]}"
            for object_id, (_, _, refs) in graph.dumped.items()
            for ref in refs
            if ref in graph.errors and object_id not in graph.errors
        }
        if not lost:
            return
        graph.errors |= lost
