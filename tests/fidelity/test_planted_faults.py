"""The checks of the other tests catch what they are meant to catch.

Each test plants one fault in the capture and expects one named check to go red that
is green without it.
"""

import importlib.util
import types
from pathlib import Path

from unit.run.fakes import Lab

from nbresume.capture import buffers, definitions, denied, live, sharing


def _load(name):
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


IDENTITY = _load("test_identity")
DENIED = _load("test_denied")


def identity_of(case):
    """Return what `test_identity` finds wrong with one of its cases."""
    return IDENTITY.problems_of(IDENTITY.CASES[case])


def silently_kept(tmp_path):
    """Return the kinds of `test_denied` that a step keeps without a word."""
    kinds = ("file to write", "held lock", "thread", "process", "future", "generator")
    kept = []
    for number, kind in enumerate(kinds):
        folder = tmp_path / f"{number}"
        folder.mkdir(parents=True)
        lab = Lab(a="%%step a\nx = make()")
        made = []
        lab.tools["make"] = lambda kind=kind, folder=folder, made=made: (
            made.append(DENIED.CASES[kind](folder)) or made[0]
        )
        kernel = lab.kernel()
        said = kernel.run("a").text
        if "committed without x" not in said:
            kept.append(kind)
        kernel.kill()
        if kind == "held lock":
            made[0].release()
        else:
            DENIED._close(made[0])
    return kept


def test_no_sharing_scan(monkeypatch):
    """What two names share deep inside would come back twice."""
    case = "shared deep in two names"
    assert identity_of(case) == []
    monkeypatch.setattr(sharing, "shared_objects", lambda *_: {})

    assert identity_of(case) != []


def test_a_view_is_stored_as_a_copy(monkeypatch):
    """A change of the array would not be seen through the view."""
    case = "views of views"
    assert identity_of(case) == []
    monkeypatch.setattr(
        buffers.Buffers,
        "_view",
        lambda self, value, owner: value.copy().__reduce_ex__(5),
    )

    assert identity_of(case) != []


def test_an_alias_edge_is_dropped(monkeypatch):
    """A name whose value changed through another one would keep its old value."""
    case = "alias, dict, view, change in place"
    assert identity_of(case) == []
    whole = live.Live.sharing

    def drops_one(self, names):
        """Miss one of the names that share an object with these."""
        names = set(names)
        found = whole(self, names)
        return found - set(sorted(found - names)[:1])

    monkeypatch.setattr(live.Live, "sharing", drops_one)

    assert identity_of(case) != []


def test_cells_of_closures_are_not_shared(monkeypatch):
    """Two functions over one variable would each get their own."""
    case = "closures over one cell"
    assert identity_of(case) == []
    whole = sharing.shared_objects

    def without_cells(*arguments):
        shared = whole(*arguments)
        return {
            key: found
            for key, found in shared.items()
            if not isinstance(found[0], types.CellType)
        }

    monkeypatch.setattr(sharing, "shared_objects", without_cells)

    assert identity_of(case) != []


def test_no_reducer_of_cells(monkeypatch):
    """A variable of two functions would come back without its value."""
    case = "closures over one cell"
    assert identity_of(case) == []
    monkeypatch.setattr(
        definitions.Definitions, "_cell", lambda self, cell: (types.CellType, ())
    )

    assert identity_of(case) != []


def test_an_empty_deny_list(monkeypatch, tmp_path):
    """Handles, locks and threads would be kept, and come back wrong."""
    assert silently_kept(tmp_path / "whole") == []
    monkeypatch.setattr(denied, "_REASONS", {})
    monkeypatch.setattr(denied, "_BUILTIN", {})
    monkeypatch.setattr(denied, "_LOCKS", frozenset())
    monkeypatch.setattr(denied, "_by_type", {})

    assert silently_kept(tmp_path / "empty") != []
