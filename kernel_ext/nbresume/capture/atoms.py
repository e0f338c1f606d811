"""Small immutable values, things found again by import, and the parts of a value.

The rule: nothing here looks into a container or runs code of a value, apart from
reading its names. It is what the canonical walk and the pickler have in common.
"""

import copyreg
import importlib
import sys
from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from nbresume.errors import CaptureError

ATOM_BYTES = 4096
"""A longer text is an object of its own: it may be shared and is worth it."""

SCALARS = frozenset(
    {int, float, complex, bool, type(None), type(Ellipsis), type(NotImplemented)}
)
"""Types whose every value is small and immutable."""
_TEXTS = frozenset({str, bytes})


class Undecidable(Exception):  # noqa: N818 - an answer of the walk, not an error
    """The canonical walk met something that it cannot compare."""


MOVED = {"pathlib._local": "pathlib"}
"""Where some version of Python keeps a class, and where all of them have it."""


class Parts(Struct, frozen=True):
    """What one object consists of, for the canonical walk."""

    tag: bytes
    """Everything that is not another object: kind, names, counts, digests."""
    kids: Sequence[Any] = ()
    """The objects it refers to."""
    ordered: bool = True
    """False for sets: the order of the kids says nothing."""
    seen: Sequence[Any] = ()
    """Objects whose identity a notebook can see through it."""
    aside: Sequence[Any] = ()
    """Objects that it leads to and that are no part of its value."""


def reducer_of(kind: type) -> Any:
    """Return what `copyreg` has for the values of a class; None if it has nothing.

    tblib, which a cluster's library loads, has all exceptions take their tracebacks
    along: what an exception is would depend on what else was imported.
    """
    found: Any = copyreg.dispatch_table.get(kind)
    home = getattr(found, "__module__", None) or ""
    return None if home.partition(".")[0] == "tblib" else found


def is_atom(value: Any) -> bool:
    """Tell whether a value is small and immutable, by its exact type."""
    kind = type(value)
    return kind in SCALARS or (kind in _TEXTS and len(value) <= ATOM_BYTES)


def importable(value: Any) -> str | None:
    """Return ``module:qualname`` of what an import finds again, else None.

    What lives in ``__main__`` belongs to the notebook and is never found by import.
    """
    try:
        if not callable(value):
            return None
        module, name = value.__module__, value.__qualname__
        if type(module) is not str or type(name) is not str or module == "__main__":
            return None
        found: Any = sys.modules.get(module)
        if found is None and module.partition(".")[0] in sys.modules:
            # Some classes name a module that was never imported (numpy.rec).
            found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception:  # noqa: BLE001 - attributes may be computed by anybody's code
        return None
    return f"{MOVED.get(module, module)}:{name}" if found is value else None


def resolve_import(target: str) -> Any:
    """Return the module, or the object in it that ``module:qualname`` names.

    Raises
    ------
    CaptureError
        The module or the name in it does not exist here.
    """
    module, _, name = target.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in filter(None, name.split(".")):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise CaptureError(
            f"{target} cannot be imported",
            because=str(error),
            remedy=f"Install the package that provides {module.partition('.')[0]}.",
        ) from error
    return found


def type_name(value: Any) -> str:
    """Return the full name of a value's class, for people."""
    kind = type(value)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def tag_of(*words: object) -> bytes:
    """Return words as bytes that no other words give."""
    pieces = [str(word).encode("utf-8", "surrogatepass") for word in words]
    return b"".join([b"%d:" % len(piece) + piece for piece in pieces])
