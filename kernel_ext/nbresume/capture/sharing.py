"""What names share: unnamed objects that must be pickled once and stay one object.

The rule: what is reached only through another named object is not shared; names that
share very many unnamed objects (a figure and its axes) become one unit instead
(3,068 units of one figure took 26 s, one unit 3.5 s).
"""

import sys
import types
from collections.abc import Mapping
from typing import Any

from nbresume.capture.canonical import reach_outside

TIGHT = 20
"""Names that share more unnamed objects than this are one unit."""


def own_reaches(
    compound: Mapping[str, Any],
    full: Mapping[str, Mapping[int, Any]],
    written: frozenset[str],
    namespace: Mapping[str, Any],
) -> dict[str, Mapping[int, Any]]:
    """Return what each value reaches without passing through another named one.

    Only names that share something with a written one matter.

    Parameters
    ----------
    compound
        Name → value, of all names whose value is no small immutable thing.
    full
        Name → everything that its value reaches.
    written
        The names that are captured.
    namespace
        The namespace of the notebook.
    """
    seed: set[int] = set()
    for name in written & compound.keys():
        seed |= full[name].keys()
    bound = frozenset(id(value) for value in compound.values())
    own: dict[str, Mapping[int, Any]] = {}
    for name, value in compound.items():
        reach = full[name]
        if seed.isdisjoint(reach.keys()):
            continue
        holds_named = not (bound - {id(value)}).isdisjoint(reach.keys())
        # a part may be held directly and through a name as well: only a walk that
        # stops at the named objects tells
        own[name] = reach_outside(value, namespace, bound) if holds_named else reach
    return own


def shared_objects(
    compound: Mapping[str, Any],
    reaches: Mapping[str, Mapping[int, Any]],
) -> dict[int, tuple[Any, set[str]]]:
    """Return the unnamed objects that names with different values share."""
    holders: dict[int, tuple[Any, set[str]]] = {}
    for name, reach in reaches.items():
        for i, value in reach.items():
            holders.setdefault(i, (value, set()))[1].add(name)
    bound = {id(value) for value in compound.values()}
    return {
        i: (value, names)
        for i, (value, names) in holders.items()
        if i not in bound
        and not isinstance(value, types.ModuleType)
        and len({id(compound[name]) for name in names}) > 1
    }


def tight_groups(shared: Mapping[int, tuple[Any, set[str]]]) -> list[frozenset[str]]:
    """Return the groups of names that share so much that they become one unit."""
    counts: dict[frozenset[str], int] = {}
    for _, names in shared.values():
        key = frozenset(names)
        counts[key] = counts.get(key, 0) + 1
    return [names for names, count in counts.items() if count > TIGHT]


def view_owners(reach: Mapping[int, Any]) -> dict[int, Any]:
    """Return the unnamed arrays that several views in one value look into.

    A single view is stored as a copy of what it shows; two of one owner must write
    through to each other after a restore, so the owner becomes a unit.
    """
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return {}
    views: dict[int, int] = {}
    owners: dict[int, Any] = {}
    for value in reach.values():
        if type(value) is not numpy.ndarray or value.base is None:
            continue
        owner = value
        while type(owner.base) is numpy.ndarray:
            owner = owner.base
        if owner is not value:
            views[id(owner)] = views.get(id(owner), 0) + 1
            owners[id(owner)] = owner
    return {i: owners[i] for i, count in views.items() if count > 1}
