"""The comm target `nbresume`: tells open pages what the steps of this kernel do.

The rule: it only tells, and nothing of it can fail a cell. A page opens the comm; what
it misses, it reads from the store. Until then nothing is imported, kept or sent.
"""

import logging
import threading
from collections.abc import Callable, Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

from nbresume.compose.graph import Session
from nbresume.settings import __version__

TARGET = "nbresume"

_log = logging.getLogger("nbresume.ui")


class Phase(StrEnum):
    """What became of a step just now."""

    RUNNING = "running"
    """Its intent is durable; its body starts after this was sent."""
    COMMITTED = "committed"
    """This kernel ran it and holds what it left."""
    RESTORED = "restored"
    """It was replayed: its values come from the store."""
    NOT_TAKEN = "not taken"
    """Its condition is false: its body did not start."""
    FAILED = "failed"
    REFUSED = "refused"
    INTERRUPTED = "interrupted"


Also = Callable[[Session, str, Phase], None]
"""Is told, too, what became of a step."""


class Held(StrEnum):
    """How the namespace came to hold the values of a committed step."""

    RAN = "ran"
    RESTORED = "restored"


class Pages:
    """The pages that listen to one kernel."""

    def __init__(self, session: Session, also: Also | None = None) -> None:
        self._session = session
        self._also = also
        # a busy kernel opens comms in a subshell's thread
        self._lock = threading.Lock()
        self._comms: list[Any] = []
        self._held: dict[str, Held] = {}
        self._ran: dict[str, int] = {}
        """Step → revision of the commit that this kernel made."""

    # -- who listens ------------------------------------------------------------

    def listen(self, shell: Any) -> None:
        """Let pages open the comm; a shell without a kernel has none."""
        manager = _manager_of(shell)
        if manager is not None:
            manager.register_target(TARGET, self._opened)

    def close(self, shell: Any) -> None:
        """Tell no page anything any more."""
        manager = _manager_of(shell)
        if manager is not None and TARGET in manager.targets:
            manager.unregister_target(TARGET, self._opened)
        with self._lock:
            comms, self._comms = self._comms, []
        for comm in comms:
            _quietly(comm.close)

    def _opened(self, comm: Any, _message: Any) -> None:
        comm.on_close(lambda _: self._forget(comm))
        with self._lock:
            self._comms.append(comm)
        self._send([comm], self._session_event())

    def _forget(self, comm: Any) -> None:
        with self._lock:
            self._comms = [other for other in self._comms if other is not comm]

    # -- what they are told -----------------------------------------------------

    def tell(self, step: str, cell_id: str, phase: Phase) -> None:
        """Tell what became of a step; of one that is committed, remember how."""
        if self._also is not None:
            self._also(self._session, step, phase)
        if phase in (Phase.COMMITTED, Phase.RESTORED):
            phase = self._hold(step, phase)
        at: datetime = self._session.world.clock.now()
        event = {
            "event": "step",
            "step": step,
            "cell_id": cell_id,
            "phase": phase.value,
            "at": at.isoformat(),
        }
        self._send(self._listening(), event)

    def advanced(self, step: str) -> None:
        """Tell how far a running step has come: its loop has saved its progress."""
        # what people are told of a loop is loaded where one saves its progress
        from nbresume.run.looping import progress_view  # noqa: PLC0415

        history = self._session.journal.state.step(step)
        view = progress_view(history)
        if view is None:
            return
        told = {"position": view.position, "total": view.total, "text": view.text}
        # in a message that older pages know: to them it says nothing new
        self._send(
            self._listening(), self._session_event() | {"progress": {step: told}}
        )

    def resumed(self, steps: list[str]) -> None:
        """Tell that the values of these steps were brought back, if not made here."""
        with self._lock:
            for step in steps:
                self._held.setdefault(step, Held.RESTORED)
        self._send(self._listening(), self._session_event())

    def went(self, left: Iterable[str], back: Iterable[str]) -> None:
        """Tell that the values of some steps were taken out of the namespace.

        Parameters
        ----------
        left, back
            Steps whose commit is no longer there, and those whose commit is.
        """
        with self._lock:
            for step in left:
                self._held.pop(step, None)
            for step in back:
                self._held.setdefault(step, Held.RESTORED)
        self._send(self._listening(), self._session_event())

    def renamed(self, old: str, new: str) -> None:
        """Tell that a step is called otherwise now."""
        with self._lock:
            if old in self._held:
                self._held[new] = self._held.pop(old)
                self._ran[new] = self._ran.pop(old, -1)
        self._send(self._listening(), self._session_event())

    def begun(self) -> None:
        """Tell that another run begins: no step of it is committed."""
        with self._lock:
            self._held, self._ran = {}, {}
        self._send(self._listening(), self._session_event())

    def _hold(self, step: str, phase: Phase) -> Phase:
        """Remember it, and return it: a replay of what this kernel made is no news."""
        commit = self._session.journal.state.commit(step)
        revision = commit.revision if commit else -1
        with self._lock:
            if phase is Phase.COMMITTED:
                self._ran[step] = revision
            elif self._ran.get(step) == revision:
                phase = Phase.COMMITTED
            ran = phase is Phase.COMMITTED
            self._held[step] = Held.RAN if ran else Held.RESTORED
        return phase

    def _session_event(self) -> dict[str, Any]:
        with self._lock:
            held = {step: how.value for step, how in self._held.items()}
        return {
            "event": "session",
            "run_id": self._session.journal.run_id,
            "version": __version__,
            "steps": held,
        }

    def _listening(self) -> list[Any]:
        with self._lock:
            return list(self._comms)

    def _send(self, comms: list[Any], event: dict[str, Any]) -> None:
        for comm in comms:
            if not _quietly(comm.send, event):
                self._forget(comm)


def _manager_of(shell: Any) -> Any:
    return getattr(getattr(shell, "kernel", None), "comm_manager", None)


def _quietly(act: Any, *told: Any) -> bool:
    """Do what only concerns a page; say whether it could be done."""
    try:
        act(*told)
    except Exception as error:  # noqa: BLE001 - a page that is away fails no cell
        _log.debug("a page was not told: %s", type(error).__name__)
        return False
    return True
