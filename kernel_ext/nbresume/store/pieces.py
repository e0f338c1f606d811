"""Arrays and tables that workers write, and that are read chunk by chunk.

The rule: a worker makes each chunk durable under its own name, whole or not at all, and
tells only its digest; the kernel looks itself whether every chunk is there before a
record names them. A worker or a cluster that dies leaves files that no record names.
What is read is checked against the digest of that chunk, wherever it is read.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

from msgspec import Struct

from nbresume.errors import CaptureError, Damaged, KeyTaken, Unavailable
from nbresume.model.digests import chunk_digest, joined
from nbresume.model.manifest import Place
from nbresume.store import chunks, groups
from nbresume.store.port import Backend, Buffer

ONLY = "c.0"
"""The one chunk of a table's part."""
_TMP = "tmp"


def piece_name(index: Sequence[int]) -> str:
    """Return what zarr calls the chunk at these numbers."""
    return ".".join(["c", *map(str, index)])


def piece_names(grid: Sequence[int]) -> Iterator[str]:
    """Yield the names of all chunks in C order, as an array with axes has them."""
    return map(piece_name, product(*map(range, grid)))


class Sink(Struct, frozen=True):
    """Where workers put the chunks of one array or table: it can be sent to them."""

    backend: Any
    """The store; what is sent of it is how to open it there."""
    folder: str
    """Key of the group, which no record names yet."""
    name: str
    """The array; of a table, what the names of its parts begin with."""
    token: str
    """A key that whoever sees the store finds."""

    def keep(self, index: Sequence[int], data: Buffer) -> bytes:
        """Make a chunk durable; return the digest of what stands there.

        A chunk may be written twice: its worker died after it had written it, or two
        workers had the same work. The first one stands.

        Raises
        ------
        Unavailable
            This worker does not see the store, or the device failed.
        """
        return self._create(f"{self.name}/{piece_name(index)}", data)

    def keep_part(self, number: int, data: Buffer) -> tuple[bytes, int]:
        """Make a part of a table durable; return the digest and length of what stands.

        Raises
        ------
        Unavailable
            This worker does not see the store, or the device failed.
        """
        folder = f"{self.name}-{number}"
        digest = self._create(f"{folder}/{ONLY}", data)
        length = self.backend.size(f"{self.folder}/{folder}/{ONLY}")
        codecs = self.backend.codecs(f"{self.folder}/{folder}")
        metadata = groups.array_metadata((length,), "uint8", (max(length, 1),), codecs)
        self._create(f"{folder}/{groups.METADATA}", metadata)
        return digest, length

    def _create(self, key: str, data: Buffer) -> bytes:
        if self.backend.size(self.token) is None:
            raise Unavailable(
                "a worker did not write to the store",
                because="it does not see the store that the kernel sees: there is "
                "another folder, or none, at the same path on its host",
                remedy="Put the store where all hosts see it under one path, or into a "
                "bucket (NBRESUME_STORE=s3://bucket/prefix).",
            )
        key = f"{self.folder}/{key}"
        try:
            self.backend.create(key, data)
        except KeyTaken:
            return chunk_digest(self.backend.read(key))
        return chunk_digest(data)


class Pieces(Struct, frozen=True):
    """Reads the chunks of one payload, one at a time: it can be sent to workers."""

    backend: Any
    folder: str
    """Key of the array."""
    chunk_bytes: int
    digest: str
    """Of the whole payload."""

    def read(self, index: Sequence[int], digest: bytes) -> memoryview:
        """Return a chunk's bytes, in memory that may be written to.

        Raises
        ------
        Damaged
            They are missing, too few, or not those of the digest.
        """
        data = self.bytes_of(piece_name(index))
        if chunk_digest(data) != digest:
            raise Damaged(
                f"the chunk {self.folder}/{piece_name(index)} cannot be read",
                because="its bytes are not what its digest says",
                remedy="Type nbresume verify NOTEBOOK to see what else is affected; "
                "the step that made it has to run again.",
                key=self.folder,
            )
        return data

    def bytes_of(self, name: str) -> memoryview:
        """Return the bytes of a chunk, unchecked.

        Raises
        ------
        StoreError
            They are missing or too few.
        """
        # numpy is here: it is arrays that are read, and a bytearray is zeroed first
        import numpy as np  # noqa: PLC0415

        data = np.empty(self.chunk_bytes, dtype=np.uint8).data
        self.backend.read_into(f"{self.folder}/{name}", data)
        return data

    def all_bytes(self, grid: Sequence[int]) -> Iterator[memoryview]:
        """Yield the bytes of each chunk in C order, unchecked.

        Raises
        ------
        StoreError
            They are missing or too few.
        """
        return map(self.bytes_of, piece_names(grid))

    def is_made_of(self, digests: Sequence[bytes]) -> bool:
        """Say whether these are the digests of the payload's chunks."""
        return joined(digests).hex == self.digest

    def __dask_tokenize__(self) -> tuple[str, str]:
        """Tell dask what is the same: the same content."""
        return "nbresume", self.digest


class Shelf:
    """The payloads of one group that workers write."""

    def __init__(
        self,
        backend: Backend,
        folder: str,
        *,
        free_name: Callable[[str], str],
        make_root: Callable[[], None],
        limit_bytes: int | None = None,
    ) -> None:
        self._backend = backend
        self._folder = folder
        self._free_name = free_name
        self._make_root = make_root
        self._limit_bytes = limit_bytes
        self._token = ""
        self._arrays: list[str] = []
        """Names of the arrays that were begun, or parts that were written."""
        self._tables: list[str] = []
        self.places: dict[str, Place] = {}
        """Digest → place of what is durable in this group."""

    @property
    def payload_bytes(self) -> int:
        """Size of what is durable here."""
        return sum(place.length for place in self.places.values())

    def array(
        self, name: str, dtype: str, shape: Sequence[int], chunk_shape: Sequence[int]
    ) -> Sink:
        """Return where workers put the chunks of an array; its metadata is durable.

        Raises
        ------
        CaptureError
            It is larger than a step may be.
        Unavailable
            There is not enough space, or the device failed.
        """
        counts = [-(-n // c) for n, c in zip(shape, chunk_shape, strict=True)]
        item = groups.item_bytes(dtype) or 1
        self._check_room(name, prod(counts) * prod(chunk_shape) * item)
        sink = self._sink(name)
        self._arrays.append(sink.name)
        folder = f"{self._folder}/{sink.name}"
        codecs = self._backend.codecs(folder)
        metadata = groups.array_metadata(shape, dtype, chunk_shape, codecs)
        self._backend.create(f"{folder}/{groups.METADATA}", metadata)
        return sink

    def table(self, name: str) -> Sink:
        """Return where workers put the parts of a table, an array of bytes for each."""
        sink = self._sink(name)
        self._tables.append(sink.name)
        return sink

    def adopt(
        self, sink: Sink, digests: Sequence[bytes], grid: Sequence[int], chunk: int
    ) -> str:
        """Take the chunks that workers wrote for a payload; return its digest.

        Raises
        ------
        Unavailable
            The kernel does not find them.
        """
        return self._adopt(
            sink.name, digests, tuple(grid) or (1,), chunk, chunk * len(digests)
        )

    def adopt_part(self, sink: Sink, number: int, digest: bytes, length: int) -> str:
        """Take a part that a worker wrote for a payload; return its digest.

        Raises
        ------
        Unavailable
            The kernel does not find it.
        """
        name = f"{sink.name}-{number}"
        self._arrays.append(name)
        return self._adopt(name, [digest], (1,), 0, length)

    def _adopt(
        self,
        name: str,
        digests: Sequence[bytes],
        grid: tuple[int, ...],
        chunk: int,
        length: int,
    ) -> str:
        folder = f"{self._folder}/{name}"
        if not chunks.are_whole(
            self._backend, folder, length, chunk=chunk, codec="", grid=grid
        ):
            raise Unavailable(
                f"the values of {self._folder.rpartition('/')[2]} were not kept",
                because=f"workers wrote chunks of {name} that the kernel does not find",
                remedy="Put the store where all hosts see it under one path, or into a "
                "bucket (NBRESUME_STORE=s3://bucket/prefix).",
            )
        digest = joined(digests).hex
        if digest in self.places:  # an equal one of this group stands already
            return digest
        self.places[digest] = Place(
            group=self._folder.rpartition("/")[2],
            array=name,
            offset=0,
            length=length,
            chunk=chunk,
            grid=grid,
        )
        return digest

    def drop(self, digest: str) -> None:
        """Take away what stands here: an equal payload was durable before."""
        place = self.places.pop(digest, None)
        if place is not None:
            self._arrays.remove(place.array)
            self._delete(f"{self._folder}/{place.array}")

    def seal(self) -> None:
        """Let the names of all that was written survive power loss."""
        self._withdraw_token()
        if self.places:
            folders = [f"{self._folder}/{p.array}" for p in self.places.values()]
            self._backend.seal(folders)

    def discard(self) -> None:
        """Take away all that was written; a worker that goes on may write more."""
        self._withdraw_token()
        self.places = {}
        for name in self._arrays:
            self._delete(f"{self._folder}/{name}")
        for table in self._tables:
            for name in self._backend.names(self._folder):
                if name.startswith(f"{table}-"):
                    self._delete(f"{self._folder}/{name}")

    def _sink(self, name: str) -> Sink:
        if not self._token:
            self._make_root()
            token = f"{_TMP}/{secrets.token_hex(16)}"
            self._backend.create(token, b"seen")
            self._token = token
        return Sink(self._backend, self._folder, self._free_name(name), self._token)

    def _withdraw_token(self) -> None:
        if self._token:
            self._backend.delete(self._token)
            self._token = ""

    def _delete(self, folder: str) -> None:
        for name in self._backend.names(folder):
            self._backend.delete(f"{folder}/{name}")

    def _check_room(self, name: str, needed: int) -> None:
        if self._limit_bytes is not None and needed > self._limit_bytes:
            raise CaptureError(
                f"{name} is too large to commit",
                because=f"it has {needed >> 20} MB, max_step_bytes is "
                f"{self._limit_bytes >> 20} MB",
                remedy="Delete what is not needed (del NAME) in the step, "
                "or raise NBRESUME_MAX_STEP_MB.",
            )
        free = self._backend.free_bytes()
        if free is not None and needed > free:
            raise Unavailable(
                f"{name} was not written",
                because=f"it takes {needed:,} bytes and the disk has {free:,} left",
                remedy="Free some space; then commit or run the step again.",
                needed=needed,
                free=free,
            )
