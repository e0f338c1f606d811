"""Process state of Python itself: environment, folder, path, decimal, warnings.

The rule: what is read is plain data; what is set is set in place, since other modules
and the C part of Python hold the same lists.
"""

import contextlib
import decimal
import functools
import os
import random
import re
import sys
import time
import warnings
from typing import Any

from nbresume.capture.atoms import importable, resolve_import, type_name
from nbresume.capture.process_lists import Delta, Spot, merged
from nbresume.capture.process_names import ENV, is_lost, is_secret
from nbresume.capture.process_options import OPAQUE, find_opaque
from nbresume.errors import CaptureError

SECRET = "secret"  # noqa: S105 - the mark that stands for one

_CONTEXT = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")
_seen_environment: tuple[dict[Any, Any] | None, dict[str, Any]] = (None, {})


def read_environment() -> dict[str, Any]:
    """Return the variables by their state's name; a secret only as a mark of it."""
    global _seen_environment  # noqa: PLW0603 - what was read last, and from what
    # Decoding a hundred variables would be most of a snapshot's time.
    raw = getattr(os.environ, "_data", None)
    if raw is not None and raw == _seen_environment[0]:
        return dict(_seen_environment[1])
    now = None if raw is None else dict(raw)
    found = {
        ENV + name: (SECRET, hash(value)) if is_secret(name, value) else value
        for name, value in os.environ.items()
        if not is_lost(name)
    }
    _seen_environment = (now, found)
    return dict(found)


def read_system() -> dict[str, Any]:
    """Return every state that Python itself holds, apart from the environment."""
    found: dict[str, Any] = {
        "rng:random": random.getstate(),
        "sys.path": tuple([entry for entry in sys.path if type(entry) is str]),
        "decimal": _read_decimal(),
        "warnings": tuple([_filter_state(entry) for entry in warnings.filters]),
    }
    # A folder that was removed cannot be entered again.
    with contextlib.suppress(OSError):
        found["cwd"] = os.getcwd()  # noqa: PTH109 - a tenth of the time of Path.cwd
    return found


def _read_decimal() -> Any:
    # Not the flags: each inexact division sets one.
    context = decimal.getcontext()
    traps = [signal.__name__ for signal, on in context.traps.items() if on]
    return (*[getattr(context, name) for name in _CONTEXT], tuple(sorted(traps)))


@functools.lru_cache(maxsize=512)
def _filter_state(entry: Any) -> Any:
    action, message, category, module, line = entry
    found: Any = importable(category)
    if found is None:
        found = (OPAQUE, type_name(category), id(category))
    return (action, _pattern_state(message), found, _pattern_state(module), line)


def _pattern_state(pattern: Any) -> Any:
    if isinstance(pattern, re.Pattern):
        return (pattern.pattern, pattern.flags)
    return pattern


def _filter(state: Any) -> Any:
    action, message, category, module, line = state
    texts = [
        re.compile(*text) if type(text) is tuple else text for text in (message, module)
    ]
    return (action, texts[0], resolve_import(category), texts[1], line)


def write_environment(name: str, value: str | None) -> None:
    """Set or remove a variable; a time zone is told to the C library."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
    if name == "TZ" and hasattr(time, "tzset"):
        time.tzset()


def write_folder(folder: str) -> None:
    """Enter the working folder.

    Raises
    ------
    CaptureError
        It is gone or may not be entered.
    """
    try:
        os.chdir(folder)
    except OSError as error:
        raise CaptureError(
            f"the working folder {folder} cannot be entered",
            because=error.strerror or str(error),
            remedy="Make the folder again, or run the step that entered it again.",
        ) from error


def write_path(delta: Delta) -> None:
    """Add to ``sys.path`` what a step added and remove what it removed."""
    sys.path[:] = merged(sys.path, delta, moves=False)


def write_decimal(state: Any) -> None:
    """Set the decimal context of the context that the cell runs in."""
    context = decimal.getcontext()
    *numbers, traps = state
    for name, number in zip(_CONTEXT, numbers, strict=True):
        setattr(context, name, number)
    for signal in context.traps:
        context.traps[signal] = signal.__name__ in traps


def write_filters(delta: Delta) -> Delta | None:
    """Apply a delta of warning filters; return what waits for a library, if any.

    A filter of a warning whose module is not loaded cannot match anything yet.
    """
    now = {_filter_state(entry): entry for entry in warnings.filters}
    ready, waiting = _by_readiness(delta["added"])
    states = merged(list(now), {**delta, "added": ready}, moves=True)
    live = [now[state] if state in now else _filter(state) for state in states]
    if live != list(warnings.filters):
        warnings.filters[:] = live  # type: ignore[index]
        with warnings.catch_warnings():
            pass  # Entering it tells the C part that the filters are others.
    return {"added": waiting, "removed": ()} if waiting else None


def _by_readiness(added: tuple[Spot, ...]) -> tuple[tuple[Spot, ...], tuple[Spot, ...]]:
    ready: list[Spot] = []
    waiting: list[Spot] = []
    for spot in added:
        if find_opaque(spot[0]):
            continue
        module = spot[0][2].partition(":")[0]
        (ready if module in sys.modules else waiting).append(spot)
    return tuple(ready), tuple(waiting)
