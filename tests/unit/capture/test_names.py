"""What moved in a namespace is found whatever was done to it, and by whom."""

import gc
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbresume.capture import addresses
from nbresume.capture.addresses import row_of
from nbresume.capture.names import NameTable
from nbresume.capture.touched import is_users

assert np  # rows of many names are NumPy's where it is loaded


class Told:
    """The same, found out in the simplest way."""

    def __init__(self, namespace):
        self.namespace, self.known = namespace, {}

    def refresh(self):
        """Compare every name with what it was."""
        moved = {
            name
            for name, value in self.namespace.items()
            if is_users(name)
            and (name not in self.known or self.known[name] is not value)
        }
        lost = {name for name in self.known if name not in self.namespace}
        self.known = {n: v for n, v in self.namespace.items() if is_users(n)}
        return moved, lost

    def note(self, name):
        """Take up the present value of one name, or that it has none."""
        if name in self.namespace:
            self.known[name] = self.namespace[name]
        else:
            self.known.pop(name, None)


NAMES = ("a", "b", "c", "_i7", "_", 3, ("t",))
OPS = st.one_of(
    st.tuples(
        st.sampled_from(("set", "new", "alias", "delete", "again", "bind", "unbind")),
        st.sampled_from(NAMES[:3]),
    ),
    st.tuples(st.sampled_from(("new", "delete")), st.sampled_from(NAMES[3:])),
    st.tuples(st.just("refresh"), st.just("a")),
)


def done(op, name, namespace, table, told):
    """Do one thing to the namespace, or through the table."""
    match op:
        case "set":
            namespace[name] = 1
        case "new":  # of one size: a later one may lie where a former one lay
            namespace[name] = [object()]
        case "alias":
            namespace[name] = namespace.get("a", None)
        case "delete":
            namespace.pop(name, None)
        case "again":
            namespace[name] = namespace.pop(name, 0)
        case "bind":
            table.bind(name, [object()])
            told.note(name)
        case "unbind":
            table.unbind(name)
            told.note(name)


@pytest.mark.parametrize("many", [0, 1 << 60], ids=["addresses", "objects"])
@settings(max_examples=300, deadline=None)
@given(ops=st.lists(OPS, max_size=30))
def test_whatever_was_done_is_found(many, ops):
    """Bound, removed, bound anew at the end, bound by the table: nothing is missed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(addresses, "_MANY", many)
        namespace = {"__name__": "__main__", "_i1": "x", "a": [0], "b": 2}
        table, told = NameTable(namespace), Told(namespace)
        for op, name in [*ops, ("refresh", "a")]:
            if op != "refresh":
                done(op, name, namespace, table, told)
                continue
            moved, lost = table.refresh()
            assert (set(moved), set(lost)) == told.refresh()
            assert len(moved) == len({*moved})
            assert table.users == {n: v for n, v in namespace.items() if is_users(n)}


@pytest.mark.parametrize("through", ["the table", "the namespace"])
def test_a_value_that_lies_where_another_one_lay_is_another_one(monkeypatch, through):
    """What was taken away by the table is held by nobody: its place is free."""
    monkeypatch.setattr(addresses, "_MANY", 0)
    same = 0
    for _ in range(200):
        namespace = {"a": 1, "x": [object()]}
        table = NameTable(namespace)
        table.refresh()
        there = id(namespace["x"])
        if through == "the table":
            table.unbind("x")
        else:
            del namespace["x"]
        namespace["x"] = [object()]
        same += id(namespace["x"]) == there

        assert table.refresh()[0] == ["x"]
    assert (same > 0) == (through == "the table")


def test_a_name_that_moved_while_it_was_looked_at_is_looked_at_again(monkeypatch):
    """A thread binds it between the two lists; the next look finds it."""
    monkeypatch.setattr(addresses, "_MANY", 0)
    namespace = {"a": 1, "x": [1]}
    table = NameTable(namespace)
    table.refresh()

    class Between(dict):
        """A namespace in which somebody binds names while it is listed."""

        def values(self):
            listed = [*super().values()]
            self["x"] = [3]
            return listed

    table._namespace = between = Between(namespace)
    between["x"] = [2]
    assert table.refresh()[0] == ["x"]
    assert table.users["x"] == [3]
    table._namespace = namespace
    namespace["x"] = between["x"]
    assert table.refresh()[0] == []
    namespace["x"] = [4]
    assert table.refresh()[0] == ["x"]


def test_a_name_that_is_taken_up_while_others_are_looked_at_stays_doubtful(monkeypatch):
    """A thread loads it; its mark must outlive the look that did not see it."""
    monkeypatch.setattr(addresses, "_MANY", 0)
    namespace = {"a": 1, "x": [1]}
    table = NameTable(namespace)
    table.refresh()
    rows = NameTable._maybe_moved

    def meanwhile(self, *lists):
        maybe = rows(self, *lists)
        table.note("x", namespace["x"])
        return maybe

    monkeypatch.setattr(NameTable, "_maybe_moved", meanwhile)
    table.refresh()

    assert "x" in table._doubtful


@pytest.mark.parametrize("name", [1, ("a", "b"), None, b"x"])
def test_a_key_that_is_no_name_is_nobodys(name):
    """No code can say it; the other names are followed as ever."""
    namespace = {"a": 1, name: 2}
    table = NameTable(namespace)

    assert table.refresh() == (["a"], [])
    assert [*table.users] == ["a"]


def test_rows_hold_no_object_longer_than_they_are_compared(monkeypatch):
    """That of addresses holds none at all."""
    monkeypatch.setattr(addresses, "_MANY", 0)
    value = [object()]
    before = len(gc.get_referrers(value))
    row = row_of((value,))

    assert len(gc.get_referrers(value)) == before
    assert [*row.others_in(row_of((value,)))] == []
    assert [*row.others_in(row_of(([],)))] == [0]
    assert [*row.others_in(row_of((value, 1)))] == []


SCRIPT = """
import sys
from nbresume.capture.names import NameTable
namespace = {"n0": 0, "last": [1]}
table = NameTable(namespace)
for count in (1, 4000, 4200, 4300):
    namespace.update({f"n{n}": n for n in range(count)})
    before = [*namespace]
    namespace["last"] = [2]
    moved, lost = table.refresh()
    assert "last" in moved and not lost, count
    namespace["n0"] = {}
    assert table.refresh() == (["n0"], []), count
    print("numpy" in sys.modules)
"""


def test_numpy_is_loaded_for_very_many_names_only():
    """Then it is worth its time; what is found is the same before and after."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout.split() == ["False", "False", "True", "True"], done.stderr
