"""The compare-and-swap rule as a pure function."""

from datetime import UTC, datetime

import msgspec
import pytest

from nbresume.errors import ConflictError, ErrorKind
from nbresume.model.envelope import Envelope, check_successor

ENVELOPE = Envelope(
    id="orders",
    run_id="r1",
    revision=0,
    kind="acme.order",
    schema_version=1,
    payload={},
    updated_at=datetime(2026, 11, 5, tzinfo=UTC),
    nonce="n",
)


def at(revision, **fields):
    """Return an envelope of this revision; None for no revision."""
    if revision is None:
        return None
    return msgspec.structs.replace(ENVELOPE, revision=revision, **fields)


GOOD = [(None, None, 0), (0, 0, 1), (7, 7, 8)]
BAD = [
    # current, expected, next
    (None, None, 1),  # created elsewhere than at 0
    (None, 0, 1),  # nothing is there
    (0, None, 0),  # created already
    (3, None, 4),
    (3, 2, 3),  # somebody appended meanwhile
    (3, 4, 5),  # a revision that nobody has written
    (3, 3, 5),  # a gap
    (3, 3, 3),  # the same revision again
    (3, 3, 0),
    (3, -1, 4),
]


@pytest.mark.parametrize(("current", "expected", "following"), GOOD)
def test_exactly_the_next_revision_passes(current, expected, following):
    """None creates revision 0, n appends n+1."""
    check_successor(at(following), current=at(current), expected=expected)


@pytest.mark.parametrize(("current", "expected", "following"), BAD)
def test_everything_else_is_a_conflict(current, expected, following):
    """Any other revision or expectation changes nothing and says what to do."""
    with pytest.raises(ConflictError, match="was not changed") as caught:
        check_successor(at(following), current=at(current), expected=expected)

    assert caught.value.kind is ErrorKind.CONFLICT
    assert caught.value.remedy
    assert caught.value.ids["found"] == current


@pytest.mark.parametrize("other", [{"id": "bills"}, {"run_id": "r2"}])
def test_an_envelope_of_another_chain_is_refused(other):
    """A record cannot be appended to a chain that it does not belong to."""
    with pytest.raises(ConflictError, match="belongs to"):
        check_successor(at(1, **other), current=at(0), expected=0)


def test_the_time_is_never_compared():
    """A writer whose clock is behind may append."""
    earlier = datetime(2020, 1, 1, tzinfo=UTC)

    check_successor(at(1, updated_at=earlier), current=at(0), expected=0)
