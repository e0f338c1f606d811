"""Folders → stores in them: looked at, made and tried out.

The rule: reading opens a store without a byte written; a new folder is tried out before
anything is kept in it.
"""

# a folder is told by the name that was given: resolving would follow links
# ruff: noqa: PTH100

import errno
import os
import stat
from pathlib import Path

from nbresume.errors import KeyMissing
from nbresume.store import disk
from nbresume.store.local import STAGING, LocalBackend

_CONTENT = {"journal", "data.zarr", "seen", "runs"}


def open_local(root: Path, *, create: bool) -> LocalBackend:
    """Return the store in the folder `root`; a new folder is tried out first.

    With `create`, a folder that is missing is made, private to this user; one that is
    a store already is only looked at, and tried out when something is first kept.
    Without it nothing is written, now or later by reading.

    Raises
    ------
    KeyMissing
        There is no such folder, and none is to be made.
    Unfit
        It is no folder, holds something else, belongs to somebody else, or cannot do
        what durability needs.
    Unavailable
        This user cannot read it, or cannot write there and wants to.
    """
    root = Path(os.path.abspath(root))
    refused = f"the store {root} was not opened"
    with disk.reporting(refused):
        if not root.exists():
            if not create:
                raise KeyMissing(
                    refused,
                    because="there is no such folder",
                    remedy="Run a step, or name the folder of an existing store.",
                    path=str(root),
                )
            disk.make_folder(root)
        _check_folder(root, refused, writing=create)
        backend = LocalBackend(root)
        if create and not (root / "store.json").exists():
            _try_out(backend)
    return backend


def _check_folder(root: Path, refused: str, *, writing: bool) -> None:
    found = root.stat()
    if not stat.S_ISDIR(found.st_mode):
        raise disk.unfit(root, "it is a file")
    if not os.access(root, os.R_OK | os.X_OK):
        raise disk.told(OSError(errno.EACCES, ""), refused)
    if not writing or os.access(root, os.W_OK):
        return
    if os.statvfs(root).f_flag & os.ST_RDONLY:
        raise disk.told(OSError(errno.EROFS, ""), refused)
    if found.st_uid == os.geteuid():
        raise disk.told(OSError(errno.EACCES, ""), refused)
    raise disk.unfit(
        root,
        f"it belongs to another user (uid {found.st_uid}), and this one may not "
        "write there",
    )


def _try_out(backend: LocalBackend) -> None:
    names = set(backend.names(""))
    if names & _CONTENT:
        return  # A store that lost its store.json: `layout` says so.
    strangers = {name for name in names - {STAGING} if not name.startswith(".")}
    if strangers:
        raise disk.unfit(
            backend.root, f"it is no store and holds other things ({min(strangers)})"
        )
    backend.prepare()
    backend.publish({".gitignore": b"*\n"})
