"""How two values differ, for people: numerically where they are arrays or frames.

The rule: it reads values, and calls no code of theirs that could change them. What it
cannot compare it says.
"""

import math
import sys
from typing import Any

import msgspec

from nbresume.capture.atoms import type_name
from nbresume.capture.canonical import look

NUMBERS = (int, float)
MAX_COLUMNS = 20
"""Columns that differ are named up to this many."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """In what two values differ."""

    equal: bool | None
    """None if that cannot be decided."""
    told: str = ""
    """What differs, or why it cannot be compared."""
    differing: int = 0
    """Entries that differ …"""
    entries: int = 0
    """… of so many."""
    max_abs: float | None = None
    """Largest absolute difference of numbers."""
    max_rel: float | None = None
    """Largest difference relative to the old number, where that is not zero."""
    columns: list[str] = []
    """Columns of a frame that differ."""


def difference(old: Any, new: Any) -> Difference:
    """Return in what two values differ."""
    if type_name(old) != type_name(new):
        return Difference(equal=False, told=f"{type_name(old)} → {type_name(new)}")
    if _is_a(old, "numpy", "ndarray", "generic"):
        return _arrays(old, new)
    if _is_a(old, "pandas", "DataFrame", "Series"):
        return _pandas(old, new)
    if _is_a(old, "polars", "DataFrame"):
        columns = {name: old[name].to_numpy() for name in old.columns}
        return _tables(columns, {name: new[name].to_numpy() for name in new.columns})
    if isinstance(old, NUMBERS) and not isinstance(old, bool):
        return _numbers(old, new)
    return _others(old, new)


def _is_a(value: Any, module: str, *names: str) -> bool:
    """Say whether a value is of a library's class; the library is not imported."""
    loaded = sys.modules.get(module)
    classes = tuple(c for n in names if isinstance(c := getattr(loaded, n, None), type))
    return isinstance(value, classes)


def _numbers(old: float, new: float) -> Difference:
    equal = old == new or (old != old and new != new)  # noqa: PLR0124 - NaN
    gap = abs(new - old)
    return Difference(
        equal=equal,
        differing=int(not equal),
        entries=1,
        max_abs=0.0 if equal else _finite(gap, 1),
        max_rel=0.0 if equal else _finite(gap, abs(old)),
    )


def _finite(gap: float, unit: float) -> float | None:
    """Return a distance in a unit; None if it has no number."""
    try:
        distance = float(gap / unit)
    except (ZeroDivisionError, OverflowError):
        return None
    return distance if math.isfinite(distance) else None


def _others(old: Any, new: Any) -> Difference:
    before, after = look(old, {}).digest, look(new, {}).digest
    if before is None or after is None:
        return Difference(equal=None, told=f"{type_name(old)} cannot be compared")
    return Difference(equal=before == after)


def _arrays(old: Any, new: Any) -> Difference:
    if old.shape != new.shape:
        return Difference(equal=False, told=f"shape {old.shape} → {new.shape}")
    told = "" if old.dtype == new.dtype else f"dtype {old.dtype} → {new.dtype}"
    if old.dtype.kind not in "biufc" or new.dtype.kind not in "biufc":
        return _objects(old, new, told)
    return _numeric(old, new, told)


def _objects(old: Any, new: Any, told: str) -> Difference:
    """Compare arrays of texts, dates or objects, entry by entry."""
    differ = 0
    for before, after in zip(old.ravel().tolist(), new.ravel().tolist(), strict=True):
        one = _others(before, after)
        if one.equal is None:
            return Difference(equal=None, told=one.told, entries=old.size)
        differ += not one.equal
    equal = not differ and not told
    return Difference(equal=equal, told=told, differing=differ, entries=old.size)


def _numeric(old: Any, new: Any, told: str) -> Difference:
    import numpy as np  # noqa: PLC0415 - loaded already: the values are its own

    both_nan = (old != old) & (new != new)  # noqa: PLR0124 - NaN
    differ = (old != new) & ~both_nan
    count = int(np.count_nonzero(differ))
    wide = complex if "c" in (old.dtype.kind, new.dtype.kind) else np.longdouble
    with np.errstate(all="ignore"):
        before = np.asarray(old)[differ].astype(wide)
        gap = np.abs(np.asarray(new)[differ].astype(wide) - before)
        relative = gap[before != 0] / np.abs(before[before != 0])
    return Difference(
        equal=count == 0 and not told,
        told=told,
        differing=count,
        entries=int(np.size(old)),
        max_abs=_largest(gap, 0.0 if not count else None),
        max_rel=_largest(relative, 0.0 if not count else None),
    )


def _largest(values: Any, default: float | None) -> float | None:
    """Return the largest finite number; infinities and NaN have no distance."""
    import numpy as np  # noqa: PLC0415

    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else default


def _pandas(old: Any, new: Any) -> Difference:
    if old.shape != new.shape:
        return Difference(equal=False, told=f"shape {old.shape} → {new.shape}")
    if not old.index.equals(new.index):
        return Difference(equal=False, told="its index differs")
    if old.ndim == 1:
        return _tables({str(old.name): _column(old)}, {str(new.name): _column(new)})
    if len(set(old.columns)) != len(old.columns):
        return _others(old, new)
    return _tables(
        {str(name): _column(old[name]) for name in old.columns},
        {str(name): _column(new[name]) for name in new.columns},
    )


def _column(series: Any) -> Any:
    """Return a column as an array; missing values of extension types become NaN."""
    plain = series.dtype.kind in "biuf" and series.isna().any()
    return series.to_numpy(dtype=float) if plain else series.to_numpy()


def _tables(old: dict[str, Any], new: dict[str, Any]) -> Difference:
    if list(old) != list(new):
        gone = ", ".join(n for n in old if n not in new)
        more = ", ".join(n for n in new if n not in old)
        words = [gone and f"without {gone}", more and f"with {more}"]
        told = "columns: " + (", ".join(filter(None, words)) or "in another order")
        return Difference(equal=False, told=told)
    found = {name: _arrays(old[name], new[name]) for name in old}
    differ = [name for name, one in found.items() if not one.equal]
    parts = found.values()
    tolds = [f"{name}: {one.told}" for name, one in found.items() if one.told]
    undecided = any(one.equal is None for one in parts)
    return Difference(
        equal=None if undecided else not differ,
        told="; ".join(tolds[:MAX_COLUMNS]),
        differing=sum(one.differing for one in parts),
        entries=sum(one.entries for one in parts),
        max_abs=max((m for o in parts if (m := o.max_abs) is not None), default=None),
        max_rel=max((m for o in parts if (m := o.max_rel) is not None), default=None),
        columns=differ[:MAX_COLUMNS],
    )
