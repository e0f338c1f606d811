"""Compare the results of two runs bit by bit: `compare.py DUMP_A DUMP_B`.

It runs in a process of its own and knows nothing of nbresume: it reads what the last
cell of `flights.ipynb` wrote. It ends with 0 when nothing differs, else with 1.
"""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd


def differences(left: Path, right: Path) -> list[str]:
    """Return one line for each value of the two dumps that is not the same."""
    values_left, values_right = _read(left), _read(right)
    found = [
        f"{name} is only in {folder}"
        for folder, here, there in (
            (left, values_left, values_right),
            (right, values_right, values_left),
        )
        for name in sorted(here.keys() - there.keys())
    ]
    for name in sorted(values_left.keys() & values_right.keys()):
        found += _differ(name, values_left[name], values_right[name])
    return found


def _read(dump: Path) -> dict[str, object]:
    """Return every value of a dump under its name."""
    values: dict[str, object] = {}
    for file in ("frames.pkl", "values.pkl"):
        with (dump / file).open("rb") as stream:
            values |= pickle.load(stream)  # noqa: S301 - written by our own notebook
    with np.load(dump / "arrays.npz", allow_pickle=False) as arrays:
        values |= {name: arrays[name] for name in arrays.files}
    return values


def _differ(name: str, left: object, right: object) -> list[str]:
    """Return what differs between two values, down to the type and the bits."""
    if type(left) is not type(right):
        return [f"{name}: {type(left).__name__} became {type(right).__name__}"]
    match left, right:
        case pd.DataFrame(), pd.DataFrame():
            found = _differ_frame(name, left, right)
        case pd.Series(), pd.Series():
            found = _differ_frame(name, left.to_frame(), right.to_frame())
        case np.ndarray(), np.ndarray():
            found = _differ_array(name, left, right)
        case dict(), dict():
            found = _differ_dict(name, left, right)
        case _:
            # repr tells -0.0 from 0.0 and every float from its neighbor
            same = repr(left) == repr(right)
            found = [] if same else [f"{name}: {left!r} became {right!r}"]
    return found


def _differ_dict(
    name: str, left: dict[str, object], right: dict[str, object]
) -> list[str]:
    if list(left) != list(right):
        return [f"{name}: keys {list(left)} became {list(right)}"]
    return [
        line
        for key in left
        for line in _differ(f"{name}[{key!r}]", left[key], right[key])
    ]


def _differ_frame(name: str, left: pd.DataFrame, right: pd.DataFrame) -> list[str]:
    if left.shape != right.shape:
        return [f"{name}: shape {left.shape} became {right.shape}"]
    if list(left.columns) != list(right.columns):
        moved = [a for a, b in zip(left, right, strict=True) if a != b]
        return [f"{name}: other columns from {moved[0]!r} on"]
    if left.attrs != right.attrs:
        return [f"{name}: attrs {left.attrs} became {right.attrs}"]
    found = _differ_index(f"{name}.index", left.index, right.index)
    found += _differ_index(f"{name}.columns", left.columns, right.columns)
    for place, column in enumerate(left.columns):
        found += _differ_column(
            f"{name}[{column!r}]", left.iloc[:, place], right.iloc[:, place]
        )
    return found


def _differ_index(name: str, left: pd.Index, right: pd.Index) -> list[str]:
    if type(left) is not type(right):
        return [f"{name}: {type(left).__name__} became {type(right).__name__}"]
    if list(left.names) != list(right.names):
        return [f"{name}: names {list(left.names)} became {list(right.names)}"]
    levels = range(left.nlevels)
    return [
        line
        for level in levels
        for line in _differ_column(
            f"{name} level {level}",
            left.get_level_values(level).to_series(),
            right.get_level_values(level).to_series(),
        )
    ]


def _differ_column(name: str, left: pd.Series, right: pd.Series) -> list[str]:
    if repr(left.dtype) != repr(right.dtype) or left.dtype != right.dtype:
        return [f"{name}: dtype {left.dtype!r} became {right.dtype!r}"]
    if isinstance(left.dtype, pd.CategoricalDtype):
        codes = [side.cat.codes.to_numpy() for side in (left, right)]
        labels = [side.cat.categories for side in (left, right)]
        return _differ_array(name, *codes) + _differ_index(
            f"{name} categories", *labels
        )
    return _differ_array(name, _plain(left), _plain(right))


def _plain(column: pd.Series) -> np.ndarray:
    """Return the column's values as a plain array that keeps every bit."""
    if isinstance(column.dtype, np.dtype):
        return column.to_numpy()
    if isinstance(column.dtype, pd.DatetimeTZDtype):
        return column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
    return column.to_numpy(dtype=object, na_value=None)


def _differ_array(name: str, left: np.ndarray, right: np.ndarray) -> list[str]:
    if left.dtype != right.dtype or left.shape != right.shape:
        return [f"{name}: {left.dtype}{left.shape} became {right.dtype}{right.shape}"]
    changed = _changed(left, right)
    if not changed.any():
        return []
    first = int(changed.argmax())
    values = f"{left.flat[first]!r} became {right.flat[first]!r}"
    count = f"{int(changed.sum())} of {changed.size} values differ"
    return [f"{name}: {count}, first at {first}: {values}"]


def _changed(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return which values of two arrays of one type and shape are not the same."""
    if left.dtype == object:
        pairs = zip(left.flat, right.flat, strict=True)
        differs = (type(a) is not type(b) or repr(a) != repr(b) for a, b in pairs)
        return np.fromiter(differs, dtype=bool, count=left.size)
    size = left.dtype.itemsize
    bits = [
        np.frombuffer(side.tobytes(), np.uint8).reshape(-1, size)
        for side in (left, right)
    ]
    return (bits[0] != bits[1]).any(axis=1)


def main(arguments: list[str]) -> int:
    """Print the differences of two dumps and return the exit code."""
    if len(arguments) != 2:  # noqa: PLR2004 - two folders are compared
        print("usage: compare.py DUMP_A DUMP_B", file=sys.stderr)
        return 3
    left, right = map(Path, arguments)
    found = differences(left, right)
    for line in found:
        print(f"DIFFERENT  {line}")
    if found:
        return 1
    print(f"EQUAL  {len(_read(left))} values of two runs, bit by bit")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
