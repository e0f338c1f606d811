"""What names share: unnamed objects that must be pickled once and stay one object.

The rule: what is reached only through another named object is not shared; names that
share very many unnamed objects (a figure and its axes) become one unit instead
(3,068 units of one figure took 26 s, one unit 3.5 s).
"""

import gc
import sys
import types
from collections.abc import Mapping
from typing import Any

from nbresume.capture.canonical import reach_outside
from nbresume.capture.looks import Look, Seen

TIGHT = 20
"""Names that share more unnamed objects than this are one unit."""


def own_reach(
    value: Any, seen: Look, named: Mapping[int, Any], namespace: Mapping[str, Any]
) -> Seen:
    """Return what a value reaches without passing through another named object.

    Parameters
    ----------
    value
        A value of the namespace.
    seen
        The newest look at it.
    named
        id() → object, of everything that has a name.
    namespace
        The namespace of the notebook.
    """
    inner = seen.inside(named.keys()) - {id(value)}
    if inner == seen.named and not seen.is_mixed:
        return seen.own
    # Names came or went since, stand in a row, or part of what they hold is held
    # directly as well: only a walk that stops at them tells.
    return reach_outside(value, namespace, frozenset(named))


def shared_objects(
    values: Mapping[str, Any], reaches: Mapping[str, Seen], named: Mapping[int, Any]
) -> dict[int, tuple[Any, set[str]]]:
    """Return the unnamed objects that names with different values share.

    Parameters
    ----------
    values
        Name → its value.
    reaches
        Name → what the value reaches without passing through a named object.
    named
        id() → object, of everything that has a name.
    """
    once = {id(values[name]): reaches[name].reach() for name in reaches}
    # no object of a large value is touched that nothing else reaches
    met: set[int] = set()
    shared: set[int] = set()
    *smaller, largest = sorted(once.values(), key=len) or [{}]
    for reach in smaller:
        shared |= met & reach.keys()
        met |= reach.keys()
    shared |= met & largest.keys()
    shared = {i for i in shared if i not in named}
    found: dict[int, tuple[Any, set[str]]] = {}
    for name, seen in reaches.items():
        reach = seen.reach()
        for i in shared & reach.keys():
            found.setdefault(i, (reach[i], set()))[1].add(name)
    return {
        i: (value, names)
        for i, (value, names) in found.items()
        if not isinstance(value, types.ModuleType)
    }


def tight_groups(shared: Mapping[int, tuple[Any, set[str]]]) -> list[frozenset[str]]:
    """Return the groups of names that share so much that they become one unit."""
    counts: dict[frozenset[str], int] = {}
    for _, names in shared.values():
        key = frozenset(names)
        counts[key] = counts.get(key, 0) + 1
    return [names for names, count in counts.items() if count > TIGHT]


def view_owners(seen: Seen) -> dict[int, Any]:
    """Return the unnamed arrays that are looked into from several places of one value.

    A single view is stored as a copy of what it shows; two of one owner, or one beside
    its owner, must write through to each other after a restore, so the owner becomes a
    unit.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return {}
    views: dict[int, int] = {}
    owners: dict[int, Any] = {}
    for value in seen.single.values():
        if type(value) is not numpy.ndarray or value.base is None:
            continue
        owner = value
        while type(owner.base) is numpy.ndarray:
            owner = owner.base
        if owner is not value:
            views[id(owner)] = views.get(id(owner), 0) + 1
            owners[id(owner)] = owner
    once = {i for i, count in views.items() if count == 1 and i in seen.single}
    held = _held(seen, once, numpy.ndarray) if once else set()
    return {i: owners[i] for i, count in views.items() if count > 1 or i in held}


def _held(seen: Seen, wanted: set[int], array: type) -> set[int]:
    """Return which of these arrays something else than a view of them refers to."""
    held: set[int] = set()
    for value in seen.reach().values():
        if type(value) is array:
            continue
        for part in gc.get_referents(value):
            # the walk keeps short tuples out of its list
            parts = part if type(part) is tuple else (part,)
            held |= wanted.intersection(map(id, parts))
    return held
