"""What the store asks of the place where the bytes lie.

The rule: a key can be created once and is then complete, durable and unchanged for
ever; a file of a group that no record names yet is durable once its folder is sealed;
derived metadata may be lost and is made again. Everything above this module speaks of
keys (``journal/<id>/0000000003.rec``), never of paths.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

from nbresume.errors import Damaged, KeyMissing, KeyTaken, UsageError

Buffer = bytes | bytearray | memoryview
"""Bytes, wherever they come from."""

_PART = r"[A-Za-z0-9._-]*[A-Za-z0-9_-][A-Za-z0-9._-]*"
_KEY = re.compile(rf"{_PART}(/{_PART})*", re.ASCII)


def check_key(key: str) -> str:
    """Return the key, or refuse one that could lead out of the store.

    Raises
    ------
    UsageError
        A part of it is empty, consists of dots, or has other characters than letters,
        digits, ``_``, ``.`` and ``-``.
    """
    if _KEY.fullmatch(key):
        return key
    raise UsageError(
        f"the key {key!r}",
        because="the parts of a key are letters, digits, '_', '.' and '-'",
        remedy="Use only ids that nbresume made.",
        key=key,
    )


def folder_of(key: str) -> str:
    """Return the key of the folder in which `key` lies."""
    return key.rpartition("/")[0]


def taken(key: str) -> KeyTaken:
    """Return the error for a key that exists and was to be created."""
    return KeyTaken(
        f"{key} was not written to the store",
        because="it exists already",
        remedy="Load what is there, and decide anew.",
        key=key,
    )


def missing(key: str) -> KeyMissing:
    """Return the error for a key that does not exist and was to be read."""
    return KeyMissing(
        f"{key} cannot be read",
        because="it is not in the store",
        remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
        key=key,
    )


def too_short(key: str, lacking: int) -> Damaged:
    """Return the error for a key that holds fewer bytes than were to be read."""
    return Damaged(
        f"{key} cannot be read",
        because=f"it ends {lacking} bytes too early",
        remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
        key=key,
    )


class Begun(Protocol):
    """A file of a group that has all its bytes, and is not durable yet."""

    def flush(self) -> None:
        """Make its bytes durable; its name is when its folder is sealed.

        Raises
        ------
        Unavailable
            The device failed.
        """

    def close(self) -> None:
        """Let go of it; what was not flushed may be lost with the power."""


class Staged(Protocol):
    """Derived metadata that nobody sees yet."""

    def show(self) -> None:
        """Put it under its keys, replacing what was there; not durable.

        If it fails, some of them may be there.

        Raises
        ------
        Unavailable
            The device failed.
        """

    def discard(self) -> None:
        """Take it away again, if it was not shown."""


class Later:
    """What is staged where nothing can lie beside its key: it is put when shown."""

    def __init__(
        self,
        put: Callable[[Mapping[str, bytes]], None],
        documents: Mapping[str, bytes],
    ) -> None:
        self._put = put
        self._documents = documents

    def show(self) -> None:
        """Put it under its keys."""
        self._put(self._documents)

    def discard(self) -> None:
        """Nothing was put anywhere."""


class Backend(Protocol):
    """A place that keeps bytes under keys; all refusals are errors of nbresume.

    Every method refuses an ill-formed key with `UsageError`, and reports a device that
    fails as `Unavailable`.
    """

    def create(
        self, key: str, data: Buffer, *, after: Callable[[], object] | None = None
    ) -> None:
        """Create the key durably: it survives power loss once this returns.

        The key is never seen with a part of its bytes.

        Parameters
        ----------
        after
            What has to be over before the key can be seen. It is called once for each
            try, as late as possible; what it raises is raised, and no key is there.

        Raises
        ------
        KeyTaken
            The key exists. What it holds was made durable, so it may be relied on.
        Unavailable
            The device failed; the key may or may not exist.
        """

    def write(self, key: str, data: Iterable[Buffer]) -> None:
        """Write a file of a group that no record names yet; `seal` makes it durable.

        The file can only be read from then on. If it cannot be written whole, it is
        taken away again.

        Raises
        ------
        KeyTaken
            The key exists.
        Unavailable
            The device failed.
        """

    def begin(self, key: str, data: Iterable[Buffer]) -> Begun:
        """Write a file like `write`, and leave the flush for later.

        The device begins to take the bytes meanwhile: many files that are flushed
        after all were begun cost little more than one. `seal` does not make it durable
        without that flush.

        Raises
        ------
        KeyTaken
            The key exists.
        Unavailable
            The device failed.
        """

    def seal(self, folders: Sequence[str]) -> None:
        """Make everything durable that was written directly in these folders.

        Raises
        ------
        Unavailable
            The device failed, or a folder is gone.
        """

    def stage(self, documents: Mapping[str, bytes]) -> Staged:
        """Prepare derived metadata, so that showing it is quick.

        Raises
        ------
        Unavailable
            The device failed; nothing of it is left.
        """

    def publish(self, documents: Mapping[str, bytes]) -> None:
        """Put derived metadata under keys: `stage`, and `Staged.show`.

        If it fails, some of them may be there.

        Raises
        ------
        Unavailable
            The device failed.
        """

    def link(self, source: str, key: str) -> None:
        """Let `key` hold the bytes of `source` without a copy; `seal` makes it durable.

        Raises
        ------
        KeyTaken
            The key exists.
        KeyMissing
            The source does not exist.
        """

    def delete(self, key: str) -> None:
        """Take away a file that no record names; nothing happens if it is not there."""

    def read(self, key: str) -> bytes:
        """Return everything that the key holds.

        Raises
        ------
        KeyMissing
            There is no such key.
        """

    def read_into(self, key: str, target: memoryview, *, offset: int = 0) -> None:
        """Fill `target` with the bytes from `offset` on.

        Raises
        ------
        KeyMissing
            There is no such key.
        Damaged
            The key holds fewer bytes than that.
        """

    def size(self, key: str) -> int | None:
        """Return how many bytes the key holds; None if there is no such key."""

    def names(self, folder: str) -> list[str]:
        """Return the names directly below the folder; none if it does not exist."""

    def written_at(self, key: str) -> datetime | None:
        """Return when the key was written, by the clock of the place; None if gone."""

    def shared_as(self, key: str) -> str:
        """Return what keys that hold the same bytes once have in common.

        Empty if it holds its bytes alone, as every key of an object store does.
        """

    def prune(self, folder: str) -> None:
        """Remove a folder if it is empty; what was deleted in it never comes back.

        Raises
        ------
        Unavailable
            The device failed: after power loss deleted files may be there again.
        """

    def free_bytes(self) -> int | None:
        """Return how many bytes may still be written; None if nobody can tell."""

    def codecs(self, folder: str) -> Sequence[Mapping[str, Any]]:
        """Return what zarr undoes first when it reads a file of the folder itself.

        Nothing if the files hold the bytes that were written.
        """
