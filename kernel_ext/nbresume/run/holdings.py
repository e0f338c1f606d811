"""What the chain of a run says of every group of payloads: one walk over its records.

The rule: decisions tell whose a group is, and its manifest what lies in it; a group
that no record names is told apart from one that some record does.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

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
    Resolution,
    RunRecord,
    Tombstone,
)
from nbresume.model.values import How, ManifestRef
from nbresume.run.journal import Journal
from nbresume.run.manifests import read_manifest


class Group(NamedTuple):
    """A group of payloads of a store."""

    run: str
    name: str

    @property
    def key(self) -> str:
        """Its folder in ``data.zarr``."""
        return f"{self.run}/{self.name}"

    @property
    def attempt(self) -> str:
        """The attempt that wrote it."""
        return self.name.partition("-")[0]

    @property
    def is_of_fork(self) -> bool:
        """Say whether it holds what a fork shares: decisions, and no value."""
        return self.name.endswith("-origin")


class Commit(Struct, frozen=True):
    """A commit as its record tells it."""

    at: datetime
    attempt: str
    group: Group | None
    """Where its payloads lie, if evidence did not make it without any."""


class Holdings(Struct):
    """What one run's records say about groups, its own and those that it shares."""

    journal: Journal
    commits: dict[int, Commit] = {}
    """By revision."""
    steps: dict[str, str] = {}
    """Attempt → its step, under the name that the step has now."""
    began: set[str] = set()
    """Attempts of which the intent is there."""
    inputs: dict[str, dict[str, str]] = {}
    """Attempt → name → version that its body found."""
    named: dict[Group, ManifestRef] = {}
    """Groups that records name, and where their manifests lie."""
    stored: dict[str, set[Group]] = {}
    """Attempt → where the ambient values lie that its intent names."""
    tombstones: list[Tombstone] = []
    is_damaged: bool = False
    """A record cannot be read: what it named is not known."""
    _manifests: dict[Group, Manifest | None] = {}

    @property
    def run_id(self) -> str:
        """The run."""
        return self.journal.run_id

    @property
    def origin(self) -> str:
        """The run that it is a fork of; empty if it is none."""
        origin = self.journal.state.origin
        return origin.run if origin else ""

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
        named = (record.named(self.run_id) for record in self.tombstones)
        return {Group(*one) for found in named for one in found}


class Family:
    """A run, what it is a fork of, and all their forks: who refers to its payloads."""

    def __init__(
        self, held: Iterable[Holdings], begun_since: Callable[[], list[Holdings]]
    ) -> None:
        self.runs = {one.run_id: one for one in held}
        """Run → what its records say."""
        self._begun_since = begun_since

    def forks_of(self, run_id: str) -> list[str]:
        """Return a run with its forks, and theirs."""
        found = [run_id]
        for one in found:
            found += [run for run, held in self.runs.items() if held.origin == one]
        return found

    def grow(self) -> list[Holdings]:
        """Take in the forks that were begun since the store was listed; return them.

        Asked when tombstones stand: a fork whose record is not there by now reads
        them before anybody goes on with it.
        """
        begun, found = self._begun_since(), list[Holdings]()
        while more := [
            one
            for one in begun
            if one.origin in self.runs and one.run_id not in self.runs
        ]:
            self.runs |= {one.run_id: one for one in more}
            found += more
        return found


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
        if link.envelope is None:
            found.is_damaged = True
        else:
            _note(found, link.envelope, journal.record(link.envelope))
    # a fold may know what a record said that is damaged by now
    for ref in refs_of(journal.state):
        found.named.setdefault(found.group(ref), ref)
    return found


def _note(found: Holdings, envelope: Envelope, record: RunRecord) -> None:
    refs: list[ManifestRef] = refs_of(record)
    match record:
        case Forked():
            refs = _note_shared(found, found.journal.shared(record))
        case Intent():
            found.steps[record.attempt] = record.step
            found.began.add(record.attempt)
            found.inputs[record.attempt] = record.inputs
            found.stored[record.attempt] = {found.group(ref) for ref in refs}
        case Committed():
            _note_commit(found, envelope, record.attempt, record.manifest)
        case Resolution() if record.how is How.EVIDENCE:
            _note_commit(found, envelope, record.attempt, record.manifest)
        case MadeCurrent():
            named = found.steps.items()
            old = [one for one, step in named if step == record.renamed_from]
            found.steps |= dict.fromkeys(old, record.step)
        case Tombstone():
            found.tombstones.append(record)
    for ref in refs:
        found.named[found.group(ref)] = ref


def _note_commit(
    found: Holdings, envelope: Envelope, attempt: str, ref: ManifestRef | None
) -> None:
    group = found.group(ref) if ref is not None and ref.group else None
    found.commits[envelope.revision] = Commit(envelope.updated_at, attempt, group)


def _note_shared(found: Holdings, shared: RunState) -> list[ManifestRef]:
    for step, history in shared.steps.items():
        attempts = [commit.record.attempt for commit in history.commits.values()]
        if history.attempt is not None:
            attempts.append(history.attempt.intent.attempt)
        found.steps |= dict.fromkeys(attempts, step)
    return refs_of(shared)
