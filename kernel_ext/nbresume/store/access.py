"""Who read, exported, imported or trusted something of a store, and when.

The rule: it lies in the reader's own data folder, one file for each store, and is only
ever added to: a store that may only be read stays one that can be read. It names runs,
steps and people, never a value.
"""

import fcntl
import os
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from nbresume.model.codec import canonical
from nbresume.store import disk

_MODE = 0o600


class Act(StrEnum):
    """What was done."""

    READ = "read"
    """A kernel loaded values of a step: a restore, a replay, a comparison."""
    INSPECTED = "inspected"
    """Somebody was shown previews, outputs or source of a step, or its values."""
    EXPORTED = "exported"
    IMPORTED = "imported"
    TRUSTED = "trusted"


class Access(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the log."""

    at: datetime
    act: Act
    who: str
    via: str
    """``kernel``, ``command`` or ``server``."""
    host: str
    pid: int
    store: str
    """Folder or URL of the store, as it was then."""
    run: str = ""
    """Empty: the store as a whole."""
    step: str = ""
    group: str = ""
    """Of a kernel's reading: the group of payloads, which begins with an attempt."""
    detail: str = ""
    """The file of an export or import."""


class AccessLog:
    """The log of one store, of one reader."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, access: Access, *, lasting: bool = True) -> None:
        """Add a line; with `lasting` it survives power loss once this returns.

        Raises
        ------
        Unavailable
            It cannot be written: what is about to be shown should not be.
        """
        # what a full disk left of a line before is ended by the next one's beginning
        line = b"\n" + canonical(access)
        with disk.reporting(f"the access was not recorded in {self._path}"):
            is_new = not self._path.exists()
            if is_new:
                disk.make_folder(self._path.parent)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            descriptor = os.open(self._path, flags, _MODE)
            try:
                # of two that write at once, each line stays whole
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                rest = memoryview(line)
                while rest.nbytes:
                    rest = rest[os.write(descriptor, rest) :]
                if lasting:
                    disk.flush(descriptor)
            finally:
                os.close(descriptor)
            if is_new and lasting:
                disk.flush_folder(str(self._path.parent))

    def all(self) -> tuple[list[Access], int]:
        """Return all lines, oldest first, and how many cannot be read.

        Raises
        ------
        Unavailable
            The file cannot be read.
        """
        with disk.reporting(f"the log {self._path} was not read"):
            if not self._path.exists():
                return [], 0
            lines = self._path.read_bytes().split(b"\n")
        found: list[Access] = []
        torn = 0
        for line in filter(None, lines):
            try:
                found.append(msgspec.json.decode(line, type=Access))
            except (msgspec.DecodeError, UnicodeDecodeError):
                torn += 1
        return found, torn
