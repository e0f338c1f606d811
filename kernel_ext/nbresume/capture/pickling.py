"""Values → a pickle stream, its out-of-band buffers and the objects it refers to.

The rule: the C pickler does it, with our reducers; dill is called only here, and only
for what the C pickler refuses. Nothing is loaded to find out whether it can be, and a
type that would come back wrong is refused while it is pickled.
"""

import builtins
import io
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from nbresume.capture import denied
from nbresume.capture.alike import PROTOCOL, Alike, dump_alike
from nbresume.capture.atoms import importable, reducer_of, type_name
from nbresume.capture.buffers import Buffers
from nbresume.capture.definition_parts import reduce_iterator
from nbresume.capture.definitions import Definitions
from nbresume.capture.lazies import Kept, is_collection, stored
from nbresume.capture.own_dict import (
    held_dict,
    is_own_dict,
    reduce_held_dict,
    reduce_own_dict,
)
from nbresume.capture.registry import DEFAULT, make_registered
from nbresume.capture.unit_graph import Units
from nbresume.errors import CaptureError

NAMESPACE = "@namespace"
"""Stands in a stream for the live namespace."""
MAIN = "@main"
"""Stands in a stream for the module ``__main__``."""


_SPECIAL_HOMES = frozenset(
    {
        *("builtins", "types", "typing", "functools", "dataclasses", "os", "weakref"),
        *("_thread", "threading", "numpy", "pandas", "pyarrow", "polars", "torch"),
    }
)
"""Where it depends on the value, not on its type alone, how it is pickled."""


class OutOfBand(Struct, frozen=True):
    """One buffer that is stored beside the stream, as it lies in memory."""

    data: memoryview
    """Its bytes, C-contiguous and flat; they are the live object's."""
    dtype: str
    """NumPy's ``dtype.str`` of a plain array, else ``|u1``."""
    shape: tuple[int, ...]
    stored: str = ""
    """Digest of a payload that is durable already and stands for this buffer."""


class Dumped(Struct, frozen=True):
    """What `dump` made of one unit."""

    stream: bytes
    buffers: list[OutOfBand]
    refs: frozenset[str]
    """Object ids that the stream refers to."""


def dump(
    values: Sequence[Any],
    *,
    units: Mapping[int, str],
    namespace: Mapping[str, Any],
    alike: Alike | None = None,
    kept: Mapping[int, Kept] | None = None,
) -> Dumped:
    """Return one value, or several that form a circle (as a list), as a pickle.

    Objects whose id is in `units` are referred to by their object id, except `values`.
    With `alike`, the one value is known to consist of Python's own containers and
    leaves, of plain instances of some classes, and of no unit but itself and these:
    only the classes are asked about. `kept` are the collections that workers have
    stored, by their id().

    Raises
    ------
    CaptureError
        The value, or something in it, cannot be kept.
    """
    try:
        if alike is not None and all(
            id(kind) in units or importable(kind) for kind in alike.kinds
        ):
            stream, refs = dump_alike(values[0], alike, units)
            return Dumped(stream, [], refs)
        return _Dump(values, units, namespace, kept or {}).run(_Pickler)
    except CaptureError:
        raise
    except RecursionError as error:
        raise _refusal(values, "it is nested too deep") from error
    except (Exception, SystemExit) as error:  # noqa: BLE001 - anybody's code
        first = error
    try:
        return _Dump(values, units, namespace, kept or {}).run(_dill_pickler())
    except CaptureError:
        raise
    except (Exception, SystemExit) as error:
        # The C pickler's words name the culprit, dill's only the place.
        raise _refusal(values, f"{type(first).__name__}: {first}") from error


def dump_atoms(atoms: Mapping[str, Any]) -> bytes:
    """Return names and their small immutable values as one pickle."""
    return pickle.dumps(dict(atoms), PROTOCOL)


def _refusal(values: Sequence[Any], because: str) -> CaptureError:
    what = " and ".join(dict.fromkeys(map(type_name, values)))
    return CaptureError(
        f"a value of type {what}", because=because, remedy=denied.REMEDY
    )


class _Pickler(pickle.Pickler):
    """The C pickler, with room for hooks of its own."""


class _Dump:
    """One pickle in the making."""

    def __init__(
        self,
        values: Sequence[Any],
        units: Mapping[int, str],
        namespace: Mapping[str, Any],
        kept: Mapping[int, Kept],
    ) -> None:
        self._values = values
        self._kept = kept
        self._marks: dict[int, tuple[bytearray, str]] = {}
        """id() of a buffer → the buffer, and the digest of what it stands for."""
        self._units = units
        self._own = own = frozenset(map(id, values))
        self._refs: set[str] = set()
        self._definitions = Definitions(units, own, namespace)
        self._arrays = Buffers(units)
        self._buffers: list[OutOfBand] = []
        self._plain: set[type] = set()
        """Types whose values are left to Python's own way."""
        main = sys.modules.get("__main__")
        self._special = {id(namespace): NAMESPACE}
        if main is not None:
            self._special |= {id(main): MAIN, id(main.__dict__): NAMESPACE}

    def run(self, kind: Any) -> Dumped:
        """Return the pickle that a pickler of this kind writes."""
        file = io.BytesIO()
        pickler = kind(file, PROTOCOL, buffer_callback=self.lend)
        pickler.persistent_id = self._referrer()
        pickler.reducer_override = self.reduce
        pickler.dump(self._values[0] if len(self._values) == 1 else list(self._values))
        return Dumped(file.getvalue(), self._buffers, frozenset(self._refs))

    def _referrer(self) -> Callable[[Any], str | None]:
        """Return what is asked for every object of the stream: kept short."""
        units, refer = self._units, self.refer
        named, rest = units.tables() if isinstance(units, Units) else (units, ())
        few = frozenset((*rest, *self._special))
        found: dict[int, str | None] = {}
        """What was answered: a hundred thousand instances have one class."""

        def find(value: Any) -> str | None:
            key = id(value)
            if key not in named and key not in few:
                return None
            if key not in found:
                found[key] = refer(value)
            return found[key]

        return find

    def refer(self, value: Any) -> str | None:
        """Return the object id of what is cut out of the stream."""
        key = id(value)
        if key in self._units:
            if key in self._own:
                return None
            object_id = self._units[key]
            self._refs.add(object_id)
            return object_id
        return self._special.get(key)

    def lend(self, buffer: pickle.PickleBuffer) -> None:
        """Take a buffer out of the stream."""
        with memoryview(buffer) as view:
            mark = self._marks.get(id(view.obj))
        if mark is not None:
            self._buffers.append(OutOfBand(memoryview(b""), "|u1", (0,), mark[1]))
            return
        dtype, shape = self._arrays.describe(buffer)
        data = buffer.raw()
        self._buffers.append(OutOfBand(data.cast("B"), dtype, shape))

    def reduce(self, value: Any) -> Any:
        """Return how a value is pickled, or that Python's own way is right."""
        kind = type(value)
        if kind in self._plain:
            return _plainly(value)
        reduced = self._described(value, kind)
        if reduced is NotImplemented:
            reduced = self._definitions.reduce(value)
        if reduced is not NotImplemented:
            return reduced
        denied.refuse(value)
        reduced = self._arrays.reduce(value)
        if reduced is not NotImplemented or isinstance(value, type):
            return reduced
        if _has_own_way(kind) or denied.has_own_code(kind):
            return _named(value)
        if is_own_dict(value):
            return reduce_own_dict(value)
        home = kind.__module__.partition(".")[0]
        if not issubclass(kind, dict) and home not in _SPECIAL_HOMES:
            self._plain.add(kind)
        return _plainly(value)

    def _described(self, value: Any, kind: type) -> Any:
        """Return how a value is pickled that stands for something outside of it."""
        rebuilder = DEFAULT.find(kind)
        if rebuilder is not None:
            described = (rebuilder.kind, rebuilder.rebuild, rebuilder.describe(value))
            return make_registered, described
        kept = self._kept.get(id(value))
        if kept is None and is_collection(value):
            kept = stored(value)
        return NotImplemented if kept is None else self._collection(kept)

    def _collection(self, kept: Kept) -> Any:
        """Return how a collection is pickled: payloads as buffers, and what is over."""
        marks = [(bytearray(1), digest) for digest in kept.payloads]
        self._marks |= {id(mark[0]): mark for mark in marks}
        buffers = [pickle.PickleBuffer(mark) for mark, _ in marks]
        return kept.make, (*buffers, *kept.arguments)


def _plainly(value: Any) -> Any:
    """Leave a value to Python's own way, unless something else holds its attributes."""
    if held_dict(value) is None:
        return NotImplemented
    return reduce_held_dict(value, PROTOCOL)


def _has_own_way(kind: type) -> bool:
    if reducer_of(kind) is not None:
        return False
    default: Any = object
    return (
        kind.__reduce_ex__ is not default.__reduce_ex__
        or kind.__reduce__ is not default.__reduce__
    )


def _named(value: Any) -> Any:
    """Return a value's own reduction; refuse a name that no import would find."""
    kind = type(value)
    if kind.__module__ == "itertools":
        return reduce_iterator(value)
    if denied.has_own_code(kind):
        reduced = denied.reduce_unchanged(value, PROTOCOL)
    else:
        reduced = value.__reduce_ex__(PROTOCOL)
    if isinstance(reduced, str) and not importable(value):
        module = getattr(value, "__module__", None)
        built_in = getattr(builtins, reduced, None) is value
        if module in (None, "__main__") and not built_in:
            raise CaptureError(
                f"a {type_name(value)} made in the notebook",
                because=f"it pickles as the name {reduced!r}, which no import finds",
                remedy=denied.REMEDY,
            )
    return reduced


def _dill_pickler() -> Any:
    import dill  # noqa: PLC0415 - a second's work, and hardly ever needed

    class Pickler(dill.Pickler):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, recurse=False, byref=False, **options)

        def save(self, obj: Any, save_persistent_id: Any = True) -> None:  # noqa: FBT002
            # dill compares each dict with == to the namespace, and takes an equal
            # copy for the live one.
            if type(obj) is dict and self.persistent_id(obj) is None:
                known = self.memo.get(id(obj))
                if known is None:
                    pickle._Pickler.save_dict(self, obj)  # type: ignore[attr-defined]  # noqa: SLF001
                else:
                    self.write(self.get(known[0]))
            else:
                super().save(obj, save_persistent_id)

    return Pickler
