"""A disk in memory: the files of a notebook's user, and what bodies do with them."""

import fnmatch
import os
import sys
from collections.abc import Callable, Iterable

from nbresume.model.digests import ContentDigest
from nbresume.model.values import FileState
from nbresume.run.file_states import listing

WRITES = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def content(data: bytes) -> str:
    """Return the digest of a content."""
    digest = ContentDigest()
    digest.add(data)
    return digest.hex()


class FakeDisk:
    """Implements `run.ports.Disk`; a test changes `files` as other programs do."""

    def __init__(self, clock) -> None:
        self._clock = clock
        self.files: dict[str, bytes] = {}
        self.folders: set[str] = set()
        self.strange: dict[str, str] = {}
        """Name → why it cannot be compared."""
        self.sources: dict[str, str] = {}
        """Local module → name of its source."""
        self.flushed: list[str] = []
        self.read: list[str] = []
        """Names whose content was read."""
        self.slow: set[str] = set()
        """Names whose content takes longer to read than anybody waits."""
        self._written: dict[str, int] = {}
        self._count = 0

    # -- what other programs do -------------------------------------------------

    def put(self, name: str, text: str) -> None:
        """Write a file."""
        self.files[name] = text.encode()
        self.touch(name)

    def touch(self, name: str) -> None:
        """Give a file new times."""
        self._count += 1
        self._written[name] = self._count

    def drop(self, name: str) -> None:
        """Remove a file or a folder with all that is in it."""
        self.files = {
            n: d
            for n, d in self.files.items()
            if n != name and not n.startswith(f"{name}/")
        }
        self.folders = {
            n for n in self.folders if n != name and not n.startswith(f"{name}/")
        }

    # -- the port ---------------------------------------------------------------

    def name(self, path: str, *, declared: bool = False) -> str:
        """Return the path; what lies in /packages is nobody's work."""
        path = os.path.normpath(path)
        return "" if path.startswith("/packages") else path

    def namer(self):
        """Return what gives the names of many paths."""
        return self.name

    def state(self, name: str, then: FileState | None = None) -> FileState:
        """Return what is there now."""
        if then is not None and then.kind == "glob":
            return listing("glob", self.entries(name, "glob"))
        if name in self.strange:
            return FileState(kind="unknown", why=self.strange[name])
        if self._is_folder(name):
            return listing("folder", self.entries(name, "folder"))
        if name not in self.files:
            return FileState(kind="absent")
        if then is not None and then.stamp == self.stamp(name):
            return then
        self.read.append(name)
        data = self.files[name]
        return FileState(digest=content(data), size=len(data), stamp=self.stamp(name))

    def _is_folder(self, name: str) -> bool:
        inside = any(file.startswith(f"{name}/") for file in self.files)
        return name in self.folders or inside or name == "."

    def tree(self, pattern: str, then: FileState | None = None) -> FileState:
        """Return the state of all files that a glob, or a folder's name, stands for."""
        if pattern in self.strange:
            return FileState(kind="unknown", why=self.strange[pattern])
        if not self._is_folder(pattern) and "*" not in pattern:
            return self.state(pattern, then)
        whole = f"{pattern}/*" if self._is_folder(pattern) else pattern
        found = sorted(fnmatch.filter(self.files, whole))
        told = [f"{name}:{content(self.files[name])}" for name in found]
        return FileState(kind="tree", digest=listing("", told).digest, size=len(found))

    def entries(self, name: str, kind: str) -> list[str]:
        """Return the entries of a folder, or what a glob matches."""
        everything = {*self.files, *self.folders}
        everything |= {os.path.dirname(name) for name in self.files} - {""}
        if kind == "glob":
            return sorted(fnmatch.filter(everything, name))
        inside = [n for n in everything if (os.path.dirname(n) or ".") == name]
        return sorted(os.path.basename(n) for n in inside)

    def begins_as(self, name: str, then: FileState) -> bool:
        """Say whether a file begins with all that it was."""
        data = self.files.get(name, b"")[: then.size]
        return len(data) == then.size and content(data) == then.digest

    def stamp(self, name: str) -> str:
        """Return a mark of what is there."""
        if name in self.files:
            return f"{len(self.files[name])}:{self._written[name]}"
        return "there" if self._is_folder(name) or name in self.strange else ""

    def is_file(self, name: str) -> bool:
        """Say whether there is a file."""
        return name in self.files

    def exists(self, path: str) -> bool:
        """Say whether there is something under a path."""
        return bool(self.stamp(path))

    def compared(self, name: str, then: FileState, budget_s: float) -> bool | None:
        """Say whether it is as it was; None for a slow one."""
        if name in self.slow and budget_s < 1:
            return None
        now = (self.tree if then.kind == "tree" else self.state)(name, then)
        return now.kind == then.kind and now.digest == then.digest

    def flush(self, names: Iterable[str]) -> None:
        """Note what is durable."""
        self.flushed += sorted(names)

    def source_of(self, module: str) -> str:
        """Return what the test says."""
        return self.sources.get(module, "")

    def text(self, name: str) -> str:
        """Return the text of a file."""
        return self.files.get(name, b"").decode()


class Tools:
    """What a body calls to work with files: each call fires its audit event first."""

    def __init__(self, disk: FakeDisk, fire: Callable[..., None]) -> None:
        self._disk = disk
        self._fire = fire

    def _say(self, event: str, *args: object) -> None:
        self._fire(sys._getframe(2), event, *args)

    def read(self, path: str) -> str:
        """Return the text of a file."""
        self._say("open", path, "r", os.O_RDONLY)
        if path not in self._disk.files:
            raise FileNotFoundError(path)
        return self._disk.files[path].decode()

    def write(self, path: str, text: str) -> None:
        """Write a file anew."""
        self._say("open", path, "w", WRITES)
        self._disk.put(path, text)

    def append(self, path: str, text: str) -> None:
        """Add to a file."""
        self._say("open", path, "a", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._disk.put(path, self._disk.files.get(path, b"").decode() + text)

    def remove(self, path: str) -> None:
        """Remove a file."""
        self._say("os.remove", path, -1)
        self._disk.drop(path)

    def mkdir(self, path: str) -> None:
        """Make a folder."""
        self._say("os.mkdir", path, 511, -1)
        self._disk.folders.add(path)

    def rename(self, old: str, new: str) -> None:
        """Move a file."""
        self._say("os.rename", old, new, -1, -1)
        self._disk.put(new, self._disk.files[old].decode())
        self._disk.drop(old)

    def listdir(self, path: str) -> list[str]:
        """Return the entries of a folder."""
        self._say("os.listdir", path)
        return self._disk.entries(path, "folder")

    def glob(self, pattern: str) -> list[str]:
        """Return what a glob matches."""
        self._say("glob.glob/2", pattern, False, None, None)
        return self._disk.entries(pattern, "glob")

    def is_there(self, path: str) -> bool:
        """Say whether there is a file: no event tells of it."""
        return path in self._disk.files

    def scan(self, path: str) -> str:
        """Return the text of a file as some libraries do: unheard by Python."""
        return self._disk.files[path].decode()

    def sink(self, path: str, text: str) -> None:
        """Write a file as some libraries do: unheard by Python."""
        self._disk.put(path, text)
