"""What a body has set or changed so far: asked when it has ended, and between items.

The rule: a look that was taken before tells nothing about a value that the body made
itself and may have changed since; such values are looked at anew each time.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from nbresume.capture.entries import Made
from nbresume.capture.live import Live
from nbresume.capture.touched import is_users
from nbresume.run.intents import Running


@dataclass(frozen=True, slots=True)
class Written:
    """The names of one attempt; from now on they count as the attempt's."""

    written: frozenset[str]
    """New, bound anew, stored, or changed in place."""
    in_place: frozenset[str]
    deleted: frozenset[str]
    digests: Mapping[str, str | None]


def look_at(running: Running, live: Live, *, also: Collection[str] = ()) -> Written:
    """Look at what the body of an attempt has set or changed since its intent.

    Parameters
    ----------
    also
        More names that it has written.
    """
    users, before = live.users(), running.before
    names = running.brought.standing.names
    running.touched |= live.loaded_in_cell()
    touched = frozenset(users) if names.wild else running.touched
    same = {
        n
        for n, v in users.items()
        if (n in before and before[n] is v) or _is_loaded(live, n, v, before)
    }
    moved = live.changed(touched) & same
    running.in_place |= moved
    in_place = running.in_place & users.keys()
    stored = {n for n in names.stores if n in users and is_users(n)}
    written = frozenset(in_place | (users.keys() - same) | stored | set(also))
    digests = {}
    for name in written:
        entry = live.entry(name)
        if name not in moved and before.get(name) is not entry.value:
            entry.seen = None
        live.mark_attempt(name, running.intent.step)
        digests[name] = live.look(name).digest
    return Written(
        written,
        frozenset(in_place),
        frozenset(before.keys() - users.keys()),
        digests,
    )


def _is_loaded(live: Live, name: str, value: Any, before: Mapping[str, Any]) -> bool:
    """Say whether a name has the value that was loaded while the body ran."""
    entry = live.entry(name)
    made_here = entry.made is Made.COMMITTED and entry.value is value
    return made_here and name not in before
