"""A namespace as plain data, so that two processes can compare theirs (no test itself).

The rule: a value is described by the digest of the canonical walk; where that cannot
decide, by a written comparison for its type (what a model predicts, what a figure
draws); a type that has none is an error of the test, never passed over.
"""

import functools
import types

import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nbresume.capture.canonical import look
from nbresume.capture.touched import is_users

KNOWN = {
    "statsmodels.tsa.statespace.sarimax": "its specification is a dict that is its own "
    "__dict__, and pickling makes two of it",
    "matplotlib": "figures hold counters and caches that drawing moves",
}
"""Home of types whose digests differ between equal values → why.

They count as equal by what they tell: parameters, predictions, the pixels drawn.
"""
ENOUGH = 12
"""Significant digits of numbers that a model gives."""


def describe(namespace):
    """Return what can be said of each name, and which objects are one and the same."""
    users = {n: v for n, v in sorted(namespace.items()) if is_users(n)}
    first = {}
    for name, value in users.items():
        first.setdefault(id(value), name)
    # All digests before anything is read that a model computes and keeps.
    digests = {name: _digest(v, namespace) for name, v in users.items()}
    told = {name: value_of(v, namespace) for name, v in users.items()}
    values = {n: (kind, digests[n], rest) for n, (kind, _, rest) in told.items()}
    return {
        "values": values,
        "same": {
            name: first[id(v)]
            for name, v in users.items()
            if v is not None and not isinstance(v, int | float | str | tuple)
        },
        "classes": _classes(users),
        "memory": _memory(users),
    }


def differences(wanted, got):
    """Return what differs between two descriptions, one sentence each."""
    told = []
    for what in wanted:
        names = wanted[what].keys() | got[what].keys()
        told += [
            f"{what} of {name}: {wanted[what].get(name, 'absent')!r:.300} became "
            f"{got[what].get(name, 'absent')!r:.300}"
            for name in sorted(names)
            if wanted[what].get(name, "absent") != got[what].get(name, "absent")
        ]
    return told


def without(description, names):
    """Return a description without some names."""
    kept = {
        what: {n: v for n, v in part.items() if n not in names}
        for what, part in description.items()
    }
    kept["same"] = {
        n: min(m for m in kept["same"] if description["same"][m] == first)
        for n, first in kept["same"].items()
    }
    kept["memory"] = {
        n: [m for m in shared if m not in names] for n, shared in kept["memory"].items()
    }
    return kept


def value_of(value, namespace):
    """Return a value's type, and its digest or what the comparison for its type says.

    Reading a model fills its caches, so a digest counts only where nothing is read.
    """
    if _is_known(value):
        return (_kind(value), None, _written(value, namespace))
    seen = look(value, namespace)
    is_code = isinstance(value, type | types.FunctionType | types.ModuleType)
    homes = {part.partition(".")[0] for part in _inside(value, seen)}
    if seen.digest is not None and (is_code or homes.isdisjoint(COMPARISONS)):
        return (_kind(value), seen.digest, None)
    return (_kind(value), None, _written(value, namespace))


def _digest(value, namespace):
    if _is_known(value):
        return None
    seen = look(value, namespace)
    is_known = any(part.startswith(tuple(KNOWN)) for part in _inside(value, seen))
    return None if is_known else seen.digest


def _is_known(value):
    """Tell at a glance, where a walk would take long (a figure has many parts)."""
    items = [value]
    if isinstance(value, dict):
        items += value.values()
    elif isinstance(value, list | np.ndarray):
        items += list(value)[:10]
    return any(_kind(item).startswith(tuple(KNOWN)) for item in items)


def _inside(value, seen):
    return [_kind(part) for part in (value, *seen.reach.values())]


def _kind(value):
    return f"{type(value).__module__}.{type(value).__qualname__}"


def by_itself(description):
    """Return a description without the digests of what holds times and durations.

    Two runs of the same code differ in them.
    """
    values = {
        name: (kind, None, told) if told is not None else (kind, digest, None)
        for name, (kind, digest, told) in description["values"].items()
    }
    return description | {"values": values}


def _classes(users):
    kinds = {id(v): n for n, v in users.items() if isinstance(v, type)}
    return {n: kinds[id(type(v))] for n, v in users.items() if id(type(v)) in kinds}


def _memory(users):
    arrays = {n: v for n, v in users.items() if isinstance(v, np.ndarray)}
    return {
        name: [
            other
            for other in arrays
            if other != name and np.shares_memory(array, arrays[other])
        ]
        for name, array in arrays.items()
    }


# -- comparisons for types that the walk cannot decide --------------------------------


def _written(value, namespace):
    """Return plain data that differs when values of this type do."""
    if isinstance(value, list | tuple):
        return [value_of(item, namespace) for item in value]
    if isinstance(value, dict):
        pairs = value.items()
        return [(repr(key), value_of(item, namespace)) for key, item in pairs]
    home = type(value).__module__.partition(".")[0]
    if home in COMPARISONS:
        return COMPARISONS[home](value, namespace)
    if home == "__main__" and hasattr(value, "__dict__"):
        return _written(vars(value), namespace)
    if isinstance(value, np.ndarray):
        return [value.shape, _written(value.ravel().tolist(), namespace)]
    if isinstance(value, functools.partial):
        return _written([value.func, value.args, value.keywords], namespace)
    if isinstance(value, types.MethodType):
        return [value.__name__, value_of(value.__self__, namespace)]
    raise TypeError(
        f"no comparison is written for {type(value)}: {look(value, {}).why}"
    )


def _numbers(values):
    array = np.asarray(values)
    if array.dtype.kind not in "fc":
        return repr(array.tolist())
    return [f"{number:.{ENOUGH}g}" for number in array.ravel()]


def _frame(frame):
    if isinstance(frame, pd.Series):
        frame = frame.to_frame()
    columns = {str(c): _numbers(frame[c].to_numpy()) for c in frame}
    return [list(map(str, frame.index)), columns]


def _statsmodels(value, namespace):
    told = [_numbers(value.params)] if hasattr(value, "params") else []
    names = ("bse", "fittedvalues", "resid", "llf", "aic")
    told += [(n, _numbers(getattr(value, n))) for n in names if hasattr(value, n)]
    assert told, f"nothing to compare of {type(value)}"
    return told


def _lifelines(value, namespace):
    told = []
    for name in ("params_", "standard_errors_", "log_likelihood_", "summary"):
        found = getattr(value, name, None)
        if found is None:
            continue
        is_frame = isinstance(found, pd.DataFrame | pd.Series)
        told.append((name, _frame(found) if is_frame else _numbers(found)))
    for name in ("survival_function_", "cumulative_hazard_", "baseline_hazard_"):
        found = getattr(value, name, None)
        if found is not None:
            told.append((name, _frame(found)))
    assert told, f"nothing to compare of {type(value)}"
    return told


@functools.cache
def _pixels(figure):
    # A closed figure has no canvas that draws.
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return look(np.array(canvas.buffer_rgba()), {}).digest


def _matplotlib(value, namespace):
    if isinstance(value, Figure):
        return [value.get_size_inches().tolist(), _pixels(value)]
    if hasattr(value, "get_lines"):
        lines = [_numbers(line.get_xydata()) for line in value.get_lines()]
        widths = [line.get_linewidth() for line in value.get_lines()]
        texts = [value.get_title(), value.get_xlabel(), value.get_yscale()]
        return [lines, widths, texts, _matplotlib(value.figure, namespace)]
    if hasattr(value, "get_xydata"):
        return [_numbers(value.get_xydata()), value.get_linewidth()]
    if hasattr(value, "get_array"):
        return [_numbers(value.get_array()), _matplotlib(value.figure, namespace)]
    raise TypeError(f"no comparison is written for {type(value)}")


def _sklearn(value, namespace):
    told = [type(value).__name__, sorted(vars(value))]
    names = ("coef_", "feature_importances_", "best_params_", "bounds_")
    kept = {
        n: np.asarray(getattr(value, n)).tolist() for n in names if hasattr(value, n)
    }
    return [*told, repr(kept)]


COMPARISONS = {
    "statsmodels": _statsmodels,
    "lifelines": _lifelines,
    "matplotlib": _matplotlib,
    "sklearn": _sklearn,
}
