"""Object ids: an object keeps its id, and two never share one."""

from nbresume.capture.units import Identities


def _with_one() -> Identities:
    ids = Identities()
    ids.next_object = 1
    return ids


def test_an_object_keeps_its_id_while_it_changes():
    """Its value is no part of it."""
    ids, value = Identities(), [1]
    first = ids.id_of(value)
    value.append(2)

    assert ids.id_of(value) == first
    assert ids.object_of(first) is value


def test_two_moments_of_one_object_have_two_ids():
    """Both were rebuilt from commits of it; only the newest is that object now."""
    ids, early, late = _with_one(), [1], [1, 2]
    ids.rebuilt("o0", "d1", early, ())
    ids.rebuilt("o0", "d2", late, ())

    assert ids.id_of(late) == "o0"
    assert ids.id_of(early) != "o0"
    assert ids.object_of(ids.id_of(early)) is early


def test_a_moment_that_is_bound_again_has_the_id_back():
    """A restore goes from one moment to another without rebuilding what is alive."""
    ids, early, late = _with_one(), [1], [1, 2]
    ids.rebuilt("o0", "d1", early, ())
    ids.rebuilt("o0", "d2", late, ())
    ids.take_up("o0", early)

    assert ids.id_of(early) == "o0"
    assert ids.object_of("o0") is early
    assert ids.id_of(late) != "o0"


def test_what_a_plain_cell_made_anew_has_the_id_of_what_it_replaces():
    """What is captured around it refers to the same unit as the commit before."""
    ids, former, present = _with_one(), [1], [1]
    ids.rebuilt("o0", "d1", former, ())
    ids.replace("o0", "d1", present, ())

    assert ids.find("o0", "d1") is present
    assert ids.id_of(present) == "o0"
    assert ids.id_of(former) != "o0"


def test_what_has_an_id_keeps_it_when_it_replaces_another():
    """Commits of this kernel refer to it by its own."""
    ids, present = _with_one(), [1]
    own = ids.id_of(present)
    ids.replace("o0", "d1", present, ())

    assert ids.id_of(present) == own
