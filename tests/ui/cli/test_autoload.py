"""nbresume in every kernel of an environment: opt-in, and nothing runs by itself."""

import builtins
import sys

import pytest
from IPython.core.application import ENV_CONFIG_DIRS
from real_kernel import LOAD, Kernel, hashes, kinds, save

from nbresume.ui import autoload

A = "%%step a\nx = [1, 2]"


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """Return the folder of an environment."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    return tmp_path / "env"


def test_the_file_lies_where_ipython_looks():
    """In this environment, not in the user's folder."""
    folders = [f"{folder}/startup" for folder in ENV_CONFIG_DIRS]

    assert str(autoload.startup_file().parent) in folders


def test_it_is_turned_on_and_off(nbresume, prefix):
    """Twice does no harm; the command says where it stands."""
    said = [
        nbresume("autoload").out,
        nbresume("autoload", "--sys-prefix").out,
        nbresume("autoload", "--sys-prefix").out,
        nbresume("autoload").out,
        nbresume("autoload", "--remove").out,
        nbresume("autoload", "--remove").out,
    ]
    file = prefix / "etc" / "ipython" / "startup" / "50-nbresume.py"

    assert said[0] == f"it is off in {prefix}\n"
    assert said[1] == said[2] == f"{file} was written: new kernels load nbresume\n"
    assert said[3] == f"it is on in {prefix}\n"
    assert said[4:] == ["it is off now\n", "it was not on\n"]
    assert not file.exists()


@pytest.mark.parametrize(("missing", "stays"), [("nbresume", False), ("zarr", True)])
def test_the_file_goes_when_nbresume_has_gone(nbresume, prefix, missing, stays):
    """Nothing is left after `pip uninstall`; a package that lacks is no reason."""
    nbresume("autoload", "--sys-prefix")
    file = autoload.startup_file()

    def absent(*_words, **_named):
        message = f"No module named {missing!r}"
        raise ModuleNotFoundError(message, name=missing)

    def find(name, *words, **named):
        found = absent if name.startswith("nbresume") else __import__
        return found(name, *words, **named)

    # as a kernel does that starts
    names = {"__file__": str(file), "__builtins__": {**vars(builtins)}}
    names["__builtins__"]["__import__"] = find
    names["get_ipython"] = None
    exec(compile(file.read_text(), str(file), "exec"), names)  # noqa: S102 - our own

    assert file.exists() == stays


def test_another_file_of_that_name_is_left_alone(nbresume, prefix):
    """It is somebody's own."""
    file = autoload.startup_file()
    file.parent.mkdir(parents=True)
    file.write_text("import nbresume\n")
    done = nbresume("autoload", "--sys-prefix")
    nbresume("autoload", "--remove")

    assert done.code == 2
    assert "did not write" in done.err
    assert file.read_text() == "import nbresume\n"


def test_a_folder_that_cannot_be_written_is_refused(nbresume, prefix):
    """With the path and the reason."""
    prefix.write_text("a file where the folder should be")
    done = nbresume("autoload", "--sys-prefix")

    assert (done.code, "was not written" in done.err) == (2, True)


def test_both_at_once_is_refused(nbresume, prefix):
    """It cannot be meant."""
    assert nbresume("autoload", "--sys-prefix", "--remove").code == 3
    assert not prefix.exists()


@pytest.fixture
def on(tmp_path):
    """Return a folder whose kernels run the file when they start."""
    startup = tmp_path / ".ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "50-nbresume.py").write_text(autoload._TEXT)
    return tmp_path


@pytest.mark.kernel
def test_a_restarted_kernel_offers_to_resume_and_runs_nothing(on):
    """The first cell, whichever it is, shows the panel; nothing is restored."""
    save(on / "main.ipynb", A, "1 + 1")
    with Kernel(on) as kernel:
        assert kernel.ok(A, "c0").bundles() == []
        kernel.kill()
    before = hashes(on / ".nbresume")
    with Kernel(on) as kernel:
        named = kernel.evaluate("'x' in globals()")
        first = kernel.ok("1 + 1", "c1")
        second = kernel.ok("1 + 2", "c1")
        again = kernel.ok(LOAD)
        after = hashes(on / ".nbresume")
        kernel.ok("%steps resume")
        x = kernel.evaluate("x")

    assert named == "False"
    assert "1 of 1 steps locked" in first.text
    assert "steps locked" not in second.text + again.text
    assert after == before
    assert x == "[1, 2]"


@pytest.mark.kernel
def test_a_notebook_without_steps_gets_no_store(on):
    """Until the first step: its cell loads nbresume, and says to run it again."""
    save(on / "main.ipynb", "1 + 1")
    with Kernel(on) as kernel:
        kernel.ok("1 + 1", "c0")
        files = [path.name for path in on.iterdir()]
        first = kernel.run(A, "c1")
        second = kernel.ok(A, "c1")

    assert ".nbresume" not in files
    assert "now it is. Run the cell again." in first.error
    assert second.status == "ok"
    assert kinds(on / ".nbresume") == ["claim", "intent", "committed"]


@pytest.mark.kernel
def test_a_store_that_cannot_be_read_is_told_by_the_first_cell(on):
    """The kernel starts all the same, and the cell runs."""
    save(on / "main.ipynb", A, "1 + 1")
    (on / ".nbresume").mkdir()
    (on / ".nbresume" / "store.json").write_text('{"format": 99}')
    with Kernel(on) as kernel:
        first = kernel.ok("1 + 1", "c1")
        second = kernel.ok("1 + 1", "c1")
        step = kernel.run(A, "c0")

    assert step.error.startswith("SchemaError: ")
    assert "nbresume: " in first.text
    assert "99" in first.text
    assert "nbresume" not in second.text


@pytest.mark.kernel
def test_a_kernel_without_a_notebook_is_left_alone(on):
    """So is one whose notebook has no steps: what takes time is not even imported."""
    for name in ("", "main.ipynb"):
        save(on / "main.ipynb", "1 + 1")
        with Kernel(on, notebook=name) as kernel:
            kernel.ok("1 + 1")
            is_there = "'nbresume.run' in __import__('sys').modules"
            assert kernel.evaluate(is_there) == "False"
