"""`papermill --engine nbresume`: committed steps of an output notebook are replayed.

The rule: to papermill an output is one piece of work, so each output notebook has a run
of its own, whatever it was made from; the same command goes on with it. The kernel
does everything that matters, as under `nbresume run`. Only papermill imports this.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import NBClientEngine
from papermill.iorw import LocalHandler, papermill_io
from papermill.log import logger

from nbresume.errors import RefusedError
from nbresume.ui.headless import (
    kernel_environment,
    kinds_of_refusals,
    tell_cell,
)
from nbresume.ui.parameters import CELL_ID
from nbresume.ui.text import in_terminal

_INJECTED = "injected-parameters"
"""Tag of the cell in which papermill sets parameters."""
_OURS = ("input_path", "timeout", "startup_timeout")
"""What papermill hands to every engine, and its client does not take."""


@dataclass(frozen=True, slots=True)
class Work:
    """Which run an execution belongs to, and what the kernel knows of it."""

    name: str
    """Of the run, unless a setting names one."""
    saved: str
    """Absolute path of the file that has the cells as they run; empty if none."""

    @property
    def environment(self) -> dict[str, str]:
        """The kernel's variables."""
        env = kernel_environment(self.saved)
        env.setdefault("NBRESUME_RUN", self.name)
        return env


def work_of(nb: Any, output_path: str | None) -> Work:
    """Return which run this is: that of its output, else of its input.

    Parameters
    ----------
    nb
        The notebook; papermill notes in its metadata where it comes from and goes to.
    output_path
        Where it is written as it runs; None if only at the end.

    Raises
    ------
    RefusedError
        Nothing tells.
    """
    told = nb.metadata.papermill
    source, target = _place(told["input_path"]), _place(told["output_path"])
    name = target or source
    if not name and not os.environ.get("NBRESUME_RUN"):
        raise RefusedError(
            "the notebook was not run",
            because="it is neither read from a file nor written to one, so the run is "
            "not known",
            remedy="Set NBRESUME_RUN to a name for the run, or name an output file.",
        )
    saved = target if output_path and _is_local(told["output_path"]) else source
    return Work(f"papermill {name}", saved if Path(saved).is_absolute() else "")


def _place(path: Any) -> str:
    """Return a file's absolute path, or an address; empty for a stream."""
    if not isinstance(path, str) or path in ("", "-"):
        return ""
    if not _is_local(path):
        return path
    # not resolved: commands look for a run by the path of its notebook as it is typed
    return os.path.abspath(_folder() / path)  # noqa: PTH100


def _is_local(path: Any) -> bool:
    return isinstance(papermill_io.get_handler(path), LocalHandler)


def _folder() -> Path:
    """Return where papermill was started: by now it may have gone elsewhere."""
    handler = papermill_io.get_handler("local")
    folder = handler.cwd(None)
    handler.cwd(folder)
    return Path(folder) if folder else Path.cwd()


class _Client(PapermillNotebookClient):  # type: ignore[misc]  # it has no types
    """Tells the kernel which cell it is sent, as front ends do."""

    def __init__(self, nb_man: Any, **options: Any) -> None:
        super().__init__(nb_man, on_cell_execute=self._tell, **options)

    def _tell(self, cell: Any, **_: Any) -> None:
        tell_cell(self, cell)


class NbresumeEngine(NBClientEngine):  # type: ignore[misc]  # it has no types
    """Runs a notebook as papermill's own engine does, with its steps kept."""

    @classmethod
    def execute_notebook(cls, nb: Any, kernel_name: str, **options: Any) -> Any:
        """Run a notebook; one that was cut off goes on.

        Raises
        ------
        RefusedError
            Nothing tells which run this is.
        """
        for cell in nb.cells:
            if _INJECTED in cell.metadata.get("tags", []) and "id" in cell:
                # papermill makes up another one each time
                cell["id"] = CELL_ID
        work = work_of(nb, options.get("output_path"))
        return super().execute_notebook(nb, kernel_name, work=work, **options)

    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, work: Work, **options: Any
    ) -> Any:
        """Send the cells to a kernel, as papermill's own engine does.

        Parameters
        ----------
        work
            Which run it is.
        """
        timeout = options.pop("execution_timeout", None) or options.get("timeout")
        startup_timeout = options.pop("start_timeout", 60)
        taken = {name: value for name, value in options.items() if name not in _OURS}
        client = _Client(
            nb_man,
            kernel_name=kernel_name,
            timeout=timeout,
            startup_timeout=startup_timeout,
            log=logger,
            **taken,
        )
        try:
            return client.execute(env=work.environment)
        finally:
            _tell_refusal(nb_man.nb, work.saved)


def _tell_refusal(nb: Any, notebook: str) -> None:
    """Say with the commands of a terminal what was refused; papermill raises it."""
    kinds = kinds_of_refusals()
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            if output.output_type == "error" and output.ename in kinds:
                told = in_terminal(output.evalue, notebook or "NOTEBOOK")
                logger.error("%s: %s", output.ename, told)
