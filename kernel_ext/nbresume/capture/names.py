"""The user's names and their values, followed as the namespace changes.

The rule: the namespace is a plain dict that anybody may change, so what moved is found
by comparing identities, in one pass at C speed; everything else that is asked of the
names follows from what moved, and costs nothing for those that did not.
"""

import types
from collections.abc import MutableMapping
from itertools import compress, islice
from operator import is_, is_not
from typing import Any

from nbresume.capture.atoms import SCALARS, importable, is_atom
from nbresume.capture.touched import is_users

_NOTHING = object()


class NameTable:
    """The names of one namespace as they were found last."""

    def __init__(self, namespace: MutableMapping[str, Any]) -> None:
        self._namespace = namespace
        self._known: dict[str, Any] = {}
        self.users: dict[str, Any] = {}
        """The names of the user and their values."""
        self.compound: dict[str, Any] = {}
        """Those of them whose value may be made of other objects."""
        self.named: dict[int, Any] = {}
        """id() → value of such a name."""
        self._names: dict[int, set[str]] = {}

    def names_of(self, i: int) -> set[str]:
        """Return the names of the object with this id."""
        return self._names.get(i, set())

    def refresh(self) -> tuple[list[str], list[str]]:
        """Return which names of the user were bound, and which were removed, since."""
        known, now = self._known, dict(self._namespace)
        if len(known) <= len(now) and all(map(is_, known, now)):
            values = now.values()
            moved = [*compress(known, map(is_not, known.values(), values))]
            moved += islice(now, len(known), None)
            lost: list[str] = []
        else:
            moved = [n for n, v in now.items() if known.get(n, _NOTHING) is not v]
            lost = [n for n in known if n not in now]
        self._known = now
        moved = [name for name in moved if is_users(name)]
        lost = [name for name in lost if name in self.users]
        for name in lost:
            self._drop(name)
        for name in moved:
            self._take(name, now[name])
        return moved, lost

    def note(self, name: str, value: Any) -> None:
        """Take up the present value of one name."""
        self._known[name] = value
        if is_users(name):
            self._take(name, value)

    def bind(self, name: str, value: Any) -> None:
        """Give a name a value."""
        self._namespace[name] = value
        self.note(name, value)

    def unbind(self, name: str) -> bool:
        """Take a name's value away; return whether it had one."""
        self._known.pop(name, None)
        self._drop(name)
        return self._namespace.pop(name, None) is not None

    def classify(self, name: str) -> None:
        """Look once more whether an import finds a name's value: modules change."""
        self._take(name, self._namespace[name])

    def _take(self, name: str, value: Any) -> None:
        self._drop(name)
        self.users[name] = value
        if is_compound(value):
            self.compound[name] = value
            self.named[id(value)] = value
            self._names.setdefault(id(value), set()).add(name)

    def _drop(self, name: str) -> None:
        self.users.pop(name, None)
        if name not in self.compound:
            return
        i = id(self.compound.pop(name))
        self._names[i].discard(name)
        if not self._names[i]:
            del self._names[i], self.named[i]


def is_compound(value: Any) -> bool:
    """Say whether a value may be made of other objects, and is no import's."""
    if type(value) in SCALARS or is_atom(value) or isinstance(value, types.ModuleType):
        return False
    return not (callable(value) and importable(value))
