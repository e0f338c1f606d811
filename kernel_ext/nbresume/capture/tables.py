"""Large containers of alike items, level by level at C speed: for the canonical walk.

The rule: only types and contents decide whether a container is taken like this, never
addresses or sharing: it has many items, few levels below, and not much more in them
than items. The leaves of a level are written at once; classes, and what is no leaf, no
list, tuple or dict and no plain instance, stay parts of their own.
"""

import io
import marshal
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain, compress, groupby
from operator import attrgetter
from typing import Any

from msgspec import Struct, field

from nbresume.capture.atoms import ATOM_BYTES
from nbresume.capture.instances import Plain
from nbresume.capture.own_dict import held_dict

LEAVES: frozenset[type] = frozenset(
    {int, float, complex, bool, type(None), str, bytes, type(...)}
)
TEXTS = frozenset({str, bytes})
MARSHAL = 2
"""This format writes neither references nor whether a text is interned."""
BIG_ITEMS = 1024
"""From here on the identity of an immutable container counts."""
MANY = 32
"""So many items make it worth while."""
_PER_ITEM = 64
"""So many values below an item, on average, are still taken with it."""
_LEVELS = 8
_CHUNK = 256
"""So many leaves are written at once: only then can a long text be among them."""
_PERIOD = 64
"""Records have at most so many attributes, or are taken one by one."""
_LEAF, _OTHER, _LIST, _TUPLE, _DICT, _OBJECT, _SLOTTED = range(7)
_WAYS: dict[type, int] = {
    list: _LIST,
    tuple: _TUPLE,
    dict: _DICT,
    **dict.fromkeys(LEAVES, _LEAF),
}
_ONLY = [bytes(code == way for code in range(256)) for way in range(7)]


class _Probe:
    """An object whose attributes nobody else holds."""


def _counts(attributes: Sequence[dict[str, Any]]) -> Iterable[int]:
    return map(sys.getrefcount, attributes)


_PROBES = [_Probe()]
_ALONE = frozenset(_counts([*map(vars, _PROBES)]))
"""How often attributes are held that only their object and a list hold."""


class _NoTableError(Exception):
    """A container goes too deep, holds too much, or something that is blocked."""


class _Exact(pickle.Pickler):
    """Writes exact built-in values, each as if nothing were shared."""

    def reducer_override(self, _: Any) -> Any:
        raise _NoTableError


class Blocked(Struct, frozen=True):
    """What is never taken with others."""

    namespace: Mapping[str, Any]
    kinds: AbstractSet[type]
    """The types of objects that exist once in a process."""

    def is_among(self, dicts: Iterable[Any], lengths: list[int]) -> bool:
        """Say whether the namespace is one of these dicts, by all their lengths."""
        if len(self.namespace) not in lengths:
            return False
        return any(one is self.namespace for one in dicts)


class Table(Struct):
    """What a large container consists of."""

    pieces: list[bytes]
    """The kinds of the items of each level, their lengths, the leaves."""
    kinds: list[type] = field(default_factory=list)
    """The classes of the instances, one for each run of instances."""
    counts: list[int] = field(default_factory=list)
    """How many instances each run has."""
    others: list[Any] = field(default_factory=list)
    """What has to be walked by itself, in order."""
    seen: list[Sequence[Any]] = field(default_factory=list)
    """Objects whose identity can be seen."""
    visits: list[Sequence[Any]] = field(default_factory=list)
    """All that is no leaf and no other, in the order of the levels."""
    aside: list[Any] = field(default_factory=list)
    """Attributes that something else holds too."""


class _Boxes(Struct):
    """What a level holds that has items of its own, in order, kind by kind."""

    lists: Sequence[list[Any]] = ()
    tuples: Sequence[tuple[Any, ...]] = ()
    dicts: Sequence[dict[Any, Any]] = ()
    attributes: Sequence[dict[Any, Any]] = ()
    """Those of instances."""

    def lengths(self) -> list[int]:
        boxes = chain(self.lists, self.tuples, self.dicts, self.attributes)
        return [*map(len, boxes)]


class _Part(Struct):
    """What stands in containers of one kind, in order."""

    items: list[Any]
    kinds: set[type]

    def codes(self, ways: Mapping[type, int]) -> bytes:
        """Return one byte for each item: how it is taken."""
        found = {ways[kind] for kind in self.kinds}
        if len(found) == 1:
            return bytes(found) * len(self.items)
        return bytes(map(ways.__getitem__, map(type, self.items)))


def table(
    value: Any,
    plain_of: Callable[[Any, type], Plain | None],
    blocked: Blocked,
    skipped: AbstractSet[int] = frozenset(),
) -> Table | None:
    """Return a large list, tuple or dict level by level; None if it is no such thing.

    Parameters
    ----------
    value
        The container; its own identity is told by the caller.
    plain_of
        An instance and its class → how all instances of the class hold attributes.
    blocked
        Objects for which there is no table.
    skipped
        The ids of objects that are left out.
    """
    walk = _Levels(value, plain_of, blocked, skipped)
    boxes = _Boxes(**{f"{type(value).__name__}s": [value]})
    try:
        for _ in range(_LEVELS):
            below = walk.take(walk.items(boxes))
            if below is None:
                return walk.made
            boxes = below
    except _NoTableError:
        pass
    return None


class _Levels:
    """Takes a container apart, one level after the other."""

    def __init__(
        self,
        value: Any,
        plain_of: Callable[[Any, type], Plain | None],
        blocked: Blocked,
        skipped: AbstractSet[int],
    ) -> None:
        self.made = Table([type(value).__name__.encode()])
        self._plain_of = plain_of
        self._blocked = blocked
        self._skipped = skipped
        self._room = _PER_ITEM * len(value)

    def items(self, boxes: _Boxes) -> list[list[Any]]:
        """Return the items of all these containers: the next level, kind by kind."""
        lengths = boxes.lengths()
        self._room -= sum(lengths)
        if self._room < 0 or self._blocked.is_among(boxes.dicts, lengths):
            raise _NoTableError
        flat = chain.from_iterable
        dicts = [*chain(boxes.dicts, boxes.attributes)]
        if not boxes.lists and not boxes.tuples:
            held = flat(map(dict.values, dicts))
            rows = _rows(dicts) if LEAVES.issuperset(map(type, held)) else None
            if rows is not None:
                self.made.pieces.append(rows)
                return []
        self.made.pieces.append(marshal.dumps(lengths, MARSHAL))
        keys = [*flat(dicts)]
        written = _leaves(keys) if LEAVES.issuperset(map(type, keys)) else None
        if written is not None:
            self.made.pieces.append(written)
            keys = []
        values = [[*flat(map(dict.values, d))] for d in (boxes.dicts, boxes.attributes)]
        return [[*flat(boxes.lists)], [*flat(boxes.tuples)], keys, *values]

    def take(self, level: list[list[Any]]) -> _Boxes | None:
        """Note what stands in a level; return what of it has items of its own."""
        if self._skipped:
            level = [[x for x in part if id(x) not in self._skipped] for part in level]
        # what stands side by side is alike: its codes repeat
        parts = [_Part(part, set(map(type, part))) for part in level if part]
        kinds = set[type]().union(*(part.kinds for part in parts))
        if kinds <= LEAVES:
            written = _leaves([*chain.from_iterable(part.items for part in parts)])
            if written is not None:
                self.made.pieces.append(written)
                return None
        if not kinds.isdisjoint(self._blocked.kinds):
            raise _NoTableError
        hows = {kind: self._how(kind, parts) for kind in kinds - _WAYS.keys()}
        ways = _WAYS | {kind: _way(how) for kind, how in hows.items()}
        codes = [part.codes(ways) for part in parts]
        groups = _groups(parts, codes)
        leaves = _leaves(groups[_LEAF])
        if leaves is None:
            codes = [_with_long(*of) for of in zip(parts, codes, strict=True)]
            groups = _groups(parts, codes)
            leaves = _leaves(groups[_LEAF])
        self.made.pieces += (b"".join(codes), leaves or b"")
        self._see(groups)
        self.made.others += groups[_OTHER]
        self._runs(groups[_OBJECT])
        self._runs(groups[_SLOTTED])
        tuples = [*groups[_TUPLE], *_slots(groups[_SLOTTED], hows)]
        attributes = self._attributes(groups[_OBJECT])
        if not groups[_LIST] and not tuples and not groups[_DICT] and not attributes:
            return None
        return _Boxes(groups[_LIST], tuples, groups[_DICT], attributes)

    def _how(self, kind: type, parts: list[_Part]) -> Plain | None:
        items = next(part.items for part in parts if kind in part.kinds)
        return self._plain_of(next(x for x in items if type(x) is kind), kind)

    def _see(self, groups: list[list[Any]]) -> None:
        """Note the identities in a level; others are seen when they are walked."""
        self.made.visits += groups[_LIST:]
        self.made.seen += [groups[at] for at in (_LIST, _DICT, _OBJECT, _SLOTTED)]
        self.made.seen.append([x for x in groups[_TUPLE] if len(x) > BIG_ITEMS])

    def _runs(self, group: list[Any]) -> None:
        for kind, run in groupby(map(type, group)):
            self.made.kinds.append(kind)
            self.made.counts.append(len([*run]))

    def _attributes(self, group: list[Any]) -> list[dict[str, Any]]:
        found: list[Any] = [*map(vars, group)]
        if not {dict}.issuperset(map(type, found)):
            raise _NoTableError
        if not _ALONE.issuperset(_counts(found)):
            del found
            # an instance that stands twice would be counted twice
            once = [*dict(zip(map(id, group), group, strict=True)).values()]
            held = [own for own in map(held_dict, once) if own is not None]
            self.made.seen.append(held)
            self.made.aside += held
            found = [*map(vars, group)]
        return found


def _slots(
    group: list[Any], hows: dict[type, Plain | None]
) -> Iterator[tuple[Any, ...]]:
    """Yield the values in the slots of instances, in the order of the slots."""
    for kind, run in groupby(group, type):
        how = hows[kind]
        names = how.names if how else ()
        try:
            if len(names) == 1:
                yield from zip(map(attrgetter(*names), run), strict=True)
            elif names:
                yield from map(attrgetter(*names), run)
            else:
                yield from (() for _ in run)
        except AttributeError:  # a slot is empty
            raise _NoTableError from None


def _leaves(leaves: list[Any]) -> bytes | None:
    """Return leaves as bytes; None if a text in them is an object of its own."""
    pieces = [b"leaves"]
    for at in range(0, len(leaves), _CHUNK):
        piece = marshal.dumps(leaves[at : at + _CHUNK], MARSHAL)
        if len(piece) > ATOM_BYTES and any(map(_is_big, leaves[at : at + _CHUNK])):
            return None
        pieces.append(piece)
    return b"".join(pieces)


def _rows(dicts: Sequence[dict[Any, Any]]) -> bytes | None:
    """Return dicts of leaves as bytes; None if something in them is special."""
    out = io.BytesIO()
    pickler = _Exact(out, 3)
    pickler.fast = True
    written = out.write(b"rows")
    for at in range(0, len(dicts), _CHUNK // 8):
        some = dicts[at : at + _CHUNK // 8]
        try:
            pickler.dump(some)
        except _NoTableError:  # a key that is no leaf
            return None
        size = out.tell() - written
        if size > ATOM_BYTES and any(
            _is_big(leaf) for one in some for pair in one.items() for leaf in pair
        ):
            return None
        written += size
    return out.getvalue()


def _is_big(leaf: Any) -> bool:
    return type(leaf) in TEXTS and len(leaf) > ATOM_BYTES


def _with_long(part: _Part, codes: bytes) -> bytes:
    """Return the codes of a part in which long texts are walked by themselves."""
    pairs = zip(part.items, codes, strict=True)
    return bytes(_OTHER if _is_big(item) else code for item, code in pairs)


def _groups(parts: list[_Part], codes: list[bytes]) -> list[list[Any]]:
    """Return the items of all parts, one list for each way."""
    found: list[list[Any]] = [[] for _ in _ONLY]
    for part, kinds in zip(parts, codes, strict=True):
        period = _period(kinds)
        for way in filter(kinds.__contains__, range(len(_ONLY))):
            found[way] += _pick(part.items, kinds, way, period)
    return found


def _way(how: Plain | None) -> int:
    if how is None:
        return _OTHER
    return _OBJECT if how.has_dict else _SLOTTED


def _period(codes: bytes) -> int:
    """Return after how many items the codes repeat, as in records; 0 if not."""
    period = codes.find(codes[:_PERIOD], 1, 2 * _PERIOD)
    if period < 0 or codes[period:] != codes[:-period]:
        return 0
    return period


def _pick(items: list[Any], codes: bytes, way: int, period: int) -> list[Any]:
    places = codes[:period].count(way)
    if codes.count(way) == len(items):
        return items
    if places == 1:
        return items[codes.index(way) :: period]
    return [*compress(items, codes.translate(_ONLY[way]))]
