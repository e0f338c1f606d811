"""Dask collections as the canonical walk sees them, and what becomes of their content.

The rule: a recipe is walked like any value. What lies in the memory of a cluster is
told apart by dask's own names, within this process only: another one never takes it for
equal. A collection whose content is stored is that content, whoever computes it.
"""

import secrets
import sys
import types
from collections.abc import Container, Iterator, Mapping
from typing import Any

from msgspec import Struct

from nbresume.capture.atoms import Parts, tag_of
from nbresume.model.digests import cue_digest

_HERE = secrets.token_hex(8)
"""Makes tokens of futures good in this process only."""
_PORTABLE_KINDS = "biufcmM"


class Kept(Struct, frozen=True):
    """A collection as it is stored: what makes it again, over which payloads."""

    make: Any
    """The function that a stream names."""
    payloads: tuple[str, ...]
    """Digests: the first arguments of `make` are what reads them."""
    arguments: tuple[Any, ...]
    """The others."""
    content: str
    """Equal for equal content, cut alike."""


def is_array(value: Any) -> bool:
    """Say whether it is a dask array, and nothing that derives from one."""
    module = sys.modules.get("dask.array")
    return module is not None and type(value) is module.Array


def is_frame(value: Any) -> bool:
    """Say whether it is a dask data frame or series."""
    module = sys.modules.get("dask.dataframe")
    return module is not None and type(value) in (module.DataFrame, module.Series)


def is_collection(value: Any) -> bool:
    """Say whether it is of a kind that workers can store."""
    if not type(value).__module__.startswith("dask."):
        return False
    return is_array(value) or is_frame(value)


def is_storable(value: Any) -> bool:
    """Say whether workers can store a collection; others are kept as recipes.

    Blocks of unknown size, of objects, and of other arrays than NumPy's are not.
    """
    if is_frame(value):
        return type(value._meta).__module__.partition(".")[0] == "pandas"  # noqa: SLF001 - no public name
    if not is_array(value) or not value.size or value.size != value.size:
        return False
    numpy = sys.modules["numpy"]
    plain = type(value._meta) is numpy.ndarray  # noqa: SLF001 - no public name
    dtype = value.dtype
    return plain and dtype.kind in _PORTABLE_KINDS and dtype.isnative


def stored(value: Any) -> Kept | None:
    """Return what is stored of a collection that stands on a store, and only on it."""
    if is_array(value):
        layers = value.dask.layers
        layer = layers.get(value.name)
        return getattr(layer, "kept", None) if len(layers) == 1 else None
    if is_frame(value) and type(value.expr).__name__ == "FromMap":
        return getattr(value.expr.operand("func"), "kept", None)
    return None


def parts(value: Any, contents: Mapping[int, str]) -> Parts | None:
    """Return what a collection consists of; None if it is a recipe, or nothing such.

    Parameters
    ----------
    value
        Any value.
    contents
        id() → content, of collections whose content is stored just now.
    """
    if not is_collection(value):
        return _settled_parts(value)
    content = contents.get(id(value))
    if content is None and (kept := stored(value)) is not None:
        content = kept.content
    if content is not None:
        return Parts(tag_of("dask", content), seen=[value])
    if not is_in_cluster(value):
        return None
    # The name is dask's own word for what is computed; nobody else is to rely on it.
    return Parts(tag_of("dask in a cluster", _HERE, _name(value)), seen=[value])


def recipe(value: Any) -> Any | None:
    """Return what says how a collection is computed; None of anything else."""
    if is_array(value):
        return (value.dask, value.name, value.chunks, value.dtype, value._meta)  # noqa: SLF001 - no public name
    return value.expr if is_frame(value) else None


def is_open(value: Any, named: Container[int]) -> bool:
    """Say whether something in a recipe concerns others: code, and what has a name."""
    return isinstance(value, types.FunctionType | type) or id(value) in named


def _settled_parts(value: Any) -> Parts | None:
    """Return the parts of what reading changes: caches are no part of a value."""
    kind = type(value)
    home = kind.__module__.partition(".")[0]
    if home == "xarray":
        # whoever asks for them first puts empty ones there: then it had better be we
        own = [getattr(value, name, None) or {} for name in ("_variables", "_coords")]
        inner = [one for variables in own for one in variables.values()]
        for one in (value, *inner, getattr(value, "_variable", None)):
            getattr(one, "attrs", None)
            getattr(one, "encoding", None)
        return None
    expressions = sys.modules.get("dask._expr") if home == "dask" else None
    if expressions is None or not isinstance(value, expressions.Expr):
        return None
    # it pickles what its properties have cached with it
    return Parts(tag_of("dask expression"), [kind, *value.operands], seen=[value])


def is_in_cluster(value: Any) -> bool:
    """Say whether a part of a collection is the memory of a cluster."""
    if "distributed.client" not in sys.modules:
        return False
    future = sys.modules["distributed.client"].Future
    return any(isinstance(one, future) for one in _materialized(value))


def _name(value: Any) -> str:
    return str(value.name if is_array(value) else value._name)  # noqa: SLF001 - no public name


def _materialized(value: Any) -> Iterator[Any]:
    """Yield what a collection holds that is no recipe of a whole layer."""
    if is_array(value):
        for layer in value.dask.layers.values():
            mapping = getattr(layer, "mapping", None)
            if isinstance(mapping, Mapping):
                yield from mapping.values()
        return
    for expression in value.expr.walk():
        for operand in expression.operands:
            if isinstance(operand, Mapping):
                yield from operand.values()


def stand_on(value: Any, made: Any) -> None:
    """Let a recipe be the stored collection that was made of it, as the same object.

    dask changes its collections in this way when an item or a column is set.
    """
    if is_array(value):
        value.dask = made.dask
        value._name = made.name  # noqa: SLF001 - as dask does it
    else:
        value._expr = made.expr  # noqa: SLF001 - as dask does it


def holds_data(value: Any) -> bool:
    """Say whether all of a collection lies in memory, of this process or a cluster."""
    if is_in_cluster(value):
        return True
    if not is_array(value):
        return bool(type(value.expr).__name__ == "FromGraph")
    held = list(_materialized(value))
    numpy = sys.modules["numpy"]
    return (
        len(value.dask.layers) == 1
        and all(isinstance(one, numpy.ndarray) for one in held)
        and bool(held)
    )


def content_of(kind: str, *what: Any) -> str:
    """Return the content of a collection: equal for equal values, cut alike."""
    return cue_digest(repr((kind, what)).encode())
