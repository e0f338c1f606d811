"""Progress of loops inside a step, as the records tell it: how far each one has come.

The rule: of a loop the newest record counts; what was said of loops inside its former
items is over with it.
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from nbresume.model.records import Progress


class Saved(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The newest progress of one loop."""

    revision: int
    at: datetime
    record: Progress


def note(
    known: dict[str, Saved], record: Progress, *, revision: int, at: datetime
) -> None:
    """Fold one record into what is known of a step's loops."""
    inside = f"{record.loop}@"
    for loop in [loop for loop in known if loop.startswith(inside)]:
        del known[loop]
    known[record.loop] = Saved(revision=revision, at=at, record=record)


def newest(known: Mapping[str, Saved]) -> Saved | None:
    """Return the progress that was saved last, of whichever loop."""
    return max(known.values(), key=lambda saved: saved.revision, default=None)


def has_advanced(known: Mapping[str, Saved], attempt: str) -> bool:
    """Say whether an attempt came further than where it had begun."""
    return any(saved.record.attempt == attempt for saved in known.values())


def spoken(known: Mapping[str, Saved]) -> str:
    """Return how far the loops have come: ``at item 300 of 1000``; '' if nowhere.

    Of loops inside each other the outer one comes first.
    """
    last = newest(known)
    if last is None:
        return ""
    around = [*_around(known, last), last]
    return ", in it ".join(place(saved.record) for saved in around)


def outermost(known: Mapping[str, Saved], saved: Saved) -> Saved:
    """Return the progress of the outermost loop around one that is known."""
    return next(iter(_around(known, saved)), saved)


def _around(known: Mapping[str, Saved], saved: Saved) -> list[Saved]:
    return [known[loop] for loop in enclosing(saved.record.loop) if loop in known]


def enclosing(loop: str) -> list[str]:
    """Return the loops around a loop, from the outermost one."""
    parts = loop.split("/")
    around = ["/".join(parts[: n + 1]) for n in range(len(parts) - 1)]
    return [path.rpartition("@")[0] for path in around]


def place(record: Progress) -> str:
    """Return the position of one record in words: so many items are done."""
    if record.finished:
        return f"at its end after {record.position} items"
    total = f" of {record.total}" if record.total >= 0 else ""
    return f"at item {record.position}{total}"
