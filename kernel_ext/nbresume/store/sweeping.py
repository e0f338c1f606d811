"""The groups of a store as they lie there, and how one is taken away.

The rule: a decision stands in the chain before; what goes is hidden from plain zarr
first, since that reads a missing chunk as zeros; cut off anywhere, it can be repeated.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from msgspec import Struct

from nbresume.store.groups import METADATA
from nbresume.store.objects import ROOT
from nbresume.store.port import Backend


class File(Struct, frozen=True):
    """One file of a group."""

    key: str
    size_bytes: int
    shared: str
    """What it has in common with files that hold the same bytes; "" if it is alone."""


class Stock:
    """The groups of one store, as they lie there."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def runs(self) -> list[str]:
        """Return the runs that have groups."""
        return self._below(ROOT)

    def groups(self, run_id: str) -> list[str]:
        """Return the groups of a run; one that is cut off is one as well."""
        return self._below(f"{ROOT}/{run_id}")

    def files(self, run_id: str, group: str) -> dict[str, list[File]]:
        """Return the arrays of a group, its pack among them, each with its files."""
        return {
            array: [self._file(key) for key in self._keys(run_id, group, array)]
            for array in self._below(f"{ROOT}/{run_id}/{group}")
        }

    def written_at(self, run_id: str, group: str) -> datetime | None:
        """Return when the newest payload was written; None if there is none."""
        arrays = self._below(f"{ROOT}/{run_id}/{group}")
        keys = [key for array in arrays for key in self._keys(run_id, group, array)]
        times = map(self._backend.written_at, keys)
        return max((time for time in times if time is not None), default=None)

    def sweep(self, run_id: str, group: str, *, keep: Collection[str] = ()) -> int:
        """Take away the arrays of a group but those to be kept; return what got free.

        Bytes that another file holds as well are free when the last one goes.

        Raises
        ------
        Unavailable
            The device failed: what is left goes the next time.
        """
        folder = f"{ROOT}/{run_id}/{group}"
        if not keep:
            self._backend.delete(f"{folder}/{METADATA}")
        freed = 0
        for array in self._below(folder):
            if array in keep:
                continue
            for key in self._keys(run_id, group, array):
                file = self._file(key)
                self._backend.delete(key)
                freed += 0 if file.shared else file.size_bytes
            self._backend.prune(f"{folder}/{array}")
        self._backend.prune(folder)
        return freed

    def _below(self, folder: str) -> list[str]:
        return sorted(n for n in self._backend.names(folder) if n != METADATA)

    def _keys(self, run_id: str, group: str, array: str) -> list[str]:
        """Return the keys of an array: what shows it to plain zarr comes first."""
        folder = f"{ROOT}/{run_id}/{group}/{array}"
        names = sorted(self._backend.names(folder))
        return [f"{folder}/{n}" for n in sorted(names, key=lambda n: n != METADATA)]

    def _file(self, key: str) -> File:
        size = self._backend.size(key) or 0
        return File(key, size, self._backend.shared_as(key))


def space(files: Iterable[File]) -> int:
    """Return how many bytes files take; what several of them hold counts once."""
    return sum({file.shared or file.key: file.size_bytes for file in files}.values())
