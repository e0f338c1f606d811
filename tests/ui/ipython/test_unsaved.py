"""Steps that ran before their notebook was saved: the file does not have them yet."""

import subprocess
import sys

from nbresume.run.view import RunView

A = "%%step a\nx = 1"
B = "%%step b\ny = x + 1"


def order(shell):
    """Return where the order of the steps comes from, and the order."""
    view = RunView.from_json(shell.run("%steps --json", "v").text.encode())
    return view.order, [step.name for step in view.steps]


def test_steps_that_are_not_saved_yet_stand_below_each_other(bare):
    """Cells that the front end has and the file lacks see what was made above them."""
    bare.save("%load_ext nbresume")
    bare.load()

    for code, cell_id in ((A, "c1"), (B, "c2")):
        assert bare.run(code, cell_id).ok

    assert bare.ip.user_ns["y"] == 2
    assert order(bare) == ("the saved notebook", ["a", "b"])
    assert bare.run("%unload_ext nbresume", "u").ok
    bare.ip.reset()
    bare.load()
    assert bare.run(A, "c1").ok
    assert "[restored]" in bare.run(B, "c2").text


def test_a_step_typed_anew_before_a_save_is_no_second_one(bare):
    """A cell that was deleted before any save takes no name with it."""
    bare.save("%load_ext nbresume")
    bare.load()
    assert bare.run(A, "c1").ok
    assert bare.run(B, "c2").ok

    assert bare.run(A.replace("1", "5"), "c3").ok
    assert bare.run(B, "c2").ok

    assert bare.ip.user_ns["y"] == 6


def test_a_step_that_the_file_has_lost_is_gone(bare):
    """A cell that was saved and then deleted does not count as one to be saved."""
    bare.save("%load_ext nbresume")
    bare.load()
    assert bare.run(A, "c1").ok
    bare.save("%load_ext nbresume", A)
    assert order(bare) == ("the saved notebook", ["a"])

    bare.save("%load_ext nbresume")

    view = RunView.from_json(bare.run("%steps --json", "v").text.encode())
    assert [step.state for step in view.steps] == ["ORPHANED"]


def test_a_notebook_renamed_at_its_first_save_keeps_its_run(bare):
    """The first claim knows the cell that asked for it, though no file had it."""
    bare.save()
    bare.load()
    assert bare.run(A, "c1").ok
    (bare.folder / "main.ipynb").unlink()
    renamed = bare.folder / "renamed.ipynb"
    bare.save("%load_ext nbresume", A)
    (bare.folder / "main.ipynb").rename(renamed)

    done = subprocess.run(
        [sys.executable, "-m", "nbresume", "status", str(renamed), "--json"],
        capture_output=True,
        check=True,
    )

    [step] = RunView.from_json(done.stdout).steps
    assert (step.name, step.state) == ("a", "COMMITTED")
