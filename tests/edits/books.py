"""Notebooks that are written as text: their cells, their files, the edits of them.

The form is told in README.md. A notebook is a value; an edit makes another one.
"""

import functools
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

from nbresume.plan.auto import is_work

FOLDER = Path(__file__).with_name("notebooks")
_CELL = re.compile(r"# %% (step|plain) (\S+)")
_EDIT = re.compile(r"# edit (\S+?): (.*?) -> (.*?) \| reruns (.*)")
_FILE = re.compile(r"# file (\S+?): (.*)")
LOAD = "%load_ext nbresume"
AUTO = "%nbresume auto"


@dataclass(frozen=True)
class Cell:
    """One code cell."""

    name: str
    source: str
    is_step: bool


@dataclass(frozen=True)
class Edit:
    """One cell, or one file, with another text."""

    kind: str
    target: str
    text: str
    reruns: frozenset[str] | None = None
    """What has to run, by hand; None if the rule tells it."""

    @property
    def label(self) -> str:
        """Return what a report calls it."""
        return f"{self.kind} in {self.target}"


@dataclass(frozen=True)
class Book:
    """One notebook with the files that lie beside it."""

    name: str
    cells: tuple[Cell, ...]
    files: dict[str, str]
    edits: tuple[Edit, ...] = ()
    is_auto: bool = False
    """No cell says that it is a step; `%nbresume auto` finds them."""

    def cell(self, name: str) -> Cell:
        """Return a cell by its name."""
        return next(cell for cell in self.cells if cell.name == name)

    def edited(self, edit: Edit) -> "Book":
        """Return the notebook after an edit."""
        if edit.target in self.files:
            return replace(self, files=self.files | {edit.target: edit.text})
        cells = tuple(
            replace(cell, source=edit.text) if cell.name == edit.target else cell
            for cell in self.cells
        )
        return replace(self, cells=cells)

    def sources(self) -> list[tuple[str, str]]:
        """Return the cells as a front end has them: id and text."""
        first = [("setup", LOAD), *([("auto", AUTO)] if self.is_auto else [])]
        headed = frozenset() if self.is_auto else self.steps()
        return first + [
            (
                cell.name,
                f"%%step {cell.name}\n{cell.source}"
                if cell.name in headed
                else cell.source,
            )
            for cell in self.cells
        ]

    def names(self) -> frozenset[str]:
        """Return the names of all cells."""
        return frozenset(cell.name for cell in self.cells)

    def steps(self) -> frozenset[str]:
        """Return the names of the cells that are steps."""
        return frozenset(cell.name for cell in self.cells if self._is_step(cell))

    def _is_step(self, cell: Cell) -> bool:
        return is_work(cell.source) if self.is_auto else cell.is_step


def saved(sources: list[tuple[str, str]]) -> str:
    """Return a notebook file with these cells."""
    cells = [
        {
            "cell_type": "code",
            "id": name,
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for name, source in sources
    ]
    return json.dumps(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    )


def names() -> list[str]:
    """Return the names of all notebooks."""
    return sorted(path.stem for path in FOLDER.glob("*.py"))


@functools.cache
def read(name: str) -> Book:
    """Return a notebook by its name."""
    lines = (FOLDER / f"{name}.py").read_text().splitlines()
    parts: list[tuple[str, bool, list[str]]] = []
    files, edits = {}, []
    for line in lines:
        if told := _CELL.fullmatch(line):
            parts.append((told[2], told[1] == "step", []))
        elif told := _FILE.fullmatch(line):
            files[told[1]] = _text(told[2])
        elif told := _EDIT.fullmatch(line):
            edits.append(told.groups())
        elif line.startswith("# edit "):
            raise ValueError(f"{name}: {line}")
        elif parts:
            parts[-1][2].append(line)
    cells = tuple(Cell(n, "\n".join(ls).strip("\n"), step) for n, step, ls in parts)
    book = Book(name, cells, files)
    return replace(book, edits=tuple(_edit(book, *told) for told in edits))


def uses(name: str) -> frozenset[str]:
    """Return what a notebook is about."""
    text = (FOLDER / f"{name}.py").read_text()
    return frozenset(re.search(r"# uses: (.*)", text)[1].split())


def _text(told: str) -> str:
    return told.replace("\\n", "\n")


def _edit(book: Book, target: str, old: str, new: str, reruns: str) -> Edit:
    is_file = target in book.files
    text = book.files[target] if is_file else book.cell(target).source
    if text.count(old) != 1:
        raise ValueError(f"{book.name}: {old!r} stands {text.count(old)}x in {target}")
    wanted = frozenset() if reruns == "nothing" else frozenset(reruns.split())
    unknown = wanted - book.steps()
    if unknown:
        raise ValueError(f"{book.name}: no steps {sorted(unknown)}")
    kind = f"listed `{old}` -> `{new}`"
    return Edit(kind, target, text.replace(old, _text(new)), wanted)
