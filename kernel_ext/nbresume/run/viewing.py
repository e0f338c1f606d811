"""How the RunView of a run is made: a row for each step, in notebook order.

The rule: a pure function of the newest folded state, notebook order and the liveness
of the claimant. It reads no payload and no namespace.
"""

from datetime import datetime

import msgspec

from nbresume.model.effects import open_keys
from nbresume.model.evidence import words
from nbresume.model.folded import RunState
from nbresume.model.histories import Commit, StepHistory
from nbresume.model.printing import parse
from nbresume.model.records import Committed
from nbresume.model.states import Outcome, State
from nbresume.plan.code_version import code_version
from nbresume.plan.header import body_of
from nbresume.plan.planner import Verdict
from nbresume.run.definition import differences
from nbresume.run.doubt import word_would_settle
from nbresume.run.metrics import Counts, metrics_of
from nbresume.run.ports import World
from nbresume.run.position import Order, Positions, Wanted
from nbresume.run.recovery import Recovery
from nbresume.run.view import LOCKED, SCHEMA, ClaimView, RunView, StepView
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
    steps = _views(state, order, recovery)
    in_doubt = sum(step.state is State.AMBIGUOUS for step in steps)
    resume = next((s for s in steps if s.place >= 0 and not _holds(s)), None)
    claim, holder = state.claim, _claim_view(state, world, alive=alive)
    return RunView(
        schema=SCHEMA,
        version=__version__,
        run_id=run_id,
        workflow=claim.workflow if claim else world.notebook.workflow,
        notebook=claim.notebook if claim else world.notebook.path,
        order=order.source,
        trusted=trusted,
        differs=[*differences(state, order, world), *_releases(holder, world)],
        headline=_headline(steps, resume),
        resume_from=resume.name if resume else "",
        resume_cell=resume.cell_id if resume else "",
        revision=state.revision,
        steps=steps,
        claim=holder,
        usage=state.usage,
        metrics=metrics_of(state, counts, in_doubt=in_doubt),
        damaged=[*state.quarantined, *state.damaged],
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


def _releases(claim: ClaimView | None, world: World) -> list[str]:
    """Tell that the kernel that holds the run has another release than this process."""
    here = world.liveness.me().product
    if claim is None or not claim.alive or claim.product == here:
        return []
    told = f"the kernel that holds the run has {claim.product}, this is {here}; "
    return [told + "install the same release in both environments, then restart both"]


def _holds(step: StepView) -> bool:
    return step.plan is Verdict.REPLAY


def _views(state: RunState, order: Order, recovery: Recovery) -> list[StepView]:
    positions = Positions(state, order)
    views: list[StepView] = []
    rerun: set[str] = set()
    blocked = ""
    placed = sorted(order.place_of_step.items(), key=lambda pair: pair[1])
    for step, place in placed:
        history = state.step(step)
        view = _view_step(
            step,
            place,
            history,
            order,
            recovery,
            _moved(history, place, positions, rerun),
        )
        if view.plan is not Verdict.REPLAY:
            rerun.add(step)
        views.append(_below(view, blocked))
        if view.state in (State.AMBIGUOUS, State.ABANDONED):
            blocked = blocked or view.name
    gone = [h for s, h in state.steps.items() if s not in order.place_of_step]
    views += [_orphan(history, recovery, order) for history in gone]
    return views


def _below(view: StepView, blocked: str) -> StepView:
    """Refuse what would run below a step that is in doubt."""
    if not blocked or view.plan is not Verdict.RERUN:
        return view
    return msgspec.structs.replace(
        view, plan=Verdict.REFUSED, reasons=[f"step {blocked} above it is in doubt"]
    )


def _moved(
    history: StepHistory | None, place: int, positions: Positions, rerun: set[str]
) -> list[str]:
    """Return why a commit's inputs are not what stands above it now."""
    commit = history.commit() if history else None
    if commit is None:
        return []
    reasons = []
    for name, version in commit.record.inputs.items():
        demand = positions.demand(name, place)
        if demand.wanted is not Wanted.VALUE or demand.commit is None:
            if positions.has_lost(name, version, place):
                # the step that made it was deleted, or stands below now
                reasons.append(f"{name} is gone")
            continue
        if demand.commit.record.step in rerun:
            reasons.append(f"{name} may change: step {demand.commit.record.step} runs")
        elif demand.version != version and not _ambient_on(
            history, name, demand.version
        ):
            reasons.append(f"{name} changed")
    reasons += [
        f"step {step} (--after) runs" for step in commit.record.after if step in rerun
    ]
    return reasons


def _ambient_on(history: StepHistory | None, name: str, version: str) -> bool:
    """Say whether a plain cell made the input from exactly that version."""
    attempt = history.attempt if history else None
    ambient = attempt.intent.ambient.get(name) if attempt else None
    return ambient is not None and ambient.base == version


def _view_step(
    step: str,
    place: int,
    history: StepHistory | None,
    order: Order,
    recovery: Recovery,
    moved: list[str],
) -> StepView:
    cell = order.cells[place]
    state = recovery.state(history)
    commit = history.commit() if history else None
    reasons: list[str] = []
    if commit is not None and state is State.COMMITTED:
        reasons = _stale_reasons(commit, cell.source, moved)
        if reasons:
            state = State.STALE
    return _step_view(
        history,
        recovery,
        order,
        name=step,
        at=(cell.cell_id, place),
        state=state,
        plan=_plan(state, commit, history),
        reasons=reasons or _why(state, history, recovery),
    )


def _stale_reasons(commit: Commit, source: str, moved: list[str]) -> list[str]:
    # a body with magics is no plain Python: its version is known when it runs
    tree = parse(body_of(source)) if source else None
    edited = tree is not None and code_version(tree) != commit.record.code_version
    return [*(["its code changed"] if edited else []), *moved]


def _why(state: State, history: StepHistory | None, recovery: Recovery) -> list[str]:
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


def _plan(state: State, commit: Commit | None, history: StepHistory | None) -> Verdict:
    if state in (State.AMBIGUOUS, State.ABANDONED):
        return Verdict.REFUSED
    if commit is None or state is State.RAN:
        return Verdict.RERUN
    rerun = history is not None and history.rerun is not None
    always = history is not None and _is_always(history)
    if state is State.STALE and commit.record.effects and not rerun:
        return Verdict.REFUSED
    if state is State.STALE or rerun or always:
        return Verdict.RERUN
    return Verdict.REPLAY


def _ways(
    step: str, state: State, plan: Verdict, history: StepHistory | None
) -> list[Way]:
    return ways_out(
        step,
        state,
        open_keys(history.effects) if history else [],
        word=history is not None and word_would_settle(history),
        locked=state is State.STALE and plan is Verdict.REFUSED,
    )


def _is_always(history: StepHistory) -> bool:
    return history.attempt is not None and history.attempt.intent.options.always


def _orphan(history: StepHistory, recovery: Recovery, order: Order) -> StepView:
    state = recovery.state(history)
    committed = state is State.COMMITTED
    return _step_view(
        history,
        recovery,
        order,
        name=history.name,
        at=(history.attempt.intent.cell_id if history.attempt else "", -1),
        state=State.ORPHANED if committed else state,
        plan=Verdict.REFUSED if state is State.AMBIGUOUS else Verdict.REPLAY,
        reasons=["its cell is not in the notebook"],
    )


def _step_view(
    history: StepHistory | None,
    recovery: Recovery,
    order: Order,
    *,
    name: str,
    at: tuple[str, int],
    state: State,
    plan: Verdict,
    reasons: list[str],
) -> StepView:
    commit = history.commit() if history else None
    record = commit.record if commit else None
    effects = history.effects if history else {}
    ways = _ways(name, state, plan, history)
    told: list[str] = []
    if history is not None and state in (State.AMBIGUOUS, State.ABANDONED):
        told = recovery.told(history, order)
    return StepView(
        name=name,
        cell_id=at[0],
        place=at[1],
        state=state,
        locked=state in LOCKED,
        plan=plan,
        reasons=reasons,
        remedy=remedy(name, ways),
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
    )


def _effects(record: Committed) -> list[str]:
    """Return how it is known to touch the outside; shown also if it is not locked."""
    return list(record.effects) or list(filter(None, [words(record.seen)]))


def _has_effects(history: StepHistory | None, record: Committed | None) -> bool:
    attempt = history.attempt if history else None
    declared = attempt is not None and attempt.intent.options.effects
    on_record = history is not None and bool(history.effects)
    return declared or on_record or bool(record and record.effects)


def _started_at(history: StepHistory | None) -> datetime | None:
    attempt = history.attempt if history else None
    if attempt is None or attempt.outcome is not Outcome.OPEN or attempt.resolution:
        return None
    return attempt.at


def _last_duration(history: StepHistory | None) -> float | None:
    attempt = history.attempt if history else None
    return attempt.failed.duration_s if attempt and attempt.failed else None


def _headline(steps: list[StepView], resume: StepView | None) -> str:
    """Say in one sentence where things stand."""
    placed = [s for s in steps if s.place >= 0]
    if not placed:
        return "no steps yet: begin a cell with %%step NAME"
    locked = sum(_holds(s) for s in placed)
    text = f"{locked} of {len(placed)} steps locked"
    if resume is None:
        return f"{text}; all are committed"
    if resume.plan is Verdict.REFUSED:
        word = "ambiguous (in doubt)" if resume.state is State.AMBIGUOUS else "refused"
        return f"{text}; stopped at {resume.name}, which is {word}"
    return f"{text}; goes on at {resume.name}"
