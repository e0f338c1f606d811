"""What a step changed in the process, and what of it cannot be kept.

The rule: the import of a library is no change; an option that differs from what the
import makes of it is one. Secrets and functions are named, never stored.
"""

import enum
from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct, field

from nbresume.capture.process_lists import Spot, difference
from nbresume.capture.process_names import ENV
from nbresume.capture.process_options import LIBRARIES, find_opaque

State: TypeAlias = Any
"""Plain data: scalars, texts, bytes, tuples and dicts; never None."""


class Gone(enum.Enum):
    """The kind of `GONE`."""

    GONE = "gone"


GONE = Gone.GONE
"""A variable that was removed; for options: nothing of them is to be set."""

LISTS = frozenset({"sys.path", "warnings"})

_FUNCTION = "a value of type {} cannot be stored"
_SECRET = "its name or value looks secret"  # noqa: S105 - a sentence about secrets
_FOLDER = "the folder no longer exists"


class Comparison(Struct, frozen=True):
    """Two snapshots compared."""

    kept: dict[str, State | Gone] = field(default_factory=dict)
    """What `process.apply` takes."""
    lost: dict[str, str] = field(default_factory=dict)
    """What cannot be stored, and why."""


def compare(
    before: Mapping[str, State],
    after: Mapping[str, State],
    libraries_before: frozenset[str],
    also: frozenset[str],
) -> Comparison:
    """Return what differs; the states that `also` names count although equal."""
    found = Comparison()
    for name, state in after.items():
        old = before.get(name)
        if state == old and name not in also:
            continue
        if name in LISTS:
            _compare_lists(name, old or (), state, found)
        elif name in LIBRARIES:
            known = LIBRARIES[name].library in libraries_before
            _compare_library(name, old if known else None, state, also, found)
        elif name.startswith(ENV) and type(state) is not str:
            found.lost[name] = _SECRET
        else:
            found.kept[name] = state
    _compare_removed(before, after, found)
    return found


def defaults_of(name: str, state: State) -> Any:
    """Return a state as the import of its library makes it; None if nobody tells.

    Random generators seed themselves anew each time: theirs is `state` itself if
    nothing was drawn yet and nobody seeded.
    """
    library = LIBRARIES[name]
    try:
        return library.defaults(library.find_home(), state)
    except Exception:  # noqa: BLE001 - a release that keeps them elsewhere
        return None


def _compare_removed(
    before: Mapping[str, State], after: Mapping[str, State], found: Comparison
) -> None:
    for name in sorted(before.keys() - after.keys()):
        if name.startswith(ENV):
            # Without its value a name is no secret; that it is gone can be kept.
            found.kept[name] = GONE
        elif name == "cwd":
            found.lost[name] = _FOLDER


def _compare_lists(name: str, old: State, state: State, found: Comparison) -> None:
    delta = difference(old, state)
    if delta is None:
        return
    opaque = next(filter(None, (find_opaque(s[0]) for s in delta["added"])), None)
    if opaque:
        found.lost[name] = _FUNCTION.format(opaque)
    part = {
        key: tuple(_without_opaque(spot) for spot in spots if not find_opaque(spot[0]))
        for key, spots in delta.items()
    }
    if part["added"] or part["removed"]:
        found.kept[name] = part


def _without_opaque(spot: Spot) -> Spot:
    # No other process knows such a neighbor; "" is one that is not found.
    entry, previous, following = spot
    return (
        entry,
        "" if find_opaque(previous) else previous,
        "" if find_opaque(following) else following,
    )


def _compare_library(
    name: str, old: State, state: State, also: frozenset[str], found: Comparison
) -> None:
    if LIBRARIES[name].by_key:
        _compare_options(name, old, state, found)
        return
    if old is None:
        old = defaults_of(name, state)
    if name in also or state != old:
        found.kept[name] = state


def _compare_options(name: str, old: State, state: State, found: Comparison) -> None:
    was = old or {}
    if not state.keys() <= was.keys():
        # Options may come with the import of a part of a library.
        was = {**state, **(defaults_of(name, state) or {}), **was}
    delta = {key: value for key, value in state.items() if was[key] != value}
    opaque = {key: kind for key, value in delta.items() if (kind := find_opaque(value))}
    if opaque:
        found.lost[name] = "; ".join(
            f"{key}: {_FUNCTION.format(kind)}" for key, kind in opaque.items()
        )
    if delta.keys() - opaque.keys():
        found.kept[name] = {k: v for k, v in delta.items() if k not in opaque}
