"""`nbresume run`: a notebook from top to bottom with nobody there.

The rule: the kernel does everything that matters; committed steps replay, so running
it again resumes. Outputs are written after every cell, whole or not at all.
"""

import ast
import atexit
import keyword
import os
import tempfile
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from msgspec import Struct, field
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from tqdm import tqdm

from nbresume import errors
from nbresume.errors import (
    EXIT_FAILED,
    EXIT_REFUSED,
    NbresumeError,
    RefusedError,
    UsageError,
)
from nbresume.plan.header import step_name_of
from nbresume.plan.notebook import parse_notebook
from nbresume.ui.writing import write_whole

# nbformat publishes no types
_reads: Callable[..., Any] = nbformat.reads
_writes: Callable[..., str] = nbformat.writes
_new_code_cell: Callable[..., Any] = nbformat.v4.new_code_cell

_LAST_WORDS = 12
"""Lines that are shown of what a kernel wrote that did not start."""
_PARAMETERS_ID = "nbresume-parameters"
PARAMETERS = "parameters"
"""Tag of the cell behind which given parameters are set."""


class Order(Struct, frozen=True):
    """What was asked for on the command line."""

    notebook: Path
    output: Path
    parameters: Mapping[str, str] = field(default_factory=dict)
    retry: bool = False
    kernel: str = ""
    store: str = ""


class Ended(Struct, frozen=True):
    """How a headless run ended."""

    exit_code: int
    message: str


def run_notebook(order: Order) -> Ended:
    """Run a notebook; return how it ended.

    Raises
    ------
    RefusedError
        The file is no notebook, or its kernel does not exist.
    """
    notebook = _read(order)
    _check(order)
    # not the terminal's: a kernel that is told to end complains about its own sockets
    with tempfile.TemporaryFile("w+", errors="replace") as heard:
        return _run(order, _Runner(order, notebook, heard))


def _run(order: Order, runner: "_Runner") -> Ended:
    try:
        runner.run()
    except CellExecutionError as error:
        return _ended(error, runner.cell_name)
    except DeadKernelError:
        return _died(runner.cell_name)
    except AssertionError as error:
        # after Ctrl-C nbclient cleans up twice, and trips over its own first time
        if not isinstance(error.__context__, DeadKernelError):
            raise
        return _died(runner.cell_name)
    except RuntimeError as error:
        # what jupyter_client raises about a kernel that never answered
        if runner.cell_name:
            raise
        raise RefusedError(
            f"{order.notebook} was not run",
            because=f"its kernel did not start ({error})",
            remedy="Start it in Jupyter, or type nbresume run --kernel NAME."
            + runner.last_words(),
        ) from error
    except NoSuchKernel as error:
        raise RefusedError(
            f"{order.notebook} was not run",
            because=f"there is no kernel named {error.name}",
            remedy="Type jupyter kernelspec list, then nbresume run --kernel NAME.",
        ) from error
    return Ended(0, f"{order.notebook.name}: all cells done")


def _died(cell_name: str) -> Ended:
    return Ended(
        EXIT_FAILED,
        f"the kernel died in {cell_name or 'no cell'}. Run the command again: it goes "
        "on from the last committed step.",
    )


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
        kept = [cell for cell in notebook.cells if cell.get("id") != _PARAMETERS_ID]
        notebook.cells = kept
        notebook.cells.insert(_after_parameters(notebook), _parameter_cell(order))
    return notebook


def _check(order: Order) -> None:
    """Pass if the parameters can be set and the outputs written.

    Raises
    ------
    RefusedError
        Nothing runs: a name is no name, or there is no folder to write to.
    """
    for name in order.parameters:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UsageError(
                f"-p {name}",
                because="it is no name that a cell could set",
                remedy="Type -p NAME VALUE, for example -p year 2013.",
            )
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


def _after_parameters(notebook: Any) -> int:
    for index, cell in enumerate(notebook.cells):
        if PARAMETERS in cell.metadata.get("tags", []):
            return index + 1
    return 0


def _parameter_cell(order: Order) -> Any:
    lines = [f"{name} = {_literal(v)!r}" for name, v in order.parameters.items()]
    cell = _new_code_cell("\n".join(lines))
    cell.id = _PARAMETERS_ID
    return cell


def _literal(text: str) -> Any:
    """Return the Python value that a parameter spells, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


class _Runner:
    """One execution of one notebook, with its progress bar."""

    def __init__(self, order: Order, notebook: Any, heard: TextIO) -> None:
        self._order = order
        self._notebook = notebook
        self._heard = heard
        self._code = [c for c in notebook.cells if c.cell_type == "code"]
        self._bar: Any = None
        self._client: Any = None
        self.cell_name = ""
        """The cell that runs or ran last; empty before the first."""

    def run(self) -> None:
        client = self._client = NotebookClient(
            self._notebook,
            timeout=None,
            kernel_name=self._order.kernel or self._kernel(),
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

    def last_words(self) -> str:
        """Return the end of what the kernel wrote past Jupyter; empty if nothing."""
        self._heard.seek(0)
        lines = deque(self._heard, _LAST_WORDS)
        return "\nIts last words:\n" + "".join(lines).rstrip() if lines else ""

    def _kernel(self) -> str:
        spec = self._notebook.metadata.get("kernelspec", {})
        return str(spec.get("name", "python3"))

    def _environment(self) -> dict[str, str]:
        env = {
            **os.environ,
            "JPY_SESSION_NAME": str(self._order.notebook),
            "NBRESUME_UNATTENDED": "1",
            # debuggers of the kernel warn about frozen modules on standard error
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }
        if self._order.retry:
            env["NBRESUME_RETRY"] = "1"
        if self._order.store:
            env["NBRESUME_STORE"] = self._order.store
        return env

    def _on_cell(self, cell: Any, cell_index: int) -> None:
        if cell.cell_type != "code":
            return
        # the kernel knows a cell by its id, as front ends tell it
        self._client.kc.session.metadata = {"cellId": cell.get("id", "")}
        step = step_name_of(cell.source)
        self.cell_name = f"step {step}" if step else f"cell {cell_index + 1}"
        self._bar.set_description(self.cell_name)

    def _on_done(self, cell: Any, **_: Any) -> None:
        if cell.cell_type == "code":
            self._bar.update(1)
        try:
            write_whole(self._order.output, _writes(self._notebook))
        except OSError as error:
            raise _unwritten(self._order, error.strerror or str(error)) from error


def _refusals() -> Sequence[str]:
    kinds = [k for k in vars(errors).values() if isinstance(k, type)]
    ours = (NbresumeError, errors.FencedError)
    return [k.__name__ for k in kinds if issubclass(k, ours)]


def _ended(error: CellExecutionError, cell_name: str) -> Ended:
    """Tell a refusal from a failure by the class of the error."""
    text = f"{cell_name}: {error.ename}: {error.evalue}"
    if error.ename == "ModuleNotFoundError" and "'nbresume'" in error.evalue:
        return Ended(
            EXIT_REFUSED,
            "nothing was run: the notebook's kernel has no nbresume. Install it there: "
            "python -m pip install nbresume",
        )
    # IPython's own UsageError, not ours
    if error.ename == "UsageError" and "`%%step` not found" in error.evalue:
        return Ended(
            EXIT_REFUSED,
            f"{cell_name} was not run: nbresume is not loaded. Put %load_ext nbresume "
            "into the notebook's first cell.",
        )
    refused = error.ename in _refusals()
    return Ended(EXIT_REFUSED if refused else EXIT_FAILED, text)
