"""Doubt in words: what a refusal says, and what a person is told before deciding.

The rule: facts only, and of outside calls never more than a sighting holds.
"""

from nbresume.errors import (
    AmbiguousStep,
    CaptureError,
    LockedStep,
    NbresumeError,
    NotCommitted,
    RefusedError,
    TakenRun,
)
from nbresume.model.effects import open_keys, spoken_keys
from nbresume.model.evidence import words
from nbresume.model.folded import RunState
from nbresume.model.histories import Attempt, StepHistory
from nbresume.model.records import Committed
from nbresume.model.states import Outcome, State
from nbresume.model.values import How
from nbresume.plan.planner import spoken
from nbresume.run.order import Order
from nbresume.run.ways import settle


def ambiguous(
    history: StepHistory, attempt: Attempt, doubt: str, effects: list[str]
) -> AmbiguousStep:
    """Return the refusal of a step in doubt.

    Parameters
    ----------
    history, attempt
        The step and its newest attempt.
    doubt
        Why it is in doubt.
    effects
        Keys of its effects that may have happened.
    """
    step, told_when = history.name, _with_time(attempt, doubt)
    ended = " and failed" if attempt.failed else " and was cut off"
    if effects or attempt.outcome is Outcome.COMMITTED:
        ended = ""
    remedy = f"Look outside, then type {settle(step, effects)}"
    if word_would_settle(history):
        remedy += f". If its calls only read, make its header %%step {step} --pure"
    return AmbiguousStep(
        f"step {step} is ambiguous (in doubt) and was not run",
        because=f"{told_when}{ended}; it may or may not have "
        f"acted on the outside. Started {attempt.at.astimezone():%Y-%m-%d %H:%M:%S} by "
        f"{attempt.by or 'an unknown kernel'}",
        remedy=remedy,
        step=step,
        attempt=attempt.intent.attempt,
    )


def being_run(step: str, attempt: Attempt) -> TakenRun:
    """Return the refusal of a step that another kernel is running."""
    return TakenRun(
        f"step {step} was not run",
        because=f"another kernel ({attempt.by}) is running it",
        remedy="Wait for it, or type: %steps resume --take-over",
        step=step,
        attempt=attempt.intent.attempt,
    )


def abandoned(step: str, attempt: Attempt) -> RefusedError:
    """Return the refusal of a step that was given up."""
    resolution = attempt.resolution
    actor = resolution.actor if resolution else "somebody"
    return RefusedError(
        f"step {step} was not run",
        because=f"it was abandoned by {actor}",
        remedy=f"Type %steps resolve {step} retry --because TEXT",
        step=step,
    )


def nested(step: str, outer: str) -> RefusedError:
    """Return the refusal of a step that another one has started."""
    return RefusedError(
        f"step {step} was not run",
        because=f"it was started inside step {outer}",
        remedy="Give each step a cell of its own, outside loops and functions.",
        step=step,
    )


def locked(record: Committed, reason: str) -> LockedStep:
    """Return the refusal to repeat a commit that acted on the outside."""
    remedy = f"If it may act again, type %steps rerun {record.step} --because TEXT"
    if record.effects == [words(record.seen)]:
        remedy += (
            ". If its calls only read, also make its header "
            f"%%step {record.step} --pure"
        )
    return LockedStep(
        f"step {record.step} does not run again",
        because=f"it is committed and acts on the outside "
        f"({record.effects[0]}); {reason}",
        remedy=remedy,
        step=record.step,
    )


def not_committed(step: str, error: BaseException) -> CaptureError:
    """Return what is said of a body that has finished and whose commit failed."""
    inner = error.remedy if isinstance(error, NbresumeError) else ""
    return CaptureError(
        f"step {step} RAN but is not committed",
        because=_words_of(error),
        remedy=" ".join(
            filter(None, (inner, f"Type %steps commit {step}, or run it again."))
        ),
        step=step,
    )


def _words_of(error: BaseException) -> str:
    if isinstance(error, NbresumeError):
        return f"{error.refused}: {error.because}" if error.because else error.refused
    return f"{type(error).__name__}: {error}".rstrip(": ")


def holds_no_body(step: str) -> NotCommitted:
    """Return the refusal to commit what this kernel did not run."""
    return NotCommitted(
        f"step {step} was not committed",
        because="this kernel holds no finished, uncommitted run of it",
        remedy="Run the step.",
        step=step,
    )


def left_open(step: str, effects: list[str]) -> AmbiguousStep:
    """Return the refusal to commit a step whose effects have no known outcome."""
    return AmbiguousStep(
        f"step {step} is ambiguous (in doubt) and was not committed",
        because=f"its cell has ended, and the outcome of its {spoken_keys(effects)} is "
        "unknown",
        remedy=f"Look outside, then type {settle(step, effects)}",
        step=step,
    )


def word_would_settle(history: StepHistory) -> bool:
    """Say whether ``--pure`` or ``--always``, typed now, answers the doubt."""
    attempt = history.attempt
    declared = attempt is not None and attempt.intent.options.effects
    return not declared and not open_keys(history.effects)


def ended_badly(state: State, attempt: Attempt) -> bool:
    """Say whether the body ended without a commit, and nobody allowed a new one yet.

    Whoever ran it was told how it ended: by a traceback, or by the error RAN.
    """
    resolution = attempt.resolution
    allowed = resolution is not None and resolution.how is How.RETRY
    return state in (State.FAILED, State.RAN) and not allowed


def told(
    history: StepHistory, attempt: Attempt, doubt: str, below: list[str]
) -> list[str]:
    """Return what a person is told, and acknowledges, when deciding on an attempt."""
    lines = [f"the effect {key!r} is open" for key in open_keys(history.effects)]
    if doubt and not lines:
        lines = [doubt]
    if attempt.seen:
        lines = list(dict.fromkeys([*lines, words(attempt.seen)]))
        least = "" if attempt.failed else "at least "
        calls = sum(sighting.calls for sighting in attempt.seen)
        lines.append(f"outside calls seen: {least}{calls}")
    lines.append(_usage(attempt))
    if below:
        lines.append(f"steps below that may run again: {', '.join(below)}")
    return lines


def _usage(attempt: Attempt) -> str:
    failed = attempt.failed
    if failed is not None:
        return f"it took {spoken(failed.duration_s)} ({spoken(failed.cpu_s)} of CPU)"
    if attempt.seen:
        least = (attempt.seen[0].at - attempt.at).total_seconds()
        return f"it took at least {spoken(max(least, 0.0))}, until its first such call"
    return "how long it took is not known: it was cut off"


def built_on(step: str, order: Order | None, state: RunState) -> list[str]:
    """Return the committed steps below that used what a step made, at any remove."""
    history = state.step(step)
    if order is None or history is None:
        return []
    commits = history.commits.values()
    made = {o.version for c in commits for o in c.record.outputs.values()}
    found: list[str] = []
    for cell in order.cells[order.step_place(step) + 1 :]:
        commit = state.commit(cell.step) if cell.step else None
        if commit is None:
            continue
        record = commit.record
        waits = {step, *found} & record.after.keys()
        if waits or made & set(record.inputs.values()):
            found.append(record.step)
            made |= {output.version for output in record.outputs.values()}
    return found


def _with_time(attempt: Attempt, doubt: str) -> str:
    """Return the doubt with what was seen and when, whether it is the doubt or not."""
    if not attempt.seen:
        return doubt
    seen = words(attempt.seen)
    when = f"{seen} at {attempt.seen[0].at.astimezone():%H:%M:%S}"
    return when if doubt == seen else f"{doubt}, {when},"
