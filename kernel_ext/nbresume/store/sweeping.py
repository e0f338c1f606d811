"""Payloads are taken away: of groups that no record counts on any more.

The rule: a decision stands in the chain before; what goes is hidden from plain zarr
first, since that reads a missing chunk as zeros; cut off anywhere, it can be repeated.
"""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Protocol, runtime_checkable

from nbresume.store.groups import METADATA
from nbresume.store.objects import ROOT
from nbresume.store.port import Backend


@runtime_checkable
class OnDisk(Protocol):
    """What only a file system tells: a backend that has it is asked."""

    def written_at(self, key: str) -> datetime | None:
        """Return when the key was written; None if there is no such key."""

    def shared_as(self, key: str) -> str:
        """Return what files of the same bytes have in common; "" if it is alone."""

    def prune(self, folder: str) -> None:
        """Remove a folder that is empty, durably; nothing happens to another one."""


class Stock:
    """The groups of one store, as they lie there."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def groups(self, run_id: str) -> list[str]:
        """Return the groups of a run; one that is cut off is one as well."""
        names = self._backend.names(f"{ROOT}/{run_id}")
        return sorted(name for name in names if name != METADATA)

    def arrays(self, run_id: str, group: str) -> list[str]:
        """Return the arrays of a group, its pack among them."""
        names = self._backend.names(f"{ROOT}/{run_id}/{group}")
        return sorted(name for name in names if name != METADATA)

    def files(self, run_id: str, group: str, array: str) -> Iterator[str]:
        """Give the keys of an array: what shows it to plain zarr comes first."""
        folder = f"{ROOT}/{run_id}/{group}/{array}"
        names = self._backend.names(folder)
        for name in sorted(names, key=lambda name: (name != METADATA, name)):
            yield f"{folder}/{name}"

    def keys(self, run_id: str, group: str) -> Iterator[str]:
        """Give the keys of all payloads of a group."""
        for array in self.arrays(run_id, group):
            yield from self.files(run_id, group, array)

    def size(self, run_id: str, group: str) -> int:
        """Return how many bytes the payloads of a group take."""
        return sum(self._backend.size(key) or 0 for key in self.keys(run_id, group))

    def array_size(self, run_id: str, group: str, array: str) -> int:
        """Return how many bytes the files of an array take."""
        keys = self.files(run_id, group, array)
        return sum(self._backend.size(key) or 0 for key in keys)

    def written_at(self, run_id: str, group: str) -> datetime | None:
        """Return when the newest payload was written; None if nobody can tell."""
        if not isinstance(self._backend, OnDisk):
            return None
        times = map(self._backend.written_at, self.keys(run_id, group))
        return max((time for time in times if time is not None), default=None)

    def links(self, run_id: str, group: str) -> set[str]:
        """Return what its files share with files of other names; empty if nothing."""
        if not isinstance(self._backend, OnDisk):
            return set()
        return {*map(self._backend.shared_as, self.keys(run_id, group))} - {""}

    def sweep(self, run_id: str, group: str, *, keep: Collection[str] = ()) -> int:
        """Take away the arrays of a group but those to be kept; return their bytes.

        Raises
        ------
        Unavailable
            The device failed: what is left goes the next time.
        """
        folder = f"{ROOT}/{run_id}/{group}"
        arrays = [name for name in self.arrays(run_id, group) if name not in keep]
        if not keep:
            self._delete(f"{folder}/{METADATA}")
        freed = 0
        for array in arrays:
            for key in list(self.files(run_id, group, array)):
                freed += self._backend.size(key) or 0
                self._delete(key)
            self._prune(f"{folder}/{array}")
        if not keep:
            self._prune(folder)
        return freed

    def _delete(self, key: str) -> None:
        self._backend.delete(key)

    def _prune(self, folder: str) -> None:
        if isinstance(self._backend, OnDisk):
            self._backend.prune(folder)
