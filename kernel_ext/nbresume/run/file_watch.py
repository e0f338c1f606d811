"""What a running step does with files: seen by the audit hook, or named in its code.

The rule: an input is what was read before this attempt wrote it; what it created or
truncated is made; what it added to is neither. What was changed meanwhile by somebody
else has no state, and says so. Nothing here raises into the user's code.
"""

from collections.abc import Callable
from contextlib import suppress
from glob import escape
from types import FrameType
from typing import Any

import msgspec
from msgspec import Struct, field

from nbresume.capture.live import Live
from nbresume.capture.scans import scanned_by
from nbresume.model.values import FileState
from nbresume.plan.paths import is_bare, is_pattern, paths_in, texts_of
from nbresume.run.file_events import FILE_EVENTS, How, touches
from nbresume.run.file_states import Files, Where, listing
from nbresume.run.local_code import LocalCode
from nbresume.run.ports import World
from nbresume.run.standing import Brought

MOST_FILES = 512
"""So many files of a step are told one by one …"""
FEW_FILES = 16
"""… and beyond, so many of one folder."""
_CHANGED = "it changed while the step ran"


class _Seen(Struct):
    """What was done with one path, and what was there before."""

    before: str
    hows: set[How] = field(default_factory=set)


class FileRecord(Struct, frozen=True):
    """What a commit says of files."""

    read: dict[str, FileState] = field(default_factory=dict)
    made: dict[str, FileState] = field(default_factory=dict)
    appended: list[str] = field(default_factory=list)


class FileWatch:
    """Watches the files of the steps of one run in one kernel."""

    def __init__(self, live: Live, code: LocalCode, files: Files, world: World) -> None:
        self._live = live
        self._code = code
        self._files = files
        self._watch = world.watch
        self._disk = world.disk
        self._seen: dict[str, _Seen] = {}
        self._named: dict[str, str] = {}
        """Files that the step names, there or not → their stamp."""
        self._patterns: set[str] = set()
        self._unwatch: Callable[[], None] = lambda: None

    def begin(self, brought: Brought) -> None:
        """Watch from now on; called when the intent is durable, before the body."""
        self._unwatch()
        self._seen = {}
        self._note_named(brought)
        self._unwatch = self._watch.start(self._told, FILE_EVENTS)

    def end(self) -> None:
        """Watch no more."""
        self._unwatch()
        self._unwatch = lambda: None

    def _note_named(self, brought: Brought) -> None:
        texts = set(brought.standing.names.strings)
        scanned: list[str] = []
        for name in brought.inputs:
            value = self._live.namespace.get(name)
            texts.update(texts_of(value))
            scanned += scanned_by(value)
        self._named, self._patterns = {}, set()
        for path in {*paths_in(texts), *scanned}:
            # most bare words are no files: a cheap question first
            known = not is_bare(path) or self._disk.exists(path)
            name = self._disk.name(path) if known else ""
            if not name:
                continue
            stamp = self._disk.stamp(name)
            if not stamp and (path in scanned or self._matches(path, name)):
                self._patterns.add(name)
            elif not stamp or self._disk.is_file(name):
                self._named[name] = stamp

    def _matches(self, path: str, name: str) -> bool:
        return is_pattern(path) and bool(self._disk.entries(name, "glob"))

    def _told(self, event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        # a hook must not raise: what it cannot understand is left to the call itself
        with suppress(Exception):
            for how, path in touches(event, args, frame, self._watch.own):
                name = self._disk.name(path)
                if name:
                    self._note(name, how)

    def _note(self, name: str, how: How) -> None:
        seen = self._seen.get(name)
        if seen is None:
            before = self._disk.stamp(name) if how is not How.MATCHED else ""
            seen = self._seen[name] = _Seen(before)
        seen.hows.add(how)

    # -- what the commit says ---------------------------------------------------

    def record(self, brought: Brought, where: Where) -> FileRecord:
        """Return what the body did with files, with what it made durable.

        Raises
        ------
        StoreError
            The device failed to make a file durable that the step made.
        """
        found = FileRecord()
        for name, seen in self._seen.items():
            self._sort(name, seen, found)
        self._add_unseen(brought, found)
        self._disk.flush(n for n, state in found.made.items() if state.kind != "absent")
        for states in (found.read, found.made):
            self._gather(states)
        for name, state in found.read.items():
            base = where.base(name)
            if base:
                found.read[name] = msgspec.structs.replace(state, base=base)
        return found

    def _add_unseen(self, brought: Brought, found: FileRecord) -> None:
        """Add what the code names, what its header declares, what it imports."""
        standing = brought.standing
        for name in self._named.keys() - self._seen.keys():
            self._sort_named(name, found)
        for pattern in self._patterns - self._seen.keys():
            found.read[pattern] = self._disk.tree(pattern)
        for name in self._files.declared(standing.header.reads):
            if name not in found.made:
                found.read.setdefault(name, self._disk.tree(name))
        for module, name in self._code.used(standing.names, brought.inputs):
            state = self._disk.state(name)
            found.read[name] = msgspec.structs.replace(state, module=module)

    def _sort(self, name: str, seen: _Seen, found: FileRecord) -> None:
        disk, hows = self._disk, seen.hows
        now = "" if How.MATCHED in hows else disk.stamp(name)
        if How.MADE in hows or (How.READ in hows and now and not seen.before):
            if now or seen.before:
                found.made[name] = self._left(name)
        elif How.APPENDED in hows:
            found.appended.append(name)
        elif How.MATCHED in hows:
            found.read[name] = listing("glob", disk.entries(name, "glob"))
        elif How.LISTED in hows or now == seen.before:
            found.read[name] = disk.state(name)
        else:
            found.read[name] = FileState(kind="unknown", why=_CHANGED)

    def _sort_named(self, name: str, found: FileRecord) -> None:
        """Sort a file that the code names: what changed, the step has written."""
        stamp = self._disk.stamp(name)
        if stamp != self._named[name]:
            found.made[name] = self._left(name)
        elif stamp:
            found.read[name] = self._disk.state(name)

    def _gather(self, states: dict[str, FileState]) -> None:
        """Put one row for a folder in place of very many files in it.

        A record is read by everybody; ten thousand images are one thing that changed.
        """
        if len(states) <= MOST_FILES:
            return
        folders: dict[str, list[str]] = {}
        for name, state in states.items():
            if state.kind == "file" and not state.module:
                folders.setdefault(name.rpartition("/")[0], []).append(name)
        for folder, names in folders.items():
            if len(names) > FEW_FILES:
                for name in names:
                    del states[name]
                pattern = f"{escape(folder)}/*" if folder else "*"
                states[pattern] = self._disk.tree(pattern)

    def _left(self, name: str) -> FileState:
        state = self._disk.state(name)
        return FileState(kind="folder") if state.kind == "folder" else state
