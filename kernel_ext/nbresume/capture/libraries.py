"""Which libraries a step used, and whether this kernel has them in other versions.

The rule: versions are told, and make nothing stale. Nothing is imported to learn one.
"""

import importlib.metadata
import platform
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any, Final

PYTHON: Final = "Python"
_OWN: Final = frozenset({*sys.stdlib_module_names, "__main__", "nbresume"})


def versions_of(
    names: Iterable[str], modules: Iterable[str], namespace: Mapping[str, Any]
) -> dict[str, str]:
    """Return the versions of Python and of the libraries behind values and modules.

    A library that tells no version is left out.
    """
    homes = {_home(namespace[name]) for name in names if name in namespace}
    homes |= {module.partition(":")[0].partition(".")[0] for module in modules}
    versions = {home: _version(home) for home in sorted(homes - _OWN)}
    known = {home: version for home, version in versions.items() if version}
    return {PYTHON: platform.python_version()} | known


def moved(recorded: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return library → (recorded version, version here) where the two differ.

    Of Python, only the minor version counts.
    """
    found = {}
    for library, then in recorded.items():
        if library == PYTHON:
            pair = _minor(then), _minor(platform.python_version())
        else:
            pair = then, _version(library)
        if pair[1] and pair[0] != pair[1]:
            found[library] = pair
    return found


def _home(value: Any) -> str:
    """Return the top level package that a value comes from."""
    if isinstance(value, types.ModuleType):
        return value.__name__.partition(".")[0]
    module = value.__module__ if isinstance(value, type) else type(value).__module__
    if module == "builtins" and callable(value):
        module = getattr(value, "__module__", None) or ""
    return str(module).partition(".")[0]


def _version(library: str) -> str:
    told = getattr(sys.modules.get(library), "__version__", None)
    if type(told) is str:
        return told
    try:
        return importlib.metadata.version(library)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return ""


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
