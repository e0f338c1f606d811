"""The commit: what the body left → payloads durable → record → group published.

The rule: the record is appended after every byte that it names is durable, and its
append is the commit point. Everything before it can fail; then the step is RAN.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from nbresume.capture.canonical import look
from nbresume.capture.denied import CLOSED_FILE
from nbresume.capture.entries import Entry, Made
from nbresume.capture.fingerprints import FINGERPRINTS
from nbresume.capture.libraries import versions_of
from nbresume.capture.live import Live
from nbresume.capture.outputs import encode as encode_outputs
from nbresume.capture.patches import patched
from nbresume.capture.pickling import dump_atoms
from nbresume.capture.previews import previews_of
from nbresume.capture.snapshot import Captured, Snapshot
from nbresume.errors import RefusedError
from nbresume.model.codec import canonical
from nbresume.model.manifest import Manifest
from nbresume.model.records import Committed, Failed
from nbresume.model.values import FoldRef
from nbresume.plan.names import absolute_imports
from nbresume.run.intents import Running
from nbresume.run.journal import Journal
from nbresume.run.keys import key_after
from nbresume.run.packing import Beside, Packed, check_size, pack
from nbresume.run.ports import World
from nbresume.run.position import lost
from nbresume.run.process import ProcessStates, inputs_among, recorded
from nbresume.run.publishing import Publisher
from nbresume.run.restore import Restorer
from nbresume.run.sameness import keep_object_ids
from nbresume.run.written import look_at
from nbresume.store.drafts import Draft


class Changes(Struct, frozen=True):
    """What a body did to the namespace."""

    written: frozenset[str]
    """New, bound anew, stored, or changed in place."""
    in_place: frozenset[str]
    deleted: frozenset[str]
    digests: Mapping[str, str | None]
    """Name → digest of the value that the body left."""
    patched: Mapping[str, str]
    """Name of a module or class of a library that the body patched → what it set."""
    process: Mapping[str, Any]
    """Process state that the body changed."""
    process_lost: Mapping[str, str]
    """Process state that it changed and that cannot be kept → reason."""
    ended_at: datetime
    duration_s: float
    cpu_s: float


class Commits:
    """Records outcomes of one run in one kernel."""

    def __init__(
        self,
        live: Live,
        snapshot: Snapshot,
        restorer: Restorer,
        journal: Journal,
        world: World,
        process: ProcessStates,
        publisher: Publisher,
        *,
        max_step_bytes: int,
    ) -> None:
        self._live = live
        self._snapshot = snapshot
        self._restorer = restorer
        self._journal = journal
        self._world = world
        self._process = process
        self._publisher = publisher
        self._max_step_bytes = max_step_bytes
        self._tries: dict[str, int] = {}

    # -- what the body did ------------------------------------------------------

    def changes(self, running: Running) -> Changes:
        """Return what the body did; from now on its names count as the attempt's."""
        ended = self._world.clock
        duration_s = ended.monotonic_s() - running.started_s
        cpu_s = ended.cpu_s() - running.started_cpu_s
        standing = running.brought.standing
        states, states_lost = self._process.changes(running.process, standing)
        self._process.note(states, standing.step, committed=False)
        lacks = patched(standing.names.patches, self._live.users())
        looked = look_at(running, self._live, also=lacks)
        return Changes(
            written=looked.written,
            in_place=looked.in_place,
            deleted=looked.deleted,
            digests=looked.digests,
            patched=lacks,
            process=states,
            process_lost=states_lost,
            ended_at=ended.now(),
            duration_s=duration_s,
            cpu_s=cpu_s,
        )

    def check_untouched(self, running: Running, changes: Changes) -> None:
        """Pass if every name still has the value that the body left.

        Raises
        ------
        RefusedError
            One was changed since: committing it would be silently wrong.
        """
        for name in sorted(changes.written):
            entry = self._live.find(name)
            digest = None
            if entry is not None:
                digest = look(entry.value, self._live.namespace).digest
            if entry is None or digest is None or digest != changes.digests[name]:
                raise RefusedError(
                    f"step {running.intent.step} was not committed",
                    because=f"{name} is no longer what the step left",
                    remedy="Run the step again.",
                    step=running.intent.step,
                )

    # -- outcomes ---------------------------------------------------------------

    def fail(
        self, running: Running, changes: Changes, error: BaseException | None
    ) -> None:
        """Record that the body raised or was interrupted.

        Raises
        ------
        FencedError
            Another kernel took the run over.
        """
        failed = Failed(
            step=running.intent.step,
            attempt=running.intent.attempt,
            error_type=type(error).__name__ if error else "KeyboardInterrupt",
            interrupted=error is None or isinstance(error, KeyboardInterrupt),
            seen=running.seen,
            started_at=running.started_at,
            duration_s=changes.duration_s,
            cpu_s=changes.cpu_s,
        )
        self._journal.append(failed, attempt=running.intent.attempt)

    def commit(self, running: Running, changes: Changes, *, code: str) -> Committed:
        """Commit the step; return the record.

        Raises
        ------
        CaptureError
            The step's payloads are larger than ``max_step_bytes``.
        StoreError
            The store cannot write; nothing is committed.
        FencedError
            Another kernel took the run over.
        ConflictError
            Payloads that it may refer to were erased at the same moment.
        """
        stored_at = self._journal.state.erased_at
        group = self._free_group(running.intent.attempt)
        draft = self._journal.objects.draft(group, digest=FINGERPRINTS.chunk)
        try:
            record, packed = self._lay_out(running, changes, draft, group, code=code)
        except BaseException:
            # workers may have written already, and no record will name it
            draft.discard()
            raise
        if not draft.is_small:
            draft.write()  # takes its time: an interrupt may stop it
        let_through = self._world.interrupts.defer()
        try:
            self._append(record, packed, draft, stored_at=stored_at)
            self._settle(record, changes, quiet=running.intent.options.auto)
            self._stand_on(packed.manifest)
        finally:
            let_through()
        return record

    def _append(
        self, record: Committed, packed: Packed, draft: Draft, *, stored_at: int
    ) -> None:
        """Let the record stand once its payloads are durable, and publish the group.

        A small pack, the record and the publication are written first and flushed
        together; neither of the others can be seen before the pack is safe.
        """
        with ExitStack() as undo:
            undo.callback(draft.discard)
            if draft.is_small:
                draft.begin()
            publication = self._publisher.stage(record, packed.manifest)
            undo.callback(publication.discard)
            revision = self._journal.append(
                record, attempt=record.attempt, stored_at=stored_at, after=draft.flush
            )
            undo.pop_all()
        self._restorer.learn(packed.ref, packed.manifest)
        self._publisher.publish(revision, publication)

    def _lay_out(
        self, running: Running, changes: Changes, draft: Draft, group: str, *, code: str
    ) -> tuple[Committed, Packed]:
        """Capture what the body left into a draft; return its record and manifest."""
        shelf = partial(draft.shelf, limit_bytes=self._max_step_bytes)
        captured = self._snapshot.take(changes.written, shelf=shelf)
        check_size(captured, running.intent.step, limit=self._max_step_bytes)
        _lose_patched(captured, changes)
        self._keep_objects(captured, running)
        packed = pack(
            captured,
            draft=draft,
            group=group,
            objects=self._journal.objects,
            known=self._restorer.places,
            beside=Beside(
                process=_stored_states(changes),
                displays=encode_outputs(running.outputs) if running.outputs else b"",
                code=code.encode(),
                previews=previews_of(captured.outputs, self._live.namespace),
            ),
        )
        fold = self._fold(draft, group)
        return self._record(running, changes, captured, packed, draft, fold), packed

    def _stand_on(self, manifest: Manifest) -> None:
        """Let values that workers stored be read from there, now as after a restore."""

        def opened(digest: str) -> Any | None:
            place = manifest.payloads.get(digest)
            return self._journal.objects.pieces(place, digest) if place else None

        self._snapshot.collections.stand_on(opened)

    def find(self, running: Running, changes: Changes) -> Committed | None:
        """Return this attempt's commit if its record reached the chain after all.

        A device may fail after it has done its work.
        """
        self._journal.refresh()
        commit = self._journal.state.commit(running.intent.step)
        if commit is None or commit.record.attempt != running.intent.attempt:
            return None
        try:
            self.check_untouched(running, changes)
        except RefusedError:
            # the names have moved on: the next step brings them to their positions
            return commit.record
        self._settle(commit.record, changes, quiet=running.intent.options.auto)
        return commit.record

    def _free_group(self, attempt: str) -> str:
        """Return a group name that no earlier try to commit this attempt has used.

        The append of an earlier try may have reached the chain after all, so what it
        wrote stays as it is.
        """
        tries = self._tries.get(attempt, 0) + 1
        self._tries = {attempt: tries}
        return attempt if tries == 1 else f"{attempt}-{tries}"

    def _keep_objects(self, captured: Captured, running: Running) -> None:
        """Let equal outputs keep the object ids of the commit before."""
        standing = running.brought.standing
        previous = standing.commit
        if previous is None or not previous.record.manifest.group:
            return
        if self._restorer.damage(previous.record):
            return
        above = [c.record for _, c in standing.positions.commits_above(standing.n)]
        keep_object_ids(
            captured,
            previous=previous.record,
            manifest=self._restorer.manifest(previous.record.manifest),
            above=above,
            live=self._live,
            tables=[m.units for m in self._restorer.manifests()],
        )

    def _fold(self, draft: Draft, group: str) -> FoldRef | None:
        """Add a new folded state to the pack when it pays; return the newest one."""
        if not self._journal.wants_fold():
            return self._journal.fold
        data = canonical(msgspec.to_builtins(self._journal.state, str_keys=True))
        offset, length, digest = draft.add_to_pack(data)
        return FoldRef(
            revision=self._journal.state.revision,
            group=group,
            offset=offset,
            length=length,
            digest=digest,
        )

    def _record(
        self,
        running: Running,
        changes: Changes,
        captured: Captured,
        packed: Packed,
        draft: Draft,
        fold: FoldRef | None,
    ) -> Committed:
        intent, brought = running.intent, running.brought
        history = self._journal.state.step(intent.step)
        process_in = self._process.versions(
            inputs_among(changes.process), brought.standing
        )
        return Committed(
            step=intent.step,
            attempt=intent.attempt,
            cell_id=intent.cell_id,
            commit_number=(history.commit_number if history else 0) + 1,
            code_version=intent.code_version,
            key=key_after(brought.cues, process=process_in, files=running.files.read),
            idempotency_key=intent.idempotency_key,
            inputs=intent.inputs,
            aliases=intent.aliases,
            after=intent.after,
            outputs=captured.outputs,
            deleted=sorted(changes.deleted),
            in_place=sorted(changes.in_place),
            not_kept=captured.not_kept,
            process=recorded(changes.process)[0],
            process_in=process_in,
            files=running.files.read,
            made=running.files.made,
            appended=running.files.appended,
            imports=(imports := absolute_imports(brought.standing.names)),
            libraries=versions_of(
                [*intent.inputs, *captured.outputs], imports, self._live.namespace
            ),
            effects=running.outside,
            seen=running.seen,
            manifest=packed.ref,
            pack_bytes=draft.pack_bytes,
            payload_bytes=draft.payload_bytes,
            started_at=running.started_at,
            duration_s=changes.duration_s,
            cpu_s=changes.cpu_s,
            next_object=self._live.identities.next_object,
            fold=fold,
        )

    # -- after the commit point -------------------------------------------------

    def _settle(self, record: Committed, changes: Changes, *, quiet: bool) -> None:
        """Give the names their committed versions; tell what was not kept.

        Not of a step that nobody marked: it makes such values anew by itself.
        """
        for name in changes.written:
            entry = self._live.find(name)
            if entry is None:
                continue
            settled = Entry(entry.value, Made.COMMITTED, step=record.step)
            if name in record.outputs:
                settled.version = record.outputs[name].version
                settled.calls = frozenset(record.outputs[name].calls)
            else:
                settled.version, settled.kept = lost(record), False
            settled.seen = entry.seen
            self._live.set(name, settled)
        self._process.note(changes.process, record.step, committed=True)
        told = {n: r for n, r in record.not_kept.items() if r != CLOSED_FILE}
        told |= changes.process_lost
        if told and not (quiet and not record.effects):
            names = ", ".join(f"{name} ({why})" for name, why in told.items())
            self._world.screen.say(
                f"step {record.step} is committed without {names}; a step marked "
                "--always makes such values anew"
            )


def _lose_patched(captured: Captured, changes: Changes) -> None:
    """Name patched modules as not kept: imported again, they would lack the patch."""
    for name, reason in changes.patched.items():
        captured.bindings.pop(name, None)
        captured.outputs.pop(name, None)
        captured.not_kept[name] = reason


def _stored_states(changes: Changes) -> bytes:
    states = recorded(changes.process)[1]
    return dump_atoms(states) if states else b""
