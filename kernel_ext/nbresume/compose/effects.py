"""The public face of effects: finds the notebook of this kernel and asks its run."""

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ParamSpec, TypeVar

from msgspec.structs import asdict

from nbresume.compose.active import ACTIVE
from nbresume.errors import UsageError
from nbresume.run import calls
from nbresume.run.calls import Absent, Happened, Options

P = ParamSpec("P")
R = TypeVar("R")


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
        effects = ACTIVE.parts(f"the effect {key!r} was not called").effects
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
    asked = ACTIVE.parts("the idempotency key was not told").effects
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
    effects = ACTIVE.parts("usage was not counted").effects
    effects.report(tokens=int(tokens), cost=float(cost))


# A notebook finds them again by these names, whichever module they live in: a step's
# key holds where its functions come from.
effect.__module__ = idempotency_key.__module__ = usage.__module__ = "nbresume"
effect.__qualname__ = "effect"
