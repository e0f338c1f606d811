"""The folded state of a run: what its records say, one after the other.

The rule: `RunState.apply` is the only place where a record gets its meaning.
"""

from datetime import datetime

import msgspec

from nbresume.model import effects
from nbresume.model.commits import committed_by_evidence, trim
from nbresume.model.effects import EffectHistory
from nbresume.model.evidence import held_against
from nbresume.model.records import (
    Claim,
    Committed,
    EffectDone,
    EffectOpened,
    Failed,
    Intent,
    MadeCurrent,
    Migration,
    OfStep,
    Quarantined,
    Resolution,
    RunRecord,
)
from nbresume.model.states import Claimant, Facts, Outcome
from nbresume.model.usage import used
from nbresume.model.values import Ambient, How, ManifestRef, Sighting, Usage
from nbresume.settings import Undeclared


class _Folded(msgspec.Struct, forbid_unknown_fields=True):
    """A part of the folded state: a fold with other fields is of another format."""


class Attempt(_Folded, kw_only=True):
    """The newest attempt of a step."""

    revision: int
    epoch: int
    at: datetime
    intent: Intent
    by: str = ""
    """The kernel that ran it, in words: another one may hold the claim by now."""
    outcome: Outcome = Outcome.OPEN
    failed: Failed | None = None
    resolution: Resolution | None = None
    seen: list[Sighting] = []
    """By its outcome; without one, by the note in the store."""

    def doubt(self, undeclared: Undeclared = Undeclared.EVIDENCE) -> str:
        """Return why the attempt is in doubt if its outcome is unknown, or ''."""
        if self.intent.options.effects:
            return "it declared --effects"
        return held_against(self.intent.options, self.seen, undeclared)


class Commit(_Folded, kw_only=True):
    """One commit of a step."""

    revision: int
    at: datetime
    record: Committed
    by_evidence: Resolution | None = None
    """It was settled by a person's evidence: no values are kept."""


class StepHistory(_Folded, kw_only=True):
    """What the records say about one step."""

    name: str
    first_revision: int
    """Of its first intent: the order of steps when no notebook tells it."""
    attempts: int = 0
    attempt: Attempt | None = None
    commits: dict[int, Commit] = {}
    """The newest ones whole, by revision."""
    current: int = -1
    """Revision of the commit that counts; -1 if none."""
    keys: dict[str, int] = {}
    """Key → revision of the newest commit with it."""
    commit_number: int = 0
    rerun: Resolution | None = None
    """A person asked for it to run again."""
    effects: dict[str, EffectHistory] = {}
    """Key → what is known of that effect, over all attempts."""

    def commit(self) -> Commit | None:
        """Return the commit that counts, if there is one."""
        return self.commits.get(self.current)

    def doubt(
        self,
        now: datetime | None = None,
        *,
        undeclared: Undeclared = Undeclared.EVIDENCE,
    ) -> str:
        """Return why the newest attempt is in doubt if its outcome is unknown, or ''.

        Parameters
        ----------
        now
            The time, for keys that a remote forgets; None if the clock is behind
            what the chain has recorded.
        undeclared
            The policy for steps that declare nothing.
        """
        keys = effects.doubtful_keys(self.effects, now)
        if keys:
            return f"the outcome of its {effects.spoken_keys(keys)} is unknown"
        return self.attempt.doubt(undeclared) if self.attempt else ""

    def facts(
        self,
        claimant: Claimant,
        now: datetime | None = None,
        *,
        undeclared: Undeclared = Undeclared.EVIDENCE,
    ) -> Facts:
        """Return what the state of the newest attempt depends on."""
        attempt = self.attempt
        if attempt is None:
            outcome = Outcome.COMMITTED if self.current >= 0 else Outcome.NONE
            return Facts(outcome, claimant)
        resolution = attempt.resolution.how if attempt.resolution else None
        # an open effect is in doubt also when a traceback tells how the body ended
        in_doubt = bool(effects.doubtful_keys(self.effects, now)) or (
            attempt.outcome is Outcome.OPEN and bool(attempt.doubt(undeclared))
        )
        return Facts(attempt.outcome, claimant, in_doubt, resolution)


class StoredAmbient(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """The newest stored value that plain cells gave a name."""

    ambient: Ambient
    manifest: ManifestRef


class RunState(_Folded, kw_only=True):
    """A run's chain, folded up to and including `revision`."""

    revision: int = -1
    digest: str = ""
    """Of the record at `revision`: what the next one links to."""
    epoch: int = 0
    claim: Claim | None = None
    claimed_at: datetime | None = None
    newest_at: datetime | None = None
    """The latest time that a record tells: no clock can be right and earlier."""
    steps: dict[str, StepHistory] = {}
    ambient: dict[str, StoredAmbient] = {}
    """Name → the newest value that plain cells gave it and an intent stored."""
    modules: dict[str, str] = {}
    """Name → module or import that plain cells bound to it."""
    next_object: int = 0
    usage: Usage = Usage()
    settled: int = 0
    """So many attempts were in doubt, and somebody or a policy settled them."""
    damaged: list[int] = []
    """Revisions that could not be read and are not quarantined yet."""
    quarantined: list[int] = []
    moved_to: str = ""
    """Chain in which the run goes on: to this one nothing is appended any more."""

    def trusted_time(self, now: datetime) -> datetime | None:
        """Return the time; None if the clock is behind what is recorded."""
        return None if self.newest_at is not None and now < self.newest_at else now

    def step(self, name: str) -> StepHistory | None:
        """Return the history of a step, if it has one."""
        return self.steps.get(name)

    def commit(self, name: str) -> Commit | None:
        """Return the commit of a step that counts, if there is one."""
        history = self.steps.get(name)
        return history.commit() if history else None

    def skip(self, revision: int, *, digest: str) -> None:
        """Move past a damaged record: what it may have decided is undecided."""
        self.revision, self.digest = revision, digest
        self.damaged.append(revision)

    def apply(
        self, record: RunRecord, *, revision: int, digest: str, epoch: int, at: datetime
    ) -> None:
        """Fold one record in; afterwards the state is that at `revision`."""
        self.revision, self.digest = revision, digest
        self.newest_at = max(at, self.newest_at or at)
        match record:
            case Claim() | Quarantined() | Migration():
                self._stand(record, epoch, at)
            case _:
                self._apply_to_step(record, revision, epoch, at)

    def _apply_to_step(
        self,
        record: OfStep,
        revision: int,
        epoch: int,
        at: datetime,
    ) -> None:
        match record:
            case Intent():
                self._intend(record, revision, epoch, at)
            case EffectOpened() | EffectDone():
                known = self._history(record.step, revision).effects
                effects.note(known, record, at)
                self.usage = used(self.usage, reported=record.reported)
            case Committed():
                self._commit(record, Commit(revision=revision, at=at, record=record))
            case Failed():
                self._fail(record)
            case Resolution():
                self._resolve(record, revision, at)
            case MadeCurrent():
                self._make_current(record)

    def _stand(
        self, record: Claim | Quarantined | Migration, epoch: int, at: datetime
    ) -> None:
        """Fold in what is said about the chain itself."""
        match record:
            case Claim():
                self.epoch, self.claim, self.claimed_at = epoch, record, at
            case Quarantined():
                self.quarantined.append(record.revision)
                self.damaged = [r for r in self.damaged if r != record.revision]
            case Migration():
                self.moved_to = record.chain

    def _history(self, name: str, revision: int) -> StepHistory:
        history = self.steps.get(name)
        if history is None:
            history = self.steps[name] = StepHistory(name=name, first_revision=revision)
        return history

    def _intend(self, intent: Intent, revision: int, epoch: int, at: datetime) -> None:
        history = self._history(intent.step, revision)
        history.attempts += 1
        writer = self.claim.writer if self.claim else None
        history.attempt = Attempt(
            revision=revision,
            epoch=epoch,
            at=at,
            intent=intent,
            by=f"pid {writer.pid} on {writer.host}" if writer else "",
        )
        self.next_object = max(self.next_object, intent.next_object)
        self.modules |= intent.modules
        for name, ambient in intent.ambient.items():
            if ambient.manifest >= 0:
                self.ambient[name] = StoredAmbient(
                    ambient=ambient,
                    manifest=intent.ambient_manifests[ambient.manifest],
                )
        self.usage = used(self.usage, attempts=1, reported=intent.reported)

    def _commit(self, record: Committed, commit: Commit) -> None:
        history = self._history(record.step, commit.revision)
        attempt = history.attempt
        if attempt is not None and attempt.intent.attempt == record.attempt:
            attempt.outcome = Outcome.COMMITTED
        history.commits[commit.revision] = commit
        history.current = commit.revision
        history.commit_number = max(history.commit_number, record.commit_number)
        history.keys.pop(record.key, None)
        history.keys[record.key] = commit.revision
        history.rerun = None
        trim(history.commits, history.keys, current=history.current)
        self.next_object = max(self.next_object, record.next_object)
        self.usage = used(
            self.usage,
            wall_s=record.duration_s,
            cpu_s=record.cpu_s,
            size=record.payload_bytes,
            reported=record.reported,
        )

    def _fail(self, record: Failed) -> None:
        history = self.steps.get(record.step)
        attempt = history.attempt if history else None
        if attempt is not None and attempt.intent.attempt == record.attempt:
            attempt.outcome, attempt.failed = Outcome.FAILED, record
            attempt.seen = list(record.seen)
        self.usage = used(
            self.usage,
            wall_s=record.duration_s,
            cpu_s=record.cpu_s,
            reported=record.reported,
        )

    def _resolve(self, record: Resolution, revision: int, at: datetime) -> None:
        if record.how is How.RERUN:
            # also of a step that never ran: a person says that it is a new one
            asked = self._history(record.step, revision)
            asked.rerun = record
            effects.renew(asked.effects, record.again)
            return
        history = self.steps.get(record.step)
        if history is None:
            return
        attempt = history.attempt
        if attempt is None or attempt.intent.attempt != record.attempt:
            return
        if record.effect:
            effects.settle(history.effects, record, [record.effect])
            return
        self.settled += attempt.resolution is None
        attempt.resolution = record
        if record.how is How.EVIDENCE:
            made = committed_by_evidence(
                attempt.intent,
                record,
                number=history.commit_number + 1,
                doubt=history.doubt(),
                at=attempt.at,
                seen=attempt.seen,
            )
            effects.settle(history.effects, record, list(history.effects))
            self._commit(
                made,
                Commit(revision=revision, at=at, record=made, by_evidence=record),
            )

    def _make_current(self, record: MadeCurrent) -> None:
        if record.renamed_from:
            history = self.steps.pop(record.renamed_from, None)
            if history is not None:
                history.name = record.step
                self.steps[record.step] = history
        history = self.steps.get(record.step)
        if history is not None:
            history.current = record.commit
