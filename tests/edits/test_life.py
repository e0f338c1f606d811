"""What a notebook lives through: renamed, moved, copied, merged, reordered, shared.

Each time its user finds what they would expect, and is told what was done. The
kernels are processes of their own.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
from books import LOAD, saved

pytestmark = pytest.mark.kernel

CELLS = (
    ("setup", LOAD),
    ("c-load", "%%step load\nrows = [3, 1, 2]"),
    ("c-sort", "%%step sort\nordered = sorted(rows)"),
    ("c-top", "%%step top\ntop = ordered[-1]\nprint('top', top)"),
)
MORE = ("c-low", "%%step low\nlow = ordered[0]")


def edited(cells, **texts):
    """Return the cells with other texts, by name of the step."""
    return tuple(
        (cell, texts.get(cell.removeprefix("c-"), source)) for cell, source in cells
    )


class Desk:
    """One folder with notebooks, and the kernels that people start there."""

    def __init__(self, stage, folder) -> None:
        self._stage = stage
        self.folder = folder

    def run(self, cells=None, notebook="main.ipynb", *, only=None, **more):
        """Run all cells in a new kernel; save the notebook before, if it is given."""
        path = self.folder / notebook
        if cells is not None:
            path.write_text(saved(cells))
        else:
            cells = [
                (cell["id"], "".join(cell["source"]))
                for cell in json.loads(path.read_text())["cells"]
            ]
        chosen = [cell for cell in cells if only is None or cell[0] in only]
        request = {
            "clean": False,
            "folder": str(self.folder),
            "notebook": notebook,
            "runs": [{"cells": chosen, "files": {}, "saved": ""}],
            **more,
        }
        (answer,) = self._stage.ask(request)
        return Ran(answer)

    def git(self, *words):
        """Run git in the folder."""
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        ).stdout


class Ran:
    """What became of a Run All."""

    def __init__(self, answer) -> None:
        self.ran = [cell for cell in answer["ran"] if cell != "setup"]
        self.said = "".join(answer["said"].values())
        self.said_by = answer["said"]
        self.error = answer["error"]
        self.failed = answer["failed"]
        self.values = answer["text"]
        self.shown = answer["texts"]


@pytest.fixture
def desk(stage, tmp_path):
    """Return a folder with a notebook of three steps that has run."""
    made = Desk(stage, tmp_path)
    first = made.run(CELLS)
    assert first.ran == ["c-load", "c-sort", "c-top"], first.error
    return made


# -- another name, another place --------------------------------------------------


def test_renamed_it_goes_on(desk):
    """Its run is found by its cells, and that is said."""
    (desk.folder / "main.ipynb").rename(desk.folder / "final.ipynb")
    found = desk.run(notebook="final.ipynb")

    assert found.ran == []
    assert "this notebook was main.ipynb before: its steps are taken over" in found.said
    assert "top 3" in found.shown["c-top"]


def test_renamed_and_back_it_goes_on(desk):
    """Each name finds the same run."""
    (desk.folder / "main.ipynb").rename(desk.folder / "final.ipynb")
    desk.run(edited(CELLS, top="%%step top\ntop = -1"), notebook="final.ipynb")
    (desk.folder / "final.ipynb").rename(desk.folder / "main.ipynb")
    back = desk.run()

    assert back.ran == []
    assert back.values["top"] == "int:-1"


def test_moved_with_its_store_it_goes_on(desk, tmp_path):
    """The folder has another path now."""
    elsewhere = tmp_path.parent / f"{tmp_path.name}-moved"
    tmp_path.rename(elsewhere)
    moved = Desk(desk._stage, elsewhere).run()

    assert moved.ran == []
    assert moved.error == ""


def test_moved_without_its_store_it_begins_anew(desk, tmp_path):
    """A store belongs to its folder."""
    other = tmp_path / "other"
    other.mkdir()
    shutil.move(tmp_path / "main.ipynb", other / "main.ipynb")
    moved = Desk(desk._stage, other).run()

    assert moved.ran == ["c-load", "c-sort", "c-top"]


def test_a_copy_begins_a_run_of_its_own(desk):
    """It is told how to go on with the other one; that one stays as it is."""
    shutil.copy(desk.folder / "main.ipynb", desk.folder / "copy.ipynb")
    copy = desk.run(notebook="copy.ipynb")
    origin = desk.run()

    assert copy.ran == ["c-load", "c-sort", "c-top"]
    assert "looks like a copy of main.ipynb" in copy.said
    assert "NBRESUME_RUN=" in copy.said
    assert origin.ran == []


def test_a_copied_folder_goes_on_by_itself(desk, tmp_path):
    """Both folders have a store, and what one does the other does not see."""
    twin = tmp_path.parent / f"{tmp_path.name}-twin"
    shutil.copytree(tmp_path, twin)
    other = Desk(desk._stage, twin)
    there = other.run(edited(CELLS, load="%%step load\nrows = [9]"))
    here = desk.run()

    assert there.ran == ["c-load", "c-sort", "c-top"]
    assert here.ran == []
    assert (there.values["top"], here.values["top"]) == ("int:9", "int:3")


def test_run_from_another_folder_it_finds_its_store(desk, tmp_path):
    """The store lies beside the notebook, wherever the kernel was started."""
    (tmp_path / "sub").mkdir()
    away = desk.run(cwd=str(tmp_path / "sub"))

    assert away.ran == []
    assert not (tmp_path / "sub" / ".nbresume").exists()


# -- git ----------------------------------------------------------------------------


def test_branches_back_and_forth_find_their_commits(desk):
    """Each version finds its own work by its key, and nothing runs twice."""
    other = edited(CELLS, load="%%step load\nrows = [3, 1, 7]")
    first = desk.run(other)
    back = desk.run(CELLS)
    again = desk.run(other)

    assert first.ran == ["c-load", "c-sort", "c-top"]
    assert (back.ran, again.ran) == ([], [])
    assert (back.values["top"], again.values["top"]) == ("int:3", "int:7")
    assert "an earlier commit has exactly this code" in again.said


def test_two_branches_that_each_add_a_step_are_merged(desk):
    """Both steps keep what they did on their branches."""
    left = (*CELLS, MORE)
    right = (*CELLS, ("c-len", "%%step len\ncount = len(ordered)"))
    desk.run(left)
    desk.run(right)
    merged = desk.run((*left, right[-1]))

    assert merged.ran == []
    assert (merged.values["low"], merged.values["count"]) == ("int:1", "int:3")


def test_a_merge_by_git_itself(desk):
    """The file that git makes of two branches is a notebook like any other."""
    path = desk.folder / "main.ipynb"

    def write(cells):
        path.write_text(json.dumps(json.loads(saved(cells)), indent=1))

    write(CELLS)
    desk.git("init", "-q", "-b", "main")
    desk.git("add", "main.ipynb")
    desk.git("commit", "-qm", "one")
    desk.git("checkout", "-qb", "left")
    write((CELLS[0], ("c-zero", "%%step zero\nzero = 0"), *CELLS[1:]))
    desk.git("commit", "-qam", "left")
    desk.run()
    desk.git("checkout", "-q", "main")
    write((*CELLS, MORE))
    desk.git("commit", "-qam", "right")
    desk.run()
    desk.git("merge", "-q", "left", "-m", "both")
    merged = desk.run()

    assert merged.ran == []
    assert merged.error == ""
    assert (merged.values["zero"], merged.values["low"]) == ("int:0", "int:1")
    assert ".nbresume" not in desk.git("status", "--porcelain")


def test_a_merge_with_two_steps_of_one_name_refuses_the_second(desk):
    """Nothing is guessed: the message names the cell that has the name."""
    twin = ("c-other", "%%step top\ntop = ordered[0]")
    merged = desk.run((*CELLS, twin))

    assert merged.ran == []
    assert merged.failed == "c-other"
    assert "its name is used by another cell (code cell " in merged.error
    assert "Give this step a name of its own" in merged.error


def test_a_merge_with_one_cell_id_twice(desk):
    """Two steps under one id: both run, and each keeps its own work."""
    twin = ("c-top", "%%step low\nlow = ordered[0]")
    merged = desk.run((*CELLS, twin))
    again = desk.run()

    assert merged.error == ""
    assert (merged.values["top"], merged.values["low"]) == ("int:3", "int:1")
    assert again.error == ""
    assert again.ran == []
    assert (again.values["top"], again.values["low"]) == ("int:3", "int:1")


def test_conflict_marks_are_no_notebook(desk):
    """The kernel's cells still run; the order comes from the records, as told."""
    path = desk.folder / "main.ipynb"
    path.write_text("<<<<<<< HEAD\n" + path.read_text())
    request = {
        "clean": False,
        "folder": str(desk.folder),
        "runs": [{"cells": CELLS, "files": {}, "saved": ""}],
    }
    (answer,) = desk._stage.ask(request)

    assert answer["error"] == ""
    assert [cell for cell in answer["ran"] if cell != "setup"] == []


# -- cells --------------------------------------------------------------------------


def test_reordered_where_nothing_depends_nothing_runs(desk):
    """The place of a cell is no input."""
    desk.run((*CELLS, MORE))
    moved = desk.run((*CELLS[:3], MORE, CELLS[3]))

    assert moved.ran == []
    assert moved.error == ""


def test_reordered_above_what_it_reads_it_fails_as_it_would(desk):
    """A step that stands above its input does not get it from below."""
    setup, load, sort, top = CELLS
    moved = desk.run((setup, sort, load, top))

    assert moved.failed == "c-sort"
    assert moved.error.startswith("NameError")
    assert "1 of 3 steps locked; goes on at sort" in moved.said


def test_split_the_new_part_runs(desk):
    """The old cell is edited, the new one is new; what they leave is the same."""
    one = ("c-load", "%%step load\nrows = [3, 1, 2]")
    two = ("c-new", "%%step order\nordered = sorted(rows)")
    rest = ("c-sort", "%%step sort\nlast = len(ordered)")
    split = desk.run((CELLS[0], one, two, rest, CELLS[3]))

    assert split.ran == ["c-new", "c-sort"]
    assert split.values["top"] == "int:3"
    assert "added order" in split.said


def test_renamed_step_keeps_its_work(desk):
    """The same cell under another name."""
    renamed = desk.run(edited(CELLS, sort="%%step sorted\nordered = sorted(rows)"))

    assert renamed.ran == []
    assert "step sort is called sorted now" in renamed.said


def test_a_deleted_step_is_told(desk):
    """What it made is not there any more for what stands below."""
    setup, load, _, top = CELLS
    deleted = desk.run((setup, load, top))

    assert deleted.failed == "c-top"
    assert deleted.error.startswith("NameError")
    assert "1 of 2 steps locked; goes on at top" in deleted.said
    assert "removed sort" in deleted.said


# -- parameters and people -------------------------------------------------------------


def test_injected_parameters_are_inputs(desk):
    """A papermill cell comes and goes; each value finds its own commits."""
    base = (
        CELLS[0],
        ("c-par", "size = 2"),
        ("c-use", "%%step use\ndouble = size * 2"),
    )
    injected = (*base[:2], ("injected", "# Parameters\nsize = 5"), base[2])
    first = desk.run(base, notebook="p.ipynb")
    with_five = desk.run(injected, notebook="p.ipynb")
    back = desk.run(base, notebook="p.ipynb")
    again = desk.run(injected, notebook="p.ipynb")

    ran = [one.ran for one in (first, with_five, back, again)]
    assert [[c for c in r if c == "c-use"] for r in ran] == [
        ["c-use"],
        ["c-use"],
        [],
        [],
    ]
    assert again.values["double"] == "int:10"
    assert back.values["double"] == "int:4"


def test_another_users_kernel_is_refused_until_it_is_trusted(desk, tmp_path):
    """Bytes under another key are not loaded; the message says what to type."""
    other = {"JUPYTER_DATA_DIR": str(tmp_path / "other-user")}
    theirs = desk.run(env=other)
    subprocess.run(
        [sys.executable, "-m", "nbresume", "trust", str(tmp_path / ".nbresume")],
        env={**os.environ, **other},
        check=True,
        capture_output=True,
    )
    trusted = desk.run(env=other)

    assert theirs.ran == []
    assert "nbresume trust" in theirs.error
    assert (trusted.ran, trusted.values["top"]) == ([], "int:3")
