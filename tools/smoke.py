"""Try an installed nbresume as a user would: a kernel dies, the command goes on.

Run by the Python of an environment, in an empty folder. It says what it saw, or fails
with the first thing that is not as it should be.
"""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

LOAD = """\
%%step load
open("ran.txt", "a").write("load ")
rows = np.arange(1_000_000.0)"""
DIE = """\
%%step die
import os, pathlib
if not pathlib.Path("died").exists():
    pathlib.Path("died").touch()
    os.kill(os.getpid(), 9)
total = float(rows[:limit].sum())"""
TELL = """\
%%step tell --effects
open("told.txt", "a").write(f"{total} ")"""
CELLS = ("%load_ext nbresume", "import numpy as np\nlimit = 3", LOAD, DIE, TELL)


def nbresume(*words: str) -> subprocess.CompletedProcess[str]:
    """Type a command."""
    return subprocess.run(  # noqa: S603 - the environment that is tried
        [sys.executable, "-m", "nbresume", *words],
        capture_output=True,
        text=True,
        check=False,
    )


def expect(*, what: str, seen: object, wanted: object) -> None:
    """End with a message if it is another one."""
    if seen != wanted:
        sys.exit(f"{what}: {seen!r}, and not {wanted!r}")


def main() -> None:
    """Kill, resume, look."""
    cells = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "source": source,
            "outputs": [],
            "execution_count": None,
        }
        for number, source in enumerate(CELLS)
    ]
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    Path("smoke.ipynb").write_text(json.dumps(notebook), encoding="utf-8")

    told = nbresume("--version").stdout.split()[-1]
    expect(what="version", seen=told, wanted=version("nbresume"))
    died = nbresume("run", "smoke.ipynb")
    expect(what=f"killed: {died.stderr[-500:]}", seen=died.returncode, wanted=1)
    ended = nbresume("run", "smoke.ipynb")
    expect(what=f"resumed: {ended.stderr[-500:]}", seen=ended.returncode, wanted=0)
    expect(what="again", seen=nbresume("run", "smoke.ipynb").returncode, wanted=0)
    expect(what="ran", seen=Path("ran.txt").read_text(), wanted="load ")
    expect(what="told", seen=Path("told.txt").read_text(), wanted="3.0 ")
    view = json.loads(nbresume("status", "--json", "smoke.ipynb").stdout)
    states = [step["state"] for step in view["steps"]]
    expect(what="states", seen=states, wanted=["COMMITTED"] * 3)
    expect(what="whole", seen=nbresume("verify", "smoke.ipynb").returncode, wanted=0)
    page = Path(sys.prefix, "share/jupyter/labextensions/nbresume/package.json")
    expect(what="sidebar", seen=json.loads(page.read_text())["version"], wanted=told)
    server = Path(sys.prefix, "etc/jupyter/jupyter_server_config.d/nbresume.json")
    expect(what="server's part", seen=server.exists(), wanted=True)
    print("killed once, resumed, every body once, every digest holds, sidebar there")


if __name__ == "__main__":
    main()
