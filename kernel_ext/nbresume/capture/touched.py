"""Which names a piece of code can touch: through functions, aliases and views.

The rule: static closure over the global names of every function that a value
reaches, and over every name whose value shares an object with one of these. What
that misses (an alias parked in a module, a thread) is found by an audit, not here.
"""

import dis
import types
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

_IPYTHON = frozenset(
    {"In", "Out", "_ih", "_oh", "_dh", "_i", "_ii", "_iii", "_", "__", "___"}
    | {"get_ipython", "exit", "quit", "open", "_exit_code"}
)
_GLOBAL_OPS = frozenset(
    {
        "LOAD_GLOBAL",
        "LOAD_NAME",
        "STORE_GLOBAL",
        "DELETE_GLOBAL",
        "LOAD_FROM_DICT_OR_GLOBALS",
    }
)


@lru_cache(maxsize=65536)
def is_users(name: object) -> bool:
    """Say whether a key of the namespace is a name, the user's and not IPython's."""
    if not isinstance(name, str):
        return False  # no code can name what was put there
    if name in _IPYTHON or (name.startswith("__") and name.endswith("__")):
        return False
    history = name.removeprefix("_i") if name.startswith("_i") else name[1:]
    return not (name.startswith("_") and history.isdigit())


@lru_cache(maxsize=4096)
def global_names(code: types.CodeType) -> frozenset[str]:
    """Return the global names that a code object, or one inside it, may use."""
    names = {
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname in _GLOBAL_OPS
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= global_names(constant)
    return frozenset(names)


def functions_names(
    singles: Iterable[Any], namespace: Mapping[str, Any]
) -> frozenset[str]:
    """Return the global names that the notebook's functions among these may use."""
    names: set[str] = set()
    for value in singles:
        if isinstance(value, types.FunctionType) and value.__globals__ is namespace:
            names |= global_names(value.__code__)
    return frozenset(names)


def sharing(
    names: Iterable[str], reaches: Mapping[str, Mapping[int, Any]]
) -> frozenset[str]:
    """Return these names and all whose value shares an object with one of them."""
    chosen = {name for name in names if name in reaches}
    seed: set[int] = set()
    for name in chosen:
        seed |= reaches[name].keys()
    return frozenset(
        name
        for name, reach in reaches.items()
        if name in chosen or not seed.isdisjoint(reach.keys())
    )
