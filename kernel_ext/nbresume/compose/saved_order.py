"""Notebook order as a kernel and a server know it: the saved file's."""

from nbresume.plan import auto
from nbresume.plan.notebook import Cell
from nbresume.run.journal import Journal
from nbresume.run.naming import owner_of
from nbresume.run.order import Order
from nbresume.run.ports import World


class SavedOrder:
    """Notebook order as it is known now; made anew only when the cells are others."""

    def __init__(self, world: World, journal: Journal) -> None:
        self._world = world
        self._journal = journal
        self._known: tuple[tuple[Cell, ...], bool | None, Order] | None = None
        self.auto: bool | None = None
        """Whether every cell is a step; None: as the notebook's own text says."""

    def is_one(self, cell_id: str) -> bool:
        """Say whether no two cells of the saved notebook have this id."""
        return sum(cell.cell_id == cell_id for cell in self().cells) <= 1

    def __call__(self) -> Order:
        """Return notebook order: the saved file's, else that of first intents.

        A name that several cells carry stands where the cell stands that ran it.
        """
        cells = self._world.notebook.cells()
        if cells is None:
            return _by_first_intents(self._journal)
        now = (tuple(cells), self.auto)
        if self._known is None or self._known[:2] != now:
            if auto.switched(cells) if self.auto is None else self.auto:
                cells = auto.with_steps(cells)
            self._known = (*now, Order.of(cells, "the saved notebook"))
        state = self._journal.state
        return self._known[2].owned(lambda name: owner_of(name, state))


def _by_first_intents(journal: Journal) -> Order:
    histories = sorted(
        journal.state.steps.values(), key=lambda history: history.first_revision
    )
    found = [
        Cell(
            cell_id=h.attempt.intent.cell_id if h.attempt else f"step:{h.name}",
            source="",
            step=h.name,
            text_digest="",
        )
        for h in histories
    ]
    source = "the order in which steps first ran"
    return Order.of(found, source, knows_plain=False)
