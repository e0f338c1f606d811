"""How a plan is told."""

import pytest

from nbresume.plan.planner import Plan, Verdict

RERUN, REPLAY, REFUSED = Verdict.RERUN, Verdict.REPLAY, Verdict.REFUSED
SENTENCES = [
    (
        Plan("load", REPLAY, last_duration_s=3.0),
        "load is replayed: nothing that it depends on has changed",
    ),
    (Plan("load", RERUN), "load runs: it is not committed"),
    (
        Plan("load", RERUN, ("its code changed",), 3.21),
        "load runs: its code changed; the last time it took 3.2 s",
    ),
    (
        Plan("fit", RERUN, ("x changed", "y changed", "z is new"), 125.4),
        "fit runs: x changed (and 2 more); the last time it took 2 min 5 s",
    ),
    (
        Plan("fit", RERUN, ("x is gone",), 7390.0),
        "fit runs: x is gone; the last time it took 2 h 3 min",
    ),
    (
        Plan("fit", RERUN, (), 59.97),
        "fit runs: it is not committed; the last time it took 1 min 0 s",
    ),
    (
        Plan("fit", RERUN, (), 3599.7),
        "fit runs: it is not committed; the last time it took 1 h 0 min",
    ),
    (
        Plan("mail", REFUSED, ("it is in doubt",), 1.0),
        "mail is refused: it is in doubt",
    ),
    (Plan("mail", REFUSED), "mail is refused: no reason was given"),
    (Plan("a", RERUN, ("one\n  two",)), "a runs: one two"),
]


@pytest.mark.parametrize(("plan", "expected"), SENTENCES)
def test_sentence(plan, expected):
    """One line: the verdict, the first reason, how long it took the last time."""
    assert plan.sentence == expected


def test_verdicts_are_words():
    """Verdicts are told to programs as words, which must stay."""
    assert [str(verdict) for verdict in Verdict] == ["replay", "rerun", "refused"]
