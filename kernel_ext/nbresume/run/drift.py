"""Versions of libraries that have moved since a step was committed: told, once each.

The rule: a commit made with another version still holds; whoever wants it made anew
says so.
"""

from nbresume.capture.libraries import moved
from nbresume.model.records import Committed
from nbresume.run.ports import World


class Drift:
    """Tells one kernel's person which libraries have moved."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._told: set[tuple[str, str, str]] = set()

    def tell(self, record: Committed) -> None:
        """Say which libraries of a commit have other versions in this kernel."""
        found = {(name, *pair) for name, pair in moved(record.libraries).items()}
        new = sorted(found - self._told)
        self._told |= found
        if new:
            pairs = ", ".join(f"{name} {then} (now {now})" for name, then, now in new)
            self._world.screen.say(
                f"step {record.step} was made with {pairs}; its commit holds all the "
                f"same, and %steps rerun {record.step} makes it anew"
            )
