"""Plain cells of the saved notebook that set a name, by their text alone.

The rule: for what is said before anything runs; what they do set is known when they
have run. A cell that is no plain Python sets nothing that is known.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable
from functools import lru_cache

from nbresume.model.printing import parse
from nbresume.plan.names import may_store, names_of
from nbresume.run.order import Order


class Setters:
    """Which plain cells of one order set which name."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._places: dict[str, list[int]] | None = None

    def is_edited(
        self,
        name: str,
        cells: Iterable[tuple[str, str]],
        *,
        after: int,
        before: int,
    ) -> bool:
        """Say whether a name may not be what these plain cells once made of it.

        One of them is not there, or has another text, or another cell below them sets
        the name. With no cells: whether a plain cell sets it now.

        Parameters
        ----------
        cells
            (cell id, digest of its text) of those that made or changed it.
        after, before
            The places between which they have to stand.
        """
        order, made = self._order, list(cells)
        if not order.knows_plain:
            return False
        if not all(cell in order.text_of_cell for cell, _ in made):
            # also a cell that was never saved: nothing tells what it says
            return False
        if not order.stand(made, after=after, before=before):
            return True
        last = max([after, *(order.cell_place(cell) for cell, _ in made)])
        return any(last < place < before for place in self._setting(name))

    def _setting(self, name: str) -> list[int]:
        if self._places is None:
            places = defaultdict[str, list[int]](list)
            for place, cell in enumerate(self._order.cells):
                for stored in () if cell.step is not None else _stored(cell.source):
                    places[stored].append(place)
            self._places = dict(places)
        return self._places.get(name, [])


@lru_cache(maxsize=2048)
def _stored(source: str) -> frozenset[str]:
    """Return the names that a text may set, but for those that it imports."""
    tree = parse(source)
    if tree is None:
        return frozenset()
    imports = [n for n in ast.walk(tree) if isinstance(n, ast.Import | ast.ImportFrom)]
    names = {a.asname or a.name.partition(".")[0] for n in imports for a in n.names}
    return may_store(names_of(tree)) - names
