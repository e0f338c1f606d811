"""The names that a step left → units, payload parts and versions.

The rule: each object is pickled once, by itself, and refers to other named or
shared objects by id; what cannot be pickled costs its own name, never the step.
"""

import sys
import threading
import types
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from nbresume.capture import sharing
from nbresume.capture.alike import Alike
from nbresume.capture.atoms import importable, is_atom, type_name
from nbresume.capture.bindings import describe, is_data, output_of
from nbresume.capture.dask_collections import Collections, NewShelf
from nbresume.capture.denied import CLOSED_FILE, is_closed_file
from nbresume.capture.entries import Made
from nbresume.capture.live import OPAQUE, Live
from nbresume.capture.payloads import Part, part_of
from nbresume.capture.pickling import Dumped, dump, dump_atoms
from nbresume.capture.unit_graph import (
    Remembered,
    UnitGraph,
    Units,
    deep_of,
    lose_holders,
)
from nbresume.capture.units import circles
from nbresume.errors import CaptureError
from nbresume.model.manifest import Binding, Place, Source, Unit
from nbresume.model.values import Output

UNKNOWN = ("?",)
"""The cut of an object that shares nothing with what is captured."""


class Captured(Struct):
    """What capturing some names gave."""

    bindings: dict[str, Binding] = field(default_factory=dict)
    outputs: dict[str, Output] = field(default_factory=dict)
    units: dict[str, Unit] = field(default_factory=dict)
    parts: dict[str, Part] = field(default_factory=dict)
    """Digest → bytes, of all that may not be stored yet."""
    atoms: str = ""
    not_kept: dict[str, str] = field(default_factory=dict)
    shelved: Mapping[str, Place] = field(default_factory=dict)
    """Digest → place of what workers wrote into the group already."""
    replaced: set[str] = field(default_factory=set)
    """Units that another live object, of equal value, stood for until now."""


class Snapshot:
    """Captures names of one kernel; remembers what did not change since."""

    def __init__(
        self,
        live: Live,
        *,
        is_stored: Callable[[str], bool],
        threads: frozenset[threading.Thread] | None = None,
    ) -> None:
        self._live = live
        self._is_stored = is_stored
        """Says whether a payload with this digest is durable already."""
        self._cache: dict[str, Remembered] = {}
        self.collections = Collections(live, None, is_plain=lambda _: True)
        """Those of the capture that is being made."""
        self._threads = threads or frozenset(threading.enumerate())  # the kernel's own

    def forget(self) -> None:
        """Take nothing for stored any more: a commit failed."""
        self._cache.clear()
        self._live.identities.forget_newest()

    def take(self, names: Iterable[str], *, shelf: NewShelf | None = None) -> Captured:
        """Capture these names and every unit that they refer to.

        Afterwards each captured object has an object id and stands for its unit. With
        a `shelf`, workers store the content of dask collections on what it makes.

        Raises
        ------
        CaptureError
            Their work failed.
        StoreError
            They could not write.
        """
        written = frozenset(names)
        if not written:
            return Captured()
        self.collections = Collections(
            self._live,
            shelf,
            is_plain=lambda name: self._ambient(name, written) is not None,
        )
        bound, more = frozenset[str](), written
        while more:
            # names that are cut differently now may share with others in their turn
            bound |= more
            self._load_sharing(bound)
            captured = Captured()
            related = self._live.sharing(bound)
            graph = self._graph(related)
            targets = self._bind(bound, captured, graph)
            self.collections.keep(graph, targets, partial(self._remembered, graph))
            self._dump_all(graph, targets.values(), captured)
            self._merge_circles(graph, captured)
            self._lose_moved(graph, targets)
            lose_holders(graph)
            graph.deep = deep_of(graph)
            more = self._recut(graph, related - bound)
        self._finish(captured, graph, targets, written)
        self._live.free()
        return captured

    def _load_sharing(self, names: frozenset[str]) -> None:
        """Load what waits and shares data with these names: it is cut with them."""
        for name in names & self._live.users().keys():
            self._live.names.classify(name)
        self._live.load_all(self._live.waiting_for(names))

    def _recut(self, graph: UnitGraph, names: Iterable[str]) -> frozenset[str]:
        """Return committed names that hold an object which is another unit now.

        Their values have not changed, but what they refer to is cut differently, and
        must be one object with them after a restore.
        """
        moved: set[int] = set()
        recut: set[str] = set()
        for object_id, deep in graph.deep.items():
            value = graph.units.object_of(object_id)
            if self._live.identities.is_newest(object_id, deep, value):
                continue
            recut.add(object_id)
            moved.add(id(value))
        waiting = frozenset(self._live.pending.sharing(recut))
        self._live.load_all(waiting)
        return waiting | frozenset(
            name
            for name in names
            if (entry := self._live.entry(name)).made is Made.COMMITTED
            and entry.kept
            and self._live.look(name).places_of(moved)
        )

    def _lose_moved(self, graph: UnitGraph, targets: Mapping[str, str]) -> None:
        """Name as not kept what a thread changed between its look and its pickle."""
        if self._threads.issuperset(threading.enumerate()):
            return
        for name, object_id in targets.items():
            seen = self._live.look(name).digest
            now = self._live.fresh_look(self._live.namespace[name]).digest
            if seen is not None and now != seen:
                graph.errors[object_id] = "a thread changed it while it was captured"

    # -- which objects are units ------------------------------------------------

    def _graph(self, names: Iterable[str]) -> UnitGraph:
        """Return the objects that may be pickled by themselves.

        Parameters
        ----------
        names
            Those that are captured, and all that share with them.
        """
        live = self._live
        values = {name: live.names.compound[name] for name in names}
        looks = {name: live.look(name) for name in values}
        reaches = {
            name: sharing.own_reach(
                value, looks[name], live.names.named, live.namespace
            )
            for name, value in values.items()
        }
        shared = sharing.shared_objects(values, reaches, live.names.named)
        tight = sharing.tight_groups(shared)
        loose = {
            i: value
            for i, (value, holders) in shared.items()
            if frozenset(holders) not in tight
        }
        for seen in reaches.values():
            loose |= sharing.view_owners(seen)
        units = Units(live.names.named, loose, live.identities)
        cuts = {}
        for name, value in values.items():
            inside = units.inside(looks[name])
            places = looks[name].places_of(inside) if len(inside) > 1 else inside
            cuts[units[id(value)]] = tuple(units[i] for i in places)
        reached = tuple(seen.reach.keys() for seen in looks.values())
        return UnitGraph(units, live.names.names_of, cuts, reached, tight)

    # -- names ------------------------------------------------------------------

    def _bind(
        self, names: frozenset[str], captured: Captured, graph: UnitGraph
    ) -> dict[str, str]:
        """Give each name its binding; return name → object id of those with a unit."""
        targets, atoms = {}, {}
        for name in sorted(names & self._live.names.users.keys()):
            value = self._live.namespace[name]
            version = self._live.version(name)
            kind = type_name(value)
            if isinstance(value, types.ModuleType):
                source, target = Source.MODULE, value.__name__
            elif is_atom(value):
                source, target = Source.ATOM, ""
                atoms[name] = value
            elif id(value) not in graph.units:
                source, target = Source.IMPORT, str(importable(value))
            else:
                source, target = Source.UNIT, graph.units[id(value)]
                targets[name] = target
            shape, dtype = describe(value)
            captured.bindings[name] = Binding(
                source=source,
                target=target,
                version=version,
                type=kind,
                shape=shape,
                dtype=dtype,
            )
        if atoms:
            captured.atoms = _add(captured, dump_atoms(atoms), "atoms")
        return targets

    # -- pickling ---------------------------------------------------------------

    def _dump_all(
        self, graph: UnitGraph, targets: Iterable[str], captured: Captured
    ) -> None:
        todo = list(targets)
        while todo:
            object_id = todo.pop()
            if object_id in graph.dumped or object_id in graph.errors:
                continue
            try:
                graph.dumped[object_id] = self._dump_one(graph, object_id, captured)
            except CaptureError as error:
                graph.errors[object_id] = error.because or str(error)
            else:
                todo += graph.dumped[object_id][2]

    def _dump_one(
        self, graph: UnitGraph, object_id: str, captured: Captured
    ) -> tuple[str, list[str], list[str]]:
        name = graph.name_of(object_id)
        look = self._live.look(name) if name else None
        if look is None or look.digest is None:
            return self._dump([object_id], graph, captured)
        remembered = self._remembered(graph, object_id)
        if remembered:
            return remembered.unit
        cut = graph.cuts.get(object_id, UNKNOWN)
        alike = graph.units.alike_in(look, {*cut} - {object_id})
        dumped = self._dump([object_id], graph, captured, alike=alike)
        self._cache[object_id] = Remembered(
            look.digest,
            cut,
            dumped,
            is_recipe=self.collections.is_recipe(name),
            content=self.collections.content(graph.units.object_of(object_id)),
        )
        return dumped

    def _remembered(self, graph: UnitGraph, object_id: str) -> Remembered | None:
        """Return what a unit was pickled to, if it would be pickled to it again."""
        known, name = self._cache.get(object_id), graph.name_of(object_id)
        if known is None or name is None:
            return None
        stream, buffers, refs = known.unit
        is_good = (
            known.seen == self._live.look(name).digest
            and self.collections.is_good(name, known)
            and all(map(graph.units.holds, refs))
            and known.cut == graph.cuts.get(object_id, UNKNOWN)
            and all(self._is_stored(digest) for digest in (stream, *buffers))
        )
        return known if is_good else None

    def _dump(
        self,
        object_ids: list[str],
        graph: UnitGraph,
        captured: Captured,
        *,
        alike: Alike | None = None,
    ) -> tuple[str, list[str], list[str]]:
        sys.audit("nbresume.capture", object_ids[0])
        dumped: Dumped = dump(
            [graph.units.object_of(o) for o in object_ids],
            units=graph.units,
            namespace=self._live.namespace,
            alike=alike,
            kept=self.collections.of(graph.name_of(object_ids[0])),
        )
        name = object_ids[0]
        stream = _add(captured, dumped.stream, name)
        buffers = []
        for buffer in dumped.buffers:
            if buffer.stored:
                buffers.append(buffer.stored)
                continue
            part = part_of(buffer.data, buffer.dtype, buffer.shape, name)
            captured.parts.setdefault(part.digest.hex, part)
            buffers.append(part.digest.hex)
        return stream, buffers, sorted(dumped.refs)

    def _merge_circles(self, graph: UnitGraph, captured: Captured) -> None:
        refs = {o: set(unit[2]) for o, unit in graph.dumped.items()}
        for group in graph.tight:
            held = (graph.units.get(id(self._live.namespace[n])) for n in group)
            ring = sorted({o for o in held if o in refs})
            for one, other in zip(ring, ring[1:] + ring[:1], strict=True):
                refs[one].add(other)
        for group_ids in circles(refs):
            try:
                merged = self._dump(group_ids, graph, captured)
            except CaptureError as error:
                for object_id in group_ids:
                    graph.errors[object_id] = error.because or str(error)
                continue
            for object_id in group_ids:
                graph.dumped[object_id] = merged
                graph.members[object_id] = group_ids

    # -- the result -------------------------------------------------------------

    def _finish(
        self,
        captured: Captured,
        graph: UnitGraph,
        targets: Mapping[str, str],
        written: frozenset[str],
    ) -> None:
        for reach in graph.reached:
            self._live.identities.keep_newest(reach, graph.units)
        for object_id, deep in graph.deep.items():
            value = graph.units.object_of(object_id)
            stream, buffers, refs = graph.dumped[object_id]
            captured.units[object_id] = Unit(
                stream=stream,
                buffers=buffers,
                refs=refs,
                members=graph.members.get(object_id, []),
                deep=deep,
                data=is_data(value),
                ambient=self._ambient(graph.name_of(object_id), written),
            )
            former = self._live.identities.find(object_id, deep)
            if former is not None and former is not value:
                captured.replaced.add(object_id)
            self._live.identities.remember(object_id, deep, value)
        for name, object_id in targets.items():
            if object_id in graph.errors:
                is_closed = is_closed_file(self._live.namespace[name])
                reason = CLOSED_FILE if is_closed else graph.errors[object_id]
                captured.not_kept[name] = reason
                del captured.bindings[name]
        self._take_contents(captured, targets)
        captured.shelved = self.collections.places
        for name, binding in captured.bindings.items():
            calls = sorted(self._live.callees(name))
            captured.outputs[name] = output_of(binding, captured.units, calls)

    def _take_contents(self, captured: Captured, targets: Iterable[str]) -> None:
        """Let names that hold stored collections have the version of their content."""
        for name in captured.bindings.keys() & set(targets):
            version = self.collections.version(name)
            if version is not None:
                binding = captured.bindings[name]
                captured.bindings[name] = replace(binding, version=version)

    def _ambient(
        self, name: str | None, written: frozenset[str]
    ) -> tuple[str, str] | None:
        if name is None or name in written:
            return None
        if self._live.entry(name).made is not Made.AMBIENT:
            return None
        return name, self._live.version(name)


def _add(captured: Captured, data: bytes, name: str) -> str:
    part = part_of(memoryview(data), "|u1", (len(data),), name)
    captured.parts.setdefault(part.digest.hex, part)
    return part.digest.hex


def is_comparable(version: str) -> bool:
    """Say whether another value can ever have this version."""
    return not version.startswith(OPAQUE)
