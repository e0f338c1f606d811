"""How the RunView of a run is made: a row for each step, in notebook order.

The rule: a pure function of the newest folded state, notebook order and the liveness
of the claimant. It reads no payload and no namespace.
"""

from datetime import datetime

from nbresume.model.effects import open_keys
from nbresume.model.evidence import words
from nbresume.model.folded import RunState
from nbresume.model.histories import StepHistory
from nbresume.model.records import Committed
from nbresume.model.states import Outcome, State
from nbresume.plan.auto import title_of
from nbresume.plan.header import find_header
from nbresume.plan.planner import Verdict
from nbresume.run.definition import differences, same_ids
from nbresume.run.doubt import word_would_settle
from nbresume.run.file_states import Files
from nbresume.run.foresight import Foreseen, foresee, resume_point
from nbresume.run.looping import progress_view
from nbresume.run.metrics import Counts, metrics_of
from nbresume.run.order import NOWHERE, Order
from nbresume.run.ports import World
from nbresume.run.recovery import Recovery
from nbresume.run.view import (
    LOCKED,
    SCHEMA,
    ClaimView,
    OriginView,
    RunView,
    StepView,
)
from nbresume.run.ways import Way, remedy, ways_out
from nbresume.settings import __version__


def view_run(
    state: RunState,
    order: Order,
    recovery: Recovery,
    world: World,
    *,
    run_id: str,
    alive: bool | None,
    counts: Counts,
    trusted: bool = True,
) -> RunView:
    """Return what people see of a run.

    Parameters
    ----------
    state, order
        The folded state, and the notebook's cells in order.
    recovery, world
        Tell liveness and who "I" am.
    run_id
        Id of the run.
    alive
        Whether the claimant's process runs.
    counts
        What this process met while it read and wrote the run.
    trusted
        False: the records were not vouched for; nothing of the run may be loaded.
    """
    files = Files(world.disk, budget_s=world.patience_s)
    foreseen = foresee(state, order, recovery, files)
    resume = resume_point(foreseen).at
    steps = _views(foreseen, state, order, recovery)
    in_doubt = sum(step.state is State.AMBIGUOUS for step in steps)
    claim, holder = state.claim, _claim_view(state, world, alive=alive)
    return RunView(
        schema=SCHEMA,
        version=__version__,
        run_id=run_id,
        workflow=claim.workflow if claim else world.notebook.workflow,
        notebook=claim.notebook if claim else world.notebook.path,
        order=order.source,
        trusted=trusted,
        differs=[
            *differences(state, order, world),
            *_releases(holder, world),
            *same_ids(order),
            *_unsure(files),
        ],
        headline=_headline(steps, resume),
        resume_from=resume.step if resume else "",
        resume_cell=resume.cell_id if resume else "",
        revision=state.revision,
        steps=steps,
        claim=holder,
        usage=state.usage,
        metrics=metrics_of(state, counts, in_doubt=in_doubt),
        damaged=[*state.quarantined, *state.damaged],
        origin=_origin_view(state),
    )


def _claim_view(
    state: RunState, world: World, *, alive: bool | None
) -> ClaimView | None:
    claim, at = state.claim, state.claimed_at
    if claim is None or at is None:
        return None
    return ClaimView(
        epoch=state.epoch,
        pid=claim.writer.pid,
        host=claim.writer.host,
        actor=claim.actor,
        at=at,
        product=claim.writer.product,
        alive=alive,
        mine=claim.writer.nonce == world.liveness.me().nonce,
    )


def _origin_view(state: RunState) -> OriginView | None:
    origin = state.origin
    if origin is None:
        return None
    return OriginView(run=origin.run, at=origin.at, revision=origin.revision)


def _releases(claim: ClaimView | None, world: World) -> list[str]:
    """Tell that the kernel that holds the run has another release than this process."""
    here = world.liveness.me().product
    if claim is None or not claim.alive or claim.product == here:
        return []
    told = f"the kernel that holds the run has {claim.product}, this is {here}; "
    return [told + "install the same release in both environments, then restart both"]


def _unsure(files: Files) -> list[str]:
    """Tell which files would take long to compare: a plan does it, a look does not."""
    names = ", ".join(dict.fromkeys(files.unsure))
    told = "touched since, and not compared yet (%steps plan does it)"
    return [f"{names}: {told}"] if names else []


def _views(
    steps: list[Foreseen], state: RunState, order: Order, recovery: Recovery
) -> list[StepView]:
    gone = [h for s, h in state.steps.items() if s not in order.place_of_step]
    orphans = [_orphan(history, order, recovery) for history in gone]
    return [_step_view(one, recovery, order) for one in [*steps, *orphans]]


def _why(one: Foreseen, recovery: Recovery) -> list[str]:
    history, state = one.history, one.state
    if one.plan is Verdict.NOT_TAKEN:
        return ["its condition is false"]
    attempt = history.attempt if history else None
    if history is None or attempt is None:
        return []
    match state:
        case State.AMBIGUOUS:
            return [recovery.doubt(history)]
        case State.FAILED if attempt.failed:
            raised = f"it raised {attempt.failed.error_type}"
            return [raised, *filter(None, [words(attempt.seen)])]
        case State.INTERRUPTED:
            return ["its kernel ended, or lost the run, while it ran"]
        case State.ABANDONED if attempt.resolution:
            return [attempt.resolution.because]
        case _:
            return []


def _ways(
    step: str, state: State, plan: Verdict, history: StepHistory | None
) -> list[Way]:
    return ways_out(
        step,
        state,
        open_keys(history.effects) if history else [],
        word=history is not None and word_would_settle(history),
        locked=plan is Verdict.REFUSED and state in (State.STALE, State.ERASED),
    )


def _orphan(history: StepHistory, order: Order, recovery: Recovery) -> Foreseen:
    """Return a step whose cell is gone: it stands nowhere, and nothing runs it."""
    state = recovery.state(history)
    committed = state is State.COMMITTED
    return Foreseen(
        step=history.name,
        place=NOWHERE,
        cell_id=history.attempt.intent.cell_id if history.attempt else "",
        history=history,
        state=State.ORPHANED if committed else state,
        plan=Verdict.REFUSED if state in _REFUSED else Verdict.REPLAY,
        reasons=(_gone(order),),
        always=False,
    )


_REFUSED = (State.AMBIGUOUS, State.ERASED)


def _gone(order: Order) -> str:
    """Say that a step has no cell, and how that is known: a file may be behind."""
    where = order.source if order.knows_plain else "the notebook"
    return f"its cell is not in {where}"


def _step_view(one: Foreseen, recovery: Recovery, order: Order) -> StepView:
    history, state = one.history, one.state
    commit = history.commit() if history else None
    record = commit.record if commit else None
    effects = history.effects if history else {}
    ways = _ways(one.step, state, one.plan, history)
    told: list[str] = []
    if history is not None and state in (State.AMBIGUOUS, State.ABANDONED):
        told = recovery.told(history, order)
    return StepView(
        name=one.step,
        cell_id=one.cell_id,
        place=one.place,
        state=state,
        locked=state in LOCKED,
        plan=one.plan,
        reasons=[*_why(one, recovery), *one.reasons],
        remedy=remedy(one.step, ways),
        ways=ways,
        evidence=told,
        started_at=_started_at(history),
        commit_number=record.commit_number if record else 0,
        revision=commit.revision if commit else -1,
        committed_at=commit.at if commit else None,
        duration_s=record.duration_s if record else _last_duration(history),
        payload_bytes=record.payload_bytes if record else 0,
        attempts=history.attempts if history else 0,
        not_kept=dict(record.not_kept) if record else {},
        effects=_effects(record) if record else [],
        has_effects=_has_effects(history, record),
        effect_count=sum(effect.is_done for effect in effects.values()),
        open_effects=open_keys(effects),
        outputs=sorted(record.outputs) if record else [],
        always=one.always,
        holds=one.place >= 0 and one.holds,
        progress=progress_view(history),
        title=_title(order, one.place),
    )


def _title(order: Order, place: int) -> str:
    """Return the first words of a cell that is a step without a header."""
    source = order.cells[place].source if place >= 0 else ""
    return title_of(source) if find_header(source) is None else ""


def _effects(record: Committed) -> list[str]:
    """Return how it is known to touch the outside; shown also if it is not locked."""
    return list(record.effects) or list(filter(None, [words(record.seen)]))


def _has_effects(history: StepHistory | None, record: Committed | None) -> bool:
    attempt = history.attempt if history else None
    declared = attempt is not None and attempt.intent.options.effects
    on_record = history is not None and bool(history.effects)
    left = history.left() if history else None
    erased = bool(left and left.erased and left.record.effects)
    return declared or on_record or erased or bool(record and record.effects)


def _started_at(history: StepHistory | None) -> datetime | None:
    attempt = history.attempt if history else None
    if attempt is None or attempt.outcome is not Outcome.OPEN or attempt.resolution:
        return None
    return attempt.at


def _last_duration(history: StepHistory | None) -> float | None:
    attempt = history.attempt if history else None
    return attempt.failed.duration_s if attempt and attempt.failed else None


def _headline(steps: list[StepView], resume: Foreseen | None) -> str:
    """Say in one sentence where things stand."""
    placed = [s for s in steps if s.place >= 0]
    if not placed:
        return "no steps yet: begin a cell with %%step NAME"
    left_out = sum(step.plan is Verdict.NOT_TAKEN for step in placed)
    locked = sum(step.plan is Verdict.REPLAY for step in placed)
    text = f"{locked} of {len(placed) - left_out} steps locked"
    text += f", {left_out} not taken" if left_out else ""
    if resume is None:
        return f"{text}; all are committed"
    if resume.plan is Verdict.REFUSED:
        word = "ambiguous (in doubt)" if resume.state is State.AMBIGUOUS else "refused"
        return f"{text}; stopped at {_called(resume, steps)}, which is {word}"
    return f"{text}; goes on at {_called(resume, steps)}"


def _called(resume: Foreseen, steps: list[StepView]) -> str:
    """Return the name of a step; of one that nobody named, its first words, too."""
    title = next((s.title for s in steps if s.name == resume.step), "")
    return f"{resume.step} ({title})" if title else resume.step
