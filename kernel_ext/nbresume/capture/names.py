"""The user's names and their values, followed as the namespace changes.

The rule: the namespace is a plain dict that anybody may change, so what moved is found
by comparing identities, in one pass at C speed; everything else that is asked of the
names follows from what moved, and costs nothing for those that did not.
"""

import types
from collections.abc import Iterable, MutableMapping
from typing import Any

from nbresume.capture.addresses import Row, row_of
from nbresume.capture.atoms import SCALARS, importable, is_atom
from nbresume.capture.touched import is_users

_NOTHING = object()


class NameTable:
    """The names of one namespace as they were found last."""

    def __init__(self, namespace: MutableMapping[str, Any]) -> None:
        self._namespace = namespace
        self._keys: list[Any] = []
        self._row = row_of(())
        """The values at these keys, as they stood at the last `refresh`."""
        self._doubtful: dict[str, None] = {}
        """Names of which it does not tell: what was held of them is held no more."""
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
        namespace, users = self._namespace, self.users
        # what a thread takes up from here on is doubtful at the next look
        doubtful, self._doubtful = self._doubtful, {}
        maybe = self._maybe_moved([*namespace], row_of(namespace.values()), doubtful)
        lost = [
            name
            for name in (users if maybe is None else maybe)
            if name not in namespace and name in users
        ]
        moved = {
            name: value
            for name in (self._keys if maybe is None else maybe)
            if (value := namespace.get(name, _NOTHING)) is not users.get(name, _NOTHING)
            and value is not _NOTHING
            and is_users(name)
        }
        for name in lost:
            self._drop(name)
        for name, value in moved.items():
            self.note(name, value)
        return [*moved], lost

    def _maybe_moved(
        self, keys: list[Any], row: Row, doubtful: Iterable[str]
    ) -> list[Any] | None:
        """Return the keys whose values are others, or new; None if it may be any.

        Threads may bind names between the lists that are compared: whoever asks has a
        look at the present value of each.
        """
        former, former_keys = self._row, self._keys
        self._keys, self._row = keys, row
        new = keys[len(former_keys) :]
        if new:
            del keys[len(former_keys) :]
        is_grown = keys == former_keys and type(row) is type(former)
        keys += new
        if not is_grown or len(row) != len(keys):
            return None
        moved = [keys[place] for place in former.others_in(row)]
        return [*dict.fromkeys((*moved, *new, *doubtful))]

    def note(self, name: str, value: Any) -> None:
        """Take up the present value of one name."""
        if is_users(name):
            self._doubtful[name] = None
            self._take(name, value)

    def bind(self, name: str, value: Any) -> None:
        """Give a name a value."""
        self._namespace[name] = value
        self.note(name, value)

    def unbind(self, name: str) -> bool:
        """Take a name's value away; return whether it had one."""
        self._doubtful[name] = None
        self._drop(name)
        return self._namespace.pop(name, None) is not None

    def classify(self, name: str) -> None:
        """Look once more whether an import finds a name's value: modules change."""
        self._take(name, self.users[name])

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
