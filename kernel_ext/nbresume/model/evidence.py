"""What evidence says about an attempt: in words, and whether it is held against it.

The rule: seen proves, not seen proves nothing. A declaration counts if the attempt's
own intent has it.
"""

from collections.abc import Sequence

from nbresume.model.values import Options, Sighting
from nbresume.settings import Undeclared

_MOST_TOLD = 3


def words(seen: Sequence[Sighting]) -> str:
    """Return what was seen as one clause; "" if nothing was."""
    if not seen:
        return ""
    told = [sighting.what for sighting in seen[:_MOST_TOLD]]
    if len(seen) > _MOST_TOLD:
        told.append(f"{len(seen) - _MOST_TOLD} other things")
    *first, last = told
    return (
        f"it was seen {', '.join(first)} and {last}" if first else f"it was seen {last}"
    )


def held_against(
    options: Options, seen: Sequence[Sighting], undeclared: Undeclared
) -> str:
    """Return why a cut-off attempt without declared effects is in doubt, or "".

    Parameters
    ----------
    options
        Of the attempt's own intent.
    seen
        What it was seen doing.
    undeclared
        The policy for steps that declare nothing.
    """
    if options.pure or options.always or undeclared is Undeclared.RERUN:
        return ""
    if seen:
        return words(seen)
    if undeclared is Undeclared.REFUSE:
        return "it declared neither --effects nor --pure (policy: undeclared = refuse)"
    return ""
