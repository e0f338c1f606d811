"""Which libraries stand behind values, and which of them have moved."""

import platform
import sys
from fractions import Fraction
from types import ModuleType

import numpy as np
import pandas as pd
import pytest

from nbresume.capture import libraries
from nbresume.capture.libraries import PYTHON, moved, versions_of


@pytest.fixture
def featlib(monkeypatch):
    """Return a library that is imported and tells its version."""
    module = ModuleType("featlib")
    module.__version__ = "1.0"
    monkeypatch.setitem(sys.modules, "featlib", module)
    return module


def test_libraries_are_found_behind_modules_functions_types_and_values(featlib):
    """What belongs to Python or to the notebook is left out."""

    class Mine:
        pass

    Mine.__module__ = "__main__"
    namespace = {
        "np": np,
        "read": pd.read_csv,
        "frame": pd.DataFrame(),
        "kind": np.ndarray,
        "half": Fraction(1, 2),
        "mine": Mine(),
        "one": 1,
    }
    found = versions_of(["absent", *namespace], ["os.path", "featlib.sub:f"], namespace)
    assert found == {
        PYTHON: platform.python_version(),
        "featlib": "1.0",
        "numpy": np.__version__,
        "pandas": pd.__version__,
    }


def test_a_library_that_is_not_imported_is_asked_of_its_distribution():
    """Nothing is imported to learn a version."""
    found = versions_of([], ["msgspec", "no_such_library_at_all"], {})
    assert found.keys() == {PYTHON, "msgspec"}


def test_what_moved_is_told_with_both_versions(featlib):
    """A library that is not here any more says nothing: its import will."""
    featlib.__version__ = "2.0"
    recorded = {"featlib": "1.0", "numpy": np.__version__, "gone_library": "3"}
    assert moved(recorded) == {"featlib": ("1.0", "2.0")}


def test_only_a_minor_version_of_python_counts(monkeypatch):
    """A bug fix of Python is no news."""
    monkeypatch.setattr(libraries.platform, "python_version", lambda: "3.13.0")
    assert moved({PYTHON: "3.13.7"}) == {}
    assert moved({PYTHON: "3.11.7"}) == {PYTHON: ("3.11", "3.13")}
