"""The teaching notebooks as people run them: again, out of order, with things missing.

Whatever a cell cannot do then it says: which name, package or folder it misses.
"""

import os
import re
import shutil

import nbformat
import pytest
from nbclient import NotebookClient
from notebooks.test_lessons import LESSONS, NOTEBOOKS

from nbresume.ui.transport import own_sockets

ABSENT = """
import sys
from importlib.machinery import PathFinder

class Without:
    def __getattr__(self, name):
        return getattr(PathFinder, name)

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            return None
        return PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Without()
"""
"""A ``sitecustomize`` by which packages are as if they were not installed."""


def code_of(name):
    """Return the code cells of a notebook as it is committed."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


class Desk:
    """A folder in which somebody runs the cells of one notebook."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.env = {"FLIGHTS_SAMPLE": "0.02", "TMPDIR": str(folder / "temp")}
        (folder / "temp").mkdir()
        shutil.copytree(NOTEBOOKS / "lessons", folder / "lessons")
        shutil.copy(NOTEBOOKS / f"{name}.ipynb", folder)

    def without(self, *names):
        """Let kernels that are started from now on have no such packages."""
        place = self.folder / "site"
        place.mkdir()
        (place / "sitecustomize.py").write_text(
            ABSENT.replace("{names!r}", repr(set(names)))
        )
        paths = (str(place), os.environ.get("PYTHONPATH", ""))
        self.env["PYTHONPATH"] = os.pathsep.join(filter(None, paths))

    def run(self, cells):
        """Run cells in this order, in one clean kernel; return them with outputs."""
        copies = [nbformat.from_dict(cell) for cell in cells]
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell.source) for cell in copies]
        )
        path = self.folder / f"{self.name}.ipynb"
        with own_sockets("python3") as config:
            client = NotebookClient(
                notebook,
                timeout=300,
                kernel_name="python3",
                config=config,
                allow_errors=True,
                resources={"metadata": {"path": str(self.folder)}},
            )
            around = os.environ | self.env | {"JPY_SESSION_NAME": str(path)}
            return client.execute(env=around).cells

    def left(self):
        """Return what lies in the folders for temporary files."""
        return [path.name for path in (self.folder / "temp").iterdir()]


@pytest.fixture
def desk(tmp_path):
    """Return a function that gives a desk with one notebook on it."""
    return lambda name: Desk(tmp_path, name)


def error_of(cell):
    """Return what a cell ended with, "" if it came to its end."""
    failed = [out for out in cell.outputs if out.output_type == "error"]
    return f"{failed[0].ename}: {failed[0].evalue}" if failed else ""


def text_of(cell):
    """Return what a cell printed or showed."""
    shown = [out.get("text") or out.get("data", {}) for out in cell.outputs]
    return "".join(map(str, shown))


def shows_its_point(cell):
    """Say whether a last cell came to its end, and said so."""
    return text_of(cell).startswith("It is so: ")


@pytest.mark.kernel
@pytest.mark.parametrize("name", LESSONS)
def test_a_cell_that_runs_too_early_says_what_is_missing(desk, name):
    """From the bottom up, each cell names what a cell above would have made."""
    cells = code_of(name)
    above = ["\n".join(c.source for c in cells[:n]) for n in range(len(cells))]

    ran = desk(name).run(reversed(cells[1:]))

    said = list(map(error_of, reversed(ran)))
    assert said.pop() == (
        "RuntimeError: run the cells above first, from the top: this one looks at what "
        "they did"
    )
    for error, before in zip(said, above[1:], strict=False):
        missed = error.removeprefix("NameError: name '").partition("'")[0]
        # one that defines functions misses nothing
        assert not error or re.search(rf"\b{missed}\b", before), error


@pytest.mark.long
@pytest.mark.kernel
def test_the_store_lesson_in_any_order_and_again(desk):
    """Bottom up, then as it is meant, each cell twice, and once more from the top."""
    at = desk("03_checkpoint_store")
    cells = code_of(at.name)

    ran = at.run([*reversed(cells), *cells, *cells[1:], *cells])

    n = len(cells)
    assert shows_its_point(ran[2 * n - 1])
    again = [error_of(cell) for cell in ran[2 * n : 3 * n - 1]]
    # what would write a revision a second time is told that it stands already
    others = [e for e in again if not e.startswith("ConflictError: checkpoint ")]
    assert set(others) == {""}
    assert shows_its_point(ran[3 * n - 2])
    assert shows_its_point(ran[-1])
    assert at.left() == []


@pytest.mark.kernel
@pytest.mark.long
def test_the_first_lesson_in_any_order_and_again(desk):
    """A kill begins in a folder of its own, whatever was run before it."""
    at = desk("01_first_resume")
    set_up, cells, kill, resume, point = code_of(at.name)

    ran = at.run(
        [set_up, cells, resume, kill, resume, resume, point, point, kill, resume, point]
    )

    errors = [error_of(cell) for cell in ran]
    assert errors.pop(2) == "NameError: name 'lab' is not defined"
    assert set(errors) == {""}
    assert all(shows_its_point(ran[place]) for place in (6, 7, 10))
    assert at.left() == []


@pytest.mark.kernel
@pytest.mark.long
@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_twice_in_one_folder(desk, name):
    """In one kernel twice, the last cell once more, and again in another kernel."""
    at = desk(name)
    cells = code_of(name)

    ran = at.run([*cells, *cells, cells[-1]])
    later = at.run(cells)

    n = len(cells)
    assert [error_of(cell) for cell in [*ran, *later] if error_of(cell)] == []
    ends = (ran[n - 1], ran[2 * n - 1], ran[-1], later[-1])
    assert all(map(shows_its_point, ends))
    assert at.left() == []


@pytest.mark.long
@pytest.mark.kernel
def test_flights_from_the_bottom_up_says_which_cell_is_missing(desk):
    """Each step that runs too early names the cell that makes what it misses."""
    at = desk("flights")
    set_up, *steps, dump = code_of(at.name)

    ran = at.run([dump, set_up, *reversed(steps)])

    assert error_of(ran[0]) == "NameError: name 'os' is not defined"
    told = [(error_of(cell), text_of(cell)) for cell in ran[2:-1]]
    assert len(told) == len(steps) - 1
    for error, text in told:
        assert error.startswith("NameError: ")
        missed = error.split("'")[1]
        assert f" makes {missed}: run it first" in text
    # the first step misses nothing
    assert error_of(ran[-1]) == ""


@pytest.mark.kernel
@pytest.mark.long
def test_flights_out_of_order_and_twice(desk):
    """Steps that failed too early run in order then, and are replayed from there on."""
    at = desk("flights")
    set_up, *steps, dump = code_of(at.name)

    ran = at.run([set_up, *reversed(steps), *steps, dump, *steps])
    later = at.run([set_up, *steps, dump])

    n = len(steps)
    assert [error_of(cell) for cell in ran[1 + n :]] == [""] * (2 * n + 1)
    assert [error_of(cell) for cell in later] == [""] * (n + 2)
    for cell in (*ran[-n:], *later[1:-1]):
        assert "[restored] step" in text_of(cell)
    lines = (at.folder / "flights-ledger.log").read_text().splitlines()
    ran_steps = [line.split()[0] for line in lines]
    # each one when it was too early, but for the first; each one when it was not
    assert sorted(ran_steps) == sorted([*names_of(steps)[1:], *names_of(steps)])


def names_of(steps):
    """Return the names in the headers of cells."""
    return [cell.source.split()[1] for cell in steps]


@pytest.mark.kernel
def test_flights_without_its_packages(desk):
    """It names what is missing, and what to type."""
    at = desk("flights")
    at.without("pandas", "sklearn")

    said = at.run(code_of(at.name)[:1])[0]

    assert error_of(said) == (
        "ModuleNotFoundError: pandas, sklearn: python -m pip install 'nbresume[data]' "
        "brings them"
    )


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["01_first_resume", "02_power_cut"])
def test_a_lesson_without_nbresume(desk, name):
    """The first cell says that it is not there, and what to type."""
    at = desk(name)
    at.without("nbresume")

    said = at.run(code_of(name)[:1])[0]

    assert error_of(said) == (
        "ModuleNotFoundError: nbresume: %pip install nbresume brings it"
    )


@pytest.mark.long
@pytest.mark.kernel
def test_the_first_lesson_without_ipywidgets(desk):
    """What is shown without widgets is shown as text and HTML."""
    at = desk("01_first_resume")
    at.without("ipywidgets")

    ran = at.run(code_of(at.name))

    assert shows_its_point(ran[-1])


@pytest.mark.kernel
@pytest.mark.long
def test_the_power_cut_without_ipywidgets(desk):
    """The figures are there, and in place of the sliders what to type."""
    at = desk("02_power_cut")
    at.without("ipywidgets")
    cells = code_of(at.name)
    typed = nbformat.v4.new_code_cell("desk.go(4, 0); desk.panel")

    ran = at.run([*cells[:2], typed, *cells[2:]])

    shown = text_of(ran[1])
    assert "Executions per step" in shown
    assert "The sliders need ipywidgets: <code>%pip install ipywidgets" in shown
    assert "The power went in <b>ship</b> (begun)." in text_of(ran[2])
    assert shows_its_point(ran[-1])
