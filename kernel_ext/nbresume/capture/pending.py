"""Names whose value is not loaded yet: known by their commit, loaded when needed.

The rule: a pending name has its version, its maker and what it shares data with, so
everything but its value can be asked; whoever needs the value has it loaded once.
"""

import sys
import threading
from collections.abc import Callable, Collection, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

from msgspec import Struct


class Pending(Struct, frozen=True):
    """One name that waits for its value."""

    data: frozenset[str]
    """Object ids of the data that the value is made of."""
    load: Callable[[], Any]
    """Rebuilds the value; raises an error of ours if it cannot."""


class PendingNames:
    """The names of one namespace whose values wait to be loaded."""

    def __init__(self) -> None:
        self._waiting: dict[str, Pending] = {}
        self.lock = threading.RLock()
        """Held while a value is loaded: a thread may ask for the same name."""

    def __contains__(self, name: object) -> bool:
        return name in self._waiting

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._waiting))

    def __len__(self) -> int:
        return len(self._waiting)

    def among(self, names: AbstractSet[str]) -> AbstractSet[str]:
        """Return those of these names that wait."""
        return names & self._waiting.keys()

    def add(self, name: str, pending: Pending) -> None:
        """Let a name wait."""
        self._waiting[name] = pending

    def drop(self, name: str) -> None:
        """Let a name wait no more; its value is not loaded."""
        self._waiting.pop(name, None)

    def data(self, name: str) -> frozenset[str]:
        """Return the ids of the objects that a waiting value is made of."""
        return self._waiting[name].data

    def take(self, name: str) -> Any:
        """Return the value of a waiting name; it waits no more, even if that fails."""
        sys.audit("nbresume.load", name)
        return self._waiting.pop(name).load()

    def sharing(self, object_ids: Collection[str]) -> list[str]:
        """Return the names that hold one of these objects."""
        wanted = frozenset(object_ids)
        return [n for n, p in self._waiting.items() if not p.data.isdisjoint(wanted)]
