"""Large tables come back with all that they share, however they are written."""

import pickle
import pickletools
from dataclasses import dataclass, field

import pytest

from nbresume.capture.alike import Alike
from nbresume.capture.canonical import look
from nbresume.capture.pickling import dump
from nbresume.capture.rebuild import rebuild

COUNT = 3000


@dataclass
class Rec:
    """A plain instance."""

    k: int
    tags: list = field(default_factory=list)


def rows():
    """Return many alike dicts."""
    return [{"i": i, "s": str(i)} for i in range(COUNT)]


def recs():
    """Return many alike instances."""
    return [Rec(i, [i]) for i in range(COUNT)]


def _changed(made, change):
    value = made()
    change(value)
    return value


def _one_tuple():
    pair = (1, [2])
    return [*[(i,) for i in range(COUNT)], pair, pair]


SHARING = {
    "itself": lambda: _changed(rows, lambda v: v.append(v)),
    "its own row": lambda: _changed(rows, lambda v: v[7].update(up=v)),
    "a row twice": lambda: _changed(rows, lambda v: v.append(v[3])),
    "two rows in a circle": lambda: _changed(
        rows, lambda v: (v[1].update(n=v[2]), v[2].update(n=v[1]))
    ),
    "a list in all rows": lambda: [[row] for row in [[1]] * COUNT],
    "a tuple twice": _one_tuple,
    "an attribute that holds all": lambda: _changed(
        recs, lambda v: v[5].tags.append(v)
    ),
    "an attribute of two": lambda: _changed(
        recs, lambda v: setattr(v[6], "tags", v[5].tags)
    ),
    "a namespace of an instance": lambda: _changed(
        recs, lambda v: v.append(vars(v[0]))
    ),
    "a dict in itself": lambda: _changed(
        lambda: {i: {"x": [i]} for i in range(COUNT)}, lambda v: v.update(me=v)
    ),
}
ALONE = {
    "dicts": rows,
    "instances": recs,
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


def written(value):
    """Return the pickle of a value as a capture writes it."""
    seen = look(value, {})
    is_alike = seen.is_data or seen.table is not None
    alike = Alike(seen.table or (), seen.rows_once()) if is_alike else None
    return dump([value], units={id(Rec): "o3"}, namespace={}, alike=alike).stream


def shape(value):
    """Return what a value consists of, and where an object is met again."""
    places, found, todo = {}, [], [value]
    while todo:
        one = todo.pop()
        if id(one) in places:
            found.append(places[id(one)])
            continue
        if isinstance(one, (dict, list, tuple)) or type(one) is Rec:
            places[id(one)] = ("again", len(places))
        if isinstance(one, dict):
            found.append(("dict", list(one)))
            todo += one.values()
        elif isinstance(one, (list, tuple)):
            found.append((type(one).__name__, len(one)))
            todo += one
        else:
            found.append("Rec" if type(one) is Rec else one)
            todo += [vars(one)] if type(one) is Rec else []
    return found


@pytest.mark.parametrize("made", (SHARING | ALONE).values(), ids=(SHARING | ALONE))
def test_it_comes_back_as_it_was(made):
    """Equal, and one object where it was one object."""
    value = made()
    stream = written(value)
    found = rebuild(stream, [], resolve={"o3": Rec}.__getitem__, namespace={})

    assert shape(found) == shape(value)
    assert len(stream) < 2 * len(pickle.dumps(value, 5)) + 1000


def _remembered(stream):
    return sum(code.name == "MEMOIZE" for code, _, _ in pickletools.genops(stream))


def test_what_stands_in_one_place_is_not_remembered():
    """That takes half the time of a pickle; the keys are, once each."""
    assert _remembered(written(rows())) == len({"i", "s"})
    assert _remembered(written(recs())) == len({"the class", "k", "tags"})


@pytest.mark.parametrize("made", SHARING.values(), ids=SHARING)
def test_what_is_shared_is_remembered(made):
    """Else it would be written twice, or for ever."""
    assert _remembered(written(made())) > COUNT / 2
