"""The audit trail: who did what, when and why, one line for every record.

The rule: what a record does not say itself follows from the records before it: the
writer of an attempt is the one who made the claim of its epoch.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from nbresume.errors import Damaged, SchemaError
from nbresume.model.codec import record_of
from nbresume.model.effects import reference_of
from nbresume.model.envelope import Envelope
from nbresume.model.evidence import words
from nbresume.model.progress import place
from nbresume.model.records import (
    Branch,
    Claim,
    Committed,
    EffectDone,
    EffectOpened,
    Failed,
    Forked,
    Intent,
    MadeCurrent,
    Migration,
    Progress,
    Quarantined,
    Resolution,
    RunRecord,
    Tombstone,
)
from nbresume.model.values import Ended, Erased
from nbresume.store.trust import Link


class Event(msgspec.Struct, frozen=True, kw_only=True):
    """One record as people see it."""

    revision: int
    at: datetime | None
    epoch: int
    kind: str
    step: str
    attempt: str
    actor: str
    """Who did it; empty if no record that can be read says so."""
    text: str
    """What happened, in words."""
    why: str
    """The reason, in words."""
    duration_s: float | None = None
    digest: str = ""
    """Of the record's bytes."""


_DAMAGED = "its bytes are not those that were written"


def events(
    links: list[Link], *, closings: Sequence[Link] = (), step: str = ""
) -> list[Event]:
    """Return the events of a run, oldest first.

    Parameters
    ----------
    links
        The chain in which it goes on.
    closings
        The records by which it left its former chains: each stands behind the last
        record that was taken along.
    step
        Only what names this step.
    """
    claims: dict[int, Claim] = {}
    following = {link.revision: link for link in closings}
    found = []
    for link in links:
        found.append(_event(link, claims))
        if (closing := following.get(link.revision + 1)) is not None:
            found.append(_event(closing, claims))
    return [event for event in found if not step or event.step == step]


def _event(link: Link, claims: dict[int, Claim]) -> Event:
    envelope = link.envelope
    if envelope is None:
        return Event(
            revision=link.revision,
            at=None,
            epoch=-1,
            kind="damaged",
            step="",
            attempt="",
            actor="",
            text="this record is damaged; what it said counts as undecided",
            why=_DAMAGED,
            digest=link.digest,
        )
    record = _find_record(envelope)
    former = claims.get(max(claims, default=-1))
    if isinstance(record, Claim):
        claims[envelope.epoch] = record
    writer = claims.get(envelope.epoch)
    return Event(
        revision=link.revision,
        at=envelope.updated_at,
        epoch=envelope.epoch,
        kind=envelope.kind,
        step=getattr(record, "step", ""),
        attempt=getattr(record, "attempt", ""),
        actor=getattr(record, "actor", "") or (writer.actor if writer else ""),
        text=_text(record) if record else _unknown(envelope),
        why=_why(record, former) if record else "",
        duration_s=getattr(record, "duration_s", None),
        digest=link.digest,
    )


def _find_record(envelope: Envelope) -> RunRecord | None:
    try:
        return record_of(envelope)
    except (SchemaError, Damaged):
        return None


def _unknown(envelope: Envelope) -> str:
    return (
        f"a record of an unknown format: {envelope.kind} version "
        f"{envelope.schema_version}, by {envelope.writer or 'an unnamed release'}"
    )


def _text(record: RunRecord) -> str:
    match record:
        case Claim():
            return _claimed(record)
        case Intent():
            return "began"
        case EffectOpened() | EffectDone() | Progress():
            return _went_on(record)
        case Committed() | Failed():
            return _outcome(record)
        case Resolution():
            about = f"effect {record.effect!r} " if record.effect else ""
            again = f", again: {', '.join(record.again)}" if record.again else ""
            return f"{about}settled as {record.how}{_proof(record)}{again}"
        case MadeCurrent() | Branch():
            return _chosen(record)
        case _:
            return _text_of_chain(record)


def _went_on(record: EffectOpened | EffectDone | Progress) -> str:
    if isinstance(record, Progress):
        return f"saved its progress {place(record)}"
    return _effect(record)


def _chosen(record: MadeCurrent | Branch) -> str:
    if isinstance(record, Branch):
        return "is taken" if record.taken else "is not taken"
    renamed = f", was {record.renamed_from}" if record.renamed_from else ""
    return f"commit of revision {record.commit} is current{renamed}"


def _claimed(record: Claim) -> str:
    how = "took the run over" if record.took_over else "claimed the run"
    if isinstance(record, Forked):
        how = "began the run as a fork"
    return f"{_process(record)} {how}"


def _text_of_chain(record: Quarantined | Migration | Tombstone) -> str:
    if isinstance(record, Tombstone):
        return _erased(record)
    if isinstance(record, Quarantined):
        return f"revision {record.revision} is quarantined"
    if not record.chain:
        return "the run goes on in this chain again"
    changes = ", ".join(f"{k} {a} to {b}" for k, (a, b) in record.changes.items())
    return f"the run goes on in chain {record.chain}" + (changes and f": {changes}")


def _erased(record: Tombstone) -> str:
    count = sum(map(len, record.groups.values()))
    held = f"the payloads of {count} group{'' if count == 1 else 's'} were erased"
    match record.what:
        case Erased.RUN:
            return f"{held}: all of run {record.run}"
        case Erased.STEP:
            return f"{held}: what step {record.step} left"
        case Erased.NAME:
            return f"{held}: what held {record.name}"
        case Erased.RETENTION:
            return f"{held}: no step needs them"


def _why(record: RunRecord, former: Claim | None) -> str:
    match record:
        case Claim():
            return _why_claimed(record, former)
        case Intent():
            again = f", repeats attempt {record.recovers}" if record.recovers else ""
            return f"{record.reason}{again}"
        case Progress():
            went_on = f", went on at item {record.began}" if record.began else ""
            return f"loop {record.loop}{went_on}"
        case EffectOpened() | EffectDone():
            return _why_effect(record)
        case Committed() | Failed():
            return _why_ended(record)
        case Resolution():
            policy = f" (policy {record.policy})" if record.policy else ""
            return f"{record.because}{policy}"
        case MadeCurrent() | Branch():
            return _why_chosen(record)
        case _:
            return _DAMAGED if isinstance(record, Quarantined) else record.because


def _why_chosen(record: MadeCurrent | Branch) -> str:
    if isinstance(record, MadeCurrent):
        return "it was renamed" if record.renamed_from else "its key is as it was"
    if not record.condition:
        return "it has no condition any more"
    return f"its condition is {'true' if record.taken else 'false'}"


def _why_claimed(record: Claim, former: Claim | None) -> str:
    if isinstance(record, Forked):
        origin = record.origin
        return f"run {origin.run} up to step {origin.at}, revision {origin.revision}"
    if former is None:
        return "the run begins"
    if record.took_over:
        return f"a person chose to, from {_process(former)}"
    return f"{_process(former)} had ended, or was idle"


def _process(claim: Claim) -> str:
    return f"pid {claim.writer.pid} on {claim.writer.host}"


def _seen(record: Committed | Failed) -> str:
    seen = words(record.seen)
    return f" ({seen})" if seen else ""


def _outcome(record: Committed | Failed) -> str:
    if isinstance(record, Failed):
        how = "was interrupted" if record.interrupted else "failed"
    else:
        lost = f", without {', '.join(record.not_kept)}" if record.not_kept else ""
        how = f"committed as number {record.commit_number}{lost}"
    return f"{how}{_seen(record)}"


def _why_ended(record: Committed | Failed) -> str:
    if isinstance(record, Failed):
        return "Ctrl-C" if record.interrupted else f"it raised {record.error_type}"
    return f"policy {record.policy}" if record.policy else "its body ended"


def _proof(record: Resolution) -> str:
    """Say what proves it, if anything does but somebody's word."""
    evidence = record.evidence
    if evidence is None or not evidence.reference:
        return ""
    return f" ({evidence.kind}: {evidence.reference})"


def _effect(record: EffectOpened | EffectDone) -> str:
    anew = f" (generation {record.generation + 1})" if record.generation else ""
    told = f"effect {record.key!r}{anew}"
    if isinstance(record, EffectOpened):
        return f"{told} is called"
    match record.how:
        case Ended.FAILED:
            return f"{told} surely failed"
        case Ended.ABSENT:
            return f"{told} did not happen"
        case Ended.DONE:
            lost = ", result not kept" if record.not_kept else ""
            return f"{told} is done{lost}"


def _why_effect(record: EffectOpened | EffectDone) -> str:
    if isinstance(record, EffectOpened):
        again = f", repeats attempt {record.repeats}" if record.repeats else ""
        return f"its body asked for it{again}"
    match record.how:
        case Ended.FAILED:
            return f"it raised {record.error_type}"
        case Ended.ABSENT:
            return "by lookup"
        case Ended.DONE:
            return reference_of(record.evidence).strip() or "its call returned"
