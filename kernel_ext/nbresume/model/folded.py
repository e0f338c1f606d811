"""The folded state of a run: what its records say, one after the other.

The rule: `RunState.apply` is the only place where a record gets its meaning.
"""

from datetime import datetime
from functools import cached_property

import msgspec

from nbresume.model import effects, progress
from nbresume.model.commits import committed_by_evidence, trim
from nbresume.model.histories import Attempt, Commit, StepHistory
from nbresume.model.index import RunIndex
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
    OfStep,
    Progress,
    Quarantined,
    Resolution,
    RunRecord,
    Tombstone,
)
from nbresume.model.states import Outcome
from nbresume.model.usage import used
from nbresume.model.values import Ambient, How, ManifestRef, Origin, Usage


class StoredAmbient(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True
):
    """The newest stored value that plain cells gave a name."""

    ambient: Ambient
    manifest: ManifestRef


class RunState(msgspec.Struct, kw_only=True, dict=True, forbid_unknown_fields=True):
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
    origin: Origin | None = None
    """Where it comes from, if it is a fork."""
    erased_at: int = -1
    """Revision of the newest tombstone: what was stored before may be gone."""
    moved_to: str = ""
    """Chain in which the run goes on: to this one nothing is appended any more."""

    @cached_property
    def index(self) -> RunIndex:
        """Tables over the steps, made when first asked for; no part of a fold."""
        return RunIndex(self.steps)

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

    def left(self, name: str) -> Commit | None:
        """Return what the commit of a step left, also if its payloads are erased."""
        history = self.steps.get(name)
        return history.left() if history else None

    def share(self, shared: "RunState") -> None:
        """Begin with what a fork shares: its first record counts already."""
        self.steps, self.ambient = shared.steps, shared.ambient
        self.modules, self.next_object = shared.modules, shared.next_object
        vars(self).pop("index", None)

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
            case Tombstone():
                self._erase(record, revision)
            case _ if isinstance(record, OfStep):
                self._apply_to_step(record, revision, epoch, at)
                self._note(record.step)

    def recall(self, step: str, commit: Commit) -> None:
        """Put a commit that counts again back where it was trimmed."""
        self.steps[step].commits[commit.revision] = commit
        self._note(step)

    def _note(self, step: str) -> None:
        # a run that is only read never asks, and pays nothing
        if "index" in vars(self):
            self.index.note(step)

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
            case EffectOpened() | EffectDone() | Progress():
                self._go_on(record, revision, at)
            case Committed():
                self._commit(record, Commit(revision=revision, at=at, record=record))
            case Failed():
                self._fail(record)
            case Resolution():
                self._resolve(record, revision, at)
            case MadeCurrent():
                self._make_current(record)
            case Branch():
                self._history(record.step, revision).branch = record

    def _go_on(
        self, record: EffectOpened | EffectDone | Progress, revision: int, at: datetime
    ) -> None:
        """Fold in what a body says while it runs."""
        history = self._history(record.step, revision)
        if isinstance(record, Progress):
            progress.note(history.progress, record, revision=revision, at=at)
            self.next_object = max(self.next_object, record.next_object)
        else:
            effects.note(history.effects, record, at)
        self.usage = used(self.usage, reported=record.reported)

    def _stand(
        self, record: Claim | Quarantined | Migration, epoch: int, at: datetime
    ) -> None:
        """Fold in what is said about the chain itself."""
        match record:
            case Claim():
                if isinstance(record, Forked):
                    self.origin, record = record.origin, record.as_claim()
                self.epoch, self.claim, self.claimed_at = epoch, record, at
            case Quarantined():
                self.quarantined.append(record.revision)
                self.damaged = [r for r in self.damaged if r != record.revision]
            case Migration():
                self.moved_to = record.chain

    def _erase(self, record: Tombstone, revision: int) -> None:
        """Fold in that payloads count no more, whoever referred to them."""
        # few runs have one, and each start of a kernel pays for what is imported
        from nbresume.model.erasing import Erasing  # noqa: PLC0415

        self.erased_at = revision
        erasing = Erasing(record)
        for step, history in self.steps.items():
            erasing.of_step(history)
            self._note(step)
        for name, stored in list(self.ambient.items()):
            if erasing.hits(stored.manifest):
                del self.ambient[name]

    def _history(self, name: str, revision: int) -> StepHistory:
        history = self.steps.get(name)
        if history is None:
            history = self.steps[name] = StepHistory(name=name, first_revision=revision)
        return history

    def _intend(self, intent: Intent, revision: int, epoch: int, at: datetime) -> None:
        history = self._history(intent.step, revision)
        history.attempts += 1
        former = history.attempt
        if former is not None and former.intent.key != intent.key:
            history.progress = {}  # other code or inputs: it starts from these
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
            commit.ambient = attempt.intent.ambient
        history.commits = {r: c for r, c in history.commits.items() if not c.erased}
        history.commits[commit.revision] = commit
        history.current = commit.revision
        history.commit_number = max(history.commit_number, record.commit_number)
        history.keys.pop(record.key, None)
        history.keys[record.key] = commit.revision
        history.rerun = None
        history.progress = {}
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
            asked.progress = {}
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
                self._note(record.renamed_from)
        history = self.steps.get(record.step)
        if history is not None:
            history.current = record.commit
