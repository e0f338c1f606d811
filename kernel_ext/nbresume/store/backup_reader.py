"""A backup, read as the store that it was made of.

The rule: nothing is believed of a zip file that its bytes do not show. Names, places
and sizes of all that it holds are checked when it is opened; files are read where they
lie, by this process alone, and never unpacked by somebody else's code.
"""

import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Final, Self

import blake3
from msgspec import Struct

from nbresume.errors import Damaged, KeyMissing, StoreError, Unavailable
from nbresume.store import backups, disk
from nbresume.store.backups import Contents, Kept, torn
from nbresume.store.port import Begun, Buffer, Staged, check_key

_LOCAL_HEADER: Final = b"PK\x03\x04"
_LOCAL_BYTES: Final = 30
_ENCRYPTED: Final = 0x1
_SLICE: Final = 8 << 20
_TABLE_LIMIT: Final = 1 << 30
"""No table of contents is larger: ten million files."""


class _Span(Struct, frozen=True):
    """Where the bytes of a file lie."""

    start: int
    size: int


class BackupReader:
    """The files of a backup as keys of a store (see `port.Backend`); only reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = -1
        with disk.reporting(f"the backup {path} was not read"):
            self._descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            self._spans = self._laid_out()
            self.contents = self._table()
            self._folders = _folders(self.contents.files)
        except BaseException:
            self.close()
            raise

    # -- the file -----------------------------------------------------------------

    def _laid_out(self) -> dict[str, _Span]:
        """Return where each file lies: whole, apart from the others, as it is."""
        try:
            with (
                os.fdopen(os.dup(self._descriptor), "rb") as file,
                zipfile.ZipFile(file) as archive,
            ):
                entries, end = archive.infolist(), archive.start_dir
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise torn(f"it is no whole zip file ({error})") from error
        except OSError as error:
            raise disk.told(error, f"the backup {self.path} was not read") from error
        spans: dict[str, _Span] = {}
        free = 0
        for entry in sorted(entries, key=lambda one: one.header_offset):
            if entry.filename in spans:
                raise torn(f"it holds {entry.filename} twice")
            if entry.header_offset < free:
                raise torn(f"{entry.filename} overlaps with another file in it")
            spans[entry.filename] = self._span(entry)
            free = spans[entry.filename].start + spans[entry.filename].size
        if free > end:
            raise torn("files in it overlap with its directory")
        return spans

    def _span(self, entry: zipfile.ZipInfo) -> _Span:
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & _ENCRYPTED:
            raise torn(f"{entry.filename} in it is compressed or encrypted")
        if entry.compress_size != entry.file_size:
            raise torn(f"{entry.filename} in it has two sizes")
        header = self._pread(_LOCAL_BYTES, entry.header_offset)
        if header[:4] != _LOCAL_HEADER:
            raise torn(f"{entry.filename} is not where its directory says")
        name_bytes = int.from_bytes(header[26:28], "little")
        extra_bytes = int.from_bytes(header[28:30], "little")
        name = self._pread(name_bytes, entry.header_offset + _LOCAL_BYTES)
        if name != entry.filename.encode():
            raise torn(f"{entry.filename} has another name in its place")
        start = entry.header_offset + _LOCAL_BYTES + name_bytes + extra_bytes
        if entry.filename == backups.TABLE:
            self._check_table(entry, start)
        return _Span(start, entry.file_size)

    def _check_table(self, entry: zipfile.ZipInfo, start: int) -> None:
        if entry.file_size > _TABLE_LIMIT:
            raise torn("its table of contents is too large")
        if zlib.crc32(self._pread(entry.file_size, start)) != entry.CRC:
            raise torn("its table of contents is damaged")

    def _table(self) -> Contents:
        span = self._spans.get(backups.TABLE)
        if span is None:
            raise torn("it is no backup of nbresume (it has no table of contents)")
        contents = backups.decode(self._pread(span.size, span.start))
        wanted = {backups.name_of(key) for key in contents.files}
        own = {backups.TABLE, backups.TABLE_METADATA}
        stray = self._spans.keys() - wanted - own
        if stray:
            raise torn(f"it holds {min(stray)!r}, which its table does not name")
        for key, kept in contents.files.items():
            found = self._spans.get(backups.name_of(key))
            if found is None or found.size != kept.size:
                raise torn(f"{key} is missing in it, or not whole")
        return contents

    def _pread(self, size: int, offset: int) -> bytes:
        parts = []
        with disk.reporting(f"the backup {self.path} was not read"):
            while size > 0 and (part := os.pread(self._descriptor, size, offset)):
                parts.append(part)
                size -= len(part)
                offset += len(part)
        if size > 0:
            raise torn("it ends too early")
        return b"".join(parts)

    def slices(self, key: str) -> Iterator[bytes]:
        """Give the bytes of a file, piece by piece, and check them.

        Raises
        ------
        Damaged
            They are not what the table of contents says; told at the end.
        """
        span, kept = self._find(key), self.contents.files[key]
        digest = blake3.blake3()
        for at in range(0, span.size, _SLICE):
            part = self._pread(min(_SLICE, span.size - at), span.start + at)
            digest.update(part)
            yield part
        if digest.hexdigest() != kept.digest:
            raise torn(f"{key} in it is not what it was")

    def check(self) -> None:
        """Read every file, and compare it with the table of contents.

        Raises
        ------
        Damaged
            One of them is not what it was.
        """
        for key in self.contents.files:
            for _ in self.slices(key):
                pass

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def __enter__(self) -> Self:
        """Hold the file."""
        return self

    def __exit__(self, *_: object) -> None:
        """Let go of it."""
        self.close()

    # -- as a store ---------------------------------------------------------------

    def _find(self, key: str) -> _Span:
        check_key(key)
        if key not in self.contents.files:
            raise KeyMissing(
                f"{key} cannot be read",
                because="it is not in the backup",
                remedy="Export the run again.",
                key=key,
            )
        return self._spans[backups.name_of(key)]

    def read(self, key: str) -> bytes:
        """Return everything that the key holds."""
        span = self._find(key)
        return self._pread(span.size, span.start)

    def read_into(self, key: str, target: memoryview, *, offset: int = 0) -> None:
        """Fill `target` with the bytes from `offset` on."""
        span = self._find(key)
        if offset + target.nbytes > span.size:
            raise Damaged(
                f"{key} cannot be read",
                because=f"it ends {offset + target.nbytes - span.size} bytes too early",
                remedy="Export the run again.",
                key=key,
            )
        target[:] = self._pread(target.nbytes, span.start + offset)

    def size(self, key: str) -> int | None:
        """Return how many bytes the key holds; None if there is no such key."""
        check_key(key)
        kept = self.contents.files.get(key)
        return None if kept is None else kept.size

    def names(self, folder: str) -> list[str]:
        """Return the names directly below the folder; none if it does not exist."""
        if folder:
            check_key(folder)
        return sorted(self._folders.get(folder, ()))

    def written_at(self, key: str) -> datetime | None:
        """Return None: a backup does not say when a key was written."""
        check_key(key)
        return None

    def shared_as(self, key: str) -> str:
        """Return nothing: a backup holds each file by itself."""
        check_key(key)
        return ""

    def codecs(self, folder: str) -> tuple[()]:
        """Return nothing: the files hold what was written."""
        check_key(folder)
        return ()

    def prune(self, folder: str) -> None:
        """Refuse: a backup is only read."""
        raise _only_read(folder)

    def free_bytes(self) -> int | None:
        """Return 0: nothing is written to a backup."""
        return 0

    def create(
        self,
        key: str,
        data: Buffer,  # noqa: ARG002 - the port's
        *,
        after: Callable[[], object] | None = None,  # noqa: ARG002 - as above
    ) -> None:
        """Refuse: a backup is only read."""
        raise _only_read(key)

    def write(self, key: str, data: Iterable[Buffer]) -> None:  # noqa: ARG002 - as above
        """Refuse: a backup is only read."""
        raise _only_read(key)

    def begin(self, key: str, data: Iterable[Buffer]) -> Begun:  # noqa: ARG002 - as above
        """Refuse: a backup is only read."""
        raise _only_read(key)

    def stage(self, documents: Mapping[str, bytes]) -> Staged:
        """Refuse: a backup is only read."""
        raise _only_read(", ".join(documents))

    def publish(self, documents: Mapping[str, bytes]) -> None:
        """Refuse: a backup is only read."""
        raise _only_read(", ".join(documents))

    def link(self, source: str, key: str) -> None:  # noqa: ARG002 - as above
        """Refuse: a backup is only read."""
        raise _only_read(key)

    def delete(self, key: str) -> None:
        """Refuse: a backup is only read."""
        raise _only_read(key)

    def seal(self, folders: Sequence[str]) -> None:
        """Nothing is left to do: what is read was durable."""


def _folders(files: Iterable[str]) -> dict[str, set[str]]:
    """Return folder → the names directly below it."""
    found: dict[str, set[str]] = {}
    for key in files:
        folder, _, name = key.rpartition("/")
        while name not in found.setdefault(folder, set()):
            found[folder].add(name)
            if not folder:
                break
            folder, _, name = folder.rpartition("/")
    return found


def same(kept: Kept, parts: Iterable[Buffer]) -> bool:
    """Say whether these bytes are those of a file of a backup."""
    digest, size = blake3.blake3(), 0
    for part in parts:
        digest.update(part)
        size += memoryview(part).nbytes
    return size == kept.size and digest.hexdigest() == kept.digest


def _only_read(key: str) -> StoreError:
    return Unavailable(
        f"{key} was not written",
        because="a backup is only read",
        remedy="Import it, and go on in the store that it was imported to.",
        key=key,
    )
