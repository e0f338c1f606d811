"""The chain of one run with its folded state: read to the end, append, be fenced.

The rule: a record is appended only on what was read and applied. An append that
loses re-reads: a higher epoch above means fenced, final; the same epoch means that
somebody decided something, which is applied before the next try.
"""

from collections.abc import Callable

import msgspec

from nbresume.errors import ConflictError, FencedError
from nbresume.model.codec import (
    canonical,
    payload_of,
)
from nbresume.model.envelope import Envelope
from nbresume.model.records import (
    Claim,
    Committed,
    EffectDone,
    EffectOpened,
    Failed,
    Intent,
    Progress,
    Quarantined,
    Record,
    Resolution,
)
from nbresume.model.values import Reported, Sighting
from nbresume.run.moves import (
    found_at,
    goes_on_elsewhere,
)
from nbresume.run.reader import JournalReader

_CARRIERS = (Intent, EffectOpened, EffectDone, Progress, Committed, Failed)
"""Records of the claimant that carry what the user's code reported."""

FOLD_FLOOR_BYTES = 16_384
"""A new fold is not written before the records since the last one weigh this much."""


class Journal(JournalReader):
    """One run's chain, its state, and the only way to append to it."""

    def note(self, attempt: str, sighting: Sighting) -> None:
        """Note durably, beside the chain, that a running attempt reaches out.

        Raises
        ------
        StoreError
            The store cannot write; only this process knows it then.
        """
        for running in self._open_attempts():
            if running.intent.attempt == attempt:
                running.seen = [sighting]
        self._seen.create(attempt, canonical(sighting))

    @property
    def is_claimant(self) -> bool:
        """Say whether this process is the writer of the run, as far as was read."""
        # asked anew: the child of a fork is another process
        claim, me = self.state.claim, self._world.liveness.me()
        return claim is not None and claim.writer.nonce == me.nonce

    def wants_fold(self) -> bool:
        """Say whether the next commit should carry a new fold."""
        size = self.fold.length if self.fold else 0
        return self._tail_bytes > max(size, FOLD_FLOOR_BYTES)

    def append(
        self,
        record: Record,
        *,
        attempt: str = "",
        stored_at: int | None = None,
        after: Callable[[], object] | None = None,
    ) -> int:
        """Append a record of the claimant; return its revision.

        Parameters
        ----------
        record
            Intent, outcome or anything that only the writer of the run may say.
        attempt
            The attempt that it is about: a decision made meanwhile about that same
            attempt stops the append.
        stored_at
            `RunState.erased_at` from before the payloads that it names were looked up:
            an erasure since then stops the append.
        after
            What has to be over before the record can be seen: its payloads are durable.

        Raises
        ------
        FencedError
            Another kernel claimed the run.
        ConflictError
            Somebody settled this very attempt meanwhile, or erased payloads.
        """
        with self.lock:
            carries = isinstance(record, _CARRIERS) and self._reported != Reported()
            if carries:
                record = msgspec.structs.replace(record, reported=self._reported)
            while True:
                self.check_fence()
                self._check_stored(record, stored_at)
                try:
                    revision = self._append(record, self.state.epoch, after=after)
                except ConflictError:
                    before = self.state.revision
                    self.refresh()
                    self._check_attempt(attempt, before)
                else:
                    break
            if carries:
                self._reported = Reported()
            return revision

    def _check_stored(self, record: Record, stored_at: int | None) -> None:
        """Pass if no payload was erased since those of the record were looked up."""
        if stored_at is None or stored_at == self.state.erased_at:
            return
        raise ConflictError(
            f"a record ({record.KIND}) was not written",
            because="payloads of this run were erased at the same moment, and it may "
            "refer to some of them",
            remedy="Try again: what is missing is stored anew.",
            run_id=self.run_id,
        )

    def report(self, *, tokens: int, cost: float) -> None:
        """Count what the user's code used; the next record of the attempt carries it.

        Until then a kill loses it: what the run says is a lower bound.
        """
        with self.lock:
            self._reported = Reported(
                tokens=self._reported.tokens + tokens, cost=self._reported.cost + cost
            )

    def decide(self, record: Record) -> int:
        """Append a decision that anybody with the key may make; return its revision."""
        with self.lock:
            while True:
                try:
                    return self._append(record, self.state.epoch)
                except ConflictError:
                    self.refresh()

    def decide_on(self, record: Record, revision: int) -> int:
        """Append a decision that holds only if nothing was appended since `revision`.

        Raises
        ------
        ConflictError
            Something was; it is read, and the caller decides anew.
        """
        with self.lock:
            if self.state.revision == revision:
                try:
                    return self._append(record, self.state.epoch)
                except ConflictError:
                    self.refresh()
            raise ConflictError(
                f"a record ({record.KIND}) was not written",
                because="somebody appended to the run at the same moment",
                remedy="Type the command again.",
                run_id=self.run_id,
            )

    def claim(self, record: Claim) -> int:
        """Append a claim of the next epoch, then quarantine what is damaged.

        Raises
        ------
        ConflictError
            Another kernel appended at the same moment: read, and decide anew.
        """
        revision = self._append(record, self.state.epoch + 1)
        self.was_fenced = False
        for damaged in list(self.state.damaged):
            found = found_at(self._chain, damaged).digest
            self.append(Quarantined(revision=damaged, found_digest=found))
        return revision

    def check_fence(self) -> None:
        """Pass if this process is the claimant.

        Raises
        ------
        FencedError
            It is not, or no more.
        """
        self.check_open()
        if self.is_claimant:
            return
        self.was_fenced = True
        claim = self.state.claim
        who = f"pid {claim.writer.pid} on {claim.writer.host}" if claim else "nobody"
        raise FencedError(
            "fenced: this kernel writes nothing more to the run",
            because=f"another kernel ({who}) has taken it over",
            remedy="To go on here, type: %steps resume --take-over",
            run_id=self.run_id,
        )

    def check_open(self) -> None:
        """Pass if records may be appended to this chain.

        Raises
        ------
        FencedError
            The run was migrated and goes on in another one.
        """
        if self.state.moved_to:
            raise goes_on_elsewhere(self.run_id, self.state.moved_to)

    def _check_attempt(self, attempt: str, before: int) -> None:
        if not attempt:
            return
        for history in self.state.index.unsettled():
            newest = history.attempt
            if newest is None or newest.intent.attempt != attempt:
                continue
            if isinstance(newest.resolution, Resolution):
                raise ConflictError(
                    f"the outcome of step {history.name} was not recorded",
                    because=f"it was settled as {newest.resolution.how} by "
                    f"{newest.resolution.actor} after revision {before}",
                    remedy=f"Type %steps history {history.name}",
                    step=history.name,
                )

    def _append(
        self,
        record: Record,
        epoch: int,
        *,
        after: Callable[[], object] | None = None,
    ) -> int:
        self.check_open()
        envelope = Envelope(
            id=self._chain.checkpoint_id,
            run_id=self.run_id,
            revision=self.state.revision + 1,
            kind=record.KIND,
            schema_version=record.SCHEMA,
            payload=payload_of(record),
            updated_at=self._world.clock.now(),
            nonce=self._world.ids.nonce(),
            epoch=epoch,
            prev=self.state.digest,
            writer=self._product,
        )
        try:
            link = self._chain.append(envelope, after=after)
        except ConflictError:
            self.counts.revision_conflicts += 1
            raise
        self._apply(link)
        return link.revision
