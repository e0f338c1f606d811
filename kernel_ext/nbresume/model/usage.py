"""What a run has cost, added up record by record.

The rule: amounts are only added, so no counter ever decreases.
"""

import msgspec

from nbresume.model.values import Reported, Usage


def used(
    usage: Usage,
    *,
    attempts: int = 0,
    wall_s: float = 0.0,
    cpu_s: float = 0.0,
    size: int = 0,
    reported: Reported | None = None,
) -> Usage:
    """Return the usage with these amounts added."""
    return msgspec.structs.replace(
        usage,
        attempts=usage.attempts + attempts,
        wall_s=usage.wall_s + wall_s,
        cpu_s=usage.cpu_s + cpu_s,
        bytes=usage.bytes + size,
        tokens=usage.tokens + (reported.tokens if reported else 0),
        cost=usage.cost + (reported.cost if reported else 0.0),
    )
