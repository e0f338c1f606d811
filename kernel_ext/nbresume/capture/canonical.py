"""The canonical walk: one digest for equal values, in whichever process they live.

The rule: the digest depends on types and contents, never on addresses, hash seeds, what
is shared or what reading has cached. What cannot be decided is said, never guessed. A
value becomes a graph of parts; parts in a circle are told apart by what they lead to
(partition refinement), all others are digested from the leaves up. Nothing recurses.
"""

import contextlib
import marshal
from collections.abc import Container, Mapping
from typing import Any

from nbresume.capture import arrays, definition_parts, denied, lazies
from nbresume.capture.atoms import (
    ATOM_BYTES,
    Parts,
    Undecidable,
    reducer_of,
    tag_of,
    type_name,
)
from nbresume.capture.boxes import BOXES, box_kids, box_parts, box_tag, leaves_of
from nbresume.capture.circles import Graph, Ref, join, merged, short, solve
from nbresume.capture.instances import (
    Plain,
    cached_names,
    is_immutable,
    named_parts,
    plain,
    scalar_token,
    six,
    state_kids,
)
from nbresume.capture.looks import Look, Seen, Visits
from nbresume.capture.own_dict import held_dict
from nbresume.capture.singletons import singleton_types, singletons
from nbresume.capture.tables import (
    BIG_ITEMS,
    LEAVES,
    MANY,
    MARSHAL,
    TEXTS,
    Blocked,
    table,
)
from nbresume.model.digests import payload_digest

DEEPEST = 20_000
"""Parts of parts of … : no pickle could follow much less."""
_NESTED = 40
"""So deep a container is walked at once; a deeper one waits for its turn."""


def look(
    value: Any,
    namespace: Mapping[str, Any],
    *,
    named: Container[int] = frozenset(),
    many: int = MANY,
    contents: Mapping[int, str] | None = None,
) -> Look:
    """Return the digest of a value and what it reaches; never raises an error of it.

    Parameters
    ----------
    value
        Any value.
    namespace
        The namespace of the notebook.
    named
        The ids of objects that have a name: what the value reaches through them is
        told apart.
    many
        So many items of a container are taken at once where that is possible. Digests
        are comparable only if they were taken with the same number.
    contents
        id() → content, of dask collections that are seen as what is stored of them.
    """
    walk = _Walk(namespace, named=named, many=many, contents=contents)
    try:
        return walk.found(payload_digest(walk.token(value)))
    except Undecidable as error:
        why = str(error)
    except RecursionError:
        why = "nested too deep"
    except Exception as error:  # noqa: BLE001 - a value's own code may raise anything
        why = f"{type(error).__name__} while it was looked at"
    return walk.found(None, why)


def reach_outside(
    value: Any, namespace: Mapping[str, Any], stop: frozenset[int]
) -> Seen:
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
    return walk.own


class _Walk:
    """The graph of one value, and on the way the objects that it reaches."""

    def __init__(
        self,
        namespace: Mapping[str, Any],
        stop: frozenset[int] = frozenset(),
        *,
        named: Container[int] = frozenset(),
        many: int = MANY,
        contents: Mapping[int, str] | None = None,
    ) -> None:
        self._stop, self._many, self._contents = stop, many, contents or {}
        self.own, self._inner = Seen(), Seen()
        self._namespace, self._named = namespace, named
        self._root = 0
        self._passed: set[int] = set()
        self._is_mixed, self._is_data = False, True
        self._kinds: tuple[type, ...] | None = None
        # What is taken apart now was reached through an object that has a name.
        self._is_inside = False
        self._inside_only: set[int] = set()
        self._visits, self._aside = Visits(), Visits()
        self._asides: list[tuple[Any, bool]] = []
        self._singletons = singletons()
        self._refs: dict[int, Ref] = {}
        # Parts are often made for the walk only. While they live, no other object
        # gets their id.
        self._kept: list[Any] = []
        self._caches: dict[type, frozenset[str]] = {}
        self._plain: dict[type, Plain | None] = {}
        self._blocked = Blocked(namespace, singleton_types())
        self._todo: list[tuple[Any, int, int, bool]] = []
        self._graph = Graph()

    def found(self, digest: str | None, why: str = "") -> Look:
        """Return what the walk found."""
        return Look(
            digest,
            why,
            self.own,
            self._inner,
            self._visits,
            self._aside,
            frozenset(self._passed),
            self._is_mixed,
            self._is_data and digest is not None,
            None if digest is None else self._kinds,
        )

    def token(self, value: Any) -> bytes:
        """Return the token of a value: its identity as a value."""
        self._root = id(value)
        root = self._ref(value, 0, 0)
        self._walk()
        token = root if isinstance(root, bytes) else solve(self._graph, root)
        visits, self._visits = self._visits, self._aside
        # whatever a cache holds, it says nothing about the value
        with contextlib.suppress(Undecidable):
            while self._asides:
                aside, self._is_inside = self._asides.pop()
                self._ref(aside, 0, 0)
                self._walk()
        self._visits = visits
        return token

    def _walk(self) -> None:
        while self._todo:
            todo, at, depth, self._is_inside = self._todo.pop()
            if depth > DEEPEST:
                message = "nested too deep"
                raise Undecidable(message)
            parts = self._parts(todo)
            for seen in parts.seen:  # owners of memory are no kids
                self._seen().add(seen)
                self._visits.add(seen)
            self._kept.append(parts)
            kids = [self._ref(kid, depth + 1, 0) for kid in parts.kids]
            self._asides += [(one, self._is_inside) for one in parts.aside]
            self._graph.fill(at, parts.tag, kids, ordered=parts.ordered)

    def _seen(self) -> Seen:
        return self._inner if self._is_inside else self.own

    def _ref(self, value: Any, depth: int, nested: int) -> Ref:
        kind = type(value)
        if kind in LEAVES:
            return self._leaf(value, kind)
        self._visits.add(value)
        i = id(value)
        known = self._refs.get(i)
        if known is not None:
            if not self._is_inside and i in self._inside_only:
                self._is_mixed = True
            return known
        if i in self._stop:
            return b"outside"
        self._kept.append(value)
        was_inside = self._is_inside
        if i in self._named and i != self._root:
            self._passed.add(i)
            self._is_inside = True
        if self._is_inside:
            self._inside_only.add(i)
        ref = self._refs[i] = self._new_ref(value, kind, depth, nested)
        self._is_inside = was_inside
        return ref

    def _new_ref(self, value: Any, kind: type, depth: int, nested: int) -> Ref:
        ref: Ref | None
        if kind in BOXES:
            ref = self._box(value, kind)
        else:
            self._is_data = False
            ref = short(scalar_token(value, kind)) or None
        if ref is not None:
            return ref
        ref = self._refs[id(value)] = self._graph.add()
        found = self._table(value, kind, ref, depth)
        if found is not None:
            return found
        if kind in BOXES and nested < _NESTED:
            return self._nest(value, kind, ref, depth, nested + 1)
        self._todo.append((value, ref, depth, self._is_inside))
        return ref

    def _table(self, value: Any, kind: type, at: int, depth: int) -> Ref | None:
        """Walk a large container at once; None if it has to be taken apart."""
        if kind not in (list, tuple, dict) or len(value) < self._many:
            return None
        found = table(value, self._plain_of, self._blocked, self._stop)
        if found is None:
            return None
        self._seen().add_all(found.seen)
        for row in found.visits:
            self._visits.add_row(row)
        self._aside.add_row(found.aside)
        if id(value) == self._root and not found.others and not found.aside:
            self._kinds = tuple(dict.fromkeys(found.kinds))
        tag = join(b"table", map(short, found.pieces))
        kids = [self._ref(kid, depth + 1, 0) for kid in (*found.kinds, *found.others)]
        tokens = [kid for kid in kids if isinstance(kid, bytes)]
        if len(tokens) < len(kids):
            self._graph.fill(at, tag, kids, runs=found.counts)
            return at
        return join(tag, [*merged(tokens, found.counts), *tokens[len(found.counts) :]])

    def _nest(self, value: Any, kind: type, at: int, depth: int, nested: int) -> Ref:
        """Walk a container at once; without a circle below it, it needs no node."""
        ordered = kind is not set and kind is not frozenset
        kids = [self._ref(kid, depth + 1, nested) for kid in box_kids(value, kind)]
        tokens = [kid for kid in kids if isinstance(kid, bytes)]
        if len(tokens) < len(kids):
            self._graph.fill(at, box_tag(value, kind), kids, ordered=ordered)
            return at
        return join(box_tag(value, kind), tokens if ordered else sorted(tokens))

    def _leaf(self, value: Any, kind: type) -> bytes:
        if kind not in TEXTS or len(value) <= ATOM_BYTES:
            return short(marshal.dumps(value, MARSHAL))
        # a long text may stand in many places
        known = self._refs.get(id(value))
        if not isinstance(known, bytes):
            self._seen().add(value)
            known = self._refs[id(value)] = short(marshal.dumps(value, MARSHAL))
        return known

    def _box(self, value: Any, kind: type) -> bytes | None:
        """Return the token of a container of leaves at C speed; None for any other."""
        if value is self._namespace:
            return b"namespace"
        if (kind is not tuple and kind is not frozenset) or len(value) > BIG_ITEMS:
            self._seen().add(value)
        found = leaves_of(value, kind)
        if found is None:
            return None
        token, texts = found
        for text in texts:
            self._seen().add(text)
        return short(token)

    def _parts(self, value: Any) -> Parts:
        kind = type(value)
        if kind in BOXES:
            return box_parts(value, kind)
        if value is NotImplemented:
            return Parts(b"NotImplemented")
        named = self._singletons.get(id(value))
        if named is not None:
            return Parts(tag_of("singleton", named[1]))
        how = self._plain_of(value, kind)
        if how is not None and (not how.has_dict or type(vars(value)) is dict):
            self._see_held(value)
            return self._plain_parts(value, kind, how)
        found = definition_parts.parts(value, self._namespace) or arrays.parts(value)
        return found or self._recipe_parts(value) or self._instance(value, kind)

    def _recipe_parts(self, value: Any) -> Parts | None:
        """Return the parts of a dask collection: what its graph holds is nobody's."""
        found, recipe = lazies.parts(value, self._contents), lazies.recipe(value)
        if found is not None or recipe is None:
            return found
        walk = _Walk(
            self._namespace,
            self._stop,
            named=self._named,
            many=self._many,
            contents=self._contents,
        )
        tag = tag_of("dask recipe", payload_digest(walk.token(recipe)))
        inside = [o for o in walk.found(None).singles if lazies.is_open(o, self._named)]
        return Parts(tag, seen=[value, *inside])

    def _instance(self, value: Any, kind: type) -> Parts:
        because = denied.reason(value)
        if because is not None:
            message = f"a value of type {type_name(value)} cannot be compared"
            raise Undecidable(message)
        seen = [] if is_immutable(value, kind) else [value]
        if isinstance(value, set | frozenset):
            # The items in its reduce value come in the order of their hashes.
            kids, counts, _ = state_kids(dict(getattr(value, "__dict__", {})), set())
            tag = tag_of("set of", *counts)
            return Parts(tag, [kind, frozenset(value), *kids], seen=seen)
        self._see_held(value)
        reduced = self._reduce(value)
        if isinstance(reduced, str):
            return named_parts(value, reduced)
        self._kept.append(reduced)
        make, arguments, state, items, pairs, setter = six(reduced)
        kids, counts, aside = state_kids(state, self._cached(kind))
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
        reducer = reducer_of(type(value))
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
            known = self._caches[kind] = cached_names(kind)
        return known

    def _plain_of(self, value: Any, kind: type) -> Plain | None:
        """Return how all instances of a class are read; None if not as plain ones."""
        if kind not in self._plain:
            self._plain[kind] = plain(value, kind)
        return self._plain[kind]

    def _plain_parts(self, value: Any, kind: type, how: Plain) -> Parts:
        if how.has_dict:
            attributes = vars(value)
        else:
            found = {name: getattr(value, name, self) for name in how.names}
            attributes = {k: item for k, item in found.items() if item is not self}
        kids = [piece for pair in attributes.items() for piece in pair]
        return Parts(tag_of("plain", len(kids)), [kind, *kids], seen=[value])

    def _see_held(self, value: Any) -> None:
        attributes = held_dict(value)
        if attributes is not None:
            self._seen().add(attributes)
            self._aside.add(attributes)
