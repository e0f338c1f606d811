"""How far loops have come, folded from the records."""

import pytest
from unit.run.samples import AT, PROGRESS, changed

from nbresume.model.progress import has_advanced, note, spoken


def _known(*loops: tuple[str, int]):
    known = {}
    for revision, (loop, position) in enumerate(loops):
        record = changed(PROGRESS, loop=loop, position=position)
        note(known, record, revision=revision, at=AT)
    return known


def test_of_a_loop_the_newest_record_counts():
    """Also if it was saved by another attempt."""
    known = _known(("0", 3), ("0", 6))

    assert {loop: saved.record.position for loop, saved in known.items()} == {"0": 6}


def test_an_outer_item_that_is_done_ends_what_was_said_inside_it():
    """What stands beside it stays."""
    known = _known(("0", 1), ("0@1/0", 5), ("0@1/1", 2), ("1", 9), ("0", 2))

    assert known.keys() == {"0", "1"}


@pytest.mark.parametrize(
    ("loops", "text"),
    [
        ((), ""),
        ((("0", 300),), "at item 300 of 1000"),
        ((("0", 4), ("0@4/0", 20)), "at item 4 of 1000, in it at item 20 of 1000"),
        ((("0@0/0", 20),), "at item 20 of 1000"),
        ((("0", 4), ("1", 7)), "at item 7 of 1000"),
    ],
)
def test_it_is_told_in_words(loops, text):
    """Of loops in each other the outer one first."""
    assert spoken(_known(*loops)) == text


def test_without_a_length_only_the_item_is_told():
    """A generator does not say how many it has; a loop at its end does."""
    known = {}
    note(known, changed(PROGRESS, loop="0", total=-1), revision=0, at=AT)
    assert spoken(known) == "at item 300"
    note(known, changed(PROGRESS, loop="0", finished=True), revision=1, at=AT)
    assert spoken(known) == "at its end after 300 items"


def test_an_attempt_that_saved_progress_has_advanced():
    """One that only began where another had come has not."""
    known = _known(("0", 3))

    assert has_advanced(known, PROGRESS.attempt)
    assert not has_advanced(known, "another")
