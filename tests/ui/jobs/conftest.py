"""Jobs: other programs that run notebooks, as processes of their own."""

import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Done:
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """Return everything that it printed."""
        return self.out + self.err


TESTS = next(p for p in Path(__file__).resolve().parents if p.name == "tests")
sys.path.insert(0, str(TESTS / "kernel" / "durability"))


@pytest.fixture(scope="session")
def installed(tmp_path_factory):
    """Return the variables of a process that finds the entry points of this project.

    An environment that was made before an entry point was added does not have it.
    """
    project = tomllib.loads((TESTS.parent / "pyproject.toml").read_text())["project"]
    folder = tmp_path_factory.mktemp("installed")
    told = folder / "nbresume-0.1.0.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: nbresume\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {at}" for name, at in points.items())]
    (told / "entry_points.txt").write_text("\n".join(lines))
    path = os.environ.get("PYTHONPATH", "")
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), path)))}


@pytest.fixture
def papermill(installed):
    """Return what starts papermill with the engine; `wait` makes it end first."""

    def start(*words, cwd=None, env=None, wait=True):
        command = [sys.executable, "-m", "papermill", "--engine", "nbresume"]
        process = subprocess.Popen(
            [*command, *map(str, words)],
            cwd=cwd,
            env={**os.environ, **installed, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if not wait:
            return process
        said, _ = process.communicate(timeout=120)
        return process.returncode, said

    return start


@pytest.fixture
def in_child():
    """Return what runs a command of nbresume as a child process."""

    def run(*words, cwd):
        done = subprocess.run(
            [sys.executable, "-m", "nbresume", *map(str, words)],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run
