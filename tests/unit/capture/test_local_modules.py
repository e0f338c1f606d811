"""Which loaded modules are the user's work."""

import sys
import types

import pytest

from nbresume.capture import local_modules
from nbresume.capture.local_modules import LoadedModules


@pytest.fixture
def loaded():
    """Return the local modules of a process in which every file is the user's."""
    asked = []

    def name_of(path):
        asked.append(path)
        return path

    found = LoadedModules(
        lambda: name_of, digest_of=lambda source: f"digest of {source}"
    )
    found.asked = asked
    return found


def test_a_module_of_the_user_is_noted(loaded, monkeypatch):
    """Its text counts as it was when it was loaded."""
    helper = types.ModuleType("helper_of_mine")
    helper.__file__ = "/project/helper_of_mine.py"
    monkeypatch.setitem(sys.modules, "helper_of_mine", helper)

    loaded.note()

    assert loaded.source_of("helper_of_mine") == helper.__file__


def test_what_keeps_the_steps_is_no_input(loaded):
    """Linked into an environment it lies in a folder of the user, and is not asked."""
    loaded.note()

    assert loaded.source_of("nbresume") == ""
    assert loaded.source_of(local_modules.__name__) == ""
    assert not [path for path in loaded.asked if "/nbresume/capture/" in path]
