"""The public face of effects: finds the notebook of this kernel and asks its run.

The rule: the only place that knows which session is active; a face registers it.
"""

import math
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

from msgspec.structs import asdict

from nbresume.compose.graph import Session
from nbresume.errors import EffectRefused, UsageError
from nbresume.run import calls
from nbresume.run.calls import Absent, Happened, Options
from nbresume.run.effects import Effects
from nbresume.run.loops import Loops
from nbresume.run.parts import Parts

P = ParamSpec("P")
R = TypeVar("R")


class Active:
    """The session of this process's notebook, while the extension is loaded."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._pid = 0

    def set(self, session: Session) -> None:
        """Let effects go to this session from now on."""
        self._session, self._pid = session, os.getpid()

    def clear(self, session: Session) -> None:
        """Let effects go to it no more."""
        if self._session is session:
            self._session = None

    def effects(self, refused: str) -> Effects:
        """Return the effects of the active run.

        Raises
        ------
        EffectRefused
            No run is active, or this is the child of a fork.
        """
        return self._parts(refused).effects

    def loops(self, refused: str) -> Loops:
        """Return the resumable loops of the active run.

        Raises
        ------
        EffectRefused
            No run is active, or this is the child of a fork.
        """
        return self._parts(refused).loops

    def _parts(self, refused: str) -> Parts:
        if self._session is None:
            raise EffectRefused(
                refused,
                because="nbresume is not loaded in this process",
                remedy="Type %load_ext nbresume, and begin the cell with %%step NAME.",
            )
        if self._pid != os.getpid():
            raise EffectRefused(
                refused,
                because="this process was forked from the kernel, and is not the one "
                "that writes the run",
                remedy="Call effects in the kernel itself; let worker processes return "
                "what is to be done.",
            )
        return self._session.parts


ACTIVE = Active()
"""Registered by the face that loads the extension."""


class Effect:
    """Calls a function of the outside once, on record, and replays its result."""

    __qualname__: str

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(
        self, key: str, fn: Callable[P, R], /, *args: P.args, **kw: P.kwargs
    ) -> R:
        """Call ``fn(*args, **kw)`` once under this key; later return what it returned.

        Of a coroutine function, what is returned has to be awaited.

        Raises
        ------
        EffectRefused
            It was not called: outside of a step, after its end, or the key is on
            record with other arguments.
        EffectNotKept
            It is done, and its result could not be kept.
        AmbiguousStep
            An earlier call may or may not have happened.
        UsageError
            The key or the function cannot be used.
        FencedError
            Another kernel took the run over; nothing was called.
        """
        effects = ACTIVE.effects(f"the effect {key!r} was not called")
        called: R = effects.call(key, fn, args, kw, self._options)
        return called

    def using(
        self,
        *,
        lookup: Callable[[str], Any] | None = None,
        idempotent: bool = False,
        ttl: float | timedelta | None = None,
        definite: type[Exception] | tuple[type[Exception], ...] = (),
    ) -> "Effect":
        """Return ``effect`` with what is known of the outside.

        Parameters
        ----------
        lookup
            Asks the outside about a key whose call has no recorded outcome: returns
            ``effect.happened(result)``, ``effect.absent()``, or None if it cannot be
            known. May be a coroutine function if the effect's function is one.
        idempotent
            The remote does equal calls with one idempotency key once.
        ttl
            For so many seconds (or so long) it remembers the key; None for ever.
        definite
            Exceptions which prove that nothing happened.

        Raises
        ------
        UsageError
            An option cannot be meant.
        """
        return Effect(calls.options(lookup, ttl, definite, idempotent=idempotent))

    @staticmethod
    def happened(result: Any = None, *, reference: str = "") -> Happened:
        """Return the answer of a lookup that it happened, and what it returned."""
        return Happened(result, reference)

    @staticmethod
    def absent() -> Absent:
        """Return the answer of a lookup that it surely did not happen."""
        return Absent()

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self is effect:
            return "effect"
        return rebuild_effect, (asdict(self._options),)


def rebuild_effect(options: dict[str, Any]) -> Effect:
    """Return an effect with these options; named in stored streams, never renamed."""
    return Effect(Options(**options))


effect = Effect(Options())


def idempotency_key() -> str:
    """Return a key that is the same for all attempts of the same work.

    Inside the function of an effect that of the effect, elsewhere that of the step.

    Raises
    ------
    EffectRefused
        The caller is a part of no running step.
    """
    asked = ACTIVE.effects("the idempotency key was not told")
    return asked.scopes.idempotency_key()


def usage(*, tokens: int = 0, cost: float = 0.0) -> None:
    """Add to what the run has used; the next record of the step carries it.

    Raises
    ------
    EffectRefused
        The caller is a part of no running step.
    UsageError
        An amount is negative or no number.
    """
    amounts: tuple[Any, ...] = (tokens, cost)
    numbers = all(
        isinstance(n, int | float) and not isinstance(n, bool) and math.isfinite(n)
        for n in amounts
    )
    if not numbers or min(amounts) < 0 or int(tokens) != tokens:
        raise UsageError(
            "usage was not counted",
            because=f"tokens={tokens!r}, cost={cost!r}: amounts are only added",
            remedy="Give whole tokens and a cost that are not negative: "
            "usage(tokens=512, cost=0.01).",
        )
    effects = ACTIVE.effects("usage was not counted")
    effects.report(tokens=int(tokens), cost=float(cost))


# A notebook finds them again by these names, whichever module they live in: a step's
# key holds where its functions come from.
effect.__module__ = idempotency_key.__module__ = usage.__module__ = "nbresume"
effect.__qualname__ = "effect"
