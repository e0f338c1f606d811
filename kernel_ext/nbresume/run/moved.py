"""Why a commit would not hold if all cells were run: its inputs, its files.

The rule: asks the folded state, notebook order and the disk, never the namespace. What
runs above is taken to change what it makes: whether it does is known when it has run.
"""

from collections.abc import Iterable

from nbresume.errors import NbresumeError
from nbresume.model.histories import Commit, StepHistory
from nbresume.model.records import Committed
from nbresume.model.values import Ambient
from nbresume.plan.header import MAGIC, find_header, parse_header
from nbresume.plan.key import file_moved
from nbresume.run.file_states import Files, Where, version_of
from nbresume.run.position import Demand, Positions, Wanted


class Moves:
    """What has moved under the commits of one run."""

    def __init__(self, positions: Positions, files: Files) -> None:
        self._positions = positions
        self._files = files

    def reasons(
        self, history: StepHistory, commit: Commit, where: Where, rerun: set[str]
    ) -> list[str]:
        """Return why a commit's inputs are not what stands above it now.

        Parameters
        ----------
        where
            Where its step stands.
        rerun
            Steps above that would run.
        """
        record = commit.record
        reasons = []
        for name, version in record.inputs.items():
            demand = self._positions.demand(name, where.n)
            ambient = ambient_of(history, name)
            maker = demand.commit.record.step if demand.commit else ""
            if demand.wanted is Wanted.VALUE and maker in rerun:
                reasons.append(f"{name} may change: step {maker} runs")
            elif ambient is not None and is_edited(ambient, demand, where):
                reasons.append(
                    f"{name} may change: a plain cell that sets it is edited"
                )
            elif demand.wanted is not Wanted.VALUE or demand.version == version:
                continue
            elif ambient is None or ambient.base != demand.version:
                reasons.append(f"{name} changed")
        reasons += self.files(record, where, rerun)
        reasons += [f"step {s} (--after) runs" for s in record.after if s in rerun]
        return reasons

    def files(self, record: Committed, where: Where, rerun: set[str]) -> list[str]:
        """Return which files are not what they were, or would not be."""
        if not record.files and not record.made and not reads_of(where):
            return []
        today = self._files.today(record, where, reads_of(where))
        reasons = []
        for name, now in today.items():
            state = record.files.get(name)
            then = version_of(state) if state is not None else None
            maker = maker_of(name, where, rerun)
            if maker:
                reasons.append(f"{name} may change: step {maker} runs")
            elif then != now:
                reasons.append(file_moved(name, then, now))
        left = self._files.left_otherwise(record, where)
        return [*reasons, left] if left else reasons


def maker_of(file: str, where: Where, rerun: Iterable[str]) -> str:
    """Return the step above that would run and wrote a file; "" if none."""
    above = [
        (place, record.step)
        for place, record in where.writers(file)
        if 0 <= place < where.n and record.step in rerun
    ]
    return max(above)[1] if above else ""


def ambient_of(history: StepHistory, name: str) -> Ambient | None:
    """Return the value that a plain cell gave an input, as the last intent has it."""
    attempt = history.attempt
    return attempt.intent.ambient.get(name) if attempt else None


def is_edited(ambient: Ambient, demand: Demand, where: Where) -> bool:
    """Say whether a plain cell that made a value is not there, or has another text."""
    order = where.order
    if not order.knows_plain or not ambient.cells:
        return False
    if not all(cell in order.text_of_cell for cell, _ in ambient.cells):
        # also a cell that was never saved: nothing tells what it says
        return False
    return not order.stand(ambient.cells, after=demand.at, before=where.n)


def reads_of(where: Where) -> tuple[str, ...]:
    """Return what the header of the cell at a place declares with ``--reads``."""
    cells = where.order.cells
    source = cells[where.n].source if where.n < len(cells) else ""
    index = find_header(source)
    if index is None:
        return ()
    try:
        line = source.splitlines()[index].strip()
        return parse_header(line.removeprefix(MAGIC)).reads
    except NbresumeError:
        return ()  # the cell says so when it is run
