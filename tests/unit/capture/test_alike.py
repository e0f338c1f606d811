"""A large table is pickled without a memo where none of its objects stands twice."""

import pickle
import pickletools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nbresume.capture.alike import Alike
from nbresume.capture.canonical import look
from nbresume.capture.pickling import dump
from nbresume.capture.rebuild import rebuild


class P:
    """A plain instance."""

    def __init__(self, a, b):
        self.a, self.b = a, b


class S:
    """Slots."""

    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


UNITS = {id(P): "o3", id(S): "o4"}
CLASSES = {"o3": P, "o4": S}


def _rows(count=200):
    return [
        (P(at, [at]), {"key": at, "s": f"t{at}"}, [at])[at % 3] for at in range(count)
    ]


def _stored(value):
    """Return the stream of a value, whether each object is in it once, the value."""
    seen = look(value, {})
    alike = None if seen.table is None else Alike(seen.table, seen.rows_once())
    stream = dump([value], units=UNITS, namespace={}, alike=alike).stream
    back = rebuild(stream, [], resolve=CLASSES.__getitem__, namespace={})
    return stream, alike is not None and bool(alike.rows), back


def _remembered(stream):
    names = [code.name for code, *_ in pickletools.genops(stream)]
    return names.count("MEMOIZE")


def _sharing(value):
    """Return the values of a tree in order, and for each who of them it is.

    What is met again is not gone into once more: it may lead to itself.
    """
    known, found, todo = {}, [], [value]
    while todo:
        one = todo.pop()
        if not isinstance(one, (list, tuple, dict, P, S)):
            found.append((type(one), one))
            continue
        found.append((type(one), known.get(id(one), len(known))))
        if id(one) in known:
            continue
        known[id(one)] = len(known)
        if isinstance(one, dict):
            todo += [*one.keys(), *one.values()]
        elif isinstance(one, P):
            todo.append(vars(one))
        elif isinstance(one, S):
            todo.append(one.a)
        else:
            todo += one
    return found


def test_what_stands_once_is_not_remembered():
    """Nothing but its class and the names of its attributes and keys."""
    value = _rows()
    stream, is_once, back = _stored(value)

    assert is_once
    assert _remembered(stream) == len({"class", "a", "b", "key", "s"})
    assert _sharing(back) == _sharing(value)


def _swap(value, one, other):
    value[one] = value[other]


def _twice_below(value):
    value[0].b = value[3].b


def _across_levels(value):
    value[0].b = value[2]


def _tuples(value):
    value[0] = value[1] = (1, [2])


def _short_tuples(value):
    value[0], value[1] = [one := (1, 2)], [one]


def _keys(value):
    key = (1, 2)
    value[1], value[4] = {key: 1}, {key: 2}


TWICE = {
    "instance": lambda value: _swap(value, 0, 3),
    "dict": lambda value: _swap(value, 1, 4),
    "list": lambda value: value.extend([[1]] * 2),
    "below": _twice_below,
    "across levels": _across_levels,
    "tuples": _tuples,
    "short tuples": _short_tuples,
    "keys": _keys,
}


@pytest.mark.parametrize("share", TWICE.values(), ids=TWICE)
def test_what_stands_twice_is_one_object_again(share):
    """Whatever it is, and wherever it stands."""
    value = _rows()
    share(value)
    stream, is_once, back = _stored(value)

    assert look(value, {}).table is not None
    assert not is_once
    assert _remembered(stream) > len(value)
    assert _sharing(back) == _sharing(value)


LEAVES = st.one_of(
    st.sampled_from([None, 1, 2.5, "a", True, 2**70, "\udc80", ...]),
    st.integers(10, 10**6).map(lambda at: f"t{at}"),
)
KEYS = st.one_of(st.sampled_from(["a", "key", 3]), st.tuples(st.integers(0, 3)))
ITEMS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(KEYS, inner, max_size=3),
        st.builds(P, inner, inner),
        st.builds(S, inner),
    ),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_who_is_who_is_kept(data):
    """Of any table, with and without objects that stand in several places."""
    value = [data.draw(ITEMS) for _ in range(data.draw(st.integers(32, 40)))]
    for _ in range(data.draw(st.integers(0, 2))):
        one, other = (data.draw(st.integers(0, len(value) - 1)) for _ in range(2))
        value[one] = value[other]
        if isinstance(value[other], list):
            value[one] = [value[other]]
    seen = look(value, {})
    alike = None if seen.table is None else Alike(seen.table, seen.rows_once())
    stream = dump([value], units=UNITS, namespace={}, alike=alike).stream
    back = rebuild(stream, [], resolve=CLASSES.__getitem__, namespace={})

    assert _sharing(back) == _sharing(value)
    assert look(back, {}).digest == seen.digest


def test_texts_that_many_share_are_one_object_again():
    """A restored table takes no more memory than the one that was stored."""
    color = "red"
    value = [{"name": f"n{at}", "color": color} for at in range(200)]
    stream, is_once, back = _stored(value)

    assert is_once
    assert stream.count(b"red") == 1
    assert len({id(row["color"]) for row in back}) == 1


def test_keys_are_one_object_again():
    """Those that are one object in the table."""
    keys = ["key", "clé \udc80", "k" * 255]
    value = [dict.fromkeys(keys, at) for at in range(200)]
    stream, is_once, back = _stored(value)

    assert is_once
    assert back == value
    assert [len({id([*row][at]) for row in back}) for at in range(3)] == [1, 1, 1]
    assert _remembered(stream) == len(keys)


def test_a_key_that_is_too_long_has_everything_remembered():
    """It would be written with each row."""
    value = [{"k" * 256: at} for at in range(200)]
    stream, _, back = _stored(value)

    assert back == value
    assert stream.count(b"k" * 256) == 1


def test_keys_that_are_data_are_not_remembered_first():
    """Where each dict has keys of its own there is nothing to say beforehand."""
    value = [{f"{at}:{n}": [n] for n in range(5)} for at in range(200)]
    _stream, is_once, back = _stored(value)

    assert is_once
    assert back == value


def test_a_class_that_is_found_by_import_is_named_once():
    """No unit has it; the memo keeps it from being named with each instance."""
    value = [P(at, [at]) for at in range(100)]
    seen = look(value, {})
    alike = Alike((P,), seen.rows_once())
    dumped = dump([value], units={}, namespace={}, alike=alike)

    assert alike.rows
    assert dumped.stream.count(P.__module__.encode()) == 1
    assert _sharing(pickle.loads(dumped.stream)) == _sharing(value)  # noqa: S301 - our own


COUNT = 3000


def _dicts():
    return [{"i": i, "s": str(i)} for i in range(COUNT)]


def _instances():
    return [P(i, [i]) for i in range(COUNT)]


def _changed(made, change):
    value = made()
    change(value)
    return value


def _one_tuple():
    pair = (1, [2])
    return [*[(i,) for i in range(COUNT)], pair, pair]


SHARING = {
    "itself": lambda: _changed(_dicts, lambda v: v.append(v)),
    "its own row": lambda: _changed(_dicts, lambda v: v[7].update(up=v)),
    "a row twice": lambda: _changed(_dicts, lambda v: v.append(v[3])),
    "two rows in a circle": lambda: _changed(
        _dicts, lambda v: (v[1].update(n=v[2]), v[2].update(n=v[1]))
    ),
    "a list in all rows": lambda: [[row] for row in [[1]] * COUNT],
    "a tuple twice": _one_tuple,
    "an attribute that holds all": lambda: _changed(
        _instances, lambda v: v[5].b.append(v)
    ),
    "an attribute of two": lambda: _changed(
        _instances, lambda v: setattr(v[6], "b", v[5].b)
    ),
    "a namespace of an instance": lambda: _changed(
        _instances, lambda v: v.append(vars(v[0]))
    ),
    "a dict in itself": lambda: _changed(
        lambda: {i: {"x": [i]} for i in range(COUNT)}, lambda v: v.update(me=v)
    ),
}
ALONE = {
    "dicts": _dicts,
    "instances": _instances,
    "lists in lists": lambda: [[[[i]]] for i in range(COUNT)],
    "keys with surrogates": lambda: [{"\ud800": i} for i in range(COUNT)],
    "many keys": lambda: [{f"k{n}": i for n in range(150)} for i in range(COUNT // 10)],
    "too many keys": lambda: [
        {f"k{n}": i for n in range(300)} for i in range(COUNT // 10)
    ],
    "long keys": lambda: [{"a" * 300: i} for i in range(COUNT)],
    "one long text in many rows": lambda: [
        {"i": i, "s": text if i % 1000 == 7 else i}
        for text in ["x" * 100_000]
        for i in range(COUNT)
    ],
    "a text in all rows": lambda: [[text] for text in ["x" * 200] * COUNT],
}


@pytest.mark.parametrize("made", (SHARING | ALONE).values(), ids=(SHARING | ALONE))
def test_it_comes_back_as_it_was(made):
    """Equal, one object where it was one, and not much longer than with a memo."""
    value = made()
    stream, _, back = _stored(value)

    assert _sharing(back) == _sharing(value)
    assert len(stream) < 2 * len(pickle.dumps(value, 5)) + 1000


@pytest.mark.parametrize("made", SHARING.values(), ids=SHARING)
def test_what_is_shared_is_remembered(made):
    """Else it would be written twice, or for ever."""
    assert _remembered(_stored(made())[0]) > COUNT / 2
