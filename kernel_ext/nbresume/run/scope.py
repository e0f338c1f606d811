"""Who belongs to the running attempt: its cell, the tasks and threads that it starts.

The rule: whoever outlives its step, or was there before it, is a part of no step.
"""

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from msgspec import Struct, field

from nbresume.errors import EffectRefused
from nbresume.run.intents import Running


class Scope(Struct, eq=False):
    """A running attempt, as the code in it sees it."""

    running: Running
    repeats: frozenset[str]
    """Open effects of earlier attempts that somebody allowed to be called again."""
    earlier: weakref.WeakSet[threading.Thread]
    """Threads that ran before the body began: they are none of it."""
    calling: set[str] = field(default_factory=set)
    """Keys of effects whose call is on its way."""
    records: int = 0
    """How many calls were opened."""
    is_over: bool = False

    @property
    def step(self) -> str:
        """Name of the step."""
        return self.running.intent.step

    @property
    def attempt(self) -> str:
        """Id of the attempt."""
        return self.running.intent.attempt


class Scopes:
    """Tells which attempt, and which effect, the calling code is a part of."""

    def __init__(self) -> None:
        self._running: Scope | None = None
        self._lock = threading.Lock()
        # tasks inherit these, threads do not
        self._own: ContextVar[Scope | None] = ContextVar("nbresume.step", default=None)
        self._inside: ContextVar[str] = ContextVar("nbresume.effect", default="")

    def begin(self, running: Running, repeats: frozenset[str]) -> None:
        """Let the body of an attempt, and what it starts, be a part of it."""
        self._running = Scope(running, repeats, weakref.WeakSet(threading.enumerate()))
        self._own.set(self._running)

    def end(self) -> Scope | None:
        """Let nothing be a part of the attempt any more; return what it was."""
        scope, self._running = self._running, None
        if scope is not None:
            scope.is_over = True
            self._own.set(None)
        return scope

    def current(self, refused: str) -> Scope:
        """Return the running attempt that the caller is a part of.

        Parameters
        ----------
        refused
            What is refused if there is none.

        Raises
        ------
        EffectRefused
            The caller is a part of no step, or of one that has ended.
        """
        scope, running = self._own.get(), self._running
        if scope is None and running is not None and _was_started_by(running):
            scope = running
        if scope is None:
            raise EffectRefused(
                refused,
                because="it stands outside of a step, or in a thread that the running "
                "step did not start",
                remedy="Call it in a cell that begins with %%step NAME, and start "
                "threads in that cell.",
            )
        if scope is not running:
            raise EffectRefused(
                refused,
                because=f"step {scope.step} has ended, and this is a task or a thread "
                "of it that goes on",
                remedy="Wait for tasks and threads in the step that starts them.",
                step=scope.step,
            )
        return scope

    # -- inside an effect -------------------------------------------------------

    def is_inside(self) -> bool:
        """Say whether the code that asks was called by an effect.

        What such code does outside is told by the effect's own records.
        """
        return bool(self._inside.get())

    @contextmanager
    def within(self, idempotency_key: str) -> Iterator[None]:
        """Have what runs meanwhile count as inside the effect of that key."""
        token = self._inside.set(idempotency_key)
        try:
            yield
        finally:
            self._inside.reset(token)

    @contextmanager
    def on_its_way(self, scope: Scope, key: str) -> Iterator[None]:
        """Keep a second call of an effect away while one is on its way.

        Raises
        ------
        EffectRefused
            One is.
        """
        with self._lock:
            if key in scope.calling:
                raise EffectRefused(
                    f"the effect {key!r} of step {scope.step} was not called",
                    because="it is being called at this moment",
                    remedy="Give each call a key of its own.",
                    step=scope.step,
                    key=key,
                )
            scope.calling.add(key)
        try:
            yield
        finally:
            scope.calling.discard(key)

    def idempotency_key(self) -> str:
        """Return the key of the effect that is being called, else that of the step.

        Raises
        ------
        EffectRefused
            The caller is a part of no running step, or it cannot be known of which
            effect it is a part.
        """
        inside = self._inside.get()
        if inside:
            return inside
        scope = self.current("the idempotency key was not told")
        if self._own.get() is None and scope.calling:
            raise EffectRefused(
                "the idempotency key was not told",
                because="an effect is being called, and this thread may be one of its",
                remedy="Ask for the key in the effect's function, before it starts a "
                "thread, and pass it on.",
                step=scope.step,
            )
        return scope.running.intent.idempotency_key


def _was_started_by(scope: Scope) -> bool:
    thread = threading.current_thread()
    # a stand-in for a thread that Python did not start: nobody knows since when it runs
    if type(thread).__name__ == "_DummyThread":
        return False
    return thread is not threading.main_thread() and thread not in scope.earlier
