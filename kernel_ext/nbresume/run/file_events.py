"""What an audit event does with files: which path is read, made, listed, removed.

The rule: by the mode of the call alone, before it proceeds; nothing is opened here.
What Python itself reads (imports, tracebacks, the notebook's own history) is nobody's
input.
"""

import os
from collections.abc import Callable, Mapping
from enum import StrEnum
from types import FrameType
from typing import Any, Final

from nbresume.run.ports import OwnCalls

Args = tuple[Any, ...]


class How(StrEnum):
    """What is done with a path."""

    READ = "read"
    LISTED = "listed"
    """Its entries are read."""
    MATCHED = "matched"
    """The path is a glob, and what it matches is read."""
    MADE = "made"
    """Created, truncated, written anywhere in it, moved there or removed."""
    APPENDED = "appended"


Touch = tuple[How, str]

_MACHINERY: Final = frozenset(
    {
        *("importlib._bootstrap", "importlib._bootstrap_external", "zipimport"),
        *("_frozen_importlib", "_frozen_importlib_external", "importlib.metadata"),
        *("importlib.resources", "importlib.util", "pkgutil", "pkg_resources"),
        *("linecache", "tokenize", "inspect", "traceback", "sysconfig", "site"),
        *("runpy", "mimetypes", "ctypes.util", "IPython.core.completerlib"),
    }
)
"""Modules that read what makes Python go, and no data."""
_GLOBBING: Final = frozenset({"glob", "pathlib", "pathlib._local", "pathlib._abc"})
_NO_FD: Final = -1


def touches(event: str, args: Args, frame: FrameType, own: OwnCalls) -> list[Touch]:
    """Return what an event does with which paths, as they are written there.

    Parameters
    ----------
    event, args
        As Python's audit hooks get them.
    frame
        The frame that caused the event.
    own
        What the kernel does for itself.
    """
    module = str(frame.f_globals.get("__name__", ""))
    if module in _MACHINERY or module in own.modules:
        return []
    globs = event == "os.scandir" and module in _GLOBBING
    if globs and frame.f_code.co_name != "iterdir":
        return []  # the glob has said what it looks for; `iterdir` looks for everything
    return [(how, path) for how, path in _READERS[event](args) if path]


def _open(args: Args) -> list[Touch]:
    path, mode, flags = _path(args[0]), args[1], args[2]
    if flags & os.O_APPEND:
        return [(How.APPENDED, path)]
    writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_TRUNC | os.O_CREAT)
    if writes or (isinstance(mode, str) and not set("wx+").isdisjoint(mode)):
        return [(How.MADE, path)]
    if flags & getattr(os, "O_DIRECTORY", 0):
        return []
    if mode is None and not os.path.isabs(path):
        # `os.open` may be relative to another folder, and the event does not say so
        return [(How.READ, path)] if os.path.isfile(path) else []
    return [(How.READ, path)]


def _listed(args: Args) -> list[Touch]:
    return [(How.LISTED, _path(args[0]) if args[0] is not None else ".")]


def _glob(args: Args) -> list[Touch]:
    pattern, root = _path(args[0]), args[2] if len(args) > 2 else None  # noqa: PLR2004 - as documented
    if root is not None:
        pattern = os.path.join(_path(root), pattern)
    return [(How.MATCHED, pattern)]


def _path_glob(args: Args) -> list[Touch]:
    return [(How.MATCHED, os.path.join(_path(args[0]), _path(args[1])))]


def _path_rglob(args: Args) -> list[Touch]:
    return [(How.MATCHED, os.path.join(_path(args[0]), "**", _path(args[1])))]


def _made(args: Args) -> list[Touch]:
    return [(How.MADE, _path(args[0]))]


def _made_in(number: int) -> Callable[[Args], list[Touch]]:
    """Return the reader of a call whose argument `number` is a folder's handle."""

    def read(args: Args) -> list[Touch]:
        path = _path(args[0])
        is_here = len(args) <= number or args[number] in (_NO_FD, None)
        return [(How.MADE, path)] if is_here or os.path.isabs(path) else []

    return read


def _moved(args: Args) -> list[Touch]:
    there = [(path, args[i]) for path, i in ((args[0], 2), (args[1], 3))]
    return [(How.MADE, _path(path)) for path, fd in there if fd == _NO_FD]


def _linked(args: Args) -> list[Touch]:
    source, made = _path(args[0]), _path(args[1])
    return [(How.READ, source), (How.MADE, made)]


def _symlinked(args: Args) -> list[Touch]:
    return [(How.MADE, _path(args[1]))]


def _path(value: Any) -> str:
    """Return a path as text; "" for a handle that tells none."""
    if isinstance(value, int):
        try:
            return os.readlink(f"/proc/self/fd/{value}")
        except OSError:
            return ""
    return os.fsdecode(value)


_READERS: Final[Mapping[str, Callable[[Args], list[Touch]]]] = {
    "glob.glob/2": _glob,
    "open": _open,
    "os.link": _linked,
    "os.listdir": _listed,
    "os.mkdir": _made_in(2),
    "os.remove": _made_in(1),
    "os.rename": _moved,
    "os.rmdir": _made_in(1),
    "os.scandir": _listed,
    "os.symlink": _symlinked,
    "os.truncate": _made,
    "pathlib.Path.glob": _path_glob,
    "pathlib.Path.rglob": _path_rglob,
    "shutil.rmtree": _made_in(1),
}

FILE_EVENTS: Final = frozenset(_READERS)
"""Audit events that say what is done with a file or a folder."""
