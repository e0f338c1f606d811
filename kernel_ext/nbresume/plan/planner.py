"""The verdicts of a plan, and how durations are spoken of.

The rule: every face says them alike. Which verdict holds is decided where versions
and state are known, in ``run``.
"""

from enum import StrEnum

_TENTH_S = 0.0995
"""Below this, milliseconds say more."""
_MINUTE_S = 60
_HOUR_MIN = 60


class Verdict(StrEnum):
    """What happens to a step when its cell is executed."""

    REPLAY = "replay"
    """The committed result is bound and shown; the body does not start."""
    RERUN = "rerun"
    """The body runs, as the next commit."""
    NOT_TAKEN = "not taken"
    """Its condition (``--when``) was false, and what that reads is as it was."""
    REFUSED = "refused"
    """Nothing happens until somebody decides."""


def spoken(duration_s: float) -> str:
    """Return a duration for people: ``12 ms``, ``3.2 s``, ``4 min 10 s``."""
    if duration_s < _TENTH_S:
        return f"{duration_s * 1000:.0f} ms"
    if round(duration_s, 1) < _MINUTE_S:
        return f"{duration_s:.1f} s"
    minutes, seconds = divmod(round(duration_s), _MINUTE_S)
    if minutes < _HOUR_MIN:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, _HOUR_MIN)
    return f"{hours} h {minutes} min"
