"""A store in a folder of this computer.

The rule: a key appears by a hard link to a file that is already whole and flushed, so
it is there with all its bytes or not at all, and the second writer of a key loses.
Nothing is written before something is to be kept: opening to read changes no byte.
"""

# A step makes several of these calls and its time is counted in them: no Path each.
# ruff: noqa: PTH102, PTH105, PTH108, PTH106, PTH112, PTH116, PTH123, PTH208

import errno
import os
import re
import secrets
import stat
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from nbresume.errors import Unfit
from nbresume.store import disk
from nbresume.store.port import (
    Begun,
    Buffer,
    Staged,
    check_key,
    folder_of,
    missing,
    taken,
    too_short,
)

STAGING = "tmp"
LEFTOVER_AGE_S = 24 * 3600
_DATA = "data.zarr/"
_STAGED = re.compile(r"[0-9a-f]{32}")


class _Begun:
    """A file that is not durable yet (see `port.Begun`)."""

    def __init__(self, key: str, file: disk.NewFile) -> None:
        self._key = key
        self._file = file

    def flush(self) -> None:
        """Make its bytes durable."""
        with disk.reporting(f"{self._key} was not written to the store"):
            self._file.flush()

    def close(self) -> None:
        """Let go of it."""
        self._file.close()


class _Staged:
    """Files that get their names when they are shown (see `port.Staged`)."""

    def __init__(self, files: dict[str, str], put: Callable[[str, str], None]) -> None:
        self._files = files
        """Key → the file that stands for it until then."""
        self._put = put

    def show(self) -> None:
        """Let them replace what was there, one after the other."""
        for key in list(self._files):
            self._put(self._files[key], key)
            del self._files[key]

    def discard(self) -> None:
        """Take away those that were not shown; what stays is collected by its age."""
        for file in self._files.values():
            with suppress(OSError):
                os.unlink(file)


class LocalBackend:
    """Keys as files below one folder (see `port.Backend` for each method)."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._top = str(root)
        # Folders that this process found or made: once each, not once per step.
        self._made: set[str] = set()
        # Those of them whose own name is known to survive power loss.
        self._lasting: set[str] = {""}
        self._ready = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a worker on this computer open the same folder."""
        return _opened_again, (self._top,)

    def create(
        self, key: str, data: Buffer, *, after: Callable[[], object] | None = None
    ) -> None:
        """Create the key durably."""
        path = self._path(key)
        refused = f"{key} was not written to the store"
        with disk.reporting(refused):
            self.prepare()
            self._make_folder(folder_of(key))
            self._make_lasting((folder_of(key),))
            mode = disk.READ_ONLY_FILE if key.startswith(_DATA) else disk.PRIVATE_FILE
            created = disk.create_durably(
                path, data, staging=self._path(STAGING), mode=mode, after=after
            )
            sys.audit("nbresume.created", key)
        if not created:
            raise taken(key)

    def write(self, key: str, data: Iterable[Buffer]) -> None:
        """Write a file of a group that is not published yet."""
        path = self._path(key)
        with disk.reporting(f"{key} was not written to the store"):
            self._make_folder(folder_of(key))
            try:
                disk.write_new(path, data, mode=disk.READ_ONLY_FILE)
            except FileExistsError as error:
                raise taken(key) from error

    def begin(self, key: str, data: Iterable[Buffer]) -> Begun:
        """Write a file of a group, and leave the flush for later."""
        path = self._path(key)
        with disk.reporting(f"{key} was not written to the store"):
            self._make_folder(folder_of(key))
            try:
                file = disk.begin_new(path, data, mode=disk.READ_ONLY_FILE)
            except FileExistsError as error:
                raise taken(key) from error
        file.hurry()
        return _Begun(key, file)

    def seal(self, folders: Sequence[str]) -> None:
        """Make everything durable that was written directly in these folders."""
        with disk.reporting(f"{', '.join(folders)} was not written to the store"):
            for folder in folders:
                disk.flush_folder(self._path(folder))
            self._make_lasting(folders)

    def stage(self, documents: Mapping[str, bytes]) -> Staged:
        """Write derived metadata to files that have no name of their own yet."""
        files: dict[str, str] = {}
        staged = _Staged(files, self._put)
        try:
            for key, data in documents.items():
                files[key] = self._stage_one(check_key(key), data)
        except BaseException:
            staged.discard()
            raise
        return staged

    def _stage_one(self, key: str, data: bytes) -> str:
        staged = f"{self._path(STAGING)}/{secrets.token_hex(16)}"
        with disk.reporting(f"{key} was not written to the store"):
            self.prepare()
            # Whoever reads it compares it with the record that it comes from.
            disk.write_new(staged, (data,), mode=disk.PRIVATE_FILE, lasting=False)
        return staged

    def _put(self, staged: str, key: str) -> None:
        with disk.reporting(f"{key} was not written to the store"):
            self._make_folder(folder_of(key))
            sys.audit("nbresume.publish", key)
            os.replace(staged, self._path(key))

    def publish(self, documents: Mapping[str, bytes]) -> None:
        """Put derived metadata under keys, one after the other."""
        for key, data in documents.items():
            self.stage({key: data}).show()

    def link(self, source: str, key: str) -> None:
        """Let `key` hold the bytes of `source` without a copy."""
        existing, path = self._path(source), self._path(key)
        with disk.reporting(f"{key} was not written to the store"):
            self._make_folder(folder_of(key))
            try:
                os.link(existing, path)
            except FileExistsError as error:
                raise taken(key) from error
            except FileNotFoundError as error:
                raise missing(source) from error

    def delete(self, key: str) -> None:
        """Take away a file that no record names."""
        with disk.reporting(f"{key} was not deleted"):
            Path(self._path(key)).unlink(missing_ok=True)
            if key.startswith(_DATA):
                self._remove_empty(folder_of(key))

    def _remove_empty(self, folder: str) -> None:
        """Take away a folder that nothing is in: plain zarr would wonder at it."""
        # it holds other files, or somebody has taken it away
        with suppress(OSError):
            Path(self._path(folder)).rmdir()
            self._made.discard(folder)
            self._lasting.discard(folder)

    def read(self, key: str) -> bytes:
        """Return everything that the key holds."""
        path = self._path(key)
        with disk.reporting(f"{key} was not read"):
            try:
                with open(path, "rb", buffering=0) as file:
                    return file.readall()
            except (FileNotFoundError, NotADirectoryError) as error:
                raise missing(key) from error

    def read_into(self, key: str, target: memoryview, *, offset: int = 0) -> None:
        """Fill `target` with the bytes from `offset` on."""
        path = self._path(key)
        rest = target
        with disk.reporting(f"{key} was not read"):
            try:
                with open(path, "rb", buffering=0) as file:
                    file.seek(offset)
                    while rest.nbytes and (count := file.readinto(rest)):
                        rest = rest[count:]
            except (FileNotFoundError, NotADirectoryError) as error:
                raise missing(key) from error
        if rest.nbytes:
            raise too_short(key, rest.nbytes)

    def size(self, key: str) -> int | None:
        """Return how many bytes the key holds; None if there is no such key."""
        path = self._path(key)
        with disk.reporting(f"{key} was not looked for"):
            try:
                found = os.stat(path)
            except (FileNotFoundError, NotADirectoryError):
                return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def names(self, folder: str) -> list[str]:
        """Return the names directly below the folder; none if it does not exist."""
        path = self._path(folder) if folder else self._top
        with disk.reporting(f"{folder or self._top} was not listed"):
            try:
                return os.listdir(path)
            except (FileNotFoundError, NotADirectoryError):
                return []

    def written_at(self, key: str) -> datetime | None:
        """Return when the key was written; None if there is no such key."""
        with disk.reporting(f"{key} was not looked for"):
            try:
                found = os.stat(self._path(key))
            except (FileNotFoundError, NotADirectoryError):
                return None
        return datetime.fromtimestamp(found.st_mtime, UTC)

    def shared_as(self, key: str) -> str:
        """Return the file's number on its device if it has several names; else ""."""
        with disk.reporting(f"{key} was not looked for"):
            try:
                found = os.stat(self._path(key))
            except (FileNotFoundError, NotADirectoryError):
                return ""
        return f"{found.st_dev}:{found.st_ino}" if found.st_nlink > 1 else ""

    def prune(self, folder: str) -> None:
        """Remove a folder if it is empty; what was deleted in it never comes back."""
        path = self._path(folder)
        with disk.reporting(f"{folder} was not removed"):
            if not os.path.isdir(path):
                return
            disk.flush_folder(path)
            try:
                os.rmdir(path)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                return
            self._made.discard(folder)
            self._lasting.discard(folder)
            parent = folder_of(folder)
            disk.flush_folder(self._path(parent) if parent else self._top)

    def codecs(self, folder: str) -> tuple[()]:
        """Return nothing: the files hold what was written."""
        check_key(folder)
        return ()

    def free_bytes(self) -> int | None:
        """Return how many bytes this user may still write."""
        with disk.reporting("the free space was not found"):
            found = os.statvfs(self._top)
        return found.f_bavail * found.f_frsize

    def prepare(self) -> None:
        """Make sure once that the folder can do what durability needs.

        Raises
        ------
        Unfit
            The folder has no hard links, or cannot be flushed.
        """
        if self._ready:
            return
        self._make_folder(STAGING)
        try:
            _probe(self._path(STAGING))
        except Unfit as error:
            # it is the store that a person chose a place for
            raise disk.unfit(self.root, error.because) from error
        disk.make_folder(self.root)
        _collect(Path(self._path(STAGING)), before=time.time() - LEFTOVER_AGE_S)
        self._ready = True

    def _path(self, key: str) -> str:
        return f"{self._top}/{check_key(key)}"

    def _make_folder(self, folder: str) -> None:
        if folder in self._made or folder in self._lasting:
            return
        self._make_folder(folder_of(folder))
        # Another process may have made it a moment ago; `_make_lasting` does not take
        # its word for it.
        with suppress(FileExistsError):
            os.mkdir(self._path(folder), disk.PRIVATE_FOLDER)
        self._made.add(folder)

    def _make_lasting(self, folders: Iterable[str]) -> None:
        fresh: set[str] = set()
        for folder in folders:
            name = folder
            while name not in self._lasting and name not in fresh:
                fresh.add(name)
                name = folder_of(name)
        for above in sorted({folder_of(name) for name in fresh}, reverse=True):
            disk.flush_folder(self._path(above) if above else self._top)
        self._lasting |= fresh


@cache
def _opened_again(root: str) -> LocalBackend:
    """Return the store in a folder that another process has opened."""
    return LocalBackend(Path(root))


def _probe(staging: str) -> None:
    first = f"{staging}/{secrets.token_hex(16)}"
    second = f"{staging}/{secrets.token_hex(16)}"
    disk.write_new(first, (b"probe",), mode=disk.PRIVATE_FILE)
    try:
        atomic = disk.link_new(first, second) and not _links(first, second)
    finally:
        Path(first).unlink()
        Path(second).unlink(missing_ok=True)
    if not atomic:
        raise disk.unfit(staging, "two writers could both create the same file")
    try:
        disk.flush_folder(staging)
    except OSError as error:
        if error.errno in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            raise
        raise disk.unfit(staging, "its folders cannot be flushed") from error


def _links(source: str, path: str) -> bool:
    try:
        os.link(source, path)
    except FileExistsError:
        return False
    return True


def _collect(staging: Path, *, before: float) -> None:
    for path in staging.iterdir():
        # one that its writer has put in place meanwhile is no leftover
        with suppress(FileNotFoundError):
            if _STAGED.fullmatch(path.name) and path.stat().st_mtime < before:
                path.unlink()
