"""The way of a payload from the schema version it was written in to the newest one.

The rule: one explicit, pure function for each version that was ever left; `UPGRADES`
is the only place that names them. They are run by ``nbresume migrate`` alone, never
by reading.
"""

from collections.abc import Callable, Mapping
from typing import Any

Payload = dict[str, Any]
"""A record as plain JSON."""

Upgrade = Callable[[Payload], Payload]
"""Returns the payload of the next schema version; changes nothing that it is given."""

Upgrades = Mapping[tuple[str, int], Upgrade]
"""(kind, schema version) → the function that leads out of that version."""

UPGRADES: Upgrades = {}
"""Empty: no schema version was left yet."""


def upgraded(
    kind: str, version: int, payload: Payload, upgrades: Upgrades = UPGRADES
) -> tuple[int, Payload]:
    """Return the newest schema version that can be reached, and the payload in it."""
    while (upgrade := upgrades.get((kind, version))) is not None:
        version, payload = version + 1, upgrade(payload)
    return version, payload
