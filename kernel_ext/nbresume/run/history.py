"""The audit trail: what every record of a run says, one line for people."""

from datetime import datetime

import msgspec

from nbresume.errors import Damaged, SchemaError
from nbresume.model.codec import record_of
from nbresume.model.effects import reference_of
from nbresume.model.records import (
    Claim,
    Committed,
    EffectDone,
    EffectOpened,
    Ended,
    Failed,
    Intent,
    MadeCurrent,
    Quarantined,
    Resolution,
    RunRecord,
)
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
    text: str
    """What happened, in words."""
    duration_s: float | None = None
    digest: str = ""
    """Of the record's bytes."""


def events(links: list[Link], *, step: str = "") -> list[Event]:
    """Return the events of a chain, oldest first; only of one step if it is named."""
    found = [_event(link) for link in links]
    return [event for event in found if not step or event.step == step]


def _event(link: Link) -> Event:
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
            digest=link.digest,
        )
    try:
        record: RunRecord | None = record_of(envelope)
    except (SchemaError, Damaged):
        record = None
    return Event(
        revision=link.revision,
        at=envelope.updated_at,
        epoch=envelope.epoch,
        kind=envelope.kind,
        step=getattr(record, "step", ""),
        attempt=getattr(record, "attempt", ""),
        actor=getattr(record, "actor", ""),
        text=_text(record) if record else "a record of an unknown format",
        duration_s=getattr(record, "duration_s", None),
        digest=link.digest,
    )


def _text(record: RunRecord) -> str:
    match record:
        case Claim():
            how = "took the run over" if record.took_over else "claimed the run"
            return f"pid {record.writer.pid} on {record.writer.host} {how}"
        case Intent():
            again = f", repeats attempt {record.recovers}" if record.recovers else ""
            return f"began: {record.reason}{again}"
        case EffectOpened() | EffectDone():
            return _effect(record)
        case Committed() | Failed():
            return _outcome(record)
        case Resolution():
            return _resolution(record)
        case MadeCurrent():
            renamed = f", was {record.renamed_from}" if record.renamed_from else ""
            return f"commit of revision {record.commit} is current{renamed}"
        case Quarantined():
            return f"revision {record.revision} is quarantined"


def _outcome(record: Committed | Failed) -> str:
    if isinstance(record, Failed):
        return "interrupted" if record.interrupted else f"raised {record.error_type}"
    lost = f", without {', '.join(record.not_kept)}" if record.not_kept else ""
    return f"committed as number {record.commit_number}{lost}"


def _resolution(record: Resolution) -> str:
    policy = f" (policy {record.policy})" if record.policy else ""
    about = f"effect {record.effect!r} " if record.effect else ""
    again = f", again: {', '.join(record.again)}" if record.again else ""
    return f"{about}settled as {record.how}{policy}: {record.because}{again}"


def _effect(record: EffectOpened | EffectDone) -> str:
    anew = f" (generation {record.generation + 1})" if record.generation else ""
    told = f"effect {record.key!r}{anew}"
    if isinstance(record, EffectOpened):
        again = f", repeats attempt {record.repeats}" if record.repeats else ""
        return f"{told} is called{again}"
    match record.how:
        case Ended.FAILED:
            return f"{told} surely failed: {record.error_type}"
        case Ended.ABSENT:
            return f"{told} did not happen, by lookup"
        case Ended.DONE:
            lost = ", result not kept" if record.not_kept else ""
            return f"{told} is done{reference_of(record.evidence)}{lost}"
