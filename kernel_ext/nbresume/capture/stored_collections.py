"""Dask collections over a store: made again without loading anything.

The rule: a task reads the chunks that it needs, and each is checked against its digest
on the worker that reads it. The ``make_…`` functions are named in stored streams: they
are part of the stored format and are never renamed; those that read are named in the
graphs of dask, which nobody stores.
"""

import importlib
from collections.abc import Sequence
from itertools import accumulate, product
from math import prod
from typing import Any, Protocol

from msgspec import Struct

from nbresume.capture.lazies import Kept, content_of
from nbresume.errors import Damaged

DIGEST_BYTES = 32
ONLY = (0,)
"""The one chunk of what has no axes."""
FREQUENCY = b"nbresume.freq"
"""Where the metadata of a partition hold the frequency of its index."""
SERIES = "value"
"""What the column of a stored series is called."""


class Pieces(Protocol):
    """What the store gives for a payload that is read chunk by chunk."""

    digest: str

    def read(self, index: Sequence[int], digest: bytes) -> memoryview:
        """Return a chunk's bytes, checked."""

    def is_made_of(self, digests: Sequence[bytes]) -> bool:
        """Say whether these are the digests of the payload's chunks."""


class _Region(Struct, frozen=True):
    """A block of a dask array, and the stored chunks that it lies in."""

    pieces: Any
    dtype: str
    chunk_shape: tuple[int, ...]
    start: tuple[int, ...]
    stop: tuple[int, ...]
    chunks: tuple[tuple[tuple[int, ...], bytes], ...]
    """(numbers, digest) of each."""


class Part(Struct, frozen=True):
    """A partition of a dask data frame."""

    pieces: Any
    digest: bytes
    is_series: bool
    name: Any = None

    def __dask_tokenize__(self) -> tuple[str, str]:
        """Tell dask what is the same: the same content."""
        return "nbresume", f"{self.digest.hex()} {self.name!r}"


class _ReadPart:
    """Reads a partition; says of which stored frame it is one."""

    def __init__(self, kept: Kept) -> None:
        self.kept = kept

    def __call__(self, part: Part) -> Any:
        return read_part(part)

    def __reduce__(self) -> tuple[Any, ...]:
        # a worker has no use for all the digests
        return _read_part, ()

    def __dask_tokenize__(self) -> tuple[str, str]:
        return "nbresume", self.kept.content


def _read_part() -> Any:
    return read_part


# -- arrays ---------------------------------------------------------------------------


def make_dask_array(
    pieces: Pieces, digests: bytes, chunks: tuple[tuple[int, ...], ...], dtype: str
) -> Any:
    """Return a dask array over the chunks of a stored one; nothing is read.

    Parameters
    ----------
    pieces
        Reads stored chunks.
    digests
        Those of the stored chunks, in C order.
    chunks
        How the dask array is cut; the stored one is cut alike, or regularly if this is
        irregular.
    dtype
        Type of an item, as numpy writes it.

    Raises
    ------
    Damaged
        These are not the digests of that payload.
    """
    arrays: Any = importlib.import_module("dask.array")
    graphs: Any = importlib.import_module("dask.highlevelgraph")
    kept = kept_array(pieces.digest, digests, chunks, dtype)
    name = f"nbresume-{kept.content}"
    tasks = _tasks(name, pieces, _cut(pieces, digests), chunks, dtype)
    layer = graphs.MaterializedLayer(tasks)
    layer.kept = kept
    graph = graphs.HighLevelGraph({name: layer}, {name: set()})
    return arrays.Array(graph, name, chunks, dtype=dtype)


def kept_array(
    digest: str, digests: bytes, chunks: tuple[tuple[int, ...], ...], dtype: str
) -> Kept:
    """Return how an array is stored whose chunks have these digests."""
    content = content_of("array", dtype, chunks, digest)
    return Kept(make_dask_array, (digest,), (digests, chunks, dtype), content)


def chunk_shape_of(chunks: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    """Return how an array is cut for the store: the largest blocks, all alike."""
    return tuple(max(sides) for sides in chunks)


def _cut(pieces: Pieces, digests: bytes) -> list[bytes]:
    starts = range(0, len(digests), DIGEST_BYTES)
    found = [digests[at : at + DIGEST_BYTES] for at in starts]
    if not pieces.is_made_of(found):
        raise Damaged(
            "an array cannot be restored",
            because="the digests of its chunks are not those of the array",
            remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
        )
    return found


def _tasks(
    name: str,
    pieces: Pieces,
    digests: list[bytes],
    chunks: tuple[tuple[int, ...], ...],
    dtype: str,
) -> dict[tuple[Any, ...], Any]:
    spec: Any = importlib.import_module("dask._task_spec")
    chunk_shape = chunk_shape_of(chunks)
    grid = [-(-sum(c) // n) for c, n in zip(chunks, chunk_shape, strict=True)]
    by_index = dict(zip(product(*map(range, grid)), digests, strict=True))
    ends = [tuple(accumulate(sides)) for sides in chunks]
    tasks = {}
    for block in product(*(range(len(sides)) for sides in chunks)):
        stop = tuple(end[at] for end, at in zip(ends, block, strict=True))
        sizes = [sides[at] for sides, at in zip(chunks, block, strict=True)]
        start = tuple(e - n for e, n in zip(stop, sizes, strict=True))
        # an empty block lies in no chunk
        inside = (
            product(
                *(
                    range(a // n, -(-b // n))
                    for a, b, n in zip(start, stop, chunk_shape, strict=True)
                )
            )
            if all(sizes)
            else ()
        )
        held = tuple((index, by_index[index]) for index in inside)
        region = _Region(pieces, dtype, chunk_shape, start, stop, held)
        key = (name, *block)
        tasks[key] = spec.Task(key, read_region, region)
    return tasks


def read_region(region: _Region) -> Any:
    """Return a block of a stored array; on the worker that needs it.

    Raises
    ------
    StoreError
        A chunk of it is missing, or not what its digest says.
    """
    import numpy as np  # noqa: PLC0415 - it is here: dask arrays are made of its arrays

    shape = tuple(b - a for a, b in zip(region.start, region.stop, strict=True))
    if len(region.chunks) == 1:
        index, digest = region.chunks[0]
        return _chunk(region, index, digest)[_inside(region, index)[0]]
    whole = np.empty(shape, dtype=region.dtype)
    for index, digest in region.chunks:
        there, here = _inside(region, index)
        whole[here] = _chunk(region, index, digest)[there]
    return whole


def _chunk(region: _Region, index: tuple[int, ...], digest: bytes) -> Any:
    import numpy as np  # noqa: PLC0415 - as above

    data = region.pieces.read(index or ONLY, digest)
    count = prod(region.chunk_shape)
    return np.frombuffer(data, dtype=region.dtype, count=count).reshape(
        region.chunk_shape
    )


def _inside(
    region: _Region, index: tuple[int, ...]
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return which part of a chunk is needed, and where in the block it goes."""
    there, here = [], []
    for at, size, start, stop in zip(
        index, region.chunk_shape, region.start, region.stop, strict=True
    ):
        first, last = max(at * size, start), min((at + 1) * size, stop)
        there.append(slice(first - at * size, last - at * size))
        here.append(slice(first - start, last - start))
    return tuple(there), tuple(here)


# -- frames ---------------------------------------------------------------------------


def make_dask_frame(*pieces_and_rest: Any) -> Any:
    """Return a dask data frame or series over stored partitions; nothing is read.

    The last three arguments are the empty frame that tells its columns, its divisions
    and the content of each partition; those before read one partition each.
    """
    frames: Any = importlib.import_module("dask.dataframe")
    dask: Any = importlib.import_module("dask")
    *pieces, meta, divisions, looks = pieces_and_rest
    kept = kept_frame([one.digest for one in pieces], meta, divisions, looks)
    name = getattr(meta, "name", None)
    is_series = not hasattr(meta, "columns")
    parts = [
        Part(one, bytes.fromhex(one.digest), is_series, name if is_series else None)
        for one in pieces
    ]
    # what is stored has the types that it had: dask is not to convert it again
    with dask.config.set({"dataframe.convert-string": False}):
        return frames.from_map(
            _ReadPart(kept),
            parts,
            meta=meta,
            divisions=divisions,
            label="nbresume",
            enforce_metadata=False,
        )


def kept_frame(
    digests: Sequence[str], meta: Any, divisions: tuple[Any, ...], looks: Sequence[str]
) -> Kept:
    """Return how a frame is stored whose partitions have these digests and contents."""
    content = content_of("frame", divisions, *looks)
    arguments = (meta, divisions, tuple(looks))
    return Kept(make_dask_frame, tuple(digests), arguments, content)


def read_part(part: Part) -> Any:
    """Return a stored partition; on the worker that needs it.

    Raises
    ------
    StoreError
        It is missing, or not what its digest says.
    """
    frame = from_arrow(part.pieces.read(ONLY, part.digest))
    return frame[SERIES].rename(part.name) if part.is_series else frame


def from_arrow(data: Any) -> Any:
    """Return the frame in an Arrow stream."""
    arrow: Any = importlib.import_module("pyarrow")
    ipc: Any = importlib.import_module("pyarrow.ipc")
    table = ipc.open_stream(arrow.py_buffer(data)).read_all()
    frame = table.to_pandas()
    frequency = (table.schema.metadata or {}).get(FREQUENCY)
    if frequency is not None:
        frame.index.freq = frequency.decode()
    return frame
