"""Dask collections that steps leave: stored by workers, read when they are used."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from unit.run.fakes import Lab

from nbresume.capture.canonical import look
from nbresume.capture.lazies import stored


@pytest.fixture(autouse=True)
def _lazy_libraries():
    """Let dask compute here, in the thread of the test."""
    with dask.config.set(scheduler="synchronous"):
        yield


IMPORTS = (
    "import dask.array as da, dask.dataframe as dd\nimport numpy as np, pandas as pd"
)
ARRAY = "x = da.arange(24, chunks=5).reshape(4, 6).rechunk((2, 4))"


def lab_of(body, **cells):
    """Return a notebook with one step of this body."""
    return Lab(a=f"%%step a\n{IMPORTS}\n{body}", **cells)


def reads(lab):
    """Return the chunks of arrays that were read, by their names."""
    return [
        key.rpartition("/")[2]
        for operation, key in lab.backend.operations
        if operation == "read_into" and "/o" in key
    ]


SHAPES = {
    "regular": ARRAY,
    "irregular": "x = da.ones((5, 7), chunks=((1, 3, 1), (2, 5))).cumsum(axis=0)",
    "no axes": "x = da.arange(10, chunks=3).sum()",
    "one block": "x = da.ones(3)",
    "an empty block": "x = da.concatenate([da.ones(3, chunks=2), da.ones(0)])",
    "dates": "x = da.from_array(np.arange(5).astype('M8[D]'), chunks=2)",
    "booleans": "x = da.arange(9, chunks=4) > 4",
}


@pytest.mark.parametrize("shape", SHAPES)
def test_an_array_comes_back_over_the_store(shape):
    """Cut as it was, of the same type, lazy and equal."""
    lab = lab_of(SHAPES[shape])
    k = lab.kernel()
    k.go()
    live = k["x"]
    k = k.restart()
    assert k.go() == []
    x = k["x"]

    assert stored(x) is not None
    assert (x.chunks, x.dtype) == (live.chunks, live.dtype)
    assert np.array_equal(x.compute(), live.compute())


def test_only_chunks_that_are_needed_are_read():
    """Restoring reads none."""
    lab = lab_of(ARRAY)
    lab.kernel().go()
    lab.backend.operations.clear()
    k = lab.kernel()
    k.go()
    x = k["x"]
    before = reads(lab)

    value = x[3, 5].compute()

    assert before == []
    assert value == 23
    assert reads(lab) == ["c.1.1"]


FRAMES = {
    "frame": "pd.DataFrame({'a': range(6), 's': list('abcdef')})",
    "series": "pd.Series([1.5, 2, 3], name='t')",
    "no name": "pd.Series([1.5, 2, 3])",
    "categories": "pd.DataFrame({'c': pd.Categorical(list('abab'))})",
    "dates": "pd.DataFrame({'a': range(8)}, index=pd.date_range('2026', periods=8))",
    "missing": "pd.DataFrame({'a': [1, None, 3], 'b': pd.array([1, None, 3])})",
}


def framed(text, count=3):
    """Return a body that makes a data frame of dask."""
    return f"x = dd.from_pandas({text}, npartitions={count})"


@pytest.mark.parametrize("frame", FRAMES)
def test_a_frame_comes_back_over_the_store(frame):
    """With its divisions, types and index."""
    lab = lab_of(framed(FRAMES[frame], 2))
    k = lab.kernel()
    k.go()
    live = k["x"]
    k = k.restart()
    assert k.go() == []
    x = k["x"]
    value, wanted = x.compute(), live.compute()

    assert stored(x) is not None
    assert x.divisions == live.divisions
    same = (
        pd.testing.assert_series_equal
        if isinstance(wanted, pd.Series)
        else pd.testing.assert_frame_equal
    )
    same(value, wanted)


def test_a_partition_is_read_by_itself():
    """The others stay where they are."""
    lab = lab_of(framed(FRAMES["frame"]))
    lab.kernel().go()
    lab.backend.operations.clear()
    k = lab.kernel()
    k.go()
    x = k["x"]
    before = reads(lab)
    part = x.partitions[1].compute()

    assert before == []
    assert part.a.tolist() == [2, 3]
    assert reads(lab) == ["c.0"]


def test_what_a_dataset_holds_is_the_very_array():
    """Also after a restore, and nothing is written twice."""
    lab = lab_of(
        f"import xarray as xr\n{ARRAY}\ny = x\n"
        "ds = xr.Dataset({'v': (('t', 'u'), x)})"
    )
    k = lab.kernel()
    k.go()
    k = k.restart()
    assert k.go() == []
    ds, x, y = k["ds"], k["x"], k["y"]

    assert isinstance(ds, xr.Dataset)
    assert ds.v.data is x is y
    assert int(ds.v.sum()) == 276


def test_equal_content_has_an_equal_version():
    """However it is computed: what stands on it does not run again."""
    lab = lab_of("x = da.arange(6, chunks=3)", b="%%step b\ns = int(x.sum())")
    k = lab.kernel()
    k.go()
    before = k.commits("a").outputs["x"].version
    lab.edit(a=f"%%step a\n{IMPORTS}\nx = (da.arange(6, chunks=3) * 2) // 2")

    assert k.go() == ["a"]
    assert k.commits("a").outputs["x"].version == before


def test_other_content_has_another_version():
    """What stands on it runs again."""
    lab = lab_of("x = da.arange(6, chunks=3)", b="%%step b\ns = int(x.sum())")
    k = lab.kernel()
    k.go()
    lab.edit(a=f"%%step a\n{IMPORTS}\nx = da.arange(6, chunks=3) + 1")

    assert k.go() == ["a", "b"]
    assert k["s"] == 21


def test_work_that_draws_is_done_once():
    """The kernel that committed it goes on with what is stored, as another one will."""
    body = (
        "x = da.ones(4, chunks=2).map_blocks(\n"
        "    lambda b: b * np.random.default_rng().random(), dtype=float)\nz = [x]"
    )
    lab = lab_of(body)
    k = lab.kernel()
    k.go()
    first, held = k["x"].compute(), k["z"][0] is k["x"]
    again = k["x"].compute()
    k = k.restart()
    k.go()

    assert held
    assert np.array_equal(first, again)
    assert np.array_equal(k["x"].compute(), first)


def test_a_step_below_refers_to_it_and_writes_nothing_anew():
    """In the kernel that made it, and in one that restored it."""
    for restarted in (False, True):
        lab = lab_of(ARRAY, b="%%step b\nz = {'x': x}")
        k = lab.kernel()
        k.go("a")
        if restarted:
            k = k.restart()
            k.go("a")
        lab.backend.operations.clear()
        k.go("b")
        written = [
            key
            for operation, key in lab.backend.operations
            if operation in ("create", "write") and "/o" in key
        ]
        k = k.restart()
        k.go()

        assert written == []
        assert k["z"]["x"] is k["x"]
        assert int(k["z"]["x"].sum()) == 276


def test_what_a_list_holds_is_named_by_whoever_refers_to_it():
    """The chunks stay as long as one manifest names them."""
    lab = lab_of("z = [da.ones(4, chunks=2)]", b="%%step b\nw = {'k': z[0]}")
    k = lab.kernel()
    k.go("a")
    k = k.restart()
    k.go()
    manifest = k.parts.restorer.manifest(k.commits("b").manifest)

    assert [place.grid for place in manifest.payloads.values() if place.grid] == [(2,)]


def test_equal_content_is_stored_once():
    """The place that it had before is the place that it has."""
    lab = lab_of("x = da.ones(4, chunks=2)", b="%%step b\ny = x * 1")
    lab.kernel().go()

    assert len([key for key in lab.backend.files if key.endswith("/c.1")]) == 1


def test_a_restored_collection_has_the_version_of_its_commit():
    """By its content, as everybody would compute it."""
    lab = lab_of(f"{ARRAY}\n{framed(FRAMES['frame'])}\ny = [x]")
    k = lab.kernel()
    k.go()
    k = k.restart()
    k.go()
    outputs = k.commits("a").outputs

    for name in ("x", "y"):
        assert k[name] is not None
        assert k.parts.live.content_version(name) == outputs[name].version


def test_a_change_is_stored_anew():
    """Setting items changes the same object; the commit above keeps its own."""
    lab = lab_of(ARRAY, b="%%step b\nx[0, 0] = 100")
    k = lab.kernel()
    k.go()
    k = k.restart()
    assert k.go() == []

    assert int(k["x"].sum()) == 376


def test_work_that_fails_leaves_no_commit():
    """The step is RAN, and nothing that was written stays."""
    lab = lab_of(
        "x = da.ones(4, chunks=1)\n"
        "def no(block):\n    raise ZeroDivisionError\n"
        "y = da.arange(4, chunks=1).map_blocks(no, dtype=int)"
    )
    k = lab.kernel()
    outcome = k.run("a")
    groups = [key for key in lab.backend.files if "/o" in key]

    assert "ZeroDivisionError" in outcome.text
    assert k.journal.state.commit("a") is None
    assert groups == []


def test_blocks_that_are_not_what_was_promised_leave_no_commit():
    """They would come back as something else."""
    lab = lab_of(
        "x = da.ones(4, chunks=2).map_blocks(lambda b: b.astype('f4'), dtype='f8')"
    )
    k = lab.kernel()

    assert "float32" in k.run("a").text
    assert k.journal.state.commit("a") is None


def test_blocks_of_unknown_size_stay_a_recipe():
    """Also objects: their work is done again when they are used."""
    lab = lab_of(
        "x = da.arange(9, chunks=4)\nx = x[x > 4]\n"
        "y = da.from_array(np.array(['a', None], dtype=object), chunks=1)"
    )
    lab.kernel().go()
    k = lab.kernel()
    k.go()

    assert stored(k["x"]) is stored(k["y"]) is None
    assert k["x"].compute().tolist() == [5, 6, 7, 8]
    assert k["y"].compute().tolist() == ["a", None]


def test_a_frame_that_arrow_would_change_leaves_no_commit():
    """The message says what to do."""
    lab = lab_of(
        "import dask\nwith dask.config.set({'dataframe.convert-string': False}):\n"
        "    x = dd.from_pandas(pd.DataFrame({'a': [1, 'b', (2,)]}), npartitions=1)"
    )
    k = lab.kernel()

    assert "astype" in k.run("a").text
    assert k.journal.state.commit("a") is None


def test_a_frame_that_comes_back_otherwise_leaves_no_commit():
    """Arrow takes tuples, and gives arrays."""
    lab = lab_of(
        "import dask\nwith dask.config.set({'dataframe.convert-string': False}):\n"
        "    x = dd.from_pandas(pd.DataFrame({'a': [(1, 2), (3, 4)]}), npartitions=1)"
    )
    k = lab.kernel()

    assert "comes back from Arrow as another frame" in k.run("a").text
    assert k.journal.state.commit("a") is None


def test_what_a_plain_cell_made_stays_a_recipe():
    """Nothing is computed before a step runs."""
    made = f"{IMPORTS}\nn = []\nx = da.ones(4, chunks=2)"
    lab = Lab(p=made, a="%%step a\ns = float(x.sum())")
    lab.kernel().go()

    assert not [key for key in lab.backend.files if key.endswith("/c.1")]


def test_a_damaged_chunk_is_told_when_it_is_used():
    """And not before: the others are as they were."""
    lab = lab_of(ARRAY)
    lab.kernel().go()
    (key,) = [key for key in lab.backend.files if key.endswith("c.1.1")]
    data = lab.backend.files[key]
    lab.backend.files[key] = bytes(len(data))
    k = lab.kernel()
    k.go()

    assert k["x"][0, 0].compute() == 0
    with pytest.raises(Exception, match=r"c\.1\.1"):
        k["x"][3, 5].compute()


def test_a_missing_chunk_makes_the_step_run_again():
    """Before anything is replayed."""
    lab = lab_of(ARRAY)
    lab.kernel().go()
    (key,) = [key for key in lab.backend.files if key.endswith("c.1.1")]
    del lab.backend.files[key]

    assert lab.kernel().go() == ["a"]


def test_reading_a_recipe_is_no_change():
    """Dask fills caches while it computes."""
    x = da.arange(6, chunks=2)
    frame = dd.from_pandas(pd.DataFrame({"a": [1, 2, 3]}), npartitions=2)
    frame["b"] = frame.a * 2
    values = [x, x.mean(), frame, xr.Dataset({"v": (("t",), x)})]
    before = [look_of(value) for value in values]

    for value in values:
        value.compute()
    _ = frame.divisions, values[-1].attrs

    assert [look_of(value) for value in values] == before
    assert None not in before


def look_of(value):
    """Return the digest of a value."""
    return look(value, {}).digest
