"""The envelope that every record has, and the compare-and-swap rule.

The rule: revision 0 is created only when nothing is expected; revision n+1 is
appended only on exactly n. A chain has no gaps and each revision has one writer,
because a revision is a key that can only be created (`store.chain`).
"""

from datetime import datetime
from typing import Any

import msgspec

from nbresume.errors import ConflictError

FIRST = 0


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One record: who it belongs to, where it stands, what it holds."""

    id: str
    """Checkpoint id: names the chain."""
    run_id: str
    """The run that the chain belongs to; the run's own chain has the run's id."""
    revision: int
    """0 at creation, +1 per append."""
    kind: str
    """Namespaced name of what the payload is (``nbresume.intent``, ``acme.order``)."""
    schema_version: int
    """Format of the payload."""
    payload: dict[str, Any]
    """The record itself, as JSON."""
    updated_at: datetime
    """For people; never compared."""
    nonce: str
    """Chosen by the writer for this append: recognizes an own lost reply."""
    epoch: int = 0
    """Raised by each claim; a writer of a lower one is fenced."""
    prev: str = ""
    """Digest of the record before; empty at revision 0."""
    writer: str = ""
    """Release that wrote it, for the message about an unknown schema."""
    key_id: str = ""
    """Which key signed it (a public fingerprint)."""
    mac: str = ""
    """Signature over everything else (`store.trust`)."""


def check_successor(
    following: Envelope, *, current: Envelope | None, expected: int | None
) -> None:
    """Let `following` pass exactly if it may become the next revision.

    Parameters
    ----------
    following
        The envelope to be appended.
    current
        The newest envelope of the chain; None if there is no chain yet.
    expected
        The revision that the caller believes to be the newest; None to create.

    Raises
    ------
    ConflictError
        The chain is elsewhere, or `following` does not follow `expected`.
    """
    found = None if current is None else current.revision
    if found != expected:
        raise ConflictError(
            f"checkpoint {following.id} was not changed",
            because=f"revision {_say(expected)} was expected, {_say(found)} was found",
            remedy="Load it again, decide, and append to what is there.",
            id=following.id,
            expected=expected,
            found=found,
        )
    wanted = FIRST if expected is None else expected + 1
    if following.revision != wanted:
        raise ConflictError(
            f"checkpoint {following.id} was not changed",
            because=f"after revision {_say(expected)} comes {wanted}, "
            f"not {following.revision}",
            remedy="Make the next envelope with CheckpointStore.next().",
            id=following.id,
            expected=expected,
            found=found,
        )
    if current is not None and (following.id, following.run_id) != (
        current.id,
        current.run_id,
    ):
        raise ConflictError(
            f"checkpoint {current.id} was not changed",
            because=f"the envelope belongs to {following.id} of run {following.run_id}",
            remedy="Make the next envelope with CheckpointStore.next().",
            id=current.id,
        )


def _say(revision: int | None) -> str:
    return "none" if revision is None else str(revision)
