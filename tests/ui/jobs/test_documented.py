"""The command lines that docs/jobs.md shows do what it says."""

import ast
import os
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from jinja2 import Template
from real_kernel import LOAD, plant, save, wait_for

from nbresume.ui.run_report import RunReport

DOCS = Path(__file__).parents[3] / "docs"
DAG = DOCS / "examples" / "orders_dag.py"
NOTE = (
    "def note(name):\n    with open('ledger.txt', 'a') as file:\n"
    "        file.write(name + '\\n')"
)
LOADS = "%%step load\nnote('load')\nrows = [day] * 3"
MAIL = "%%step mail --effects\nnote('mail')\nprint(rows)"
HANGS = (
    "%%step mail\nnote('mail')\nimport time, os\n"
    "open('pid', 'w').write(str(os.getpid()))\ntime.sleep(60)"
)


def task():
    """Return what the DAG gives to its BashOperator."""
    calls = [n for n in ast.walk(ast.parse(DAG.read_text())) if isinstance(n, ast.Call)]
    (found,) = [c for c in calls if getattr(c.func, "id", "") == "BashOperator"]
    return {word.arg: ast.literal_eval(word.value) for word in found.keywords}


def start(folder, day):
    """Start the task of a day as Airflow does: a shell, with templates filled in."""
    told = task()
    env = {name: Template(value).render(ds=day) for name, value in told["env"].items()}
    command = Template(told["bash_command"]).render(ds=day)
    here = str(Path(sys.executable).parent)
    return subprocess.Popen(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, **env, "PATH": f"{here}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run(folder, day):
    """Run the task of a day to its end; return its exit code and its report."""
    process = start(folder, day)
    said, _ = process.communicate(timeout=120)
    report = RunReport.from_json((folder / "out" / f"{day}.json").read_bytes())
    assert report.exit_code == process.returncode, said
    return process.returncode, {step.name: str(step.how) for step in report.steps}


@pytest.fixture
def folder(tmp_path):
    """Return the folder of the DAG, with its notebook."""
    (tmp_path / "out").mkdir()
    save(tmp_path / "orders.ipynb", LOAD, NOTE, LOADS, MAIL)
    return tmp_path


def ledger(folder):
    """Return which bodies ran, in order."""
    return (folder / "ledger.txt").read_text().split()


@pytest.mark.long
@pytest.mark.kernel
def test_the_dag_resumes_after_a_kill(folder):
    """Its command line is killed with all it started; typed again, it goes on."""
    save(folder / "orders.ipynb", LOAD, NOTE, LOADS, HANGS)
    process = start(folder, "2026-11-29")
    wait_for(folder / "pid", timeout_s=60)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=30)
    # at once: `--take-over` says that whoever holds the run has ended
    save(folder / "orders.ipynb", LOAD, NOTE, LOADS, MAIL)

    ends = [run(folder, day) for day in ("2026-11-29", "2026-11-29", "2026-11-30")]

    assert ends == [
        (0, {"load": "replayed", "mail": "ran"}),
        (0, {"load": "replayed", "mail": "replayed"}),
        (0, {"load": "ran", "mail": "ran"}),
    ]
    assert ledger(folder) == ["load", "mail", "mail", "load", "mail"]
    cells = nbformat.read(folder / "out" / "2026-11-30.ipynb", as_version=4).cells
    assert cells[-1].outputs[0].text.count("2026-11-30") == 3


def test_the_page_shows_the_dags_command_line():
    """The page and the DAG file say the same."""
    page = (DOCS / "jobs.md").read_text()

    assert task()["bash_command"] in page


ELSEWHERE = """
import socket
socket.gethostname = lambda: {host!r}
"""


@pytest.mark.long
@pytest.mark.kernel
def test_a_job_on_another_machine(folder, tmp_path):
    """Refused while nobody says that the former kernel has ended; then it goes on."""
    save(folder / "orders.ipynb", LOAD, NOTE, "day = 1", LOADS)
    hosts = {
        name: plant(tmp_path / name, ELSEWHERE.format(host=name))
        for name in ("one", "two")
    }

    def job(host, *more):
        done = subprocess.run(
            [sys.executable, "-m", "nbresume", "run", "orders.ipynb", *more],
            cwd=folder,
            env={**os.environ, **hosts[host]},
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stderr

    first, _ = job("one")
    save(folder / "orders.ipynb", LOAD, NOTE, "day = 1", LOADS, MAIL)
    refused, why = job("two")
    taken, said = job("two", "--take-over")

    assert (first, refused, taken) == (0, 2, 0), said
    assert "cannot be asked from here" in why
    assert "nbresume run orders.ipynb --take-over" in why
    assert ledger(folder) == ["load", "mail"]
