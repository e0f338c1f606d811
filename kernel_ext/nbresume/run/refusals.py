"""How recovery says no: in doubt, being run, abandoned, left open.

The rule: what was refused, because of what, what to type next.
"""

from nbresume.errors import AmbiguousStep, RefusedError, TakenRun
from nbresume.model.effects import spoken_keys
from nbresume.model.states import Attempt, Outcome


def in_doubt(
    step: str, attempt: Attempt, doubt: str, effects: list[str]
) -> AmbiguousStep:
    """Return the refusal to run a step that may have acted on the outside.

    Parameters
    ----------
    step, attempt
        The step and its newest attempt.
    doubt
        Why it is in doubt.
    effects
        Keys of its effects that may have happened.
    """
    since = attempt.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
    cut_off = attempt.outcome is Outcome.OPEN and not effects
    how = f"{doubt} and was cut off" if cut_off else doubt
    return AmbiguousStep(
        f"step {step} is ambiguous (in doubt) and was not run",
        because=f"{how}; it may or may not have acted on the outside. "
        f"Started {since} by {attempt.by or 'an unknown kernel'}",
        remedy=f"Look outside, then type {ways_out(step, effects)}",
        step=step,
        attempt=attempt.intent.attempt,
    )


def ways_out(step: str, effects: list[str]) -> str:
    """Return what settles a step in doubt, and its effects by themselves."""
    settle = f"%steps resolve {step} retry | evidence | abandon --because TEXT"
    if not effects:
        return settle
    one = f"%steps resolve {step} evidence --effect KEY --because TEXT"
    return f"{settle}; for one effect that did happen: {one}"


def left_open(step: str, effects: list[str]) -> AmbiguousStep:
    """Return the refusal to commit a step whose effects have no known outcome."""
    return AmbiguousStep(
        f"step {step} is ambiguous (in doubt) and was not committed",
        because=f"its cell has ended, and the outcome of its {spoken_keys(effects)} is "
        "unknown",
        remedy=f"Look outside, then type {ways_out(step, effects)}",
        step=step,
    )


def being_run(step: str, attempt: Attempt) -> TakenRun:
    """Return the refusal to run a step that another kernel is running."""
    return TakenRun(
        f"step {step} was not run",
        because=f"another kernel ({attempt.by}) is running it",
        remedy="Wait for it, or type: %steps resume --take-over",
        step=step,
        attempt=attempt.intent.attempt,
    )


def abandoned(step: str, attempt: Attempt) -> RefusedError:
    """Return the refusal to run a step that somebody gave up."""
    resolution = attempt.resolution
    actor = resolution.actor if resolution else "somebody"
    return RefusedError(
        f"step {step} was not run",
        because=f"it was abandoned by {actor}",
        remedy=f"Type %steps resolve {step} retry --because TEXT",
        step=step,
    )
