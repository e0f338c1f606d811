"""The public face of resumable loops: finds the notebook of this kernel, asks its run.

The rule: what a loop is asked with is understood here, whole, or refused.
"""

import sys
from collections.abc import AsyncIterable, Iterable, Iterator
from itertools import islice
from types import FrameType
from typing import Any, TypeVar

from nbresume.compose.active import ACTIVE
from nbresume.compose.bars import with_bar
from nbresume.errors import EffectRefused, LoopRefused, UsageError
from nbresume.run.cadence import cadence_of
from nbresume.run.loops import Caller

T = TypeVar("T")

_REFUSED = "the loop was not begun"


def resumable(
    items: Iterable[T],
    *,
    state: str | Iterable[str] | None = None,
    every: int | None = None,
    seconds: float | None = None,
    share: float | None = None,
    bar: bool = True,
) -> Iterator[T]:
    """Return the items of a loop whose progress is saved as it goes.

    After a crash the step's cell runs from the top again; here the loop gets back the
    names as they were, skips what is done, and goes on.

    Parameters
    ----------
    items
        What to go over, in the same order in each run.
    state
        Names to keep; None for all that the step has set or changed.
    every
        Save after so many items.
    seconds
        Save when so many seconds have passed.
    share
        Spend at most this share of the loop's time on saving.
    bar
        Show a progress bar if tqdm is installed.

    Raises
    ------
    LoopRefused
        It stands outside of a step's own code, or cannot be gone on with.
    UsageError
        An option cannot be meant.
    """
    cadence = cadence_of(every, seconds, share)
    names = _names(state)
    if isinstance(items, AsyncIterable) or not isinstance(items, Iterable):
        raise UsageError(
            _REFUSED,
            because=f"a {type(items).__name__} is nothing that a for can go over",
            remedy="Write for item in resumable(ITEMS), with a list, a range or "
            "another iterable.",
        )
    try:
        loops = ACTIVE.parts(_REFUSED).loops
        caller = _caller(sys._getframe(1))  # noqa: SLF001 - where the call stands
        loop, going = loops.enter(items, cadence, names, caller)
    except EffectRefused as error:
        raise LoopRefused(
            error.refused,
            because=error.because,
            remedy="Write the loop in a cell that begins with %%step NAME.",
        ) from error
    return with_bar(loop, going, loop.step) if bar else going


def _names(state: Any) -> frozenset[str] | None:
    if state is None:
        return None
    names = [state] if isinstance(state, str) else list(state)
    wrong = [n for n in names if not isinstance(n, str) or not n.isidentifier()]
    if wrong or not names:
        raise UsageError(
            _REFUSED,
            because=f"state={state!r}: it names what to keep",
            remedy='Write for example state=("model", "opt"), with the names as texts.',
        )
    return frozenset(names)


def _caller(frame: FrameType) -> Caller:
    code = frame.f_code
    found = next(islice(code.co_positions(), frame.f_lasti // 2, None), None)
    line, last, column, last_column = found or (0, 0, 0, 0)
    span = (line or 0, column or 0, last or 0, last_column or 0)
    return Caller(frame.f_globals, code.co_name, span)


# A notebook finds it again by this name, whichever module it lives in.
resumable.__module__ = "nbresume"
