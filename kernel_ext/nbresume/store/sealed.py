"""A store whose payloads are encrypted: one layer over whatever keeps its files.

The rule: everything below ``data.zarr`` that is no metadata document is encrypted when
it is written and opened when it is read, whoever writes it; records, notes and metadata
pass through, so that decisions can be read without a key. Sizes and offsets are those
of the plain bytes.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from nbresume.errors import Damaged, Unavailable
from nbresume.store.datakeys import DataKeys, Held
from nbresume.store.port import Backend, Begun, Buffer, Staged
from nbresume.store.sealing import (
    HEADER_BYTES,
    Sealed,
    Spot,
    decrypted,
    decrypted_into,
    encrypted,
    fill,
    opened,
    plain_bytes,
    stored_bytes,
)

CODEC = "nbresume.sealed"
"""What zarr calls it: see `nbresume.codec`."""
_ROOT = "data.zarr/"
_METADATA = "/zarr.json"
_AT_ONCE = (64 << 10, 8 << 20)
"""What is read whole is a chunk: a slice is smaller, and a larger one needs memory."""
_KEPT = 64
"""So many heads of files are remembered: a pack is read in many slices."""


class SealedBackend:
    """Keys of another backend, payloads encrypted (see `port.Backend`)."""

    def __init__(
        self, backend: Backend, data_keys: DataKeys | Held, store_id: str
    ) -> None:
        self._backend = backend
        self._data_keys = data_keys
        self._store_id = store_id
        self._heads: dict[str, Sealed] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a worker read and write values: it gets data keys, and not the user's.

        Raises
        ------
        SealedError
            None of the user's keys opens one.
        """
        return SealedBackend, (self._backend, self._data_keys.held(), self._store_id)

    def create(
        self, key: str, data: Buffer, *, after: Callable[[], object] | None = None
    ) -> None:
        """Create the key durably."""
        self._backend.create(key, self._whole(key, data), after=after)

    def write(self, key: str, data: Iterable[Buffer]) -> None:
        """Write a file of a group that no record names yet."""
        self._backend.write(key, self._stored(key, data))

    def begin(self, key: str, data: Iterable[Buffer]) -> Begun:
        """Write a file of a group, and leave the flush for later."""
        return self._backend.begin(key, self._stored(key, data))

    def seal(self, folders: Sequence[str]) -> None:
        """Make everything durable that was written directly in these folders."""
        self._backend.seal(folders)

    def stage(self, documents: Mapping[str, bytes]) -> Staged:
        """Prepare derived metadata."""
        return self._backend.stage(self._all_whole(documents))

    def publish(self, documents: Mapping[str, bytes]) -> None:
        """Put derived metadata under keys."""
        self._backend.publish(self._all_whole(documents))

    def _all_whole(self, documents: Mapping[str, bytes]) -> dict[str, bytes]:
        return {key: bytes(self._whole(key, data)) for key, data in documents.items()}

    def link(self, source: str, key: str) -> None:
        """Refuse: a file opens in its own place alone, so the bytes are written anew.

        Raises
        ------
        Unavailable
            Always, of payloads.
        """
        if not (_is_payload(source) or _is_payload(key)):
            self._backend.link(source, key)
            return
        raise Unavailable(
            f"{key} was not linked to {source}",
            because="in an encrypted store a file opens in its own place alone",
            remedy="Write it anew.",
            key=key,
        )

    def delete(self, key: str) -> None:
        """Take away a file that no record names."""
        self._heads.pop(key, None)
        self._backend.delete(key)

    def read(self, key: str) -> bytes:
        """Return everything that the key holds."""
        data = self._backend.read(key)
        if not _is_payload(key):
            return data
        return decrypted(data, self._data_keys.find, self._spot(key))

    def read_into(self, key: str, target: memoryview, *, offset: int = 0) -> None:
        """Fill `target` with the bytes from `offset` on."""
        if not _is_payload(key):
            self._backend.read_into(key, target, offset=offset)
            return
        may_be_whole = offset == 0 and _AT_ONCE[0] <= target.nbytes <= _AT_ONCE[1]
        if may_be_whole and self._read_whole(key, target):
            return

        def read(room: memoryview, at: int) -> None:
            self._backend.read_into(key, room, offset=at)

        fill(self._head(key), target, offset, read)

    def _read_whole(self, key: str, target: memoryview) -> bool:
        """Fill `target` by one reading, if it is all that the file holds; say whether.

        In a bucket the head, the size and the bytes of a chunk are three round trips.
        """
        room = memoryview(bytearray(stored_bytes(target.nbytes)))
        try:
            self._backend.read_into(key, room)
            decrypted_into(room, target, self._data_keys.find, self._spot(key))
        except Damaged:
            return False  # it is longer than that; or what is wrong is found again
        return True

    def size(self, key: str) -> int | None:
        """Return how many bytes the key holds; None if there is no such key."""
        stored = self._backend.size(key)
        if stored is None or not _is_payload(key):
            return stored
        return max(plain_bytes(stored), 0)

    def names(self, folder: str) -> list[str]:
        """Return the names directly below the folder; none if it does not exist."""
        return self._backend.names(folder)

    def written_at(self, key: str) -> datetime | None:
        """Return when the key was written; None if there is no such key."""
        return self._backend.written_at(key)

    def shared_as(self, key: str) -> str:
        """Return what keys that hold the same bytes once have in common."""
        return self._backend.shared_as(key)

    def prune(self, folder: str) -> None:
        """Remove a folder if it is empty; what was deleted in it never comes back."""
        self._backend.prune(folder)

    def free_bytes(self) -> int | None:
        """Return how many bytes may still be written; None if nobody can tell."""
        return self._backend.free_bytes()

    def codecs(self, folder: str) -> Sequence[Mapping[str, Any]]:
        """Return what zarr undoes first when it reads a file of the folder."""
        array = folder.removeprefix(_ROOT)
        about = {"store": self._store_id, "array": array}
        return ({"name": CODEC, "configuration": about},)

    def _whole(self, key: str, data: Buffer) -> Buffer:
        return b"".join(self._stored(key, (data,))) if _is_payload(key) else data

    def _stored(self, key: str, data: Iterable[Buffer]) -> Iterable[Buffer]:
        if not _is_payload(key):
            return data
        self._heads.pop(key, None)
        return encrypted(data, self._data_keys.current(), self._spot(key))

    def _spot(self, key: str) -> Spot:
        folder, _, chunk = key.removeprefix(_ROOT).rpartition("/")
        return Spot(self._store_id, folder, chunk)

    def _head(self, key: str) -> Sealed:
        head = self._heads.get(key)
        if head is not None:
            return head
        header = memoryview(bytearray(HEADER_BYTES))
        self._backend.read_into(key, header)
        stored = self._backend.size(key) or 0
        head = opened(bytes(header), stored, self._data_keys.find, self._spot(key))
        if len(self._heads) >= _KEPT:
            self._heads.clear()
        # A file has one content for ever; of another one no segment would open.
        self._heads[key] = head
        return head


def _is_payload(key: str) -> bool:
    return key.startswith(_ROOT) and not key.endswith(_METADATA)
