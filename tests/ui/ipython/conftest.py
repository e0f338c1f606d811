"""A fresh InteractiveShell of this process for each test, with a saved notebook."""

import io
import os
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from nbresume.ui.ipython import magics

TESTS = next(p for p in Path(__file__).resolve().parents if p.name == "tests")
sys.path.insert(0, str(TESTS / "kernel" / "durability"))

from real_kernel import LOAD, hashes, kinds, save  # noqa: E402 - after its path


class _Screen(io.StringIO):
    """A stream whose ``write`` can be wrapped, as that of a kernel can."""


@dataclass
class Ran:
    """What one cell came to."""

    error: BaseException | None
    text: str

    @property
    def ok(self) -> bool:
        """Say whether nothing was raised."""
        return self.error is None


class Shell:
    """One shell in the folder of one notebook."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = folder / ".nbresume"
        InteractiveShell.clear_instance()
        config = Config()
        config.HistoryManager.enabled = False
        config.InteractiveShell.colors = "nocolor"
        self.ip = InteractiveShell.instance(config=config)

    def save(self, *sources) -> None:
        """Save the notebook."""
        save(self.folder / "main.ipynb", *sources)

    def run(self, code: str, cell_id: str | None = None, **options) -> Ran:
        """Run a cell as a front end does."""
        screen = _Screen()
        options = {"store_history": not options.get("silent", False)} | options
        with redirect_stdout(screen), redirect_stderr(screen):
            result = self.ip.run_cell(code, cell_id=cell_id, **options)
        error = result.error_in_exec or result.error_before_exec
        return Ran(error, screen.getvalue())

    def load(self) -> Ran:
        """Load the extension; it must succeed."""
        ran = self.run(LOAD, "load")
        assert ran.ok, ran.text
        return ran

    def hashes(self) -> dict[str, str]:
        """Return the digests of everything in the store."""
        return hashes(self.store)

    def kinds(self) -> list[str]:
        """Return the kinds of the records of the only run."""
        return kinds(self.store)

    def close(self) -> None:
        """Take the extension out and let go of the shell."""
        magics.unload_ipython_extension(self.ip)
        self.ip.history_manager.end_session()
        InteractiveShell.clear_instance()


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Return a shell in which nothing is loaded yet."""
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "main.ipynb"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path)
    yield shell
    shell.close()


@pytest.fixture
def shell(bare):
    """Return a shell in which nbresume is loaded."""
    bare.load()
    return bare


sys.path.insert(0, str(Path(__file__).parent))

_USER = """
import os, resource, sys, tempfile
from pathlib import Path
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

def go(folder, *cells):
    os.chdir(folder)
    os.environ.update(JPY_SESSION_NAME=f"{folder}/main.ipynb", HOME=folder)
    os.environ.update(JUPYTER_DATA_DIR=f"{folder}/data")
    for cell in ("%load_ext nbresume", *cells):
        ip.run_cell(cell)

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

folder, what = sys.argv[1:]
warm = tempfile.mkdtemp()
os.environ.update(IPYTHONDIR=f"{warm}/ip")
config = Config()
config.HistoryManager.enabled = False
ip = InteractiveShell.instance(colors="nocolor", config=config)
if os.getuid() == 0:
    # what is imported later may lie where only root can read: import it now
    go(warm, "%%step w\\n1 / 0", "%%step w\\nx = 1", "%%step w\\nx = 1", "%%step -x",
       "%steps", "%steps commit w", "%unload_ext nbresume")
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
print("BEGIN")
if what == "make":
    go(folder, "%%step a\\nx = 1")
elif what == "limit":
    go(folder)
    limit(60_000)
    ip.run_cell("%%step big\\nx = bytes(100_000)")
    limit(10**9)
    ip.run_cell("%steps commit big")
else:
    go(folder, "%%step a\\nx = 1")
"""


@pytest.fixture
def in_user():
    """Return what loads nbresume as an ordinary user in a folder of that user.

    What was there before must be there afterwards.
    """
    folder = Path(tempfile.mkdtemp(prefix="nbresume-test-"))
    folder.chmod(0o777)

    def user(what: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", _USER, str(folder), what],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.partition("BEGIN")[2] + done.stderr

    def prepared(what: str) -> str:
        user("make")
        store = folder / ".nbresume"
        if what == "chown":
            for path in (store, *store.rglob("*")):
                os.chown(path, 0, 0)
            for path in (store, *store.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
        if what == "chmod":
            store.chmod(0o500)
        before = hashes(store)
        said = user(what)
        store.chmod(0o700)
        after = hashes(store)
        changed = {path for path in before if after.get(path) != before[path]}
        assert {path for path in changed if not path.endswith("zarr.json")} == set()
        return said

    yield prepared
    shutil.rmtree(folder)
