"""A store in memory, for tests: it counts, fails where it is told to, loses power.

The rule: it keeps the same promises as the local one, and forgets on `lose_power`
exactly what nobody promised to keep.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime

from nbresume.store.port import (
    Begun,
    Buffer,
    Later,
    Staged,
    check_key,
    folder_of,
    missing,
    taken,
    too_short,
)


class _Begun:
    """A file that is not durable yet (see `port.Begun`)."""

    def __init__(self, backend: "MemoryBackend", key: str) -> None:
        self._backend = backend
        self._key = key

    def flush(self) -> None:
        """Make its bytes durable."""
        self._backend.flush(self._key)

    def close(self) -> None:
        """Nothing is held."""


class MemoryBackend:
    """Keys in a dictionary (see `port.Backend` for each method)."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.free: int | None = None
        """What `free_bytes` answers."""
        self.operations: list[tuple[str, str]] = []
        """(operation, key) of every call, in order."""
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        """The clock by which keys are written."""
        self._lock = threading.Lock()
        self._written: dict[str, datetime] = {}
        self._nodes: dict[str, str] = {}
        """Key → the key whose bytes it was linked to, for both."""
        self._gone: dict[str, bytes] = {}
        """What was deleted, and comes back if power is lost now."""
        self._fragile: set[str] = set()
        self._unflushed: set[str] = set()
        self._counts: Counter[str] = Counter()
        self._faults: dict[str, list[tuple[int, Callable[[], None], bool]]] = {}

    def fail_at(
        self, operation: str, nth: int, error: BaseException, *, late: bool = False
    ) -> None:
        """Let the nth call from now on fail; `late`, after it has done its work."""

        def fail() -> None:
            raise error

        self.act_at(operation, nth, fail, late=late)

    def act_at(
        self, operation: str, nth: int, act: Callable[[], None], *, late: bool = False
    ) -> None:
        """Let something happen in the nth call from now on; `late`, after its work."""
        at = self._counts[operation] + nth
        self._faults.setdefault(operation, []).append((at, act, late))

    def forget_faults(self) -> None:
        """Let nothing fail any more."""
        self._faults.clear()

    def lose_power(self) -> None:
        """Forget everything that is not durable."""
        for key in self._fragile:
            self.files.pop(key, None)
        self._fragile.clear()
        self.files |= self._gone
        self._gone.clear()

    def create(
        self, key: str, data: Buffer, *, after: Callable[[], object] | None = None
    ) -> None:
        """Create the key durably."""
        if after is not None:
            after()
        count = self._begin("create", key)
        with self._lock:
            if check_key(key) in self.files:
                raise taken(key)
            self._keep(key, bytes(data))
        self._end("create", count)

    def write(self, key: str, data: Iterable[Buffer]) -> None:
        """Write a file of a group that is not published yet."""
        count = self._begin("write", key)
        if check_key(key) in self.files:
            raise taken(key)
        self._keep(key, b"".join(data))
        self._fragile.add(key)
        self._end("write", count)

    def begin(self, key: str, data: Iterable[Buffer]) -> Begun:
        """Write a file of a group, and leave the flush for later."""
        self.write(key, data)
        self._unflushed.add(key)
        return _Begun(self, key)

    def flush(self, key: str) -> None:
        """Make the bytes of a file that was begun durable, if its folder is."""
        count = self._begin("flush", key)
        self._unflushed.discard(key)
        self._end("flush", count)

    def seal(self, folders: Sequence[str]) -> None:
        """Make everything durable that was written directly in these folders."""
        for folder in folders:
            count = self._begin("seal", check_key(folder))
            here = {key for key in self._fragile if folder_of(key) == folder}
            self._fragile -= here - self._unflushed
            self._end("seal", count)

    def stage(self, documents: Mapping[str, bytes]) -> Staged:
        """Keep derived metadata until it is shown."""
        return Later(self.publish, documents)

    def publish(self, documents: Mapping[str, bytes]) -> None:
        """Put derived metadata under keys, one after the other."""
        for key, data in documents.items():
            count = self._begin("publish", key)
            self._keep(check_key(key), data)
            self._fragile.add(key)
            self._end("publish", count)

    def link(self, source: str, key: str) -> None:
        """Let `key` hold the bytes of `source` without a copy."""
        count = self._begin("link", key)
        if check_key(key) in self.files:
            raise taken(key)
        self._keep(key, self._get(source))
        self._nodes[key] = self._nodes.setdefault(source, source)
        self._fragile.add(key)
        self._end("link", count)

    def delete(self, key: str) -> None:
        """Take away a file that no record names."""
        count = self._begin("delete", key)
        data = self.files.pop(check_key(key), None)
        self._nodes.pop(key, None)
        if data is not None and key not in self._fragile:
            self._gone[key] = data
        self._end("delete", count)

    def read(self, key: str) -> bytes:
        """Return everything that the key holds."""
        self._begin("read", key)
        return self._get(key)

    def read_into(self, key: str, target: memoryview, *, offset: int = 0) -> None:
        """Fill `target` with the bytes from `offset` on."""
        self._begin("read_into", key)
        found = self._get(key)[offset : offset + target.nbytes]
        if len(found) < target.nbytes:
            raise too_short(key, target.nbytes - len(found))
        target[:] = found

    def size(self, key: str) -> int | None:
        """Return how many bytes the key holds; None if there is no such key."""
        self._begin("size", key)
        found = self.files.get(check_key(key))
        return None if found is None else len(found)

    def names(self, folder: str) -> list[str]:
        """Return the names directly below the folder; none if it does not exist."""
        self._begin("names", folder)
        start = f"{check_key(folder)}/" if folder else ""
        below = [key[len(start) :] for key in list(self.files) if key.startswith(start)]
        return sorted({key.partition("/")[0] for key in below})

    def written_at(self, key: str) -> datetime | None:
        """Return when the key was written; None if there is no such key."""
        self._begin("written_at", key)
        return self._written[key] if check_key(key) in self.files else None

    def shared_as(self, key: str) -> str:
        """Return a name for the bytes that several keys hold; else ""."""
        self._begin("shared_as", key)
        node = self._nodes.get(check_key(key), "")
        return node if list(self._nodes.values()).count(node) > 1 else ""

    def prune(self, folder: str) -> None:
        """Let what was deleted in the folder never come back."""
        count = self._begin("prune", check_key(folder))
        for key in [key for key in self._gone if folder_of(key) == folder]:
            del self._gone[key]
        self._end("prune", count)

    def codecs(self, folder: str) -> tuple[()]:
        """Return nothing: the files hold what was written."""
        check_key(folder)
        return ()

    def free_bytes(self) -> int | None:
        """Return what the test said."""
        self._begin("free_bytes", "")
        return self.free

    def _keep(self, key: str, data: bytes) -> None:
        self.files[key] = data
        self._written[key] = self.now()
        self._gone.pop(key, None)

    def _begin(self, operation: str, key: str) -> int:
        self.operations.append((operation, key))
        self._counts[operation] += 1
        count = self._counts[operation]
        self._fail(operation, count, late=False)
        return count

    def _end(self, operation: str, count: int) -> None:
        self._fail(operation, count, late=True)

    def _fail(self, operation: str, count: int, *, late: bool) -> None:
        for fault in list(self._faults.get(operation, ())):
            at, act, is_late = fault
            if at == count and is_late is late:
                self._faults[operation].remove(fault)
                act()

    def _get(self, key: str) -> bytes:
        found = self.files.get(check_key(key))
        if found is None:
            raise missing(key)
        return found
