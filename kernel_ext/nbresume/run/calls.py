"""One call of an effect as its author wrote it: key, function, arguments, options.

The rule: what cannot be named, compared or repeated safely is refused before anything
is written.
"""

import inspect
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any

from msgspec import Struct

from nbresume.capture.atoms import type_name
from nbresume.capture.canonical import look
from nbresume.errors import EffectRefused, UsageError
from nbresume.model.codec import canonical
from nbresume.model.digests import cue_digest
from nbresume.model.effects import ALL, EffectHistory, typed

KEY_CHARS = 255
"""As long as the idempotency keys that payment services take."""


class Happened(Struct, frozen=True):
    """A lookup's answer: it happened, and this was its result."""

    result: Any = None
    reference: str = ""
    """What proves it: an id, a link."""


class Absent(Struct, frozen=True):
    """A lookup's answer: it surely did not happen."""


class Options(Struct, frozen=True):
    """What the author knows about the outside."""

    lookup: Callable[[str], Any] | None = None
    idempotent: bool = False
    ttl_s: float | None = None
    definite: tuple[type[Exception], ...] = ()


class Call(Struct):
    """One call on its way."""

    key: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kw: Mapping[str, Any]
    options: Options
    digest: str
    """Of the arguments."""
    idempotency_key: str = ""
    generation: int = 0
    number: int = 0
    """Of its open record in the attempt; 0 if this attempt did not call it."""
    started_s: float | None = None
    awaited: bool = False
    """The function gave back an awaitable although it is no coroutine function."""

    def look(self) -> Any:
        """Return what the lookup says; None if there is none."""
        return None if self.options.lookup is None else self.options.lookup(self.key)


def options(
    lookup: Callable[[str], Any] | None,
    ttl: float | timedelta | None,
    definite: Any,
    *,
    idempotent: bool,
) -> Options:
    """Return the options of an effect, checked.

    Raises
    ------
    UsageError
        One of them cannot be meant.
    """
    kinds = definite if isinstance(definite, tuple) else (definite,)
    if not all(
        isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds
    ):
        raise _misused(
            "definite",
            "it is not made of classes of exceptions",
            "definite=(ValueError,)",
        )
    if lookup is not None and not callable(lookup):
        raise _misused("lookup", "it cannot be called", "lookup=find_payment")
    ttl_s = ttl.total_seconds() if isinstance(ttl, timedelta) else ttl
    if ttl_s is not None and not (_is_number(ttl_s) and 0 < ttl_s < float("inf")):
        raise _misused("ttl", "it is no positive number of seconds", "ttl=24 * 3600")
    if ttl_s is not None and not idempotent:
        raise _misused(
            "ttl",
            "it says how long the remote honors the key, and idempotent is not set",
            "idempotent=True, ttl=24 * 3600",
        )
    return Options(lookup, bool(idempotent), ttl_s, kinds)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _misused(option: str, because: str, example: str) -> UsageError:
    return UsageError(
        f"effect.using({option}=…) was not understood",
        because=because,
        remedy=f"Write for example effect.using({example}).",
    )


def check(
    key: object, fn: object, args: tuple[Any, ...], kw: Mapping[str, Any]
) -> None:
    """Pass if an effect can have this key and call this function.

    Raises
    ------
    UsageError
        It cannot.
    """
    if not isinstance(key, str):
        raise UsageError(
            "an effect was not called",
            because=f"its key is a {type_name(key)}, not a text",
            remedy='Write for example effect(f"charge-{order.id}", pay, order).',
        )
    if not key.strip() or len(key) > KEY_CHARS or not key.isprintable():
        raise UsageError(
            f"the effect {key[:40]!r} was not called",
            because=f"a key is 1 to {KEY_CHARS} printable characters, and this one "
            f"has {len(key)}",
            remedy="Name the call by something short, such as an order's id; long "
            "values are arguments.",
        )
    if key == ALL:
        raise UsageError(
            f"the effect {key!r} was not called",
            because="that word stands for every effect behind --again",
            remedy="Choose another key.",
        )
    if not callable(fn):
        raise UsageError(
            f"the effect {key!r} was not called",
            because=f"a {type_name(fn)} cannot be called",
            remedy="Hand over the function and its arguments: effect(key, pay, order), "
            "not effect(key, pay(order)).",
        )
    if inspect.isgeneratorfunction(fn) or inspect.isasyncgenfunction(fn):
        raise UsageError(
            f"the effect {key!r} was not called",
            because="it is a generator, which does its work later",
            remedy="Hand over a function that does all of its work when it is called.",
        )
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return  # some built-in functions tell none
    try:
        signature.bind(*args, **kw)
    except TypeError as error:
        # found out by the call, it would leave the effect open
        raise UsageError(
            f"the effect {key!r} was not called",
            because=f"its function does not take these arguments ({error})",
            remedy="Write effect(key, fn, …) with the arguments that fn takes.",
        ) from error


def is_async(fn: Callable[..., Any]) -> bool:
    """Say whether calling a function gives a coroutine."""
    return inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(
        type(fn).__call__
    )


def arguments_digest(
    args: tuple[Any, ...], kw: Mapping[str, Any], namespace: Mapping[str, Any]
) -> str:
    """Return one digest for equal arguments, in whichever process they live.

    One that cannot be compared, such as a connection, counts by its type.
    """

    def of(value: Any) -> str:
        return look(value, namespace).digest or f"a {type_name(value)}"

    named = {name: of(value) for name, value in kw.items()}
    return cue_digest(canonical([[of(value) for value in args], named]))


def check_same(call: Call, known: EffectHistory, step: str) -> None:
    """Pass if a recorded call of the key had the same arguments.

    Raises
    ------
    EffectRefused
        It had others: one of the two would be taken for the other.
    """
    opened = known.opened
    if opened is None or opened.arguments_digest == call.digest:
        return
    raise EffectRefused(
        f"the effect {call.key!r} of step {step} was not called",
        because="it is on record with other arguments",
        remedy="Give each call a key of its own, in a loop for example "
        'effect(f"mail-{order.id}", …). '
        f"If it shall be made anew: %steps rerun {step} --again {typed(call.key)} "
        "--because TEXT",
        step=step,
        key=call.key,
    )
