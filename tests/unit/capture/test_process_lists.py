"""Deltas of lists: the entries of a step and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresume.capture.process_lists import difference, inverse, merged, without

_LISTS = st.lists(st.integers(0, 20), unique=True, max_size=12)


@given(_LISTS, _LISTS, st.booleans())
def test_a_delta_leads_from_one_list_to_the_other(before, after, moves):
    """There, back, and no further when it is applied twice."""
    delta = difference(before, after)
    if delta is None:
        assert before == after
        return

    assert after == merged(before, delta, moves=moves)
    assert before == merged(after, inverse(delta), moves=moves)
    assert after == merged(merged(before, delta, moves=moves), delta, moves=moves)


@pytest.mark.parametrize(
    ("here", "expected"),
    [
        (["other", "lib", "site"], ["new", "other", "lib", "mid", "site"]),
        (["new", "lib", "site"], ["new", "lib", "mid", "site"]),
        (["site", "lib"], ["new", "site", "lib", "mid"]),
        (["site", "old"], ["new", "mid", "site"]),
        ([], ["new", "mid"]),
    ],
)
def test_another_list_keeps_what_is_its_own(here, expected):
    """Entries of this process stay, also when neighbors are missing."""
    delta = difference(["lib", "old", "site"], ["new", "lib", "mid", "site"])

    assert expected == merged(here, delta, moves=False)


def test_an_entry_that_stands_elsewhere_moves_only_if_order_decides():
    """The first filter that matches wins; a path that is there is there."""
    delta = difference(["a"], ["x", "a"])

    assert merged(["a", "x"], delta, moves=False) == ["a", "x"]
    assert merged(["a", "x"], delta, moves=True) == ["x", "a"]


def test_entries_that_are_removed_again_are_no_longer_added():
    """What waits for its library is undone before it was done."""
    delta = difference([], ["x", "y"])

    left = without(delta, difference(["x"], [])["removed"])
    assert merged([], left, moves=False) == ["y"]
