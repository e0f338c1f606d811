"""What the kernel's namespace holds: each name's object, its version, who made it.

The rule (R1 of the design): a version is an identity given at capture and carried
by a restored object; a look is a fingerprint of the live object, taken to see
whether it changed since, and never compared with another kernel's.
"""

import types
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping
from collections.abc import Set as AbstractSet
from typing import Any

from nbresume.capture import denied
from nbresume.capture.atoms import is_atom, type_name
from nbresume.capture.entries import CellText, Entry, Made
from nbresume.capture.known import Known
from nbresume.capture.looks import Look, is_swapped
from nbresume.capture.pending import Pending
from nbresume.capture.touched import functions_names, is_users

VALUE = "v:"
"""Prefix of a version that is a digest of the value: equal work, equal version."""
OPAQUE = "o:"
"""Prefix of a version that nothing else equals: the value cannot be compared."""


class Live(Known):
    """The names of one namespace: values, versions, and what changes them."""

    def __init__(
        self, namespace: MutableMapping[str, Any], *, new_nonce: Callable[[], str]
    ) -> None:
        super().__init__(namespace)
        self._parked: dict[str, Entry] = {}
        """Name → what a patched module was, while it stands above the patch."""
        self._loaded: set[str] = set()
        """Names loaded while a cell ran, looked at before it could change them."""
        self._new_nonce = new_nonce

    # -- values that wait -------------------------------------------------------

    def defer(self, name: str, entry: Entry, pending: Pending) -> None:
        """Give a name a value that is loaded when somebody needs it."""
        self.unset(name)
        self._entries[name] = entry
        self._made[entry.made].add(name)
        self.pending.add(name, pending)
        self.unkept.pop(name, None)
        self.gone.pop(name, None)

    def load(self, name: str) -> None:
        """Load the value of a name if it waits, and all that share data with it.

        Of a rebuilt view nothing alive tells whose memory it shows; the commits do.

        Raises
        ------
        NbresumeError
            A value cannot be rebuilt; its name has no value then.
        """
        with self.pending.lock:
            todo = [name]
            while todo:
                one = todo.pop()
                if one not in self.pending or one in self.namespace:
                    continue
                data = self.pending.data(one)
                entry = self._entries.pop(one)
                self._made[entry.made].discard(one)
                entry.value = self.pending.take(one)
                self.set(one, entry)
                todo += self.pending.sharing(data - {""})

    def load_in_cell(self, name: str) -> Any:
        """Load a name that a running cell asks for, and look at it first."""
        self.load(name)
        self.look(name)
        self._loaded.add(name)
        return self.namespace[name]

    def tidy(self) -> None:
        """Let names wait no more that have got a value of their own."""
        bound = self.namespace.keys()
        for name in (*self.pending.among(bound), *(bound & self.unkept.keys())):
            self.pending.drop(name)
            self.unkept.pop(name, None)

    def load_all(self, names: Iterable[str]) -> None:
        """Load all of these names that wait."""
        for name in names:
            self.load(name)

    def loaded_in_cell(self) -> frozenset[str]:
        """Return the names that were loaded while a cell ran, and begin anew."""
        loaded, self._loaded = frozenset(self._loaded), set()
        return loaded

    # -- versions and looks -----------------------------------------------------

    def look(self, name: str) -> Look:
        """Return the remembered look at a name's value, taken now if there is none."""
        self.load(name)
        entry = self.entry(name)
        if entry.seen is None:
            self.saw(name, self.fresh_look(entry.value))
        assert entry.seen is not None  # noqa: S101 - for the type checker
        return entry.seen

    def seen(self, name: str) -> Look | None:
        """Return the remembered look at a name's value; None if there is none."""
        entry = self.find(name)
        return entry.seen if entry is not None else None

    def fresh_look(self, value: Any, contents: Mapping[int, str] | None = None) -> Look:
        """Return a look at a value as it is now (see `canonical.look`)."""
        # the walk knows all kinds of values, and a kernel that loads looks at none
        from nbresume.capture.canonical import look  # noqa: PLC0415

        named = self.names.named
        return look(value, self.namespace, named=named, contents=contents)

    def look_anew(self, name: str) -> Look:
        """Return a look taken now: the value may have changed since the last one."""
        self.saw(name, self.fresh_look(self.entry(name).value))
        return self.look(name)

    def look_again(self, ids: AbstractSet[int]) -> None:
        """Look anew at every name that reaches one of these objects, by their id()."""
        for name in self._holders.of(ids) if ids else ():
            self.look_anew(name)

    def _look_at_all(self) -> None:
        """Look at every value that was never looked at."""
        for name in [*self._unseen]:
            if self.find(name) is not None and name in self._unseen:
                self.look(name)

    def version(self, name: str) -> str:
        """Return the version of a name's value."""
        entry = self.entry(name)
        if entry.made is Made.COMMITTED:
            return entry.version
        return self.content_version(name)

    def content_version(self, name: str) -> str:
        """Return the version that the value would have if it were captured now."""
        entry = self.entry(name)
        if isinstance(entry.value, types.ModuleType):
            return f"m:{entry.value.__name__}"
        seen = self.look(name)
        if seen.digest is not None:
            return VALUE + seen.digest
        if not entry.version.startswith(OPAQUE):
            entry.version = f"{OPAQUE}{type_name(entry.value)}:{self._maker(entry)}"
        return entry.version

    def _maker(self, entry: Entry) -> str:
        """Return who made an opaque value.

        A connection of the same type made by the same text of the same plain cell
        counts as the same one; all else that cannot be compared equals only itself.
        """
        if denied.reason(entry.value) is None or not entry.cells:
            return self._new_nonce()
        cell_id, digest = entry.cells[-1]
        return f"{cell_id}@{digest}"

    def callees(self, name: str) -> frozenset[str]:
        """Return the global names that code reachable from the value may use."""
        entry = self.entry(name)
        if entry.made is Made.COMMITTED and entry.calls is not None:
            return entry.calls
        if self._is_plain(entry.value):
            return frozenset()
        return functions_names(self.look(name).singles, self.namespace)

    def closure(self, names: Iterable[str]) -> frozenset[str]:
        """Return these names and all that functions among their values may use."""
        closed: set[str] = set()
        todo = {name for name in names if self.has(name) and is_users(name)}
        while todo:
            name = todo.pop()
            closed.add(name)
            todo |= {
                callee
                for callee in self.callees(name) - closed
                if self.has(callee) and is_users(callee)
            }
        return frozenset(closed)

    def free(self) -> None:
        """Hold no object that the namespace does not reach: free old versions."""
        self._look_at_all()
        alive = {
            i for i in self._loose if i in self.names.named or self._holders.of({i})
        }
        self.identities.free(self._loose - alive)
        self._loose = set()

    def touched(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names whose value code using these names could change.

        These names, and all that share data with them, are loaded.
        """
        names = set(names)
        self.load_all(names)
        while True:
            touched = self.sharing(names)
            more = self.waiting_for(touched)
            if not more:
                return touched
            self.load_all(more)

    def sharing(self, names: Iterable[str]) -> frozenset[str]:
        """Return the compound ones of these names, and all that share with them."""
        self._look_at_all()
        chosen = {name for name in names if name in self.names.compound}
        found = set(chosen)
        for name in chosen:
            found |= self._holders.of(self.look(name).reach.keys())
        return frozenset(found)

    def waiting_for(self, names: Iterable[str]) -> list[str]:
        """Return the names that wait and share data with the values of these."""
        if not self.pending:
            return []
        reaches = [self.look(n).reach.keys() for n in names if n in self.names.compound]
        ids = set[str]().union(*map(self.identities.ids_among, reaches))
        return self.pending.sharing(ids)

    def _other_reaches(self, value: Any, *looks: Look) -> list[Mapping[int, Any]]:
        """Return what the values of other names reach, of all that share with these."""
        self._look_at_all()
        names = set[str]().union(*(self._holders.of(s.reach.keys()) for s in looks))
        return [
            self.look(name).reach
            for name in names
            if self.namespace.get(name) is not value
        ]

    def changed(self, names: Iterable[str]) -> frozenset[str]:
        """Return those whose value is not the one last looked at.

        Afterwards the looks are new, and every remembered (object, version) that a
        changed value reaches is void.
        """
        changed: set[str] = set()
        names = set(names)
        for name in names:
            entry = self._entries.get(name)
            if not self._stands(name, entry) or entry is None or entry.seen is None:
                continue
            now = self.fresh_look(entry.value)
            if now.digest is None:
                # whether it changed cannot be seen, so it did
                moved = denied.moves_when_read(entry.value)
            else:
                moved = now.digest != entry.seen.digest or (
                    not now.visits.is_same(entry.seen.visits)
                    and is_swapped(
                        entry.seen,
                        now,
                        self._other_reaches(entry.value, entry.seen, now),
                    )
                )
            if moved:
                changed.add(name)
            if not now.is_same(entry.seen):
                self.saw(name, now)
        if changed:
            self._void(changed, names - changed)
        return frozenset(changed)

    def _stands(self, name: str, entry: Entry | None) -> bool:
        return (
            entry is not None
            and name in self.namespace
            and entry.value is self.namespace[name]
        )

    def _void(self, changed: set[str], unchanged: set[str]) -> None:
        clean = {id(self.namespace[n]) for n in unchanged if n in self.namespace}
        self.void(changed, clean)

    def void(self, changed: Iterable[str], clean: AbstractSet[int]) -> None:
        """Let no object stand for its unit that changed values reach.

        Parameters
        ----------
        changed
            Names whose value was changed in place.
        clean
            The ids of objects that are known to be as they were.
        """
        for name in changed:
            entry = self._entries[name]
            dirty = {id(entry.value)}
            if entry.seen:
                dirty |= self.identities.known_among(entry.seen.reach.keys())
            self.identities.void(dirty - clean)

    def unsettle(self, names: Collection[str]) -> None:
        """Let no object of these names stand for what was stored of it.

        The running body goes on changing them, and a look at each was taken just now.
        What other names reach too stays: a change of that is seen by their looks.
        """
        reaches = {
            n: self.look(n).reach.keys() for n in names if n in self.names.compound
        }
        dirty = set[int]().union(*map(self.identities.known_among, reaches.values()))
        for name in self._holders.of(dirty) - reaches.keys():
            dirty -= self.identities.known_among(self.look(name).reach.keys())
        self.identities.void(dirty)

    def set(self, name: str, entry: Entry) -> None:
        """Bind the name to the entry's value."""
        self.names.bind(name, entry.value)
        self._enter(name, entry)
        self._moves.settle(name)
        self.pending.drop(name)
        self.unkept.pop(name, None)
        self.gone.pop(name, None)

    def unset(self, name: str) -> None:
        """Remove the name."""
        self.names.unbind(name)
        self._moves.settle(name)
        self._drop(name)
        self.pending.drop(name)

    def bind_in_body(self, name: str, entry: Entry) -> None:
        """Bind a name as the running body would have done it."""
        is_new = name not in self.names.users
        self.set(name, entry)
        self._moves.bind(name, is_new=is_new)

    def unbind_in_body(self, name: str) -> None:
        """Remove a name as the running body would have done it."""
        if name in self.names.users:
            self.unset(name)
            self._moves.lose(name)

    def park(self, name: str, entry: Entry) -> None:
        """Let a patched module stand as nobody's, until `unpark`."""
        self._parked[name] = entry
        self.set(name, Entry(entry.value, Made.AMBIENT))

    def unpark(self, name: str, version: str) -> bool:
        """Return whether a parked module had this version; it has it again then."""
        parked, entry = self._parked.get(name), self.find(name)
        if parked is None or entry is None or parked.value is not entry.value:
            return False
        if parked.version != version:
            return False
        self.set(name, parked)
        return True

    def note_plain(
        self, cell: CellText, *, touched: Iterable[str], assigned: Iterable[str] = ()
    ) -> None:
        """Mark what a plain cell made, changed or deleted as ambient."""
        moved = self.moved()
        for name in assigned:
            entry = self._entries.get(name)
            if entry is not None and entry.former and self._stands(name, entry):
                # small values are one object: made anew, it looks as if untouched
                self._enter(name, Entry(entry.value, Made.AMBIENT, cells=(cell,)))
        for name in self.changed({*touched, *self.loaded_in_cell()}):
            self._mark_changed(name, cell)
        for name in moved.bound:
            value = self.namespace[name]
            self._enter(name, Entry(value, Made.AMBIENT, cells=(cell,)))
            self.gone.pop(name, None)
        for name in moved.lost:
            self.gone[name] = cell

    def note_unseen(self, name: str, cell: CellText) -> None:
        """Mark a name as changed by something that no cell named, after this cell."""
        self.entry(name)
        self._mark_changed(name, cell)

    def _mark_changed(self, name: str, cell: CellText) -> None:
        entry = self._entries[name]
        self._made[entry.made].discard(name)
        self._made[Made.AMBIENT].add(name)
        if entry.made is not Made.AMBIENT:
            entry.base_step, entry.base_version = entry.step, entry.version
            entry.cells = ()
        entry.made, entry.version = Made.AMBIENT, ""
        entry.cells = (*(c for c in entry.cells if c != cell), cell)

    def mark_attempt(self, name: str, step: str) -> None:
        """Mark a name's value as left by an attempt of a step."""
        entry = self.entry(name)
        self._enter(name, Entry(entry.value, Made.ATTEMPT, step=step, seen=entry.seen))

    @staticmethod
    def _is_plain(value: Any) -> bool:
        return is_atom(value) or isinstance(value, types.ModuleType)
