"""What running all cells would do with each step, and where a resume begins.

The rule: the resume point is this one function of the newest folded state, notebook
order and the liveness of the claimant. Kernel, view and page go by it, so what is
bound, what is shown and what is run cannot differ.
"""

from msgspec import Struct
from msgspec.structs import replace

from nbresume.errors import NbresumeError
from nbresume.model.folded import RunState
from nbresume.model.histories import Commit, StepHistory
from nbresume.model.states import State
from nbresume.plan.code_version import version_of_text
from nbresume.plan.header import body_of, header_of
from nbresume.plan.notebook import Cell
from nbresume.plan.planner import Verdict
from nbresume.run.automatic import runs_anew
from nbresume.run.file_states import Files, Where
from nbresume.run.moved import Moves
from nbresume.run.order import Order
from nbresume.run.recovery import Recovery

_WAITS = (State.AMBIGUOUS, State.ABANDONED)
_STANDS = (Verdict.REPLAY, Verdict.NOT_TAKEN)


class Foreseen(Struct, frozen=True):
    """What running all cells would do with one step of the notebook."""

    step: str
    place: int
    cell_id: str
    history: StepHistory | None
    state: State
    plan: Verdict
    reasons: tuple[str, ...]
    """Why it is stale, or may be; why it is refused."""
    always: bool
    """Its author lets it run each time: at every resume, too."""

    @property
    def holds(self) -> bool:
        """Say whether a resume may begin below it.

        Its commit is valid, or the author's word is that running it again is safe.
        """
        if self.plan in _STANDS:
            return True
        commit = self.history.commit() if self.history else None
        return self.always and commit is not None and self.plan is Verdict.RERUN

    @property
    def is_locked(self) -> bool:
        """Say whether it has acted on the outside, and its code or inputs moved since.

        It is refused, and steps below it are built on what it committed.
        """
        return self.state is State.STALE and self.plan is Verdict.REFUSED


class ResumePoint(Struct, frozen=True):
    """Where a run goes on."""

    at: Foreseen | None
    """The first step that does not hold; None if all do."""
    last: int
    """Place of the last step above it: what stands below that cell is run; -1: all."""
    always: tuple[str, ...]
    """The ``--always`` steps above it, which a resume runs first."""


def resume_point(steps: list[Foreseen]) -> ResumePoint:
    """Return where a run goes on, from its steps in notebook order."""
    first = next((i for i, one in enumerate(steps) if not one.holds), len(steps))
    above = steps[:first]
    return ResumePoint(
        at=steps[first] if first < len(steps) else None,
        last=above[-1].place if above else -1,
        always=tuple(one.step for one in above if one.always),
    )


def foresee(
    state: RunState, order: Order, recovery: Recovery, files: Files
) -> list[Foreseen]:
    """Return what running all cells would do, step by step in notebook order."""
    moves = Moves(state, order, files)
    found: list[Foreseen] = []
    moving = _Moving(set(), set())
    blocked = ""
    placed = sorted(order.place_of_step.items(), key=lambda pair: pair[1])
    for step, place in placed:
        history = state.step(step)
        where = Where(state, order, place)
        moved = _moved(history, moves, where, moving)
        one = _foreseen(step, place, history, order, recovery, moved)
        one = _undecided(one, moves.undecided(history, where, moving.surely))
        one = _below(one, blocked)
        if one.always and one.holds and one.state is not State.STALE:
            moving.perhaps.add(step)
        elif one.plan not in _STANDS:
            moving.surely.add(step)
        if one.state in _WAITS:
            blocked = blocked or step
        found.append(one)
    return found


class _Moving(Struct, frozen=True):
    """The steps above that run."""

    surely: set[str]
    perhaps: set[str]
    """They are ``--always``, and most often make again what they made before."""


class _Moved(Struct, frozen=True):
    """Why a commit's inputs are not, or may not be, what stands above it now."""

    stale: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    """Only running the step above tells; until then the commit holds."""


def _below(one: Foreseen, blocked: str) -> Foreseen:
    """Refuse what would run below a step that is in doubt."""
    if not blocked or one.plan is not Verdict.RERUN:
        return one
    reasons = (f"step {blocked} above it is in doubt",)
    return replace(one, plan=Verdict.REFUSED, reasons=reasons)


def _undecided(one: Foreseen, why: str) -> Foreseen:
    """Let a step whose condition is open run, as far as that is known."""
    if not why or one.plan is Verdict.REFUSED:
        return one
    return replace(one, plan=Verdict.RERUN, reasons=(why, *one.reasons))


def _moved(
    history: StepHistory | None, moves: Moves, where: Where, moving: _Moving
) -> _Moved:
    commit = history.commit() if history else None
    if history is None or commit is None:
        return _Moved()
    stale = moves.reasons(commit, where, moving.surely)
    perhaps = [
        f"{name} is made anew by step {maker} (--always)"
        for name in commit.record.inputs
        if (maker := moves.maker(name, where)) in moving.perhaps
    ]
    return _Moved(tuple(stale), () if stale else tuple(perhaps))


def _foreseen(
    step: str,
    place: int,
    history: StepHistory | None,
    order: Order,
    recovery: Recovery,
    moved: _Moved,
) -> Foreseen:
    cell = order.cells[place]
    state = recovery.state(history)
    commit = history.commit() if history else None
    always = _is_always(cell, history, commit)
    reasons: tuple[str, ...] = ()
    if state is State.ERASED and history is not None:
        reasons = (f"its values were {history.erased}",)
    if commit is not None and state not in (*_WAITS, State.NOT_TAKEN):
        reasons = (*_edited(commit, cell.source), *moved.stale)
    if reasons and state is State.COMMITTED:
        state = State.STALE
    plan = _plan(state, commit, history, is_stale=bool(reasons), always=always)
    if plan is Verdict.REPLAY:
        reasons = moved.perhaps
    return Foreseen(
        step=step,
        place=place,
        cell_id=cell.cell_id,
        history=history,
        state=state,
        plan=plan,
        reasons=reasons,
        always=always,
    )


def _edited(commit: Commit, source: str) -> list[str]:
    # a body with magics is no plain Python: its version is known when it runs
    now = version_of_text(body_of(source)) if source else ""
    edited = now not in ("", commit.record.code_version)
    return ["its code changed"] if edited else []


def _plan(
    state: State,
    commit: Commit | None,
    history: StepHistory | None,
    *,
    is_stale: bool,
    always: bool,
) -> Verdict:
    if state in _WAITS:
        return Verdict.REFUSED
    if state is State.NOT_TAKEN:
        return Verdict.NOT_TAKEN
    rerun = history is not None and history.rerun is not None
    if state is State.ERASED and history is not None:
        left = history.left()
        is_locked = left is not None and left.record.effects and not rerun
        return Verdict.REFUSED if is_locked else Verdict.RERUN
    if commit is None or state in (State.RAN, State.RUNNING):
        return Verdict.RERUN
    if is_stale and commit.record.effects and not rerun:
        return Verdict.REFUSED
    return Verdict.RERUN if is_stale or rerun or always else Verdict.REPLAY


def _is_always(cell: Cell, history: StepHistory | None, commit: Commit | None) -> bool:
    """Say whether a step runs each time: by its header as it stands now.

    Without a header it does if its commit could not keep all that it made.
    """
    if commit is not None and commit.record.effects:
        return False  # acting on the outside counts for more
    attempt = history.attempt if history else None
    if not cell.source:
        return attempt is not None and attempt.intent.options.always
    try:
        header = header_of(cell.source)
    except NbresumeError:
        return False  # it is refused when it is run
    if header is not None:
        return header.always
    return runs_anew(history, version_of_text(cell.source))
