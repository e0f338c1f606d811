"""The plan of a step: what would happen to it now, and why.

The rule: a plan is a value that every face shows alike. Which verdict holds is decided
where versions and state are known, in ``run``.
"""

from dataclasses import dataclass
from enum import StrEnum

_MINUTE_S = 60
_HOUR_MIN = 60


class Verdict(StrEnum):
    """What happens to a step when its cell is executed."""

    REPLAY = "replay"
    """The committed result is bound and shown; the body does not start."""
    RERUN = "rerun"
    """The body runs, as the next commit."""
    REFUSED = "refused"
    """Nothing happens until somebody decides."""


_WORDS = {
    Verdict.REPLAY: ("is replayed", "nothing that it depends on has changed"),
    Verdict.RERUN: ("runs", "it is not committed"),
    Verdict.REFUSED: ("is refused", "no reason was given"),
}


@dataclass(frozen=True, slots=True)
class Plan:
    """A verdict for one step, with its reasons."""

    step: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    """Most important first; empty where the verdict says it all."""
    last_duration_s: float | None = None
    """How long the last commit took; None if there is none."""

    @property
    def sentence(self) -> str:
        """One line for people: the verdict, its first reason, the last duration."""
        verb, default = _WORDS[self.verdict]
        first, *others = self.reasons or (default,)
        more = f" (and {len(others)} more)" if others else ""
        took = ""
        if self.last_duration_s is not None and self.verdict is Verdict.RERUN:
            took = f"; the last time it took {_spoken(self.last_duration_s)}"
        # reasons quote what the user wrote, and that may have several lines
        return " ".join(f"{self.step} {verb}: {first}{more}{took}".split())


def _spoken(duration_s: float) -> str:
    if round(duration_s, 1) < _MINUTE_S:
        return f"{duration_s:.1f} s"
    minutes, seconds = divmod(round(duration_s), _MINUTE_S)
    if minutes < _HOUR_MIN:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(minutes, _HOUR_MIN)
    return f"{hours} h {minutes} min"
