"""Arrays and frames as values: type, shape and content, never the memory's layout."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn import linear_model

from nbresume.capture.canonical import look


def _digest(value):
    seen = look(value, {})
    assert seen.digest is not None, seen.why
    return seen.digest


def _frame():
    return pd.DataFrame(
        {
            "A": [1.0, 2.0, 3.0],
            "B": ["x", "y", None],
            "c": [1, 2, 3],
            "k": pd.Categorical(["u", "v", "u"]),
            "t": pd.date_range("2020", periods=3, tz="Europe/Berlin"),
            "i": pd.array([1, None, 3], "Int64"),
            "o": [1, "a", [2]],
            "p": pd.array([1, None, 3], "int64[pyarrow]"),
        }
    )


CHANGES = {
    "set a column": lambda df: df.__setitem__("A", 9.0),
    "set a column to another type": lambda df: df.__setitem__("c", [1.0, 2.0, 3.0]),
    "add a column": lambda df: df.__setitem__("new", 1),
    "delete a column": lambda df: df.__delitem__("c"),
    "pop a column": lambda df: df.pop("A"),
    "insert a column": lambda df: df.insert(0, "new", 1),
    "rename in place": lambda df: df.__setattr__(
        "columns", ["Q", *list(df.columns)[1:]]
    ),
    "update": lambda df: df.update(pd.DataFrame({"A": [7.0, 8.0, 9.0]})),
    "set a cell by position": lambda df: df.iloc.__setitem__((0, 0), 5.0),
    "set a text by label": lambda df: df.loc.__setitem__((0, "B"), "z"),
    "set a category": lambda df: df.loc.__setitem__((0, "k"), "v"),
    "set a date": lambda df: df.loc.__setitem__(
        (0, "t"), pd.Timestamp("2021", tz="Europe/Berlin")
    ),
    "mask a number": lambda df: df.loc.__setitem__((0, "i"), pd.NA),
    "set an object": lambda df: df["o"].iloc[2].append(3),
    "set an arrow number": lambda df: df.loc.__setitem__((1, "p"), 2),
    "set the index": lambda df: df.__setattr__("index", [3, 4, 5]),
    "name the index": lambda df: df.index.__setattr__("name", "n"),
    "name the columns": lambda df: df.columns.__setattr__("name", "n"),
    "set an attribute": lambda df: df.attrs.__setitem__("unit", "m"),
    "set a flag": lambda df: df.flags.__setattr__("allows_duplicate_labels", False),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_frame_changed_in_place_is_another_value(change):
    """The change is seen, or the steps below would replay what was before it."""
    df = _frame()
    before = _digest(df)
    CHANGES[change](df)

    assert _digest(df) != before


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_rename_and_drop_in_place_are_seen():
    """The methods with inplace=True change the frame they are called on."""
    one, two = _frame(), _frame()
    one.rename(columns={"A": "Q"}, inplace=True)  # noqa: PD002 - what is tested
    two.drop(columns="A", inplace=True)  # noqa: PD002 - what is tested

    assert len({_digest(_frame()), _digest(one), _digest(two)}) == 3


def test_a_changed_frame_inside_a_container_is_seen():
    """Also when the frame is an attribute or an item of something else."""
    df = _frame()
    box = {"df": df}
    before = _digest(box)
    df.iloc[0, 0] = 5.0

    assert _digest(box) != before


@pytest.mark.parametrize(
    "read",
    [
        lambda df: df.describe(),
        lambda df: df["A"],
        lambda df: df.loc[1],
        lambda df: df.groupby("c")["A"].sum(),
        lambda df: df.index.get_loc(1),
        lambda df: (df.index.is_unique, df.columns.get_loc("A")),
        repr,
    ],
)
def test_reading_a_frame_changes_nothing(read):
    """All that pandas caches is no part of the value."""
    df = _frame()
    before = _digest(df)
    read(df)

    assert _digest(df) == before


def test_equal_frames_have_equal_digests():
    """However they were put together."""
    df = _frame()
    halves = pd.concat([df.iloc[:2], df.iloc[2:]])

    assert _digest(df) == _digest(df.copy())
    assert _digest(df[["A", "B"]]) == _digest(halves[["A", "B"]].set_index(df.index))


def test_series_and_indexes():
    """Values, index, name and type count."""
    values = [
        pd.Series([1, 2]),
        pd.Series([1, 2], name="n"),
        pd.Series([1.0, 2.0]),
        pd.Series([1, 2], index=[1, 2]),
        pd.Index([1, 2]),
        pd.Index([1, 2], name="n"),
        pd.RangeIndex(1, 3),
        pd.Index(["1", "2"]),
        pd.date_range("2020", periods=2),
        pd.date_range("2020", periods=2, tz="UTC"),
        pd.MultiIndex.from_tuples([(1, 2)]),
        pd.MultiIndex.from_tuples([(1, 2)], names=["a", "b"]),
        pd.interval_range(0, 2),
        pd.interval_range(0, 2, closed="left"),
        pd.period_range("2020", periods=2, freq="D"),
        pd.array([1, None], "Int64"),
        pd.array([True, None], "boolean"),
        pd.array(["a", None], "string[python]"),
        pd.arrays.SparseArray([0, 1]),
        pd.Timestamp("2020"),
        pd.Timestamp("2020", tz="UTC"),
        pd.Timedelta(1),
        pd.NA,
        pd.NaT,
    ]

    assert len({_digest(value) for value in values}) == len(values)
    assert [_digest(value) for value in values] == [_digest(value) for value in values]


def test_unused_levels_do_not_matter():
    """Two indexes with the same labels are equal."""
    whole = pd.MultiIndex.from_tuples([(1, "a"), (2, "b"), (3, "c")])

    assert _digest(whole[:2]) == _digest(
        pd.MultiIndex.from_tuples([(1, "a"), (2, "b")])
    )


def test_what_is_masked_does_not_matter():
    """The number under a missing value is noise."""
    one, two = pd.array([1, None], "Int64"), pd.array([1, 5], "Int64")
    two[1] = pd.NA

    assert _digest(one) == _digest(two)


def test_arrays_are_compared_by_type_shape_and_bytes():
    """No two of these are taken for one another."""
    values = [
        np.arange(6),
        np.arange(6.0),
        np.arange(6, dtype="i4"),
        np.arange(6, dtype=">i8"),
        np.arange(6).reshape(2, 3),
        np.arange(6).reshape(3, 2),
        np.arange(6).reshape(2, 3).T,
        np.array([0.0, -0.0]),
        np.array([-0.0, 0.0]),
        np.array(["a", "b"]),
        np.array([b"a", b"b"]),
        np.array([1, "a", None], object),
        np.array([1.0, "a", None], object),
        np.array([[1, "a"]], object),
        np.array(["2020"], "M8[s]"),
        np.array(["2020"], "M8[ns]"),
        np.array([(1, 2.0)], [("a", "i4"), ("b", "f8")]),
        np.array([(1, 2.0)], [("a", "i4"), ("c", "f8")]),
        np.array(["a", "b"], np.dtypes.StringDType()),
        np.ma.masked_array([1, 2], [0, 1]),
        np.ma.masked_array([1, 2], [1, 0]),
        np.ma.masked_array([1, 2], [0, 1], fill_value=7),
        np.array([[1]]).view(np.matrix),
        np.array([[1]]),
        np.zeros((0, 3)),
        np.zeros((3, 0)),
        np.array(1.0),
        np.float64(1.0),
        np.float32(1.0),
        np.dtype("f8"),
        np.dtype("f4"),
        np.random.default_rng(1),
        np.random.default_rng(2),
    ]

    assert len({_digest(value) for value in values}) == len(values)


def test_the_layout_of_the_memory_does_not_matter():
    """A strided view, a transposed copy and a contiguous array can be equal."""
    base = np.arange(24.0).reshape(4, 6)

    assert _digest(base) == _digest(np.asfortranarray(base))
    assert _digest(base[:, ::2]) == _digest(base[:, ::2].copy())
    assert _digest(base[::-1]) == _digest(base[::-1].copy())
    assert _digest(np.broadcast_to(base[0], (3, 6))) == _digest(
        np.tile(base[0], (3, 1))
    )


def test_large_strided_arrays_are_hashed_piece_by_piece():
    """Pieces give the digest of the whole."""
    base = np.arange(5_000_000.0).reshape(1000, 5000)

    assert _digest(base.T) == _digest(np.ascontiguousarray(base.T))


def test_a_changed_element_is_seen():
    """Through any view of the memory."""
    base = np.zeros(10)
    view = base[::2]
    before = _digest(view)
    base[4] = 1

    assert _digest(view) != before


def test_owners_of_memory_are_reached():
    """Two views meet at their owner; a frame and its array at their block."""
    base = np.arange(10.0)
    one, two = look(base[2:][1:], {}).reach, look({"v": base[::2]}, {}).reach

    assert id(base) in one
    assert id(base) in two
    shared = np.zeros(3)
    series = pd.Series(shared, copy=False)
    assert set(look(series, {}).reach) & set(look(shared, {}).reach)


def test_arrow_is_compared_by_content():
    """Chunks and slices do not matter, types and missing values do."""
    whole = pa.chunked_array([[1, 2, None]])

    assert _digest(whole) == _digest(pa.chunked_array([[1], [2, None]]))
    assert _digest(pa.array(["a", "b", "c"])[1:]) == _digest(pa.array(["b", "c"]))
    assert _digest(pa.array([None, 1, 2, 3])[2:]) == _digest(pa.array([2, 3]))
    values = [
        pa.array([1]),
        pa.array([1.0]),
        pa.array([1], pa.int32()),
        pa.array([None], pa.int64()),
        pa.array([[1]]),
        pa.table({"a": [1]}),
        pa.table({"b": [1]}),
        pa.table({"a": [1]}).replace_schema_metadata({"k": "v"}),
        pa.record_batch({"a": [1]}),
        pa.scalar(1),
        pa.int64(),
        pa.schema([("a", pa.int64())]),
    ]
    assert len({_digest(value) for value in values}) == len(values)


def test_estimators_are_compared_by_their_state():
    """Parameters and what was fitted."""
    x = np.arange(10.0).reshape(5, 2)

    def fit(y):
        return linear_model.Ridge(alpha=0.5).fit(x, y)

    assert _digest(fit(x[:, 0])) == _digest(fit(x[:, 0]))
    assert _digest(fit(x[:, 0])) != _digest(fit(x[:, 1] ** 2))
    assert _digest(linear_model.Ridge(alpha=0.5)) != _digest(
        linear_model.Ridge(alpha=1)
    )
