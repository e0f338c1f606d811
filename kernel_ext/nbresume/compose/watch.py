"""The audit hook: Python's own events, told before they proceed.

The rule: a hook cannot be taken out again, so there is one for the whole process,
and it does nothing while nobody watches. It belongs to the process that set it: what
is forked inherits it, and is none of its business.
"""

import os
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

from nbresume.run.ports import AuditEvent, OwnCalls


class _ProcessHook:
    """The only audit hook of this process."""

    def __init__(self) -> None:
        self._watchers: tuple[tuple[AuditEvent, frozenset[str]], ...] = ()
        self._events: frozenset[str] = frozenset()
        """All that somebody watches."""
        self._is_set = False
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._busy = 0
        """Thread that is telling an event: what it causes meanwhile is our own."""

    def add(self, told: AuditEvent, events: frozenset[str]) -> Callable[[], None]:
        """Tell these events to this function until the returned one is called."""
        if self._pid != os.getpid():
            # forked: the watchers and a lock that somebody held are the parent's
            self._pid, self._watchers = os.getpid(), ()
            self._events = frozenset()
            self._lock, self._busy = threading.Lock(), 0
        if not self._is_set:
            sys.addaudithook(self._hook())
            self._is_set = True
        watcher = (told, events)
        self._set((*self._watchers, watcher))

        def remove() -> None:
            # an event that is being told is told to its end
            with self._lock:
                self._set(tuple(w for w in self._watchers if w is not watcher))

        return remove

    def _set(self, watchers: tuple[tuple[AuditEvent, frozenset[str]], ...]) -> None:
        self._watchers = watchers
        self._events = frozenset[str]().union(*(events for _, events in watchers))

    def _hook(self) -> Callable[[str, tuple[Any, ...]], None]:
        def hook(event: str, args: tuple[Any, ...]) -> None:
            # called for every audit event of the process: leave early
            if event in self._events:
                # the caller's frame: there is no other way to it
                self._tell(event, args, sys._getframe(1))  # noqa: SLF001 - as said above

        # no bound method: Python calls one three times slower here (measured)
        return hook

    def _tell(self, event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        me = threading.get_ident()
        if self._busy == me or os.getpid() != self._pid:
            return
        with self._lock:
            self._busy = me
            try:
                for told, events in self._watchers:
                    if event in events:
                        told(event, args, frame)
            finally:
                self._busy = 0


_HOOK = _ProcessHook()


class AuditWatch:
    """The audit events of this process, as a port of ``run``."""

    def __init__(self, own: OwnCalls) -> None:
        self.own = own

    def start(self, told: AuditEvent, events: frozenset[str]) -> Callable[[], None]:
        """Have these events told before they proceed, until the returned call."""
        return _HOOK.add(told, events)
