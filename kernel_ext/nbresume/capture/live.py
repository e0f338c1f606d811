"""What the kernel's namespace holds: each name's object, its version, who made it.

The rule (R1 of the design): a version is an identity given at capture and carried
by a restored object; a look is a fingerprint of the live object, taken to see
whether it changed since, and never compared with another kernel's.
"""

import types
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from typing import Any

from nbresume.capture import denied
from nbresume.capture.atoms import SCALARS, is_atom, type_name
from nbresume.capture.canonical import look
from nbresume.capture.entries import CellText, Entry, Made
from nbresume.capture.looks import Look, is_swapped
from nbresume.capture.pending import Pending, PendingNames
from nbresume.capture.touched import functions_names, is_users, sharing
from nbresume.capture.units import Identities

VALUE = "v:"
"""Prefix of a version that is a digest of the value: equal work, equal version."""
OPAQUE = "o:"
"""Prefix of a version that nothing else equals: the value cannot be compared."""


class Live:
    """The table of names over one namespace, and the identities of its objects."""

    def __init__(
        self, namespace: MutableMapping[str, Any], *, new_nonce: Callable[[], str]
    ) -> None:
        self.namespace = namespace
        self.identities = Identities()
        self.gone: dict[str, CellText] = {}
        """Name → the plain cell that deleted it."""
        self._unset: set[str] = set()
        """Names removed here while a plain cell ran: not its doing."""
        self.pending = PendingNames()
        self._parked: dict[str, Entry] = {}
        """Name → what a patched module was, while it stands above the patch."""
        self.unkept: dict[str, str] = {}
        """Name → the step that made it and could not keep its value."""
        self._loaded: set[str] = set()
        """Names loaded while a cell ran, looked at before it could change them."""
        self._entries: dict[str, Entry] = {}
        self._new_nonce = new_nonce

    def users(self) -> dict[str, Any]:
        """Return the names of the user and their values now."""
        return {n: v for n, v in self.namespace.items() if is_users(n)}

    def find(self, name: str) -> Entry | None:
        """Return what is known of a name's present value; None if it has none."""
        if name not in self.namespace:
            return self._entries.get(name) if name in self.pending else None
        self.pending.drop(name)
        self.unkept.pop(name, None)
        entry = self._entries.get(name)
        value = self.namespace[name]
        if entry is None or entry.value is not value:
            # rebound behind our back (a thread, a callback): nobody's value
            entry = self._entries[name] = Entry(value, Made.AMBIENT)
        return entry

    def entry(self, name: str) -> Entry:
        """Return what is known of a name that has a value."""
        entry = self.find(name)
        if entry is None:
            raise KeyError(name)
        return entry

    def left_by(self, step: str) -> list[str]:
        """Return the names whose value an attempt of a step left."""
        attempted = [n for n, e in self._entries.items() if e.made is Made.ATTEMPT]
        found = [(name, self.find(name)) for name in attempted]
        return [n for n, e in found if e and e.made is Made.ATTEMPT and e.step == step]

    def known(self) -> dict[str, Entry]:
        """Return what is known now of every name, loaded or not; nothing is checked."""
        return dict(self._entries)

    def ambient(self) -> dict[str, Entry]:
        """Return the names of the user that plain cells, or nobody, made."""
        users, known = self.users(), self._entries
        # one call a name would be felt with thousands of them
        stale = [
            n for n, v in users.items() if n not in known or known[n].value is not v
        ]
        for name in stale:
            self.find(name)
        return {n: known[n] for n in users if known[n].made is Made.AMBIENT}

    def compound(self) -> dict[str, Any]:
        """Return the names of the user whose value may be made of other objects."""
        users = self.users().items()
        return {
            n: v for n, v in users if type(v) not in SCALARS and not self._is_plain(v)
        }

    def has(self, name: str) -> bool:
        """Say whether a name has a value, loaded or not."""
        return name in self.namespace or name in self.pending

    # -- values that wait -------------------------------------------------------

    def defer(self, name: str, entry: Entry, pending: Pending) -> None:
        """Give a name a value that is loaded when somebody needs it."""
        self.unset(name)
        self._unset.discard(name)
        self._entries[name] = entry
        self.pending.add(name, pending)
        self.unkept.pop(name, None)
        self.gone.pop(name, None)

    def load(self, name: str) -> None:
        """Load the value of a name if it waits.

        Raises
        ------
        NbresumeError
            The value cannot be rebuilt; the name has no value then.
        """
        with self.pending.lock:
            if name not in self.pending or name in self.namespace:
                return
            entry = self._entries.pop(name)
            entry.value = self.pending.take(name)
            self.set(name, entry)

    def load_in_cell(self, name: str) -> Any:
        """Load a name that a running cell asks for, and look at it first."""
        self.load(name)
        self.look(name)
        self._loaded.add(name)
        return self.namespace[name]

    def tidy(self) -> None:
        """Let names wait no more that have got a value of their own."""
        for name in (*self.pending, *self.unkept):
            if name in self.namespace:
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
            entry.seen = look(entry.value, self.namespace)
        return entry.seen

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
        return functions_names(self.look(name).reach, self.namespace)

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

    def touched(self, names: Iterable[str]) -> frozenset[str]:
        """Return the names whose value code using these names could change.

        These names, and all that share data with them, are loaded.
        """
        names = set(names)
        self.load_all(names)
        while True:
            reaches = self._reaches()
            touched = sharing(names, reaches)
            reached = set[int]().union(*(reaches[name].keys() for name in touched))
            more = self.pending.sharing(self.identities.ids_among(reached))
            if not more:
                return touched
            self.load_all(more)

    def _reaches(self) -> dict[str, Mapping[int, Any]]:
        """Return what the value of each name reaches, of all that are compound."""
        return {name: self.look(name).reach for name in self.compound()}

    def _other_reaches(self, value: Any) -> list[Mapping[int, Any]]:
        reaches = self._reaches().items()
        return [r for name, r in reaches if self.namespace[name] is not value]

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
            now = look(entry.value, self.namespace)
            if now.digest is None:
                # whether it changed cannot be seen, so it did
                moved = denied.moves_when_read(entry.value)
            else:
                moved = now.digest != entry.seen.digest or (
                    now.visits != entry.seen.visits
                    and is_swapped(entry.seen, now, self._other_reaches(entry.value))
                )
            if moved:
                changed.add(name)
            if not now.is_same(entry.seen):
                entry.seen = now
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
        dirty: set[int] = set()
        for name in changed:
            entry = self._entries[name]
            dirty |= {id(entry.value), *(entry.seen.reach if entry.seen else ())}
        clean = {id(self.namespace[n]) for n in unchanged if n in self.namespace}
        self.identities.void(dirty - clean)

    def set(self, name: str, entry: Entry) -> None:
        """Bind the name to the entry's value."""
        self.namespace[name] = entry.value
        self._entries[name] = entry
        self.pending.drop(name)
        self.unkept.pop(name, None)
        self.gone.pop(name, None)

    def unset(self, name: str) -> None:
        """Remove the name."""
        if self.namespace.pop(name, None) is not None:
            self._unset.add(name)
        self._entries.pop(name, None)
        self.pending.drop(name)

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
        self,
        cell: CellText,
        *,
        before: dict[str, Any],
        touched: Iterable[str],
        assigned: Iterable[str] = (),
    ) -> None:
        """Mark what a plain cell made, changed or deleted as ambient."""
        for name in assigned:
            entry = self._entries.get(name)
            if entry is not None and entry.former and self._stands(name, entry):
                # small values are one object: made anew, it looks as if untouched
                self._entries[name] = Entry(entry.value, Made.AMBIENT, cells=(cell,))
        for name in self.changed({*touched, *self.loaded_in_cell()}):
            self._mark_changed(name, cell)
        users = self.users()
        for name, value in users.items():
            same = name in before and before[name] is value
            if not same and not self._was_set(name, value):
                self._entries[name] = Entry(value, Made.AMBIENT, cells=(cell,))
                self.gone.pop(name, None)
        for name in before.keys() - users.keys() - self._unset:
            self._entries.pop(name, None)
            self.gone[name] = cell
        self._unset.clear()

    def _was_set(self, name: str, value: Any) -> bool:
        """Say whether a value was bound by `set`: `%steps resume` in a plain cell."""
        entry = self._entries.get(name)
        if entry is None or entry.value is not value:
            return False
        return entry.made is not Made.AMBIENT or bool(entry.cells)

    def note_unseen(self, name: str, cell: CellText) -> None:
        """Mark a name as changed by something that no cell named, after this cell."""
        self.entry(name)
        self._mark_changed(name, cell)

    def _mark_changed(self, name: str, cell: CellText) -> None:
        entry = self._entries[name]
        if entry.made is not Made.AMBIENT:
            entry.base_step, entry.base_version = entry.step, entry.version
            entry.cells = ()
        entry.made, entry.version = Made.AMBIENT, ""
        entry.cells = (*(c for c in entry.cells if c != cell), cell)

    def mark_attempt(self, name: str, step: str) -> None:
        """Mark a name's value as left by an attempt of a step."""
        entry = self.entry(name)
        self._entries[name] = Entry(
            entry.value, Made.ATTEMPT, step=step, seen=entry.seen
        )

    def forget_gone(self) -> None:
        """Drop entries of names that have no value any more."""
        for name in self._entries.keys() - self.namespace.keys():
            if name not in self.pending:
                del self._entries[name]

    @staticmethod
    def _is_plain(value: Any) -> bool:
        return is_atom(value) or isinstance(value, types.ModuleType)
