"""What names share: unnamed objects that must be pickled once and stay one object.

The rule: what is reached only through another named object is not shared; names that
share very many unnamed objects (a figure and its axes) become one unit instead
(3,068 units of one figure took 26 s, one unit 3.5 s).
"""

import types
from collections.abc import Mapping
from typing import Any

TIGHT = 20
"""Names that share more unnamed objects than this are one unit."""


def own_reaches(
    compound: Mapping[str, Any],
    full: Mapping[str, Mapping[int, Any]],
    written: frozenset[str],
) -> dict[str, dict[int, Any]]:
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
    """
    seed: set[int] = set()
    for name in written & compound.keys():
        seed |= full[name].keys()
    near = [name for name in compound if not seed.isdisjoint(full[name].keys())]
    bound: dict[int, str] = {}
    for name in compound:
        bound.setdefault(id(compound[name]), name)
    own = {}
    for name in near:
        inner = {
            bound[i]
            for i in bound.keys() & full[name].keys()
            if compound[bound[i]] is not compound[name]
        }
        hidden = set().union(*(full[other].keys() for other in inner))
        own[name] = {i: v for i, v in full[name].items() if i not in hidden}
    return own


def shared_objects(
    compound: Mapping[str, Any],
    reaches: Mapping[str, Mapping[int, Any]],
    written: frozenset[str],
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
        and names & written
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
