"""`papermill --engine nbresume`: a run for each output, which goes on when repeated."""

import json
import os
import signal
import subprocess
import sys
import time

import nbformat
import pytest
from real_kernel import LOAD, save, wait_for

pytestmark = pytest.mark.kernel

NOTE = (
    "def note(name):\n    with open('ledger.txt', 'a') as file:\n"
    "        file.write(name + '\\n')"
)
A = "%%step a\nnote('a')\nrows = list(range(100))"
B = "%%step b\nnote('b')\ntotal = sum(rows) * n\nprint(total)"
HANGS = (
    "%%step b {}\nnote('b')\nimport time, os\n"
    "open('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a notebook that takes a parameter."""
    return write(tmp_path, LOAD, NOTE, "n = 1", A, B)


def write(folder, *cells):
    """Save a notebook whose cell ``n = 1`` is the one for parameters."""
    save(folder / "in.ipynb", *cells)
    found = json.loads((folder / "in.ipynb").read_text())
    found["metadata"] = {"kernelspec": {"name": "python3", "language": "python"}}
    for cell in found["cells"]:
        if cell["source"] == "n = 1":
            cell["metadata"]["tags"] = ["parameters"]
    (folder / "in.ipynb").write_text(json.dumps(found))
    return folder


def ledger(folder):
    """Return which bodies ran, in order."""
    return (folder / "ledger.txt").read_text().split()


def shown(path, step):
    """Return what a step's cell shows."""
    cells = nbformat.read(path, as_version=4).cells
    (cell,) = [c for c in cells if c.source.startswith(f"%%step {step}")]
    return "".join(output.get("text", "") for output in cell.outputs)


def gone(pid):
    """Wait until a process has ended."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the kernel did not end")


@pytest.mark.long
def test_a_second_run_replays(papermill, folder):
    """The same command runs no body again; another parameter only what it changes."""
    words = ("in.ipynb", "out.ipynb", "-p", "n")
    codes = [papermill(*words, n, cwd=folder)[0] for n in (5, 5)]
    texts = shown(folder / "out.ipynb", "b")
    after = ledger(folder)
    code, said = papermill(*words, 6, cwd=folder)

    assert (codes, code) == ([0, 0], 0), said
    assert after == ["a", "b"]
    assert "[restored] step b" in texts
    assert "24750" in texts
    assert ledger(folder) == ["a", "b", "b"]
    assert shown(folder / "out.ipynb", "b").endswith("29700\n")


@pytest.mark.parametrize("whom", ["papermill", "kernel"])
def test_killed_in_the_middle_it_goes_on(papermill, folder, whom):
    """After kill -9 of papermill, or of its kernel, what is not committed runs."""
    words = ("in.ipynb", "out.ipynb", "-p", "n", "5")
    write(folder, LOAD, NOTE, "n = 1", A, HANGS.format(""))
    process = papermill(*words, cwd=folder, wait=False)
    wait_for(folder / "pid", timeout_s=60)
    time.sleep(0.1)
    kernel = int((folder / "pid").read_text())
    os.kill(process.pid if whom == "papermill" else kernel, signal.SIGKILL)
    process.communicate(timeout=60)
    gone(kernel)
    write(folder, LOAD, NOTE, "n = 1", A, B)

    code, said = papermill(*words, cwd=folder)

    # papermill's own code for a dead kernel
    assert process.returncode == (-signal.SIGKILL if whom == "papermill" else 138)
    assert code == 0, said
    assert ledger(folder) == ["a", "b", "b"]
    assert "[restored] step a" in shown(folder / "out.ipynb", "a")
    assert shown(folder / "out.ipynb", "b") == "24750\n"


@pytest.mark.long
def test_each_output_is_a_run_of_its_own(papermill, folder, in_child):
    """A daily job with another output does its effects again; the same day does not."""
    mail = "%%step mail --effects\nnote(f'mail {n}')"
    write(folder, LOAD, NOTE, "n = 1", A, mail)
    days = [(1, "one.ipynb"), (1, "one.ipynb"), (2, "two.ipynb"), (2, "two.ipynb")]
    ends = [papermill("in.ipynb", out, "-p", "n", n, cwd=folder) for n, out in days]
    (folder / "one.ipynb").unlink()
    ends.append(papermill("in.ipynb", "three.ipynb", "-p", "n", "3", cwd=folder))
    status = in_child("status", "two.ipynb", cwd=folder)

    assert [code for code, _ in ends] == [0] * 5, ends
    assert ledger(folder) == ["a", "mail", "1", "a", "mail", "2", "a", "mail", "3"]
    assert "2 of 2 steps locked" in status.out


def test_a_failed_cell_is_papermills_error(papermill, folder):
    """PapermillExecutionError names the exception; what is below does not run."""
    write(folder, LOAD, NOTE, A, "%%step b\n1 / 0", "%%step c\nnote('c')")

    code, said = papermill("in.ipynb", "out.ipynb", cwd=folder)

    assert code == 1
    assert "papermill.exceptions.PapermillExecutionError" in said
    assert "ZeroDivisionError" in said
    assert ledger(folder) == ["a"]


@pytest.mark.long
def test_a_step_in_doubt_is_refused_with_what_to_type(papermill, folder, in_child):
    """Not run, not zero, and the message has commands that can be typed."""
    write(folder, LOAD, NOTE, "n = 1", A, HANGS.format("--effects"))
    process = papermill("in.ipynb", "out.ipynb", cwd=folder, wait=False)
    wait_for(folder / "pid", timeout_s=60)
    time.sleep(0.1)
    os.kill(int((folder / "pid").read_text()), signal.SIGKILL)
    process.communicate(timeout=60)
    write(folder, LOAD, NOTE, "n = 1", A, B.replace("step b", "step b --effects"))
    words = ("in.ipynb", "out.ipynb", "-p", "n", "5")

    code, said = papermill(*words, cwd=folder)
    typed = f"nbresume resolve {folder / 'out.ipynb'} b retry"
    settled = in_child(
        *("resolve", "out.ipynb", "b", "retry", "--because", "it never got there"),
        cwd=folder,
    )
    again, _ = papermill(*words, cwd=folder)

    assert code == 1
    assert "step b is ambiguous (in doubt)" in said
    assert typed in said
    assert ledger(folder) == ["a", "b", "b"]
    assert (settled.code, again) == (0, 0), settled.said


@pytest.mark.long
def test_another_working_folder(papermill, folder):
    """With --cwd the bodies run there; run and store stay with the output."""
    (folder / "work").mkdir()
    (folder / "results").mkdir()
    words = ("in.ipynb", "results/out.ipynb", "--cwd", "work", "-p", "n", "5")

    codes = [papermill(*words, cwd=folder)[0] for _ in range(2)]

    assert codes == [0, 0]
    assert ledger(folder / "work") == ["a", "b"]
    assert (folder / "results" / ".nbresume").is_dir()
    assert not (folder / ".nbresume").exists()


@pytest.mark.long
def test_an_output_that_is_no_file(papermill, folder):
    """Written to standard output, the run is that of the input."""
    env = {"JPY_SESSION_NAME": "/of/another/kernel.ipynb"}

    ends = [papermill("in.ipynb", "-", cwd=folder, env=env) for _ in range(2)]

    assert [code for code, _ in ends] == [0, 0], ends
    assert ledger(folder) == ["a", "b"]
    assert (folder / ".nbresume").is_dir()


@pytest.mark.long
def test_a_notebook_from_nowhere_is_refused(installed, folder):
    """Neither read from a file nor written to one: refused, and how to name it."""
    code = (
        "import nbformat, papermill\n"
        "nb = nbformat.read('in.ipynb', as_version=4)\n"
        "papermill.execute_notebook(nb, None, engine_name='nbresume',"
        " progress_bar=False)"
    )

    def run(**env):
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd=folder,
            env={**os.environ, **installed, **env},
            capture_output=True,
            text=True,
            check=False,
        )

    refused = run()
    ledger_then = (folder / "ledger.txt").exists()
    named = [run(NBRESUME_RUN="nightly") for _ in range(2)]

    assert refused.returncode == 1
    assert "Set NBRESUME_RUN to a name for the run" in refused.stderr
    assert not ledger_then
    assert [done.returncode for done in named] == [0, 0], named[0].stderr
    assert ledger(folder) == ["a", "b"]


@pytest.mark.long
def test_a_notebook_without_ids_is_replayed(papermill, folder):
    """A file older than nbformat 4.5 has no ids; papermill makes them up each time."""
    found = json.loads((folder / "in.ipynb").read_text())
    found["nbformat_minor"] = 4
    for cell in found["cells"]:
        del cell["id"]
    (folder / "in.ipynb").write_text(json.dumps(found))
    words = ("in.ipynb", "out.ipynb", "-p", "n", "5")

    ends = [papermill(*words, cwd=folder) for _ in range(2)]

    assert [code for code, _ in ends] == [0, 0], ends
    assert ledger(folder) == ["a", "b"]
