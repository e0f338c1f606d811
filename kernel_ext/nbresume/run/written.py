"""What a body has set or changed so far: asked when it has ended, and between items.

The rule: a look that was taken before tells nothing about a value that the body made
itself and may have changed since; such values are looked at anew each time.
"""

from collections.abc import Collection, Mapping

from msgspec import Struct

from nbresume.capture.live import Live
from nbresume.run.intents import Running


class Written(Struct, frozen=True):
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
    moved, users = live.moved(), live.names.users
    before = {name: live.seen(name) for name in moved.bound}
    names = running.brought.standing.names
    running.touched |= live.loaded_in_cell()
    touched = frozenset(users) if names.wild else running.touched
    running.in_place |= live.changed(touched) - moved.bound
    in_place = running.in_place & users.keys()
    stored = {n for n in names.stores if n in users}
    written = in_place | moved.bound | stored | set(also)
    digests = {}
    for name in written:
        live.mark_attempt(name, running.intent.step)
        # to find out what changed, one may have been taken since
        is_old = name in before and live.seen(name) is before[name]
        look = live.look_anew if is_old else live.look
        digests[name] = look(name).digest
    return Written(
        frozenset(written), frozenset(in_place), frozenset(moved.lost), digests
    )
