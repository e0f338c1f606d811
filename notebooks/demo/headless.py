"""Running `flights.ipynb` headless in a folder of its own, and killing its kernel.

Its one rule: only a kernel that descends from a process started here is ever killed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
from ledger import Mark, read_marks

NOTEBOOK = Path(__file__).resolve().parent.parent / "flights.ipynb"
RUN_LIMIT_S = 170.0
"""A run that takes longer than this hangs."""
POLL_S = 0.002


class DemoError(Exception):
    """The demonstration could not be carried out; the message says why."""


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder with a copy of the notebook and everything that its runs leave."""

    folder: Path
    sample: float

    @property
    def notebook(self) -> Path:
        """The copy of the notebook that is run."""
        return self.folder / NOTEBOOK.name

    @property
    def ledger(self) -> Path:
        """The file in which the step bodies write that they began."""
        return self.folder / "flights-ledger.log"

    def output(self, run: str) -> Path:
        """Return the executed notebook of a run."""
        return self.folder / f"{run}.ipynb"

    def dump(self, run: str) -> Path:
        """Return the folder in which the last cell of a run leaves its results."""
        return self.folder / f"{run}-dump"

    def log(self, run: str) -> Path:
        """Return the file with what `nbresume run` printed."""
        return self.folder / f"{run}.log"

    def marks(self) -> list[Mark]:
        """Return what the ledger says so far."""
        return read_marks(self.ledger)


def fresh(folder: Path, *, sample: float) -> Workspace:
    """Make a new folder with a copy of the notebook."""
    folder.mkdir(parents=True)
    workspace = Workspace(folder=folder, sample=sample)
    shutil.copyfile(NOTEBOOK, workspace.notebook)
    return workspace


def start(workspace: Workspace, run: str) -> subprocess.Popen[bytes]:
    """Start `nbresume run` on the workspace's notebook."""
    # a setting of the person who runs the demonstration must not lead the run elsewhere
    env = {k: v for k, v in os.environ.items() if not k.startswith("NBRESUME_")}
    env |= {
        "FLIGHTS_LEDGER": str(workspace.ledger),
        "FLIGHTS_DUMP": str(workspace.dump(run)),
        "FLIGHTS_SAMPLE": str(workspace.sample),
    }
    command = ["run", workspace.notebook.name, "-o", workspace.output(run).name]
    with workspace.log(run).open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "nbresume", *command],
            cwd=workspace.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def finish(process: subprocess.Popen[bytes]) -> int:
    """Wait for a run to end and return its exit code."""
    try:
        return process.wait(timeout=RUN_LIMIT_S)
    except subprocess.TimeoutExpired:
        stop(process)
        message = f"nbresume run did not end within {RUN_LIMIT_S:.0f} s"
        raise DemoError(message) from None


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a run that we started, with its kernel."""
    for child in _descendants(process):
        child.kill()
    process.kill()
    process.wait()


def complete(workspace: Workspace, run: str) -> float:
    """Run the notebook to its end and return how many seconds that took.

    Raises
    ------
    DemoError
        The run did not end with exit code 0.
    """
    began = time.monotonic()
    code = finish(start(workspace, run))
    if code != 0:
        message = f"nbresume run ended with exit code {code}, not 0:"
        raise DemoError(f"{message}\n{tail(workspace, run)}")
    return time.monotonic() - began


def tail(workspace: Workspace, run: str) -> str:
    """Return the last lines that a run printed."""
    lines = workspace.log(run).read_text(errors="replace").splitlines()
    return "\n".join(f"    | {line}" for line in lines[-25:])


def wait_for_mark(
    workspace: Workspace, process: subprocess.Popen[bytes], step: str
) -> Mark:
    """Return the ledger's mark of a step as soon as it is there.

    Raises
    ------
    DemoError
        The run ended, or took too long, without it.
    """
    limit = time.monotonic() + RUN_LIMIT_S
    while time.monotonic() < limit:
        for mark in workspace.marks():
            if mark.step == step:
                return mark
        if process.poll() is not None:
            message = f"the run ended with {process.returncode} before step {step}"
            raise DemoError(message)
        time.sleep(POLL_S)
    stop(process)
    message = f"step {step} did not begin within {RUN_LIMIT_S:.0f} s"
    raise DemoError(message)


def kill_kernel(process: subprocess.Popen[bytes], pid: int) -> bool:
    """Send SIGKILL to a kernel of our run, and to nothing else.

    Returns False when the run has no such descendant, or none any more.
    """
    for child in _descendants(process):
        if child.pid == pid:
            try:
                child.kill()
            except psutil.NoSuchProcess:
                return False
            return True
    return False


def find_kernel(process: subprocess.Popen[bytes]) -> int | None:
    """Return the process id of the run's kernel, or None while there is none."""
    for child in _descendants(process):
        try:
            if any("ipykernel" in word for word in child.cmdline()):
                return child.pid
        except psutil.Error:
            continue
    return None


def _descendants(process: subprocess.Popen[bytes]) -> list[psutil.Process]:
    try:
        return psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def seconds_of_cells(output: Path) -> dict[str, float]:
    """Return how long each cell of an executed notebook took, by cell id.

    Cells without both times (never reached, or killed) are left out.
    """
    try:
        cells = json.loads(output.read_text())["cells"]
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return {
        cell["id"]: _between(times["iopub.execute_input"], times["shell.execute_reply"])
        for cell in cells
        for times in [cell["metadata"].get("execution", {})]
        if {"iopub.execute_input", "shell.execute_reply"} <= times.keys()
    }


def _between(began: str, ended: str) -> float:
    return (
        datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    ).total_seconds()


def ask(workspace: Workspace, command: str) -> object:
    """Return the parsed JSON of `nbresume COMMAND flights.ipynb --json`.

    Raises
    ------
    DemoError
        The command failed or printed something else.
    """
    answer = subprocess.run(
        [sys.executable, "-m", "nbresume", command, workspace.notebook.name, "--json"],
        cwd=workspace.folder,
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    if answer.returncode != 0:
        message = f"nbresume {command} ended with {answer.returncode}: {answer.stderr}"
        raise DemoError(message)
    try:
        return json.loads(answer.stdout)
    except json.JSONDecodeError as error:
        message = f"nbresume {command} --json printed no JSON: {error}"
        raise DemoError(message) from error
