"""A clean run of a notebook, and what each of its cells met.

No nbresume takes part. What a cell met says whether it has to run again once
something else has been edited; the rule stands in README.md.
"""

import ast
import dis
import hashlib
import os
import random
import re
import sys
import types
from pathlib import Path

import numpy as np
from portrait import Portrait, portraits, shared

_LOADS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}


class Files:
    """What the running cell reads and writes in the notebook's folder."""

    def __init__(self) -> None:
        self.read: dict[str, str] = {}
        self._written: set[str] = set()
        self._is_on = False
        sys.addaudithook(self._heard)

    def begin(self) -> None:
        """Listen from now on, to another cell."""
        self.read, self._written, self._is_on = {}, set(), True

    def end(self) -> None:
        """Listen no more."""
        self._is_on = False

    def _heard(self, event: str, arguments: tuple) -> None:
        if not self._is_on or not event.startswith(("open", "os.")):
            return
        self._is_on = False
        try:
            self._note(event, arguments)
        finally:
            self._is_on = True

    def _note(self, event: str, arguments: tuple) -> None:
        path = _inside(arguments[0]) if arguments else None
        if path is None:
            return
        if event == "open":
            mode = arguments[1] or ""
            writes = set(mode) & set("wax+") or arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if writes:
                self._written.add(path)
            elif path not in self._written and Path(path).is_file():
                self._add(path, Path(path).read_bytes())
        elif event == "os.rename":
            self._add(path, Path(path).read_bytes())
        elif event in ("os.listdir", "os.scandir"):
            self._add(
                f"{path}/", repr(sorted(p.name for p in Path(path).iterdir())).encode()
            )

    def _add(self, path: str, content: bytes) -> None:
        self.read.setdefault(path, hashlib.sha256(content).hexdigest()[:16])


def _inside(path: object) -> str | None:
    if not isinstance(path, str | os.PathLike):
        return None
    real, here = os.path.realpath(path), os.path.realpath(Path.cwd())
    return os.path.relpath(real, here) if real.startswith(here + os.sep) else None


class Tracer:
    """Looks at a namespace around each cell."""

    def __init__(self, namespace: dict) -> None:
        self._namespace = namespace
        self._system = set(namespace)
        self._files = Files()

    def names(self) -> dict[str, object]:
        """Return what the notebook's cells have bound."""
        return {
            name: value
            for name, value in self._namespace.items()
            if name not in self._system and not name.startswith("_")
        }

    def before(self, source: str) -> dict:
        """Return what a cell is about to meet."""
        told = portraits(self.names())
        groups = shared(told)
        met = {
            name: told[name].digest
            + str(sorted(g for g in groups if name in g.split()))
            for name in self._reads(source, told)
        }
        self._files.begin()
        return {"names": met, "random": _random()}

    def after(self, met: dict) -> dict:
        """Return it, with what showed while the cell ran."""
        self._files.end()
        states = met.pop("random")
        moved = {k: v for k, v in states.items() if _random()[k] != v}
        return met | {"random": moved, "files": self._files.read}

    def _reads(self, source: str, told: dict[str, Portrait]) -> set[str]:
        todo, seen = list(_read_by(source)), set()
        while todo:
            name = todo.pop()
            if name in seen or name not in told:
                continue
            seen.add(name)
            for code in told[name].code:
                todo += _globals_of(code)
        return seen


def _random() -> dict[str, str]:
    return {
        "random": Portrait(random.getstate()).digest,
        "numpy": Portrait(np.random.get_state()).digest,  # noqa: NPY002 - the shared one
    }


def _read_by(source: str) -> set[str]:
    """Return the global names that a cell may read before it has set them."""
    reads, stored = set(), set()
    inside: dict[str, set[str]] = {}
    for statement in ast.parse(source).body:
        code = compile(ast.Module([statement], []), "cell", "exec")
        found = set(_globals_of(code))
        if isinstance(statement, ast.FunctionDef) and not statement.decorator_list:
            # what its body reads counts once it is called
            inside[statement.name], found = found, set()
        for name in found & inside.keys():
            reads |= inside.pop(name) - stored
        reads |= found - stored - _targets(statement)
        stored |= _stores(statement)
    return reads


def _targets(statement: ast.stmt) -> set[str]:
    """Return the names that a loop, or a `with`, sets before its body reads them."""
    found = (
        getattr(statement, "target", None) if isinstance(statement, ast.For) else None
    )
    parts = [found] if found is not None else []
    if isinstance(statement, ast.With):
        parts += [item.optional_vars for item in statement.items if item.optional_vars]
    return {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}


def _stores(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return {statement.name}
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom):
        names = {
            node.id
            for node in ast.walk(statement)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        aliases = getattr(statement, "names", ())
        return names | {(a.asname or a.name).partition(".")[0] for a in aliases}
    return set()


def _globals_of(code: types.CodeType) -> list[str]:
    names = [i.argval for i in dis.get_instructions(code) if i.opname in _LOADS]
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names += _globals_of(const)
        if isinstance(const, str):
            # a query names what it takes from the notebook
            names += re.findall(r"@(\w+)", const)
    return names
