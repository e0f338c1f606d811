"""The state of a step as a table.

The rule: states are derived from records and the liveness of the claimant, never
stored; `TABLE` is the only place where facts become a state (the shape is h11's).
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from nbresume.model.values import How


class State(StrEnum):
    """What a step is, in the words that people see."""

    NEW = "NEW"
    RUNNING = "RUNNING"
    RAN = "RAN"
    FAILED = "FAILED"
    INTERRUPTED = "INTERRUPTED"
    AMBIGUOUS = "AMBIGUOUS"
    COMMITTED = "COMMITTED"
    STALE = "STALE"
    ORPHANED = "ORPHANED"
    ABANDONED = "ABANDONED"
    QUARANTINED = "QUARANTINED"
    ERASED = "ERASED"
    NOT_TAKEN = "NOT_TAKEN"


class Claimant(StrEnum):
    """The kernel that ran the newest attempt, as it looks from here."""

    ALIVE = "alive"
    HOLDS_BODY = "holds the finished body"
    GONE = "fenced or dead"
    UNKNOWN = "unknown"


class Outcome(StrEnum):
    """What the records say about the newest attempt."""

    NONE = "no attempt"
    OPEN = "no outcome"
    FAILED = "failed"
    COMMITTED = "committed"
    ERASED = "committed, and erased since"


class Facts(Struct, frozen=True):
    """All that a step's state depends on."""

    outcome: Outcome
    claimant: Claimant = Claimant.GONE
    in_doubt: bool = False
    resolution: How | None = None


class Row(Struct, frozen=True):
    """A line of the table; None stands for any value."""

    outcome: Outcome
    claimant: Claimant | None
    in_doubt: bool | None
    resolution: How | None
    state: State

    def fits(self, facts: Facts) -> bool:
        """Say whether the facts are of this kind."""
        return (
            self.outcome is facts.outcome
            and self.claimant in (None, facts.claimant)
            and self.in_doubt in (None, facts.in_doubt)
            and self.resolution in (None, facts.resolution)
        )


TABLE: Final = (
    # outcome, claimant, in doubt, resolution → state; the first that fits holds
    Row(Outcome.NONE, None, None, None, State.NEW),
    Row(Outcome.COMMITTED, None, None, None, State.COMMITTED),
    Row(Outcome.ERASED, None, None, None, State.ERASED),
    Row(Outcome.OPEN, None, None, How.ABANDON, State.ABANDONED),
    Row(Outcome.FAILED, None, None, How.ABANDON, State.ABANDONED),
    Row(Outcome.OPEN, None, None, How.RETRY, State.NEW),
    Row(Outcome.FAILED, None, True, How.RETRY, State.NEW),
    Row(Outcome.FAILED, None, True, None, State.AMBIGUOUS),
    Row(Outcome.FAILED, None, False, None, State.FAILED),
    Row(Outcome.OPEN, Claimant.HOLDS_BODY, None, None, State.RAN),
    Row(Outcome.OPEN, Claimant.ALIVE, None, None, State.RUNNING),
    Row(Outcome.OPEN, Claimant.UNKNOWN, None, None, State.RUNNING),
    Row(Outcome.OPEN, Claimant.GONE, True, None, State.AMBIGUOUS),
    Row(Outcome.OPEN, Claimant.GONE, False, None, State.INTERRUPTED),
)


def state_of(facts: Facts) -> State:
    """Return the state that the table gives for these facts."""
    return next(row.state for row in TABLE if row.fits(facts))
