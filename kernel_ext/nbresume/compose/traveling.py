"""Undo and checkout in one session: worked out, agreed to, gone.

The rule: what is lost is said before anything moves.
"""

from msgspec import Struct

from nbresume.compose.graph import Session
from nbresume.errors import RefusedError
from nbresume.run.past import Past, past_of
from nbresume.run.travel import (
    Arrived,
    Trip,
    checking_out,
    go,
    undoing,
)

YES = "--yes"


class Traveled(Struct, frozen=True):
    """A trip, and what it did."""

    trip: Trip
    arrived: Arrived


def undo(session: Session, *, yes: bool) -> Traveled:
    """Take the last step of this kernel back: its names are as before its body.

    Raises
    ------
    NotCommitted
        There is no step to take back.
    RefusedError
        Something would be lost, or a step acted on the outside, and `yes` is not said.
    """
    past = read_past(session)
    trip = undoing(session.parts, past, session.stepper.stands_at)
    return _go(session, past, trip, yes=yes, typed="%steps undo")


def checkout(session: Session, step: str, number: int | None, *, yes: bool) -> Traveled:
    """Bring every name to the end of a commit of a step.

    Raises
    ------
    NotCommitted
        The step has no such commit.
    RefusedError
        Something would be lost, or a step acted on the outside, and `yes` is not said.
    """
    past = read_past(session)
    trip = checking_out(session.parts, past, step, number)
    label = step if number is None else f"{step}@{number}"
    return _go(session, past, trip, yes=yes, typed=f"%steps checkout {label}")


def read_past(session: Session) -> Past:
    """Return the past of a session's run.

    Raises
    ------
    RefusedError
        The body of a step runs.
    """
    running = session.stepper.running
    if running is not None:
        raise RefusedError(
            "nothing was moved",
            because=f"step {running.intent.step} is running",
            remedy="Type it in a cell of its own, when the step has ended.",
            step=running.intent.step,
        )
    session.journal.refresh()
    return past_of(session.journal)


def check_agreed(trip: Trip, *, yes: bool, typed: str) -> None:
    """Pass if nothing is lost or undone that only a person may give up.

    Raises
    ------
    RefusedError
        Something is, and `yes` is not said.
    """
    if yes or not trip.needs_word:
        return
    told = []
    if trip.lost:
        told.append(f"no record holds {', '.join(trip.lost)}: lost for good")
    if trip.acted:
        told.append(
            f"{', '.join(trip.acted)} acted on the outside, and that is not undone"
        )
    raise RefusedError(
        "nothing was moved",
        because="; ".join(told),
        remedy=f"If you agree, type {typed} {YES}",
    )


def _go(session: Session, past: Past, trip: Trip, *, yes: bool, typed: str) -> Traveled:
    check_agreed(trip, yes=yes, typed=typed)
    arrived = go(session.parts, past, trip, session.order())
    session.stepper.stands_at = trip.stands_at
    return Traveled(trip, arrived)
