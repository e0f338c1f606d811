"""Graphs of parts become tokens."""

import pytest

from nbresume.capture import circles
from nbresume.capture.atoms import Undecidable
from nbresume.capture.circles import Graph, join, short, solve


def _graph(*nodes, ordered=True):
    made = Graph()
    for tag, kids in nodes:
        made.fill(made.add(), tag, list(kids), ordered=ordered)
    return made


def test_a_long_token_is_its_digest():
    """Tokens stay short however much they stand for."""
    assert short(b"x" * 256) == b"x" * 256
    assert len(short(b"x" * 257)) == 33


def test_join_keeps_the_borders_of_its_parts():
    """Two splits of one text are two values."""
    assert join(b"t", [b"a", b"bc"]) != join(b"t", [b"ab", b"c"])
    assert join(b"ta", [b"b"]) != join(b"t", [b"ab"])


def test_without_circles_shared_nodes_equal_copies():
    """A node that stands twice equals two equal nodes."""
    shared = _graph((b"top", [1, 1]), (b"leaf", [b"x"]))
    copied = _graph((b"top", [1, 2]), (b"leaf", [b"x"]), (b"leaf", [b"x"]))

    assert solve(shared, 0) == solve(copied, 0)


def test_a_circle_is_told_apart_by_what_it_leads_to():
    """Labels far along the circle count."""
    tags = [b"a"] * 9
    one = _graph(*((tag, [(at + 1) % 10]) for at, tag in enumerate([*tags, b"b"])))
    two = _graph(*((tag, [(at + 1) % 10]) for at, tag in enumerate([b"b", *tags])))

    assert solve(one, 9) == solve(two, 0)
    assert solve(one, 0) != solve(two, 0)


def test_circles_of_different_length_with_different_labels_differ():
    """Rounds of refinement end early; the set of tokens still tells them apart."""
    three = _graph((b"x", [1]), (b"x", [2]), (b"y", [0]))
    four = _graph((b"x", [1]), (b"x", [2]), (b"x", [3]), (b"y", [0]))

    assert solve(three, 0) != solve(four, 0)
    assert solve(three, 0) != solve(four, 1)


def test_the_order_of_unordered_parts_does_not_matter():
    """Sets in a circle."""
    one = _graph((b"s", [1, 2]), (b"a", [0]), (b"b", [0]), ordered=False)
    two = _graph((b"s", [2, 1]), (b"a", [0]), (b"b", [0]), ordered=False)

    assert solve(one, 0) == solve(two, 0)


def test_too_much_work_is_refused(monkeypatch):
    """A tangle of alike objects is not compared rather than compared for minutes."""
    monkeypatch.setattr(circles, "_CIRCLE_WORK", 100)
    tags = [b"a"] * 99
    tangle = _graph(*((tag, [(at + 1) % 100]) for at, tag in enumerate([*tags, b"b"])))

    with pytest.raises(Undecidable):
        solve(tangle, 0)
