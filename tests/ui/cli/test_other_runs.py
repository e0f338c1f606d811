"""`nbresume runs`, `fork`, `compare` and `diff`, on a run that a real kernel made."""

import json
import shutil

import pytest
from real_kernel import LOAD, Kernel, hashes, save

pytestmark = pytest.mark.kernel

A = "%%step a\nimport numpy as np\nx = np.arange(3.0)"
B = "%%step b\ny = float(x.sum())"
EDITED = A.replace("3.0", "4.0")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a run in which step a has two commits."""
    folder = tmp_path_factory.mktemp("made")
    save(folder / "nb.ipynb", LOAD, A, B)
    with Kernel(folder, "nb.ipynb") as kernel:
        for number, code in enumerate((LOAD, A, B)):
            kernel.ok(code, f"c{number}")
        kernel.ok(EDITED, "c1")
    save(folder / "nb.ipynb", LOAD, EDITED, B)
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """Return a copy of that folder; the run is found by the ids of its cells."""
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    return tmp_path / "copy"


def run_id(folder):
    """Return the id of the only run."""
    (run,) = (folder / ".nbresume" / "journal").iterdir()
    return run.name


def test_a_fork_is_begun_listed_and_compared(nbresume, folder, monkeypatch):
    """Its origin is shown; the notebook goes on with it, here and in a kernel."""
    origin = run_id(folder)
    monkeypatch.setenv("NBRESUME_RUN", origin)
    made = nbresume("fork", "nb.ipynb", "--at", "a@1", "--json")
    assert made.code == 0, made.said
    fork = json.loads(made.out)
    monkeypatch.delenv("NBRESUME_RUN")

    assert (fork["origin"], fork["at_step"], fork["steps"]) == (origin, "a", ["a"])
    listed = nbresume("runs").out
    assert f"fork of {origin} at a" in listed
    rows = json.loads(nbresume("runs", "--json").out)
    assert {row["run_id"]: row["origin"] for row in rows} == {
        origin: "",
        fork["run_id"]: origin,
    }
    status = json.loads(nbresume("status", "nb.ipynb", "--json").out)
    assert status["run_id"] == fork["run_id"]
    compared = nbresume("compare", origin, fork["run_id"])
    assert compared.code == 0, compared.said
    assert compared.out.splitlines()[0].split()[:3] == ["step", origin, fork["run_id"]]
    rows = json.loads(nbresume("compare", origin, fork["run_id"], "--json").out)
    assert [(r["step"], r["same_code"]) for r in rows["steps"]] == [
        ("a", False),
        ("b", None),
    ]
    with Kernel(folder, "nb.ipynb") as kernel:
        kernel.ok(LOAD, "c0")
        assert "[restored] step a" in kernel.ok(A, "c1").text
        assert "[restored]" not in kernel.ok(B, "c2").text
        kernel.ok("%steps undo", "u")
        assert "NameError" in kernel.run("y", "u").error
    assert nbresume("verify", "nb.ipynb").code == 0


def test_diff_loads_values_only_if_asked_to(nbresume, folder, monkeypatch):
    """Previews and digests without; with ``--values`` the numbers."""
    monkeypatch.setenv("NBRESUME_RUN", run_id(folder))
    files = hashes(folder / ".nbresume")

    plain = nbresume("diff", "nb.ipynb", "a@1", "a@2")
    loaded = nbresume("diff", "nb.ipynb", "a@1", "--values")

    assert plain.code == loaded.code == 0, plain.said + loaded.said
    assert "+x = np.arange(4.0)" in plain.out
    assert "float64 (3) → numpy.ndarray float64 (4)" in plain.out
    assert "shape (3,) → (4,)" in loaded.out
    assert "shape (3,)" not in plain.out
    assert hashes(folder / ".nbresume") == files


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("fork", "nb.ipynb", "nope", "--at", "a"), 2, "Name one of its runs"),
        (("fork", "nb.ipynb", "--at", "nope"), 2, "has no step nope"),
        (("fork", "nb.ipynb"), 3, "--at"),
        (("compare", "nope", "nope"), 2, "no such run"),
        (("diff", "nb.ipynb", "a"), 3, "a@1"),
        (("diff", "nb.ipynb", "a@9", "a@1"), 2, "no commit 9"),
    ],
)
def test_bad_input_is_refused(nbresume, folder, monkeypatch, words, code, told):
    """With what to type next, and nothing is written."""
    monkeypatch.setenv("NBRESUME_RUN", run_id(folder))
    files = hashes(folder / ".nbresume")

    done = nbresume(*words)

    assert done.code == code, done.said
    assert told in done.said
    assert hashes(folder / ".nbresume") == files


def test_a_foreign_run_is_not_forked_nor_loaded(
    nbresume, folder, monkeypatch, tmp_path
):
    """Until it is trusted; two runs may be compared, which loads nothing."""
    run = run_id(folder)
    monkeypatch.setenv("NBRESUME_RUN", run)
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "other-user"))

    fork = nbresume("fork", "nb.ipynb", "--at", "a")
    diff = nbresume("diff", "nb.ipynb", "a@1", "a@2", "--values")

    assert (fork.code, diff.code) == (2, 2)
    assert "nbresume trust" in fork.said
    assert "nbresume trust" in diff.said
    assert nbresume("compare", run, run).code == 0
