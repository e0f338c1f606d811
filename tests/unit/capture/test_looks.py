"""What is known of a former look is used again only where it holds."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbresume.capture import looks
from nbresume.capture.canonical import look
from nbresume.capture.live import Live


class P:
    """A plain instance."""

    def __init__(self, at):
        self.at, self.tags = at, [at]


class Own:
    """Says itself what it is: walked by itself, not with the others."""

    def __init__(self):
        self.held = [0]

    def __getstate__(self):
        return {"held": self.held}


def _rows(count=60):
    return [
        (P(at), {"at": at, "in": {"s": f"t{at}"}}, [at])[at % 3] for at in range(count)
    ]


def _append(rows, at):
    rows.append((P(at), {"at": at}, [at], rows[at], rows[at : at + 1])[at % 5])


def _replace(rows, at):
    rows[at] = rows[at + 1] if at % 2 else P(at)


def _remove(rows, at):
    del rows[at]


def _leaf(rows, at):
    one = rows[at]
    if isinstance(one, P):
        one.at = -1
    elif isinstance(one, dict):
        one["new"] = at
    elif isinstance(one, list):
        one.append(at)


def _below(rows, at):
    one = next((one for one in rows[at:] if isinstance(one, P)), rows)
    (rows if one is rows else one.tags).append([at])


def _share(rows, at):
    one = next((one for one in rows[at:] if isinstance(one, P)), P(at))
    one.tags = next((one for one in rows if isinstance(one, list)), [])


def _expose(rows, _):
    rows.append(next((one.held for one in rows if isinstance(one, Own)), 0))


def _hide(rows, at):
    for one in rows:
        if isinstance(one, Own):
            one.held = [at]


CHANGES = st.sampled_from(
    [_append, _replace, _remove, _leaf, _below, _share, _expose, _hide]
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(CHANGES, st.integers(0, 40)), min_size=1, max_size=4))
def test_it_is_what_is_found_anew(changes):
    """Whatever came, went or moved since: the same objects, and who stands twice."""
    rows = [*_rows(), Own()]
    former = look(rows, {})
    former.own.reach()
    reached = dict(former.reach)
    for change, at in changes:
        change(rows, min(at, len(rows) - 2))
    now, anew = look(rows, {}), look(rows, {})
    now.own.take_over(former.own)

    assert now.reach == anew.reach
    assert now.own.has_twice() == anew.own.has_twice()
    for one in anew.reach:
        assert now.own.has_in_groups({one}) == anew.own.has_in_groups({one})
    assert former.reach == reached


@pytest.mark.parametrize(
    ("change", "listed"),
    [(_leaf, 0), (_append, 1), (lambda rows, _: rows.insert(0, [1]), 101)],
    ids=["in place", "appended", "moved"],
)
def test_objects_are_listed_once(monkeypatch, change, listed):
    """What is changed in place, or appended to, costs what is new in it."""
    rows = _rows()
    live = Live({"rows": rows}, new_nonce=lambda: "n")
    live.refresh()
    live.sharing({"rows"})
    asked = []
    by_id = looks._by_id
    monkeypatch.setattr(
        looks, "_by_id", lambda group: asked.append(len(group)) or by_id(group)
    )
    change(rows, 2)

    assert live.changed({"rows"}) == {"rows"}
    live.sharing({"rows"})
    assert sum(asked) == listed


def test_nobody_is_taken_for_one_that_is_gone():
    """Another object in the same place: who shares it is found, who did is not."""
    rows = _rows()
    one, other = rows[2], [2]
    names = {"rows": rows, "one": one, "other": other}
    live = Live(names, new_nonce=lambda: "n")
    live.refresh()
    assert live.sharing({"one"}) == {"one", "rows"}

    rows[2] = other
    live.changed({"rows"})

    assert live.sharing({"one"}) == {"one"}
    assert live.sharing({"other"}) == {"other", "rows"}
