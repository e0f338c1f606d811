"""What is known of each name: its value, who made it, what the value reaches.

The rule: whatever asks for all names of a kind, or for all that hold an object, is
answered from tables that follow each change; only what changed costs anything.
"""

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from msgspec import Struct, field

from nbresume.capture.atoms import is_atom
from nbresume.capture.entries import CellText, Entry, Made
from nbresume.capture.holders import Holders
from nbresume.capture.looks import Look
from nbresume.capture.names import NameTable
from nbresume.capture.pending import PendingNames
from nbresume.capture.units import Identities


class Moves(Struct):
    """What others than the table did to names: cells, threads, callbacks."""

    bound: set[str] = field(default_factory=set)
    lost: set[str] = field(default_factory=set)
    """Names that had a value at first, and have none now."""
    _new: set[str] = field(default_factory=set)

    def bind(self, name: str, *, is_new: bool) -> None:
        """Note that a name got a value."""
        if is_new and name not in self.lost:
            self._new.add(name)
        self.bound.add(name)
        self.lost.discard(name)

    def lose(self, name: str) -> None:
        """Note that a name lost its value."""
        self.bound.discard(name)
        if name not in self._new:
            self.lost.add(name)

    def settle(self, name: str) -> None:
        """Forget a name: its present state is the table's own doing."""
        self.bound.discard(name)
        self.lost.discard(name)


class Known:
    """The names of one namespace, and what is known of them."""

    def __init__(self, namespace: MutableMapping[str, Any]) -> None:
        self.namespace = namespace
        self.identities = Identities()
        self.names = NameTable(namespace)
        """The names as they were at the last `refresh`."""
        self.gone: dict[str, CellText] = {}
        """Name → the plain cell that deleted it."""
        self.pending = PendingNames()
        self.unkept: dict[str, str] = {}
        """Name → the step that made it and could not keep its value."""
        self._entries: dict[str, Entry] = {}
        self._made: dict[Made, set[str]] = {made: set() for made in Made}
        self._holders = Holders()
        self._unseen: set[str] = set()
        """Names whose value was never looked at."""
        self._moves = Moves()
        self._loose: set[int] = set()
        """id() of held objects that a name reached, and may not reach any more."""
        self._rebound: dict[str, Entry] = {}
        """Name → what was known of it before others bound or removed it."""
        self._is_still = False

    def refresh(self) -> None:
        """Find out what was bound and removed by others than this table."""
        if self._is_still:
            return
        moved, lost = self.names.refresh()
        for name in lost:
            self._moves.lose(name)
            self._drop(name)
        for name in moved:
            self._notice(name)

    @contextmanager
    def still(self) -> Iterator[None]:
        """Look at the names once for all of the body: no code of the user runs there.

        With many names that is what a step pays for them.
        """
        self.refresh()
        was, self._is_still = self._is_still, True
        try:
            yield
        finally:
            self._is_still = was

    def rebound(self) -> dict[str, Entry]:
        """Return the names that others bound or removed since `forget_rebound`.

        With what was known of each before.
        """
        self.refresh()
        return dict(self._rebound)

    def forget_rebound(self) -> None:
        """Forget what was bound and removed up to now: a cell has ended."""
        self._rebound.clear()

    def mark(self) -> None:
        """Forget what moved up to now: a cell begins."""
        self.refresh()
        self._moves = Moves()

    def moved(self) -> Moves:
        """Return what others than this table bound and removed since `mark`."""
        self.refresh()
        return self._moves

    def users(self) -> dict[str, Any]:
        """Return the names of the user and their values now."""
        self.refresh()
        return self.names.users

    def find(self, name: str) -> Entry | None:
        """Return what is known of a name's present value; None if it has none."""
        if name not in self.namespace:
            return self._entries.get(name) if name in self.pending else None
        value = self.namespace[name]
        entry = self._entries.get(name)
        if entry is None or entry.value is not value or name in self.pending:
            self.names.note(name, value)
            return self._notice(name)
        return entry

    def _notice(self, name: str) -> Entry:
        """Take up a value that a name has got."""
        value = self.namespace[name]
        self.pending.drop(name)
        self.unkept.pop(name, None)
        entry = self._entries.get(name)
        if entry is None or entry.value is not value:
            # bound behind our back (by a cell, a thread, a callback): nobody's value
            if entry is not None:
                self._rebound.setdefault(name, entry)
            self._moves.bind(name, is_new=entry is None)
            entry = self._enter(name, Entry(value, Made.AMBIENT))
        return entry

    def _enter(self, name: str, entry: Entry) -> Entry:
        """Let this be what is known of a name."""
        former = self._entries.get(name)
        if former is not None and former is not entry:
            self._made[former.made].discard(name)
            if former.seen is not entry.seen or former.value is not entry.value:
                self._loosen(name, former)
        self._entries[name] = entry
        self._made[entry.made].add(name)
        if entry.seen is not None:
            self.saw(name, entry.seen)
        elif name in self.names.compound:
            self._unseen.add(name)
        return entry

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            self._rebound.setdefault(name, entry)
            self._made[entry.made].discard(name)
            self._loosen(name, entry)

    def _loosen(self, name: str, entry: Entry) -> None:
        """Note which held objects a name may not reach any more."""
        former = self._holders.drop(name)
        self._unseen.discard(name)
        self._loose.add(id(entry.value))
        if former is not None:
            self._loose |= self.identities.known_among(former.reach.keys())
        elif not is_atom(entry.value):
            self._loose |= self.identities.all_known()

    def saw(self, name: str, seen: Look) -> None:
        """Remember a look at the present value of a name."""
        entry = self._entries[name]
        if entry.seen is not None and entry.seen is not seen:
            seen.own.take_over(entry.seen.own)
        entry.seen = seen
        self._unseen.discard(name)
        former = self._holders.put(name, seen, entry.value)
        if former is not None:
            self._loose |= self.identities.known_among(former.reach.keys())

    def entry(self, name: str) -> Entry:
        """Return what is known of a name that has a value."""
        entry = self.find(name)
        if entry is None:
            raise KeyError(name)
        return entry

    def left_by(self, step: str) -> list[str]:
        """Return the names whose value an attempt of a step left."""
        found = [(name, self.find(name)) for name in [*self._made[Made.ATTEMPT]]]
        return [n for n, e in found if e and e.made is Made.ATTEMPT and e.step == step]

    def known(self) -> dict[str, Entry]:
        """Return what is known now of every name, loaded or not; nothing is checked."""
        return dict(self._entries)

    def ambient(self) -> dict[str, Entry]:
        """Return the names of the user that plain cells, or nobody, made."""
        self.refresh()
        names = self._made[Made.AMBIENT] & self.names.users.keys()
        return {name: self._entries[name] for name in names}

    def has(self, name: str) -> bool:
        """Say whether a name has a value, loaded or not."""
        return name in self.namespace or name in self.pending
