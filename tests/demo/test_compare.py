"""The comparison of two dumps: it must see a single bit."""

import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def dump(tmp_path):
    """Return a small dump of the form that the notebook's last cell writes."""
    folder = tmp_path / "one"
    folder.mkdir()
    frames = {
        "trips": pd.DataFrame(
            {
                "departs": pd.date_range("2013-01-01", periods=4, freq="h", tz="UTC"),
                "carrier": pd.Categorical(["AA", "UA", "AA", None]),
                "tailnum": ["N1", None, "N3", "N4"],
                "delay": [0.1, np.nan, -0.0, 3.0],
            }
        ),
        "predictions": pd.Series([True, False], index=[3, 5], name="late"),
    }
    pd.to_pickle(frames, folder / "frames.pkl")
    np.savez(folder / "arrays.npz", probabilities=np.array([0.25, 0.5]))
    pd.to_pickle({"metrics": {"auc": 0.7}, "canceled": 2}, folder / "values.pkl")
    return folder


@pytest.fixture
def twin(dump):
    """Return a second dump with the same values."""
    return shutil.copytree(dump, dump.with_name("two"))


def run_compare(demo_folder, *folders):
    """Return the finished process that compared the dumps."""
    return subprocess.run(
        [sys.executable, str(demo_folder / "compare.py"), *map(str, folders)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def change_frames(folder, change):
    """Rewrite the frames of a dump after a change."""
    frames = pd.read_pickle(folder / "frames.pkl")  # noqa: S301 - written above
    change(frames)
    pd.to_pickle(frames, folder / "frames.pkl")


def flip_last_bit(frames):
    """Flip the lowest bit of one float."""
    bits = np.array([0.1]).view(np.uint64) ^ np.uint64(1)
    frames["trips"].loc[0, "delay"] = bits.view(np.float64)[0]


def lose_sign_of_zero(frames):
    """Make the negative zero a positive one."""
    frames["trips"].loc[2, "delay"] = 0.0


def rename_missing_category(frames):
    """Give the missing carrier a value."""
    frames["trips"].loc[3, "carrier"] = "AA"


def shift_time(frames):
    """Move one time stamp by a microsecond."""
    frames["trips"].loc[1, "departs"] += pd.Timedelta("1us")


def drop_index(frames):
    """Forget which rows the predictions belong to."""
    frames["predictions"] = frames["predictions"].reset_index(drop=True)


def narrow_type(frames):
    """Keep the values but not the type of a column."""
    frames["trips"]["delay"] = frames["trips"]["delay"].astype("float32")


def lose_frame(frames):
    """Lose a frame."""
    del frames["trips"]


def test_equal_dumps_are_equal(demo_folder, dump, twin):
    """Two dumps with the same values differ in nothing."""
    finished = run_compare(demo_folder, dump, twin)

    assert (finished.returncode, finished.stderr) == (0, "")
    assert finished.stdout == "EQUAL  5 values of two runs, bit by bit\n"


def test_planted_bit_is_found_by_the_command(demo_folder, dump, twin):
    """One flipped bit ends the command with 1 and the place of the difference."""
    change_frames(twin, flip_last_bit)

    finished = run_compare(demo_folder, dump, twin)

    assert finished.returncode == 1
    assert finished.stdout.startswith(
        "DIFFERENT  trips['delay']: 1 of 4 values differ, first at 0: "
    )


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (flip_last_bit, "trips['delay']"),
        (lose_sign_of_zero, "trips['delay']"),
        (rename_missing_category, "trips['carrier']"),
        (shift_time, "trips['departs']"),
        (drop_index, "predictions.index"),
        (narrow_type, "trips['delay']: dtype"),
        (lose_frame, "trips is only in"),
    ],
)
def test_each_kind_of_change_is_found(demo_folder, dump, twin, change, place):
    """A change of a value, an index, a type or a name is named, and nothing else."""
    import compare

    change_frames(twin, change)

    found = compare.differences(dump, twin)

    assert [line[: len(place)] for line in found] == [place]


@pytest.mark.parametrize("name", ["auc", "canceled"])
def test_changed_value_is_found(demo_folder, dump, twin, name):
    """A metric and a plain number are compared exactly."""
    import compare

    values = {"metrics": {"auc": 0.7}, "canceled": 2}
    if name == "auc":
        values["metrics"]["auc"] = float(np.nextafter(0.7, 1.0))
    else:
        values["canceled"] = 2.0
    pd.to_pickle(values, twin / "values.pkl")

    assert len(compare.differences(dump, twin)) == 1


def test_changed_array_is_found(demo_folder, dump, twin):
    """Probabilities are compared exactly."""
    import compare

    np.savez(twin / "arrays.npz", probabilities=np.array([0.25, np.nextafter(0.5, 1)]))

    (found,) = compare.differences(dump, twin)
    assert found.startswith("probabilities: 1 of 2 values differ, first at 1: ")


def test_wrong_arguments_are_a_usage_error(demo_folder, dump):
    """One folder cannot be compared."""
    assert run_compare(demo_folder, dump).returncode == 3
