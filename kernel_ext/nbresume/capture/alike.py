"""Large tables of data and plain instances → a pickle, without a word of ours for each.

The rule: whether objects are remembered, so that one that stands twice is written once,
is decided for all of them. None need be where a look saw that none stands twice: that
takes half the time. Texts have no identity, but memory: where many are one object, a
sample tells, and everything is remembered.
"""

import io
import pickle
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

PROTOCOL = 5
_SAMPLE = 128
"""So many containers of a row are asked about their texts …"""
_ITEMS = 32
"""… each about so many of its items."""
_RARE = 16
"""At most one text in so many is also somewhere else."""
_TEXTS = frozenset({str, bytes})
_MOST_KEYS = 200
"""Keys in common: with more of them each row is likely to have its own."""
_LONGEST_KEY = 255
"""Bytes: what a short text can have."""
_REMEMBER = pickle.MEMOIZE + pickle.POP
"""What makes the pickler's reader remember the last value, and use it not yet."""


class Alike(Struct, frozen=True):
    """What is known of a value that consists of data and of plain instances."""

    kinds: tuple[type, ...] = ()
    """The classes of the instances."""
    rows: Sequence[Sequence[Any]] = ()
    """All objects in it that have an identity, if it is a large table and each of them
    stands in one place; else nothing."""


def _counts(texts: Iterable[Any]) -> Iterable[int]:
    return map(sys.getrefcount, texts)


_HELD = [str(_MOST_KEYS**2)]
_ALONE = frozenset(_counts([*_HELD]))
"""How often a text is held that only its container and a list hold."""


def dump_alike(
    value: Any, alike: Alike, units: Mapping[int, str]
) -> tuple[bytes, frozenset[str]]:
    """Return a pickle of data and plain instances, and the object ids in it.

    What is referred to in many places is written first, once each, and remembered: the
    pickler finds each where it stands in its table of what was written.

    Parameters
    ----------
    value
        A container.
    alike
        What is known of it.
    units
        id() → object id; no object in the value has one but itself and the classes.
    """
    cut = {units[id(kind)]: kind for kind in alike.kinds if id(kind) in units}
    is_cut = len(cut) == len(alike.kinds)
    keys = _common_keys(alike.rows) if alike.rows and is_cut else None
    known = (*cut.values(), *(keys or ()))
    stream = io.BytesIO()
    if known:
        stream.write(pickle.PROTO + bytes([PROTOCOL]))
    for object_id in cut:
        stream.write(_text(object_id) + pickle.BINPERSID + _REMEMBER)
    for key in keys or ():
        stream.write(_text(key) + _REMEMBER)
    pickler = pickle.Pickler(stream, PROTOCOL)
    pickler.memo = {id(one): (place, one) for place, one in enumerate(known)}
    pickler.fast = keys is not None
    pickler.dump(value)
    return stream.getvalue(), frozenset(cut)


def _text(text: str) -> bytes:
    encoded = _encoded(text)
    return pickle.SHORT_BINUNICODE + bytes([len(encoded)]) + encoded


def _encoded(key: str) -> bytes:
    return key.encode("utf-8", "surrogatepass")


def _common_keys(rows: Sequence[Sequence[Any]]) -> list[str] | None:
    """Return the keys that dicts and instances have in common, as a sample says.

    None if there are too many or too long ones, or if texts stand in many places.
    """
    keys: dict[int, str] = {}
    texts: list[Any] = []
    for row in filter(None, rows):
        for one in islice(row[:: len(row) // _SAMPLE or 1], _SAMPLE):
            items = _items(one)
            if items is None:
                return None
            if isinstance(items, dict):
                some = islice(items, _MOST_KEYS + 1)
                keys |= {id(key): key for key in some if type(key) is str}
                if len(keys) > _MOST_KEYS:
                    return None
                items = items.values()
            texts += (x for x in islice(items, _ITEMS) if type(x) in _TEXTS and x[1:])
    alone = sum(map(_ALONE.__contains__, _counts(texts)))
    if (len(texts) - alone) * _RARE > len(texts):
        return None
    if any(len(_encoded(key)) > _LONGEST_KEY for key in keys.values()):
        return None  # each row would hold it whole
    return [*keys.values()]


def _items(one: Any) -> Any:
    if type(one) in (list, tuple, dict):
        return one
    return vars(one) if type(one).__dictoffset__ else None
