"""`%nbresume auto` in real kernels: a notebook without headers, killed and resumed."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from real_kernel import LOAD, Kernel, Said, kinds, save

from nbresume.run.view import RunView, StepView
from nbresume.ui.cli import cli

pytestmark = pytest.mark.kernel

ON = "%nbresume auto"
LOG = "open('ran.txt', 'a').write('{}\\n')"
CELLS = {
    "load": LOAD,
    "auto": ON,
    "imports": "import random\nimport numpy as np\nLIMIT = 5",
    "defs": "def double(values):\n    return [2 * v for v in values]\n\n"
    "class Box:\n    def __init__(self, held):\n        self.held = held",
    "rows": f"# Make the rows\n{LOG.format('rows')}\nrows = list(range(LIMIT))",
    "array": f"{LOG.format('array')}\narray = np.arange(6.0).reshape(2, 3)\n"
    "view = array[0]",
    "boxes": f"%%time\n{LOG.format('boxes')}\nbox = Box(rows)",
    "append": f"{LOG.format('append')}\nrows.append(LIMIT)",
    "draw": f"{LOG.format('draw')}\nrandom.seed(3)\ndrawn = random.random()",
    "show": "box.held",
    "slow": f"{LOG.format('slow')}\nopen('begun', 'w').close()\n"
    "import os, time\nif os.path.exists('slowly'):\n    time.sleep(60)\n"
    "doubled = double(rows) + [drawn]",
    "last": f"{LOG.format('last')}\ntotal = sum(doubled) + array.sum()",
}
STEPS = ["rows", "array", "boxes", "append", "draw", "slow", "last"]
NAMES = (
    "[rows, box.held is rows, type(box) is Box, array.tolist(), view.base is array, "
    "drawn, doubled, total, LIMIT]"
)


def _run_all(kernel: Kernel, cells: dict[str, str]) -> dict[str, Said]:
    said = {}
    for cell_id, source in cells.items():
        said[cell_id] = kernel.run(source, cell_id)
        assert said[cell_id].status == "ok", (cell_id, said[cell_id].text)
    return said


def _ran(folder: Path) -> list[str]:
    path = folder / "ran.txt"
    return path.read_text().split() if path.exists() else []


def _view(folder: Path) -> RunView:
    done = CliRunner().invoke(cli, ["status", str(folder / "main.ipynb"), "--json"])
    assert done.exit_code == 0, done.output
    return RunView.from_json(done.stdout.encode())


def _step(folder: Path, cell_id: str) -> StepView:
    return next(s for s in _view(folder).steps if s.name == f"cell-{cell_id}")


def test_ten_plain_cells_that_are_killed_and_resumed(tmp_path):
    """What was committed is replayed, the rest runs, and every name is as without."""
    whole, folder = tmp_path / "whole", tmp_path / "killed"
    for path in (whole, folder):
        path.mkdir()
        save(path / "main.ipynb", *CELLS.items())
    with Kernel(whole) as kernel:
        plain = {n: s for n, s in CELLS.items() if n not in ("load", "auto")}
        _run_all(kernel, plain)
        expected = kernel.evaluate(NAMES)
    text = (folder / "main.ipynb").read_bytes()

    (folder / "slowly").touch()
    with Kernel(folder) as kernel:
        above = {n: CELLS[n] for n in list(CELLS)[: list(CELLS).index("slow")]}
        _run_all(kernel, above)
        kernel.send(CELLS["slow"], "slow")
        until = time.monotonic() + 30
        while not (folder / "begun").exists() and time.monotonic() < until:
            time.sleep(0.01)
        kernel.kill()
    (folder / "slowly").unlink()
    assert [step.name for step in _view(folder).steps] == [f"cell-{n}" for n in STEPS]
    assert _view(folder).resume_from == "cell-slow"
    assert _step(folder, "rows").title == "Make the rows"
    with Kernel(folder) as kernel:
        said = _run_all(kernel, CELLS)
        assert kernel.evaluate(NAMES) == expected

    assert _ran(folder) == [*STEPS[:-1], "slow", "last"]
    assert "[restored]" in said["rows"].text
    assert said["imports"].text == said["defs"].text == ""
    assert {str(step.state) for step in _view(folder).steps} == {"COMMITTED"}
    assert (folder / "main.ipynb").read_bytes() == text


def test_resume_binds_what_the_cells_have_made(tmp_path):
    """After a restart one command brings the names back; nothing runs."""
    save(tmp_path / "main.ipynb", *CELLS.items())
    with Kernel(tmp_path) as kernel:
        _run_all(kernel, CELLS)
        expected = kernel.evaluate(NAMES)
        kernel.kill()
    ran = _ran(tmp_path)
    with Kernel(tmp_path) as kernel:
        loaded = kernel.ok(LOAD, "load").text
        kernel.ok("%steps resume", "x")
        kernel.ok(CELLS["imports"], "imports")
        found = kernel.evaluate(NAMES.replace("type(box) is Box", "True"))

    assert "7 of 7 steps locked" in loaded
    assert found == expected
    assert _ran(tmp_path) == ran


def test_a_cell_that_moves_or_changes_is_the_same_step(tmp_path):
    """A move is no change; an edit runs again what depends on it."""
    cells = {
        "load": LOAD,
        "auto": ON,
        "a": f"{LOG.format('a')}\na = [1]",
        "b": f"{LOG.format('b')}\nb = [2]",
        "c": f"{LOG.format('c')}\nc = a + b",
    }
    save(tmp_path / "main.ipynb", *cells.items())
    with Kernel(tmp_path) as kernel:
        _run_all(kernel, cells)
        order = {n: cells[n] for n in ("load", "auto", "b", "a", "c")}
        save(tmp_path / "main.ipynb", *order.items())
        _run_all(kernel, order)
        assert _ran(tmp_path) == ["a", "b", "c"]
        order["a"] = f"{LOG.format('a')}\na = [7]"
        save(tmp_path / "main.ipynb", *order.items())
        _run_all(kernel, order)

        assert _ran(tmp_path) == ["a", "b", "c", "a", "c"]
        # split: the first half keeps the id, the second one is a new step
        order["a"] = f"{LOG.format('a')}"
        split = {**order, "new": f"{LOG.format('new')}\na = [7]"}
        split = {n: split[n] for n in ("load", "auto", "b", "a", "new", "c")}
        save(tmp_path / "main.ipynb", *split.items())
        _run_all(kernel, split)
        assert kernel.evaluate("c") == "[7, 2]"
        assert _ran(tmp_path)[5:7] == ["a", "new"]
        kernel.kill()
    with Kernel(tmp_path) as kernel:
        before = _ran(tmp_path)
        _run_all(kernel, split)
        assert _ran(tmp_path) == before


def test_headers_work_beside_it_and_off_is_one_command(tmp_path):
    """Options and effects are a header's; off makes plain cells plain again."""
    cells = {
        "load": LOAD,
        "auto": ON,
        "a": f"{LOG.format('a')}\na = [1]",
        "b": f"%%step named\n{LOG.format('b')}\nb = a + [2]",
    }
    save(tmp_path / "main.ipynb", *cells.items())
    with Kernel(tmp_path) as kernel:
        _run_all(kernel, cells)
        assert [s.name for s in _view(tmp_path).steps] == ["cell-a", "named"]
        kernel.ok(cells["a"], "a")
        assert _ran(tmp_path) == ["a", "b"]
        assert "off" in kernel.ok("%nbresume auto off", "x").text
        kernel.ok(cells["a"], "a")

    assert _ran(tmp_path) == ["a", "b", "a"]
    assert kinds(tmp_path / ".nbresume").count("committed") == 2


def test_what_cannot_be_kept_is_made_anew_without_a_word(tmp_path):
    """The plan says so too; values beside it are kept."""
    cells = {
        "load": LOAD,
        "auto": ON,
        "lock": f"import threading\n{LOG.format('lock')}\n"
        "worker = threading.Thread(target=print)",
        "use": f"{LOG.format('use')}\nalive = worker.is_alive()",
    }
    save(tmp_path / "main.ipynb", *cells.items())
    with Kernel(tmp_path) as kernel:
        said = _run_all(kernel, cells)
        assert said["lock"].text == ""
        kernel.kill()
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "load")
        kernel.ok(ON, "auto")
        plan = kernel.ok("%steps plan", "x").text
        said = kernel.ok(cells["lock"], "lock")
        kernel.ok(cells["use"], "use")
        assert kernel.evaluate("alive") == "False"

    assert said.text == ""
    assert "RERUN" in plan.upper()
    assert _ran(tmp_path).count("lock") == 2


def test_without_ids_it_is_refused(tmp_path):
    """A cell could not be known again; nothing is switched on."""
    save(tmp_path / "main.ipynb", LOAD, ON, "a = [1] + [2]")
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD)
        said = kernel.run(ON)
        assert "does not tell which cell it runs" in said.error
        kernel.ok("a = sorted([2, 1])")
    assert not (tmp_path / ".nbresume" / "journal").exists() or (
        "intent" not in kinds(tmp_path / ".nbresume")
    )


def test_a_notebook_without_ids_in_its_file_is_refused(tmp_path):
    """Front ends make up ids for it, which are others in each session."""
    path = tmp_path / "main.ipynb"
    save(path, LOAD, ON)
    whole = json.loads(path.read_text())
    for cell in whole["cells"]:
        del cell["id"]
    path.write_text(json.dumps(whole | {"nbformat_minor": 4}))
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "made-up")
        said = kernel.run(ON, "made-up-2")

    assert "older than nbformat 4.5" in said.error


@pytest.mark.parametrize("line", ["", "on", "auto maybe", "--help"])
def test_other_words_are_refused(tmp_path, line):
    """With what to type."""
    save(tmp_path / "main.ipynb", LOAD)
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        said = kernel.run(f"%nbresume {line}", "c1")

    assert "Type %nbresume auto, or %nbresume auto off" in said.error


def test_headless_it_resumes_too(tmp_path):
    """``nbresume run`` sends the ids of cells."""
    path = tmp_path / "main.ipynb"
    save(path, *CELLS.items())
    whole = json.loads(path.read_text())
    whole["metadata"]["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
    path.write_text(json.dumps(whole))
    for _ in range(2):
        done = CliRunner().invoke(cli, ["run", str(path)])
        assert done.exit_code == 0, done.output

    assert _ran(tmp_path) == STEPS
