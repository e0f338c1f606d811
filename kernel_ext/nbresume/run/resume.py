"""`%steps resume`: the namespace after the last committed step, all names usable.

The rule: commits and stored ambient values are bound as they stand there; what
cannot be brought back is listed with its reason, never left out silently. Doing it
twice equals doing it once.
"""

from msgspec import Struct, field

from nbresume.capture.atoms import resolve_import
from nbresume.capture.entries import Entry, Made
from nbresume.errors import CaptureError, NbresumeError
from nbresume.model.folded import StoredAmbient
from nbresume.plan.auto import title_of
from nbresume.plan.header import step_name_of
from nbresume.plan.notebook import Cell
from nbresume.run.file_states import Files
from nbresume.run.foresight import foresee, resume_point
from nbresume.run.order import Order
from nbresume.run.parts import Parts
from nbresume.run.position import Demand, Positions, Wanted


class Resumed(Struct):
    """What was brought back, and where to go on."""

    names: int = 0
    missing: list[str] = field(default_factory=list)
    """NAME (why), one by one."""
    always: list[str] = field(default_factory=list)
    """Steps above that are the author's word to run at every resume."""
    steps: list[str] = field(default_factory=list)
    """The committed steps whose values stand in the namespace now."""
    next_cell: str = ""
    next_words: str = ""
    """What a person knows that cell by."""
    resume_from: str = ""


def resume(parts: Parts, order: Order) -> Resumed:
    """Bind the state after the last committed step above the resume point.

    Parameters
    ----------
    parts
        The parts of the sequence, with the run read to its end.
    order
        Notebook order.
    """
    resumed = Resumed()
    point = resume_point(
        foresee(parts.journal.state, order, parts.recovery, Files(parts.world.disk))
    )
    last = point.last
    # a locked step whose code has changed is refused, and what it left stands
    is_locked = point.at is not None and point.at.is_locked
    below = (point.at.place if point.at and is_locked else last) + 1
    positions = Positions(parts.journal.state, order)
    for _, commit in reversed([*positions.commits_above(below)]):
        parts.drift.tell(commit.record)
        resumed.steps.append(commit.record.step)
    _import(parts, resumed)
    parts.process.bring(positions, order, below)
    names = _names(positions, below) | parts.journal.state.ambient.keys()
    for name in sorted(names):
        demand = positions.demand(name, below)
        stored = parts.journal.state.ambient.get(name)
        if stored is not None and _stands(stored, demand, order, below):
            _bind_ambient(parts, name, stored, demand, resumed)
        else:
            _bind(parts, name, demand, resumed)
    resumed.always = list(point.always)
    for following in order.cells[last + 1 : last + 2]:
        resumed.next_cell = following.cell_id
        resumed.next_words = _words(following)
    resumed.resume_from = point.at.step if point.at else ""
    return resumed


def _words(cell: Cell) -> str:
    """Return the step of a cell, or its first words: ids of cells are seen nowhere."""
    if cell.step and (step_name_of(cell.source) or not cell.source):
        return f"step {cell.step}"
    return title_of(cell.source) or cell.cell_id


def _names(positions: Positions, n: int) -> set[str]:
    names: set[str] = set()
    for _, commit in positions.commits_above(n):
        record = commit.record
        names |= {*record.outputs, *record.not_kept, *record.deleted}
    return names


def _stands(stored: StoredAmbient, demand: Demand, order: Order, n: int) -> bool:
    """Say whether the plain cells that made a value all stand where they stood."""
    ambient = stored.ambient
    return (
        bool(ambient.cells)
        and ambient.base == demand.version
        and order.stand(ambient.cells, after=demand.at, before=n)
    )


def _bind(parts: Parts, name: str, demand: Demand, resumed: Resumed) -> None:
    if demand.wanted is Wanted.DELETED:
        parts.live.unset(name)
        return
    if demand.commit is None:
        entry = parts.live.find(name)
        if entry is None:
            resumed.missing.append(f"{name} (the plain cell that made it has changed)")
        elif entry.former:
            resumed.missing.append(f"{name} (it is of another moment: run its cell)")
        return
    entry = parts.live.find(name)
    if entry is not None and entry.version == demand.version:
        return
    try:
        parts.restorer.bind(name, demand.commit)
        parts.live.load(name)
    except NbresumeError as error:
        resumed.missing.append(f"{name} ({error.because or error})")
    else:
        resumed.names += 1


def _bind_ambient(
    parts: Parts, name: str, stored: StoredAmbient, demand: Demand, resumed: Resumed
) -> None:
    ambient = stored.ambient
    entry = parts.live.find(name)
    if entry is not None and parts.live.version(name) == ambient.version:
        return
    base = demand.commit.record.step if demand.commit else ""
    try:
        parts.restorer.bind_ambient(name, ambient, stored.manifest, base_step=base)
    except NbresumeError as error:
        resumed.missing.append(f"{name} ({error.because or error})")
    else:
        resumed.names += 1


def _import(parts: Parts, resumed: Resumed) -> None:
    wanted = [
        (name, target)
        for name, target in parts.journal.state.modules.items()
        if not parts.live.has(name)
    ]
    for name, target in wanted:
        try:
            value = resolve_import(target)
        except CaptureError as error:
            resumed.missing.append(
                f"{name} (import of {target} failed: {error.because})"
            )
        else:
            parts.live.set(name, Entry(value, Made.AMBIENT))
