"""How durations are spoken of."""

import pytest

from nbresume.plan.planner import spoken


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0004, "0 ms"),
        (0.012, "12 ms"),
        (0.0996, "0.1 s"),
        (3.24, "3.2 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min 0 s"),
        (250, "4 min 10 s"),
        (3600, "1 h 0 min"),
        (7290, "2 h 1 min"),
    ],
)
def test_durations_are_told_in_the_unit_that_says_most(seconds, words):
    """A duration is told in milliseconds, seconds, minutes or hours."""
    assert words == spoken(seconds)
