"""A kernel that starts with nbresume in it: `nbresume autoload`, or the page's setting.

The rule: loaded only where the notebook has steps, so that no other folder gets a
store; nothing is said before the first cell, and nothing runs by itself.
"""

import os
from pathlib import Path
from typing import Any

from nbresume.errors import NbresumeError, RefusedError
from nbresume.plan.notebook import parse_notebook


def load(shell: Any) -> None:
    """Load nbresume into a kernel that starts, if its notebook has steps.

    Else the first ``%%step`` cell loads it.
    """
    path = os.environ.get("JPY_SESSION_NAME", "")
    if not hasattr(shell, "kernel") or not path:
        return
    if _has_steps(Path(path)):
        _load_and_tell(shell)
    else:
        shell.register_magic_function(_first_step(shell), "cell", "step")


def _has_steps(path: Path) -> bool:
    try:
        return any(cell.step is not None for cell in parse_notebook(path.read_bytes()))
    except (OSError, NbresumeError):
        return False


def _load_and_tell(shell: Any) -> None:
    """Load it; what there is to say is said where the first cell shows it."""
    # half a second that kernels of other notebooks need not pay
    from nbresume.ui.ipython import magics  # noqa: PLC0415

    if magics.is_loaded(shell):
        return
    refused: list[NbresumeError] = []
    try:
        magics.load_between_cells(shell)
    except NbresumeError as error:
        refused.append(error)
        # its refusal, and not that there is no such magic, is what a step says
        shell.register_magic_function(_first_step(shell), "cell", "step")

    def tell(_info: Any) -> None:
        shell.events.unregister("pre_run_cell", tell)
        if refused:
            print(f"nbresume: {refused[0]}")  # noqa: T201 - below the first cell
        else:
            magics.greet(shell)

    shell.events.register("pre_run_cell", tell)


def _first_step(shell: Any) -> Any:
    def step(line: str, _cell: str = "") -> None:
        """Load nbresume, whose header this is; the cell has to be run again."""
        from nbresume.ui.ipython.magics import load_between_cells  # noqa: PLC0415

        load_between_cells(shell)
        raise RefusedError(
            f"step {line.partition(' ')[0]} was not run",
            because="nbresume was not loaded in this kernel yet; now it is",
            remedy="Run the cell again.",
        )

    return step
