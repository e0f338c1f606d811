"""The chain of one run with its folded state: read to the end, append, be fenced.

The rule: a record is appended only on what was read and applied. An append that
loses re-reads: a higher epoch above means fenced, final; the same epoch means that
somebody decided something, which is applied before the next try.
"""

import logging
from collections.abc import Iterable, Sequence

from nbresume.errors import ConflictError, Damaged, FencedError, KeyMissing, NotTrusted
from nbresume.model.codec import decode, payload_of, record_of
from nbresume.model.envelope import Envelope
from nbresume.model.records import (
    Claim,
    Committed,
    FoldRef,
    MadeCurrent,
    Quarantined,
    Record,
    Resolution,
)
from nbresume.model.states import Commit, RunState
from nbresume.run.ports import World
from nbresume.store.chain import Chain
from nbresume.store.objects import Objects
from nbresume.store.trust import Link, Trust

_log = logging.getLogger("nbresume.run")

FOLD_FLOOR_BYTES = 16_384
"""A new fold is not written before the records since the last one weigh this much."""


class Journal:
    """One run's chain and the state it folds to."""

    def __init__(
        self,
        run_id: str,
        *,
        chain: Chain,
        trust: Trust,
        objects: Objects,
        world: World,
        product: str,
    ) -> None:
        self.run_id = run_id
        self.objects = objects
        self.state = RunState()
        self.fold: FoldRef | None = None
        self.was_fenced = False
        """An append of this process was refused: it goes on only by a take-over."""
        self._chain = chain
        self._trust = trust
        self._world = world
        self._product = product
        self._me = world.liveness.me()
        self._tail_bytes = 0
        """Weight of the records after the newest fold."""
        self._told: set[int] = set()
        self._is_settled = True
        """Nothing was read that its writer may not have flushed."""
        self._inspects = False
        """Decisions are read without being vouched for: nothing may be loaded."""

    # -- reading ----------------------------------------------------------------

    def open(self, *, inspect: bool = False) -> None:
        """Read one fold and the records after it; afterwards `state` is the newest.

        Parameters
        ----------
        inspect
            Read decisions of a foreign store too, for listing; nothing of it may
            be loaded then.

        Raises
        ------
        NotTrusted
            The records were written under another key and are not pinned.
        SchemaError
            A record is of a format that this release cannot read.
        """
        self._inspects = inspect
        newest = self._chain.newest()
        self._is_settled = newest is None
        links: list[Link] = []
        revision = -1 if newest is None else newest
        while revision >= 0:
            links.append(self._read(revision))
            if self._start_from_fold(links, inspect=inspect):
                return
            revision -= 1
        self.state, self.fold, self._tail_bytes = RunState(), None, 0
        self._apply_all(self._vouched(links[::-1], inspect=inspect))

    def _read(self, revision: int) -> Link:
        """Return the record as it lies there; a missing one counts as damaged."""
        try:
            return self._chain.read(revision)
        except KeyMissing:
            return Link(revision=revision, digest="", size=0, envelope=None)

    def _vouched(self, links: Sequence[Link], *, inspect: bool) -> list[Link]:
        return list(links) if inspect else self._trust.vouch(links)

    def _start_from_fold(self, links: list[Link], *, inspect: bool) -> bool:
        """Begin with the fold that the last link read names, if it names a good one."""
        envelope = links[-1].envelope
        if envelope is None or envelope.kind != Committed.KIND:
            return False
        vouched = self._vouched(links[::-1], inspect=inspect)
        if vouched[0].envelope is None:
            return False
        record = record_of(envelope)
        if not isinstance(record, Committed) or record.fold is None:
            return False
        fold = record.fold
        try:
            data = self.objects.read_slice(fold)
        except Damaged:
            _log.warning("fold at revision %d is damaged; reading on", fold.revision)
            return False
        between = [self._read(r) for r in range(fold.revision + 1, links[-1].revision)]
        self.state = decode(data, RunState, name=f"fold {fold.revision}")
        self.fold, self._tail_bytes = fold, 0
        self._apply_all(self._vouched([*between, *links[::-1]], inspect=inspect))
        return True

    def refresh(self) -> None:
        """Read what was appended since; afterwards `state` is the newest.

        What was read survives power loss from then on, so it may be built on.
        """
        links = self._chain.follow(self.state.revision)
        if links or not self._is_settled:
            self._chain.settle()
            self._is_settled = True
        if links:
            self._apply_all(self._trust.vouch(links))

    def _apply_all(self, links: Iterable[Link]) -> None:
        for link in links:
            self._apply(link)

    def _apply(self, link: Link) -> None:
        envelope = link.envelope
        if envelope is None or not self._follows(envelope):
            self._tell_damage(link.revision)
            self.state.skip(link.revision, digest=link.digest)
        else:
            record = record_of(envelope)
            self.state.apply(
                record,
                revision=link.revision,
                digest=link.digest,
                epoch=envelope.epoch,
                at=envelope.updated_at,
            )
            if isinstance(record, Committed) and record.fold is not None:
                self._note_fold(record.fold)
            if isinstance(record, MadeCurrent):
                self._recall(record)
        self._tail_bytes += link.size

    def _recall(self, record: MadeCurrent) -> None:
        """Put a commit that counts again back into the state if it was trimmed."""
        history = self.state.step(record.step)
        if history is None or record.commit in history.commits:
            return
        commit = self.commit_at(record.commit)
        if commit is not None:
            history.commits[record.commit] = commit

    def _follows(self, envelope: Envelope) -> bool:
        # behind a damaged record the link cannot be checked; its own MAC was
        after_damage = self.state.revision in self.state.damaged
        return after_damage or envelope.prev == self.state.digest

    def _note_fold(self, fold: FoldRef) -> None:
        if self.fold is None or fold.revision > self.fold.revision:
            self.fold, self._tail_bytes = fold, 0

    def _tell_damage(self, revision: int) -> None:
        if revision in self._told:
            return
        self._told.add(revision)
        self._world.screen.say(
            f"record {revision} of this run is damaged (truncated, or its digest "
            "differs); what it said counts as undecided"
        )

    # -- writing ----------------------------------------------------------------

    @property
    def is_claimant(self) -> bool:
        """Say whether this process is the writer of the run, as far as was read."""
        claim = self.state.claim
        return claim is not None and claim.writer.nonce == self._me.nonce

    def wants_fold(self) -> bool:
        """Say whether the next commit should carry a new fold."""
        size = self.fold.length if self.fold else 0
        return self._tail_bytes > max(size, FOLD_FLOOR_BYTES)

    def append(self, record: Record, *, attempt: str = "") -> int:
        """Append a record of the claimant; return its revision.

        Parameters
        ----------
        record
            Intent, outcome or anything that only the writer of the run may say.
        attempt
            The attempt that it is about: a decision made meanwhile about that same
            attempt stops the append.

        Raises
        ------
        FencedError
            Another kernel claimed the run.
        ConflictError
            Somebody settled this very attempt meanwhile.
        """
        while True:
            self.check_fence()
            try:
                return self._append(record, self.state.epoch)
            except ConflictError:
                before = self.state.revision
                self.refresh()
                self._check_attempt(attempt, before)

    def decide(self, record: Record) -> int:
        """Append a decision that anybody with the key may make; return its revision."""
        while True:
            try:
                return self._append(record, self.state.epoch)
            except ConflictError:
                self.refresh()

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
            found = self._read(damaged).digest
            self.append(Quarantined(revision=damaged, found_digest=found))
        return revision

    def check_fence(self) -> None:
        """Pass if this process is the claimant.

        Raises
        ------
        FencedError
            It is not, or no more.
        """
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

    def _check_attempt(self, attempt: str, before: int) -> None:
        if not attempt:
            return
        for history in self.state.steps.values():
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

    def _append(self, record: Record, epoch: int) -> int:
        envelope = Envelope(
            id=self.run_id,
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
        link = self._chain.append(envelope)
        self._apply(link)
        return link.revision

    def commit_at(self, revision: int) -> Commit | None:
        """Return an older commit that is not in the folded state any more.

        Raises
        ------
        NotTrusted
            The records were written under another key and are not pinned.
        """
        link = self._vouched_at(revision)
        record = record_of(link.envelope) if link.envelope else None
        if link.envelope is None or not isinstance(record, Committed):
            return None
        return Commit(revision=revision, at=link.envelope.updated_at, record=record)

    def _vouched_at(self, revision: int) -> Link:
        link = self._read(revision)
        try:
            return self._vouched([link], inspect=self._inspects)[0]
        except NotTrusted:
            # a foreign record counts if what hangs on it, up to the head, is ours
            newest = self._chain.newest() or revision
            later = [self._read(r) for r in range(revision + 1, newest + 1)]
            return self._trust.vouch([link, *later])[0]

    def envelopes(self) -> list[Link]:
        """Return the whole chain from revision 0, vouched for."""
        newest = self._chain.newest()
        if newest is None:
            return []
        return self._trust.vouch([self._read(r) for r in range(newest + 1)])
