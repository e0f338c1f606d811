"""Named points at which a kernel waits until a test has killed or interrupted it.

A kernel waits at a point only while the file ``arm-POINT`` lies in its folder; it
makes ``at-POINT`` when it is there. `HELPER` is what step bodies call.
"""

import json
from pathlib import Path

from click.testing import CliRunner
from real_kernel import LOAD, Kernel, plant, save, wait_for

from nbresume.run.view import RunView
from nbresume.ui.cli import cli

POINTS = """
import os, pathlib, sys, time
here = pathlib.Path(os.environ.get("CRASH_FOLDER", "."))
def at(point):
    if not (here / f"arm-{point}").exists():
        return
    (here / f"at-{point}").touch()
    while not (here / "go").exists():
        time.sleep(0.01)
if "CRASH_FOLDER" in os.environ and "ipykernel" in " ".join(sys.orig_argv):
    from nbresume.capture.snapshot import Snapshot
    from nbresume.store.chain import Chain
    append, take = Chain.append, Snapshot.take
    def paused(self, envelope, **options):
        kind = envelope.kind.removeprefix("nbresume.")
        at(f"before-{kind}")
        link = append(self, envelope, **options)
        at(f"after-{kind}")
        return link
    def capturing(self, names, **options):
        at("capture")
        return take(self, names, **options)
    Chain.append, Snapshot.take = paused, capturing
"""

HELPER = """
import os
from sitecustomize import at
def note(name):
    with open("ledger.txt", "a") as file:
        file.write(name + "\\\\n")
        file.flush()
        os.fsync(file.fileno())
    at("body")
"""


class Crash:
    """A notebook of three steps whose middle one is cut off."""

    def __init__(self, folder: Path, options: str = "") -> None:
        self.folder = folder
        self.cells = [
            LOAD,
            "from helper import note",
            "%%step load\nnote('load')\nrows = [1, 2, 3]",
            f"%%step work {options}\nnote('work')\nrows.append(4)\ntotal = sum(rows)",
            "%%step end\nnote('end')\nanswer = total * 2",
        ]
        save(folder / "main.ipynb", *self.cells)
        (folder / "helper.py").write_text(HELPER.replace("\\\\n", "\\n"))
        self._env = plant(folder / "startup", POINTS)
        self._env["CRASH_FOLDER"] = str(folder)

    @property
    def environment(self) -> dict[str, str]:
        """Variables of the kernels."""
        return dict(self._env)

    def write(self, cells: list[str]) -> None:
        """Put other cells into the notebook."""
        self.cells = cells
        save(self.folder / "main.ipynb", *cells)

    def kernel(self) -> Kernel:
        """Return a new kernel for the notebook."""
        return Kernel(self.folder, env=self._env)

    def arm(self, point: str) -> None:
        """Let the next kernel that comes to the point wait there."""
        (self.folder / f"arm-{point}").touch()

    def disarm(self, point: str) -> None:
        """Forget the point."""
        (self.folder / f"arm-{point}").unlink()
        (self.folder / f"at-{point}").unlink(missing_ok=True)

    def kill_at(self, point: str, cells=range(5), arm_before: int = 3) -> None:
        """Run the notebook in a new kernel and kill it at the point."""
        kernel = self.kernel()
        for number in cells:
            if number == arm_before:
                self.arm(point)
                kernel.send(self.cells[number], f"c{number}")
                wait_for(self.folder / f"at-{point}")
                break
            kernel.ok(self.cells[number], f"c{number}")
        kernel.kill()
        self.disarm(point)

    def run_all(self) -> list:
        """Run every cell in a new kernel up to the first error; return what they said.

        The last element is the repr of what the steps made.
        """
        said = []
        with self.kernel() as kernel:
            for number, code in enumerate(self.cells):
                said.append(kernel.run(code, f"c{number}"))
                if said[-1].status == "error":
                    break
            # a cell that asks for everything has everything loaded
            kernel.run("globals() and None", "look")
            names = "{k: globals()[k] for k in ('rows', 'total', 'answer') "
            names += "if k in globals()}"
            return [*said, kernel.evaluate(names)]

    def ledger(self) -> list[str]:
        """Return which bodies started, in order."""
        path = self.folder / "ledger.txt"
        return path.read_text().split() if path.exists() else []

    def view(self) -> RunView:
        """Return what ``nbresume status --json`` prints."""
        return RunView.from_json(self.command("status", "--json").encode())

    def states(self) -> dict[str, str]:
        """Return step → state by ``nbresume status --json``."""
        return {step.name: str(step.state) for step in self.view().steps}

    def command(self, command: str, *words: str) -> str:
        """Run a command of ``nbresume`` about the notebook; return what it printed."""
        notebook = str(self.folder / "main.ipynb")
        done = CliRunner().invoke(cli, [command, notebook, *words])
        assert done.exit_code == 0, done.output
        return done.stdout

    def record(self, kind: str) -> dict:
        """Return what the newest record of a kind says."""
        paths = sorted((self.folder / ".nbresume").glob("journal/*/*.rec"))
        found = [json.loads(path.read_bytes()) for path in paths]
        said = [r["payload"] for r in found if r["kind"] == f"nbresume.{kind}"]
        return said[-1]

    def journal(self) -> list[str]:
        """Return the kinds of all records, damaged ones as "?"."""
        found = []
        for path in sorted((self.folder / ".nbresume").glob("journal/*/*.rec")):
            try:
                found.append(json.loads(path.read_bytes())["kind"].split(".")[1])
            except ValueError:
                found.append("?")
        return found
