"""Payloads: written and made durable before a record names them, checked when read.

The rule: a payload comes back with the bytes of its digest, or not at all. Small ones
share the pack of their group, large ones are zarr arrays; the group becomes visible to
plain zarr when it is published, after the record that names it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from nbresume.errors import CaptureError, Damaged, KeyMissing, Unavailable, UsageError
from nbresume.model.digests import payload_digest
from nbresume.model.manifest import PACK, Place
from nbresume.model.values import FoldRef, ManifestRef
from nbresume.settings import MIB, PACK_LIMIT_BYTES
from nbresume.store import chunks, groups
from nbresume.store.port import Backend, Buffer, check_key

ROOT = "data.zarr"
_PACK_CHUNK = "c.0"
_RESERVE_BYTES = MIB
"""Left free for metadata and for the record itself."""


@dataclass(frozen=True, slots=True)
class Blob:
    """One payload to be kept: bytes, and how plain zarr may show them."""

    data: Buffer
    """C-contiguous bytes; they must not change before the draft is written."""
    dtype: str = "uint8"
    """Type of an item, as numpy writes it (``<f8``)."""
    shape: tuple[int, ...] | None = None
    """Shape of the array; None for a flat one."""
    name: str = ""
    """Object id: the name of the array, if it becomes one."""


class Objects:
    """The payloads of one run, and those of other runs that its manifests name."""

    def __init__(self, backend: Backend, run_id: str) -> None:
        self._backend = backend
        self._run_id = run_id
        self._rooted = False

    def draft(self, group: str) -> "Draft":
        """Return an empty draft of a group; nothing is written yet."""
        return Draft(self._backend, self, check_key(f"{ROOT}/{self._run_id}/{group}"))

    def read(self, place: Place, digest: str) -> memoryview:
        """Return the payload, in memory that may be written to.

        Raises
        ------
        Damaged
            Its bytes are missing, too few, or not those of the digest.
        """
        if self.missing((place,)):
            raise _damaged(place, "some of its bytes are missing")
        target = _memory(place.length)
        folder = self._folder(place)
        if place.array != PACK:
            chunks.read_chunks(self._backend, folder, target)
        elif place.length:
            key = f"{folder}/{_PACK_CHUNK}"
            self._backend.read_into(key, target, offset=place.offset)
        if payload_digest(target) != digest:
            raise _damaged(place, "its bytes are not what its digest says")
        return target

    def read_slice(self, ref: ManifestRef | FoldRef) -> bytes:
        """Return a slice of a pack: a manifest or a folded state.

        Raises
        ------
        Damaged
            Its bytes are missing, too few, or not those of the digest.
        """
        place = Place(
            group=ref.group,
            array=PACK,
            offset=ref.offset,
            length=ref.length,
            run=ref.run if isinstance(ref, ManifestRef) else "",
        )
        return bytes(self.read(place, ref.digest))

    def missing(self, places: Iterable[Place]) -> list[Place]:
        """Return the places whose files are gone or too short; reads no payload.

        Raises
        ------
        Damaged
            A place lies outside of the store.
        """
        packs: dict[str, int] = {}
        return [place for place in places if not self._is_there(place, packs)]

    def publish(self, group: str, attributes: Mapping[str, Any]) -> None:
        """Show the group to plain zarr; can be repeated, and is not durable."""
        self.make_root()
        self._backend.publish(self._metadata(group), groups.group_metadata(attributes))

    def is_published(
        self, group: str, attributes: Mapping[str, Any] | None = None
    ) -> bool:
        """Return whether plain zarr finds the group, with these attributes if given."""
        try:
            data = self._backend.read(self._metadata(group))
        except KeyMissing:
            return False
        if attributes is None:
            return groups.is_group(data)
        return groups.attributes_of(data) == groups.plain(attributes)

    def make_root(self) -> None:
        """Make the groups above this run's groups, if they are not there."""
        if self._rooted:
            return
        for folder in (ROOT, f"{ROOT}/{self._run_id}"):
            key = f"{folder}/{groups.METADATA}"
            # After power loss it may be there without its bytes.
            if not self._is_group(key):
                self._backend.publish(key, groups.group_metadata({}))
        self._rooted = True

    def _is_there(self, place: Place, packs: dict[str, int]) -> bool:
        if place.length < 0 or place.offset < 0:
            return False
        if place.length == 0:
            return True
        folder = self._folder(place)
        if place.array != PACK:
            return chunks.are_whole(self._backend, folder, place.length)
        if folder not in packs:
            packs[folder] = self._backend.size(f"{folder}/{_PACK_CHUNK}") or 0
        return packs[folder] >= place.offset + place.length

    def _is_group(self, key: str) -> bool:
        try:
            return groups.is_group(self._backend.read(key))
        except KeyMissing:
            return False

    def _metadata(self, group: str) -> str:
        return f"{ROOT}/{self._run_id}/{group}/{groups.METADATA}"

    def _folder(self, place: Place) -> str:
        run_id = place.run or self._run_id
        try:
            return check_key(f"{ROOT}/{run_id}/{place.group}/{place.array}")
        except UsageError as error:
            raise _damaged(place, "it would lie outside of the store") from error


@dataclass(frozen=True, slots=True)
class _Array:
    name: str
    digest: str
    data: memoryview
    dtype: str
    grid: chunks.Grid


class Draft:
    """The payloads of one group, collected and then written at once.

    A group is written by one draft only: after a failed commit, draft another group,
    because the record that names the first one may stand there all the same.
    """

    def __init__(self, backend: Backend, objects: Objects, folder: str) -> None:
        self._backend = backend
        self._objects = objects
        self._folder = folder
        self._group = folder.rpartition("/")[2]
        self._places: dict[str, Place] = {}
        self._pack = bytearray()
        self._arrays: list[_Array] = []
        self._names = {PACK}
        self._is_closed = False

    @property
    def pack_bytes(self) -> int:
        """Size of the pack."""
        return len(self._pack)

    @property
    def payload_bytes(self) -> int:
        """Size of all payloads, those in the pack among them."""
        return len(self._pack) + sum(array.data.nbytes for array in self._arrays)

    def add(self, blob: Blob) -> tuple[str, Place]:
        """Take a payload up; return its digest and where it will lie.

        Raises
        ------
        CaptureError
            Its shape and dtype do not make up its bytes.
        """
        data = _flat(blob.data)
        digest = payload_digest(data)
        if digest not in self._places:
            if data.nbytes < PACK_LIMIT_BYTES:
                place = self._place(PACK, self._append(data), data.nbytes)
            else:
                array = self._array(blob, data, digest)
                self._arrays.append(array)
                place = self._place(array.name, 0, data.nbytes)
            self._places[digest] = place
        return digest, self._places[digest]

    def add_to_pack(self, data: bytes) -> tuple[int, int, str]:
        """Take a slice of the pack up; return its offset, length and digest."""
        return self._append(memoryview(data)), len(data), payload_digest(data)

    def write(self) -> None:
        """Write everything durably; nothing of it is published.

        Raises
        ------
        Unavailable
            There is not enough space (nothing was written), or the device failed (what
            was written is taken away again).
        CaptureError
            A value changed while it was being written.
        KeyTaken
            Another draft wrote this group.
        """
        self._is_closed = True
        self._check_space()
        written: list[str] = []
        try:
            self._objects.make_root()
            folders = [self._write_array(array, written) for array in self._arrays]
            if self._pack:
                folders.append(self._write_pack(written))
            self._backend.seal(folders)
        except BaseException:
            # No record names these files, and a full disk needs their space.
            for key in written:
                self._backend.delete(key)
            raise

    def _append(self, data: memoryview) -> int:
        self._refuse_if_closed()
        offset = len(self._pack)
        self._pack += data
        return offset

    def _place(self, array: str, offset: int, length: int) -> Place:
        return Place(group=self._group, array=array, offset=offset, length=length)

    def _array(self, blob: Blob, data: memoryview, digest: str) -> _Array:
        self._refuse_if_closed()
        dtype, size = blob.dtype, groups.item_bytes(blob.dtype)
        shape = blob.shape
        if size is None:
            dtype, size, shape = "uint8", 1, None
        if shape is None:
            shape = (data.nbytes // size,)
        if prod(shape) * size != data.nbytes:
            raise CaptureError(
                f"{blob.name or 'a value'} was not kept",
                because=f"an array of {dtype} and shape {shape} does not have "
                f"{data.nbytes} bytes",
                remedy="Report this to the developers of nbresume.",
                object=blob.name,
            )
        return _Array(
            name=self._free_name(blob.name or "blob"),
            digest=digest,
            data=data,
            dtype=dtype,
            grid=chunks.grid_of(shape, size),
        )

    def _free_name(self, wanted: str) -> str:
        name, count = wanted, 0
        # Some file systems do not tell Data from data.
        while name.casefold() in self._names:
            count += 1
            name = f"{wanted}-{count}"
        self._names.add(name.casefold())
        return name

    def _check_space(self) -> None:
        free = self._backend.free_bytes()
        grids = [array.grid for array in self._arrays]
        needed = len(self._pack) + sum(grid.count * grid.chunk_bytes for grid in grids)
        if free is None or needed + _RESERVE_BYTES <= free:
            return
        raise Unavailable(
            f"the values of {self._group} were not written",
            because=f"they take {needed:,} bytes and the disk has {free:,} left",
            remedy="Free some space; then commit or run the step again.",
            needed=needed,
            free=free,
        )

    def _write_array(self, array: _Array, written: list[str]) -> str:
        folder = f"{self._folder}/{array.name}"
        grid = array.grid
        metadata = groups.array_metadata(grid.shape, array.dtype, grid.chunk_shape)
        self._write(f"{folder}/{groups.METADATA}", metadata, written)
        chunks.write_chunks(
            self._backend, folder, grid, array.data, written=written.append
        )
        # A thread of the user may still work on it: what lies there now would be found
        # damaged when it is needed.
        if payload_digest(array.data) != array.digest:
            raise CaptureError(
                f"{array.name} was not kept",
                because="it changed while it was being written",
                remedy="Wait for threads that work on it before the cell ends.",
                object=array.name,
            )
        return folder

    def _write_pack(self, written: list[str]) -> str:
        folder = f"{self._folder}/{PACK}"
        size = (len(self._pack),)
        metadata = groups.array_metadata(size, "uint8", size)
        self._write(f"{folder}/{groups.METADATA}", metadata, written)
        self._write(f"{folder}/{_PACK_CHUNK}", self._pack, written)
        return folder

    def _write(self, key: str, data: Buffer, written: list[str]) -> None:
        self._backend.write(key, (data,))
        written.append(key)

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise UsageError(
                f"nothing more is added to {self._group}",
                because="it has been written",
                remedy="Draft another group.",
            )


def _flat(data: Buffer) -> memoryview:
    view = memoryview(data)
    # An empty view of several dimensions cannot be cast.
    return view.cast("B") if view.nbytes else memoryview(b"")


def _memory(length: int) -> memoryview:
    if length < PACK_LIMIT_BYTES:
        return memoryview(bytearray(length))
    # A bytearray is filled with zeros first: a pass over memory for nothing.
    import numpy as np  # noqa: PLC0415 - not needed for small payloads

    return np.empty(length, dtype=np.uint8).data


def _damaged(place: Place, because: str) -> Damaged:
    return Damaged(
        f"a payload of {place.group}/{place.array} cannot be read",
        because=because,
        remedy="Type nbresume verify to see what else is affected; "
        "the step that made it has to run again.",
        group=place.group,
        array=place.array,
    )
