"""How often a loop saves its progress, as its author said it.

The rule: a wish that cannot be meant is refused before the first item.
"""

import math
from typing import Any

from msgspec import Struct

from nbresume.errors import UsageError

SECONDS = 30.0
SHARE = 0.05
"""What holds if nothing is said."""


class Cadence(Struct, frozen=True):
    """When progress is due."""

    every: int | None = None
    """After so many items."""
    seconds: float | None = None
    """After so many seconds."""
    share: float | None = None
    """So much of the loop's time may be spent saving; 1 for all of it."""

    def is_due(
        self, *, items: int, passed_s: float, spent_s: float, loop_s: float
    ) -> bool:
        """Say whether progress is to be saved between two items.

        Parameters
        ----------
        items, passed_s
            Items and seconds since it was saved last.
        spent_s, loop_s
            The time that saving has taken, of the time since the loop began.
        """
        if self.share is not None and spent_s > self.share * loop_s:
            return False
        if self.every is None and self.seconds is None:
            return True
        by_count = self.every is not None and items >= self.every
        return by_count or (self.seconds is not None and passed_s >= self.seconds)


def cadence_of(every: Any, seconds: Any, share: Any) -> Cadence:
    """Return what an author asked for.

    Raises
    ------
    UsageError
        It cannot be meant.
    """
    if every is None and seconds is None and share is None:
        return Cadence(seconds=SECONDS, share=SHARE)
    if every is not None and not (_is_number(every, int) and every >= 1):
        raise _refusal(f"every={every!r}: it counts items, from 1 on", "every=100")
    if seconds is not None and not (_is_number(seconds, float) and seconds > 0):
        raise _refusal(f"seconds={seconds!r}: it is a time above 0", "seconds=30")
    if share is not None and not (_is_number(share, float) and 0 < share <= 1):
        raise _refusal(f"share={share!r}: it lies between 0 and 1", "share=0.05")
    return Cadence(every, seconds, share)


def _is_number(value: Any, kind: type) -> bool:
    kinds = (int,) if kind is int else (int, float)
    is_one = isinstance(value, kinds) and not isinstance(value, bool)
    return is_one and math.isfinite(value)


def _refusal(because: str, example: str) -> UsageError:
    return UsageError(
        "the loop was not begun",
        because=because,
        remedy=f"Write for example resumable(items, {example}).",
    )
