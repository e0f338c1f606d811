"""The chunk files of a zarr array, written and read without zarr.

The rule: an array's bytes in C order, cut after whole rows into files of one size; what
plain zarr calls chunk ``c.3.0`` of an array is exactly such a file, compressed or not.
zarr itself neither flushes nor reads into memory that is there already, and costs four
times the processor time.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from nbresume.errors import Damaged, KeyMissing, Unavailable
from nbresume.model.digests import chunk_digest
from nbresume.model.grids import Grid
from nbresume.model.threads import in_threads
from nbresume.store.codecs import (
    BLOSC,
    HEADER_BYTES,
    Codec,
    decode,
    items_bytes,
    stored_bytes,
)
from nbresume.store.port import Backend, Begun, Buffer

_NAME = re.compile(r"c(\.\d+)*", re.ASCII)
_UNFLUSHED = 32
"""So many chunks at most wait for their flush: files that are open, bytes in memory."""


class Known:
    """Chunks that are durable: an equal one of another array is linked to, not copied.

    Only arrays that are cut are known by their chunks; others are equal as a whole.
    """

    def __init__(self, *, can_link: bool = True) -> None:
        self._can_link = can_link
        self._keys: dict[tuple[bytes, int, str], str] = {}

    def learn(
        self, keys: Iterable[str], digests: Sequence[bytes], size: int, codec: str
    ) -> None:
        """Remember where the chunks of a durable array lie, and how."""
        if self._can_link and len(digests) > 1:
            # The newest file has the fewest links.
            self._keys |= {
                (digest, size, codec): key
                for key, digest in zip(keys, digests, strict=True)
            }

    def forget(self) -> None:
        """Know of no chunk."""
        self._keys.clear()

    def find(self, digest: bytes, size: int, codec: str) -> str | None:
        """Return the key of such a chunk, if there is one."""
        return self._keys.get((digest, size, codec))

    def new_bytes(self, digests: Sequence[bytes], size: int, codec: str) -> int:
        """Return how many bytes of an array have to be written at most."""
        return size * sum((one, size, codec) not in self._keys for one in digests)


class Content(Struct, frozen=True):
    """The bytes of an array, and what they have to be when they are written."""

    data: memoryview
    digests: Sequence[bytes]
    """Of its chunks."""
    digest: Callable[[memoryview], bytes] = chunk_digest
    """Gives the digest of a chunk."""


def write_chunks(
    backend: Backend,
    folder: str,
    grid: Grid,
    content: Content,
    *,
    codec: Codec | None,
    known: Known,
    written: Callable[[str], None],
) -> bool:
    """Write the array's chunk files into `folder`, and tell each key once it is there.

    A chunk that is `known` is linked to where that is possible.

    Returns
    -------
    bool
        Whether what was written has its digests: a thread of the user may still work
        on it.

    Raises
    ------
    KeyTaken
        The folder holds such a file already.
    Unavailable
        The device failed.
    """
    size, how = grid.chunk_bytes, BLOSC if codec else ""
    data, digests = content.data, content.digests
    begun = _Begun()

    def write_one(index: int) -> bool:
        key = f"{folder}/{grid.name(index)}"
        source = known.find(digests[index], size, how)
        if source is not None and _link(backend, source, key, size, how):
            written(key)
            return True
        part = data[index * size : (index + 1) * size]
        whole: tuple[Buffer, ...] = (part,)
        if part.nbytes < size:
            whole = (part, bytes(size - part.nbytes))
        if codec is not None:
            whole = codec.encode(part if len(whole) == 1 else b"".join(whole))
        file = backend.begin(key, whole)
        written(key)
        begun.add(file)
        # It has just been read from memory, so this pass costs little.
        return content.digest(part) == digests[index]

    with begun:
        are_right = in_threads(write_one, range(grid.count))
        begun.flush()
    return all(are_right)


def _link(backend: Backend, source: str, key: str, size: int, codec: str) -> bool:
    if not _is_whole(backend, source, size, codec):
        return False
    try:
        backend.link(source, key)
    except (KeyMissing, Unavailable):
        # gone meanwhile, no links here, or too many of this file: it is written again
        return False
    return True


class _Begun:
    """Files that were written and not flushed: the device takes them meanwhile.

    One flush after the other would let the device wait for the processor, and the
    processor for the device. None is forgotten: whoever has written them all calls
    `flush`, and only then seals the folder.
    """

    def __init__(self) -> None:
        self._files: deque[Begun] = deque()

    def add(self, file: Begun) -> None:
        """Take a file up; with too many of them, flush the oldest."""
        self._files.append(file)
        if len(self._files) > _UNFLUSHED:
            _last(self._files.popleft())

    def flush(self) -> None:
        """Make all of them durable."""
        while self._files:
            _last(self._files.popleft())

    def __enter__(self) -> None:
        """Hold files."""

    def __exit__(self, *_: object) -> None:
        """Let go of all, flushed or not."""
        while self._files:
            self._files.popleft().close()


def _last(file: Begun) -> None:
    try:
        file.flush()
    finally:
        file.close()


def read_chunks(
    backend: Backend,
    folder: str,
    target: memoryview,
    *,
    chunk: int,
    codec: str,
    grid: Sequence[int] = (),
) -> list[tuple[str, bytes]]:
    """Fill `target` with the array's bytes; return key and digest of each chunk.

    Parameters
    ----------
    backend, folder
        Where its files lie.
    target
        Memory of the array's length.
    chunk
        Bytes of a chunk; 0 if the array's digest is that of all its bytes.
    codec
        What the chunks are compressed with; empty if they are not.
    grid
        How many chunks there are along each axis; empty if only one is cut.

    Raises
    ------
    Damaged
        A chunk file is missing, too short or something else.
    """
    pieces = _pieces(backend, folder, target.nbytes, chunk, codec, grid)
    if pieces is None:
        raise Damaged(
            f"the array {folder} cannot be read",
            because="some of its files are missing",
            remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
            key=folder,
        )

    def read_one(piece: tuple[str, int, int]) -> tuple[str, bytes]:
        key, start, length = piece
        part = target[start : start + length]
        if codec:
            decode(backend.read(key), part, key=key)
        else:
            backend.read_into(key, part)
        return key, chunk_digest(part) if chunk else b""

    found = in_threads(read_one, pieces)
    return found if chunk else [(folder, chunk_digest(target))]


def are_whole(
    backend: Backend,
    folder: str,
    length: int,
    *,
    chunk: int,
    codec: str,
    grid: Sequence[int] = (),
) -> bool:
    """Return whether the chunk files of `length` bytes are there and long enough."""
    pieces = _pieces(backend, folder, length, chunk, codec, grid)
    return pieces is not None and all(
        _is_whole(backend, key, piece, codec) for key, _, piece in pieces
    )


def _is_whole(backend: Backend, key: str, length: int, codec: str) -> bool:
    size = backend.size(key) or 0
    if not codec:
        return size >= length
    if size < HEADER_BYTES:
        return False
    header = memoryview(bytearray(HEADER_BYTES))
    try:
        backend.read_into(key, header)
    except (KeyMissing, Damaged):
        return False
    return stored_bytes(header) == size and items_bytes(header) >= length


def _pieces(
    backend: Backend,
    folder: str,
    length: int,
    chunk: int,
    codec: str,
    grid: Sequence[int],
) -> list[tuple[str, int, int]] | None:
    """Return (key, start in the array, length) of each chunk; None if one is missing.

    Where the manifest does not say how the array was cut, the files do: they have one
    size and follow each other.
    """
    found: dict[int, str] = {}
    for name in backend.names(folder):
        if _NAME.fullmatch(name):
            found[_index(name, grid)] = name
    # what is compressed and not cut is one chunk
    size = chunk or (length if codec else 0)
    if not size:
        first = found.get(0)
        size = (backend.size(f"{folder}/{first}") if first else None) or 0
    if not size:
        return None if length else []
    count = -(-length // size)
    if any(index not in found for index in range(count)):
        return None
    return [
        (
            f"{folder}/{found[index]}",
            index * size,
            min(size, length - index * size),
        )
        for index in range(count)
    ]


def _index(name: str, grid: Sequence[int]) -> int:
    """Return which chunk of the array, in C order, has this name."""
    numbers = [int(number) for number in name.split(".")[1:]]
    if not grid:
        # only one axis is cut: all other numbers are 0
        return max(numbers, default=0)
    if any(number >= side for number, side in zip(numbers, grid, strict=False)):
        return -1  # no chunk of this array
    index = 0
    for number, side in zip(numbers, grid, strict=False):
        index = index * side + number
    return index
