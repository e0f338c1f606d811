"""The user's files on a real disk: whose they are, what is in them, whether they moved.

The rule: place, size and times first, content when those moved. Only regular files
are opened (a FIFO would block), nothing is written, and what cannot be compared says
why. Times that a file got a moment ago prove nothing: it may change again in the same
tick of the clock.
"""

import glob
import importlib.util
import os
import site
import stat
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from jupyter_core.paths import jupyter_data_dir, jupyter_runtime_dir

from nbresume.errors import Unavailable
from nbresume.model.codec import canonical
from nbresume.model.digests import ContentDigest, cue_digest
from nbresume.model.values import FileState
from nbresume.run.file_states import listing

ABSENT: Final = FileState(kind="absent")
_BLOCK: Final = 1 << 20
_FRESH_NS: Final = 2_000_000_000
"""Times younger than this prove nothing: some file systems count in two seconds."""
_FLUSH_ALL: Final = 256
"""With more files than this one flush of everything is cheaper."""
_NEVER: Final = {"__pycache__", ".ipynb_checkpoints", ".git"}
_SYSTEM: Final = ("/proc", "/sys", "/dev")


class DiskFiles:
    """The files of one notebook's user."""

    def __init__(self, notebook: Path, *, store: Path | str) -> None:
        self._folder = os.path.realpath(notebook.parent)
        self._notebook = os.path.join(self._folder, notebook.name)
        self._roots = _roots(self._folder, os.path.realpath(store))
        self._known: dict[str, tuple[str, str]] = {}
        """Path → (stamp, digest of its content) as this process has read it."""
        self._reading: dict[str, tuple[str, Iterator[FileState | None]]] = {}
        """Path → (stamp, the reading of it that goes on in slices)."""

    # -- names ------------------------------------------------------------------

    def name(self, path: str, *, declared: bool = False) -> str:
        """Return the name of a path; "" if it is nobody's work."""
        return self._name(path, os.path.realpath, declared=declared)

    def namer(self) -> Callable[[str], str]:
        """Return `name` for many paths of one moment: their ways are followed once."""
        real: dict[str, str] = {}

        def follow(folder: str) -> str:
            if folder not in real:
                head, tail = os.path.split(folder)
                whole = os.path.join(follow(head), tail) if tail else os.sep
                is_link = os.path.islink(whole)
                real[folder] = os.path.realpath(whole) if is_link else whole
            return real[folder]

        return lambda path: self._name(path, follow, declared=False)

    def _name(self, path: str, follow: Callable[[str], str], *, declared: bool) -> str:
        if not path:
            return ""
        try:
            start = self._folder if declared else os.getcwd()
            whole = os.path.join(start, os.path.expanduser(path))
        except OSError:
            return ""  # the working folder is gone
        head, tail = os.path.split(os.path.normpath(whole))
        # a link is a thing of its own; the folders on the way to it are what they are
        full = os.path.join(follow(head), tail)
        if not self._is_work(full):
            return ""
        if full == self._folder:
            return "."
        return full.removeprefix(self._folder + os.sep)

    def _is_work(self, path: str) -> bool:
        if path == self._notebook or not _NEVER.isdisjoint(path.split(os.sep)):
            return False
        under = path + os.sep
        return next(
            (ours for root, ours in self._roots if under.startswith(root)), True
        )

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    # -- states -----------------------------------------------------------------

    def state(self, name: str, then: FileState | None = None) -> FileState:
        """Return what is there now; a file that did not move is not read."""
        if then is not None and then.kind == "glob":
            return listing("glob", self.entries(name, "glob"))
        path = self._path(name)
        found = _stat(path)
        if isinstance(found, FileState):
            return found
        if stat.S_ISDIR(found.st_mode):
            return self._folder_state(name)
        if not stat.S_ISREG(found.st_mode):
            return _unknown(f"it is {_kind(found.st_mode)}")
        stamp = _stamp(found)
        if then is not None and then.kind == "file" and then.stamp == stamp:
            return then
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return FileState(digest=known[1], size=found.st_size, stamp=_old(found))
        return next(filter(None, self._read(path)))

    def _read(self, path: str) -> Iterator[FileState | None]:
        """Yield None for each block that was read, and at last what was found."""
        try:
            # without blocking, in case a FIFO takes its place meanwhile
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            yield _unknown(f"it cannot be read ({error.strerror})")
            return
        with open(handle, "rb", buffering=0) as file:
            before = os.fstat(handle)
            if not stat.S_ISREG(before.st_mode):
                yield _unknown(f"it is {_kind(before.st_mode)}")
                return
            digest = ContentDigest()
            try:
                while block := file.read(_BLOCK):
                    digest.add(block)
                    yield None
            except OSError as error:
                yield _unknown(f"it cannot be read ({error.strerror})")
                return
            after = os.fstat(handle)
        if _stamp(before) != _stamp(after):
            yield _unknown("it changes while it is read")
            return
        if _old(after):
            self._known[path] = _stamp(after), digest.hex()
        yield FileState(digest=digest.hex(), size=after.st_size, stamp=_old(after))

    def _folder_state(self, name: str) -> FileState:
        try:
            entries = self._listed(name)
        except OSError as error:
            return _unknown(f"it cannot be listed ({error.strerror})")
        return listing("folder", entries)

    def entries(self, name: str, kind: str) -> list[str]:
        """Return the entries of a folder, or what a glob matches."""
        if kind == "glob":
            found = glob.iglob(name, root_dir=self._folder, recursive=True)
            return sorted({os.path.normpath(one) for one in found})
        with suppress(OSError):
            return self._listed(name)
        return []

    def begins_as(self, name: str, then: FileState) -> bool:
        """Say whether a file begins with all that it was: it was only added to."""
        digest, left = ContentDigest(), then.size
        try:
            with open(self._path(name), "rb") as file:
                while left and (block := file.read(min(left, _BLOCK))):
                    digest.add(block)
                    left -= len(block)
        except OSError:
            return False
        return not left and digest.hex() == then.digest

    def _listed(self, name: str) -> list[str]:
        found = os.listdir(self._path(name))
        return sorted(e for e in found if not e.startswith(".") and e not in _NEVER)

    def tree(self, pattern: str, then: FileState | None = None) -> FileState:
        """Return the state of all files that a glob, or a folder's name, stands for."""
        whole = pattern
        if os.path.isdir(self._path(pattern)):
            whole = os.path.join(glob.escape(pattern), "**")
        elif not glob.has_magic(pattern):
            return self.state(pattern, then)
        found = glob.iglob(whole, root_dir=self._folder, recursive=True)
        files = sorted(
            {n for n in found if self.is_file(n) and self.name(self._path(n))}
        )
        stamps = [(name, self.stamp(name)) for name in files]
        stamp = cue_digest(canonical(stamps))
        if then is not None and then.kind == "tree" and then.stamp == stamp:
            return then
        states = [self.state(name) for name in files]
        for name, state in zip(files, states, strict=True):
            if state.kind != "file":
                return _unknown(f"{name}: {state.why or 'it vanishes'}")
        return FileState(
            kind="tree",
            digest=cue_digest(canonical([s.digest for s in states]) + canonical(files)),
            size=len(files),
            stamp=stamp if all(state.stamp for state in states) else "",
        )

    def stamp(self, name: str) -> str:
        """Return place, size and times of what is there; "" if there is nothing."""
        found = _stat(self._path(name))
        return "" if isinstance(found, FileState) else _stamp(found)

    def is_file(self, name: str) -> bool:
        """Say whether there is a regular file."""
        return os.path.isfile(self._path(name))

    def exists(self, path: str) -> bool:
        """Say whether there is something under a path as code would write it."""
        return os.path.lexists(path)

    def compared(self, name: str, then: FileState, budget_s: float) -> bool | None:
        """Say whether it is as it was; None while that needs more reading."""
        if then.kind != "file":
            now = (self.tree if then.kind == "tree" else self.state)(name, then)
            return now.kind == then.kind and now.digest == then.digest
        path, stamp = self._path(name), self.stamp(name)
        if stamp and stamp == then.stamp:
            return True
        found = _stat(path)
        if isinstance(found, FileState) or not stat.S_ISREG(found.st_mode):
            return False
        if found.st_size != then.size:
            return False
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1] == then.digest
        return self._read_on(path, stamp, then, budget_s)

    def _read_on(
        self, path: str, stamp: str, then: FileState, budget_s: float
    ) -> bool | None:
        former = self._reading.pop(path, None)
        same = former is not None and former[0] == stamp
        reading = former[1] if former is not None and same else self._read(path)
        ends = time.monotonic() + budget_s
        for state in reading:
            if state is not None:
                return state.kind == "file" and state.digest == then.digest
            if time.monotonic() >= ends:
                self._reading[path] = stamp, reading
                return None
        return False

    # -- durability -------------------------------------------------------------

    def flush(self, names: Iterable[str]) -> None:
        """Make files and folders durable, and the folders that hold them."""
        paths = {self._path(name) for name in names}
        paths |= {os.path.dirname(path) for path in paths}
        try:
            if len(paths) > _FLUSH_ALL:
                os.sync()
                return
            for path in sorted(paths):
                _flush(path)
        except OSError as error:
            raise Unavailable(
                f"{error.filename or 'a file'} that the step made was not made durable",
                because=error.strerror or str(error),
                remedy="See whether its disk is full or failing.",
            ) from error

    # -- local modules ----------------------------------------------------------

    def source_of(self, module: str) -> str:
        """Return the name of a local module's source; "" if it is none."""
        parts = module.split(".")
        if parts[0] in sys.stdlib_module_names or parts[0] == "__main__":
            return ""
        roots = [root or os.getcwd() for root in (*sys.path, self._folder)]
        # a package with an __init__ hides folders of its name wherever they stand
        whole = [root for root in roots if _source(root, parts[:1])]
        found = (_source(root, parts) for root in whole[:1] or roots)
        return self.name(next(filter(None, found), "")) if parts else ""

    def text(self, name: str) -> str:
        """Return the text of a source file; "" if it cannot be read."""
        try:
            return importlib.util.decode_source(Path(self._path(name)).read_bytes())
        except (OSError, SyntaxError, UnicodeDecodeError, LookupError):
            return ""


def _source(root: str, parts: list[str]) -> str:
    path = os.path.join(root, *parts)
    files = (os.path.join(path, "__init__.py"), f"{path}.py")
    return next((file for file in files if os.path.isfile(file)), "")


def _roots(folder: str, store: str) -> list[tuple[str, bool]]:
    """Return (folder, whether the user works there), the deepest first."""
    paths = sysconfig.get_paths()
    foreign = {sys.prefix, sys.base_prefix, sys.exec_prefix, *paths.values()}
    foreign |= {*site.getsitepackages(), site.getusersitepackages()}
    foreign |= {p for p in sys.path if p.rstrip("/").endswith(("-packages",))}
    foreign |= {tempfile.gettempdir(), jupyter_data_dir(), jupyter_runtime_dir()}
    foreign |= {store, *_SYSTEM}
    roots = {os.path.realpath(path) + os.sep: False for path in foreign if path}
    # caches and settings of programs: ~/.cache, ~/.config, ~/.matplotlib …
    roots[os.path.join(os.path.realpath(os.path.expanduser("~")), ".")] = False
    roots[folder + os.sep] = True
    return sorted(roots.items(), key=lambda pair: -len(pair[0]))


def _stat(path: str) -> os.stat_result | FileState:
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return ABSENT
    except (OSError, ValueError) as error:
        return _unknown(f"it cannot be looked at ({error})")


def _stamp(found: os.stat_result) -> str:
    times = f"{found.st_mtime_ns:x}:{found.st_ctime_ns:x}"
    return f"{found.st_ino:x}:{found.st_size:x}:{times}"


def _old(found: os.stat_result) -> str:
    """Return the stamp if its times are old enough to prove something, else ""."""
    newest = max(found.st_mtime_ns, found.st_ctime_ns)
    return _stamp(found) if time.time_ns() - newest > _FRESH_NS else ""


def _unknown(why: str) -> FileState:
    return FileState(kind="unknown", why=why)


def _kind(mode: int) -> str:
    kinds = ((stat.S_ISFIFO, "a FIFO"), (stat.S_ISSOCK, "a socket"))
    return next((word for test, word in kinds if test(mode)), "a device")


def _flush(path: str) -> None:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return  # it is gone, or is not ours to open: nothing of it can be promised
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
