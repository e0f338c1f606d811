"""The ways out of a step that waits for a person: one wording for every face.

The rule: it names all of them and prefers none; what a face offers, and what a
refusal tells to type, is made of these.
"""

import msgspec

from nbresume.model.effects import typed
from nbresume.model.states import State
from nbresume.model.values import How

WHOLE = (How.RETRY, How.EVIDENCE, How.ABANDON)
"""How a step in doubt is settled as a whole."""


class Way(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way out."""

    how: str
    """The word that records it; empty if it is typed into the notebook."""
    command: str
    """What one would type."""
    text: str
    """One sentence: what it means."""
    effect: str = ""
    """Key of the effect that it settles; empty for the whole step."""


def ways_out(
    step: str, state: State, effects: list[str], *, word: bool, locked: bool = False
) -> list[Way]:
    """Return the ways out of a step in doubt, abandoned, not committed or refused.

    Parameters
    ----------
    step, state
        Its name and its state.
    effects
        Keys of its effects that may have happened.
    word
        Whether ``--pure``, typed now, answers the doubt.
    locked
        Whether it was refused because it acts on the outside and is stale.
    """
    match state:
        case State.AMBIGUOUS:
            whole = [_resolve(step, how, effects) for how in WHOLE]
            ones = [_one(step, key) for key in effects]
            return [*whole, *ones, *([_pure(step)] if word else [])]
        case State.ABANDONED:
            return [_resolve(step, How.RETRY, effects)]
        case State.RAN:
            return [_commit(step)]
    return [_rerun(step)] if locked else []


def settle(step: str, effects: list[str]) -> str:
    """Return the commands that settle a step in doubt, or one effect of it."""
    words = " | ".join(WHOLE)
    whole = f"%steps resolve {step} {words} --because TEXT"
    if not effects:
        return whole
    one = f"%steps resolve {step} evidence --effect KEY --because TEXT"
    return f"{whole}; for one effect that did happen: {one}"


def remedy(step: str, ways: list[Way]) -> str:
    """Return the ways out as one line to be typed; "" if there is none."""
    if any(way.how == How.EVIDENCE for way in ways):
        line = settle(step, [way.effect for way in ways if way.effect])
        header = [way.command for way in ways if not way.how]
        return "; if its calls only read: ".join([line, *header])
    return "; ".join(way.command for way in ways)


def _resolve(step: str, how: How, effects: list[str]) -> Way:
    opened = "; effects with an unknown outcome may be called once more"
    text = {
        How.RETRY: "It did not happen outside, or may happen again: the step runs "
        f"when its cell is run{opened if effects else ''}.",
        How.EVIDENCE: "It did happen outside: the step counts as committed and does "
        "not run again; its names have the values that you give, or none.",
        How.ABANDON: "It is given up: it and the steps below that would run are "
        "refused until somebody says retry.",
    }[how]
    return Way(
        how=how, command=f"%steps resolve {step} {how} --because TEXT", text=text
    )


def _one(step: str, key: str) -> Way:
    return Way(
        how=How.EVIDENCE,
        command=f"%steps resolve {step} evidence --effect {typed(key)} --because TEXT",
        text=f"The effect {key!r} did happen outside: it is not called again, and the "
        "step can run once no effect is left open.",
        effect=key,
    )


def _pure(step: str) -> Way:
    return Way(
        how="",
        command=f"%%step {step} --pure",
        text="Its outside calls only read: say so in the header of its cell and run "
        "the cell.",
    )


def _commit(step: str) -> Way:
    return Way(
        how="",
        command=f"%steps commit {step}",
        text="Its cell has ended and its values are in the kernel: commit them, in "
        "that kernel.",
    )


def _rerun(step: str) -> Way:
    return Way(
        how=How.RERUN,
        command=f"%steps rerun {step} --because TEXT",
        text="Unlock it: it runs when its cell is run, and acts on the outside again; "
        "effects on record are replayed.",
    )
