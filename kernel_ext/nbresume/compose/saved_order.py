"""Notebook order as a kernel and a server know it: the saved file's."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct

from nbresume.plan import auto
from nbresume.plan.notebook import NAMED, Cell
from nbresume.run.journal import Journal
from nbresume.run.naming import owner_of
from nbresume.run.order import GrowingOrder, Order
from nbresume.run.ports import World

_Read = Callable[[Sequence[Any]], Sequence[Cell]]


class _Known(Struct):
    """An order that was made, and what of."""

    given: Sequence[Any]
    count: int
    """So much of what is given stands in it."""
    auto: bool | None
    is_auto: bool
    """Every cell in it is a step: which ones can be is known of all cells together."""
    growing: GrowingOrder


class SavedOrder:
    """Notebook order as it is known now; made anew only when the cells are others.

    A list that is given again has at most grown: what is new in it is added.
    """

    def __init__(self, world: World, journal: Journal) -> None:
        self._world = world
        self._journal = journal
        self._known: _Known | None = None
        self.auto: bool | None = None
        """Whether every cell is a step; None: as the notebook's own text says."""

    def is_one(self, cell_id: str) -> bool:
        """Say whether no two cells of the saved notebook have this id."""
        return sum(cell.cell_id == cell_id for cell in self().cells) <= 1

    def __call__(self) -> Order:
        """Return notebook order: the saved file's, else that of first intents.

        A name that several cells carry stands where the cell stands that ran it.
        """
        cells, state = self._world.notebook.cells(), self._journal.state
        if cells is not None:
            order = self._order_of(cells, list, "the saved notebook", knows_plain=True)
            return order.owned(lambda name: owner_of(name, state))
        source = "the order in which steps first ran"
        first = state.index.first_intents()
        return self._order_of(first, _as_cells, source, knows_plain=False)

    def _order_of(
        self, given: Sequence[Any], read: _Read, source: str, *, knows_plain: bool
    ) -> Order:
        known = self._known
        if known is None or not self._grow(known, given, read):
            cells = read(given)
            switched = auto.switched(cells) if self.auto is None else self.auto
            is_auto = switched and knows_plain
            growing = GrowingOrder(source, knows_plain=knows_plain)
            growing.add(auto.with_steps(cells) if is_auto else cells)
            known = _Known(given, len(cells), self.auto, is_auto, growing)
            self._known = known
        return known.growing.order

    def _grow(self, known: _Known, given: Sequence[Any], read: _Read) -> bool:
        """Add what is new to a known order; False if it has to be made anew."""
        if given is not known.given or self.auto != known.auto:
            return False
        new = read(given[known.count :])
        if new and (known.is_auto or auto.switched(new)):
            return False
        known.growing.add(new)
        known.count += len(new)
        return True


def _as_cells(first_intents: Sequence[tuple[str, str]]) -> list[Cell]:
    return [
        Cell(cell_id=cell or f"{NAMED}{step}", source="", step=step, text_digest="")
        for step, cell in first_intents
    ]
