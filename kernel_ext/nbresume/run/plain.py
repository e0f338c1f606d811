"""Plain cells: what they make or change is ambient until an intent stores it."""

from msgspec import Struct

from nbresume.capture.entries import CellText
from nbresume.capture.live import Live
from nbresume.plan.names import Names, names_in_strings
from nbresume.run.local_code import LocalCode
from nbresume.run.process import ProcessStates


class _Baseline(Struct, frozen=True):
    touched: frozenset[str]
    assigned: frozenset[str] = frozenset()
    """Names that the cell surely assigns."""


class PlainCells:
    """Watches plain cells of one kernel."""

    def __init__(self, live: Live, process: ProcessStates, code: LocalCode) -> None:
        self._code = code
        self._live = live
        self._process = process
        self._baseline: _Baseline | None = None

    def begin(self, names: Names) -> None:
        """Look at every value that a cell with these names could change."""
        live = self._live
        live.mark()
        if names.wild:
            live.load_all(live.pending)
            used = frozenset(live.users())
        else:
            used = live.closure(names.reads | names_in_strings(names.strings))
        touched = live.touched(used)
        for name in touched:
            live.look(name)
        self._process.begin_plain()
        self._baseline = _Baseline(touched, frozenset(names.surely_stores))

    def begin_unseen(self) -> None:
        """Start with what there is: the cell that loads the extension runs already."""
        self._process.begin_plain()
        self._live.mark()
        self._baseline = _Baseline(frozenset())

    def end(self, cell: CellText, source: str) -> None:
        """Mark what the cell made, changed or deleted.

        Nothing happens if `begin` was not called: a cell that cannot be parsed did
        not run.
        """
        baseline, self._baseline = self._baseline, None
        self._code.loaded.note()
        if baseline is not None:
            self._process.end_plain(cell, source)
            self._live.note_plain(
                cell, touched=baseline.touched, assigned=baseline.assigned
            )
