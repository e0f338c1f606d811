"""Modules and classes of libraries that a body patched: another kernel lacks that.

The rule: what another kernel imports comes without the patch, so the name is not kept.
"""

import types
from collections.abc import Iterable, Mapping
from typing import Any, Final

from nbresume.capture.atoms import importable

_STATE: Final = frozenset(
    {
        *(("sys", "path"), ("warnings", "filters"), ("os", "environ")),
        *(("pandas", "options"), ("matplotlib", "rcParams")),
        ("matplotlib.pyplot", "rcParams"),
    }
)
"""(module, attribute) that hold process state, which is kept: no patch."""


def patched(
    patches: Iterable[tuple[str, str]], namespace: Mapping[str, Any]
) -> dict[str, str]:
    """Return name → which attribute of a library a body set or deleted through it.

    Parameters
    ----------
    patches
        (name, path) of each ``name.path = …`` in its text.
    namespace
        What the names stand for.
    """
    found: dict[str, str] = {}
    for name, path in sorted(patches):
        owner = _owner(namespace.get(name))
        if owner and (owner, path.partition(".")[0].partition("[")[0]) not in _STATE:
            found[name] = (
                f"it replaced {owner}.{path}, which is not so in another kernel"
            )
    return found


def _owner(value: Any) -> str:
    """Return the name of a module, or of a class that an import finds; else ''."""
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, type):
        return (importable(value) or "").replace(":", ".")
    return ""
