"""Files at positions: whether what a step read, or left, is what stands there.

The rule: a file is compared with what the nearest commit above left in it, and with
its content on the disk. What steps at or below have made of it since is no change:
Run All comes to them later. A pure question to the folded state and the disk.
"""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import PurePosixPath

from msgspec import Struct

from nbresume.model.codec import canonical
from nbresume.model.digests import cue_digest
from nbresume.model.folded import RunState
from nbresume.model.records import Committed
from nbresume.model.values import FileState
from nbresume.plan.key import ABSENT, OPAQUE, file_moved
from nbresume.run.order import NOWHERE, Order
from nbresume.run.ports import Disk

LISTS = ("folder", "glob")
"""Kinds whose digest is that of a list of names."""
FOREVER_S = float("inf")


def listing(kind: str, names: Sequence[str]) -> FileState:
    """Return the state of a folder or a glob with these names in it."""
    digest = cue_digest(canonical(list(names)))
    return FileState(kind=kind, digest=digest, size=len(names))


def version_of(state: FileState) -> str:
    """Return the version of a file as a cue of a key."""
    match state.kind:
        case "absent":
            return ABSENT
        case "unknown":
            return OPAQUE + state.why
        case "file":
            return state.digest
    return f"{state.kind}:{state.digest}"


class Where(Struct, frozen=True):
    """A place of the notebook, in the run as it is."""

    state: RunState
    order: Order
    n: int

    def writers(self, name: str) -> Iterator[tuple[int, Committed]]:
        """Yield (place, commit) of the steps that wrote, made or removed a file."""
        for step in self.state.index.writing(name):
            commit = self.state.commit(step)
            if commit is not None:
                yield self.order.step_place(step), commit.record

    def base(self, name: str) -> str:
        """Return what the nearest step above left in a file; "" if none made it."""
        above = [
            (place, record.made[name])
            for place, record in self.writers(name)
            if NOWHERE < place < self.n and name in record.made
        ]
        if not above:
            return ""
        return version_of(max(above, key=lambda pair: pair[0])[1])

    def later(self, name: str, *, but: str = "") -> Iterator[Committed]:
        """Yield the commits at or below this place that wrote a file.

        Run All does not come to a step whose cell is gone: what it wrote is a change.
        """
        for place, record in self.writers(name):
            if place >= self.n and record.step != but:
                yield record


class Files:
    """Compares files with what commits say of them."""

    def __init__(self, disk: Disk, *, budget_s: float = FOREVER_S) -> None:
        self.disk = disk
        self._budget_s = budget_s
        """So long a file may be read to find out."""
        self.unsure: list[str] = []
        """Files for which that was not enough: they were taken for unchanged."""

    # -- what was read ----------------------------------------------------------

    def today(
        self, record: Committed, where: Where, reads: Iterable[str] = ()
    ) -> dict[str, str]:
        """Return the version now of each file that a commit depends on.

        Parameters
        ----------
        record
            The commit.
        where
            Where its step stands.
        reads
            What the header declares today.
        """
        cues = {
            name: self._today(name, then, where) for name, then in record.files.items()
        }
        for name in self.declared(reads):
            if name not in cues and name not in record.made:
                cues[name] = version_of(self.disk.tree(name))
        return cues

    def declared(self, reads: Iterable[str]) -> list[str]:
        """Return the names of what a header declares with ``--reads``.

        What is no work of the user's counts all the same: it was asked for.
        """
        return [self.disk.name(path, declared=True) or path for path in reads]

    def _today(self, name: str, then: FileState, where: Where) -> str:
        if then.kind == "unknown":
            return f"{OPAQUE}now"
        base = where.base(name)
        if base not in ("", then.base, version_of(then)):
            return f"above:{base}"
        same = self.disk.compared(name, then, self._budget_s)
        if same is None:
            self.unsure.append(name)
        if same is not False:
            return version_of(then)
        now = self.present(name, then)
        if self._is_later(name, then, now, where):
            return version_of(then)
        return version_of(now)

    def present(self, name: str, then: FileState | None) -> FileState:
        """Return what is there now, of the kind that was there."""
        if then is None or then.kind == "tree":
            return self.disk.tree(name, then)
        return self.disk.state(name, then)

    def _is_later(
        self, name: str, then: FileState, now: FileState, where: Where, *, but: str = ""
    ) -> bool:
        """Say whether steps at or below have made of it what it is now."""
        if then.kind in LISTS and now.kind == then.kind:
            return self._without_later(name, then, where) == then.digest
        for record in where.later(name, but=but):
            left = record.made.get(name)
            if left is not None and version_of(left) == version_of(now):
                return True
            if name in record.appended and self.disk.begins_as(name, then):
                return True
        return False

    def _without_later(self, name: str, then: FileState, where: Where) -> str:
        """Return the digest of a listing without what later steps added or removed."""
        names = set(self.disk.entries(name, then.kind))
        for file in where.state.index.written_files():
            entry = _entry(name, then.kind, file)
            if not entry:
                continue
            for record in where.later(file):
                is_there = file not in record.made or record.made[file].kind != "absent"
                (names.discard if is_there else names.add)(entry)
        return listing(then.kind, sorted(names)).digest

    # -- what was left ----------------------------------------------------------

    def left_otherwise(self, record: Committed, where: Where) -> str:
        """Return which file is not as a step left it, in words; "" if none."""
        for name, then in record.made.items():
            if then.kind == "unknown":
                continue
            now = self._left(name, then)
            if now is None:
                continue
            if not self._is_later(name, then, now, where, but=record.step):
                if now.kind in ("absent", "unknown"):
                    return file_moved(name, version_of(then), version_of(now))
                again = "is there again" if then.kind == "absent" else ""
                return f"{name} {again or 'is not as the step left it'}"
        return ""

    def _left(self, name: str, then: FileState) -> FileState | None:
        """Return the present state of what a step made; None if it is as it was."""
        if then.kind == "folder":
            now = self.disk.state(name)
            return None if now.kind == "folder" else now
        if self.disk.compared(name, then, self._budget_s) in (True, None):
            return None
        return self.disk.state(name, then)

    def is_left(self, record: Committed) -> bool:
        """Say whether all that a commit made is exactly as it left it."""
        return all(self._left(name, then) is None for name, then in record.made.items())


def _entry(name: str, kind: str, file: str) -> str:
    """Return as what a file stands in a listing; "" if it does not."""
    if kind == "glob":
        return file if fnmatch(file, name) else ""
    path = PurePosixPath(file)
    return path.name if str(path.parent) == name else ""
