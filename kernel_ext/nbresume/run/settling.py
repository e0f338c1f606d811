"""What a person says about a step or an effect, as the record that settles it.

The rule: only what is open can be settled, and only what is on record made anew; the
record holds what the person was told.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from nbresume.errors import NotCommitted, RefusedError, UsageError
from nbresume.model.effects import ALL, open_keys, typed
from nbresume.model.folded import RunState
from nbresume.model.histories import Attempt, StepHistory
from nbresume.model.ids import parse_step_name
from nbresume.model.records import MadeCurrent, Resolution
from nbresume.model.states import State
from nbresume.model.values import Evidence, How, ManifestRef
from nbresume.run import results
from nbresume.run.given import keep_given
from nbresume.run.journal import Journal
from nbresume.run.ports import World


class Answer(Struct, frozen=True):
    """What a person says about a step, as it was typed."""

    how: How
    because: str
    kind: str = "statement"
    """Of evidence: receipt, query or statement."""
    reference: str = ""
    names_not_kept: list[str] = field(default_factory=list)
    effect: str = ""
    """Key of the effect that evidence is about; empty for the whole step."""
    result: tuple[Any, ...] = ()
    """The result of that effect, if the person knows it."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """Names of the step that the person knows the value of."""


def check_open(history: StepHistory, state: State, effect: str, how: How) -> None:
    """Pass if evidence can settle an effect of a step.

    Raises
    ------
    RefusedError
        The effect is not open, the step is being run, or it is no evidence.
    """
    step, known = history.name, open_keys(history.effects)
    if how is not How.EVIDENCE:
        raise UsageError(
            f"the effect {effect!r} was not settled",
            because=f"{how} is said of a whole step, which then calls what is open",
            remedy=f"Type %steps resolve {step} {how} --because TEXT",
            step=step,
        )
    if state in (State.RUNNING, State.RAN):
        raise RefusedError(
            f"the effect {effect!r} was not settled",
            because=f"step {step} is {state}",
            remedy="Wait until its cell has ended.",
            step=step,
        )
    if effect not in known:
        told = ", ".join(map(repr, known)) or "none"
        raise RefusedError(
            f"the effect {effect!r} was not settled",
            because=f"it is not open; open effects of step {step}: {told}",
            remedy=f"Type %steps history {step} to see what is on record.",
            step=step,
            key=effect,
        )


def resolution(
    journal: Journal,
    world: World,
    history: StepHistory,
    attempt: Attempt,
    answer: Answer,
    acknowledged: list[str],
) -> Resolution:
    """Return the record of an answer; a result that it gives is durable then.

    `acknowledged` is what the person was told.

    Raises
    ------
    RefusedError
        The result cannot be kept.
    """
    evidence, result = None, None
    if answer.how is How.EVIDENCE:
        evidence = Evidence(
            kind=answer.kind,
            reference=answer.reference,
            observed_at=world.clock.now(),
            names_not_kept=[] if answer.effect else answer.names_not_kept,
        )
    given = None
    if answer.values:
        attempt_id = attempt.intent.attempt
        given = keep_given(answer.values, history.name, attempt_id, journal, world)
    for value in answer.result:
        name = world.ids.attempt_id()
        result = _given(journal, history, answer.effect, value, name=name)
    return Resolution(
        step=history.name,
        attempt=attempt.intent.attempt,
        how=answer.how,
        actor=world.liveness.actor(),
        because=answer.because,
        acknowledged=acknowledged,
        evidence=evidence,
        effect=answer.effect,
        result=result,
        gave_result=bool(answer.result),
        outputs=given.outputs if given else {},
        manifest=given.manifest if given else None,
        next_object=given.next_object if given else 0,
    )


def check_again(history: StepHistory | None, step: str, again: list[str]) -> None:
    """Pass if these effects of a step are on record, so that they can be made anew.

    Raises
    ------
    RefusedError
        One is not, or it is open: it has to be settled first.
    """
    known = history.effects if history else {}
    wanted = list(known) if ALL in again else again
    unknown = [key for key in wanted if key not in known]
    still_open = [key for key in wanted if key in known and known[key].is_open]
    if unknown or (again and not known):
        raise RefusedError(
            f"step {step} will not make {', '.join(again)} again",
            because="no such effect is on record",
            remedy=f"Type %steps history {step} to see what is on record.",
            step=step,
        )
    if still_open:
        raise RefusedError(
            f"step {step} will not make {', '.join(still_open)} again",
            because="its outcome is unknown",
            remedy=f"Settle it first: %steps resolve {step} evidence --effect "
            f"{typed(still_open[0])} --because TEXT, or retry.",
            step=step,
        )


def _given(
    journal: Journal, history: StepHistory, effect: str, value: object, *, name: str
) -> ManifestRef | None:
    """Make the result that a person gave durable, in a group nobody has written to."""
    opened = history.effects[effect].opened
    attempt = opened.attempt if opened else ""
    kept = results.keep(value, group=f"{attempt}-effect-{name}", journal=journal)
    if kept.not_kept:
        raise RefusedError(
            f"the effect {effect!r} was not settled",
            because=f"the result that was given cannot be kept ({kept.not_kept})",
            remedy="Give a plain value, or none.",
            step=history.name,
        )
    return kept.ref


def check_settles(history: StepHistory, state: State) -> None:
    """Pass if there is something in doubt about a step.

    Raises
    ------
    RefusedError
        There is not.
    """
    settled = (State.AMBIGUOUS, State.INTERRUPTED, State.ABANDONED, State.FAILED)
    if state in settled:
        return
    check_not_running(history, state, "settled")
    raise RefusedError(
        f"step {history.name} was not settled",
        because=f"it is {state}, so there is nothing in doubt",
        remedy=f"Type %steps rerun {history.name} --because TEXT to run it again.",
        step=history.name,
    )


def check_not_running(history: StepHistory, state: State, what: str) -> None:
    """Pass if no kernel is running the step: it would not hear of the decision.

    Raises
    ------
    RefusedError
        One is, or it cannot be known from here whether it still does.
    """
    if state is not State.RUNNING:
        return
    by = history.attempt.by if history.attempt else ""
    raise RefusedError(
        f"step {history.name} was not {what}",
        because=f"a kernel ({by}) is running it",
        remedy="Wait until its cell has ended, or interrupt it there.",
        step=history.name,
    )


def renamed(state: RunState, old: str, new: str, actor: str) -> MadeCurrent:
    """Return the record that carries a step's work on under a new name.

    Raises
    ------
    BadName
        The new name is none.
    NotCommitted
        The old name has no commit.
    RefusedError
        The new name has a history of its own.
    """
    new = parse_step_name(new)
    commit, former, taken = state.left(old), state.step(old), state.step(new)
    if commit is None and not (former and former.effects):
        raise NotCommitted(
            f"step {old} was not renamed",
            because="it has no commit in this run, and no effect",
            remedy="Type %steps to see the steps.",
            step=old,
        )
    if taken is not None and (taken.current >= 0 or taken.effects):
        raise RefusedError(
            f"step {old} was not renamed",
            because=f"step {new} has commits or effects of its own",
            remedy="Choose another name.",
            step=old,
        )
    revision = commit.revision if commit else -1
    return MadeCurrent(step=new, commit=revision, renamed_from=old, actor=actor)
