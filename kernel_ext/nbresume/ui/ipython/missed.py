"""Where a name is that a cell missed: a NameError alone tells nobody what to do.

The rule: only said where a NameError stands; it looks at texts and records, runs
nothing, and says nothing that it does not know.
"""

from collections.abc import Iterator

from IPython.core.inputtransformer2 import TransformerManager

from nbresume.model.folded import RunState
from nbresume.model.printing import parse
from nbresume.plan.header import body_of
from nbresume.plan.names import names_of
from nbresume.plan.notebook import Cell
from nbresume.run.order import Order

_SHOWN = 48
"""Characters of a cell's first line by which it is named."""


def place_of(error: NameError, state: RunState, order: Order, cell_id: str) -> str:
    """Return where a name is that a cell missed, and what to do; "" if nobody knows."""
    name = error.name or ""
    return _committed(name, state) or _made(name, order, order.cell_place(cell_id))


def _committed(name: str, state: RunState) -> str:
    for step in state.index.committing(name):
        commit = state.commit(step)
        if commit is not None and name in commit.record.outputs:
            return (
                f"step {step} has committed {name}, and this kernel does not have it: "
                "%steps resume binds what is committed"
            )
    return ""


def _made(name: str, order: Order, place: int) -> str:
    """Return which cell of the saved notebook makes it; above rather than below."""
    makers = [n for n in _making(name, order) if n != place]
    above = [n for n in makers if place < 0 or n < place]
    if above:
        return f"{_called(order.cells[above[-1]])} makes {name}: run it first"
    if makers:
        said = _called(order.cells[makers[0]])
        return f"{said}, further down, makes {name}: run the cells from the top"
    return ""


def _making(name: str, order: Order) -> Iterator[int]:
    for place, cell in enumerate(order.cells):
        if name in cell.source and name in _names_made(cell.source):
            yield place


def _names_made(source: str) -> frozenset[str]:
    """Return the names that a cell leaves, those that it imports among them."""
    try:
        manager = TransformerManager()  # type: ignore[no-untyped-call] # has no types
        text = manager.transform_cell(body_of(source))
    except SyntaxError:
        return frozenset()
    tree = parse(text)
    if tree is None:
        return frozenset()
    names = names_of(tree)
    return names.stores - names.deletes


def _called(cell: Cell) -> str:
    if cell.step:
        return f"step {cell.step}"
    lines = (line.strip() for line in cell.source.splitlines())
    first = next((line for line in lines if line and not line.startswith("#")), "")
    cut = f"{first[:_SHOWN]} …" if len(first) > _SHOWN else first
    return f"the cell that begins with `{cut}`"
