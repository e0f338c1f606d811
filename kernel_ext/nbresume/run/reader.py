"""The chain of one run, read and folded: from one fold on, and what was appended since.

The rule: what is read is vouched for before it counts, and flushed before something is
built on it; a damaged record is passed over, and told.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Sequence

from nbresume.errors import Damaged, NotTrusted, SchemaError, SealedError
from nbresume.model.codec import (
    SCHEMAS,
    Schemas,
    decode,
    record_of,
)
from nbresume.model.envelope import Envelope
from nbresume.model.folded import RunState
from nbresume.model.histories import Attempt, Commit
from nbresume.model.records import (
    Committed,
    Forked,
    Intent,
    MadeCurrent,
    RunRecord,
    Tombstone,
)
from nbresume.model.states import Outcome
from nbresume.model.values import Ambient, FoldRef, Reported, Sighting
from nbresume.run.metrics import Counts
from nbresume.run.moves import (
    chain_in_use,
    closing_records,
    found_at,
)
from nbresume.run.ports import World
from nbresume.store.chain import Chain
from nbresume.store.objects import Objects
from nbresume.store.seen import Seen
from nbresume.store.trust import Link, Trust

_log = logging.getLogger("nbresume.run")


class JournalReader:
    """Reads one run's chain to its end, and follows it."""

    def __init__(
        self,
        run_id: str,
        *,
        chain: Chain,
        trust: Trust,
        objects: Objects,
        seen: Seen,
        world: World,
        product: str,
        schemas: Schemas = SCHEMAS,
    ) -> None:
        self.run_id = run_id
        self.objects = objects
        self.state = RunState()
        self.fold: FoldRef | None = None
        self.counts = Counts()
        self.was_fenced = False
        """An append of this process was refused: it goes on only by a take-over."""
        self._first = chain
        self.lock = threading.RLock()
        """Held while the chain and its state move: effects come from threads too."""
        self._reported = Reported()
        self._chain = chain
        self._trust = trust
        self._seen = seen
        self._world = world
        self._product = product
        self._schemas = schemas
        self._tail_bytes = 0
        """Weight of the records after the newest fold."""
        self._told: set[int] = set()
        self._is_settled = True
        """Nothing was read that its writer may not have flushed."""
        self._when_erased: list[Callable[[Tombstone], None]] = []
        self._inspects = False
        """Decisions are read without being vouched for: nothing may be loaded."""

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
        Damaged
            The run was migrated, and the record that says where to is damaged.
        RefusedError
            A migration was being undone and was cut off.
        """
        self._inspects = inspect
        self._chain, newest = chain_in_use(
            self._chain, None if inspect else self._trust
        )
        self._is_settled = newest is None
        self._open(newest, inspect=inspect)
        commits = [c for h in self.state.steps.values() if (c := h.commit())]
        if commits:
            away = self._world.clock.now() - max(commit.at for commit in commits)
            self.counts.resume_age_s = away.total_seconds()

    def _open(self, newest: int | None, *, inspect: bool) -> None:
        links: list[Link] = []
        revision = -1 if newest is None else newest
        while revision >= 0:
            links.append(found_at(self._chain, revision))
            if self._start_from_fold(links, inspect=inspect):
                self._read_notes()
                return
            revision -= 1
        self.state, self.fold, self._tail_bytes = RunState(), None, 0
        self._apply_all(self._vouched(links[::-1], inspect=inspect))
        self._read_notes()

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
        record = record_of(envelope, self._schemas)
        if not isinstance(record, Committed) or record.fold is None:
            return False
        fold = record.fold
        try:
            data = self.objects.read_slice(fold)
            state = decode(data, RunState, name=f"fold {fold.revision}")
        except (Damaged, SealedError):
            # damaged, without its key, or of a release that folds otherwise: the
            # records say it all
            _log.warning("fold at revision %d cannot be read", fold.revision)
            return False
        between = [
            found_at(self._chain, r)
            for r in range(fold.revision + 1, links[-1].revision)
        ]
        self.state = state
        self.fold, self._tail_bytes = fold, 0
        self._apply_all(self._vouched([*between, *links[::-1]], inspect=inspect))
        return True

    def refresh(self) -> None:
        """Read what was appended since; afterwards `state` is the newest.

        What was read survives power loss from then on, so it may be built on.
        """
        with self.lock:
            links = self._chain.follow(self.state.revision)
            if links or not self._is_settled:
                self._chain.settle()
                self._is_settled = True
            if links:
                self._apply_all(self._trust.vouch(links))
            self._read_notes()

    def when_erased(self, forget: Callable[[Tombstone], None]) -> None:
        """Call this for each tombstone that is read from now on."""
        self._when_erased.append(forget)

    def _read_notes(self) -> None:
        """Let attempts without an outcome know what they were seen doing."""
        for attempt in self._open_attempts():
            note = None if attempt.seen else self._seen.find(attempt.intent.attempt)
            if note is not None:
                attempt.seen = [_sighting(note, attempt)]

    def _open_attempts(self) -> list[Attempt]:
        newest = [history.attempt for history in self.state.index.unsettled()]
        return [
            attempt
            for attempt in newest
            if attempt is not None
            and attempt.outcome is Outcome.OPEN
            and attempt.resolution is None
        ]

    def _apply_all(self, links: Iterable[Link]) -> None:
        for link in links:
            self._apply(link)

    def _apply(self, link: Link) -> None:
        envelope = link.envelope
        if envelope is None or not self._follows(envelope):
            self._tell_damage(link.revision)
            self.state.skip(link.revision, digest=link.digest)
        else:
            record = self.record(envelope)
            self.state.apply(
                record,
                revision=link.revision,
                digest=link.digest,
                epoch=envelope.epoch,
                at=envelope.updated_at,
            )
            if isinstance(record, Forked):
                self._share(record)
            if isinstance(record, Committed) and record.fold is not None:
                self._note_fold(record.fold)
            if isinstance(record, MadeCurrent):
                self._recall(record)
            if isinstance(record, Tombstone):
                for forget in self._when_erased:
                    forget(record)
        self._tail_bytes += link.size

    def record(self, envelope: Envelope) -> RunRecord:
        """Return what an envelope holds, in the formats that this process reads.

        Raises
        ------
        SchemaError
            It is of a format that this release cannot read.
        """
        try:
            return record_of(envelope, self._schemas)
        except SchemaError:
            self.counts.schema_mismatches += 1
            raise

    def _share(self, record: Forked) -> None:
        try:
            self.state.share(self.shared(record))
        except SealedError:
            if not self._inspects:
                raise
            # the decisions of its own are told all the same
            self._world.screen.say(
                f"what this run shares with run {record.origin.run} is encrypted, and "
                "its key is not here: these steps are not listed"
            )

    def _recall(self, record: MadeCurrent) -> None:
        """Put a commit that counts again back into the state if it was trimmed."""
        history = self.state.step(record.step)
        if history is None or record.commit < 0 or record.commit in history.commits:
            return
        commit = self.commit_at(record.commit)
        if commit is not None:
            self.state.recall(record.step, commit)

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

    def commit_at(self, revision: int) -> Commit | None:
        """Return an older commit that is not in the folded state any more.

        Raises
        ------
        NotTrusted
            The records were written under another key and are not pinned.
        """
        link = self._vouched_at(revision)
        record = record_of(link.envelope, self._schemas) if link.envelope else None
        if link.envelope is None or not isinstance(record, Committed):
            return None
        return Commit(
            revision=revision,
            at=link.envelope.updated_at,
            record=record,
            ambient=self._found_by(record, revision),
        )

    def _found_by(self, record: Committed, revision: int) -> dict[str, Ambient]:
        """Return what the intent of a commit found of plain cells: it lies before."""
        for before in range(revision - 1, -1, -1):
            link = self._vouched_at(before)
            intent = record_of(link.envelope, self._schemas) if link.envelope else None
            if isinstance(intent, Intent) and intent.step == record.step:
                # another attempt's if its own is damaged
                return intent.ambient if intent.attempt == record.attempt else {}
        return {}

    def _vouched_at(self, revision: int) -> Link:
        link = found_at(self._chain, revision)
        try:
            return self._vouched([link], inspect=self._inspects)[0]
        except NotTrusted:
            # a foreign record counts if what hangs on it, up to the head, is ours
            newest = self._chain.newest() or revision
            later = [found_at(self._chain, r) for r in range(revision + 1, newest + 1)]
            return self._trust.vouch([link, *later])[0]

    @property
    def chain_id(self) -> str:
        """The chain in which the run goes on; the run's own id without a migration."""
        return self._chain.checkpoint_id

    def shared(self, record: Forked) -> RunState:
        """Return what a fork shares with the run that it comes from.

        Raises
        ------
        Damaged
            It is missing or not what its digest says: nothing else tells it.
        """
        data = self.objects.read_slice(record.origin.fold)
        return decode(data, RunState, name=f"what {self.run_id} shares")

    def closing_records(self) -> list[Link]:
        """Return the records by which migrations left the run's former chains."""
        return closing_records(self._first, self._trust)

    def envelopes(self) -> list[Link]:
        """Return the whole chain from revision 0, vouched for."""
        newest = self._chain.newest()
        if newest is None:
            return []
        return self._trust.vouch([found_at(self._chain, r) for r in range(newest + 1)])


def _sighting(note: bytes, attempt: Attempt) -> Sighting:
    """Return what a note says; that it is there counts, also when it is damaged."""
    try:
        sighting = decode(note, Sighting, name=f"the note of {attempt.intent.attempt}")
    except Damaged:
        sighting = None
    # a note is not signed: what it says is shown, so it may hold nothing but a line
    if sighting and sighting.at.tzinfo and sighting.what.isprintable():
        return sighting
    return Sighting(what="reaching out (the note of it is damaged)", at=attempt.at)
