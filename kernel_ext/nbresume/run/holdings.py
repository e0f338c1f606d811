"""What the chain of a run says of every group of payloads: one walk over its records.

The rule: decisions tell whose a group is, and its manifest what lies in it; a group
that no record names is told apart from one that some record does.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from nbresume.errors import Damaged
from nbresume.model.borrowed import refs_of
from nbresume.model.envelope import Envelope
from nbresume.model.folded import RunState
from nbresume.model.manifest import Manifest
from nbresume.model.records import (
    Committed,
    Forked,
    Intent,
    MadeCurrent,
    RunRecord,
    Tombstone,
)
from nbresume.model.values import ManifestRef
from nbresume.run.journal import Journal
from nbresume.run.manifests import read_manifest


class Group(NamedTuple):
    """A group of payloads of a store."""

    run: str
    name: str

    @property
    def attempt(self) -> str:
        """The attempt that wrote it."""
        return self.name.partition("-")[0]


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit as its record tells it."""

    at: datetime
    record: Committed


@dataclass(slots=True)
class Holdings:
    """What one run's records say about groups, its own and those that it shares."""

    journal: Journal
    commits: dict[int, Commit] = field(default_factory=dict)
    """By revision."""
    steps: dict[str, str] = field(default_factory=dict)
    """Attempt → its step, under the name that the step has now."""
    began: dict[str, datetime] = field(default_factory=dict)
    """Attempt → when it began."""
    inputs: dict[str, dict[str, str]] = field(default_factory=dict)
    """Attempt → name → version that its body found."""
    named: dict[Group, ManifestRef] = field(default_factory=dict)
    """Groups that records name, and where their manifests lie."""
    stored: dict[str, set[Group]] = field(default_factory=dict)
    """Attempt → where the ambient values lie that its intent names."""
    tombstones: list[Tombstone] = field(default_factory=list)
    _manifests: dict[Group, Manifest | None] = field(default_factory=dict)

    @property
    def run_id(self) -> str:
        """The run."""
        return self.journal.run_id

    def group(self, ref: ManifestRef) -> Group:
        """Return the group in which a manifest of this run's records lies."""
        return Group(ref.run or self.run_id, ref.group)

    def manifest(self, group: Group) -> Manifest | None:
        """Return what lies in a group that records name; None if it cannot be read."""
        if group not in self._manifests:
            try:
                found = read_manifest(self.journal.objects, self.named[group])
            except Damaged:
                found = None
            self._manifests[group] = found
        return self._manifests[group]

    def places(self, group: Group) -> Iterator[tuple[Group, str]]:
        """Give (group, array) of all payloads that a group refers to, also its own."""
        manifest = self.manifest(group)
        for place in manifest.payloads.values() if manifest else ():
            yield Group(place.run or self.run_id, place.group), place.array

    def erased(self) -> set[Group]:
        """Return the groups that its tombstones name."""
        return {
            Group(run or self.run_id, name)
            for record in self.tombstones
            for run, names in record.groups.items()
            for name in names
        }


def holdings_of(journal: Journal) -> Holdings:
    """Walk a run's chain.

    Raises
    ------
    NotTrusted
        The records were written under another key.
    SchemaError
        A record is of a format that this release cannot read.
    """
    found = Holdings(journal)
    for link in journal.envelopes():
        if link.envelope is not None:
            _note(found, link.envelope, journal.record(link.envelope))
    return found


def _note(found: Holdings, envelope: Envelope, record: RunRecord) -> None:
    refs: list[ManifestRef] = refs_of(record)
    match record:
        case Forked():
            refs = _note_shared(found, found.journal.shared(record))
        case Intent():
            found.steps[record.attempt] = record.step
            found.began[record.attempt] = envelope.updated_at
            found.inputs[record.attempt] = record.inputs
            found.stored[record.attempt] = {found.group(ref) for ref in refs}
        case Committed():
            found.commits[envelope.revision] = Commit(envelope.updated_at, record)
        case MadeCurrent():
            named = found.steps.items()
            old = [one for one, step in named if step == record.renamed_from]
            found.steps |= dict.fromkeys(old, record.step)
        case Tombstone():
            found.tombstones.append(record)
    for ref in refs:
        found.named[found.group(ref)] = ref


def _note_shared(found: Holdings, shared: RunState) -> list[ManifestRef]:
    for step, history in shared.steps.items():
        attempts = [commit.record.attempt for commit in history.commits.values()]
        if history.attempt is not None:
            attempts.append(history.attempt.intent.attempt)
        found.steps |= dict.fromkeys(attempts, step)
    return refs_of(shared)
