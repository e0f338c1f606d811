"""Numbers about a run, for those who watch many.

The rule: what the records say is derived from the folded state; what a process meets
(conflicts, records that it cannot read, how long it was away) is counted where it
happens, in a `Counts` of that process's journal.
"""

import msgspec
from msgspec import Struct

from nbresume.model.folded import RunState


class Counts(Struct):
    """What one process met while it read and wrote a run."""

    revision_conflicts: int = 0
    schema_mismatches: int = 0
    resume_age_s: float | None = None


class Metrics(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run in numbers; no counter ever decreases as long as the process lives."""

    attempts: int
    """Bodies that were about to start."""
    commits: int
    ambiguous: int
    """Steps that are in doubt now."""
    ambiguous_recoveries: int
    """Attempts whose end was in doubt: those that were settled, and those that are."""
    damaged_records: int
    checkpoint_bytes: int
    """Payload bytes that the commits that count have written."""
    written_bytes: int
    """Payload bytes that all commits have written."""
    resume_age_s: float | None
    """Age of the newest commit when this process opened the run; None without one."""
    revision_conflicts: int
    """So often another writer's record stood where this process wanted to append."""
    schema_mismatches: int
    """So often this process met a record that it cannot read."""


def metrics_of(state: RunState, counts: Counts, *, in_doubt: int) -> Metrics:
    """Return the numbers of a run.

    Parameters
    ----------
    state
        The folded state.
    counts
        What this process met.
    in_doubt
        How many steps are ambiguous now: liveness decides that, not the records.
    """
    commits = [c for h in state.steps.values() if (c := h.commit()) is not None]
    return Metrics(
        attempts=state.usage.attempts,
        commits=sum(history.commit_number for history in state.steps.values()),
        ambiguous=in_doubt,
        ambiguous_recoveries=state.settled + in_doubt,
        damaged_records=len(state.quarantined) + len(state.damaged),
        checkpoint_bytes=sum(commit.record.payload_bytes for commit in commits),
        written_bytes=state.usage.bytes,
        resume_age_s=counts.resume_age_s,
        revision_conflicts=counts.revision_conflicts,
        schema_mismatches=counts.schema_mismatches,
    )
