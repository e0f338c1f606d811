"""`nbresume run --report`: what a run came to, for programs."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from real_kernel import LOAD, save, wait_for
from unit.run.write_goldens import as_text

from nbresume.ui import run_report
from nbresume.ui.run_report import How, Result, RunReport, schema

SCHEMA = Path(run_report.__file__).with_name("runreport.schema.json")
REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
A = "%%step a\nx = [1, 2]\nx"
B = "%%step b\ny = sum(x)\ny"
C = "%%step c\nz = y"
FAILS = "%%step b\nprint('secret output')\nraise ValueError('secret value amber')"
DIES = "%%step b {}\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)"


@pytest.fixture
def notebook(tmp_path):
    """Return a saved notebook of three steps."""
    save(tmp_path / "nb.ipynb", LOAD, A, B, C)
    return tmp_path / "nb.ipynb"


@pytest.fixture
def reported(in_child, tmp_path):
    """Return what runs a notebook, and gives the command's end and the report."""

    def run(notebook, *more):
        path = tmp_path / "report.json"
        done = in_child("run", notebook, "--report", path, *more)
        report = RunReport.from_json(path.read_bytes())
        assert report.exit_code == done.code
        return done, report

    return run


def hows(report):
    """Return step → what became of it."""
    return {step.name: step.how.value for step in report.steps}


# -- the format ------------------------------------------------------------------


def test_the_schema_file_is_that_of_the_code():
    """Programs read the file; it says what is written."""
    assert SCHEMA.read_text() == as_text(schema())


def test_every_field_and_word_is_documented():
    """The reference names each field of the report, and each word in it."""
    page = (REFERENCE / "run-report.md").read_text()
    fields = {
        name
        for found in json.loads(SCHEMA.read_text())["$defs"].values()
        if found["title"] in ("RunReport", "StepReport", "ErrorReport")
        for name in found["properties"]
    }
    rows = set(re.findall(r"^\| `([a-z_ ]+)` \|", page, re.MULTILINE))

    assert rows == fields | {word.value for word in (*How, *Result)}


# -- how runs end, by real processes ---------------------------------------------


@pytest.mark.kernel
def test_done_is_zero_and_says_what_ran(reported, notebook):
    """The first run ran each step, the second replayed each; both are 0."""
    first, one = reported(notebook)
    _, two = reported(notebook)

    assert first.code == 0, first.said
    assert (one.result, two.result) == (Result.DONE, Result.DONE)
    assert hows(one) == {"a": "ran", "b": "ran", "c": "ran"}
    assert hows(two) == {"a": "replayed", "b": "replayed", "c": "replayed"}
    assert one.run_id == two.run_id != ""
    assert [s.revision for s in one.steps] == [s.revision for s in two.steps]
    assert [s.attempts for s in two.steps] == [1, 1, 1]
    assert all(s.took_s is not None and s.error is None for s in two.steps)
    assert (one.stopped_in, one.resume_from, one.error) == ("", "", None)


@pytest.mark.kernel
def test_a_failed_cell_is_one_and_nothing_private_is_told(reported, notebook):
    """The step failed, what is below was not reached; no text of its error is told."""
    save(notebook, LOAD, A, FAILS, C)

    done, report = reported(notebook)
    step = report.steps[1]

    assert (done.code, report.result) == (1, Result.FAILED)
    assert hows(report) == {"a": "ran", "b": "failed", "c": "not reached"}
    assert (step.error.type, step.error.code) == ("ValueError", "")
    assert (step.state.value, step.attempts, step.revision) == ("FAILED", 1, -1)
    assert (report.stopped_in, report.resume_from) == ("step b", "b")
    assert "secret" not in report.to_json()
    assert "amber" not in report.to_json()


@pytest.mark.kernel
def test_a_killed_kernel_is_one_and_the_next_run_replays(reported, notebook):
    """The step was interrupted; run again, what was committed before is replayed."""
    save(notebook, LOAD, A, DIES.format(""), C)
    done, report = reported(notebook)
    save(notebook, LOAD, A, B, C)
    again, after = reported(notebook)

    assert (done.code, again.code) == (1, 0), done.said + again.said
    assert hows(report) == {"a": "ran", "b": "interrupted", "c": "not reached"}
    assert report.error.type == "DeadKernelError"
    assert report.steps[1].took_s is None
    assert hows(after) == {"a": "replayed", "b": "ran", "c": "ran"}
    assert after.steps[1].attempts == 2


@pytest.mark.long
@pytest.mark.kernel
def test_in_doubt_is_two_with_the_code_and_what_to_type(reported, notebook):
    """A step in doubt is refused: the report has its code and our sentence."""
    save(notebook, LOAD, A, DIES.format("--effects"), C)
    assert reported(notebook)[0].code == 1
    save(notebook, LOAD, A, "%%step b --effects\ny = 1", C)

    done, report = reported(notebook)
    error = report.steps[1].error

    assert (done.code, report.result) == (2, Result.REFUSED)
    assert hows(report) == {"a": "replayed", "b": "refused", "c": "not reached"}
    assert error.code == "ambiguous"
    assert f"nbresume resolve {notebook} b retry" in error.message
    assert report.steps[1].state.value == "AMBIGUOUS"
    assert report.steps[1].attempts == 1


@pytest.mark.kernel
def test_effects_are_told_by_key(reported, notebook):
    """A step whose effect is left open failed, and its key is in the report."""
    pay = (
        "from nbresume import effect\n"
        "def charge():\n    raise OSError('secret')\n"
        "effect('mail-1', int)\n"
        "try:\n    effect('charge-17', charge)\nexcept OSError:\n    pass"
    )
    save(notebook, LOAD, A, "%%step b\n" + pay, C)

    done, report = reported(notebook)
    step = report.steps[1]

    assert (done.code, step.how, step.error.code) == (2, "failed", "ambiguous")
    assert (step.effects_done, step.effects_open) == (1, ["charge-17"])


@pytest.mark.kernel
def test_a_step_that_is_not_taken_is_said(reported, notebook):
    """A step whose condition is false neither ran nor was replayed."""
    save(notebook, LOAD, A, "%%step b --when 'len(x) > 5'\nq = 1")

    assert hows(reported(notebook)[1]) == {"a": "ran", "b": "not taken"}


@pytest.mark.long
@pytest.mark.kernel
def test_cells_without_headers_are_told_too(reported, notebook):
    """In automatic mode each cell is a step, and stands in the report."""
    save(notebook, LOAD, "%nbresume auto", "p = sum([1])", "q = len([p])")
    assert reported(notebook)[0].code == 0

    _, report = reported(notebook)

    assert [step.how for step in report.steps] == ["replayed", "replayed"]


@pytest.mark.kernel
def test_a_refusal_before_the_first_cell_is_reported(reported, notebook, tmp_path):
    """No such kernel: 2, with a report that has no run and no step."""
    done, report = reported(notebook, "--kernel", "nowhere")

    assert (done.code, report.result) == (2, Result.REFUSED)
    assert (report.run_id, report.steps, report.revision) == ("", [], -1)
    assert "there is no kernel named nowhere" in report.error.message
    assert report.error.code == "refused"


def test_usage_is_three(reported, notebook, in_child):
    """A parameter that is no name is 3, with a report; an unknown option has none."""
    done, report = reported(notebook, "-p", "1x", "2")

    assert (done.code, report.result, report.error.code) == (3, Result.USAGE, "usage")
    assert in_child("run", notebook, "--nope").code == 3


# -- where it is written ---------------------------------------------------------


@pytest.mark.kernel
def test_a_dash_prints_the_report_alone(in_child, notebook):
    """Standard output is the report and nothing else, so that it can be piped."""
    done = in_child("run", notebook, "--report", "-")

    assert RunReport.from_json(done.out.encode()).exit_code == done.code == 0
    assert "all cells done" in done.err


@pytest.mark.parametrize("where", ["nb.ipynb", "out.ipynb"])
def test_a_report_does_not_replace_a_notebook(nbresume, notebook, where):
    """Named by mistake, the notebook and its output stay as they are."""
    before, out = notebook.read_bytes(), notebook.with_name("out.ipynb")
    report = notebook.with_name(where)

    done = nbresume("run", notebook, "-o", out, "--report", report)

    assert done.code == 3
    assert "the notebook itself is written there" in done.err
    assert notebook.read_bytes() == before
    assert not out.exists()


def test_a_report_that_cannot_be_written_is_refused_first(nbresume, notebook):
    """A folder that does not exist is told before anything runs."""
    done = nbresume("run", notebook, "--report", notebook.parent / "no" / "r.json")

    assert done.code == 2
    assert "the report was not written to" in done.err
    assert sorted(p.name for p in notebook.parent.iterdir()) == ["nb.ipynb"]


@pytest.mark.long
@pytest.mark.kernel
def test_a_killed_command_leaves_no_former_report(reported, notebook):
    """While it runs, and if it is killed, the report says that it has not ended."""
    reported(notebook)
    wait = "%%step c\nimport time\nopen('here', 'w').close()\ntime.sleep(60)"
    save(notebook, LOAD, A, B, wait)
    path = notebook.with_name("report.json")
    child = subprocess.Popen(
        [sys.executable, "-m", "nbresume", "run", notebook, "--report", path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(notebook.parent / "here")
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    report = RunReport.from_json(path.read_bytes())

    assert (report.result, report.exit_code) == (Result.RUNNING, None)


@pytest.mark.kernel
def test_a_stopped_command_ends_its_kernel_and_is_one(notebook):
    """SIGTERM, as schedulers send it: the kernel ends, and the report is written."""
    wait = "%%step b\nimport time\nopen('here', 'w').close()\ntime.sleep(60)"
    save(notebook, LOAD, A, wait, C)
    path = notebook.with_name("report.json")
    child = subprocess.Popen(
        [sys.executable, "-m", "nbresume", "run", notebook, "--report", path],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_for(notebook.parent / "here")
    os.kill(child.pid, signal.SIGTERM)

    assert child.wait(30) == 1
    report = RunReport.from_json(path.read_bytes())
    assert hows(report) == {"a": "ran", "b": "interrupted", "c": "not reached"}
