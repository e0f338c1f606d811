"""Why a step would be replayed, run or refused: its verdict, cue by cue.

The rule: a pure function of the folded state, notebook order and the RunView; what is
known only when the step runs is told as not known, never guessed.
"""

import msgspec

from nbresume.model.folded import Commit, RunState, StepHistory
from nbresume.model.printing import parse
from nbresume.model.states import State
from nbresume.plan.code_version import code_version
from nbresume.plan.header import body_of
from nbresume.plan.planner import Verdict
from nbresume.run.position import Order, Positions, Wanted
from nbresume.run.view import RunView, StepView
from nbresume.run.ways import Way

RUN = "run"
"""What a step does that has never run, in place of `Verdict.RERUN`."""
_LATER = "known when the step runs"


class _Told(msgspec.Struct, frozen=True, kw_only=True):
    pass


class PlannedStep(_Told, frozen=True, kw_only=True):
    """What running all cells would do with one step."""

    step: str
    cell_id: str
    verdict: str
    """replay, rerun or refused; run for a step that has never run."""
    duration_s: float | None
    """How long it took last time."""
    why: str


class Plan(_Told, frozen=True, kw_only=True):
    """What running all cells would do."""

    headline: str
    differs: list[str]
    steps: list[PlannedStep]


class Cue(_Told, frozen=True, kw_only=True):
    """One thing that a commit depends on, as it was and as it is."""

    cue: str
    """``its code``, ``input x``, ``after load``."""
    then: str
    """Its version at the commit; empty if it was none."""
    now: str
    is_changed: bool | None
    """None: it is known only when the step runs."""
    text: str


class Explained(_Told, frozen=True, kw_only=True):
    """Why a step would be replayed, run or refused."""

    step: str
    verdict: str
    sentence: str
    cues: list[Cue]
    """Empty if the step has no commit."""
    ways: list[Way]


def verdict_of(step: StepView) -> str:
    """Return what running all cells would do with a step, in one word."""
    if step.plan is Verdict.RERUN and step.revision < 0 and not step.attempts:
        return RUN
    return step.plan.value


def explain(step: StepView, view: RunView, state: RunState, order: Order) -> Explained:
    """Return why a step would be replayed, run or refused.

    Parameters
    ----------
    step
        The step, as the view shows it.
    view
        The whole run: what runs above moves inputs below.
    state, order
        The folded state, and the notebook's cells in order.
    """
    history = state.step(step.name)
    commit = history.commit() if history else None
    cues: list[Cue] = []
    if history is not None and commit is not None and step.place >= 0:
        positions = Positions(state, order)
        rerun = {s.name for s in view.steps if s.plan is not Verdict.REPLAY}
        cues = [
            _code(commit, order.cells[step.place].source),
            *_inputs(history, commit, step.place, positions, rerun),
            *_after(commit, state, rerun),
        ]
    return Explained(
        step=step.name,
        verdict=verdict_of(step),
        sentence=_sentence(step),
        cues=cues,
        ways=step.ways,
    )


def _sentence(step: StepView) -> str:
    reasons = "; ".join(step.reasons)
    match step.plan:
        case Verdict.REPLAY:
            why = reasons or "nothing that it depends on has changed"
            return f"step {step.name} is replayed: {why}"
        case Verdict.REFUSED:
            stale = step.state is State.STALE
            held = "it is committed and acts on the outside; " if stale else ""
            return f"step {step.name} is refused: {held}{reasons or step.state.value}"
    why = reasons or ("new" if step.revision < 0 else "asked for, or --always")
    return f"step {step.name} runs: {why}"


def _code(commit: Commit, source: str) -> Cue:
    # a body with magics is no plain Python: its version is known when it runs
    tree = parse(body_of(source)) if source else None
    now = code_version(tree) if tree is not None else ""
    return _cue("its code", commit.record.code_version, now)


def _inputs(
    history: StepHistory,
    commit: Commit,
    place: int,
    positions: Positions,
    rerun: set[str],
) -> list[Cue]:
    intent = history.attempt.intent if history.attempt else None
    cues = []
    for name, version in commit.record.inputs.items():
        demand = positions.demand(name, place)
        made = demand.commit.record.step if demand.commit else ""
        kept = intent.ambient.get(name) if intent else None
        cue = f"input {name}"
        if demand.wanted is not Wanted.VALUE:
            cues.append(_unknown(cue, version, "a plain cell makes it"))
        elif made in rerun:
            cues.append(_unknown(cue, version, f"step {made} runs"))
        elif kept is not None and kept.base == demand.version:
            cues.append(_unknown(cue, version, f"a plain cell changes {made}'s value"))
        else:
            cues.append(_cue(cue, version, demand.version, by=made))
    return cues


def _after(commit: Commit, state: RunState, rerun: set[str]) -> list[Cue]:
    cues = []
    for step, key in commit.record.after.items():
        other = state.commit(step)
        if step in rerun or other is None:
            cues.append(_unknown(f"after {step}", key, f"step {step} runs"))
        else:
            cues.append(_cue(f"after {step}", key, other.record.key, by=step))
    return cues


def _unknown(cue: str, then: str, because: str) -> Cue:
    return Cue(cue=cue, then=then, now="", is_changed=None, text=f"{_LATER}: {because}")


def _cue(cue: str, then: str, now: str, *, by: str = "") -> Cue:
    if not now:
        return _unknown(cue, then, "its cell has magics")
    changed = then != now
    made = f", made by step {by}" if by else ""
    text = f"changed{made}" if changed else f"as it was{made}"
    return Cue(cue=cue, then=then, now=now, is_changed=changed, text=text)
