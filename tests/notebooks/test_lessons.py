"""The teaching notebooks: each shows its point, and its last cell can fail."""

import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from nbresume.ui.transport import own_sockets

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
LESSONS = (
    "01_first_resume",
    "02_power_cut",
    "03_checkpoint_store",
    "effects",
    "training_loop",
)
PLANTED = {
    # the step is no step any more: it runs in both kernels
    "01_first_resume": ("cells", "%%step load\n", ""),
    # a person who does not look into the ledger before deciding
    "02_power_cut": (
        "set-up",
        "SEED = 2026",
        "SEED = 2026\nimport orders\norders.Ledger.receipt_of = lambda *_: ''",
    ),
    # a writer that lost does not try again
    "03_checkpoint_store": ("race", "            continue", "            return None"),
    # the service forgets the keys that it promised to honor
    "effects": ("honors", "honors_keys=True", "honors_keys=False"),
    # the loop saves less often than is said
    "training_loop": ("cells", "every=50", "every=100"),
}


def lesson(name):
    """Return a lesson as it is committed."""
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def played(notebook, folder, *, to_the_end=False):
    """Run a lesson in a clean kernel, in a copy of the folder with its helpers."""
    shutil.copytree(NOTEBOOKS / "lessons", folder / "lessons")
    with own_sockets("python3") as config:
        client = NotebookClient(
            notebook,
            timeout=300,
            kernel_name="python3",
            config=config,
            allow_errors=to_the_end,
            resources={"metadata": {"path": str(folder)}},
        )
        return client.execute()


@pytest.mark.kernel
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_shows_its_point(name, tmp_path):
    """It runs from top to bottom, and its last cell says that it is so."""
    last = played(lesson(name), tmp_path).cells
    point = next(cell for cell in last if cell.id == "point")

    # one print may arrive in two messages: the line, and the end of the line
    said = "".join(output.get("text", "") for output in point.outputs)
    assert said.splitlines()[-1].startswith("It is so: ")
    # a lab removes its folder, and the kernels are gone with their sockets
    assert [path.name for path in tmp_path.iterdir()] == ["lessons"]


@pytest.mark.kernel
@pytest.mark.long
@pytest.mark.parametrize("name", LESSONS)
def test_the_last_cell_fails_if_the_point_does_not_hold(name, tmp_path):
    """What was planted is found by the last cell."""
    cell_id, former, planted = PLANTED[name]
    notebook = lesson(name)
    cell = next(cell for cell in notebook.cells if cell.id == cell_id)
    assert former in cell.source
    cell.source = cell.source.replace(former, planted)

    cells = played(notebook, tmp_path, to_the_end=True).cells
    point = next(cell for cell in cells if cell.id == "point")

    assert point.outputs[-1].output_type == "error"
    assert point.outputs[-1].ename == "AssertionError"


@pytest.mark.parametrize("name", [*LESSONS, "flights"])
def test_a_lesson_is_committed_as_if_it_was_never_run(name):
    """No output, no number, nothing of the machine; every cell has a name."""
    notebook = lesson(name)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]

    assert [cell.id for cell in code if cell.outputs or cell.execution_count] == []
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    assert notebook.cells[0].cell_type == "markdown"
    assert notebook.metadata.kernelspec.name == "python3"


def test_each_lesson_is_tested():
    """A notebook that is added is run."""
    found = {path.stem for path in NOTEBOOKS.glob("*.ipynb")}
    assert found == {*LESSONS, "flights"}
    assert PLANTED.keys() == set(LESSONS)


def test_what_is_missing_is_said(tmp_path):
    """Without the helpers beside it a lesson says which one it misses."""
    notebook = lesson("01_first_resume")
    notebook.cells = [cell for cell in notebook.cells if cell.id == "set-up"]
    with own_sockets("python3") as config:
        client = NotebookClient(
            notebook,
            kernel_name="python3",
            config=config,
            allow_errors=True,
            resources={"metadata": {"path": str(tmp_path)}},
        )
        said = client.execute().cells[0].outputs[-1]

    assert (said.ename, said.evalue) == (
        "ModuleNotFoundError",
        "the folder lessons is missing beside this notebook",
    )
