"""The few file operations that durability is made of, and what their failures mean.

The rule: a file is whole and flushed before it gets the name under which it is found;
a name lasts once its folder is flushed. Functions raise plain ``OSError``; `told`
turns one into the error that the user sees, at the border.
"""

# A step makes several of these calls and its time is counted in them: no Path each.
# ruff: noqa: PTH108, PTH116, PTH120

import errno
import os
import secrets
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from nbresume.errors import StoreError, Unavailable, Unfit
from nbresume.store.port import Buffer

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700
READ_ONLY_FILE = 0o400

_REASONS = {
    errno.ENOSPC: ("the disk is full", "Free some space"),
    errno.EDQUOT: ("the disk quota of this user is used up", "Free some space"),
    errno.EFBIG: (
        "a file may not grow that large here",
        "Raise the limit (ulimit -f), or use another file system",
    ),
    errno.EIO: (
        "the device reported an input/output error",
        "Check the disk before going on",
    ),
    errno.EROFS: (
        "the file system is read-only",
        "Mount it for writing, or choose another folder (NBRESUME_STORE=FOLDER)",
    ),
    errno.EACCES: (
        "this user may not do that there",
        "Change the rights of the folder, or choose another (NBRESUME_STORE=FOLDER)",
    ),
    errno.EMFILE: (
        "this process has too many files open",
        "Close some, or raise the limit (ulimit -n)",
    ),
    errno.ENOENT: (
        "its folder has gone",
        "Restore the folder, then restart the kernel",
    ),
}
_REASONS[errno.EPERM] = _REASONS[errno.EACCES]

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV}

if sys.platform == "darwin":
    import fcntl

    def flush(descriptor: int) -> None:
        """Make what the descriptor stands for survive power loss."""
        # fsync() there only hands the bytes to the drive, which may still lose them.
        fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)

else:

    def flush(descriptor: int) -> None:
        """Make what the descriptor stands for survive power loss."""
        os.fsync(descriptor)


def told(error: OSError, refused: str) -> StoreError:
    """Return the error that tells a user why the device failed."""
    reason, remedy = _REASONS.get(
        error.errno or 0,
        (error.strerror or str(error), "Look at the folder, then try again"),
    )
    code = errno.errorcode.get(error.errno or 0, "unknown")
    return Unavailable(
        refused, because=f"{reason} ({code})", remedy=f"{remedy}.", code=code
    )


@contextmanager
def reporting(refused: str) -> Iterator[None]:
    """Let an ``OSError`` of the body appear as an error of nbresume.

    Raises
    ------
    Unavailable
        The body raised an ``OSError``.
    """
    try:
        yield
    except OSError as error:
        raise told(error, refused) from error


def write_new(
    path: str,
    buffers: Iterable[Buffer],
    *,
    mode: int,
    lasting: bool = True,
    after: Callable[[], object] | None = None,
) -> None:
    """Write a file that did not exist, and flush it; nothing is left if that fails.

    Parameters
    ----------
    lasting
        Flush it.
    after
        What is done before that, while the device takes its bytes.

    Raises
    ------
    FileExistsError
        The path exists.
    """
    file = begin_new(path, buffers, mode=mode)
    try:
        try:
            if after is not None:
                file.hurry()
                after()
            if lasting:
                file.flush()
        finally:
            file.close()
    except BaseException:
        os.unlink(path)
        raise


class NewFile:
    """A file that has all its bytes; they last once it was flushed."""

    def __init__(self, path: str, descriptor: int) -> None:
        self._path = path
        self._descriptor = descriptor

    def hurry(self) -> None:
        """Let the device begin to take the bytes, so that a flush has less to do."""
        if sys.platform == "linux":
            # It drops no page that is not on the device yet: it only sends them there.
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_DONTNEED)

    def flush(self) -> None:
        """Make the bytes survive power loss."""
        sys.audit("nbresume.flush", self._path)
        flush(self._descriptor)

    def close(self) -> None:
        """Let go of the file."""
        os.close(self._descriptor)


def begin_new(path: str, buffers: Iterable[Buffer], *, mode: int) -> NewFile:
    """Write a file that did not exist; nothing is left if that fails.

    Raises
    ------
    FileExistsError
        The path exists.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    descriptor = os.open(path, flags, mode)
    try:
        for buffer in buffers:
            sys.audit("nbresume.write", path, descriptor, buffer)
            _write_all(descriptor, buffer)
    except BaseException:
        os.close(descriptor)
        os.unlink(path)
        raise
    return NewFile(path, descriptor)


def _write_all(descriptor: int, buffer: Buffer) -> None:
    rest = memoryview(buffer)
    while rest.nbytes:
        # The system writes at most 2 GB at a time, and less when a signal arrives.
        rest = rest[os.write(descriptor, rest) :]


def flush_folder(path: str) -> None:
    """Make the names in a folder survive power loss."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        sys.audit("nbresume.flush", path)
        flush(descriptor)
    finally:
        os.close(descriptor)


def make_folder(path: Path) -> None:
    """Make a private folder if it is missing; its name survives power loss.

    That holds for a folder that is there as well: who made it may have been killed
    before its name was flushed.
    """
    if not path.exists():
        make_folder(path.parent)
        path.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    # A folder that this user may not read was not made by one of their processes.
    with suppress(PermissionError):
        flush_folder(str(path.parent))


def link_new(source: str, path: str) -> bool:
    """Give a file a second name; False if that name is taken.

    Raises
    ------
    Unfit
        The file system has no hard links.
    """
    try:
        sys.audit("nbresume.link", path)
        os.link(source, path)
        sys.audit("nbresume.linked", path)
    except OSError as error:
        # A file server that lost its first reply calls a link that it made an error.
        if os.stat(source).st_nlink == 2:  # noqa: PLR2004 - both its names
            return True
        if isinstance(error, FileExistsError):
            return False
        if error.errno in _NO_LINKS:
            raise unfit(os.path.dirname(path), "it has no hard links") from error
        raise
    return True


def create_durably(
    path: str,
    data: Buffer,
    *,
    staging: str,
    mode: int = PRIVATE_FILE,
    after: Callable[[], object] | None = None,
) -> bool:
    """Create a file whole and durably; False if it existed (now durable as well).

    Parameters
    ----------
    after
        What has to be over before the file gets its name; called when its bytes are on
        their way to the device, which then takes them with what is flushed there.

    Raises
    ------
    Unfit
        The file system has no hard links.
    """
    staged = f"{staging}/{secrets.token_hex(16)}"
    write_new(staged, (data,), mode=mode, after=after)
    try:
        created = link_new(staged, path)
    finally:
        os.unlink(staged)
    flush_folder(os.path.dirname(path))
    return created


def replace_durably(path: Path, data: bytes) -> None:
    """Put `data` in the place of a file, in one move that lasts."""
    staged = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    write_new(str(staged), (data,), mode=PRIVATE_FILE)
    staged.replace(path)
    flush_folder(str(path.parent))


def unfit(folder: str | Path, because: str) -> Unfit:
    """Return the error that refuses a folder."""
    return Unfit(
        f"the folder {folder} is not used as a store",
        because=because,
        remedy="Choose an empty or new folder on a local disk: NBRESUME_STORE=FOLDER.",
        path=str(folder),
    )
