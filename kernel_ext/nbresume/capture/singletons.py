"""Objects that exist once in each process: referred to, never copied or entered."""

import sys
from typing import Any

_SINGLETONS = (
    ("random", "_inst"),
    ("numpy.random.mtrand", "_rand"),
    ("numpy.random.mtrand", "_rand._bit_generator"),
    ("IPython.core.interactiveshell", "InteractiveShell._instance"),
    ("os", "environ"),
    *(("sys", name) for name in ("stdin", "stdout", "stderr")),
    *(("dataclasses", name) for name in ("MISSING", "KW_ONLY")),
    ("dataclasses", "_HAS_DEFAULT_FACTORY"),
)


def singletons() -> dict[int, tuple[str, str]]:
    """Return id → (module, path in it) of objects that exist once in each process.

    They are referred to, never copied: a copy of the global random state would leave
    the seeded stream, a copy of the environment would change nothing.
    """
    found = {}
    for module, path in _SINGLETONS:
        value = _attribute(module, path)
        if value is not None:
            found[id(value)] = (module, path)
    return found


def singleton_types() -> set[type]:
    """Return the types of these objects."""
    found = {type(_attribute(module, path)) for module, path in _SINGLETONS}
    return found - {type(None)}


def _attribute(module: str, path: str) -> Any:
    value: Any = sys.modules.get(module)
    for name in path.split("."):
        value = getattr(value, name, None)
    return value
