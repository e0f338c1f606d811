"""How two values differ, in numbers where they are arrays or frames."""

import math

import numpy as np
import pandas as pd
import pytest

from nbresume.capture.differences import difference


def told(old, new):
    """Return the numbers of a difference."""
    found = difference(old, new)
    return found.equal, found.differing, found.entries, found.max_abs, found.max_rel


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (np.array([1.0, 2.0]), np.array([1.0, 2.0]), (True, 0, 2, 0.0, 0.0)),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0]), (False, 1, 2, 1.0, 0.5)),
        (np.array([0.0, 2.0]), np.array([4.0, 2.0]), (False, 1, 2, 4.0, None)),
        (np.array([np.nan]), np.array([np.nan]), (True, 0, 1, 0.0, 0.0)),
        (np.array([np.nan]), np.array([1.0]), (False, 1, 1, None, None)),
        (np.array([np.inf]), np.array([1.0]), (False, 1, 1, None, None)),
        (np.array([np.inf]), np.array([np.inf]), (True, 0, 1, 0.0, 0.0)),
        (np.array([True]), np.array([False]), (False, 1, 1, 1.0, 1.0)),
        (
            np.array([1 + 1j]),
            np.array([1 - 1j]),
            (False, 1, 1, 2.0, pytest.approx(2**0.5)),
        ),
        (np.zeros((0, 3)), np.zeros((0, 3)), (True, 0, 0, 0.0, 0.0)),
        (np.array(3.0), np.array(4.0), (False, 1, 1, 1.0, pytest.approx(1 / 3))),
        (np.float64(1), np.float64(2), (False, 1, 1, 1.0, 1.0)),
        (np.array(["a", "b"]), np.array(["a", "c"]), (False, 1, 2, None, None)),
        (2, 3, (False, 1, 1, 1.0, 0.5)),
        (0.0, 1.5, (False, 1, 1, 1.5, None)),
        (math.nan, math.nan, (True, 0, 1, 0.0, 0.0)),
        (1.0, math.inf, (False, 1, 1, None, None)),
        (10**400, 10**400 + 1, (False, 1, 1, 1.0, 0.0)),
        (1, 10**400, (False, 1, 1, None, None)),
        ("a", "a", (True, 0, 0, None, None)),
        ([1], [2], (False, 0, 0, None, None)),
    ],
    ids=str,
)
def test_numbers_are_compared_entry_by_entry(old, new, expected):
    """Missing equals missing; what has no distance counts as different without one."""
    assert told(old, new) == expected


def test_unsigned_numbers_do_not_wrap_around():
    """The distance of 1 and 2 is 1, also downwards."""
    old, new = np.array([2], dtype="uint8"), np.array([1], dtype="uint8")

    assert told(old, new) == (False, 1, 1, 1.0, 0.5)


def test_large_whole_numbers_are_compared_exactly():
    """Beyond the digits of a float."""
    old = np.array([2**60], dtype="int64")

    assert told(old, old + 1)[:4] == (False, 1, 1, 1.0)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (1, "1", "int → str"),
        (np.zeros(2), np.zeros(3), "shape (2,) → (3,)"),
        (np.zeros(2), np.zeros(2, dtype="float32"), "dtype float64 → float32"),
        (
            pd.DataFrame({"a": [1]}),
            pd.DataFrame({"a": [1, 2]}),
            "shape (1, 1) → (2, 1)",
        ),
        (
            pd.DataFrame({"a": [1]}),
            pd.DataFrame({"b": [1]}),
            "columns: without a, with b",
        ),
        (
            pd.DataFrame({"a": [1], "b": [2]}),
            pd.DataFrame({"b": [2], "a": [1]}),
            "columns: in another order",
        ),
        (pd.Series([1], index=[1]), pd.Series([1], index=[2]), "its index differs"),
    ],
    ids=str,
)
def test_other_differences_are_told(old, new, words):
    """Class, shape, dtype, columns and index come first."""
    found = difference(old, new)

    assert found.equal is False
    assert words in found.told


def test_frames_are_compared_column_by_column():
    """The columns that differ are named, and the largest difference of all."""
    old = pd.DataFrame(
        {"n": [1.0, None, 3.0], "s": ["x", "y", None], "same": [1, 2, 3]}
    )
    new = old.assign(n=[1.0, None, 6.0], s=["x", "z", None])

    found = difference(old, new)

    assert found.columns == ["n", "s"]
    assert (found.differing, found.entries) == (2, 9)
    assert (found.max_abs, found.max_rel) == (3.0, 1.0)


def test_extension_types_are_compared():
    """Whole numbers with missing ones, categories, dates."""
    old = pd.DataFrame(
        {
            "i": pd.array([1, None], dtype="Int64"),
            "c": pd.Categorical(["a", "b"]),
            "d": pd.to_datetime(["2026-01-01", "2026-01-02"]),
        }
    )
    new = old.assign(i=pd.array([2, None], dtype="Int64"))

    assert difference(old, old.copy()).equal
    found = difference(old, new)
    assert (found.equal, found.columns, found.differing) == (False, ["i"], 1)
    later = old.assign(d=pd.to_datetime(["2026-01-01", "2026-01-03"]))
    assert difference(old, later).columns == ["d"]


def test_what_cannot_be_compared_is_said():
    """A generator has no value to look at."""
    found = difference((i for i in ()), (i for i in ()))

    assert found.equal is None
    assert found.told == "generator cannot be compared"


def test_no_code_of_the_values_is_called():
    """Neither ``==`` nor ``repr`` of a class of the user's."""

    class Loud:
        def __eq__(self, other):
            raise AssertionError

        def __hash__(self):
            raise AssertionError

        def __repr__(self):
            raise AssertionError

    assert difference(Loud(), Loud()).equal in (True, None)
