"""Writes a backup: beside its final name, which it gets when it is whole and durable.

The rule: what stands under the name that a person typed is a whole backup, or what was
there before. A writer that was killed leaves ``NAME.part``, which the next one takes.
"""

import errno
import fcntl
import os
import sys
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Final, Self

import blake3
import msgspec

from nbresume.errors import RefusedError, Unavailable, UsageError
from nbresume.store import backups, disk, groups
from nbresume.store.backups import Contents, Kept

_MADE: Final = (1980, 1, 1, 0, 0, 0)
"""Equal stores give equal files: a zip has no use for the time of each file."""
_MODE: Final = 0o600
_TRIES: Final = 3
_NO_LINKS: Final = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS}


class BackupWriter:
    """One backup that is being written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.part = path.with_name(f"{path.name}.part")
        self.files: dict[str, Kept] = {}
        """Key → what was added so far."""
        self._refused = f"{path} was not written"
        if not path.parent.is_dir():
            raise UsageError(
                self._refused,
                because=f"there is no folder {path.parent}",
                remedy="Make it, or name another file.",
            )
        if os.path.lexists(path):
            raise _exists(path)
        with disk.reporting(self._refused):
            self._descriptor = _claimed(self.part)
        self._file = os.fdopen(os.dup(self._descriptor), "w+b")
        self._archive = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED)

    def add(self, key: str, data: bytes) -> None:
        """Take a file of the store up; one that was added before stays."""
        backups.check_file(key)
        if key in self.files:
            return
        self._write(backups.name_of(key), data)
        digest = blake3.blake3(data).hexdigest()
        self.files[key] = Kept(size=len(data), digest=digest)

    def end(self, contents: Contents) -> None:
        """Write the table of contents; the file is whole and durable from then on.

        Raises
        ------
        Unavailable
            The disk is full, or the device failed.
        """
        table = backups.encode(contents)
        self._write(backups.TABLE, table)
        about = groups.array_metadata((len(table),), "uint8", (len(table),))
        document = msgspec.json.decode(about)
        document["attributes"] = {"nbresume": "the table of contents of this file"}
        self._write(backups.TABLE_METADATA, msgspec.json.encode(document))
        with disk.reporting(self._refused):
            self._archive.close()
            self._file.close()
            sys.audit("nbresume.flush", str(self.part))
            disk.flush(self._descriptor)

    def publish(self) -> None:
        """Give the file its name, durably.

        Raises
        ------
        RefusedError
            Something stands there by now; it stays.
        Unavailable
            The device failed.
        """
        with disk.reporting(self._refused):
            sys.audit("nbresume.link", str(self.path))
            try:
                os.link(self.part, self.path)
            except FileExistsError as error:
                raise _exists(self.path) from error
            except OSError as error:
                if error.errno not in _NO_LINKS:
                    raise
                # a memory stick: a rename is the only way there
                if os.path.lexists(self.path):
                    raise _exists(self.path) from error
                self.part.rename(self.path)
            sys.audit("nbresume.linked", str(self.path))
            self.part.unlink(missing_ok=True)
            disk.flush_folder(str(self.path.parent))

    def _write(self, name: str, data: bytes) -> None:
        entry = zipfile.ZipInfo(name, date_time=_MADE)
        entry.external_attr = _MODE << 16
        sys.audit("nbresume.write", str(self.part), self._descriptor, data)
        with disk.reporting(self._refused):
            self._archive.writestr(entry, data)

    def __enter__(self) -> Self:
        """Hold the file that is being written."""
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Let go of it; one that was not finished is taken away."""
        if kind is not None:
            # it is taken away: that it cannot be ended on a full disk is no news
            with suppress(OSError, ValueError):
                self._archive.close()
            with suppress(OSError):
                self._file.close()
            self.part.unlink(missing_ok=True)
        os.close(self._descriptor)


def _claimed(part: Path) -> int:
    """Return the file that is written, empty; nobody else writes it meanwhile."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    for _ in range(_TRIES):
        descriptor = os.open(part, flags, _MODE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_only(part, descriptor):
                os.fchmod(descriptor, _MODE)
                os.ftruncate(descriptor, 0)
                return descriptor
        except BlockingIOError as error:
            os.close(descriptor)
            raise _taken(part) from error
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)
    raise _taken(part)


def _is_only(part: Path, descriptor: int) -> bool:
    """Say whether the file that was opened has this name and no other.

    Its writer may have given it its final name meanwhile, or was killed between that
    and taking this one away: emptying it would empty a backup.
    """
    found = os.fstat(descriptor)
    if found.st_nlink > 1:
        part.unlink(missing_ok=True)
        return False
    try:
        return os.path.samestat(found, os.lstat(part))
    except FileNotFoundError:
        return False


def _taken(part: Path) -> Unavailable:
    return Unavailable(
        f"{part} was not written",
        because="another export is writing it",
        remedy="Wait for it, or name another file.",
    )


def _exists(path: Path) -> RefusedError:
    return RefusedError(
        f"{path} was not written",
        because="there is such a file, and a backup replaces nothing",
        remedy="Name another file, or move that one away.",
    )
