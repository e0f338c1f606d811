"""Notebook order: which cell and which step stands where."""

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from nbresume.plan.notebook import Cell

NOWHERE: Final = -1
"""The place of a cell that is not known: it counts as above everything."""


class Order(Struct, frozen=True):
    """Notebook order: where each cell and each step stands."""

    cells: Sequence[Cell]
    source: str
    """Where the order comes from, for people."""
    place_of_cell: Mapping[str, int]
    place_of_step: dict[str, int] | ChainMap[str, int]
    text_of_cell: Mapping[str, str]
    cells_of_text: Mapping[str, Sequence[str]]
    """Digest of a text → the cells that have it."""
    places_of_name: Mapping[str, Sequence[int]]
    """Step name in lower case → where the cells stand that carry it."""
    twins: Mapping[str, None]
    """Names that several cells carry."""
    knows_plain: bool
    """False: only steps are known, plain cells stand nowhere."""

    @classmethod
    def of(cls, cells: list[Cell], source: str, *, knows_plain: bool = True) -> "Order":
        """Return the order of these cells."""
        growing = GrowingOrder(source, knows_plain=knows_plain)
        growing.add(cells)
        return growing.order

    def cell_place(self, cell_id: str) -> int:
        """Return the place of a cell; NOWHERE if it is not in the notebook."""
        return self.place_of_cell.get(cell_id, NOWHERE)

    def step_place(self, step: str) -> int:
        """Return the place of a step; NOWHERE if it is not in the notebook."""
        return self.place_of_step.get(step, NOWHERE)

    def spelled(self, lowered: str) -> tuple[str, ...]:
        """Return the cells that carry a step name, whatever its case."""
        places = self.places_of_name.get(lowered, ())
        return tuple(self.cells[place].cell_id for place in places)

    def named(self, step: str) -> list[Cell]:
        """Return the cells of a step, as its name is written."""
        places = self.places_of_name.get(step.lower(), ())
        return [self.cells[place] for place in places if self.cells[place].step == step]

    def owned(self, owner: Callable[[str], str]) -> "Order":
        """Return the order in which a name that several cells carry is its owner's.

        `owner` tells the cell that a name, in lower case, belongs to; '' if none.
        """
        order = self
        for name in self.twins:
            place = self.cell_place(owner(name))
            step = self.cells[place].step if place >= 0 else None
            if step and step.lower() == name:
                order = order.with_step(step, place)
        return order

    def with_step(self, step: str, place: int) -> "Order":
        """Return the order with this step at this place."""
        if self.place_of_step.get(step) == place:
            return self
        # no copy: this is asked for each new step of a notebook that was not saved
        return replace(self, place_of_step=ChainMap({step: place}, self.place_of_step))

    def stand(
        self, cells: Iterable[tuple[str, str]], *, after: int, before: int
    ) -> bool:
        """Say whether plain cells stand, with their text, between two places.

        The cell of the step above counts: it may have changed its own value unseen.

        Where nothing tells the plain cells (a notebook that was not saved), they
        count as standing: the values that they made are all that is left of them.
        """
        if not self.knows_plain:
            return True
        return all(
            self.text_of_cell.get(cell) == text
            and after <= self.cell_place(cell) < before
            for cell, text in cells
        )


class GrowingOrder:
    """Notebook order to which cells are added at its end, at the cost of those alone.

    The orders that it gave out share its tables: who holds one finds the new cells in
    it, below all that stood there before.
    """

    def __init__(self, source: str, *, knows_plain: bool = True) -> None:
        self._cells: list[Cell] = []
        self._steps: dict[str, int] = {}
        self._places: dict[str, int] = {}
        self._texts: dict[str, str] = {}
        self._of_text: dict[str, list[str]] = {}
        self._of_name: dict[str, list[int]] = {}
        self._twins: dict[str, None] = {}
        self.order = Order(
            cells=self._cells,
            source=source,
            place_of_cell=self._places,
            place_of_step=self._steps,
            text_of_cell=self._texts,
            cells_of_text=self._of_text,
            places_of_name=self._of_name,
            twins=self._twins,
            knows_plain=knows_plain,
        )

    def add(self, cells: Iterable[Cell]) -> None:
        """Let these cells follow."""
        for cell in cells:
            place = len(self._cells)
            self._cells.append(cell)
            if cell.step:
                self._steps.setdefault(cell.step, place)
                lowered = cell.step.lower()
                carriers = self._of_name.setdefault(lowered, [])
                carriers.append(place)
                if len(carriers) > 1:
                    self._twins[lowered] = None
            if cell.cell_id:
                self._places[cell.cell_id] = place
                self._texts[cell.cell_id] = cell.text_digest
            if cell.text_digest:
                self._of_text.setdefault(cell.text_digest, []).append(cell.cell_id)
