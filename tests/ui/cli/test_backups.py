"""`nbresume export` and `import`, on a run that a real kernel made."""

import json
import shutil

import pytest
from real_kernel import LOAD, Kernel, hashes, save

pytestmark = pytest.mark.kernel

A = "%%step a\nimport numpy as np\nx = np.arange(200_000.0)\nclass C: pass\nc = C()"
B = "%%step b\ny = float(x.sum())\nassert type(c) is C"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a notebook, its store and a backup of its run."""
    folder = tmp_path_factory.mktemp("made")
    save(folder / "nb.ipynb", LOAD, A, B)
    with Kernel(folder, "nb.ipynb") as kernel:
        for number, code in enumerate((LOAD, A, B)):
            kernel.ok(code, f"c{number}")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """Return a copy of that folder; the run is found by the ids of its cells."""
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    monkeypatch.setenv("NBRESUME_RUN", run_id(tmp_path / "copy"))
    return tmp_path / "copy"


def run_id(folder):
    """Return the id of the only run."""
    (run,) = (folder / ".nbresume" / "journal").iterdir()
    return run.name


def test_a_run_goes_out_and_comes_back(nbresume, folder):
    """The store is lost; a new kernel replays what the backup brought."""
    run, before = run_id(folder), hashes(folder / ".nbresume")
    done = json.loads(nbresume("export", "nb.ipynb", "run.zip", "--json").out)
    assert hashes(folder / ".nbresume") == before
    shutil.rmtree(folder / ".nbresume")

    back = nbresume("import", "run.zip")

    assert done["runs"] == [run]
    assert done["bytes"] == (folder / "run.zip").stat().st_size
    assert back.code == 0, back.said
    assert f"NBRESUME_RUN={run}" in back.out
    assert "another key" not in back.out
    assert nbresume("verify", "nb.ipynb").code == 0
    with Kernel(folder, "nb.ipynb") as kernel:
        kernel.ok(LOAD, "c0")
        assert "[restored] step a" in kernel.ok(A, "c1").text
        assert "[restored] step b" in kernel.ok(B, "c2").text
        assert kernel.evaluate("(len(x), type(c) is C)") == "(200000, True)"


def test_what_is_exported(nbresume, folder):
    """A notebook, a run by its id, a store with all that is in it."""
    run = run_id(folder)
    asked = {"notebook": "nb.ipynb", "run": run, "store": ".nbresume"}

    done = {
        what: nbresume("export", words, f"{what}.zip", "--json")
        for what, words in asked.items()
    }

    for what, told in done.items():
        assert told.code == 0, (what, told.said)
        assert json.loads(told.out)["runs"] == [run]
    files = {(folder / f"{what}.zip").stat().st_size for what in done}
    assert len(files) == 1


def test_checkpoints_of_a_store_go_along(nbresume, folder):
    """A store as a whole is more than its runs; a run alone is not."""
    from nbresume.compose.checkpoints import open_checkpoints

    book = open_checkpoints(folder / ".nbresume")
    first = book.initial("orders-2026", kind="acme.order", payload={"n": 1})
    book.compare_and_swap(first, expected=None)
    told = nbresume("export", ".nbresume", "all.zip")
    one = nbresume("export", "nb.ipynb", "one.zip", "--json")

    back = nbresume("import", "all.zip", "other/.nbresume", "--json")

    assert "1 checkpoints" in told.out
    assert json.loads(one.out)["checkpoints"] == []
    assert json.loads(back.out)["checkpoints"] == ["orders-2026"]
    found = open_checkpoints(folder / "other" / ".nbresume").load("orders-2026")
    assert found.payload == {"n": 1}


def test_another_user_looks_and_does_not_load(nbresume, folder, monkeypatch, tmp_path):
    """Until the store is trusted, as any other store."""
    nbresume("export", "nb.ipynb", "run.zip")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "somebody"))
    shutil.rmtree(folder / ".nbresume")

    done = nbresume("import", "run.zip")

    assert done.code == 0, done.said
    assert "nbresume trust" in done.out
    assert "not trusted" in nbresume("status", "nb.ipynb").out
    assert nbresume("inspect", "nb.ipynb", "a").code == 2
    assert nbresume("trust", ".nbresume").code == 0
    assert nbresume("inspect", "nb.ipynb", "a").code == 0


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("export", "nb.ipynb", "nb.ipynb"), 2, "replaces nothing"),
        (("export", "nb.ipynb", "no/such/run.zip"), 3, "there is no folder"),
        (("export", "none.ipynb", "run.zip"), 3, "it is no store"),
        (("export", "nb.ipynb", "run.zip", "--run", "nope"), 3, "has no run"),
        (("export", "0123456789abcdef", "run.zip"), 3, "has no run"),
        (("export", ".", "run.zip"), 3, "it is no store"),
        (("import", "none.zip"), 3, "does not exist"),
        (("import", "nb.ipynb"), 2, "no whole zip file"),
        (("import", "good.zip"), 2, "replaces nothing"),
        (("import", "good.zip", "s3://bucket/prefix"), 3, "Import into a folder"),
        (("import", "good.zip", "new", "--run", "nope"), 3, "Name one of its runs"),
        (("import", "good.zip", "."), 2, "holds other things"),
    ],
)
def test_what_cannot_be_done_is_told(nbresume, folder, words, code, told):
    """With what to type next; no file and no store is made or changed."""
    assert nbresume("export", "nb.ipynb", "good.zip").code == 0
    files = hashes(folder)

    done = nbresume(*words)

    assert done.code == code, done.said
    assert told in done.said
    assert hashes(folder) == files
