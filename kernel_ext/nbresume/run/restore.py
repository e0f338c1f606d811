"""Rule R4: values of commits and intents back into the namespace.

The rule: the only place that has values rebuilt, always after the record that names
them was vouched for and with their digests checked. A live object that stands for a
unit is used as it is, so that names restored in any order share what they shared.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from nbresume.capture.atoms import resolve_import
from nbresume.capture.denied import CLOSED_FILE
from nbresume.capture.entries import CellText, Entry, Made
from nbresume.capture.live import Live
from nbresume.capture.outputs import decode as decode_outputs
from nbresume.capture.pending import Pending
from nbresume.capture.rebuild import rebuild, rebuild_atoms
from nbresume.errors import CaptureError, Damaged, RefusedError
from nbresume.model.displays import Shown
from nbresume.model.histories import Commit
from nbresume.model.manifest import Manifest, Place, Source, Unit
from nbresume.model.records import Committed, Progress
from nbresume.model.values import Ambient, ManifestRef
from nbresume.run.manifests import read_manifest
from nbresume.run.ports import World
from nbresume.run.position import lost, not_kept
from nbresume.store.objects import Objects


class Restorer:
    """Rebuilds what one run stored, into one namespace."""

    def __init__(self, live: Live, objects: Objects, world: World) -> None:
        self._live = live
        self._objects = objects
        self._world = world
        self._manifests: dict[str, Manifest] = {}
        self._atoms: dict[str, dict[str, Any]] = {}
        self.broken: dict[str, str] = {}
        """Attempt → why a value of its commit could not be loaded in this kernel."""
        self.places: dict[str, Place] = {}
        """Digest → place of every payload that this kernel knows to be durable."""

    # -- manifests --------------------------------------------------------------

    def manifest(self, ref: ManifestRef) -> Manifest:
        """Return a group's manifest, read once.

        Raises
        ------
        Damaged
            It is missing or not what its digest says.
        """
        if ref.digest not in self._manifests:
            self.learn(ref, read_manifest(self._objects, ref))
        return self._manifests[ref.digest]

    def learn(self, ref: ManifestRef, manifest: Manifest) -> None:
        """Remember a manifest and the places of its payloads."""
        self._manifests[ref.digest] = manifest
        self.places.update(manifest.payloads)

    def forget(self, groups: Mapping[str, Collection[str]]) -> None:
        """Take nothing in these groups (run → groups) for durable any more."""
        for digest, place in list(self.places.items()):
            if place.group in groups.get(place.run, ()):
                del self.places[digest]

    def manifests(self) -> list[Manifest]:
        """Return the manifests that this kernel has read or written."""
        return list(self._manifests.values())

    def damage(self, record: Committed) -> str:
        """Return what is missing of a commit's payloads, or '' if all are there.

        Every file is checked to be there and long enough; digests are checked when
        a payload is loaded.
        """
        if not record.manifest.group:
            return ""
        if record.attempt in self.broken:
            return self.broken[record.attempt]
        try:
            manifest = self.manifest(record.manifest)
        except Damaged as error:
            return str(error)
        missing = self._objects.missing(manifest.payloads.values())
        if missing:
            place = missing[0]
            return f"payload {place.group}/{place.array} is missing or truncated"
        return ""

    # -- one value --------------------------------------------------------------

    def _payload(self, manifest: Manifest, digest: str) -> memoryview:
        return self._objects.read(manifest.payloads[digest], digest)

    def _value(self, name: str, manifest: Manifest) -> Any:
        binding = manifest.names[name]
        match binding.source:
            case Source.MODULE | Source.IMPORT:
                return resolve_import(binding.target)
            case Source.ATOM:
                return self._atoms_of(manifest)[name]
            case Source.UNIT:
                self._renew(binding.target, manifest)
                return self._unit(binding.target, manifest)

    def _atoms_of(self, manifest: Manifest) -> dict[str, Any]:
        if manifest.atoms not in self._atoms:
            data = self._payload(manifest, manifest.atoms)
            self._atoms[manifest.atoms] = rebuild_atoms(data)
        return self._atoms[manifest.atoms]

    def _unit(self, object_id: str, manifest: Manifest) -> Any:
        """Return the live object of a unit, rebuilding what is not alive."""
        todo = [object_id]
        while todo:
            one = todo[-1]
            unit = manifest.units[one]
            if (standing := self._standing(one, unit)) is not None:
                self._live.identities.take_up(one, standing)
                todo.pop()
                continue
            inner = [
                ref
                for ref in unit.refs
                if ref not in unit.members
                and self._standing(ref, manifest.units[ref]) is None
            ]
            if inner:
                todo += inner
                continue
            self._rebuild(one, unit, manifest)
            todo.pop()
        return self._standing(object_id, manifest.units[object_id])

    def _standing(self, object_id: str, unit: Unit) -> Any | None:
        """Return the live object that stands for a unit, if there is one."""
        found = self._live.identities.find(object_id, unit.deep)
        if found is not None:
            return found
        return self._plain_object(unit)

    def _plain_object(self, unit: Unit) -> Any | None:
        """Return the plain cell's present object if it equals the unit's."""
        if unit.ambient is None:
            return None
        name, version = unit.ambient
        entry = self._live.find(name)
        if entry is None or entry.made is not Made.AMBIENT:
            return None
        return entry.value if self._live.version(name) == version else None

    def alone(self, ref: ManifestRef, resolve: Callable[[str], Any]) -> Any:
        """Return the value that has a group to itself: the result of an effect.

        Raises
        ------
        Damaged
            Its bytes are missing or not those of their digests.
        CaptureError
            The loading code of its type failed.
        """
        manifest = self.manifest(ref)
        return self._load(next(iter(manifest.units.values())), manifest, resolve)

    def _load(self, unit: Unit, manifest: Manifest, resolve: Callable[..., Any]) -> Any:
        return rebuild(
            self._payload(manifest, unit.stream),
            [self._objects.buffer(manifest.payloads[d], d) for d in unit.buffers],
            resolve=resolve,
            namespace=self._live.namespace,
        )

    def _rebuild(self, object_id: str, unit: Unit, manifest: Manifest) -> None:
        got = self._load(
            unit, manifest, lambda ref: self._standing(ref, manifest.units[ref])
        )
        members = unit.members or [object_id]
        values = got if unit.members else [got]
        for member, value in zip(members, values, strict=True):
            deep = manifest.units[member].deep
            self._live.identities.rebuilt(member, deep, value, self._manifests.values())

    # -- binding ----------------------------------------------------------------

    def bind(self, name: str, commit: Commit) -> None:
        """Give a name the value that a commit has for it, loaded when it is needed.

        Raises
        ------
        NotKeptRefusal
            The commit could not keep it, or it was erased.
        """
        record = commit.record
        if commit.has_lost(name):
            raise not_kept(name, commit)
        self._defer(name, record)

    def _defer(self, name: str, record: Committed) -> None:
        output = record.outputs[name]
        entry = Entry(None, Made.COMMITTED, version=output.version, step=record.step)
        entry.calls = frozenset(output.calls)

        def load() -> Any:
            try:
                return self.rebuilt(name, record.manifest, record.step)
            except RefusedError as error:
                self.broken[record.attempt] = error.because
                raise

        data = frozenset((*output.data, output.object))
        self._live.defer(name, entry, Pending(data, load))

    def bind_ambient(
        self,
        name: str,
        ambient: Ambient,
        ref: ManifestRef,
        *,
        base_step: str,
    ) -> None:
        """Bind a name to the value that plain cells gave it, as an intent stored it.

        Raises
        ------
        RefusedError
            Its payload is damaged.
        """
        value = self.rebuilt(name, ref, "")
        cells: tuple[CellText, ...] = tuple(ambient.cells)
        entry = Entry(
            value,
            Made.AMBIENT,
            cells=cells,
            base_step=base_step,
            base_version=ambient.base,
        )
        if not ambient.version.startswith("v:"):
            entry.version = ambient.version
        self._live.set(name, entry)

    def rebuilt(self, name: str, ref: ManifestRef, step: str) -> Any:
        """Return a name's value, or refuse it with the step or cell that made it."""
        maker = f"step {step}" if step else "a plain cell"
        remedy = f"Run step {step} again." if step else "Run its cell again."
        try:
            return self._value(name, self.manifest(ref))
        except (Damaged, CaptureError) as error:
            raise RefusedError(
                f"{name}, made by {maker}, was not restored",
                because=str(error),
                remedy=remedy,
                name=name,
                step=step,
            ) from error

    def _set(self, name: str, value: Any, record: Committed) -> None:
        version = record.outputs[name].version
        entry = self._live.find(name)
        if (
            entry is None
            or entry.value is not value
            or entry.made is not Made.COMMITTED
        ):
            entry = Entry(value, Made.COMMITTED)
        entry.version, entry.step = version, record.step
        entry.calls = frozenset(record.outputs[name].calls)
        entry.base_step = entry.base_version = ""
        self._live.set(name, entry)

    # -- replay -----------------------------------------------------------------

    def replay(self, commit: Commit) -> list[str]:
        """Bind what a step made, delete what it deleted, drop what it could not keep.

        Writes nothing and rebuilds nothing: values are loaded when they are needed.

        Returns
        -------
        list of str
            What it could not keep, each with its reason.

        """
        record = commit.record
        self._import_again(record)
        for name in record.outputs:
            if self.is_right(name, record):
                self._set(name, self._live.namespace[name], record)
            else:
                self._defer(name, record)
        for name in record.deleted:
            self._live.unset(name)
        return self._drop_not_kept(commit)

    def process(self, record: Committed | Progress) -> dict[str, Any]:
        """Return the process states that a record holds, by name.

        Raises
        ------
        Damaged
            The payload is missing or not what its digest says.
        """
        if not record.manifest.group or not record.process:
            return {}
        manifest = self.manifest(record.manifest)
        if not manifest.process:
            return {}
        if manifest.process not in self._atoms:
            data = self._payload(manifest, manifest.process)
            self._atoms[manifest.process] = rebuild_atoms(data)
        return self._atoms[manifest.process]

    def outputs(self, record: Committed) -> list[Shown]:
        """Return what the step showed.

        Raises
        ------
        Damaged
            The payload is missing or not what its digest says.
        """
        if not record.manifest.group:
            return []
        manifest = self.manifest(record.manifest)
        if not manifest.displays:
            return []
        return decode_outputs(bytes(self._payload(manifest, manifest.displays)))

    def is_right(self, name: str, record: Committed) -> bool:
        """Say whether the name has the commit's version and its very object."""
        entry = self._live.find(name)
        output = record.outputs[name]
        if entry is None or entry.made is not Made.COMMITTED or not entry.kept:
            return False
        if name in self._live.pending:
            return False
        if entry.version != output.version:
            return False
        if not output.object:
            return True
        manifest = self.manifest(record.manifest)
        unit = manifest.units[output.object]
        self._renew(output.object, manifest)
        return self._live.identities.find(output.object, unit.deep) is entry.value

    def _renew(self, object_id: str, manifest: Manifest) -> bool:
        """Forget objects that hold a plain cell's object which was made anew.

        Run All makes a class of a plain cell again: instances restored before must
        be bound around the present class, or ``type(p) is P`` becomes false.
        """
        unit = manifest.units.get(object_id)
        if unit is None:
            return False
        known = self._live.identities.find(object_id, unit.deep)
        if unit.ambient is not None:
            present = self._plain_object(unit)
            if present is not None and present is not known:
                held = self._manifests.values()
                self._live.identities.replace(object_id, unit.deep, present, held)
                return True
            return False
        outer = [ref for ref in unit.refs if ref not in unit.members]
        renewed = [self._renew(ref, manifest) for ref in outer]
        units = {ref: manifest.units[ref] for ref in outer if ref in manifest.units}
        absent = any(self._standing(ref, one) is None for ref, one in units.items())
        if any(renewed) or absent:
            self._live.identities.forget(object_id, unit.deep)
            return True
        return False

    def _import_again(self, record: Committed) -> None:
        for module in record.imports:
            try:
                resolve_import(module)
            except CaptureError as error:
                self._world.screen.say(
                    f"step {record.step} imported {module}, which is not here: "
                    f"{error.because}"
                )

    def _drop_not_kept(self, commit: Commit) -> list[str]:
        record = commit.record
        gone = []
        for name, reason in record.not_kept.items():
            entry = self._live.find(name)
            if entry is not None and not entry.kept and entry.version == lost(record):
                continue  # this kernel made it and still has the very object
            if self._live.unpark(name, lost(record)):
                continue  # the module that this kernel patched
            self._live.unset(name)
            self._live.unkept[name] = record.step
            if reason != CLOSED_FILE:
                gone.append(f"{name} ({reason})")
        return gone
