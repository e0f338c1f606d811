"""Object identity: which object carries which id, and which units form a circle.

The rule: an object keeps its id while its value changes; a (object id, deep version)
names one live object, so that names restored in any order share what they shared.
The table is void for every object that was seen to change.
"""

from collections.abc import Container, Iterable, Mapping
from collections.abc import Set as AbstractSet
from graphlib import TopologicalSorter
from typing import Any

from nbresume.model.digests import cue_digest
from nbresume.model.manifest import Manifest, Unit


class Identities:
    """Ids of live objects, and the live objects of stored units."""

    def __init__(self) -> None:
        self.next_object = 0
        """The next free number; raised past what the run has used."""
        self._ids: dict[int, tuple[str, Any]] = {}
        self._carriers: dict[str, Any] = {}
        """Object id → the live object that has it."""
        self._objects: dict[tuple[str, str], Any] = {}
        self._stored: dict[int, set[tuple[str, str]]] = {}
        """id() → the units that the object stands for."""
        self._newest: dict[str, str] = {}
        """Object id → the deep version under which names refer to it now."""
        self._dropped: set[tuple[str, str]] = set()
        """Units whose object was let go, while what holds it may live on."""

    def id_of(self, value: Any) -> str:
        """Return the object id of a live object, a new one if it has none.

        Another moment of the same object may have been rebuilt since, as an object of
        its own: it has the id then, and two must never share one.
        """
        known = self._ids.get(id(value))
        if known is not None and self._carriers.get(known[0]) is value:
            return known[0]
        object_id = f"o{self.next_object}"
        self.next_object += 1
        self.name(object_id, value)
        return object_id

    def name(self, object_id: str, value: Any) -> None:
        """Give a live object this id."""
        self._ids[id(value)] = (object_id, value)
        self._carriers[object_id] = value

    def take_up(self, object_id: str, value: Any) -> None:
        """Let an object that is bound again have the id back that it had."""
        known = self._ids.get(id(value))
        if known is not None and known[0] == object_id:
            self._carriers[object_id] = value

    def object_of(self, object_id: str) -> Any | None:
        """Return the live object that has an id."""
        return self._carriers.get(object_id)

    def find(self, object_id: str, deep: str) -> Any | None:
        """Return the live object of a stored unit, if it is alive and unchanged."""
        return self._objects.get((object_id, deep))

    def holds(self, object_id: str, deep: str) -> bool:
        """Say whether a live object stands for this unit."""
        return (object_id, deep) in self._objects

    def remember(self, object_id: str, deep: str, value: Any) -> None:
        """Let a live object stand for this unit."""
        self.forget(object_id, deep)
        self._objects[object_id, deep] = value
        self._stored.setdefault(id(value), set()).add((object_id, deep))
        self._newest[object_id] = deep

    def is_newest(self, object_id: str, deep: str, value: Any) -> bool:
        """Say whether names refer to this object under this deep version."""
        stands = self._objects.get((object_id, deep)) is value
        return stands and self._newest.get(object_id) == deep

    def known_among(self, reached: AbstractSet[int]) -> set[int]:
        """Return those of these live objects that have an id or stand for a unit."""
        return (self._ids.keys() & reached) | (self._stored.keys() & reached)

    def ids_among(self, reached: AbstractSet[int]) -> set[str]:
        """Return the object ids of those of these live objects that have one."""
        return {self._ids[i][0] for i in self._ids.keys() & reached}

    def keep_newest(self, reached: AbstractSet[int], units: Container[int]) -> None:
        """Forget reached objects that no name refers to as units of their own now."""
        for i in self._ids.keys() & reached:
            if i not in units:
                self._newest.pop(self._ids[i][0], None)

    def forget_newest(self) -> None:
        """Hold no object for committed as it is: a commit failed."""
        self._newest.clear()

    def rebuilt(
        self, object_id: str, deep: str, value: Any, manifests: Iterable[Manifest]
    ) -> None:
        """Let a rebuilt object have this id and stand for this unit.

        What is alive and refers to one that was let go holds another object than this.
        """
        if (object_id, deep) in self._dropped:
            self._dropped.discard((object_id, deep))
            self.replace(object_id, deep, value, manifests)
        self.remember(object_id, deep, value)
        self.name(object_id, value)

    def replace(
        self, object_id: str, deep: str, value: Any, manifests: Iterable[Manifest]
    ) -> None:
        """Let another object stand for this unit, and nothing for what holds it.

        One that a plain cell has just made has no id yet: it is this object, so that
        what is captured around it refers to the same units as before.
        """
        self.forget_holders(object_id, [known.units for known in manifests])
        self.remember(object_id, deep, value)
        if id(value) not in self._ids:
            self.name(object_id, value)

    def forget(self, object_id: str, deep: str) -> None:
        """Let no live object stand for this unit."""
        key = (object_id, deep)
        if key not in self._objects:
            return
        i = id(self._objects.pop(key))
        self._stored[i].discard(key)
        if not self._stored[i]:
            del self._stored[i]

    def void(self, ids: Iterable[int]) -> None:
        """Forget what the objects with these Python ids stood for: they changed."""
        for i in ids:
            for key in self._stored.pop(i, ()):
                del self._objects[key]

    def free(self, ids: Iterable[int]) -> None:
        """Hold these objects no longer: the namespace does not reach them any more."""
        for i in ids:
            object_id, value = self._ids.pop(i, ("", None))
            if self._carriers.get(object_id) is value:
                self._carriers.pop(object_id, None)
            for unit in self._stored.pop(i, ()):
                del self._objects[unit]
                self._dropped.add(unit)
                if self._newest.get(unit[0]) == unit[1]:
                    del self._newest[unit[0]]

    def all_known(self) -> set[int]:
        """Return the id() of every object that is held."""
        return {*self._ids, *self._stored}

    def forget_holders(
        self, object_id: str, tables: Iterable[Mapping[str, Unit]]
    ) -> None:
        """Forget every unit that refers, directly or not, to this object.

        Another object has taken the id over, so what holds the former one is to be
        bound anew.
        """
        tables = list(tables)
        todo, done = [object_id], {object_id}
        while todo:
            held = todo.pop()
            for table in tables:
                for holder, unit in table.items():
                    if held not in unit.refs:
                        continue
                    # each version that a commit has of it
                    self.forget(holder, unit.deep)
                    if holder not in done:
                        done.add(holder)
                        todo.append(holder)


def circles(refs: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of units that refer to each other in a circle.

    Tarjan's strongly connected components, iterative (a linked list of 10,000 named
    objects must not exhaust the stack); groups of one are left out.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    groups: list[list[str]] = []
    for root in refs:
        if root in index:
            continue
        work = [(root, iter(refs[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, following = work[-1]
            step = next((n for n in following if n in refs), None)
            if step is None:
                work.pop()
                _close(node, work, low, index, stack, on_stack, groups)
            elif step not in index:
                index[step] = low[step] = len(index)
                stack.append(step)
                on_stack.add(step)
                work.append((step, iter(refs[step])))
            elif step in on_stack:
                low[node] = min(low[node], index[step])
    return groups


def _close(
    node: str,
    work: list[tuple[str, Any]],
    low: dict[str, int],
    index: dict[str, int],
    stack: list[str],
    on_stack: set[str],
    groups: list[list[str]],
) -> None:
    if work:
        parent = work[-1][0]
        low[parent] = min(low[parent], low[node])
    if low[node] != index[node]:
        return
    group = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        group.append(member)
        if member == node:
            break
    if len(group) > 1:
        groups.append(sorted(group))


def deep_versions(
    streams: Mapping[str, tuple[str, list[str]]],
    refs: Mapping[str, Iterable[str]],
    members: Mapping[str, list[str]],
) -> dict[str, str]:
    """Return for each unit the digest of all that it reaches.

    Parameters
    ----------
    streams
        Object id → (digest of the stream, digests of the buffers).
    refs
        Object id → object ids referred to.
    members
        Object id → the circle it belongs to; refs inside a circle add nothing.
    """
    inner = {
        object_id: sorted(
            ref
            for ref in refs[object_id]
            if ref in streams and ref not in members.get(object_id, ())
        )
        for object_id in streams
    }
    deep: dict[str, str] = {}
    for object_id in TopologicalSorter(inner).static_order():
        stream, buffers = streams[object_id]
        parts = [stream, *buffers, *(deep[ref] for ref in inner[object_id])]
        deep[object_id] = cue_digest("|".join(parts).encode())
    return deep
