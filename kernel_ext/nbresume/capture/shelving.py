"""Dask collections → chunks in the store, written by the workers that compute them.

The rule: no block passes through the kernel. A worker digests each block and makes it
durable, the kernel learns the digests. All collections of a capture are computed at
once, so that work which they share is done once. If any of that fails, the step is not
committed: a collection whose work failed is no value that may be left out.
"""

import importlib
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from nbresume.capture.canonical import look
from nbresume.capture.lazies import Kept, is_array
from nbresume.capture.stored_collections import (
    FREQUENCY,
    ONLY,
    SERIES,
    chunk_shape_of,
    from_arrow,
    kept_array,
    kept_frame,
)
from nbresume.errors import CaptureError, NbresumeError
from nbresume.model.digests import chunk_digest
from nbresume.model.manifest import Place

_SHAPELESS = (1,)
"""The shape of what has no axes."""
_ALONE_S = 60
"""So long a cluster may be without workers before its work counts as lost."""
_LOOK_S = 1
_REMEDY = (
    "Mend it and type %steps commit NAME, or run the step again; a collection that is "
    "not needed can be deleted at the end of the step (del NAME)."
)


class Sink(Protocol):
    """Where workers put the chunks of one array or table."""

    def keep(self, index: Sequence[int], data: memoryview) -> bytes:
        """Make a chunk durable; return the digest of what stands there."""

    def keep_part(self, number: int, data: memoryview) -> tuple[bytes, int]:
        """Make a part of a table durable; return digest and length of what stands."""


class Shelf(Protocol):
    """What workers write of the group of a commit."""

    places: dict[str, Place]

    def array(
        self, name: str, dtype: str, shape: Sequence[int], chunk_shape: Sequence[int]
    ) -> Any:
        """Return where workers put the chunks of an array."""

    def table(self, name: str) -> Any:
        """Return where workers put the parts of a table."""

    def adopt(
        self, sink: Any, digests: Sequence[bytes], grid: Sequence[int], chunk: int
    ) -> str:
        """Take written chunks for a payload; return its digest."""

    def adopt_part(self, sink: Any, number: int, digest: bytes, length: int) -> str:
        """Take a written part for a payload; return its digest."""


class _Job(Struct, frozen=True):
    """One collection that is computed: what is asked of dask, and what follows."""

    work: Any
    finish: Callable[[Any], Kept]


def keep(wanted: Mapping[int, tuple[Any, str]], shelf: Shelf) -> dict[int, Kept]:
    """Have workers store collections; return how each is kept, by its id().

    Parameters
    ----------
    wanted
        id() → collection, and what its array is to be called.
    shelf
        Takes what they write.

    Raises
    ------
    CaptureError
        The work failed, or gave something else than it promised.
    StoreError
        A worker could not write.
    """
    if not wanted:
        return {}
    jobs = {
        key: (_array_job if is_array(value) else _frame_job)(value, name, shelf)
        for key, (value, name) in wanted.items()
    }
    results = _computed({key: job.work for key, job in jobs.items()})
    return {key: job.finish(results[key]) for key, job in jobs.items()}


# -- arrays ---------------------------------------------------------------------------


def _array_job(value: Any, name: str, shelf: Shelf) -> _Job:
    numpy = sys.modules["numpy"]
    chunk_shape = chunk_shape_of(value.chunks)
    dtype = value.dtype.str
    sink = shelf.array(
        name, dtype, value.shape or _SHAPELESS, chunk_shape or _SHAPELESS
    )
    cut = value if _is_regular(value.chunks) else value.rechunk(chunk_shape)
    work = cut.map_blocks(
        write_block,
        sink=sink,
        chunk_shape=chunk_shape,
        expected=dtype,
        name=f"nbresume-write-{sink.name}-{cut.name}",
        dtype=object,
        chunks=tuple((1,) * n for n in cut.numblocks),
        meta=numpy.empty((0,) * cut.ndim, dtype=object),
    )
    size = value.dtype.itemsize
    for side in chunk_shape:
        size *= side

    def finish(result: Any) -> Kept:
        # of what has no axes, some schedulers give the item and others its array
        digests = list(numpy.asarray(result, dtype=object).ravel())
        digest = shelf.adopt(sink, digests, cut.numblocks, size)
        return kept_array(digest, b"".join(digests), value.chunks, dtype)

    return _Job(work, finish)


def _is_regular(chunks: tuple[tuple[int, ...], ...]) -> bool:
    """Say whether all blocks are alike, but for smaller ones at the end of an axis."""
    return all(
        set(sides[:-1]) <= {sides[0]} and sides[-1] <= sides[0] and sides[0] > 0
        for sides in chunks
    )


def write_block(
    block: Any,
    *,
    sink: Sink,
    chunk_shape: tuple[int, ...],
    expected: str,
    block_id: tuple[int, ...] = (),
) -> Any:
    """Make a block durable; return an array of its digest. Runs on a worker.

    Raises
    ------
    CaptureError
        The block is not of the type that the array promises.
    StoreError
        This worker cannot write to the store.
    """
    import numpy as np  # noqa: PLC0415 - it is here: the block is its array

    array = np.asarray(block)
    fits = len(array.shape) == len(chunk_shape) and all(
        side <= most for side, most in zip(array.shape, chunk_shape, strict=False)
    )
    if array.dtype != np.dtype(expected) or not fits:
        raise CaptureError(
            "a dask array was not kept",
            because=f"its block {block_id} is an array of {array.dtype} and shape "
            f"{array.shape}, and the array says {np.dtype(expected)} in blocks of "
            f"{chunk_shape}",
            remedy="Name what map_blocks makes (dtype=, chunks=), or convert it.",
        )
    if array.shape != chunk_shape:
        padded = np.zeros(chunk_shape, dtype=expected)
        padded[tuple(slice(side) for side in array.shape)] = array
        array = padded
    flat = np.ascontiguousarray(array).reshape(-1).view("u1").data
    told = np.empty((1,) * len(chunk_shape), dtype=object)
    told[...] = sink.keep(block_id or ONLY, flat)
    return told


# -- frames ---------------------------------------------------------------------------


def _frame_job(value: Any, name: str, shelf: Shelf) -> _Job:
    dask: Any = importlib.import_module("dask")
    sink = shelf.table(name)
    write = dask.delayed(write_part, pure=False, traverse=False)
    work = [write(part, sink, at) for at, part in enumerate(value.to_delayed())]

    def finish(result: Sequence[tuple[bytes, int, str]]) -> Kept:
        digests = [
            shelf.adopt_part(sink, at, digest, length)
            for at, (digest, length, _) in enumerate(result)
        ]
        looks = [content for _, _, content in result]
        return kept_frame(digests, value._meta, value.divisions, looks)  # noqa: SLF001 - no public name

    return _Job(work, finish)


def write_part(part: Any, sink: Sink, number: int) -> tuple[bytes, int, str]:
    """Make a partition durable; return digest, length and content. Runs on a worker.

    Raises
    ------
    CaptureError
        Arrow cannot hold what is in it.
    StoreError
        This worker cannot write to the store.
    """
    data = _to_arrow(part, number)
    digest, length = sink.keep_part(number, data)
    if digest != chunk_digest(data):
        # another worker was first, and its work gave something else
        return digest, length, digest.hex()
    return digest, length, look(part, {}).digest or digest.hex()


def _to_arrow(part: Any, number: int) -> memoryview:
    arrow: Any = importlib.import_module("pyarrow")
    ipc: Any = importlib.import_module("pyarrow.ipc")
    frame = part if hasattr(part, "columns") else part.to_frame(SERIES)
    try:
        table = arrow.Table.from_pandas(frame)
        frequency = getattr(frame.index, "freqstr", None)
        if frequency:  # the one thing of an index that Arrow has no word for
            more = {**(table.schema.metadata or {}), FREQUENCY: frequency.encode()}
            table = table.replace_schema_metadata(more)
        sink = arrow.BufferOutputStream()
        options = ipc.IpcWriteOptions(compression="lz4")
        with ipc.new_stream(sink, table.schema, options=options) as writer:
            writer.write_table(table)
        data: memoryview = memoryview(sink.getvalue())
        same = look(from_arrow(data), {}).digest == look(frame, {}).digest
        because = "" if same else "it comes back from Arrow as another frame"
    except (arrow.ArrowException, TypeError, ValueError) as error:
        because = f"{type(error).__name__}: {error}"
    if because:
        raise CaptureError(
            f"partition {number} of a dask data frame was not kept",
            because=because,
            remedy="Give its columns types that Arrow has (astype), or delete the name "
            "at the end of the step.",
        )
    return data


# -- having it done -------------------------------------------------------------------


def numbered(key: int, result: Any) -> tuple[int, Any]:
    """Return a result with what it is the result of. Runs on a worker."""
    return key, result


def _computed(work: Mapping[int, Any]) -> dict[int, Any]:
    """Return the results of all work, done by whatever dask is set up to use.

    Raises
    ------
    CaptureError
        The work failed, or the cluster that did it is gone.
    """
    dask: Any = importlib.import_module("dask")
    client = _client()
    # A cluster gives results of several kinds of work in an order of its own.
    number = dask.delayed(numbered, pure=False)
    every = [number(key, one) for key, one in work.items()]
    try:
        if client is None:
            return dict(dask.compute(*every))
        return dict(_watched(client, every))
    except (NbresumeError, KeyboardInterrupt):
        raise
    except BaseException as error:
        # A cluster that is gone ends its work with an error of asyncio, which is no
        # Exception.
        raise CaptureError(
            "the work of dask collections failed",
            because=f"{type(error).__name__}: {error}",
            remedy=_REMEDY,
        ) from error


def _client() -> Any | None:
    """Return the client of the cluster that dask uses now; None if it uses none.

    Raises
    ------
    CaptureError
        Nobody can wait for it.
    """
    if "distributed" not in sys.modules:
        return None
    base: Any = importlib.import_module("dask.base")
    owner = getattr(base.get_scheduler(), "__self__", None)
    if not isinstance(owner, sys.modules["distributed"].Client):
        return None
    if owner.asynchronous:
        raise CaptureError(
            "dask collections were not stored",
            because="the client of the cluster is asynchronous",
            remedy="Make a Client without asynchronous=True, then type "
            "%steps commit NAME.",
        )
    return owner


def _watched(client: Any, work: list[Any]) -> Sequence[Any]:
    """Return what a cluster computes; give up when it has no workers any more."""
    distributed: Any = importlib.import_module("distributed")
    futures = client.compute(work)
    alone_since = None
    try:
        while True:
            try:
                distributed.wait(futures, timeout=_LOOK_S)
            except TimeoutError:
                alone_since = _alone(client, alone_since)
            else:
                break
        results: Sequence[Any] = client.gather(futures)
        return results
    finally:
        # to ask a cluster that is gone to cancel them would wait for it
        for future in futures:
            future.release()


def _alone(client: Any, since: float | None) -> float | None:
    """Return since when a cluster is without workers; None if it has some.

    Raises
    ------
    CaptureError
        It has been so for too long, or the client has given up.
    """
    now = time.monotonic()
    if _has_workers(client):
        return None
    since = now if since is None else since
    if now - since >= _ALONE_S or client.status == "closed":
        raise CaptureError(
            "the work of dask collections was given up",
            because=f"the cluster had no workers for {now - since:.0f} s, "
            f"its client is {client.status}",
            remedy=_REMEDY,
        )
    return since


def _has_workers(client: Any) -> bool:
    if client.status != "running":
        return False
    asked = client.scheduler.identity
    try:
        found = client.sync(asked, n_workers=1, callback_timeout=_LOOK_S)
    except (OSError, TimeoutError):
        return False  # who does not answer may be gone
    return bool(found["workers"])
