"""Cuts the power of this process at one moment of one step: SIGKILL, nothing less.

Its one rule: nothing is tidied up. What the process held in memory is gone.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

MOMENTS = ("begun", "answer lost", "not committed", "committed")
"""The moments, in the order in which they come.

begun
    The step's intent is on disk, its code has not begun.
answer lost
    The service has done what it was asked for; the answer is still on its way.
not committed
    The code of the step has ended; its results are in memory only.
committed
    The commit is on disk; the reply to the front end is about to go out.
"""
EVENTS = {"nbresume.body": 0, "nbresume.ended": 2, "nbresume.reply": 3}
"""Audit events of nbresume by which the moments are known."""
VARIABLE = "POWER_CUT"


def planned() -> tuple[str, int] | None:
    """Return the step and the moment at which the power is to be cut."""
    step, colon, moment = os.environ.get(VARIABLE, "").partition(":")
    return (step, int(moment)) if colon else None


def at(step: str, moment: int) -> None:
    """Cut the power if this is the moment."""
    if planned() == (step, moment):
        os.kill(os.getpid(), signal.SIGKILL)


def arm() -> None:
    """Watch for moments that nbresume announces; without it there are none."""
    if planned() is None:
        return

    def watch(event: str, told: tuple[Any, ...]) -> None:
        moment = EVENTS.get(event)
        if moment is not None:
            at(told[0], moment)

    sys.addaudithook(watch)
