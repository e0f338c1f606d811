"""What the hooks refuse, in words; and how an error stops a cell under IPython.

The rule: whatever is raised stops the cell and keeps the hook registered.
"""

import re
from typing import Any

from IPython.core.error import InputRejected

from nbresume.errors import FencedError, NbresumeError, RefusedError

RESULTS = re.compile(r"_{1,3}|_\d+|_i{1,3}|_i\d+|Out|_oh|In|_ih")
"""Names under which IPython keeps the results and texts of earlier cells."""


def rejected(error: NbresumeError | FencedError) -> InputRejected:
    """Return the error as one that stops the cell and keeps the hook registered."""
    kind = type(error)
    both: Any = type(
        kind.__name__, (kind, InputRejected), {"__module__": kind.__module__}
    )
    stopped: InputRejected = both.__new__(both)
    stopped.args = error.args
    vars(stopped).update(vars(error))
    return stopped


def refuse_results(step: str, reads: frozenset[str]) -> None:
    """Pass if a cell reads no result of another cell.

    Raises
    ------
    RefusedError
        It does.
    """
    results = sorted(name for name in reads if RESULTS.fullmatch(name))
    if results:
        raise RefusedError(
            f"step {step} was not run",
            because=f"it reads {', '.join(results)}, the result of another cell, which "
            "no commit keeps",
            remedy="Bind that result to a name in its cell and use the name here.",
            step=step,
        )


def misplaced(step: str) -> RefusedError:
    """Return the refusal of a header that is not that of the running cell."""
    return RefusedError(
        f"step {step} was not run",
        because="%%step stands in a cell that runs inside another cell, or silently",
        remedy="Put %%step NAME on the first line of a cell of its own and run it.",
        step=step,
    )


def in_subshell(step: str) -> RefusedError:
    """Return the refusal of a step beside the main shell."""
    return RefusedError(
        f"step {step} was not run",
        because="it was sent to a subshell, beside a cell that may be running",
        remedy="Run it in the notebook's main shell.",
        step=step,
    )


def internal(error: Exception) -> RefusedError:
    """Return what a fault of nbresume itself is told as."""
    return RefusedError(
        "the cell was not run",
        because=f"nbresume itself failed: {type(error).__name__}: {error}",
        remedy="Report it to the developers of nbresume, with the steps that led here.",
    )
