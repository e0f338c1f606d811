"""Arrays, frames, Arrow data and tensors as the canonical walk sees them.

The rule: type, shape and content count, never how the memory lies: strides, chunks,
slices and caches do not. Libraries are looked up among the loaded modules, never
imported. Memory that is shared with something else is told to the walk.
"""

import io
import sys
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import blake3

from nbresume.capture.atoms import Parts, tag_of
from nbresume.capture.fingerprints import FINGERPRINTS
from nbresume.model.digests import joined
from nbresume.model.grids import grid_of
from nbresume.model.threads import in_threads

PLAIN_KINDS = frozenset("biufcmM")
"""Kinds of NumPy types whose bytes are the values."""


def loaded(name: str) -> Any:
    """Return the module if the notebook loaded it, else None."""
    return sys.modules.get(name)


def address(array: Any) -> int:
    """Return where the memory of an array begins."""
    begin: int = array.__array_interface__["data"][0]
    return begin


def parts(value: Any) -> Parts | None:
    """Return what an array-like value consists of; None if it is none."""
    if type(value) is bytearray:
        return Parts(b"bytearray" + digest(value), seen=[value])
    for find in _finders(type(value)):
        found = find(value)
        if found is not None:
            return found
    return None


def is_known(kind: type) -> bool:
    """Say whether values of a class may be array-like."""
    return kind is bytearray or bool(_finders(kind))


def _finders(kind: type) -> list[Callable[[Any], Parts | None]]:
    known = _by_type.get(kind)
    if known is None:
        homes = {base.__module__.partition(".")[0] for base in kind.__mro__}
        known = [find for library, find in _FINDERS.items() if library in homes]
        _by_type[kind] = known
    return known


_by_type: "weakref.WeakKeyDictionary[type, list[Callable[[Any], Parts | None]]]" = (
    weakref.WeakKeyDictionary()
)


def digest(data: Any) -> bytes:
    """Return the digest of a buffer; large ones are digested in two threads."""
    flat = memoryview(data).cast("B")
    return FINGERPRINTS.of(flat, grid_of((flat.nbytes,), 1)).raw


def _numpy_parts(value: Any) -> Parts | None:
    numpy = loaded("numpy")
    if isinstance(value, numpy.ma.MaskedArray):
        data = numpy.ma.getdata(value)
        tag = tag_of("masked", value.hardmask)
        kids = [data, numpy.ma.getmaskarray(value), value.fill_value]
        return Parts(tag, kids, seen=list(owners(value)))
    if isinstance(value, numpy.ndarray):
        kind = type(value)
        tag = tag_of(
            "array", kind.__module__, kind.__qualname__, value.dtype.__repr__()
        )
        return _array_parts(value, tag + tag_of(value.shape))
    token = scalar_token(value)
    return Parts(token) if token else None


def scalar_token(value: Any) -> bytes:
    """Return the token of a NumPy scalar whose bytes are its value; nothing else's."""
    if isinstance(value, loaded("numpy").generic) and value.dtype.kind in PLAIN_KINDS:
        content: bytes = value.tobytes()
        return b"\3" + tag_of("scalar", value.dtype.str) + content
    return b""


def _array_parts(array: Any, tag: bytes) -> Parts:
    seen = list(owners(array))
    if array.dtype.hasobject:
        return Parts(tag, array.ravel().tolist(), seen=seen)
    return Parts(tag + _content(loaded("numpy").asarray(array)), seen=seen)


def _content(array: Any) -> bytes:
    """Return the digest of the bytes in C order, cut as they are cut to be stored.

    A strided array is copied piece by piece.
    """
    grid = grid_of(array.shape, array.dtype.itemsize)
    if array.flags.c_contiguous:
        return FINGERPRINTS.of_array(array, _bytes(array), grid).raw
    if grid.count < 2:  # noqa: PLR2004 - it is not cut
        return FINGERPRINTS.of(_bytes(array), grid).raw
    before = (0,) * grid.axis
    starts = range(0, array.shape[grid.axis], grid.rows)

    def digest_at(start: int) -> bytes:
        return FINGERPRINTS.chunk(
            _bytes(array[(*before, slice(start, start + grid.rows))])
        )

    return joined(in_threads(digest_at, starts)).raw


def _bytes(array: Any) -> memoryview:
    whole = loaded("numpy").ascontiguousarray(array)
    if not whole.nbytes:
        return memoryview(b"")
    view: memoryview = whole.reshape(-1).view("u1").data
    return view


def owners(array: Any) -> Iterator[Any]:
    """Yield an array and what it stands on, down to the owner of the memory."""
    base = array
    while base is not None:
        yield base
        base = base.obj if isinstance(base, memoryview) else getattr(base, "base", None)


def _pandas_parts(value: Any) -> Parts | None:
    pandas = loaded("pandas")
    if isinstance(value, pandas.DataFrame):
        return _frame_parts(value)
    if isinstance(value, pandas.Series):
        kids = [value.name, value.index, value.array, value.attrs]
        return _labelled(value, kids, [value.array])
    if isinstance(value, pandas.Index):
        return _index_parts(value)
    if isinstance(value, pandas.api.extensions.ExtensionArray):
        return _column_parts(value)
    return None


def _frame_parts(frame: Any) -> Parts:
    columns = [column.array for _, column in frame.items()]
    kids = [frame.columns, frame.index, frame.attrs, *columns]
    return _labelled(frame, kids, columns)


def _labelled(value: Any, kids: list[Any], columns: list[Any]) -> Parts:
    kind = type(value)
    # A subclass of a library (GeoPandas) names here what else it carries along.
    extra = [name for name in value._metadata if name not in ("name", "_name")]  # noqa: SLF001
    kids = [*kids, *(getattr(value, name, None) for name in extra)]
    unique = value.flags.allows_duplicate_labels
    tag = tag_of(
        "frame", kind.__module__, kind.__qualname__, unique, len(columns), extra
    )
    owners = [owner for column in columns for owner in _columnowners(column)]
    return Parts(tag, kids, seen=[value, *owners])


def _columnowners(column: Any) -> Iterator[Any]:
    if type(column).__name__ == "NumpyExtensionArray":
        yield from owners(column.to_numpy())


def _index_parts(index: Any) -> Parts:
    pandas = loaded("pandas")
    kind = type(index)
    tag = tag_of("index", kind.__module__, kind.__qualname__)
    if isinstance(index, pandas.RangeIndex):
        return Parts(tag, [index.name, index.start, index.stop, index.step])
    if isinstance(index, pandas.MultiIndex):
        levels = [index.get_level_values(at).array for at in range(index.nlevels)]
        return Parts(tag + tag_of(len(levels)), [*index.names, *levels])
    freq = getattr(index, "freq", None)
    kids = [index.name, index.array, freq and freq.freqstr]
    return Parts(tag, kids)


def _column_parts(column: Any) -> Parts | None:
    kind = type(column).__name__
    tag = tag_of("column", kind, column.dtype)
    expand = _COLUMNS.get(kind)
    if expand is not None:
        return Parts(tag, expand(column))
    if hasattr(column, "__arrow_array__") and hasattr(column, "_pa_array"):
        return Parts(tag, [column._pa_array])  # noqa: SLF001 - no copy is made
    if hasattr(column, "_mask"):  # Int64, boolean, Float64: what is masked is noise
        numpy = loaded("numpy")
        mask = numpy.asarray(column.isna())
        data = numpy.where(mask, column._data.dtype.type(0), column._data)  # noqa: SLF001
        return Parts(tag, [data, mask])
    return None


_COLUMNS: Mapping[str, Callable[[Any], list[Any]]] = {
    "NumpyExtensionArray": lambda column: [column.to_numpy()],
    "DatetimeArray": lambda column: [column.asi8],
    "TimedeltaArray": lambda column: [column.asi8],
    "PeriodArray": lambda column: [column.asi8],
    "Categorical": lambda column: [column.codes, column.categories, column.ordered],
    "IntervalArray": lambda column: [column.left, column.right],
    "StringArray": lambda column: [column.to_numpy(object, na_value=None)],
}


def _arrow_parts(value: Any) -> Parts | None:
    arrow = loaded("pyarrow")
    kind = type(value).__name__
    if isinstance(value, arrow.Array):
        return Parts(tag_of("arrow", value.type) + _arrow_digest(value), seen=[value])
    if isinstance(value, arrow.ChunkedArray):
        # How a column is cut into chunks is no part of its value.
        whole = value.chunk(0) if value.num_chunks == 1 else value.combine_chunks()
        if isinstance(whole, arrow.ChunkedArray):
            return Parts(tag_of("chunks", value.type), whole.chunks, seen=[value])
        return Parts(tag_of("arrow", value.type) + _arrow_digest(whole), seen=[value])
    if isinstance(value, arrow.Table | arrow.RecordBatch):
        names = [field.name for field in value.schema]
        kids = [value.schema.serialize().to_pybytes(), *value.columns]
        return Parts(tag_of(kind, *names), kids, seen=[value])
    return None


def write_arrow(value: Any, sink: Any) -> None:
    """Write an array as an Arrow stream of one column: only what it shows."""
    arrow = loaded("pyarrow")
    if value.get_total_buffer_size() != value.nbytes:
        # Arrow writes a slice with a rest of its parent, up to the next 64 bytes.
        value = arrow.concat_arrays([value, value[:0]])
    batch = arrow.RecordBatch.from_arrays([value], ["value"])
    with arrow.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)


class _Hashed(io.RawIOBase):
    """A file that is only hashed."""

    def __init__(self) -> None:
        super().__init__()
        self.hasher = blake3.blake3()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self.hasher.update(data)
        return len(data)


def _arrow_digest(array: Any) -> bytes:
    sink = _Hashed()
    write_arrow(array, sink)
    return sink.hasher.digest()


def _polars_parts(value: Any) -> Parts | None:
    polars = loaded("polars")
    if not isinstance(value, polars.DataFrame | polars.Series):
        return None
    frame = value if isinstance(value, polars.DataFrame) else value.to_frame()
    sink = io.BytesIO()
    frame.rechunk().write_ipc(sink)
    tag = tag_of("polars", type(value).__name__, [*frame.schema.items()])
    return Parts(tag + digest(sink.getbuffer()), seen=[value])


def _torch_parts(value: Any) -> Parts | None:
    torch = loaded("torch")
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return None
    kind = type(value).__name__
    tag = tag_of(kind, value.dtype, tuple(value.shape), value.requires_grad)
    raw = value.detach().cpu().contiguous().reshape(-1)
    base = value if value._base is None else value._base  # noqa: SLF001 - no public name
    content = raw.view(torch.uint8).numpy() if raw.numel() else b""
    grad = value.grad if value.is_leaf else None
    return Parts(tag, [content, grad], seen=[value, base])


_FINDERS: Mapping[str, Callable[[Any], Parts | None]] = {
    "numpy": _numpy_parts,
    "pandas": _pandas_parts,
    "pyarrow": _arrow_parts,
    "polars": _polars_parts,
    "torch": _torch_parts,
}
