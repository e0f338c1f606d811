"""The commits of a step: how many stay whole, and the one that evidence makes.

The rule: a commit by evidence says what the intent said, and holds only values that
the person gave.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from nbresume.model.records import Committed, Intent, Resolution
from nbresume.model.values import ManifestRef, Sighting

KEPT_COMMITS: Final = 4
"""Commits of a step that stay whole in the folded state."""
SHARED: Final = 0
"""Revision of the commits that a fork shares: its first record names them."""
KEPT_KEYS: Final = 64
"""Older commits of a step that can be found again by their key."""


def trim(commits: dict[int, Any], keys: dict[str, int], *, current: int) -> None:
    """Forget the oldest commits of a step, by revision and by key."""
    for revision in sorted(commits)[:-KEPT_COMMITS]:
        # one that a fork shares has no record here from which it could be read again
        if revision != current and not commits[revision].record.manifest.run:
            del commits[revision]
    while len(keys) > KEPT_KEYS:
        # by revision: a folded state is written with sorted keys
        del keys[min(keys, key=keys.__getitem__)]


def committed_by_evidence(
    intent: Intent,
    resolution: Resolution,
    *,
    number: int,
    doubt: str,
    at: datetime,
    seen: Sequence[Sighting],
) -> Committed:
    """Return the commit that stands for an attempt which a person settled.

    Parameters
    ----------
    intent, at, seen
        The attempt: what its intent said, when it began, what it was seen doing.
    resolution
        The person's evidence.
    number
        The number of the commit.
    doubt
        Why the attempt was in doubt.
    """
    evidence = resolution.evidence
    names = evidence.names_not_kept if evidence else []
    nowhere = ManifestRef(group="", offset=0, length=0, digest="")
    reason = f"the step was settled by evidence of {resolution.actor}"
    return Committed(
        step=resolution.step,  # it may have another name by now
        attempt=intent.attempt,
        cell_id=intent.cell_id,
        commit_number=number,
        code_version=intent.code_version,
        key=intent.key,
        idempotency_key=intent.idempotency_key,
        inputs=intent.inputs,
        aliases=intent.aliases,
        after=intent.after,
        outputs=resolution.outputs,
        deleted=[],
        in_place=[],
        not_kept=dict.fromkeys(names, reason),
        imports=[],
        effects=[doubt or "settled by evidence"],
        seen=list(seen),
        manifest=resolution.manifest or nowhere,
        pack_bytes=0,
        payload_bytes=0,
        started_at=at,
        duration_s=0.0,
        cpu_s=0.0,
        policy="evidence",
        next_object=resolution.next_object,
    )
