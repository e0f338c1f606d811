"""Brings the files of a backup into a store on this computer: all of a run, or nothing.

The rule: everything is written and flushed below ``tmp/`` first. What no record names
moves in next, and the chain of a run moves in as a whole folder: that one rename is the
moment at which the run is there. Nothing that a store has is replaced.
"""

import errno
import fcntl
import os
import secrets
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

from nbresume.errors import KeyTaken, RefusedError
from nbresume.store import disk, groups
from nbresume.store.backup_reader import same
from nbresume.store.backups import Kept
from nbresume.store.local import STAGING, LocalBackend
from nbresume.store.objects import ROOT
from nbresume.store.port import Buffer, folder_of
from nbresume.store.trust import VOUCHED

_START: Final = "import-"
_FLUSH_ALL: Final = 256
"""With more files than this one flush of everything is cheaper, where it waits."""
_SLICE: Final = 8 << 20
_FULL: Final = {errno.EEXIST, errno.ENOTEMPTY}

Read = Callable[[str], Iterable[Buffer]]
"""Gives the bytes of a file of the backup, checked at their end."""


class Placing:
    """The files of a backup, on their way into a store."""

    def __init__(self, backend: LocalBackend, files: dict[str, Kept]) -> None:
        self._backend = backend
        self._root = backend.root
        self._files = files
        self._refused = "nothing was imported"
        self._staging = self._root / STAGING / f"{_START}{secrets.token_hex(16)}"
        self._lock = -1

    def check(self, chains: Iterable[str]) -> None:
        """Pass if nothing of it stands in the store as something else.

        Raises
        ------
        RefusedError
            A chain is there, or other bytes than those of the backup.
        """
        for chain in chains:
            if self._backend.names(f"journal/{chain}"):
                raise _is_there(chain)
        for key, kept in self._files.items():
            if _is_payload(key) and self._holds_other(key, kept):
                raise _is_other(self._root, key)

    def stage(self, read: Read) -> None:
        """Write everything below ``tmp/``, durably; nothing of it is in the store.

        Raises
        ------
        Damaged
            The backup is not what it was when it was checked.
        Unavailable
            The disk is full, or the device failed.
        """
        with disk.reporting(self._refused):
            self._backend.prepare()
            _collect(self._root / STAGING)
            self._staging.mkdir(disk.PRIVATE_FOLDER)
            self._lock = os.open(self._staging, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # without locks leftovers are not told apart
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            written: dict[tuple[str, int], Path] = {}
            for key, kept in self._files.items():
                path = self._staging / key
                _make_private(path.parent)
                mode = disk.READ_ONLY_FILE if _is_payload(key) else disk.PRIVATE_FILE
                # chunks that arrays share in a store are in the backup once for each
                other = written.get((kept.digest, kept.size))
                if other is not None and _is_payload(key) and _linked(other, path):
                    continue
                disk.write_new(
                    str(path), read(key), mode=mode, lasting=not self._is_many
                )
                if _is_payload(key):
                    written[kept.digest, kept.size] = path
            self._flush()

    @property
    def _is_many(self) -> bool:
        # elsewhere `sync` need not wait for the device
        return sys.platform == "linux" and len(self._files) > _FLUSH_ALL

    def _flush(self) -> None:
        if self._is_many:
            sys.audit("nbresume.flush", str(self._staging))
            os.sync()
            return
        for folder, _, _ in os.walk(self._staging, topdown=False):
            disk.flush_folder(folder)

    def place_data(self) -> None:
        """Move in what no record of this store names: payloads, and notes of attempts.

        Raises
        ------
        RefusedError
            Something else stands there by now.
        """
        with disk.reporting(self._refused):
            for run in sorted(_second(ROOT, self._files)):
                folder = f"{ROOT}/{run}"
                # all but the groups themselves is derived
                for above in (ROOT, folder):
                    key = f"{above}/{groups.METADATA}"
                    if self._backend.size(key) is None:
                        self._backend.publish({key: groups.group_metadata({})})
                for group in sorted(_second(folder, self._files)):
                    self._move_group(f"{folder}/{group}")
                disk.flush_folder(str(self._root / folder))
            if (self._root / ROOT).exists():
                disk.flush_folder(str(self._root / ROOT))
            disk.flush_folder(str(self._root))
        for key in self._files:
            if key.startswith(("seen/", f"{VOUCHED}/")):
                self._note(key)

    def place_chain(self, chain: str) -> None:
        """Move a chain in: from then on it is in the store, with all its records.

        Raises
        ------
        RefusedError
            Somebody began it meanwhile.
        """
        with disk.reporting(self._refused):
            journal = self._root / "journal"
            disk.make_folder(journal)
            if not self._move(f"journal/{chain}"):
                raise _is_there(chain)
            disk.flush_folder(str(journal))

    def _move_group(self, folder: str) -> None:
        if self._move(folder):
            return
        for key, kept in self._files.items():
            if key.startswith(f"{folder}/") and _is_payload(key):
                # it was checked before, and somebody made it meanwhile
                missing = self._backend.size(key) is None
                if missing or self._holds_other(key, kept):
                    raise _is_other(self._root, key)

    def _move(self, folder: str) -> bool:
        """Rename a staged folder into the store; False if that name is taken."""
        sys.audit("nbresume.place", folder)
        target = self._root / folder
        try:
            (self._staging / folder).rename(target)
        except OSError as error:
            if error.errno in _FULL:
                return False
            raise
        sys.audit("nbresume.placed", folder)
        return True

    def _note(self, key: str) -> None:
        data = (self._staging / key).read_bytes()
        with suppress(KeyTaken):  # the first one stays: that it is there says all
            self._backend.create(key, data)

    def _holds_other(self, key: str, kept: Kept) -> bool:
        found = self._backend.size(key)
        if found is None:
            # a group is there as a whole or not at all
            return self._backend.names(folder_of(folder_of(key))) != []
        return not same(kept, _slices(self._root / key))

    def __enter__(self) -> Self:
        """Hold what is staged."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take away what is left of it."""
        shutil.rmtree(self._staging, ignore_errors=True)
        if self._lock >= 0:
            os.close(self._lock)


def _collect(staging: Path) -> None:
    """Take away what imports left that were killed: those hold no lock any more."""
    for path in staging.glob(f"{_START}*"):
        with suppress(OSError):  # somebody else takes it away, or it is in use
            descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _make_private(folder: Path) -> None:
    if not folder.exists():
        _make_private(folder.parent)
        folder.mkdir(disk.PRIVATE_FOLDER)


def _linked(source: Path, path: Path) -> bool:
    try:
        path.hardlink_to(source)
    except OSError:
        return False  # too many of this file: it is written again
    return True


def _is_payload(key: str) -> bool:
    """Say whether it is a file that is written once, not metadata derived from it."""
    return key.startswith(f"{ROOT}/") and not key.endswith(f"/{groups.METADATA}")


def _second(folder: str, files: Iterable[str]) -> set[str]:
    """Return the names of the folders directly below one."""
    start = f"{folder}/"
    below = [key[len(start) :] for key in files if key.startswith(start)]
    return {rest.partition("/")[0] for rest in below if "/" in rest}


def _slices(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while part := file.read(_SLICE):
            yield part


def _is_there(chain: str) -> RefusedError:
    return RefusedError(
        f"{chain} was not imported",
        because="this store has it already, and an import replaces nothing",
        remedy="Import it into another folder (nbresume import FILE FOLDER), or name "
        "only the runs that are not here: --run RUN",
        run_id=chain,
    )


def _is_other(root: Path, key: str) -> RefusedError:
    group = root / folder_of(folder_of(key))
    return RefusedError(
        "nothing was imported",
        because=f"{group} is there, and is not what the backup has",
        remedy="Import it into another folder: nbresume import FILE FOLDER",
        key=key,
    )
