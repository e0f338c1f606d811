"""Local modules that a step uses: their sources are inputs like files.

The rule: by content, with all that they import in turn. A kernel that has loaded a
former text may replay, and must not run: what it would make is not what the files say.
"""

from collections.abc import Iterable, Mapping

from nbresume.capture.live import Live
from nbresume.capture.local_modules import LoadedModules
from nbresume.errors import RefusedError
from nbresume.model.records import Committed
from nbresume.plan.local_imports import imported_by, with_parents
from nbresume.plan.names import Names
from nbresume.run.ports import World


class LocalCode:
    """The local modules of one kernel."""

    def __init__(self, live: Live, world: World) -> None:
        self._live = live
        self._disk = world.disk
        self._imports: dict[str, tuple[str, frozenset[str]]] = {}
        """Source → (its stamp, what it imports)."""
        self._found: dict[str, str] = {}
        self.loaded = LoadedModules(
            self._disk.namer, lambda name: self._disk.state(name).digest
        )

    def used(self, names: Names, inputs: Iterable[str]) -> list[tuple[str, str]]:
        """Return (module, name of its source) of all that a step uses."""
        self.loaded.note()
        self._found.clear()
        namespace: Mapping[str, object] = self._live.namespace
        todo = {module for module in names.imports if not module.startswith(".")}
        todo |= self.loaded.behind(inputs, namespace, self._live.look)
        used: dict[str, str] = {}
        pending = [part for module in todo for part in with_parents(module)]
        while pending:
            module = pending.pop()
            source = "" if module in used else self._source_of(module)
            if source:
                used[module] = source
                pending += self._imported(module, source)
        return sorted(used.items())

    def _source_of(self, module: str) -> str:
        known = self.loaded.source_of(module)
        if known is not None:
            return known
        if module not in self._found:
            self._found[module] = self._disk.source_of(module)
        return self._found[module]

    def _imported(self, module: str, source: str) -> list[str]:
        stamp = self._disk.stamp(source)
        known = self._imports.get(source)
        if known is None or known[0] != stamp:
            is_package = source.endswith("__init__.py")
            text = self._disk.text(source)
            found = frozenset(
                part
                for name in imported_by(text, module=module, is_package=is_package)
                for part in with_parents(name)
            )
            known = self._imports[source] = stamp, found
        return list(known[1])

    def check_loaded(self, step: str, names: Names, inputs: Iterable[str]) -> None:
        """Pass if this kernel has the modules that a step uses as their files are.

        Raises
        ------
        RefusedError
            One was edited since it was imported here.
        """
        for module, source in self.used(names, inputs):
            digest = self.loaded.digest(module)
            if digest and digest != self._disk.state(source).digest:
                raise RefusedError(
                    f"step {step} was not run",
                    because=f"it uses the module {module}, and {source} was edited "
                    "since this kernel imported it",
                    remedy="Restart the kernel, or type import importlib, "
                    f"{module}; importlib.reload({module}) in a plain cell and bind "
                    "anew what was imported from it.",
                    step=step,
                )


def modules_of(record: Committed) -> dict[str, str]:
    """Return source → module of the local modules that a commit was made with."""
    return {name: s.module for name, s in record.files.items() if s.module}
