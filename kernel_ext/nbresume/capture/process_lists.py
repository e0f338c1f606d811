"""What a step did to an ordered list (``sys.path``, the warning filters).

The rule: a delta names only the entries that were added or removed, each with its
neighbors, so that it applies to another process's list and leaves the rest alone.
"""

from collections.abc import Sequence
from typing import Any

Spot = tuple[Any, Any, Any]
"""An entry, the one before it and the one after it (None at an end)."""
Delta = dict[str, tuple[Spot, ...]]
"""``added`` and ``removed``."""


def difference(before: Sequence[Any], after: Sequence[Any]) -> Delta | None:
    """Return the delta that leads from one list to the other; None if it is empty."""
    if before == after:
        return None
    from difflib import SequenceMatcher  # noqa: PLC0415 - hardly any step gets here

    matcher = SequenceMatcher(None, before, after, autojunk=False)
    added: list[Spot] = []
    removed: list[Spot] = []
    for tag, low, high, new_low, new_high in matcher.get_opcodes():
        if tag != "equal":
            removed += [_spot(before, place) for place in range(low, high)]
            added += [_spot(after, place) for place in range(new_low, new_high)]
    if not added and not removed:
        return None
    return {"added": tuple(added), "removed": tuple(removed)}


def inverse(delta: Delta) -> Delta:
    """Return the delta that undoes another."""
    return {"added": delta["removed"], "removed": delta["added"]}


def without(delta: Delta, removed: tuple[Spot, ...]) -> Delta:
    """Return a delta that no longer adds the entries that another one removes."""
    gone = [entry for entry, _, _ in removed]
    added = tuple(spot for spot in delta["added"] if spot[0] not in gone)
    return {"added": added, "removed": delta["removed"]}


def merged(items: Sequence[Any], delta: Delta, *, moves: bool) -> list[Any]:
    """Return a list with a delta applied; applied twice it changes nothing more.

    An added entry that stands somewhere already stays there, unless `moves`.
    """
    result = list(items)
    for entry, _, _ in delta["removed"]:
        if entry in result:
            result.remove(entry)
    for entry, previous, following in delta["added"]:
        if entry in result:
            if not moves:
                continue
            result.remove(entry)
        result.insert(_place(result, previous, following), entry)
    return result


def _spot(items: Sequence[Any], place: int) -> Spot:
    previous = items[place - 1] if place else None
    following = items[place + 1] if place + 1 < len(items) else None
    return items[place], previous, following


def _place(items: Sequence[Any], previous: Any, following: Any) -> int:
    if previous is None:
        return 0
    if previous in items:
        return items.index(previous) + 1
    return items.index(following) if following in items else len(items)
