"""Drafts: the payloads of one group, collected and then written at once.

The rule: everything is durable when `Draft.write` has returned, and nothing is left
when it fails but what cannot be deleted then. Small payloads share the pack, large ones
are arrays.
"""

from collections.abc import Callable
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from nbresume.errors import CaptureError, Unavailable, UsageError
from nbresume.model.digests import Digest, digest_of, payload_digest
from nbresume.model.grids import Grid, grid_of
from nbresume.model.manifest import PACK, Place
from nbresume.settings import MIB, PACK_LIMIT_BYTES
from nbresume.store import chunks, groups
from nbresume.store.codecs import BLOSC, Codec, probe
from nbresume.store.port import Backend, Begun, Buffer, folder_of

if TYPE_CHECKING:
    from nbresume.store.pieces import Shelf

PACK_CHUNK = "c.0"
_RESERVE_BYTES = MIB
"""Left free for metadata and for the record itself."""


class Blob(Struct, frozen=True):
    """One payload to be kept: bytes, and how plain zarr may show them."""

    data: Buffer
    """C-contiguous bytes; they must not change before the draft is written."""
    dtype: str = "uint8"
    """Type of an item, as numpy writes it (``<f8``)."""
    shape: tuple[int, ...] | None = None
    """Shape of the array; None for a flat one."""
    name: str = ""
    """Object id: the name of the array, if it becomes one."""
    digest: Digest | None = None
    """Its digest, where it was taken already: by `model.digests.digest_of`, of the
    bytes cut by `model.grids.grid_of` of this shape."""


class _Array(Struct, frozen=True):
    name: str
    digest: Digest
    data: memoryview
    dtype: str
    grid: Grid
    codec: Codec | None

    @property
    def how(self) -> str:
        """What the manifest calls its codec."""
        return BLOSC if self.codec else ""


class Draft:
    """The payloads of one group, collected and then written at once.

    A group is written by one draft only: after a failed commit, draft another group,
    because the record that names the first one may stand there all the same.
    """

    def __init__(
        self,
        backend: Backend,
        folder: str,
        *,
        known: chunks.Known,
        make_root: Callable[[], None],
        packed: Callable[[str, int], None],
        digest: Callable[[memoryview], bytes],
    ) -> None:
        self._backend = backend
        self._known = known
        self._make_root = make_root
        self._packed = packed
        """Is told the folder and the bytes of a pack before it is written."""
        self._digest = digest
        """Gives the digest of a chunk that was written."""
        self._folder = folder
        self._group = folder.rpartition("/")[2]
        self._places: dict[str, Place] = {}
        self._pack = bytearray()
        self._arrays: list[_Array] = []
        self._names = {PACK}
        self._is_closed = False
        self._shelf: Shelf | None = None
        self._begun: tuple[str, Begun] | None = None
        """Key and file of a pack that is written and not flushed."""

    def shelf(self, *, limit_bytes: int | None = None) -> "Shelf":
        """Return what workers write of this group: it belongs to the draft.

        Parameters
        ----------
        limit_bytes
            Larger arrays are refused before they are written.
        """
        # most groups have nothing that workers write
        from nbresume.store.pieces import Shelf  # noqa: PLC0415

        if self._shelf is None:
            self._shelf = Shelf(
                self._backend,
                self._folder,
                free_name=self._free_name,
                make_root=self._make_root,
                limit_bytes=limit_bytes,
            )
        return self._shelf

    def discard(self) -> None:
        """Take away what is not durable yet: no record names it, and none will."""
        if self._shelf is not None and not self._is_closed:
            self._shelf.discard()
        self._is_closed = True
        begun, self._begun = self._begun, None
        if begun is not None:
            key, file = begun
            file.close()
            # What went wrong before is told, not that it stays until `nbresume gc`.
            with suppress(Unavailable):
                self._backend.delete(key)

    @property
    def is_small(self) -> bool:
        """Whether there is nothing but a pack."""
        return not self._arrays and self._shelf is None

    @property
    def pack_bytes(self) -> int:
        """Size of the pack."""
        return len(self._pack)

    @property
    def payload_bytes(self) -> int:
        """Size of all payloads, those in the pack and those of workers among them."""
        shelved = self._shelf.payload_bytes if self._shelf else 0
        arrays = sum(array.data.nbytes for array in self._arrays)
        return len(self._pack) + arrays + shelved

    def add(self, blob: Blob) -> tuple[str, Place]:
        """Take a payload up; return its digest and where it will lie.

        Raises
        ------
        CaptureError
            Its shape and dtype do not make up its bytes.
        """
        data = _flat(blob.data)
        if data.nbytes >= PACK_LIMIT_BYTES:
            return self._add_array(blob, data)
        digest = payload_digest(data)
        if blob.digest is not None and blob.digest.hex != digest:
            raise _changed(blob.name)
        if digest not in self._places:
            offset, length = self._append(data), data.nbytes
            self._places[digest] = self._place(PACK, offset, length)
        return digest, self._places[digest]

    def _add_array(self, blob: Blob, data: memoryview) -> tuple[str, Place]:
        grid = _grid(blob, data)
        digest = blob.digest or digest_of(data, grid)
        if digest.hex not in self._places:
            array = self._array(blob, data, digest, grid)
            self._arrays.append(array)
            chunk = array.grid.chunk_bytes if len(digest.chunks) > 1 else 0
            place = self._place(
                array.name, 0, data.nbytes, chunk=chunk, codec=array.how
            )
            self._places[digest.hex] = place
        return digest.hex, self._places[digest.hex]

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
        self._close()
        written: list[str] = []
        try:
            folders = [self._write_array(array, written) for array in self._arrays]
            if self._pack:
                folders.append(self._write_pack(written))
            self._backend.seal(folders)
            if self._shelf is not None:
                self._shelf.seal()
            self._learn()
        except BaseException:
            # No record names these files, and a full disk needs their space. What went
            # wrong before is what is told, not that they stay until `nbresume gc`.
            with suppress(Unavailable):
                for key in written:
                    self._backend.delete(key)
                if self._shelf is not None:
                    self._shelf.discard()
            raise

    def begin(self) -> None:
        """Write the pack, all that there is, and leave its flush for `flush`.

        What is written meanwhile is on its way to the device when that is called: it is
        asked once where it would have been asked twice.

        Raises
        ------
        Unavailable
            There is not enough space, or the device failed; nothing is left.
        KeyTaken
            Another draft wrote this group.
        """
        self._close()
        key = f"{self._folder}/{PACK}/{PACK_CHUNK}"
        self._begun = key, self._backend.begin(key, (self._pack,))

    def flush(self) -> None:
        """Make durable what was begun; what `write` wrote is, and what was flushed.

        Raises
        ------
        Unavailable
            The device failed; what was begun is taken away again.
        """
        if self._begun is None:
            return
        key, file = self._begun
        try:
            file.flush()
            self._backend.seal([folder_of(key)])
        except BaseException:
            self.discard()
            raise
        self._begun = None
        file.close()

    def _close(self) -> None:
        self._is_closed = True
        self._check_space()
        self._make_root()
        if self._pack:
            self._packed(f"{self._folder}/{PACK}", len(self._pack))

    def _append(self, data: memoryview) -> int:
        self._refuse_if_closed()
        offset = len(self._pack)
        self._pack += data
        return offset

    def _place(self, array: str, offset: int, length: int, **how: Any) -> Place:
        return Place(
            group=self._group, array=array, offset=offset, length=length, **how
        )

    def _array(
        self, blob: Blob, data: memoryview, digest: Digest, grid: Grid
    ) -> _Array:
        self._refuse_if_closed()
        dtype = blob.dtype
        codec = probe(data, grid.row_bytes // prod(grid.shape[grid.axis + 1 :]))
        if groups.item_bytes(dtype) is None:
            # plain zarr sees bytes, cut where the array is cut
            dtype, grid = "uint8", Grid((data.nbytes,), grid.chunk_bytes, 1)
        return _Array(
            name=self._free_name(blob.name or "blob"),
            digest=digest,
            data=data,
            dtype=dtype,
            grid=grid,
            codec=codec,
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
        needed = len(self._pack)
        for array in self._arrays:
            size, digests = array.grid.chunk_bytes, array.digest.chunks
            needed += self._known.new_bytes(digests, size, array.how)
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
        codecs = array.codec.metadata if array.codec else []
        metadata = groups.array_metadata(
            grid.shape,
            array.dtype,
            grid.chunk_shape,
            [*codecs, *self._backend.codecs(folder)],
        )
        self._write(f"{folder}/{groups.METADATA}", metadata, written)
        content = chunks.Content(array.data, array.digest.chunks, self._digest)
        # What is not what its digest says would be found damaged when it is needed.
        if not chunks.write_chunks(
            self._backend,
            folder,
            grid,
            content,
            codec=array.codec,
            known=self._known,
            written=written.append,
        ):
            raise _changed(array.name)
        return folder

    def _learn(self) -> None:
        for array in self._arrays:
            folder, grid = f"{self._folder}/{array.name}", array.grid
            keys = [f"{folder}/{grid.name(index)}" for index in range(grid.count)]
            self._known.learn(keys, array.digest.chunks, grid.chunk_bytes, array.how)

    def _write_pack(self, written: list[str]) -> str:
        # what shows it to plain zarr follows from its size: it is published
        folder = f"{self._folder}/{PACK}"
        self._write(f"{folder}/{PACK_CHUNK}", self._pack, written)
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


def _grid(blob: Blob, data: memoryview) -> Grid:
    """Return how a payload is cut: by its shape, or as bytes if it has none."""
    if blob.shape is None:
        size = groups.item_bytes(blob.dtype) or 1
        return grid_of((data.nbytes // size,), size)
    size = data.nbytes // (prod(blob.shape) or 1)
    known = groups.item_bytes(blob.dtype) or size
    if prod(blob.shape) * known != data.nbytes:
        raise CaptureError(
            f"{blob.name or 'a value'} was not kept",
            because=f"an array of {blob.dtype} and shape {blob.shape} does not have "
            f"{data.nbytes} bytes",
            remedy="Report this to the developers of nbresume.",
            object=blob.name,
        )
    return grid_of(blob.shape, size)


def _changed(name: str) -> CaptureError:
    return CaptureError(
        f"{name or 'a value'} was not kept",
        because="it changed while it was being written",
        remedy="Wait for threads that work on it before the cell ends.",
        object=name,
    )
