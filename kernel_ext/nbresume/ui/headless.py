"""`nbresume run`: a notebook from top to bottom with nobody there.

The rule: the kernel does everything that matters; committed steps replay, so running
it again resumes. Outputs are written as it goes, whole or not at all.
"""

import atexit
import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TextIO

import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from msgspec import Struct, field
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from tqdm import tqdm
from traitlets.config import Config

from nbresume import errors
from nbresume.errors import (
    EXIT_FAILED,
    EXIT_REFUSED,
    ErrorKind,
    NbresumeError,
    RefusedError,
)
from nbresume.plan.header import find_header, step_name_of
from nbresume.plan.notebook import parse_notebook
from nbresume.run.ways import settle
from nbresume.ui.parameters import check_names, set_parameters
from nbresume.ui.saving import Saving
from nbresume.ui.transport import own_sockets
from nbresume.ui.writing import write_whole

# nbformat publishes no types
_reads: Callable[..., Any] = nbformat.reads
_writes: Callable[..., str] = nbformat.writes

_LAST_WORDS = 12
"""Lines that are shown of what a kernel wrote that did not start."""


class Order(Struct, frozen=True):
    """What was asked for on the command line."""

    notebook: Path
    output: Path
    parameters: Mapping[str, str] = field(default_factory=dict)
    retry: bool = False
    take_over: bool = False
    kernel: str = ""
    store: str = ""


class Ended(Struct, frozen=True):
    """How a headless run ended."""

    exit_code: int
    message: str
    error_type: str = ""
    """Name of the exception's class; empty if all cells are done."""
    error_kind: str = ""
    """Code of a refusal of nbresume; empty for what is no refusal."""


class CellRun(Struct):
    """A code cell that was sent to the kernel."""

    cell_id: str
    step: str
    """Its name, if it has a header."""
    place: int
    """Among all cells of the notebook."""
    began_s: float
    took_s: float | None = None
    """None: it never ended, because its kernel did."""

    @property
    def name(self) -> str:
        """How messages call it."""
        return f"step {self.step}" if self.step else f"cell {self.place + 1}"


class Watched(Struct):
    """What somebody learns of a run while it goes on."""

    kernel_pid: int | None = None
    """None if the kernel is no process of this machine."""
    cells: list[CellRun] = field(default_factory=list)
    """Those that were begun, in order."""


def run_notebook(order: Order, watched: Watched | None = None) -> Ended:
    """Run a notebook; return how it ended.

    Parameters
    ----------
    watched
        Is filled as the run goes on, so that it is known whatever is raised.

    Raises
    ------
    RefusedError
        The file is no notebook, or its kernel does not exist.
    """
    notebook = _read(order)
    _check(order)
    # not the terminal's: a kernel that is told to end complains about its own sockets
    with tempfile.TemporaryFile("w+", errors="replace") as heard:
        runner = _Runner(order, notebook, heard, watched or Watched())
        return _run(order, runner)


def _run(order: Order, runner: "_Runner") -> Ended:
    try:
        runner.run()
    except CellExecutionError as error:
        return _ended(error, runner.cell_name, runner.hint())
    except DeadKernelError:
        return _died(runner)
    except AssertionError as error:
        # after Ctrl-C nbclient cleans up twice, and trips over its own first time
        if not isinstance(error.__context__, DeadKernelError):
            raise
        return _died(runner)
    except RuntimeError as error:
        # what jupyter_client raises about a kernel that never answered
        if runner.cell_name:
            raise
        raise RefusedError(
            f"{order.notebook} was not run",
            because=f"its kernel did not start ({error})",
            remedy="Start it in Jupyter, or type nbresume run NOTEBOOK --kernel NAME."
            + runner.last_words(),
        ) from error
    except NoSuchKernel as error:
        raise RefusedError(
            f"{order.notebook} was not run",
            because=f"there is no kernel named {error.name}",
            remedy="Type jupyter kernelspec list, then nbresume run NOTEBOOK --kernel "
            "NAME.",
        ) from error
    return Ended(0, f"{order.notebook.name}: all cells done")


def _died(runner: "_Runner") -> Ended:
    told = f"the kernel died in {runner.cell_name or 'no cell'}"
    again = "Run the command again: it goes on from the last committed step."
    if step := runner.acting:
        told += ", which declared --effects and may have acted on the outside"
        again = f"Look outside, type {settle(step, [])}, and run the command again."
    return Ended(EXIT_FAILED, f"{told}. {again}", error_type=DeadKernelError.__name__)


def _read(order: Order) -> Any:
    try:
        data = order.notebook.read_bytes()
    except OSError as error:
        raise RefusedError(
            f"{order.notebook} was not run",
            because=f"it cannot be read ({error.strerror})",
            remedy="Name an existing notebook.",
        ) from error
    parse_notebook(data)
    try:
        notebook = _reads(data.decode(), as_version=4)
    except Exception as error:
        # nbformat meets a broken file with whatever its first access raises
        raise RefusedError(
            f"{order.notebook} was not run",
            because=f"it is no whole notebook ({type(error).__name__}: {error})",
            remedy="Save it in Jupyter as a notebook (.ipynb) and try again.",
        ) from error
    if order.parameters:
        set_parameters(notebook, order.parameters)
    return notebook


def _check(order: Order) -> None:
    """Pass if the parameters can be set and the outputs written.

    Raises
    ------
    RefusedError
        Nothing runs: a name is no name, or there is no folder to write to.
    """
    check_names(order.parameters)
    folder = order.output.parent
    if not os.access(folder, os.W_OK | os.X_OK):
        there = folder.is_dir()
        raise _unwritten(order, "this user may not write there" if there else "")


def _unwritten(order: Order, because: str) -> RefusedError:
    return RefusedError(
        f"the outputs were not written to {order.output}",
        because=because or "there is no such folder",
        remedy="Name a file that can be written with -o; committed steps are kept.",
    )


def kernel_environment(notebook: str) -> dict[str, str]:
    """Return the variables of a kernel that runs a notebook with nobody there."""
    env = {
        **os.environ,
        "JPY_SESSION_NAME": notebook,
        "NBRESUME_UNATTENDED": "1",
        # debuggers of the kernel warn about frozen modules on standard error
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    if not notebook:
        # one that was inherited is that of the kernel in which this was called
        del env["JPY_SESSION_NAME"]
    return env


def tell_cell(client: Any, cell: Any) -> str:
    """Have the kernel know the next cell by its id, as front ends do; return it."""
    cell_id = str(cell.get("id", ""))
    client.kc.session.metadata = {"cellId": cell_id}
    return cell_id


class _Runner:
    """One execution of one notebook, with its progress bar."""

    def __init__(
        self, order: Order, notebook: Any, heard: TextIO, watched: Watched
    ) -> None:
        self._order = order
        self._notebook = notebook
        self._heard = heard
        self._watched = watched
        self._code = [c for c in notebook.cells if c.cell_type == "code"]
        self._bar: Any = None
        self._client: Any = None
        self._saving = Saving(self._write)

    @property
    def cell_name(self) -> str:
        """The cell that runs or ran last; empty before the first."""
        cells = self._watched.cells
        return cells[-1].name if cells else ""

    @property
    def acting(self) -> str:
        """The step that runs, if its header says that it acts on the outside."""
        cells = self._watched.cells
        if not cells or not cells[-1].step:
            return ""
        source = self._notebook.cells[cells[-1].place].source
        line = source.splitlines()[find_header(source) or 0]
        return cells[-1].step if "--effects" in line.split() else ""

    def hint(self) -> str:
        """Return what nbresume said below the error of the cell that failed."""
        cells = self._watched.cells
        outputs = self._notebook.cells[cells[-1].place].outputs if cells else []
        is_below = [out.output_type for out in outputs][-2:] == ["error", "stream"]
        told = outputs[-1].text.rpartition("nbresume: ")[2] if is_below else ""
        return told.strip()

    def run(self) -> None:
        kernel = self._order.kernel or self._kernel()
        with own_sockets(kernel) as config:
            self._run(kernel, config)

    def _run(self, kernel: str, config: Config) -> None:
        client = self._client = NotebookClient(
            self._notebook,
            timeout=None,
            kernel_name=kernel,
            config=config,
            # the kernel's warnings would tear the progress bar; errors still show
            extra_arguments=["--log-level=ERROR"],
            resources={"metadata": {"path": str(self._order.notebook.parent)}},
            on_cell_execute=self._on_cell,
            on_cell_executed=self._on_done,
        )
        with tqdm(total=len(self._code), unit="cell") as self._bar:
            try:
                client.execute(env=self._environment(), stderr=self._heard)
            finally:
                # it forgets this itself, except when the kernel did not start
                atexit.unregister(client._cleanup_kernel)  # noqa: SLF001
                self._saving.finish()

    def last_words(self) -> str:
        """Return the end of what the kernel wrote past Jupyter; empty if nothing."""
        self._heard.seek(0)
        lines = deque(self._heard, _LAST_WORDS)
        return "\nIts last words:\n" + "".join(lines).rstrip() if lines else ""

    def _kernel(self) -> str:
        spec = self._notebook.metadata.get("kernelspec", {})
        return str(spec.get("name", "python3"))

    def _environment(self) -> dict[str, str]:
        env = kernel_environment(str(self._order.notebook))
        if self._order.retry:
            env["NBRESUME_RETRY"] = "1"
        if self._order.take_over:
            env["NBRESUME_TAKE_OVER"] = "1"
        if self._order.store:
            env["NBRESUME_STORE"] = self._order.store
        return env

    def _on_cell(self, cell: Any, cell_index: int) -> None:
        if cell.cell_type != "code":
            return
        cell_id = tell_cell(self._client, cell)
        self._watched.kernel_pid = getattr(self._client.km.provisioner, "pid", None)
        step = step_name_of(cell.source) or ""
        begun = CellRun(cell_id, step, cell_index, time.monotonic())
        self._watched.cells.append(begun)
        self._bar.set_description(begun.name)

    def _on_done(self, cell: Any, **_: Any) -> None:
        if cell.cell_type == "code":
            self._bar.update(1)
            last = self._watched.cells[-1]
            last.took_s = time.monotonic() - last.began_s
        self._saving.changed()

    def _write(self) -> None:
        try:
            write_whole(self._order.output, _writes(self._notebook))
        except OSError as error:
            raise _unwritten(self._order, error.strerror or str(error)) from error


def kinds_of_refusals() -> dict[str, ErrorKind]:
    """Return the names of our errors, as a kernel tells them, with their codes."""
    ours = (NbresumeError, errors.FencedError)
    return {
        found.__name__: found.kind
        for found in vars(errors).values()
        if isinstance(found, type) and issubclass(found, ours)
    }


def _ended(error: CellExecutionError, cell_name: str, hint: str) -> Ended:
    """Tell a refusal from a failure by the class of the error."""
    text = f"{cell_name}: {error.ename}: {error.evalue}"
    text += f". {hint}" if hint else ""
    if error.ename == "ModuleNotFoundError" and "'nbresume'" in error.evalue:
        text = (
            "nothing was run: the notebook's kernel has no nbresume. Install it there: "
            "python -m pip install nbresume"
        )
        return Ended(EXIT_REFUSED, text, error.ename, ErrorKind.REFUSED)
    # IPython's own UsageError, not ours
    if error.ename == "UsageError" and "`%%step` not found" in error.evalue:
        text = (
            f"{cell_name} was not run: nbresume is not loaded. Put %load_ext nbresume "
            "into the notebook's first cell."
        )
        return Ended(EXIT_REFUSED, text, error.ename, ErrorKind.REFUSED)
    kind = kinds_of_refusals().get(error.ename, "")
    code = EXIT_REFUSED if kind else EXIT_FAILED
    return Ended(code, text, error.ename, kind)
