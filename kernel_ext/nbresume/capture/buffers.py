"""Arrays, frames, Arrow data and tensors: how they are pickled out of band.

The rule: libraries are looked up among the loaded modules, never imported; what is
stored never drags the rest of a parent along; what an array shares with an object that
has an id of its own stays shared. The ``make_…`` functions are named in stored
streams: they are part of the stored format and are never renamed.
"""

import importlib
import pickle
from collections.abc import Callable, Mapping
from typing import Any

from nbresume.capture.arrays import PLAIN_KINDS, address, loaded, owners, write_arrow
from nbresume.capture.denied import REMEDY
from nbresume.errors import CaptureError

_SLACK_BYTES = 4096


# -- what streams name ------------------------------------------------------------


def make_view(
    owner: Any,
    offset: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: Any,
    writeable: object,
) -> Any:
    """Return a view of the memory of another array."""
    flat = owner if owner.flags.c_contiguous else owner.T
    raw = flat.reshape(-1).view("u1")
    view = loaded("numpy").ndarray(
        shape, dtype, buffer=raw, offset=offset, strides=strides
    )
    if not writeable:
        view.flags.writeable = False
    return view


def make_typed(raw: Any, dtype: str) -> Any:
    """Return the same memory with another type of elements."""
    return raw.view(dtype)


def make_masked(data: Any, mask: Any, fill: Any, hard: object) -> Any:
    """Return a masked array."""
    ma = loaded("numpy").ma
    masked = ma.MaskedArray(data, ma.nomask if mask is None else mask, fill_value=fill)
    if hard:
        masked.harden_mask()
    return masked


def make_arrow(data: Any) -> Any:
    """Return the one column of an Arrow stream."""
    pyarrow: Any = importlib.import_module("pyarrow")

    table = pyarrow.ipc.open_stream(pyarrow.py_buffer(data)).read_all()
    column = table.column(0)
    chunks = column.num_chunks
    return column.chunk(0) if chunks else pyarrow.array([], column.type)


def make_polars(table: Any, name: str | None) -> Any:
    """Return a polars frame, or the series of that name."""
    polars: Any = importlib.import_module("polars")

    frame = polars.from_arrow(table)
    return frame if name is None else frame.to_series().alias(name)


def make_tensor(
    raw: Any,
    dtype: str,
    offset: int,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    grad: object,
    parameter: object,
) -> Any:
    """Return a tensor over a storage."""
    torch: Any = importlib.import_module("torch")

    tensor = torch.empty(0, dtype=getattr(torch, dtype))
    tensor.set_(torch.from_numpy(raw).untyped_storage(), offset, shape, stride)
    if parameter:
        return torch.nn.Parameter(tensor, requires_grad=bool(grad))
    return tensor.requires_grad_(bool(grad))


def make_tensor_view(
    base: Any, offset: int, shape: tuple[int, ...], stride: tuple[int, ...]
) -> Any:
    """Return a view of another tensor."""
    return base.as_strided(shape, stride, offset)


# -- for the pickler ----------------------------------------------------------------


class Buffers:
    """The reducers of one pickle; `units` are the objects that are cut out of it."""

    def __init__(self, units: Mapping[int, str]) -> None:
        self._units = units
        self._storages: dict[int, Any] = {}
        self._dtypes: dict[int, str] = {}
        self._lent: dict[int, Any] = {}
        self._kept: list[Any] = []

    def reduce(self, value: Any) -> Any:
        """Return how an array-like value is pickled; NotImplemented if it is none.

        Raises
        ------
        CaptureError
            A tensor that is part of a graph of operations.
        """
        library = type(value).__module__.partition(".")[0]
        reduce = self._reducers().get(library)
        return NotImplemented if reduce is None else reduce(value)

    def describe(self, buffer: pickle.PickleBuffer) -> tuple[str, tuple[int, ...]]:
        """Return type and shape of a plain array's buffer; else those of its bytes."""
        with memoryview(buffer) as view:
            array: Any = view.obj
            nbytes = view.nbytes
        numpy = loaded("numpy")
        if numpy is not None and type(array) is numpy.ndarray:
            lent = self._dtypes.get(address(array)) if array.dtype == "i8" else None
            if array.dtype.kind in PLAIN_KINDS:
                return lent or array.dtype.str, array.shape
        return "|u1", (nbytes,)

    def _reducers(self) -> Mapping[str, Callable[[Any], Any]]:
        return {
            "numpy": self._numpy,
            "pandas": self._pandas,
            "pyarrow": _reduce_arrow,
            "polars": _reduce_polars,
            "torch": self._torch,
        }

    def _numpy(self, value: Any) -> Any:
        numpy = loaded("numpy")
        if type(value) is numpy.ma.MaskedArray:
            mask = None if value.mask is numpy.ma.nomask else numpy.asarray(value.mask)
            data = numpy.ma.getdata(value)
            return make_masked, (data, mask, value.fill_value, value.hardmask)
        if type(value) is not numpy.ndarray or value.dtype.hasobject:
            return NotImplemented
        owner = None if id(value) in self._lent else self._owner(value)
        if owner is not None:
            return self._view(value, owner)
        if not (value.flags.c_contiguous or value.flags.f_contiguous):
            value = numpy.ascontiguousarray(value)
        if value.dtype.kind in "mM" and value.size:
            return self._retyped(value)
        return value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)

    def _owner(self, value: Any) -> Any:
        """Return the nearest array below a view that is an object of its own."""
        kind = type(value)
        base = value.base
        while isinstance(base, kind):
            whole = base.flags.c_contiguous or base.flags.f_contiguous
            if id(base) in self._units and type(base) is kind and whole:
                return base if base.size and value.size else None
            base = base.base
        return None

    def _view(self, value: Any, owner: Any) -> Any:
        offset = address(value) - address(owner)
        fields = (offset, value.shape, value.strides, value.dtype)
        return make_view, (owner, *fields, value.flags.writeable)

    def _retyped(self, value: Any) -> Any:
        # NumPy lends dates only as integers, so that is what goes out of band.
        raw = value.view("i8")
        self._dtypes[address(raw)] = value.dtype.str
        self._lent[id(raw)] = raw  # kept: an id must not be used again in a pickle
        return make_typed, (raw, value.dtype.str)

    def _pandas(self, value: Any) -> Any:
        # pandas counts who shares a block, and copies on write. A block that came back
        # on shared memory without that count would write through to other frames.
        if type(value).__module__ != "pandas.core.internals.blocks":
            return NotImplemented
        make, (values, *rest) = value.__reduce__()
        array = getattr(values, "_ndarray", values)
        if any(id(owner) in self._units for owner in owners(array)):
            values = self._apart(values)
        return make, (values, *rest)

    def _apart(self, values: Any) -> Any:
        """Return an object of its own over the same memory, to be stored by itself."""
        if type(values) is not loaded("numpy").ndarray:
            values = values.copy()
            self._kept.append(values)
            return values
        # No copy: the columns of any frame are views of its blocks, and those large.
        view = values.view()
        self._lent[id(view)] = view
        return view

    def _torch(self, value: Any) -> Any:
        torch = loaded("torch")
        if not isinstance(value, torch.Tensor):
            return NotImplemented
        if value.grad_fn is not None:
            raise CaptureError(
                "a torch tensor with a graph of operations",
                because="the graph would be lost",
                remedy=f"Keep tensor.detach() instead. {REMEDY}",
            )
        plain = type(value) in (torch.Tensor, torch.nn.Parameter)
        if not plain or value.device.type != "cpu" or value.layout is not torch.strided:
            return NotImplemented
        place = (value.storage_offset(), tuple(value.shape), value.stride())
        base = value._base  # noqa: SLF001 - torch has no public name for it
        if base is not None and id(base) in self._units:
            return make_tensor_view, (base, *place)
        dtype = str(value.dtype).partition(".")[2]
        parameter = type(value) is torch.nn.Parameter
        fields = (dtype, *place, value.requires_grad, parameter)
        return make_tensor, (self._storage(value), *fields)

    def _storage(self, tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        raw = self._storages.get(storage.data_ptr())
        if raw is None:
            torch = loaded("torch")
            raw = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
            self._storages[storage.data_ptr()] = raw
        return raw


def _reduce_arrow(value: Any) -> Any:
    arrow = loaded("pyarrow")
    if not isinstance(value, arrow.Array):
        return NotImplemented
    whole, part = value.get_total_buffer_size(), value.nbytes
    if whole <= 2 * part + _SLACK_BYTES or isinstance(value, arrow.ExtensionArray):
        return NotImplemented
    # A slice pickles its whole parent; a stream holds what the slice shows.
    sink = arrow.BufferOutputStream()
    write_arrow(value, sink)
    return make_arrow, (pickle.PickleBuffer(sink.getvalue()),)


def _reduce_polars(value: Any) -> Any:
    polars = loaded("polars")
    if loaded("pyarrow") is None or type(value) not in (
        polars.DataFrame,
        polars.Series,
    ):
        return NotImplemented
    name = None if type(value) is polars.DataFrame else value.name
    frame = value if name is None else value.to_frame()
    newest = polars.CompatLevel.newest()
    return make_polars, (frame.to_arrow(compat_level=newest), name)
