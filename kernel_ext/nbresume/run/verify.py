"""The proof that a step is committed, and the walk over everything that is stored.

The rule: verifying changes no byte.
"""

import msgspec
from msgspec import Struct, field

from nbresume.errors import NbresumeError, NotCommitted
from nbresume.model.borrowed import refs_of
from nbresume.model.codec import record_of
from nbresume.model.records import (
    Committed,
    EffectDone,
    Forked,
    Intent,
    Progress,
    Resolution,
    Tombstone,
)
from nbresume.model.values import ManifestRef
from nbresume.run.journal import Journal
from nbresume.run.manifests import read_manifest
from nbresume.store.trust import Link


class Proof(Struct, frozen=True):
    """Why a step counts as committed."""

    step: str
    revision: int
    digest: str
    """SHA-256 of the record's bytes."""
    key_id: str
    """The key that signed it."""
    at: str
    writer: str
    payloads: int
    payload_bytes: int


class Report(Struct):
    """What a walk over a run found."""

    records: int = 0
    payloads: int = 0
    payload_bytes: int = 0
    problems: list[str] = field(default_factory=list)
    erased: int = 0
    """Groups that records name and tombstones say to be gone."""


def prove(journal: Journal, step: str) -> Proof:
    """Check the commit of a step down to every payload's digest; return the proof.

    Raises
    ------
    NotCommitted
        The step has no commit.
    StoreError
        The record or one of its payloads is damaged.
    """
    commit = journal.state.commit(step)
    if commit is None:
        raise NotCommitted(
            f"step {step} is not proved",
            because="it has no commit in this run",
            remedy="Run the step.",
            step=step,
        )
    links = [link for link in journal.envelopes() if link.revision == commit.revision]
    envelope = links[0].envelope if links else None
    if envelope is None:
        raise NotCommitted(
            f"step {step} is not proved",
            because=f"its record (revision {commit.revision}) is damaged",
            remedy="Run the step again.",
            step=step,
        )
    report = Report()
    _check_group(journal, commit.record.manifest, report, strict=True)
    return Proof(
        step=step,
        revision=commit.revision,
        digest=links[0].digest,
        key_id=envelope.key_id,
        at=envelope.updated_at.isoformat(),
        writer=envelope.writer,
        payloads=report.payloads,
        payload_bytes=report.payload_bytes,
    )


def verify(journal: Journal) -> Report:
    """Walk every record and every payload of a run."""
    report, links = Report(), journal.envelopes()
    gone = _erased(links)
    for link in links:
        report.records += 1
        if link.envelope is None:
            report.problems.append(f"record {link.revision} is damaged")
            continue
        for ref in _groups(link, journal, report):
            if (ref.run, ref.group) in gone:
                report.erased += 1
            else:
                _check_group(journal, ref, report, strict=False)
        _check_fold(journal, link, report, gone)
    return report


def _erased(links: list[Link]) -> set[tuple[str, str]]:
    """Return (run, group) of all that tombstones name."""
    records = [
        msgspec.convert(link.envelope.payload, Tombstone)
        for link in links
        if link.envelope is not None and link.envelope.kind == Tombstone.KIND
    ]
    return set[tuple[str, str]]().union(*(record.named() for record in records))


def _groups(link: Link, journal: Journal, report: Report) -> list[ManifestRef]:
    if link.envelope is None:
        return []
    try:
        record = record_of(link.envelope)
        if isinstance(record, Forked):
            report.payload_bytes += record.origin.fold.length
            return refs_of(journal.shared(record))
    except NbresumeError as error:
        report.problems.append(str(error))
        return []
    if isinstance(record, Committed | Progress):
        return [record.manifest]
    if isinstance(record, Intent):
        return list(record.ambient_manifests)
    refs = []
    if isinstance(record, EffectDone | Resolution):
        refs.append(record.result)
    if isinstance(record, Resolution):
        refs.append(record.manifest)
    return [ref for ref in refs if ref is not None]


def _check_fold(
    journal: Journal, link: Link, report: Report, gone: set[tuple[str, str]]
) -> None:
    """Check a folded state in the pack of the record that made it."""
    if link.envelope is None or link.envelope.kind != Committed.KIND:
        return
    record = record_of(link.envelope)
    if not isinstance(record, Committed) or record.fold is None:
        return
    fold = record.fold
    if fold.group != record.manifest.group or ("", fold.group) in gone:
        return
    try:
        report.payload_bytes += len(journal.objects.read_slice(fold))
    except NbresumeError as error:
        report.problems.append(f"{fold.group}: {error}")


def _check_group(
    journal: Journal, ref: ManifestRef, report: Report, *, strict: bool
) -> None:
    if not ref.group:
        return
    try:
        manifest = read_manifest(journal.objects, ref)
        report.payload_bytes += ref.length
        for digest, place in manifest.payloads.items():
            journal.objects.check(place, digest)
            report.payloads += 1
            report.payload_bytes += place.length
    except NbresumeError as error:
        if strict:
            raise
        report.problems.append(f"{ref.group}: {error}")
