"""Evidence: what a running step does outside is noted before it happens.

The rule: the first call of an attempt is durable in the store before it proceeds;
later ones are counted. Nothing here raises into the user's code or waits for the
chain; a note that cannot be written is kept in this process, and told.
"""

from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

from nbresume.model.effects import spoken_keys
from nbresume.model.evidence import held_against, words
from nbresume.model.records import Committed, Intent
from nbresume.model.values import Sighting
from nbresume.run.journal import Journal
from nbresume.run.outside import EVENTS, outside_call
from nbresume.run.ports import World
from nbresume.settings import Undeclared

MOST_KINDS = 16
"""Calls of so many kinds are told apart; what is beyond is one kind."""


class Evidence:
    """Watches the steps of one run in one kernel."""

    def __init__(
        self,
        journal: Journal,
        world: World,
        undeclared: Undeclared,
        *,
        inside_effect: Callable[[], bool] = lambda: False,
    ) -> None:
        self._journal = journal
        self._world = world
        self._undeclared = undeclared
        self._inside_effect = inside_effect
        """Says whether the call is made by an effect, which has a record of its own."""
        self._attempt = ""
        self._seen: dict[str, Sighting] = {}
        self._is_durable = False
        self._unwatch: Callable[[], None] = lambda: None

    def begin(self, intent: Intent) -> None:
        """Watch from now on; called when the intent is durable, before the body."""
        self._unwatch()
        self._attempt, self._seen, self._is_durable = intent.attempt, {}, False
        self._unwatch = self._world.watch.start(self._told, EVENTS)

    def end(self) -> list[Sighting]:
        """Watch no more; return what was seen, in the order of first calls."""
        self._unwatch()
        return list(self._seen.values())

    def so_far(self) -> list[Sighting]:
        """Return what the running attempt was seen doing until now."""
        return list(self._seen.values())

    def inherit(self, seen: list[Sighting]) -> None:
        """Count what earlier attempts were seen doing whose work this one goes on with.

        It is no doubt about this attempt: no note is made of it.
        """
        for sighting in seen:
            self._seen.setdefault(sighting.what, sighting)

    def outside(
        self, intent: Intent, seen: list[Sighting], effects: list[str]
    ) -> list[str]:
        """Return how a step that ended is known to touch the outside, in words.

        Parameters
        ----------
        intent
            Of its attempt.
        seen
            What it was seen doing.
        effects
            Keys of the effects that it asked for.
        """
        known = ["it declared --effects"] if intent.options.effects else []
        if effects:
            known.append(f"it made the {spoken_keys(effects)}")
        held = held_against(intent.options, seen, self._undeclared) if seen else ""
        return [*known, held] if held else known

    def tell(self, record: Committed) -> None:
        """Say once that a step is locked because of what it was seen doing."""
        if record.effects != [words(record.seen)]:
            return
        self._world.screen.say(
            f"step {record.step} is locked from now on: {record.effects[0]}. It runs "
            f"again only after %steps rerun {record.step} --because TEXT (and with "
            f"--pure in its header, if its calls only read, it is not locked then)"
        )

    def _told(self, event: str, args: tuple[Any, ...], frame: FrameType) -> None:
        try:
            if self._inside_effect():
                return
            what = outside_call(event, args, frame, self._world.watch.own)
        except Exception:  # noqa: BLE001 - a hook must not raise; unknown counts as seen
            what = f"doing what could not be understood ({event})"
        if what:
            self._count(what)

    def _count(self, what: str) -> None:
        if what not in self._seen and len(self._seen) >= MOST_KINDS:
            what = "doing other things outside"
        known = self._seen.get(what)
        at = known.at if known else self._world.clock.now()
        calls = known.calls + 1 if known else 1
        self._seen[what] = Sighting(what=what, at=at, calls=calls)
        if not self._is_durable:
            self._note(next(iter(self._seen.values())))

    def _note(self, first: Sighting) -> None:
        try:
            self._journal.note(self._attempt, first)
        except Exception as error:  # noqa: BLE001 - a hook must not raise; it is kept and told
            self._tell_unwritten(first, error)
        else:
            self._is_durable = True

    def _tell_unwritten(self, first: Sighting, error: Exception) -> None:
        # a screen that is closed must not break the body either
        with suppress(Exception):
            self._world.screen.say(
                f"this step was seen {first.what}, and the note of it could not be "
                f"written ({error}): should the kernel die now, nobody will know. "
                "The next such call tries again"
            )
