"""Why a commit would not hold if all cells were run: its inputs, its files.

The rule: asks the folded state, notebook order and the disk, never the namespace. What
runs above is taken to change what it makes: whether it does is known when it has run.
"""

from collections.abc import Iterable

from nbresume.errors import NbresumeError
from nbresume.model.folded import RunState
from nbresume.model.histories import Commit, StepHistory
from nbresume.model.records import Committed
from nbresume.model.values import Ambient
from nbresume.plan.header import MAGIC, Header, find_header, parse_header
from nbresume.plan.key import file_moved
from nbresume.run.conditions import undecided
from nbresume.run.file_states import Files, Where, version_of
from nbresume.run.order import Order
from nbresume.run.position import Demand, Positions, Wanted
from nbresume.run.setters import Setters


class Moves:
    """What has moved under the commits of one run."""

    def __init__(self, state: RunState, order: Order, files: Files) -> None:
        self._positions = Positions(state, order)
        self._setters = Setters(order)
        self._files = files

    def reasons(self, commit: Commit, where: Where, rerun: set[str]) -> list[str]:
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
            ambient = commit.ambient.get(name)
            maker = demand.commit.record.step if demand.commit else ""
            if demand.wanted is Wanted.VALUE and maker in rerun:
                reasons.append(f"{name} may change: step {maker} runs")
            elif is_edited(self._setters, name, ambient, demand, where.n):
                reasons.append(
                    f"{name} may change: a plain cell that sets it is edited"
                )
            elif demand.wanted is not Wanted.VALUE or demand.commit is None:
                if self._positions.has_lost(name, version, where.n):
                    # the step that made it was deleted, or stands below now
                    reasons.append(f"{name} is gone")
            elif demand.version == version:
                continue
            elif ambient is None or ambient.base != demand.version:
                reasons.append(f"{name} changed")
        reasons += self.files(record, where, rerun)
        reasons += [f"step {s} (--after) runs" for s in record.after if s in rerun]
        return reasons

    def maker(self, name: str, where: Where) -> str:
        """Return the step above whose value a name has there; "" if it is no step's."""
        demand = self._positions.demand(name, where.n)
        found = demand.wanted is Wanted.VALUE and demand.commit is not None
        return demand.commit.record.step if found and demand.commit else ""

    def undecided(
        self, history: StepHistory | None, where: Where, rerun: set[str]
    ) -> str:
        """Return why it is open whether a step is taken; "" if it is not."""
        header = header_at(where)
        has_branch = history is not None and history.branch is not None
        if header is None or not (header.when or has_branch):
            return ""
        return undecided(history, header.when, where, rerun, self._files, self._setters)

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


def is_edited(
    setters: Setters, name: str, ambient: Ambient | None, demand: Demand, n: int
) -> bool:
    """Say whether plain cells may make another value of an input than they did.

    What they import (modules, functions of libraries) no intent stores: it is not
    known to be a plain cell's, and taken for unchanged.
    """
    if ambient is None and demand.wanted is not Wanted.VALUE:
        return False
    cells = ambient.cells if ambient is not None else []
    return setters.is_edited(name, cells, after=demand.at, before=n)


def reads_of(where: Where) -> tuple[str, ...]:
    """Return what the header of the cell at a place declares with ``--reads``."""
    header = header_at(where)
    return header.reads if header is not None else ()


def header_at(where: Where) -> Header | None:
    """Return the header of the cell at a place; None if it is refused when it runs."""
    cells = where.order.cells
    source = cells[where.n].source if where.n < len(cells) else ""
    index = find_header(source)
    if index is None:
        return None
    try:
        line = source.splitlines()[index].strip()
        return parse_header(line.removeprefix(MAGIC))
    except NbresumeError:
        return None  # the cell says so when it is run
