"""The commit that a person's evidence makes: the work happened; there are no values."""

from collections.abc import Sequence
from datetime import datetime

from nbresume.model.records import Committed, Intent, ManifestRef, Resolution, Sighting


def committed_by_evidence(
    intent: Intent,
    resolution: Resolution,
    *,
    number: int,
    at: datetime,
    doubt: str,
    seen: Sequence[Sighting],
) -> Committed:
    """Return the commit that a resolution makes of an attempt.

    Parameters
    ----------
    intent, at, seen
        Of the attempt that was in doubt: when it began, what it was seen doing.
    resolution
        Names what cannot be kept.
    number
        Number of the commit.
    doubt
        Why the attempt was in doubt.
    """
    evidence = resolution.evidence
    names = evidence.names_not_kept if evidence else []
    reason = f"the step was settled by evidence of {resolution.actor}"
    return Committed(
        step=intent.step,
        attempt=intent.attempt,
        cell_id=intent.cell_id,
        commit_number=number,
        code_version=intent.code_version,
        key=intent.key,
        idempotency_key=intent.idempotency_key,
        inputs=intent.inputs,
        aliases=intent.aliases,
        after=intent.after,
        outputs={},
        deleted=[],
        in_place=[],
        not_kept=dict.fromkeys(names, reason),
        imports=[],
        effects=[doubt],
        seen=list(seen),
        manifest=ManifestRef(group="", offset=0, length=0, digest=""),
        pack_bytes=0,
        payload_bytes=0,
        started_at=at,
        duration_s=0.0,
        cpu_s=0.0,
        policy="evidence",
    )
