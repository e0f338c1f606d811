"""Notebook order: which cell and which step stands where."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from nbresume.plan.notebook import Cell

NOWHERE: Final = -1
"""The place of a cell that is not known: it counts as above everything."""


class Order(Struct, frozen=True):
    """Notebook order: where each cell and each step stands."""

    cells: tuple[Cell, ...]
    source: str
    """Where the order comes from, for people."""
    place_of_cell: Mapping[str, int]
    place_of_step: Mapping[str, int]
    text_of_cell: Mapping[str, str]
    cells_of_name: Mapping[str, tuple[str, ...]]
    """Step name in lower case → the cells that carry it."""
    twins: tuple[str, ...]
    """Names that several cells carry."""
    knows_plain: bool
    """False: only steps are known, plain cells stand nowhere."""

    @classmethod
    def of(cls, cells: list[Cell], source: str, *, knows_plain: bool = True) -> "Order":
        """Return the order of these cells."""
        steps: dict[str, int] = {}
        carriers = defaultdict[str, list[str]](list)
        for place, cell in enumerate(cells):
            if cell.step:
                steps.setdefault(cell.step, place)
                carriers[cell.step.lower()].append(cell.cell_id)
        return cls(
            cells=tuple(cells),
            source=source,
            place_of_cell={c.cell_id: i for i, c in enumerate(cells) if c.cell_id},
            place_of_step=steps,
            text_of_cell={c.cell_id: c.text_digest for c in cells if c.cell_id},
            cells_of_name={name: tuple(ids) for name, ids in carriers.items()},
            twins=tuple(name for name, ids in carriers.items() if len(ids) > 1),
            knows_plain=knows_plain,
        )

    def cell_place(self, cell_id: str) -> int:
        """Return the place of a cell; NOWHERE if it is not in the notebook."""
        return self.place_of_cell.get(cell_id, NOWHERE)

    def step_place(self, step: str) -> int:
        """Return the place of a step; NOWHERE if it is not in the notebook."""
        return self.place_of_step.get(step, NOWHERE)

    def spelled(self, lowered: str) -> tuple[str, ...]:
        """Return the cells that carry a step name, whatever its case."""
        return self.cells_of_name.get(lowered, ())

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
        return replace(self, place_of_step={**self.place_of_step, step: place})

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
