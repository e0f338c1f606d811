"""What really ran: the ledger that the step bodies write, and its judge.

Each step of the demonstration begins with a line `STEP PID` in a file that nbresume
knows nothing of. This module reads that file and says what is wrong with it. Its one
rule: nothing here may look at nbresume's own records.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path

STEPS = ("load", "clean", "join", "aggregate", "fit", "evaluate", "plot")
"""The steps of `flights.ipynb`, in the order of the notebook."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One line of the ledger: a step's body began in a process."""

    step: str
    pid: int


def read_marks(path: Path) -> list[Mark]:
    """Return the complete lines of the ledger, oldest first."""
    if not path.exists():
        return []
    complete = path.read_text().rpartition("\n")[0].splitlines()
    pairs = [line.split() for line in complete]
    return [Mark(step=step, pid=int(pid)) for step, pid in pairs]


def passes(marks: list[Mark]) -> list[list[str]]:
    """Return the steps that began, one list for each kernel that ran any."""
    grouped = groupby(marks, key=lambda mark: mark.pid)
    return [[mark.step for mark in group] for _, group in grouped]


def broken_off(marks: list[Mark]) -> list[str]:
    """Return the steps that were killed inside: the next kernel ran them again."""
    runs = passes(marks)
    return [before[-1] for before, after in pairwise(runs) if before[-1] == after[0]]


def faults(marks: list[Mark], steps: tuple[str, ...] = STEPS) -> list[str]:
    """Return what is wrong with the ledger of a pipeline that ran to its end.

    A step whose successor has begun was committed, and must never begin again. The last
    step before a kill may begin again or not: only the kernel knew whether it was done.
    """
    unknown = sorted({mark.step for mark in marks} - set(steps))
    if unknown:
        return [f"the ledger names unknown steps: {', '.join(unknown)}"]
    found = [f"step {step} never ran" for step in _missing(marks, steps)]
    reached = -1
    for number, run in enumerate(passes(marks), start=1):
        first = steps.index(run[0])
        if first < reached:
            found.append(
                f"kernel {number} ran step {run[0]} again, "
                f"although step {steps[reached]} had already begun after it"
            )
        expected = list(steps[first : first + len(run)])
        if run != expected:
            found.append(
                f"kernel {number} ran {' '.join(run)}, not {' '.join(expected)}"
            )
        reached = max(reached, *(steps.index(step) for step in run))
    return found + _too_often(marks, steps)


def _missing(marks: list[Mark], steps: tuple[str, ...]) -> list[str]:
    ran = {mark.step for mark in marks}
    return [step for step in steps if step not in ran]


def _too_often(marks: list[Mark], steps: tuple[str, ...]) -> list[str]:
    began = Counter(mark.step for mark in marks)
    killed = Counter(broken_off(marks))
    return [
        f"step {step} began {began[step]} times, but was killed {killed[step]} times"
        for step in steps
        if began[step] > 1 + killed[step]
    ]
