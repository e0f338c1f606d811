"""What changes with each cell → its file: soon, and at a cost that stays a small part.

The rule: a notebook is written whole, so writing it after each of many quick cells
would cost the square of their number. It is written after a cell while that takes a
tenth of the time that went by, else a little later, also while the next cell runs; and
always in the end.
"""

import asyncio
import time
from collections.abc import Callable

from nbresume.errors import NbresumeError

SHARE = 0.1
"""So much of the time may go into writing …"""
FREE_S = 1.0
"""… beyond this."""
LATER_S = 1.0
"""What is not written now is looked at again after so long."""


class Saving:
    """Writes one file as a run goes on, on the loop that runs its cells."""

    def __init__(
        self, write: Callable[[], None], now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._now_s = now_s
        self._begun_s = now_s()
        self._spent_s = 0.0
        self._is_due = False
        self._handle: asyncio.TimerHandle | None = None
        self._failed: NbresumeError | None = None

    def changed(self) -> None:
        """Write what has changed, now or a little later.

        Raises
        ------
        NbresumeError
            What `write` raises, at the latest when it is called the next time.
        """
        self._is_due = True
        if self._failed is not None:
            raise self._failed
        if self._is_cheap():
            self._save()
        elif self._handle is None:
            loop = asyncio.get_running_loop()
            self._handle = loop.call_later(LATER_S, self._later)

    def finish(self) -> None:
        """Write what is not written yet.

        Raises
        ------
        NbresumeError
            What `write` raises.
        """
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
        if self._is_due:
            self._save()

    def _is_cheap(self) -> bool:
        allowed_s = FREE_S + SHARE * (self._now_s() - self._begun_s)
        return self._spent_s <= allowed_s

    def _later(self) -> None:
        self._handle = None
        if not self._is_due:
            return
        if not self._is_cheap():
            loop = asyncio.get_running_loop()
            self._handle = loop.call_later(LATER_S, self._later)
            return
        try:
            self._save()
        except NbresumeError as error:
            self._failed = error  # the next cell tells it: a callback has no caller

    def _save(self) -> None:
        begun_s = self._now_s()
        self._write()
        self._is_due = False
        self._spent_s += self._now_s() - begun_s
