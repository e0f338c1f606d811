"""What names share: unnamed objects that must be pickled once and stay one object.

The rule: what is reached only through another named object is not shared; names that
share very many unnamed objects (a figure and its axes) become one unit instead
(3,068 units of one figure took 26 s, one unit 3.5 s).
"""

import sys
import types
from collections.abc import Iterable, Mapping
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
    shared -= named.keys()
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


def view_owners(singles: Iterable[Any]) -> dict[int, Any]:
    """Return the unnamed arrays that are looked into from several places of one value.

    A single view is stored as a copy of what it shows; two of one owner, or one beside
    its owner, must write through to each other after a restore, so the owner becomes a
    unit.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return {}
    places: dict[int, int] = {}
    owners: dict[int, Any] = {}
    for value in singles:
        if type(value) is not numpy.ndarray:
            continue
        owner = value
        while type(owner.base) is numpy.ndarray:
            owner = owner.base
        places[id(owner)] = places.get(id(owner), 0) + 1
        owners[id(owner)] = owner
    return {i: owners[i] for i, count in places.items() if count > 1}
