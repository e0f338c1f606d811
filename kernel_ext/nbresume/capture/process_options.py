"""Options and random generators of libraries, as plain data, and how they are set.

The rule: a library is looked up among the loaded modules, never imported. What cannot
be said in plain data (a function as an option) is marked opaque, so that a change of it
is seen and told, and never stored.
"""

import enum
import numbers
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from nbresume.capture.atoms import type_name

OPAQUE = "opaque"
_SCALARS = frozenset({str, int, float, bool, bytes, type(None)})

_NUMPY_PRINT = {
    "edgeitems": 3,
    "threshold": 1000,
    "floatmode": "maxprec",
    "precision": 8,
    "suppress": False,
    "linewidth": 75,
    "nanstr": "nan",
    "infstr": "inf",
    "sign": "-",
    "formatter": None,
    "legacy": False,
    "override_repr": None,
}
_NUMPY_ERR = {
    "divide": "warn",
    "over": "warn",
    "under": "ignore",
    "invalid": "warn",
    "call": None,
}
_RC_OF_THE_KERNEL = frozenset({"backend", "backend_fallback", "interactive"})
"""Set by the inline backend at its first use: restored, they would hide figures."""
_SMALL_SEED = 2**32
"""People seed with less; a library that seeds itself almost never does."""


def plain(value: Any) -> Any:
    """Return a value as scalars and tagged tuples; equal for equal values."""
    kind = type(value)
    if kind in _SCALARS:
        return value
    if kind is list or kind is tuple:
        return (kind.__name__, tuple(map(plain, value)))
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return float(value)
    return _plain_object(value)


def _plain_object(value: Any) -> Any:
    if type(value) is dict and all(type(key) is str for key in value):
        return ("dict", tuple((key, plain(value[key])) for key in sorted(value)))
    owner = getattr(value, "__self__", None)
    if type(value) is types.BuiltinMethodType and type(owner) is str:
        # "{:.2f}".format is what people set as the format of floats.
        return ("method", owner, value.__name__)
    if type(value).__module__.partition(".")[0] == "cycler":
        # Its keys are a set: their order would follow the hash seed.
        pairs = sorted(value.by_key().items())
        return ("cycler", tuple((key, plain(kids)) for key, kids in pairs))
    if type_name(value) == "numpy.ndarray" and value.dtype.kind in "iu":
        return ("array", value.dtype.str, value.shape, value.tobytes())
    return (OPAQUE, type_name(value), id(value))


def revive(state: Any) -> Any:
    """Return the value of which `plain` made a state."""
    if type(state) is not tuple:
        return state
    tag, *rest = state
    if tag == "method":
        return getattr(rest[0], rest[1])
    if tag == "array":
        dtype, shape, data = rest
        return sys.modules["numpy"].frombuffer(data, dtype).reshape(shape).copy()
    if tag in ("dict", "cycler"):
        pairs = {key: revive(kid) for key, kid in rest[0]}
        return pairs if tag == "dict" else sys.modules["cycler"].cycler(**pairs)
    kids = [revive(kid) for kid in rest[0]]
    return kids if tag == "list" else tuple(kids)


def find_opaque(state: Any) -> str | None:
    """Return the type of something in a state that cannot be stored, else None."""
    if type(state) is not tuple:
        return None
    if state[:1] == (OPAQUE,):
        return str(state[1])
    return next(filter(None, map(find_opaque, state)), None)


class LibraryState(Struct, frozen=True):
    """One process state that a library holds."""

    library: str
    """The top-level module that has to be loaded."""
    home: str
    """The module that holds the state; it may be loaded later than the library."""
    read: Callable[[Any], Any]
    """home → its state."""
    write: Callable[[Any, Any], None]
    """Set a state, given the home."""
    defaults: Callable[[Any, Any], Any]
    """home, state → that state as the import of the library makes it."""
    by_key: bool
    """The state is a dict of options, of which a step changes some."""

    def find_home(self) -> Any:
        """Return the module if it is loaded to its end, else None."""
        return _loaded(self.home)

    def is_loaded(self) -> bool:
        """Tell whether the library is there, so that its home may be completed."""
        return _loaded(self.library) is not None


def _loaded(name: str) -> Any:
    module = sys.modules.get(name)
    if getattr(getattr(module, "__spec__", None), "_initializing", False):
        return None
    return module


def _read_numpy_rng(mtrand: Any) -> Any:
    # A tuple for speed: the only generator that most people ever meet.
    state = mtrand.get_state(legacy=False)
    if state["bit_generator"] != "MT19937":
        return (state["bit_generator"], plain(state))
    inner = state["state"]
    key = inner["key"].astype("<u4", copy=False).tobytes()
    return ("MT19937", key, inner["pos"], state["has_gauss"], state["gauss"])


def _write_numpy_rng(mtrand: Any, state: Any) -> None:
    name = state[0]
    numpy = sys.modules["numpy"]
    if numpy.random.get_bit_generator().state["bit_generator"] != name:
        numpy.random.set_bit_generator(getattr(numpy.random, name)())
    if name == "MT19937":
        state = (name, numpy.frombuffer(state[1], "<u4"), *state[2:])
        mtrand.set_state(state)
    else:
        mtrand.set_state(revive(state[1]))


def _fresh_numpy_rng(_mtrand: Any, state: Any) -> Any:
    # NumPy seeds itself so; neither seed() nor a draw leaves the two marks together.
    fresh = state[0] == "MT19937" and state[2] == 623  # noqa: PLR2004
    return state if fresh and state[1][:4] == b"\x00\x00\x00\x80" else None


def _read_torch_rng(torch: Any) -> Any:
    return torch.get_rng_state().numpy().tobytes()


def _write_torch_rng(torch: Any, state: Any) -> None:
    torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))


def _fresh_torch_rng(torch: Any, state: Any) -> Any:
    seed = torch.initial_seed()
    if seed < _SMALL_SEED:
        return None
    untouched = torch.Generator().manual_seed(seed).get_state()
    return state if untouched.numpy().tobytes() == state else None


def _read_numpy_print(numpy: Any) -> Any:
    return {key: plain(value) for key, value in numpy.get_printoptions().items()}


def _write_numpy_print(numpy: Any, state: Any) -> None:
    # Whatever is not given is kept, but for two options, which would be reset.
    options = {key: revive(value) for key, value in state.items()}
    numpy.set_printoptions(**{**numpy.get_printoptions(), **options})


def _read_numpy_err(numpy: Any) -> Any:
    return {**numpy.geterr(), "call": plain(numpy.geterrcall())}


def _write_numpy_err(numpy: Any, state: Any) -> None:
    options = dict(state)
    if "call" in options:
        numpy.seterrcall(options.pop("call"))
    numpy.seterr(**options)


def _read_pandas(config: Any) -> Any:
    # Reading through get_option warns of each deprecated option.
    found: dict[str, Any] = {}
    _flatten(config._global_config, "", found)  # noqa: SLF001
    return found


def _flatten(options: Mapping[str, Any], prefix: str, found: dict[str, Any]) -> None:
    for key, value in options.items():
        if type(value) is dict:
            _flatten(value, f"{prefix}{key}.", found)
        else:
            found[prefix + key] = value if type(value) in _SCALARS else plain(value)


def _write_pandas(config: Any, state: Any) -> None:
    _write_each(config.set_option, state)


def _default_pandas(config: Any, _state: Any) -> Any:
    registered = config._registered_options  # noqa: SLF001
    return {key: plain(option.defval) for key, option in registered.items()}


def _read_matplotlib(matplotlib: Any) -> Any:
    # The items of dict: those of RcParams resolve the backend and warn.
    return _rc(matplotlib.rcParams)


def _rc(params: Any) -> dict[str, Any]:
    return {
        key: value if type(value) in _SCALARS else plain(value)
        for key, value in dict.items(params)
        if key not in _RC_OF_THE_KERNEL
    }


def _write_matplotlib(matplotlib: Any, state: Any) -> None:
    options = {k: v for k, v in state.items() if k not in _RC_OF_THE_KERNEL}
    _write_each(matplotlib.rcParams.__setitem__, options)


def _default_matplotlib(matplotlib: Any, _state: Any) -> Any:
    # With the user's own file of settings, which every kernel reads.
    known = getattr(matplotlib, "rcParamsOrig", None)
    return _rc(matplotlib.rcParamsDefault if known is None else known)


def _write_each(put: Callable[[str, Any], Any], state: Mapping[str, Any]) -> None:
    """Set every option that can be set, then raise for those that cannot."""
    refused = []
    for key, value in state.items():
        try:
            put(key, revive(value))
        except Exception as error:  # noqa: BLE001 - validators are the library's code
            refused.append(f"{key} ({error})")
    if refused:
        raise ValueError("; ".join(refused))


LIBRARIES: Mapping[str, LibraryState] = {
    "rng:numpy": LibraryState(
        "numpy",
        "numpy.random.mtrand",
        _read_numpy_rng,
        _write_numpy_rng,
        _fresh_numpy_rng,
        by_key=False,
    ),
    "rng:torch": LibraryState(
        "torch",
        "torch",
        _read_torch_rng,
        _write_torch_rng,
        _fresh_torch_rng,
        by_key=False,
    ),
    "numpy.print": LibraryState(
        "numpy",
        "numpy",
        _read_numpy_print,
        _write_numpy_print,
        lambda _numpy, _state: _NUMPY_PRINT,
        by_key=True,
    ),
    "numpy.err": LibraryState(
        "numpy",
        "numpy",
        _read_numpy_err,
        _write_numpy_err,
        lambda _numpy, _state: _NUMPY_ERR,
        by_key=True,
    ),
    "pandas.options": LibraryState(
        "pandas",
        "pandas._config.config",
        _read_pandas,
        _write_pandas,
        _default_pandas,
        by_key=True,
    ),
    "matplotlib.rc": LibraryState(
        "matplotlib",
        "matplotlib",
        _read_matplotlib,
        _write_matplotlib,
        _default_matplotlib,
        by_key=True,
    ),
}
"""Name of a process state → how the library is asked for it."""
