"""What records and manifests say of a name: kind, shape, and what its data are.

The rule: names, ids and sizes, never values.
"""

import types
from collections.abc import Mapping
from typing import Any

from nbresume.model.manifest import Binding, Source, Unit
from nbresume.model.values import Output


def output_of(binding: Binding, units: Mapping[str, Unit], calls: list[str]) -> Output:
    """Return what the record of a commit says of a name."""
    if binding.source is not Source.UNIT:
        return Output(version=binding.version)
    return Output(
        version=binding.version,
        object=binding.target,
        data=sorted(_reached_data(binding.target, units)),
        calls=calls,
    )


def _reached_data(object_id: str, units: Mapping[str, Unit]) -> set[str]:
    """Return the ids of the data objects that an object is made of, itself included."""
    found: set[str] = set()
    todo = [object_id]
    while todo:
        one = todo.pop()
        if one in found or one not in units:
            continue
        found.add(one)
        todo += [*units[one].refs, *units[one].members]
    return {one for one in found if units[one].data}


def is_data(value: Any) -> bool:
    """Say whether sharing a value is an alias of data: not of a definition."""
    return not isinstance(value, type | types.FunctionType | types.ModuleType)


def describe(value: Any) -> tuple[list[int] | None, str]:
    """Return shape and dtype of an array or a frame, for people."""
    shape = getattr(value, "shape", None)
    if not isinstance(shape, tuple) or not all(isinstance(n, int) for n in shape):
        return None, ""
    dtype = getattr(value, "dtype", None)
    return list(shape), "" if dtype is None else str(dtype)
