"""Files that moved, compared by content while nobody waits: in slices, between cells.

The rule: it finds out nothing that a plan would not find out itself; it only makes the
plan quick.
"""

from collections.abc import Callable

from nbresume.model.folded import RunState
from nbresume.model.values import FileState
from nbresume.run.ports import Disk


class FileSlices:
    """Compares what the commits of one run say of files with the disk."""

    def __init__(self, disk: Disk, state: Callable[[], RunState]) -> None:
        self._disk = disk
        self._state = state
        self._left: list[tuple[str, FileState]] | None = None
        """None: what there is to compare has to be looked up."""

    def start(self) -> None:
        """Begin anew: a cell has ended. Costs nothing: the next cell may follow."""
        self._left = None

    def slice(self, budget_s: float) -> bool:
        """Compare one file, or a part of it; return whether none is left."""
        if self._left is None:
            self._left = self._told()
        if not self._left:
            return True
        name, then = self._left[-1]
        if self._disk.compared(name, then, budget_s) is not None:
            self._left.pop()
        return not self._left

    def _told(self) -> list[tuple[str, FileState]]:
        """Return what the commits that count say of single files."""
        histories = self._state().steps.values()
        records = [c.record for h in histories if (c := h.commit()) is not None]
        return [
            pair
            for record in records
            for pair in (*record.files.items(), *record.made.items())
            if pair[1].kind == "file"
        ]
