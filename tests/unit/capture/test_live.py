"""The table of names: what nobody told it about is found when it is asked."""

from nbresume.capture.entries import Entry, Made
from nbresume.capture.live import Live


def test_names_that_nobody_noted_are_ambient():
    """A name that a thread bound, whatever its value, counts as a plain cell's."""
    live = Live({"a": None, "b": 1}, new_nonce=lambda: "n")
    live.set("c", Entry(2, Made.COMMITTED, version="v:2", step="s"))

    assert set(live.ambient()) == {"a", "b"}

    live.namespace["c"] = 2.5  # rebound behind its back
    assert set(live.ambient()) == {"a", "b", "c"}
    assert live.ambient()["c"].value == 2.5


def test_scalars_are_not_compound():
    """What cannot hold another object is not looked into."""
    values = {"n": 1, "t": "text", "long": "x" * 5000, "d": {}, "m": __import__("json")}
    live = Live(values, new_nonce=lambda: "n")
    live.refresh()

    assert set(live.names.compound) == {"long", "d"}


def test_what_an_attempt_left_is_known_by_its_step():
    """Only names that still have the value of that step's attempt are its own."""
    live = Live({"x": 1, "y": 2, "z": 3}, new_nonce=lambda: "n")
    for name, step in (("x", "a"), ("y", "a"), ("z", "b")):
        live.mark_attempt(name, step)
    live.namespace["y"] = 5

    assert live.left_by("a") == ["x"]
