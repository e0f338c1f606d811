"""The dask collections of one capture: which workers store, and what they are then.

The rule: what a step made is stored by workers; what a plain cell made, and what a loop
saves on its way, stays the recipe that it is. One that is stored already is not
computed again.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nbresume.capture.entries import Made
from nbresume.capture.lazies import (
    Kept,
    holds_data,
    is_collection,
    is_storable,
    stand_on,
    stored,
)
from nbresume.capture.live import VALUE, Live
from nbresume.capture.looks import Look
from nbresume.capture.registry import DEFAULT
from nbresume.capture.unit_graph import Remembered, UnitGraph
from nbresume.model.manifest import Place

if TYPE_CHECKING:
    from nbresume.capture.shelving import Shelf

NewShelf = Callable[[], "Shelf"]
"""Makes what takes up what workers write."""


class Collections:
    """The dask collections that one capture meets."""

    def __init__(
        self,
        live: Live,
        new_shelf: NewShelf | None,
        *,
        is_plain: Callable[[str | None], bool],
    ) -> None:
        self._live = live
        self._new_shelf = new_shelf
        """Makes what takes up what workers write; None if they do not write."""
        self._places: Mapping[str, Place] = {}
        self._is_plain = is_plain
        """Says whether a name is a plain cell's."""
        self._kept: dict[int, Kept] = {}
        self._contents: dict[int, str] = {}
        self._alive: list[Any] = []

    @property
    def places(self) -> Mapping[str, Place]:
        """Digest → place of what workers wrote."""
        return self._places

    def keep(
        self,
        graph: UnitGraph,
        names: Iterable[str],
        remembered: Callable[[str], Remembered | None],
    ) -> None:
        """Have workers store what these names reach and nobody has stored.

        Parameters
        ----------
        graph
            The units of the capture.
        names
            Those that are captured.
        remembered
            Gives what a unit was pickled to, if that still holds.

        Raises
        ------
        CaptureError
            The work failed.
        StoreError
            A worker could not write.
        """
        if self._new_shelf is None:
            return
        wanted: dict[int, tuple[Any, str]] = {}
        for name in names:
            for value in _collections(self._live.look(name)):
                unit = (
                    graph.units.get(id(value))
                    or graph.units[id(self._live.names.compound[name])]
                )
                if id(value) in self._kept or self._is_plain(graph.name_of(unit)):
                    continue
                known = remembered(unit)
                if known is None:
                    wanted[id(value)] = value, unit
                elif known.content:
                    self._contents[id(value)] = known.content
        if not wanted:
            return
        # most kernels never meet such a collection
        from nbresume.capture.shelving import keep  # noqa: PLC0415

        shelf = self._new_shelf()
        self._places = shelf.places
        found = keep(wanted, shelf)
        self._alive += [value for value, _ in wanted.values()]
        self._kept |= found
        self._contents |= {key: one.content for key, one in found.items()}

    def stand_on(self, opened: Callable[[str], Any | None]) -> None:
        """Let recipes that were stored stand on the store: their commit stands.

        Else their work would be done again whenever they are used, and might give
        something else than what is stored. What lies in memory stays there.

        Parameters
        ----------
        opened
            Gives what reads a payload, by its digest; None if it was not kept.
        """
        moved = set()
        for value in self._alive:
            kept = self._kept[id(value)]
            pieces = [*map(opened, kept.payloads)]
            if None not in pieces and not holds_data(value):
                stand_on(value, kept.make(*pieces, *kept.arguments))
                moved.add(id(value))
        self._kept, self._contents, self._alive = {}, {}, []
        self._live.look_again(moved)

    def of(self, name: str | None) -> Mapping[int, Kept]:
        """Return how collections are pickled in a unit; a plain cell's are recipes."""
        return {} if self._is_plain(name) else self._kept

    def content(self, value: Any) -> str:
        """Return the content of a collection that is stored; "" of anything else."""
        return self._contents.get(id(value), "")

    def is_recipe(self, name: str | None) -> bool:
        """Say whether the unit of a name holds a collection that is not stored."""
        found = _collections(self._live.look(name)) if name else []
        return any(id(value) not in self._contents for value in found)

    def is_good(self, name: str, known: Remembered) -> bool:
        """Say whether what was pickled is what this capture would make of it."""
        return not known.is_recipe or self._new_shelf is None or self._is_plain(name)

    def version(self, name: str) -> str | None:
        """Return a name's version by the content of what it holds; None without any."""
        entry = self._live.entry(name)
        if entry.made is Made.COMMITTED or self._contents.keys().isdisjoint(
            self._live.look(name).reach
        ):
            return None
        digest = self._live.fresh_look(entry.value, self._contents).digest
        return None if digest is None else VALUE + digest


def _collections(seen: Look) -> list[Any]:
    """Return the collections in a value that workers can store and have not."""
    return [
        value
        for value in seen.singles
        if is_collection(value)
        and DEFAULT.find(type(value)) is None
        and stored(value) is None
        and is_storable(value)
    ]
