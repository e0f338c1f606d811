"""The intent: ambient values durable, then the record, then the body may start.

The rule (write-ahead): when the first statement of a cell runs, the record that says
so is durable, and so is every value of a plain cell that the cell will read.
"""

import types
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct, field

from nbresume.capture.atoms import importable
from nbresume.capture.entries import Entry, is_ambient_data
from nbresume.capture.fingerprints import FINGERPRINTS
from nbresume.capture.live import Live
from nbresume.capture.looks import Look
from nbresume.capture.snapshot import Captured, Snapshot
from nbresume.model.codec import canonical
from nbresume.model.digests import cue_digest
from nbresume.model.displays import Shown
from nbresume.model.folded import StoredAmbient
from nbresume.model.records import Intent
from nbresume.model.values import Ambient, ManifestRef, Options, Sighting
from nbresume.plan.header import Header
from nbresume.run.file_watch import FileRecord
from nbresume.run.journal import Journal
from nbresume.run.packing import Packed, ambient_attributes, pack
from nbresume.run.ports import World
from nbresume.run.position import Demand
from nbresume.run.process import Baseline, ProcessStates
from nbresume.run.recovery import Passage
from nbresume.run.restore import Restorer
from nbresume.run.standing import Brought, Standing

LARGE_BYTES = 64 << 20
"""An ambient value of this size is worth a hint to make it a step."""


class Running(Struct):
    """An attempt from its intent to its outcome."""

    brought: Brought
    intent: Intent
    revision: int
    touched: frozenset[str]
    process: Baseline
    """Process state when the body started."""
    started_at: datetime
    started_s: float
    started_cpu_s: float
    outputs: list[Shown] = field(default_factory=list)
    effects: dict[str, None] = field(default_factory=dict)
    """Keys of the effects that the body asked for, in order."""
    seen: list[Sighting] = field(default_factory=list)
    """What the body was seen doing outside."""
    files: FileRecord = field(default_factory=FileRecord)
    """What the body did with files."""
    in_place: set[str] = field(default_factory=set)
    """Names that it was seen changing in place while it ran."""
    outside: list[str] = field(default_factory=list)
    """How the step is known to touch the outside."""


class _Stored(Struct):
    """Ambient values of one intent, while they are stored."""

    ambient: dict[str, Ambient] = field(default_factory=dict)
    manifests: list[ManifestRef] = field(default_factory=list)
    packed: Packed | None = None


class _Settled(Struct, frozen=True):
    """An ambient name as it was when an intent had recorded it."""

    entry: Entry
    seen: Look | None
    stored: StoredAmbient | None


class Intents:
    """Opens attempts of one run in one kernel."""

    def __init__(
        self,
        live: Live,
        snapshot: Snapshot,
        restorer: Restorer,
        journal: Journal,
        world: World,
        process: ProcessStates,
        *,
        ambient_limit_bytes: int,
    ) -> None:
        self._live = live
        self._snapshot = snapshot
        self._restorer = restorer
        self._journal = journal
        self._world = world
        self._process = process
        self._ambient_limit_bytes = ambient_limit_bytes
        self._unkept: dict[str, int] = {}
        """Ambient name → id() of a value that could not be kept."""
        self._settled: dict[str, _Settled] = {}
        """Ambient names that intents have recorded, while they stay like this."""

    def open(self, brought: Brought, passage: Passage, *, reason: str) -> Running:
        """Make the intent durable; return the attempt that may now run.

        Raises
        ------
        FencedError
            Another kernel took the run over.
        StoreError
            The store cannot write; nothing runs.
        ConflictError
            Payloads that it may refer to were erased at the same moment.
        """
        standing = brought.standing
        attempt = self._world.ids.attempt_id()
        ambient = self._live.ambient()
        touched = self._touched(brought)
        ambient = self._unsettled(ambient)
        stored_at = self._journal.state.erased_at
        stored = self._store_ambient(brought, attempt, ambient)
        intent = Intent(
            step=standing.step,
            attempt=attempt,
            cell_id=standing.cell[0],
            code_version=standing.code_version,
            inputs=brought.inputs,
            ambient=stored.ambient,
            ambient_manifests=stored.manifests,
            deleted_ambient={name: [cell] for name, cell in brought.gone.items()},
            modules=self._new_modules(ambient),
            options=_options(standing.header),
            key=brought.key,
            aliases={n: list(o) for n, o in brought.cues.aliases.items()},
            after=dict(brought.cues.after),
            idempotency_key=self._idempotency_key(standing),
            recovers=passage.recovers,
            unattended=passage.unattended,
            reason=reason,
            next_object=self._live.identities.next_object,
        )
        revision = self._journal.append(intent, stored_at=stored_at)
        self._publish(stored)
        self._live.mark()
        return Running(
            brought=brought,
            intent=intent,
            revision=revision,
            touched=touched,
            process=self._process.begin(),
            started_at=self._world.clock.now(),
            started_s=self._world.clock.monotonic_s(),
            started_cpu_s=self._world.clock.cpu_s(),
        )

    def _idempotency_key(self, standing: Standing) -> str:
        former = standing.history.attempt if standing.history else None
        if former is not None:
            # a step that was renamed is the same work
            return former.intent.idempotency_key
        key = idempotency_key(self._journal.run_id, standing.step)
        while self._journal.state.index.has_key(key):
            # a renamed step has kept the key of the name that this one has now
            key = idempotency_key(key, standing.step)
        return key

    def _touched(self, brought: Brought) -> frozenset[str]:
        """Take the baseline of every name whose value the body could change."""
        if brought.standing.names.wild:
            self._live.load_all(self._live.pending)
            touched = frozenset(self._live.users())
        else:
            touched = self._live.touched(brought.inputs)
        for name in touched:
            self._live.look(name)
        return touched

    # -- values of plain cells --------------------------------------------------

    def _store_ambient(
        self, brought: Brought, attempt: str, ambient: Mapping[str, Entry]
    ) -> _Stored:
        stored = _Stored()
        found = {n: self._live.find(n) for n in brought.inputs}
        read = {n for n, entry in found.items() if entry and is_ambient_data(entry)}
        unread = self._unread(ambient) - read
        fresh = {n for n in read | unread if not self._is_stored(n)}
        captured = self._capture(fresh, read)
        if captured.bindings:
            group = f"{attempt}-ambient"
            draft = self._journal.objects.draft(group, digest=FINGERPRINTS.chunk)
            stored.packed = pack(
                captured,
                draft=draft,
                group=group,
                objects=self._journal.objects,
                known=self._restorer.places,
            )
            draft.write()
            self._hint(captured)
        for name in sorted(read | (unread & captured.bindings.keys())):
            self._refer(name, brought, stored)
        return stored

    def _unsettled(self, ambient: Mapping[str, Entry]) -> dict[str, Entry]:
        """Return those that are not, or not known to be, as an intent recorded them.

        A notebook has hundreds of such names, and each step asks; only identities are
        compared here.
        """
        known, settled = self._journal.state.ambient, self._settled
        found = {
            name: entry
            for name, entry in ambient.items()
            if (was := settled.get(name)) is None
            or was.entry is not entry
            or was.seen is not entry.seen
            or was.stored is not known.get(name)
        }
        for name, entry in found.items():
            if self._is_settled(name, entry):
                settled[name] = _Settled(entry, entry.seen, known.get(name))
        return found

    def _is_settled(self, name: str, entry: Entry) -> bool:
        if isinstance(entry.value, types.ModuleType):
            return self._journal.state.modules.get(name) == entry.value.__name__
        if not is_ambient_data(entry) or not self._is_stored(name):
            return False
        return entry.seen is not None and entry.seen.digest is not None

    def _unread(self, ambient: Mapping[str, Entry]) -> set[str]:
        return {
            name
            for name, entry in ambient.items()
            if is_ambient_data(entry) and self._unkept.get(name) != id(entry.value)
        }

    def _is_stored(self, name: str) -> bool:
        known = self._journal.state.ambient.get(name)
        return known is not None and known.ambient.version == self._live.version(name)

    def _capture(self, fresh: set[str], read: set[str]) -> Captured:
        """Capture values; those that nothing reads only up to the limit."""
        if not fresh:
            return Captured()
        captured = self._snapshot.take(fresh)
        sizes = {d: len(part.data) for d, part in captured.parts.items()}
        if sum(sizes.values()) > self._ambient_limit_bytes and fresh - read:
            too_much = sorted(fresh - read)
            self._world.screen.say(
                f"values of plain cells that no step reads are not kept, they are "
                f"larger than ambient_limit: {', '.join(too_much)}"
            )
            for name in too_much:
                self._unkept[name] = id(self._live.namespace[name])
            return self._snapshot.take(fresh & read) if fresh & read else Captured()
        for name in captured.not_kept:
            self._unkept[name] = id(self._live.namespace[name])
        return captured

    def _hint(self, captured: Captured) -> None:
        for part in captured.parts.values():
            if len(part.data) >= LARGE_BYTES:
                names = [
                    name
                    for name, binding in captured.bindings.items()
                    if binding.target == part.name
                ]
                self._world.screen.say(
                    f"{', '.join(names) or 'a value'} ({len(part.data) >> 20} MB) of a "
                    "plain cell was stored; make that cell a step to store it once"
                )

    def _refer(self, name: str, brought: Brought, stored: _Stored) -> None:
        """Add a name to the intent: stored just now, by an earlier intent, or not."""
        standing = brought.standing
        demand: Demand = standing.positions.demand(name, standing.n)
        packed = stored.packed
        if packed is not None and name in packed.manifest.names:
            ref: ManifestRef | None = packed.ref
        elif self._is_stored(name):
            ref = self._journal.state.ambient[name].manifest
        else:
            ref = None
        index = -1
        if ref is not None:
            if ref not in stored.manifests:
                stored.manifests.append(ref)
            index = stored.manifests.index(ref)
        stored.ambient[name] = Ambient(
            version=self._live.version(name),
            base=demand.version,
            cells=list(self._live.entry(name).cells),
            manifest=index,
        )

    def _new_modules(self, ambient: Mapping[str, Entry]) -> dict[str, str]:
        """Return modules and imports of plain cells that no intent named yet."""
        known = self._journal.state.modules
        return {
            name: target
            for name, entry in ambient.items()
            if (target := _import_of(entry.value)) and known.get(name) != target
        }

    def _publish(self, stored: _Stored) -> None:
        packed = stored.packed
        if packed is None:
            return
        self._restorer.learn(packed.ref, packed.manifest)
        attributes = ambient_attributes(packed.manifest, packed.ref.group)
        self._journal.objects.publish(packed.ref.group, attributes)


def idempotency_key(run_id: str, step: str) -> str:
    """Return the key that is the same for all attempts of a step in a run."""
    return cue_digest(canonical([run_id, step]))


def _options(header: Header) -> Options:
    return Options(
        effects=header.effects,
        pure=header.pure,
        always=header.always,
        auto=header.auto,
        retry=header.retry,
        reads=list(header.reads),
        after=[str(step) for step in header.after],
    )


def _import_of(value: Any) -> str:
    """Return what to import to have a value again; empty if no import gives it."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    return (importable(value) or "") if callable(value) else ""
