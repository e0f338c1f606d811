"""The judge of the ledger: what counts as run twice, lost, or rightly repeated."""

import pytest

STEPS = ("load", "clean", "join", "fit")
WHOLE = "load clean join fit"


def write(path, *runs):
    """Write a ledger with one process for each run."""
    lines = [
        f"{step} {pid}\n" for pid, run in enumerate(runs, 100) for step in run.split()
    ]
    path.write_text("".join(lines))


@pytest.mark.parametrize(
    ("runs", "inside"),
    [
        ([WHOLE], []),
        (["load clean join", "join fit"], ["join"]),
        (["load clean", "join fit"], []),
        (["load", "load clean", "clean join fit"], ["load", "clean"]),
        (["load", "load", WHOLE], ["load", "load"]),
    ],
)
def test_rightful_ledgers_have_no_faults(demo_folder, tmp_path, runs, inside):
    """Only the step that was killed inside may begin again."""
    import ledger

    write(tmp_path / "ledger", *runs)
    marks = ledger.read_marks(tmp_path / "ledger")

    assert ledger.faults(marks, STEPS) == []
    assert ledger.broken_off(marks) == inside


@pytest.mark.parametrize(
    ("runs", "fault"),
    [
        (["load clean join", "clean join fit"], "ran step clean again"),
        (["load clean join", "load join fit"], "ran step load again"),
        (["load clean", "fit"], "step join never ran"),
        (["load clean join"], "step fit never ran"),
        (["load join clean fit"], "kernel 1 ran load join clean fit"),
        (["load clean clean join fit"], "step clean began 2 times"),
        (["load clean train"], "unknown steps: train"),
        ([], "step load never ran"),
    ],
)
def test_wrong_ledgers_are_found(demo_folder, tmp_path, runs, fault):
    """A committed step that ran again and a step that never ran are named."""
    import ledger

    write(tmp_path / "ledger", *runs)

    found = ledger.faults(ledger.read_marks(tmp_path / "ledger"), STEPS)
    assert any(fault in line for line in found), found


def test_line_that_is_being_written_is_not_read(demo_folder, tmp_path):
    """A torn last line is not yet a mark."""
    import ledger

    (tmp_path / "ledger").write_text("load 100\ncle")

    assert ledger.read_marks(tmp_path / "ledger") == [ledger.Mark("load", 100)]
    assert ledger.read_marks(tmp_path / "absent") == []
