"""The canonical walk: one digest for equal values, in whichever process they live.

The rule: the digest depends on types and contents, never on addresses, hash seeds, what
is shared or what reading has cached. What cannot be decided is said, never guessed. A
value becomes a graph of parts; parts in a circle are told apart by what they lead to
(partition refinement), all others are digested from the leaves up. Nothing recurses.
"""

import contextlib
import copyreg
import datetime as dt
import decimal
import enum
import fractions
import functools
import marshal
import pathlib
import re
import types
import uuid
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from nbresume.capture import arrays, definition_parts, denied
from nbresume.capture.atoms import ATOM_BYTES, Parts, Undecidable, tag_of, type_name
from nbresume.capture.circles import RAW_BYTES, Graph, Ref, join, short, solve
from nbresume.capture.own_dict import held_dict
from nbresume.model.digests import payload_digest

BIG_ITEMS = 1024
"""From here on the identity of an immutable container counts."""
DEEPEST = 20_000
"""Parts of parts of … : no pickle could follow much less."""
_NESTED = 40
"""So deep a container is walked at once; a deeper one waits for its turn."""
_MARSHAL = 2
"""This format writes neither references nor whether a text is interned."""
_LEAVES = frozenset({int, float, complex, bool, type(None), str, bytes, type(...)})
_TEXTS = frozenset({str, bytes})
_SORTABLE = ({int}, {str}, {bytes})
_BOXES = frozenset({list, tuple, dict, set, frozenset})
_IMMUTABLE = (
    *(range, slice, re.Pattern, uuid.UUID, pathlib.PurePath),
    *(dt.date, dt.time, dt.timedelta, dt.tzinfo),
    *(decimal.Decimal, fractions.Fraction, types.GenericAlias, int, float, str, bytes),
)
_ASIDE = {
    # counts on each time its object is looked at or pickled
    "matplotlib.cbook.CallbackRegistry": frozenset({"_cid_gen"}),
    # says, by addresses, who refers to its object
    "matplotlib.transforms.TransformNode": frozenset({"_parents"}),
}
"""Attributes of classes that are no part of their value."""
_CACHES = {
    "pandas": frozenset({"_cache", "_item_cache"}),
    "statsmodels": frozenset(
        {
            *("_cache", "_summary_cache", "_summary_statistics_cache", "_nobs_int"),
            *("diagn", "predict_start", "predict_end", "predict_dates"),
        }
    ),
}
"""Attributes that reading fills, in all classes of a library."""
_IMMUTABLE_HOMES = ("numpy.dtypes", "pandas._libs.tslibs", "pandas.core.dtypes.dtypes")


@dataclass
class Look:
    """What the walk found out about a value."""

    digest: str | None
    """Equal for equal values; None when the walk cannot decide."""
    why: str
    """Why it cannot decide; empty otherwise."""
    reach: dict[int, Any]
    """id → every object in it whose identity can be seen."""
    visits: list[int]
    """The id of what stands at each place, in the order of the walk."""
    aside: list[int]
    """The same of what is pickled with the value and is no part of it: caches."""

    @property
    def places(self) -> list[int]:
        """The id of what stands at each place of its pickle."""
        return [*self.visits, *self.aside]


def look(value: Any, namespace: Mapping[str, Any]) -> Look:
    """Return the digest of a value and what it reaches; never raises an error of it."""
    walk = _Walk(namespace)
    try:
        digest = payload_digest(walk.token(value))
        return Look(digest, "", walk.reach, walk.visits, walk.aside)
    except Undecidable as error:
        why = str(error)
    except RecursionError:
        why = "nested too deep"
    except Exception as error:  # noqa: BLE001 - a value's own code may raise anything
        why = f"{type(error).__name__} while it was looked at"
    return Look(None, why, walk.reach, walk.visits, walk.aside)


def reach_outside(
    value: Any, namespace: Mapping[str, Any], stop: frozenset[int]
) -> dict[int, Any]:
    """Return what a value reaches without passing through some other objects.

    Parameters
    ----------
    value
        Any value.
    namespace
        The namespace of the notebook.
    stop
        The ids of objects that are not entered; the value itself is.
    """
    walk = _Walk(namespace, stop - {id(value)})
    # what cannot be decided further on was reached all the same
    with contextlib.suppress(Exception):
        walk.token(value)
    return {i: seen for i, seen in walk.reach.items() if i not in walk.stop}


def is_swapped(before: Look, now: Look, others: Iterable[Mapping[int, Any]]) -> bool:
    """Say whether an equal object stands where another one was.

    Only objects that the reaches of other names hold matter: nobody else can tell,
    and a walk meets parts that are made for it alone.
    """
    ids = before.reach.keys() | now.reach.keys()
    shared = {i for reach in others for i in reach.keys() & ids}
    one, other = shared & before.reach.keys(), shared & now.reach.keys()
    return [i for i in before.visits if i in one] != [
        i for i in now.visits if i in other
    ]


class _Walk:
    """The graph of one value, and on the way the objects that it reaches."""

    def __init__(
        self, namespace: Mapping[str, Any], stop: frozenset[int] = frozenset()
    ) -> None:
        self.stop = stop
        self.reach: dict[int, Any] = {}
        self.visits: list[int] = []
        self.aside: list[int] = []
        self._asides: list[Any] = []
        self._namespace = namespace
        self._singletons = definition_parts.singletons()
        self._refs: dict[int, Ref] = {}
        # Parts are often made for the walk only. While they live, no other object
        # gets their id.
        self._kept: list[Any] = []
        self._caches: dict[type, frozenset[str]] = {}
        self._todo: list[tuple[Any, int, int]] = []
        self._graph = Graph()

    def token(self, value: Any) -> bytes:
        """Return the token of a value: its identity as a value."""
        root = self._ref(value, 0, 0)
        self._walk()
        token = root if isinstance(root, bytes) else solve(self._graph, root)
        visits, self.visits = self.visits, self.aside
        # whatever a cache holds, it says nothing about the value
        with contextlib.suppress(Undecidable):
            while self._asides:
                self._ref(self._asides.pop(), 0, 0)
                self._walk()
        self.visits = visits
        return token

    def _walk(self) -> None:
        while self._todo:
            todo, at, depth = self._todo.pop()
            if depth > DEEPEST:
                message = "nested too deep"
                raise Undecidable(message)
            parts = self._parts(todo)
            self.reach.update((id(seen), seen) for seen in parts.seen)
            self.visits += map(id, parts.seen)  # owners of memory are no kids
            self._kept.append(parts)
            kids = [self._ref(kid, depth + 1, 0) for kid in parts.kids]
            self._asides += parts.aside
            self._graph.fill(at, parts.tag, kids, ordered=parts.ordered)

    def _ref(self, value: Any, depth: int, nested: int) -> Ref:
        kind = type(value)
        if kind in _LEAVES:
            return self._leaf(value, kind)
        self.visits.append(id(value))
        known = self._refs.get(id(value))
        if known is not None:
            return known
        if id(value) in self.stop:
            return b"outside"
        self._kept.append(value)
        ref: Ref | None = self._box(value, kind) if kind in _BOXES else None
        if ref is None:
            ref = self._refs[id(value)] = self._graph.add()
            if kind in _BOXES and nested < _NESTED:
                ref = self._nest(value, kind, ref, depth, nested + 1)
            else:
                self._todo.append((value, ref, depth))
        self._refs[id(value)] = ref
        return ref

    def _nest(self, value: Any, kind: type, at: int, depth: int, nested: int) -> Ref:
        """Walk a container at once; without a circle below it, it needs no node."""
        ordered = kind is not set and kind is not frozenset
        kids = [self._ref(kid, depth + 1, nested) for kid in _box_kids(value, kind)]
        tokens = [kid for kid in kids if isinstance(kid, bytes)]
        if len(tokens) < len(kids):
            self._graph.fill(at, _box_tag(value, kind), kids, ordered=ordered)
            return at
        return join(_box_tag(value, kind), tokens if ordered else sorted(tokens))

    def _leaf(self, value: Any, kind: type) -> bytes:
        token = marshal.dumps(value, _MARSHAL)
        if len(token) <= RAW_BYTES:
            return token
        if kind in _TEXTS and len(value) > ATOM_BYTES:
            self.reach[id(value)] = value
        return short(token)

    def _box(self, value: Any, kind: type) -> bytes | None:
        """Return the token of a container of leaves at C speed; None for any other."""
        if value is self._namespace:
            return b"namespace"
        if (kind is not tuple and kind is not frozenset) or len(value) > BIG_ITEMS:
            self.reach[id(value)] = value
        kinds = set(map(type, value))
        if kind is dict:
            kinds.update(map(type, value.values()))
        if not kinds <= _LEAVES:
            return None
        token = _box_token(value, kind, kinds)
        if len(token) > ATOM_BYTES and kinds & _TEXTS:
            self._reach_texts(value)
            if kind is dict:
                self._reach_texts(value.values())
        return short(token)

    def _reach_texts(self, items: Iterable[Any]) -> None:
        for item in items:
            if type(item) in _TEXTS and len(item) > ATOM_BYTES:
                self.reach[id(item)] = item

    def _parts(self, value: Any) -> Parts:
        kind = type(value)
        if kind in _BOXES:
            return _box_parts(value, kind)
        if value is NotImplemented:
            return Parts(b"NotImplemented")
        named = self._singletons.get(id(value))
        if named is not None:
            return Parts(tag_of("singleton", named[1]))
        found = definition_parts.parts(value, self._namespace) or arrays.parts(value)
        return found or self._instance(value, kind)

    def _instance(self, value: Any, kind: type) -> Parts:
        because = denied.reason(value)
        if because is not None:
            message = f"a value of type {type_name(value)} cannot be compared"
            raise Undecidable(message)
        seen = [] if _is_immutable(value, kind) else [value]
        if isinstance(value, set | frozenset):
            # The items in its reduce value come in the order of their hashes.
            kids, counts, _ = _state_kids(dict(getattr(value, "__dict__", {})), set())
            tag = tag_of("set of", *counts)
            return Parts(tag, [kind, frozenset(value), *kids], seen=seen)
        attributes = held_dict(value)
        if attributes is not None:
            self.reach[id(attributes)] = attributes
            self.aside.append(id(attributes))
        reduced = self._reduce(value)
        if isinstance(reduced, str):
            return _named_parts(value, reduced)
        self._kept.append(reduced)
        make, arguments, state, items, pairs, setter = _six(reduced)
        kids, counts, aside = _state_kids(state, self._cached(kind))
        rows = [] if items is None else list(items)
        cells = [] if pairs is None else [part for pair in pairs for part in pair]
        tag = tag_of("object", len(arguments), *counts, len(rows), len(cells))
        return Parts(
            tag,
            [kind, make, setter, *arguments, *kids, *rows, *cells],
            seen=seen,
            aside=aside,
        )

    def _reduce(self, value: Any) -> Any:
        reducer: Any = copyreg.dispatch_table.get(type(value))
        try:
            return value.__reduce_ex__(4) if reducer is None else reducer(value)
        except RecursionError:
            raise
        except Exception as error:
            message = f"a value of type {type_name(value)} cannot be compared"
            raise Undecidable(message) from error

    def _cached(self, kind: type) -> frozenset[str]:
        """Return the names of attributes that are no part of a value."""
        known = self._caches.get(kind)
        if known is None:
            names = {
                name
                for base in kind.__mro__
                for name, found in vars(base).items()
                if isinstance(found, functools.cached_property)
            }
            for base in kind.__mro__:
                names |= _ASIDE.get(f"{base.__module__}.{base.__qualname__}", set())
            names |= _CACHES.get(kind.__module__.partition(".")[0], set())
            known = self._caches[kind] = frozenset(names)
        return known


def _box_token(value: Any, kind: type, kinds: set[type]) -> bytes:
    if kind is not set and kind is not frozenset:
        return marshal.dumps(value, _MARSHAL)
    if kinds in _SORTABLE:
        items = marshal.dumps(sorted(value), _MARSHAL)
    else:
        tokens = sorted(marshal.dumps(item, _MARSHAL) for item in value)
        items = marshal.dumps(tokens, _MARSHAL)
    return kind.__name__.encode() + items


def _box_parts(value: Any, kind: type) -> Parts:
    ordered = kind is not set and kind is not frozenset
    return Parts(_box_tag(value, kind), _box_kids(value, kind), ordered=ordered)


def _box_tag(value: Any, kind: type) -> bytes:
    return b"%b %d" % (kind.__name__.encode(), len(value))


def _box_kids(value: Any, kind: type) -> list[Any]:
    if kind is dict:
        return [part for pair in value.items() for part in pair]
    return list(value)


def _named_parts(value: Any, name: str) -> Parts:
    """Return the parts of what pickles as a global name."""
    inner = getattr(value, "__wrapped__", None)
    if inner is not None and inner is not value:
        return Parts(tag_of("wrapper", type_name(value)), [inner], seen=[value])
    module = getattr(value, "__module__", None)
    if module == "__main__":
        message = f"a {type_name(value)} made in the notebook cannot be compared"
        raise Undecidable(message)
    return Parts(tag_of("global", module, name))


def _six(reduced: Any) -> tuple[Any, ...]:
    make, arguments, *rest = reduced
    return make, tuple(arguments), *rest, *([None] * (4 - len(rest)))


def _state_kids(
    state: Any, caches: AbstractSet[str]
) -> tuple[list[Any], list[int], list[Any]]:
    """Return the parts of an instance's state, their counts, and what it caches."""
    # The dicts are made for this occasion: nobody can see their identity.
    if state is None:
        states: list[dict[Any, Any]] = [{}]
    elif type(state) is dict:
        states = [state]
    elif (
        type(state) is tuple
        and len(state) == 2  # noqa: PLR2004 - dict and slots
        and all(not part or type(part) is dict for part in state)
    ):
        states = [part or {} for part in state]
    else:
        return [state], [-1], []
    kids, counts, aside = [], [], []
    for part in states:
        kept = [(key, item) for key, item in part.items() if key not in caches]
        kids += [piece for pair in kept for piece in pair]
        counts.append(len(kept))
        aside += [item for key, item in part.items() if key in caches]
    return kids, counts, aside


def _is_immutable(value: Any, kind: type) -> bool:
    """Tell whether an identity says nothing, as of a date or a number."""
    if kind.__module__.startswith(_IMMUTABLE_HOMES) or isinstance(value, enum.Enum):
        return True
    return isinstance(value, _IMMUTABLE) and not getattr(value, "__dict__", None)
