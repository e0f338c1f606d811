"""The past of a run: at each moment, what every name was and which record says so.

The rule: time, not notebook order. A name has the value of whatever wrote it last: a
commit, or an intent that found there what a plain cell had made.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct

from nbresume.errors import NotCommitted, UsageError
from nbresume.model.commits import SHARED
from nbresume.model.erasing import Erasing
from nbresume.model.folded import RunState
from nbresume.model.histories import Commit
from nbresume.model.records import (
    Claim,
    Committed,
    Forked,
    Intent,
    MadeCurrent,
    Resolution,
    RunRecord,
    Tombstone,
)
from nbresume.model.values import Ambient, ManifestRef
from nbresume.run.journal import Journal
from nbresume.run.position import lost
from nbresume.store.trust import Link


class Was(Struct, frozen=True):
    """What a name was at a moment; neither commit nor value: it was deleted."""

    commit: Commit | None = None
    """The commit that made it, or that it was changed on."""
    ambient: Ambient | None = None
    """What plain cells had made of it."""
    stored: ManifestRef | None = None
    """Where that lies; None if it was not kept."""

    def is_stored(self, name: str) -> bool:
        """Say whether the store has the value."""
        if self.ambient is not None:
            return self.stored is not None
        commit = self.commit
        return (
            commit is not None and not commit.erased and name in commit.record.outputs
        )

    def without(self, erasing: Erasing) -> "Was":
        """Return the same, with nothing stored that is erased."""
        if not erasing.hits(self.stored):
            return self
        return Was(commit=self.commit, ambient=self.ambient)

    def version(self, name: str) -> str:
        """Return the version of the value; empty if it was deleted."""
        if self.ambient is not None:
            return self.ambient.version
        if self.commit is None:
            return ""
        output = self.commit.record.outputs.get(name)
        return output.version if output else lost(self.commit.record)


class Moment(Struct, frozen=True):
    """A commit began to count: a step ended, or an earlier commit counts again."""

    step: str
    revision: int
    """Of the record that says so."""
    commit: Commit
    began: int
    """So many events lie before the body, its intent among them."""
    ended: int
    """So many events lie before its end, itself among them."""

    @property
    def label(self) -> str:
        """The step with the number of its commit, as a person types it."""
        return f"{self.step}@{self.commit.record.commit_number}"


class Past:
    """All moments of one run, oldest first."""

    def __init__(self, state: RunState) -> None:
        self.moments: list[Moment] = []
        self.state = state
        """The state of the run after the last record that was told."""
        self._events: list[Mapping[str, Was]] = []
        self._now: dict[str, Was] = {}
        """Every name after the last event."""
        self._intents: dict[str, int] = {}
        """Attempt → so many events lie before its body."""

    # -- what is asked ----------------------------------------------------------

    def at(self, event: int, names: Iterable[str] | None = None) -> dict[str, Was]:
        """Return what each of these names, or all, was after so many events.

        A name that no record tells of until then is not in it.
        """
        found: dict[str, Was] = {}
        for writes in self._events[:event]:
            found |= writes
        if names is None:
            return found
        return {name: found[name] for name in names if name in found}

    def holds(self, name: str, version: str) -> bool:
        """Say whether some record holds this value of a name."""
        told = (writes[name] for writes in self._events if name in writes)
        return any(was.version(name) == version and was.is_stored(name) for was in told)

    def changing(self, event: int) -> dict[str, list[Commit]]:
        """Return for each process state the commits that changed it, newest first."""
        found: dict[str, list[Commit]] = {}
        for moment in self.moments:
            if moment.ended <= event:
                for name in moment.commit.record.process:
                    found.setdefault(name, []).insert(0, moment.commit)
        return found

    def body_of(self, attempt: str) -> int | None:
        """Return how many events lie before the body of an attempt."""
        return self._intents.get(attempt)

    def find(self, step: str, revision: int) -> int | None:
        """Return the index of the newest moment at which this commit counted."""
        for index in range(len(self.moments) - 1, -1, -1):
            moment = self.moments[index]
            # the step may have another name by now; those of a fork share a revision
            if moment.commit.revision == revision and (
                revision != SHARED or moment.step == step
            ):
                return index
        return None

    def ended_with(self, step: str, number: int | None) -> Moment:
        """Return the moment at which a commit of a step began to count.

        Parameters
        ----------
        number
            Of the commit: when it was made. None for the one that counts now: since
            when it does.

        Raises
        ------
        NotCommitted
            The step has no such commit.
        """
        current = self.state.commit(step)
        mine = [moment for moment in self.moments if moment.step == step]
        if number is not None:
            found = [m for m in mine if m.commit.record.commit_number == number][:1]
        elif current is not None:
            found = [m for m in mine if m.commit.revision == current.revision][-1:]
        else:
            found = []
        if not found:
            raise self._unknown(step, number)
        return found[0]

    def _unknown(self, step: str, number: int | None) -> NotCommitted:
        have = [m.label for m in self.moments if m.step == step]
        known = sorted({m.step for m in self.moments})
        if have:
            because = f"step {step} has no commit {number} in this run"
            remedy = f"Type one of {', '.join(dict.fromkeys(have))}."
        elif self.state.step(step) is not None:
            because, remedy = f"step {step} has no commit in this run", "Run its cell."
        else:
            because = f"this run has no step {step}"
            remedy = f"Committed are: {', '.join(known) or 'none'}."
        asked = step if number is None else f"{step}@{number}"
        return NotCommitted(
            f"{asked} was not found", because=because, remedy=remedy, step=step
        )

    # -- how it is made ---------------------------------------------------------

    def tell(self, record: RunRecord, revision: int) -> None:
        """Take up what a record that is folded in says about names."""
        match record:
            case Forked():
                for step in record.origin.steps:
                    self._counts(step, revision, self.state.commit(step))
            case Intent():
                self._intents[record.attempt] = self._intend(record)
            case Committed() | Resolution():
                commit = self.state.commit(record.step)
                # only evidence, of the resolutions, makes a commit
                if commit is not None and commit.revision == revision:
                    self._counts(record.step, revision, commit)
            case MadeCurrent() if record.renamed_from:
                self._rename(record)
            case MadeCurrent():
                self._counts(record.step, revision, self.state.commit(record.step))

    def erase(self, record: Tombstone) -> None:
        """Take up that payloads are gone: those of earlier moments, too."""
        erasing = Erasing(record)
        for history in self.state.steps.values():
            erasing.of_step(history)
        for moment in self.moments:
            erasing.of_commit(moment.commit)
        self._events = [
            {name: was.without(erasing) for name, was in writes.items()}
            for writes in self._events
        ]
        self._now = {name: was.without(erasing) for name, was in self._now.items()}

    def _intend(self, intent: Intent) -> int:
        before = self._now
        writes = {
            name: Was(
                commit=before[name].commit if ambient.base and name in before else None,
                ambient=ambient,
                stored=intent.ambient_manifests[ambient.manifest]
                if ambient.manifest >= 0
                else None,
            )
            for name, ambient in intent.ambient.items()
        }
        self._happens(writes | dict.fromkeys(intent.deleted_ambient, Was()))
        return len(self._events)

    def _happens(self, writes: Mapping[str, Was]) -> None:
        self._events.append(writes)
        self._now |= writes

    def _counts(self, step: str, revision: int, commit: Commit | None) -> None:
        if commit is None:
            return
        record = commit.record
        began = len(self._events)
        if commit.revision == revision:
            began = self._intents.get(record.attempt, began)
        kept = dict.fromkeys([*record.outputs, *record.not_kept], Was(commit))
        self._happens(kept | dict.fromkeys(record.deleted, Was()))
        self.moments.append(Moment(step, revision, commit, began, len(self._events)))

    def _rename(self, record: MadeCurrent) -> None:
        """Let the moments of a step have its new name: no value has moved."""
        self.moments = [
            Moment(record.step, m.revision, m.commit, m.began, m.ended)
            if m.step == record.renamed_from
            else m
            for m in self.moments
        ]


def past_of(journal: Journal, *, until: int | None = None) -> Past:
    """Return the past of a run: its whole chain, vouched for.

    Parameters
    ----------
    until
        The last revision that counts; None for all. What was erased later is gone
        all the same.

    Raises
    ------
    NotTrusted
        The records were written under another key and are not pinned.
    """
    past = Past(RunState())
    for link in journal.envelopes():
        if until is None or link.revision <= until:
            _fold(past, journal, link)
        elif link.envelope is not None and link.envelope.kind == Tombstone.KIND:
            record = journal.record(link.envelope)
            if isinstance(record, Tombstone):
                past.erase(record)
    return past


def _fold(past: Past, journal: Journal, link: Link) -> None:
    envelope, state = link.envelope, past.state
    if envelope is None:
        state.skip(link.revision, digest=link.digest)
        return
    record = journal.record(envelope)
    state.apply(
        record,
        revision=link.revision,
        digest=link.digest,
        epoch=envelope.epoch,
        at=envelope.updated_at,
    )
    if isinstance(record, Forked):
        state.share(journal.shared(record))
    if isinstance(record, MadeCurrent) and state.commit(record.step) is None:
        commit = journal.commit_at(record.commit)
        if commit is not None:
            state.recall(record.step, commit)
    if isinstance(record, Tombstone):
        past.erase(record)
    elif not isinstance(record, Claim) or isinstance(record, Forked):
        past.tell(record, link.revision)


def parse_label(text: str) -> tuple[str, int | None]:
    """Return step and number of the commit of ``NAME[@COMMIT]``.

    Raises
    ------
    UsageError
        What stands behind the @ is no number of a commit.
    """
    step, at, number = text.partition("@")
    if not at:
        return step, None
    if not number.isdecimal() or not number.isascii() or not int(number):
        raise UsageError(
            f"{text} was not found",
            because=f"{number!r} is no number of a commit",
            remedy=f"Type {step}@1 for its first commit; "
            f"%steps history {step} shows the numbers.",
        )
    return step, int(number)


def parse_pair(old: str, new: str) -> tuple[str, int | None, str, int | None]:
    """Return step and number of two commits; a missing second one is the current.

    Raises
    ------
    UsageError
        A label cannot be understood, or one step without a number is all there is.
    """
    step, number = parse_label(old)
    if not new and number is None:
        raise UsageError(
            f"{old} was not compared",
            because="it is not said with which commit",
            remedy=f"Type {old}@1 to compare its first commit with the one that "
            f"counts now, or {old}@1 {old}@2.",
        )
    return step, number, *(parse_label(new) if new else (step, None))
