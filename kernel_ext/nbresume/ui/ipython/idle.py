"""Work for the time between cells: in short slices, on the kernel's own loop.

The rule: main thread only, never while a cell runs, and never a word of it in the
notebook. A shell without a loop (a terminal, a test) has no idle time.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

SLICE_S = 0.02
"""So long the kernel may be deaf at a time."""
FIRST_S = 0.15
"""Between a cell's end and the first slice: the next cell of a Run All comes first."""
PAUSE_S = 0.03
LONGEST_PAUSE_S = 1.0
"""While all work waits for something, the pauses grow up to this."""
_IDLE_S = 0.001

Work = Callable[[float], bool]
"""Called with seconds; does a part of its work, returns whether nothing is left."""

_log = logging.getLogger("nbresume.ui")
# without a handler of its own, Python would print a warning below the last cell
_log.addHandler(logging.NullHandler())


class IdleWork:
    """Does registered work while one shell is idle."""

    def __init__(self, shell: Any, *, is_busy: Callable[[], bool]) -> None:
        self._shell = shell
        self._is_busy = is_busy
        self._works: list[Work] = []
        self._left: list[Work] = []
        self._handle: asyncio.TimerHandle | None = None
        self._pause_s = PAUSE_S

    def every(self, work: Work) -> None:
        """Do this work in each idle period, after the work registered before it."""
        self._works.append(work)

    def once(self, act: Callable[[], None]) -> None:
        """Do this in the next idle period, before all else."""

        def work(_budget_s: float) -> bool:
            self._works.remove(work)
            act()
            return True

        self._works.insert(0, work)

    def start(self) -> None:
        """Begin an idle period: a cell, or a callback, has ended."""
        self.stop()
        loop = self._find_loop()
        if loop is not None and self._works:
            self._left, self._pause_s = list(self._works), PAUSE_S
            self._handle = loop.call_later(FIRST_S, self._tick, loop)

    def stop(self) -> None:
        """End the idle period: a cell begins, or the extension is unloaded."""
        handle, self._handle = self._handle, None
        self._left = []
        if handle is not None:
            handle.cancel()

    def _find_loop(self) -> asyncio.AbstractEventLoop | None:
        if threading.current_thread() is not threading.main_thread():
            return None
        kernel = getattr(self._shell, "kernel", None)
        loop = getattr(getattr(kernel, "io_loop", None), "asyncio_loop", None)
        if isinstance(loop, asyncio.AbstractEventLoop) and loop.is_running():
            return loop
        try:
            return asyncio.get_running_loop()
        except RuntimeError:
            return None

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        self._handle = None
        # an async cell lets the loop run between its awaits
        if self._is_busy():
            self._left = []
            return
        begun_s = loop.time()
        for work in list(self._left):
            rest_s = SLICE_S - (loop.time() - begun_s)
            if rest_s <= 0 or self._is_busy():
                break
            if self._is_done(work, rest_s) and work in self._left:
                self._left.remove(work)
        worked = loop.time() - begun_s > _IDLE_S
        self._pause_s = PAUSE_S if worked else min(2 * self._pause_s, LONGEST_PAUSE_S)
        if self._left and self._handle is None:
            self._handle = loop.call_later(self._pause_s, self._tick, loop)

    @staticmethod
    def _is_done(work: Work, budget_s: float) -> bool:
        try:
            return work(budget_s)
        except BaseException as error:  # noqa: BLE001 - a value's own code may raise SystemExit, which would end the kernel
            _log.warning("idle work stopped: %s", type(error).__name__)
            return True
