"""Folders in which runs leave files, and what becomes of them.

The rule: while a bench goes on only large files are deleted. For five minutes ext4
passes over the inodes of deleted files when it makes new ones: after 2,000 deletions a
create was seen to take 0.23 ms in place of 0.03, and whoever makes most files would pay
most for the runs before.
"""

import shutil
from pathlib import Path

LARGE_BYTES = 1_000_000


class Scratch:
    """Folders below one, each used once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        """Where they lie, and other files of a bench may."""
        self._root = root / "runs"
        self._count = 0
        self.clear()

    def folder(self) -> Path:
        """Return a new, empty folder."""
        self._count += 1
        made = self._root / str(self._count)
        made.mkdir(parents=True)
        return made

    def lighten(self, folder: Path) -> None:
        """Take away the large files of a run that is over."""
        for path in folder.rglob("*"):
            if path.is_file() and path.stat().st_size >= LARGE_BYTES:
                path.unlink()

    def clear(self) -> None:
        """Take away everything."""
        shutil.rmtree(self._root, ignore_errors=True)
