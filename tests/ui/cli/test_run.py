"""`nbresume run`: exit codes, outputs as they come, resuming, and what is refused."""

import json
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from real_kernel import LOAD, hashes, kinds, save, wait_for

pytestmark = pytest.mark.kernel

NOTE = (
    "def note(name):\n    with open('ledger.txt', 'a') as file:\n"
    "        file.write(name + '\\n')"
)
A = "%%step a\nnote('a')\nx = 2\nprint('a says', x)"
B = "%%step b\nnote('b')\ny = x * 21\ny"
CELLS = (LOAD, NOTE, A, B)


@pytest.fixture
def notebook(tmp_path):
    """Return a saved notebook of two steps."""
    save(tmp_path / "nb.ipynb", *CELLS)
    return tmp_path / "nb.ipynb"


def ledger(notebook):
    """Return which bodies ran, in order."""
    path = notebook.parent / "ledger.txt"
    return path.read_text().split() if path.exists() else []


def texts(path):
    """Return what each code cell of a notebook file shows."""
    found = nbformat.read(path, as_version=4)
    shown = []
    for cell in found.cells:
        parts = [
            o.get("text") or o.get("data", {}).get("text/plain") or o.get("evalue", "")
            for o in cell.outputs
        ]
        shown.append("".join(parts))
    return shown


def test_it_runs_and_resumes(in_child, notebook):
    """The first run does the work; the second replays it and writes its outputs."""
    first = in_child("run", notebook)
    outputs = texts(notebook)
    records = kinds(notebook.parent / ".nbresume")
    second = in_child("run", notebook)

    assert (first.code, second.code) == (0, 0), first.said + second.said
    assert "all cells done" in first.out
    assert outputs[2] == "a says 2\n"
    assert outputs[3] == "42"
    assert ledger(notebook) == ["a", "b"]
    assert "[restored] step a" in texts(notebook)[2]
    assert "a says 2" in texts(notebook)[2]
    assert kinds(notebook.parent / ".nbresume") == records


def test_the_progress_bar_names_the_steps(in_child, notebook):
    """Standard error shows a bar with the names of the steps; output stays clean."""
    done = in_child("run", notebook)

    assert "step a" in done.err
    assert "step b" in done.err
    assert "4/4" in done.err
    assert done.out == "nb.ipynb: all cells done\n"


def test_another_output_leaves_the_notebook(in_child, notebook):
    """With `-o` the outputs go there, and the notebook keeps every byte."""
    before = notebook.read_bytes()

    done = in_child("run", notebook, "-o", notebook.parent / "out.ipynb")

    assert done.code == 0, done.said
    assert notebook.read_bytes() == before
    assert texts(notebook.parent / "out.ipynb")[3] == "42"


@pytest.mark.long
def test_parameters_are_set_behind_their_cell(in_child, tmp_path):
    """`-p NAME VALUE` wins over the cell tagged parameters, and makes steps stale."""
    path = tmp_path / "nb.ipynb"
    save(path, LOAD, "n = 1", "%%step a\nm = n * 2\nm")
    found = json.loads(path.read_text())
    found["cells"][1]["metadata"]["tags"] = ["parameters"]
    path.write_text(json.dumps(found))
    out = tmp_path / "out.ipynb"

    shown = []
    for value in ("5", "'text'", "5"):
        done = in_child("run", path, "-p", "n", value, "-o", out)
        assert done.code == 0, done.said
        shown.append(texts(out)[3])

    assert shown[0] == "10"
    assert shown[1].endswith("'texttext'")
    assert "10" in shown[2]


@pytest.mark.long
def test_parameters_in_place_do_not_pile_up(in_child, tmp_path):
    """A second run with `-p` replaces the cell of the first one."""
    path = tmp_path / "nb.ipynb"
    save(path, LOAD, "%%step a\nm = n * 2\nm")
    for value in ("5", "6"):
        done = in_child("run", path, "-p", "n", value)
        assert done.code == 0, done.said

    found = nbformat.read(path, as_version=4)
    ids = [cell.id for cell in found.cells]
    assert ids.count("nbresume-parameters") == 1
    assert len(set(ids)) == 3
    assert texts(path)[2].endswith("12")


def test_a_cell_that_fails_is_one(in_child, notebook):
    """A cell that raises ends the run with 1, says where, and keeps its outputs."""
    save(notebook, *CELLS, "%%step c\nprint('before')\n1 / 0", "never = 1")

    done = in_child("run", notebook)

    assert done.code == 1
    assert "step c: ZeroDivisionError: division by zero" in done.err
    assert "before" in texts(notebook)[4]
    assert texts(notebook)[5] == ""
    assert in_child("run", notebook).code == 1
    assert ledger(notebook) == ["a", "b"]


def test_a_plain_cell_that_fails_is_one(in_child, notebook):
    """A plain cell that raises ends the run with 1 and is named by its place."""
    save(notebook, *CELLS, "nonsense")

    done = in_child("run", notebook)

    assert done.code == 1
    assert "cell 5: NameError" in done.err


def test_a_name_that_is_missed_is_told_with_its_cell(in_child, notebook):
    """What the kernel says below a NameError stands in the terminal, too."""
    save(notebook, "%load_ext nbresume", "print(late)", "%%step a\nlate = 1")

    done = in_child("run", notebook)

    assert done.code == 1
    assert (
        "cell 2: NameError: name 'late' is not defined. step a, further down, makes "
        "late: run the cells from the top" in done.err
    )


@pytest.mark.long
def test_a_kernel_that_dies_in_a_step_with_effects_says_what_comes_first(
    in_child, notebook
):
    """Running the command again would be refused: the decision is named first."""
    save(notebook, LOAD, NOTE, DIES.format("--effects"))

    done = in_child("run", notebook)

    assert done.code == 1
    assert "may have acted on the outside" in done.err
    typed = f"nbresume resolve {notebook} c retry | evidence | abandon --because TEXT"
    assert f"Look outside, type {typed}, and run the command again." in done.err
    assert in_child("run", notebook).code == 2
    undecided = in_child("resolve", notebook, "c", "retry")
    assert f"Type nbresume resolve {notebook} c retry --because TEXT" in undecided.err


DIES = "%%step c {}\nnote('c')\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


def test_a_kernel_that_dies_is_one_and_resumes(in_child, notebook):
    """When the kernel dies the run ends with 1, says so, and goes on later."""
    save(notebook, *CELLS, DIES.format(""))
    done = in_child("run", notebook)

    assert done.code == 1
    assert "the kernel died in step c" in done.err
    assert "it goes on from the last committed step" in done.err
    assert texts(notebook)[2] == "a says 2\n"
    save(notebook, *CELLS, "%%step c\nnote('c')\nz = y")
    again = in_child("run", notebook)
    assert again.code == 0, again.said
    assert ledger(notebook) == ["a", "b", "c", "c"]


def kernel_spec(folder, name, code):
    """Install a kernel that is this Python with some code; return how it is found."""
    spec = folder / "data" / "kernels" / name
    spec.mkdir(parents=True)
    argv = [sys.executable, "-c", code, "-f", "{connection_file}"]
    described = {"argv": argv, "display_name": name, "language": "python"}
    (spec / "kernel.json").write_text(json.dumps(described))
    return {"JUPYTER_PATH": str(folder / "data")}


def test_a_kernel_that_does_not_start_is_refused(in_child, notebook, tmp_path):
    """A kernel that ends before it answers is 2, with what it said."""
    env = kernel_spec(tmp_path, "broken", "raise SystemExit('no such library')")

    done = in_child("run", notebook, "--kernel", "broken", env=env)

    assert done.code == 2, done.said
    assert "its kernel did not start" in done.err
    assert "no such library" in done.err
    assert ledger(notebook) == []


@pytest.mark.long
def test_a_kernel_that_keeps_dying_is_stopped(in_child, notebook):
    """A step that kills its kernel is rerun three times unattended, then refused."""
    save(notebook, *CELLS, DIES.format(""))

    codes = [in_child("run", notebook).code for _ in range(5)]

    assert codes == [1, 1, 1, 1, 2]
    assert ledger(notebook).count("c") == 4


@pytest.mark.long
def test_a_step_in_doubt_is_refused_without_retry(in_child, notebook):
    """A step with effects that was cut off is 2; `--retry` is the policy to run it."""
    save(notebook, *CELLS, DIES.format("--effects"))
    assert in_child("run", notebook).code == 1
    save(notebook, *CELLS, "%%step c --effects\nnote('c')\nz = y")

    refused = in_child("run", notebook)
    assert refused.code == 2
    assert "ambiguous (in doubt)" in refused.err
    assert "nbresume resolve" in refused.err
    assert " c retry | evidence | abandon" in refused.err
    assert ledger(notebook).count("c") == 1
    done = in_child("run", notebook, "--retry")
    assert done.code == 0, done.said
    assert ledger(notebook).count("c") == 2


def test_outputs_are_written_as_it_goes(notebook):
    """While a later cell still runs, the file holds the outputs of earlier ones."""
    wait = (
        "import pathlib, time\npathlib.Path('here').touch()\n"
        "while not pathlib.Path('go').exists():\n    time.sleep(0.01)"
    )
    save(notebook, *CELLS, wait)
    child = subprocess.Popen(
        [sys.executable, "-m", "nbresume", "run", str(notebook)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(notebook.parent / "here")
        seen = texts(notebook)
    finally:
        (notebook.parent / "go").touch()
        code = child.wait(timeout=30)

    assert seen[2] == "a says 2\n"
    assert code == 0
    assert not list(notebook.parent.glob(".nb.ipynb.*"))


def test_ctrl_c_of_the_command_ends_the_kernel(notebook):
    """Ctrl-C of a headless run leaves no kernel behind, and the run resumes."""
    body = "%%step c\nimport time\nnote('c')\nopen('here', 'w').close()\ntime.sleep(60)"
    save(notebook, *CELLS, body, "import os")
    child = subprocess.Popen(
        [sys.executable, "-m", "nbresume", "run", str(notebook)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_for(notebook.parent / "here")
    kernels = _children(child.pid)
    os.kill(child.pid, signal.SIGINT)
    _, err = child.communicate(timeout=60)

    assert child.returncode != 0
    until = time.monotonic() + 10
    while any(_alive(pid) for pid in kernels) and time.monotonic() < until:
        time.sleep(0.05)
    assert [pid for pid in kernels if _alive(pid)] == []
    assert "nbresume/ui" not in err
    assert "the kernel died in step c" in err


def _children(pid):
    path = f"/proc/{pid}/task/{pid}/children"
    with open(path) as file:  # noqa: PTH123
        return [int(word) for word in file.read().split()]


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


# -- refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no json",
        "[1]",
        '{"cells": 1}',
        '{"worksheets": []}',
        '{"cells":[1]}',
        '{"cells": [{"cell_type": "code"}], "nbformat": 4, "nbformat_minor": 5}',
    ],
)
def test_what_is_no_notebook_is_refused(nbresume, tmp_path, text):
    """A file that is no notebook is 2, one sentence, and stays as it is."""
    path = tmp_path / "nb.ipynb"
    path.write_text(text)

    done = nbresume("run", path)

    assert done.code == 2
    assert "notebook" in done.err
    assert "Save it in Jupyter" in done.err or "nbconvert" in done.err
    assert len(done.err.splitlines()) == 1
    assert path.read_text() == text
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_that_are_no_text_are_refused(nbresume, tmp_path):
    """A binary file is 2."""
    (tmp_path / "nb.ipynb").write_bytes(b"\xff\xfe\x00\x01")

    assert nbresume("run", tmp_path / "nb.ipynb").code == 2


def test_a_missing_file_is_refused(nbresume, tmp_path):
    """A notebook that does not exist is 2; so is a folder."""
    missing, folder = nbresume("run", tmp_path / "no.ipynb"), nbresume("run", tmp_path)

    assert (missing.code, folder.code) == (2, 2)
    assert "No such file" in missing.err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_kernel_is_refused(in_child, notebook):
    """A kernel that is not installed is 2, with how to list the others."""
    before = hashes(notebook.parent)

    done = in_child("run", notebook, "--kernel", "nowhere")

    assert done.code == 2
    assert "there is no kernel named nowhere" in done.err
    assert "jupyter kernelspec list" in done.err
    assert hashes(notebook.parent) == before


def test_an_output_that_cannot_be_written_is_refused(in_child, notebook):
    """An output folder that does not exist is told before anything runs."""
    done = in_child("run", notebook, "-o", notebook.parent / "no" / "out.ipynb")

    assert done.code == 2
    assert "out.ipynb" in done.err
    assert ledger(notebook) == []


def test_a_kernel_without_nbresume_is_refused(in_child, notebook, tmp_path):
    """A kernel that cannot import nbresume is 2, with what to install."""
    hide = (
        "import sys\n"
        "class Hidden:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'nbresume':\n"
        "            raise ModuleNotFoundError('No module named ' + repr(name))\n"
        "sys.meta_path.insert(0, Hidden())\n"
        "from ipykernel.kernelapp import launch_new_instance\n"
        "launch_new_instance()"
    )
    env = kernel_spec(tmp_path, "bare", hide)

    done = in_child("run", notebook, "--kernel", "bare", env=env)

    assert done.code == 2, done.said
    assert "the notebook's kernel has no nbresume" in done.err
    assert "pip install nbresume" in done.err
    assert not (notebook.parent / ".nbresume").exists()


def test_a_notebook_that_does_not_load_nbresume_is_refused(in_child, notebook):
    """Steps without `%load_ext nbresume` are 2, with what to type."""
    save(notebook, NOTE, A)

    done = in_child("run", notebook)

    assert done.code == 2
    assert "%load_ext nbresume" in done.err
    assert ledger(notebook) == []


def test_a_misplaced_header_is_refused(in_child, notebook):
    """A `%%step` further down in its cell is 2, with where to put it."""
    save(notebook, LOAD, NOTE, "k = 1\n" + A)

    done = in_child("run", notebook)

    assert done.code == 2
    assert "first line of a cell" in done.err
    assert ledger(notebook) == []


@pytest.mark.parametrize("header", ["%%step", "%%step a/b", "%%step a --nope"])
def test_a_bad_header_is_refused(in_child, notebook, header):
    """A header that makes no sense is 2, and names the cell."""
    save(notebook, LOAD, f"{header}\nk = 1")

    done = in_child("run", notebook)

    assert done.code == 2, done.said
    assert "%%step" in done.err


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "nb.ipynb", "--nope"),
        ("run", "nb.ipynb", "-p", "n"),
        ("run", "nb.ipynb", "other.ipynb"),
        ("nope",),
        ("status",),
        ("history", "nb.ipynb", "a", "b"),
        ("resolve", "nb.ipynb", "a", "perhaps"),
        ("rerun", "nb.ipynb", "a"),
        ("--nope",),
    ],
)
def test_a_usage_error_is_three(nbresume, words):
    """A command that cannot be understood is 3, with how to get help."""
    done = nbresume(*words)

    assert done.code == 3
    assert "Error" in done.err


def test_a_parameter_name_that_is_none_is_refused(nbresume, notebook):
    """`-p` with something that is no name is 3, and nothing runs."""
    done = nbresume("run", notebook, "-p", "not a name", "1")

    assert done.code == 3
    assert ledger(notebook) == []
