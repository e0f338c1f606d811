# ruff: noqa: S102 - classes of a notebook are made with exec
"""Large containers are walked at C speed, and found the same as item by item."""

import collections
import copy
import datetime as dt
import enum
import math
import subprocess
import sys
from functools import cached_property
from itertools import chain

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbresume.capture.canonical import look, reach_outside
from nbresume.capture.instances import plain

ONE_BY_ONE = 10**9
"""No container has so many items."""


class P:
    """A plain instance."""

    kind = "p"

    def __init__(self, a=1, b="x"):
        self.a, self.b = a, b

    @property
    def double(self):
        """Return what no walk asks for."""
        raise AssertionError


class Q(P):
    """Another one."""


class S:
    """Slots."""

    __slots__ = ("a", "b")

    def __init__(self, a=1, b="x"):
        self.a, self.b = a, b


class One:
    """One slot."""

    __slots__ = ("a",)

    def __init__(self, a=1):
        self.a = a


class Empty:
    """No attributes at all."""

    __slots__ = ()


class State(P):
    """Says itself what it is."""

    def __getstate__(self):
        return {**vars(self), "c": 1}


class Cached(P):
    """Caches something."""

    @cached_property
    def p(self):
        """Return something."""
        return [1]


class MyInt(int):
    """No leaf."""


class Color(enum.IntEnum):
    """Equal to a leaf, and none."""

    RED = 1


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([2**70, -(2**40), 0.0, -0.0, math.nan, 1.0, 1 + 0j, ...]),
    st.sampled_from(["", "a", "b", b"a", b"", "\ud800", "x" * 5000, "y" * 5000]),
    st.sampled_from([dt.date(2026, 1, 1), MyInt(1), Color.RED, np.float64(1.0), len]),
)
KEYS = st.one_of(
    st.sampled_from(["a", "b", "\ud800", "x" * 5000]),
    st.sampled_from([1, True, 1.0, 0.0, -0.0, None, b"a", MyInt(1), Color.RED]),
    st.sampled_from([(1, "a"), frozenset({1}), np.float64(1.0), np.str_("a")]),
)


def _filled(kind, attributes):
    made = kind()
    for name, value in zip("ab", attributes, strict=False):
        if kind is not Empty and (kind is not One or name == "a"):
            setattr(made, name, value)
    return made


def _instances(inner):
    kinds = st.sampled_from([P, Q, S, One, Empty, State, Cached])
    return st.builds(_filled, kinds, st.lists(inner, min_size=2, max_size=2))


ITEMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        _instances(inner),
        st.sets(st.integers(0, 3)),
    ),
    max_leaves=8,
)


@st.composite
def containers(draw):
    """Return a container of many items, some of them alike, equal or the same."""
    pool = draw(st.lists(ITEMS, min_size=1, max_size=4))
    picks = draw(st.lists(st.integers(0, len(pool) - 1), min_size=4, max_size=8))
    items = [pool[at] for at in picks] * 8
    for at in draw(st.lists(st.integers(0, len(items) - 1), max_size=3)):
        items[at] = copy.deepcopy(items[at])
    odd = draw(st.lists(st.tuples(st.integers(0, len(items) - 1), ITEMS), max_size=2))
    for at, item in odd:
        items[at] = item
    if draw(st.booleans()):
        items.append(items if draw(st.booleans()) else [items])
    make = draw(st.sampled_from([list, tuple, lambda x: dict(enumerate(x))]))
    value = make(items)
    held = [vars(x) for x in pool if isinstance(x, P)] if draw(st.booleans()) else []
    return value, held


def _both(value):
    return look(value, {}), look(value, {}, many=ONE_BY_ONE)


def _seen(found):
    """Return what others may hold as well, at all places."""
    return {i for i in found.visits if i in found.reach}


RELAXED = settings(
    max_examples=300, deadline=None, suppress_health_check=list(HealthCheck)
)


@RELAXED
@given(containers())
def test_the_same_objects_are_found(case):
    """At C speed as one by one: what is reached, and what stands somewhere."""
    value, _held = case
    fast, slow = _both(value)

    assert fast.reach.keys() == slow.reach.keys()
    assert all(fast.reach[i] is slow.reach[i] for i in fast.reach)
    assert _seen(fast) == _seen(slow)
    # in another order: level by level, and from the outside in
    assert set(fast.aside) == set(slow.aside)
    assert (fast.digest is None) == (slow.digest is None)


@RELAXED
@given(containers(), containers())
def test_the_same_values_are_equal(one, other):
    """At C speed as one by one; a copy equals its original."""
    fast, slow = _both(one[0])
    fast_other, slow_other = _both(other[0])
    copied = copy.deepcopy(one[0])
    fast_copy, slow_copy = _both(copied)

    assert (fast.digest == fast_other.digest) == (slow.digest == slow_other.digest)
    assert (fast.digest == fast_copy.digest) == (slow.digest == slow_copy.digest)


@st.composite
def records(draw):
    """Return many records: what stands where repeats, but for a few of them."""
    kinds = draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))
    width = draw(st.integers(1, 20))
    makes = [
        lambda at: at,
        lambda at: [at, [at], *range(width)],
        lambda at: {"a": at, "b": [at] if at % 2 else {}, "c": "x" * (at // 90 * 2500)},
        lambda at: P(at, [at]),
        lambda at: _wide(width, at),
        lambda at: S([at], (at,)),
    ]
    items = [
        makes[kinds[at % len(kinds)]](at) for at in range(draw(st.integers(90, 200)))
    ]
    for at in draw(st.lists(st.integers(0, len(items) - 1), max_size=3)):
        items[at] = makes[at % 6](at)
    return items


def _wide(width, at):
    made = P(at)
    for n in range(width):
        setattr(made, f"n{n}", [n] if n % 7 == 6 else n)
    return made


@RELAXED
@given(records(), st.data())
def test_records_are_no_other_values(items, data):
    """What repeats is taken in strides: the same objects, in the same places."""
    fast, slow = _both(items)
    found = [id(one) for one in items if not isinstance(one, int)]
    rows = [*map(id, chain.from_iterable(row for _, row in fast.visits.rows))]

    assert fast.reach.keys() == slow.reach.keys()
    assert _seen(fast) == _seen(slow)
    assert {*found} <= {*rows}
    assert look(copy.deepcopy(items), {}).digest == fast.digest

    at = data.draw(st.integers(0, len(items) - 1))
    items[at] = [items[at]]
    assert look(items, {}).digest != fast.digest


@RELAXED
@given(containers(), st.data())
def test_a_change_is_seen(case, data):
    """One leaf somewhere below, of another value or type."""
    value, _held = case
    before = look(value, {})
    boxes = [x for x in before.reach.values() if type(x) in (list, dict, P, S)]
    box = data.draw(st.sampled_from(boxes)) if boxes else None
    if box is None:
        return
    _change(box)
    after = look(value, {})

    assert after.digest is None or after.digest != before.digest


def _change(box):
    if type(box) is list:
        box.append(7)
    elif type(box) is dict:
        box["new"] = 7
    else:
        box.a = [8, 9]


# -- what is told apart --------------------------------------------------------------

OLD_P = type("P", (P,), {"__module__": "old"})
COLUMNS = {
    "ints": [1] * 40,
    "bools": [True] * 40,
    "mixed": [1, True] * 20,
    "floats": [1.0] * 40,
    "negative zero": [0.0] * 39 + [-0.0],
    "zero": [0.0] * 40,
    "nan": [math.nan] * 40,
    "big": [2**70] * 40,
    "bigger": [2**70] * 39 + [2**70 + 1],
    "complex": [1 + 0j] * 40,
    "dots": [...] * 40,
    "int subclass": [MyInt(1)] * 40,
    "one int subclass": [1] * 39 + [MyInt(1)],
    "enum": [Color.RED] * 40,
    "numpy": [np.float64(1.0)] * 40,
    "text": ["a"] * 40,
    "bytes": [b"a"] * 40,
    "numpy text": [np.str_("a")] * 40,
    "surrogate": ["\ud800"] * 40,
    "long text": ["x" * 5000] * 40,
    "one long text": ["x" * 5000] + ["x"] * 39,
    "another long text": ["x"] * 39 + ["x" * 5000],
    "ellipsis": [None] * 40,
    "lists": [[1, 2], [3]] * 20,
    "lists cut otherwise": [[1], [2, 3]] * 20,
    "tuples": [(1, 2), (3,)] * 20,
    "lists and leaves": [[1], 2] * 20,
    "leaves and lists": [2, [1]] * 20,
    "empty lists": [[]] * 40,
    "empty tuples": [()] * 40,
    "empty dicts": [{}] * 40,
    "sets": [{1}] * 40,
    "frozen sets": [frozenset({1})] * 40,
    "dicts": [{"a": 1, "b": 2}] * 40,
    "another order": [{"b": 2, "a": 1}] * 40,
    "an odd key": [{"a": 1, "b": 2}] * 39 + [{"a": 1, "c": 2}],
    "int keys": [{1: 1}] * 40,
    "bool keys": [{True: 1}] * 40,
    "float keys": [{1.0: 1}] * 40,
    "one bool key": [{1: 1}] * 39 + [{True: 1}],
    "enum keys": [{Color.RED: 1}] * 40,
    "one enum key": [{1: 1}] * 39 + [{Color.RED: 1}],
    "numpy keys": [{np.str_("a"): 1, "b": 2}] * 40,
    "bytes keys": [{b"a\0\0\0": 1, "b": 2}] * 40,
    "tuple keys": [{(1, 2): 1}] * 40,
    "set keys": [{frozenset({1}): 1}] * 40,
    "long keys": [{"x" * 5000: 1}] * 40,
    "keys in lists": [{"a": [1]}] * 40,
    "other keys in lists": [{"b": [1]}] * 40,
    "instances": [P()] * 40,
    "of another class": [Q()] * 40,
    "one of another class": [P()] * 39 + [Q()],
    "first of another class": [Q()] + [P()] * 39,
    "two of another class": [P()] * 38 + [Q()] * 2,
    "one attribute": [P()] * 39 + [P(2)],
    "attribute of another type": [P()] * 39 + [P(True)],
    "slots": [S()] * 40,
    "other slots": [S()] * 39 + [S(2)],
    "an empty slot": [S()] * 39 + [S.__new__(S)],
    "one slot": [One()] * 40,
    "one slot of a tuple": [One((1,))] * 40,
    "no slots": [Empty()] * 40,
    "states": [State()] * 40,
    "cached": [Cached()] * 40,
    "dates": [dt.date(2026, 1, 1)] * 40,
    "functions": [len] * 40,
    "other functions": [max] * 40,
    "ordered": [collections.OrderedDict(a=1)] * 40,
    "instances in lists": [[P(), 1]] * 40,
    "instances in instances": [P(P())] * 40,
    "lists in instances": [P([1])] * 40,
    "dicts in instances": [P({"a": 1})] * 40,
    "attributes": [{"a": 1, "b": "x"}] * 40,
    "more": [1] * 41,
    "deep": [[[[[[[[[[1]]]]]]]]]] * 40,
    "deeper": [[[[[[[[[[[1]]]]]]]]]]] * 40,
}


def _forms(column):
    return [column, tuple(column), dict(enumerate(column)), [column], [[column]]]


def test_different_containers_have_different_digests():
    """Types, values, keys, lengths, classes and places count, at C speed as well."""
    looks = [look(form, {}) for column in COLUMNS.values() for form in _forms(column)]

    assert [seen.why for seen in looks] == [""] * len(looks)
    assert len({seen.digest for seen in looks}) == len(looks)


def test_copies_are_equal():
    """Whatever is shared in one and not in the other."""
    for name, column in COLUMNS.items():
        copied = [copy.deepcopy(item) for item in column]
        assert look(copied, {}).digest == look(column, {}).digest, name


def test_instances_of_equal_classes_are_equal():
    """Also when instances of both stand in one list."""
    one, other = [], []
    for made in (one, other):
        space = {"__name__": "__main__"}
        exec("class K:\n    def __init__(self, a): self.a = a", space)
        made += [space["K"](1) for _ in range(40)]
    mixed = [pair[at % 2] for at, pair in enumerate(zip(one, other, strict=True))]
    seen = look(one, {})

    assert look(mixed, {}).digest == look(other, {}).digest == seen.digest
    assert [*look(mixed, {}).visits].count(id(type(other[0]))) == 21  # and itself


def test_a_class_that_holds_its_instances_is_no_trouble():
    """The circle is told by what it leads to."""
    digests = set()
    for _ in range(2):
        space = {"__name__": "__main__"}
        exec("class K:\n    all = []\n    def m(self): return __class__", space)
        space["K"].all += [space["K"]() for _ in range(40)]
        digests.add(look(space["K"].all, space).digest)

    assert len(digests) == 1
    assert digests != {None}


def test_circles_of_many_items():
    """A list that holds itself among many others, and one that holds its like."""
    one, two, three = [[1]] * 40, [[1]] * 40, [[1]] * 40
    one.append(one)
    two.append(three)
    three.append(two)

    assert look(one, {}).digest == look(two, {}).digest


def test_the_namespace_is_not_entered():
    """It may stand in a large list; what it holds is no part of it."""
    space = {"x": [1]}
    before = look([space] * 40, space)
    space["x"].append(2)

    assert look([space] * 40, space).digest == before.digest
    assert id(space) not in before.reach


def test_a_walk_stops_at_named_objects():
    """In large lists as well."""
    inner = [1]
    named = P(inner)
    value = [P() for _ in range(40)] + [named]
    reach = reach_outside(value, {}, frozenset({id(named)})).reach()

    assert id(value[0]) in reach
    assert id(named) not in reach
    assert id(inner) not in reach


def test_no_code_of_a_value_runs():
    """Neither properties nor what a class says of itself make a plain instance."""

    class Loud(P):
        def __getattr__(self, name):
            raise AssertionError(name)

        @property
        def __class__(self):
            raise AssertionError

    assert look([P()] * 40, {}).digest is not None
    assert plain(P(), P) is not None
    for value in (State(), Loud(), Cached(), MyInt(1), Color.RED, P, len, {1}, [1]):
        assert plain(value, type(value)) is None


def test_attributes_that_something_else_holds_are_seen():
    """Each once, and only those; an instance that stands twice is no holder."""
    rows = [P() for _ in range(40)]
    rows += rows
    held = [vars(rows[3]), vars(rows[7])]
    found = look(rows, {})

    assert {id(one) for one in held} <= found.reach.keys()
    ids = {id(one) for one in held}
    assert set(found.places_of(ids)) == ids
    attributes = {id(vars(row)) for row in rows} & found.reach.keys()
    assert attributes == {id(one) for one in held}


def test_keys_that_are_objects_are_reached():
    """No pickle writes them behind our back."""
    keys = [P() for _ in range(40)]
    found = look([{key: 1, "b": 2} for key in keys], {})

    assert {id(key) for key in keys} <= found.reach.keys() & set(found.visits)


def test_texts_that_count_are_reached():
    """Long ones, wherever they stand; they are written once each."""
    long = ["x" * 5000, b"y" * 5000, "k" * 5000, "z" * 5000]
    value = [{"a": long[0]}, [long[1]], {long[2]: 1}, P(long[3])] * 20

    assert {id(text) for text in long} <= look(value, {}).reach.keys()
    for kind, text in enumerate(long):
        assert id(text) in look(value[kind::4] * 2, {}).reach


def test_what_is_far_larger_below_is_taken_apart():
    """A value whose expansion would be astronomically large is digested at once."""
    tree = list(range(40))
    for _ in range(40):
        tree = [tree] * 40

    assert look(tree, {}).digest


SCRIPT = """
import sys
from nbresume.capture.canonical import look
class P: pass
class S: __slots__ = ("a", "b")
def made(value, a, b):
    value.a, value.b = a, b
    return value
rows = [made(P(), at, {"t": [at, "x"]}) for at in range(40)]
slots = [made(S(), at, frozenset("abc")) for at in range(40)]
for value in (
    [{"a": 1, "b": "x", "c": 0.5}] * 40, [[1, (2, [3])]] * 40, dict(enumerate(rows)),
    slots, [rows[0], slots[0], {"a"}, {"a", "b"}] * 20, [10**30, -1, "\\udc80"] * 20,
    [{("a", 1): None}] * 40, ["x" * 5000, 1, {"k": b"y" * 5000}] * 20,
):
    print(look(value, globals()).digest[:12])
"""
SAME = """
731161a006ce
d0df9d726d66
da5546612235
ccbde365d1a8
ae97204f6574
6857968d44a9
ad62f94d115b
08078c4a75ec
"""


def test_digests_are_the_same_everywhere():
    """On every Python, in every process, whatever its hash seed."""
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
            text=True,
        )
        assert done.stdout == SAME.lstrip()
