"""Evidence in words, and when it is held against an attempt."""

import pytest
from unit.run.samples import AT

from nbresume.model.evidence import held_against, words
from nbresume.model.values import Options, Sighting
from nbresume.settings import Undeclared

CURL = Sighting(what="starting the program curl", at=AT)
HOST = Sighting(what="connecting to example.org:443", at=AT, calls=3)
SEEN = "it was seen starting the program curl"
EVIDENCE, REFUSE, RERUN = Undeclared


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([], ""),
        ([CURL], SEEN),
        ([CURL, HOST], f"{SEEN} and connecting to example.org:443"),
        (
            [CURL, HOST, CURL],
            f"{SEEN}, connecting to example.org:443 and starting the program curl",
        ),
        (
            [CURL, HOST, CURL, HOST, HOST],
            f"{SEEN}, connecting to example.org:443, {CURL.what} and 2 other things",
        ),
    ],
)
def test_what_was_seen_is_one_clause(seen, said):
    """The first calls by name, the rest by number."""
    assert words(seen) == said


@pytest.mark.parametrize(
    ("options", "seen", "policy", "held"),
    [
        (Options(), [], EVIDENCE, False),
        (Options(), [CURL], EVIDENCE, True),
        (Options(), [], REFUSE, True),
        (Options(), [CURL], REFUSE, True),
        (Options(), [], RERUN, False),
        (Options(), [CURL], RERUN, False),
        *(
            (options, seen, policy, False)
            for options in (Options(pure=True), Options(always=True))
            for seen in ([], [CURL])
            for policy in Undeclared
        ),
        (Options(retry=True, reads=["x"], after=["b"]), [CURL], EVIDENCE, True),
    ],
)
def test_what_is_held_against_an_attempt(options, seen, policy, held):
    """Seen, or under the strict policy undeclared; never against the author's word."""
    assert bool(held_against(options, seen, policy)) is held


def test_the_strict_policy_names_itself():
    """Nothing was seen, so the policy is the reason."""
    said = held_against(Options(), [], REFUSE)

    assert (
        said == "it declared neither --effects nor --pure (policy: undeclared = refuse)"
    )
    assert held_against(Options(), [CURL], REFUSE) == SEEN
