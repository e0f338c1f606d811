"""The objects that are pickled by themselves, while one capture makes their units."""

from dataclasses import dataclass, field
from typing import Any

from nbresume.capture.units import deep_versions


@dataclass(slots=True)
class UnitGraph:
    """The objects that are pickled by themselves, while the units are made."""

    values: dict[str, Any]
    """Object id → live object, of everything that may be referred to."""
    ids: dict[int, str]
    """id() → object id."""
    named: dict[str, str]
    """Object id → one name that is bound to it."""
    cuts: dict[str, tuple[str, ...]]
    """Object id → the unit at each place inside it: what it is cut into."""
    reached: frozenset[int]
    """id() of everything that names reach which share something with these."""
    tight: list[frozenset[str]]
    """Groups of names that become one unit."""
    dumped: dict[str, tuple[str, list[str], list[str]]] = field(default_factory=dict)
    """Object id → (stream, buffers, refs) as digests and object ids."""
    members: dict[str, list[str]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    deep: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What an object was pickled to, and when that still holds."""

    seen: str
    """Digest of its look."""
    cut: tuple[str, ...]
    """The units that were inside it, in their places."""
    unit: tuple[str, list[str], list[str]]


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
            object_id: f"it holds {graph.named.get(ref, 'a part')}: {graph.errors[ref]}"
            for object_id, (_, _, refs) in graph.dumped.items()
            for ref in refs
            if ref in graph.errors and object_id not in graph.errors
        }
        if not lost:
            return
        graph.errors |= lost
