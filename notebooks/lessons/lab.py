"""A small notebook in a folder of its own, run by real kernels that may be killed.

Its one rule: it looks at what happened from outside, by the command line and by the
ledger of the service, and never into the kernel.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from queue import Empty
from typing import Any, Self

# what a lesson needs comes with nbresume
if missing := [n for n in ("nbresume", "nbformat", "nbclient") if find_spec(n) is None]:
    raise ModuleNotFoundError(f"{', '.join(missing)}: %pip install nbresume brings it")

import nbformat
from jupyter_client.manager import KernelManager

HERE = Path(__file__).resolve().parent
POLL_S = 0.1


class LessonError(Exception):
    """The lesson could not be shown; the message says why."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How one pass over the notebook ended."""

    died_in: str
    """The cell in which the kernel died; empty if it lived."""
    refused: str
    """What the cell said that stopped the pass; empty if none did."""
    said: tuple[str, ...]
    """What each cell printed, one text for each that ended."""

    @property
    def is_whole(self) -> bool:
        """Say whether all cells ran."""
        return not (self.died_in or self.refused)


class Lab:
    """A notebook in a folder of its own.

    Parameters
    ----------
    cells
        The code cells.
    env
        What the kernels find in their environment.
    """

    def __init__(
        self, cells: Sequence[str], *, env: Mapping[str, str] | None = None
    ) -> None:
        # removed when it is closed, else when the kernel of the lesson ends
        self._kept = tempfile.TemporaryDirectory(prefix="lesson-")
        self.folder = Path(self._kept.name)
        self.notebook = self.folder / "lesson.ipynb"
        self.env = dict(env or {})
        self.edit(cells)

    def edit(self, cells: Sequence[str]) -> None:
        """Let the notebook have these cells; a cell keeps its id by its place."""
        made = [nbformat.v4.new_code_cell(text) for text in cells]
        for number, cell in enumerate(made):
            cell["id"] = f"cell-{number}"
        nbformat.write(nbformat.v4.new_notebook(cells=made), self.notebook)
        self._cells = [(cell["id"], cell["source"]) for cell in made]

    def run(self, **env: str) -> Ended:
        """Run all cells in a new kernel, until one fails or the kernel dies."""
        paths = [str(HERE), os.environ.get("PYTHONPATH", "")]
        around = {
            **os.environ,
            "JPY_SESSION_NAME": str(self.notebook),
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
            **self.env,
            **env,
        }
        # no TCP ports: another program may take a free one before the kernel does
        manager = KernelManager(
            kernel_name="python3", transport="ipc", ip=str(self.folder / "socket")
        )
        with (self.folder / "kernel.log").open("ab") as log:
            manager.start_kernel(
                cwd=str(self.folder), env=around, stdout=log, stderr=log
            )
        try:
            return self._pass(manager)
        finally:
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()

    def _pass(self, manager: KernelManager) -> Ended:
        client = manager.client()
        client.start_channels()
        said: list[str] = []
        try:
            client.wait_for_ready(timeout=60)
            for cell_id, source in self._cells:
                client.session.metadata = {"cellId": cell_id}
                text, error = _execute(manager, client, source)
                if error is None:
                    return Ended(source.splitlines()[0], "", tuple(said))
                said.append(text)
                if error:
                    return Ended("", error, tuple(said))
        finally:
            client.stop_channels()
        return Ended("", "", tuple(said))

    def tell(self, command: str, *words: str) -> str:
        """Return what ``nbresume COMMAND`` prints about the notebook."""
        done = subprocess.run(
            [sys.executable, "-m", "nbresume", command, str(self.notebook), *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
        )
        if done.returncode:
            raise LessonError(done.stderr.strip() or done.stdout.strip())
        return done.stdout

    def status(self) -> dict[str, Any]:
        """Return the run as ``nbresume status --json`` tells it."""
        return dict(json.loads(self.tell("status", "--json")))

    def history(self) -> list[dict[str, Any]]:
        """Return the records of the run, oldest first."""
        return list(json.loads(self.tell("history", "--json")))

    def table(self) -> str:
        """Return the run as a table for people."""
        return self.tell("status").rstrip()

    def stored_bytes(self) -> int:
        """Return how many bytes the store holds."""
        store = self.folder / ".nbresume"
        return sum(file.stat().st_size for file in store.rglob("*") if file.is_file())

    def close(self) -> None:
        """Remove the folder."""
        self._kept.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _execute(
    manager: KernelManager, client: Any, source: str
) -> tuple[str, str | None]:
    """Return what a cell printed and its error; None for that: the kernel died."""
    asked = client.execute(source, allow_stdin=False)
    printed: list[str] = []
    error = ""
    while True:
        try:
            message = client.get_iopub_msg(timeout=POLL_S)
        except Empty:
            if manager.is_alive():
                continue
            return "".join(printed), None
        if message["parent_header"].get("msg_id") != asked:
            continue
        content = message["content"]
        match message["msg_type"]:
            case "stream":
                printed.append(content["text"])
            case "error":
                error = f"{content['ename']}: {content['evalue']}"
            case "status" if content["execution_state"] == "idle":
                return "".join(printed), error
