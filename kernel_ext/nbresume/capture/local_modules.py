"""Modules of the user's own folders: which are loaded, and of which text.

The rule: what is imported once stays as it was, whatever its file says later. So each
load is noted when it is first seen, by the spec that it made; a reload makes another.
"""

import os
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from nbresume.capture.looks import Look

_OWN: Final = __name__.partition(".")[0]
_SPEAKING: Final = (types.ModuleType, types.FunctionType, type)
"""Values that say themselves which module they come from."""


class LoadedModules:
    """The local modules of this process."""

    def __init__(
        self,
        namer: Callable[[], Callable[[str], str]],
        digest_of: Callable[[str], str],
    ) -> None:
        self._namer = namer
        """Returns: path → name of a file that is the user's work; else ""."""
        self._digest_of = digest_of
        self._seen = 0
        self._sources: dict[str, str] = {}
        """Local module → name of its source."""
        self._loads: dict[str, tuple[Any, str]] = {}
        """Local module → (spec of its load, digest of the text that it had then)."""
        self._others: set[str] = set()

    def note(self) -> None:
        """Note the loads that are new; called when a cell has ended, and before one."""
        if len(sys.modules) != self._seen:
            self._seen = len(sys.modules)
            new = sys.modules.keys() - self._others - self._sources.keys()
            # one library has hundreds of modules in a folder, and to follow the links
            # of each path took longer than all the rest of loading the extension
            foreign: set[str] = set()
            name_of = self._namer()
            for name in new:
                self._sort(name, foreign, name_of)
        for name, source in self._sources.items():
            spec = getattr(sys.modules.get(name), "__spec__", None)
            if spec is not None and self._loads.get(name, (None,))[0] is not spec:
                self._loads[name] = spec, self._digest_of(source)

    def _sort(
        self, name: str, foreign: set[str], name_of: Callable[[str], str]
    ) -> None:
        """Say whether a module is local; `foreign` are folders that hold no such.

        What keeps the steps is none of their inputs, wherever it is installed.
        """
        source = ""
        file = getattr(sys.modules.get(name), "__file__", None)
        is_users = name != "__main__" and name.partition(".")[0] != _OWN
        if isinstance(file, str) and file.endswith(".py") and is_users:
            folder = file.rpartition(os.sep)[0]
            source = name_of(file) if folder not in foreign else ""
            if not source:
                foreign.add(folder)
        if source:
            self._sources[name] = source
        else:
            self._others.add(name)

    def source_of(self, module: str) -> str | None:
        """Return the source of a loaded module; "" if not local, None if not loaded."""
        if module in self._sources:
            return self._sources[module]
        return "" if module in self._others else None

    def digest(self, module: str) -> str:
        """Return the digest of the text that a loaded module was made of."""
        return self._loads.get(module, (None, ""))[1]

    def behind(
        self,
        names: Iterable[str],
        namespace: Mapping[str, Any],
        look: Callable[[str], Look],
    ) -> set[str]:
        """Return the local modules that values come from: theirs, or of their class."""
        if not self._sources:
            return set()
        found: set[str] = set()
        for name in names:
            if name in namespace:
                found |= _homes(namespace[name], look(name))
        return found & self._sources.keys()


def _homes(value: Any, seen: Look) -> set[str]:
    """Return the modules that a value, its parts, or their classes come from."""
    # there may be a million parts, of few classes; what speaks is no alike item
    homes = {_name(kind.__module__) for kind in {type(value), *seen.types}}
    values = (value, *seen.singles)
    return homes | {_home(one) for one in values if isinstance(one, _SPEAKING)}


def _home(value: Any) -> str:
    if isinstance(value, types.ModuleType):
        return value.__name__
    return _name(getattr(value, "__module__", ""))


def _name(home: Any) -> str:
    return home if isinstance(home, str) else ""
