"""A disk that loses power: from a log of file operations to what may be left of it.

The model promises what POSIX does and no more. The bytes of a file last once the file
was flushed, and a name in a folder once the folder was. What was not flushed may be
there or not, each piece by itself; a file may have its length and zeros for bytes.
"""

import base64
import json
import os
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

Operation = list[str]


@dataclass(eq=False)
class File:
    """One file, under whichever names."""

    safe: bytes = b""
    """What was flushed."""
    data: bytes = b""
    """What was written."""


@dataclass(eq=False)
class Folder:
    """One folder: its names, and what happened to them since the last flush."""

    safe: dict[str, "File | Folder"] = field(default_factory=dict)
    names: dict[str, "File | Folder"] = field(default_factory=dict)
    loose: list[tuple[str, "File | Folder | None"]] = field(default_factory=list)
    """(name, what it stands for from then on; None: it is gone), in order."""

    def set(self, name: str, what: "File | Folder | None") -> None:
        """Change a name."""
        if what is None:
            self.names.pop(name, None)
        else:
            self.names[name] = what
        self.loose.append((name, what))

    def flush(self) -> None:
        """Make the names last."""
        self.safe, self.loose = dict(self.names), []


class Disk:
    """Everything below one folder that was there, and lasting, before."""

    def __init__(self, top: Path) -> None:
        self._top = str(top)
        self.root = Folder()

    def do(self, operation: Operation) -> None:
        """Let an operation happen."""
        name, *paths = operation
        if not paths[0].startswith(self._top):
            return
        act = getattr(self, f"_{name}", None)
        if act is not None:
            act(*paths)

    def _mkdir(self, path: str) -> None:
        self._set(path, Folder())

    def _create(self, path: str) -> None:
        self._set(path, File())

    def _write(self, path: str, data: str) -> None:
        file = self._find(path)
        assert isinstance(file, File)
        file.data += base64.b64decode(data)

    def _link(self, source: str, path: str) -> None:
        self._set(path, self._find(source))

    def _replace(self, source: str, path: str) -> None:
        self._set(path, self._find(source))
        self._set(source, None)

    def _unlink(self, path: str) -> None:
        self._set(path, None)

    _rmdir = _unlink

    def _fsync(self, path: str) -> None:
        found = self._find(path)
        if isinstance(found, Folder):
            found.flush()
        else:
            found.safe = found.data

    def _parts(self, path: str) -> list[str]:
        return [part for part in path[len(self._top) :].split("/") if part]

    def _find(self, path: str) -> File | Folder:
        found: File | Folder = self.root
        for part in self._parts(path):
            assert isinstance(found, Folder), path
            found = found.names[part]
        return found

    def _set(self, path: str, what: File | Folder | None) -> None:
        *above, name = self._parts(path)
        folder = self._find(self._top + "/" + "/".join(above))
        assert isinstance(folder, Folder)
        folder.set(name, what)

    def after_a_cut(self, chance: random.Random | None) -> dict[str, bytes | None]:
        """Return what may be there afterwards: path → bytes, None for a folder.

        Without `chance` nothing that was not flushed is there.
        """
        found: dict[str, bytes | None] = {}
        for path, what in _walk(self.root, "", chance):
            found[path] = None if isinstance(what, Folder) else _bytes(what, chance)
        return found


def _walk(
    folder: Folder, above: str, chance: random.Random | None
) -> Iterator[tuple[str, File | Folder]]:
    names = dict(folder.safe)
    for name, what in folder.loose:
        if chance is None or chance.random() < 0.5:
            continue
        names.pop(name, None)
        if what is not None:
            names[name] = what
    for name, what in names.items():
        path = f"{above}/{name}"
        yield path, what
        if isinstance(what, Folder):
            yield from _walk(what, path, chance)


def _bytes(file: File, chance: random.Random | None) -> bytes:
    if file.data == file.safe or chance is None:
        return file.safe
    match chance.randrange(4):
        case 0:
            return file.safe
        case 1:
            return file.data
        case 2:
            return file.safe + bytes(len(file.data) - len(file.safe))
        case _:
            return file.data[: chance.randrange(len(file.safe), len(file.data) + 1)]


def read_log(log: Path) -> list[Operation]:
    """Return the operations of a log."""
    return [json.loads(line) for line in log.read_text().splitlines()]


def materialize(found: dict[str, bytes | None], top: Path) -> None:
    """Make a folder that holds exactly this."""
    top.mkdir(mode=0o700)
    for path, data in found.items():
        place = f"{top}{path}"
        if data is None:
            os.mkdir(place, 0o700)  # noqa: PTH102 - thousands of them
            continue
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(descriptor, data)
        os.close(descriptor)
