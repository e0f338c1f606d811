"""A patch of a library is told; process state and one's own classes are none."""

import os
import statistics
import sys
from fractions import Fraction

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from nbresume.capture.patches import patched


class Mine:
    """A class of this module, which an import finds."""


@pytest.mark.parametrize(
    ("value", "path", "told"),
    [
        (statistics, "mean", "statistics.mean"),
        (pd, "DataFrame.total", "pandas.DataFrame.total"),
        (pd.DataFrame, "total", f"{pd.DataFrame.__module__}.DataFrame.total"),
        (pd, "options_of_mine[]", "pandas.options_of_mine[]"),
        (sys, "modules[]", "sys.modules[]"),
        (Mine, "flag", f"{Mine.__module__}.Mine.flag"),
    ],
)
def test_a_patched_library_is_told(value, path, told):
    """Another kernel imports it without the patch."""
    assert patched([("name", path)], {"name": value}) == {
        "name": f"it replaced {told}, which is not so in another kernel"
    }


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (os, "environ[]"),
        (sys, "path"),
        (sys, "path[]"),
        (pd, "options.display.max_rows"),
        (plt, "rcParams[]"),
        (Fraction(1, 2), "numerator"),
        (type("Own", (), {"__module__": "__main__"}), "flag"),
    ],
)
def test_process_state_and_the_notebook_s_own_values_are_no_patch(value, path):
    """Process state is kept, and one's own classes are captured as values."""
    assert patched([("name", path)], {"name": value}) == {}


def test_a_name_that_is_gone_was_not_patched():
    """The step deleted it itself."""
    assert patched([("name", "a")], {}) == {}
