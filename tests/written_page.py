"""A page of the manual, played as it is written: cells, commands, what they show.

Fences are what a reader does, in the order of the page: ``ipython`` is a cell (it is
saved in the notebook, unless it only types ``%steps …``), ``console`` are commands,
``python`` a script, and ``text`` below one of them is what it shows. What a reader
does beside that stands in comments, which no reader of the built page sees::

    <!-- notebook: NAME -->        it is called so, and not main.ipynb
    <!-- file: NAME -->            the next fence is that file
    <!-- kernel: ended -->         it is shut down; the next cell begins a new one
    <!-- kernel: killed -->        kill -9
    <!-- kernel: killed in NAME [once FILE] -->   while the next cell runs, that step;
                                   once there is something in the file, or, with
                                   ``progress``, once a loop has saved some
    <!-- kernel: left in NAME -->  the same, and it stays alive and busy
    <!-- run: NAME -->             run the cell of that step again, or that which begins
                                   so; ``all`` for each
    <!-- in place of: TEXT -->     the next cell is an edit of the one that begins so
    <!-- parameters -->            the next cell is tagged ``parameters``
    <!-- saved only -->            from here on cells are saved and not run,
    <!-- run from here -->         and from here on they are run again
    <!-- environment: A=B -->      of kernels and commands from here on
    <!-- not run: WHY -->          the next fence is shown and not run
"""

import getpass
import json
import os
import re
import socket
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from real_kernel import Kernel, Said, kinds

LOAD = "%load_ext nbresume"
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<kind>\w*)\n(?P<text>.*?)^ *```$"
    r"|^<!-- (?P<aside>[^\n]+) -->$",
    re.MULTILINE | re.DOTALL,
)
_KILL = re.compile(r"(killed|left) in (\S+)(?: once (\S+))?")
_VOLATILE = (
    (r"\x1b\[[0-9;]*m", ""),
    (r"\d{4}-\d\d-\d\d(T| )\d\d:\d\d:\d\d(\.\d+\+00:00)?|\b\d\d:\d\d:\d\d\b", "TIME"),
    (r"\bpid \d+ on \S+", "pid PID on HOST"),
    (r"\b[0-9a-f]{12,64}\b", "ID"),
    (r"\b\d+(\.\d+)? (ms|s|min|h)\b", "DURATION"),
    (r"\b\d+(\.\d+)? (B|kB|MB|GB)\b", "SIZE"),
    (rf"\b{re.escape(getpass.getuser())}\b", "USER"),
    (rf"\b{re.escape(socket.gethostname())}\b", "HOST"),
    (r"\s+", " "),
)
_REFUSED = re.compile(r"\s*(\w+Error|\w+Step|\w+Refusal|\w+Run|\w+Refused|\w+Kept): ")


@dataclass(frozen=True)
class Block:
    """One fence of a page, or what a comment says beside them."""

    kind: str
    text: str


def blocks_of(page: str) -> list[Block]:
    """Return what a page has to be played, in its order."""
    return [
        Block("aside", found["aside"])
        if found["aside"]
        else Block(found["kind"], re.sub(rf"(?m)^{found['indent']}", "", found["text"]))
        for found in _BLOCK.finditer(page)
    ]


def plain(text: str) -> str:
    """Return a text without what differs from one run to the next."""
    for pattern, word in _VOLATILE:
        text = re.sub(pattern, word, text)
    return text.strip()


def shows(expected: str, shown: str) -> bool:
    """Say whether an output is the one of the page; ``…`` stands for anything."""
    at, seen = 0, plain(shown)
    for piece in plain(expected).split("…"):
        found = seen.find(piece.strip(), at)
        if found < 0:
            return False
        at = found + len(piece.strip())
    return True


@dataclass
class Page:
    """A page that is being played in a folder of its own."""

    folder: Path
    notebook: str = "main.ipynb"
    env: dict[str, str] = field(default_factory=dict)
    cells: list[dict] = field(default_factory=list)
    shown: str = ""
    """By the last cell, command or script."""
    left_out: list[str] = field(default_factory=list)
    """Why fences were not run."""
    _kernel: Kernel | None = None
    _others: list[Kernel] = field(default_factory=list)
    _next: dict[str, str] = field(default_factory=dict)
    """What the next fence is, as the comments above it say."""
    _saved_only: bool = False

    def play(self, page: str) -> None:
        """Do what a page says; what it shows must be what there is."""
        try:
            found = blocks_of(page)
            for block, below in zip(found, [*found[1:], Block("", "")], strict=True):
                self._do(block, below.text if below.kind == "text" else "")
        finally:
            for kernel in filter(None, [self._kernel, *self._others]):
                kernel.kill()

    def _do(self, block: Block, expected: str) -> None:
        if block.kind == "aside":
            self._aside(*map(str.strip, f"{block.text}:".split(":", 1)), expected)
            return
        said, self._next = self._next, {}
        if "not run" in said:
            self.left_out.append(said["not run"])
        elif "file" in said:
            self._write(said["file"], block.text)
        elif block.kind == "ipython":
            self._cell(block.text.rstrip("\n"), said, expected)
        elif block.kind == "console":
            self._console(block.text)
        elif block.kind == "python":
            self._script(block.text, expected)

    # -- comments --------------------------------------------------------------------

    def _aside(self, word: str, rest: str, expected: str) -> None:
        rest = rest.removesuffix(":")
        if word == "kernel":
            self._end(rest)
        elif word == "run":
            self._again(rest, expected)
        elif word == "notebook":
            self.notebook = rest
        elif word == "environment":
            name, _, value = rest.partition("=")
            self.env[name] = value.replace("HERE", str(self.folder))
        elif word in ("saved only", "run from here"):
            self._saved_only = word == "saved only"
        elif word in ("file", "in place of", "parameters", "not run"):
            self._next[word] = rest
        elif word not in ("generated", "end"):
            message = f"no such comment: {word}"
            raise ValueError(message)

    def _end(self, how: str) -> None:
        if found := _KILL.fullmatch(how):
            self._next["ends"] = how
            assert found[1] == "left" or not self._others, "one kernel is left alone"
        elif self._kernel is not None:
            end = {"ended": Kernel.shut_down, "killed": Kernel.kill}[how]
            end(self._kernel)
            self._kernel = None

    def _again(self, name: str, expected: str) -> None:
        wanted = [
            cell
            for cell in self.cells
            if name in ("all", _name(cell)) or cell["source"].startswith(name)
        ]
        assert wanted, f"no cell to run again: {name}"
        self.shown = ""
        for cell in wanted:
            if name != "all" or cell["source"] != LOAD or self._kernel is None:
                self.shown += self._run(cell["source"], cell["id"], expected).text
        self._compare(expected)

    # -- fences ----------------------------------------------------------------------

    def _write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def _cell(self, text: str, said: dict[str, str], expected: str) -> None:
        typed = text.startswith(("%steps", "%nbresume"))
        cell_id = None if typed else self._save(text, said)
        if self._saved_only:
            return
        if "ends" in said:
            self._run_and_end(text, cell_id, said["ends"])
            return
        self.shown = self._run(text, cell_id, expected).text
        self._compare(expected)

    def _save(self, text: str, said: dict[str, str]) -> str:
        cell = {
            "cell_type": "code",
            "id": f"c{len(self.cells)}",
            "metadata": {"tags": ["parameters"]} if "parameters" in said else {},
            "source": text,
            "outputs": [],
            "execution_count": None,
        }
        former = said.get("in place of")
        for number, other in enumerate(self.cells):
            named = _name(cell) and _name(other) == _name(cell)
            if named or (former and other["source"].startswith(former)):
                cell["id"] = other["id"]
                self.cells[number] = cell
                break
        else:
            assert former is None, f"no cell begins with {former}"
            self.cells.append(cell)
        self._save_notebook()
        return cell["id"]

    def _save_notebook(self) -> None:
        if not any(cell["source"].startswith(LOAD) for cell in self.cells):
            first = {**self.cells[0], "id": "load", "source": LOAD, "metadata": {}}
            self.cells.insert(0, first)
        whole = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": self.cells,
        }
        (self.folder / self.notebook).write_text(json.dumps(whole))

    def _run(self, text: str, cell_id: str | None, expected: str) -> Said:
        if self._kernel is None:
            self._kernel = Kernel(self.folder, self.notebook, env=self.env)
            if not text.startswith(LOAD) and "NameError" not in expected:
                self._kernel.ok(LOAD, "load")
        said = self._kernel.run(text, cell_id)
        refused = _REFUSED.match(expected) or "Traceback" in expected
        assert (said.status == "error") == bool(refused), said.text
        return said

    def _run_and_end(self, text: str, cell_id: str | None, how: str) -> None:
        ends, _, sign = _KILL.fullmatch(how).groups()
        if self._kernel is None:
            self._kernel = Kernel(self.folder, self.notebook, env=self.env)
            self._kernel.ok(LOAD, "load")
        begun = self._count("intent")
        self._kernel.send(text, cell_id)
        until = time.monotonic() + 30
        while self._count("intent") == begun or not self._is_there(sign):
            assert time.monotonic() < until, f"never there: {sign}"
            time.sleep(0.02)
        if ends == "killed":
            self._kernel.kill()
        else:
            self._others.append(self._kernel)
        self._kernel = None

    def _is_there(self, sign: str | None) -> bool:
        if sign is None:
            return True
        if sign == "progress":
            return self._count("progress") > 0
        path = self.folder / sign
        return path.exists() and path.stat().st_size > 0

    def _count(self, kind: str) -> int:
        store = self.env.get("NBRESUME_STORE", self.folder / ".nbresume")
        return kinds(Path(store)).count(kind)

    def _console(self, text: str) -> None:
        """Type commands; what stands below each is what it prints."""
        for piece in re.split(r"(?m)^\$ ", text)[1:]:
            command, _, expected = piece.partition("\n")
            while command.endswith("\\"):
                more, _, expected = expected.partition("\n")
                command += f"\n{more}"
            self.shown = self._type(command)
            self._compare(expected)

    def _type(self, command: str) -> str:
        """Run a command in a shell that knows how the one before it ended."""
        done = subprocess.run(
            ["bash", "-c", f"(exit {self.env.get('_ENDED', '0')})\n{command}"],
            cwd=self.folder,
            env=self._environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=120,
        )
        self.env["_ENDED"] = str(done.returncode)
        return done.stdout

    def _environment(self) -> dict[str, str]:
        tools = self.folder / ".bin"
        tools.mkdir(exist_ok=True)
        ours = tools / "nbresume"
        ours.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nbresume "$@"\n')
        ours.chmod(0o755)
        python = tools / "python"
        if not python.exists():
            python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
            python.chmod(0o755)
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        return {**os.environ, **self.env, "PATH": path}

    def _script(self, text: str, expected: str) -> None:
        self._write("script.py", text)
        self.shown = self._type("python script.py")
        assert self.env["_ENDED"] == "0", self.shown
        self._compare(expected)

    def _compare(self, expected: str) -> None:
        assert shows(expected, self.shown), (
            f"the page says\n{expected}\nand this was shown\n{self.shown}"
        )


def _name(cell: dict) -> str:
    """Return the name of the step in a cell; empty without one."""
    found = re.match(r"%%step (\S+)", cell["source"])
    return found[1] if found else ""
