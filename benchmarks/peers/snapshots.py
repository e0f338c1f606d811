"""Adapters of tools that keep the namespace, and of the plain kernel.

The rule: what is saved is saved before the cell counts as done, so that a kernel that
is killed after any cell loses nothing.
"""

import json
from typing import ClassVar

from peers.adapters import Adapter
from peers.workloads import Cell

_USER_NAMES = r"""
import re
_own = re.compile(r"_+|_i+|_i?\d+|_own|_user_names|_path|_keep|_exit_code")
def _user_names():
    shell = get_ipython()
    hidden = {*shell.user_ns_hidden, "In", "Out", "get_ipython", "exit", "quit", "open"}
    names = {name for name in shell.user_ns if name not in hidden}
    return {n: shell.user_ns[n] for n in names if not _own.fullmatch(n)}
"""


class Plain(Adapter):
    """Nothing is kept; in a new kernel every cell runs again."""

    name = "plain"
    # what the limits of the machine are measured with (`limits.py`)
    packages = ("numcodecs",)


class Nbresume(Adapter):
    """Each cell, also the one of imports and definitions, is a ``%%step``."""

    name = "nbresume"
    packages = ("nbresume",)
    again = False
    variables: ClassVar = {
        "JPY_SESSION_NAME": "{folder}/nb.ipynb",
        "JUPYTER_DATA_DIR": "{folder}/user",
    }

    def prepare(self) -> None:
        """Write the notebook whose cells the steps are."""
        cells = [self.setup(), self.preamble(), *map(self.cell, self.work.cells)]
        document = {
            "nbformat": 4,
            "nbformat_minor": 5,
            "metadata": {},
            "cells": [
                {
                    "cell_type": "code",
                    "id": cell.name,
                    "source": cell.code,
                    "metadata": {},
                    "outputs": [],
                    "execution_count": None,
                }
                for cell in [*cells, Cell("after", self.work.after)]
            ],
        }
        (self.folder / "nb.ipynb").write_text(json.dumps(document))

    def setup(self) -> Cell:
        """Return the cell that loads the extension."""
        return Cell("setup", "%load_ext nbresume")

    def preamble(self) -> Cell:
        """Return the first step."""
        return self.cell(Cell("preamble", self.work.preamble))

    def cell(self, cell: Cell) -> Cell:
        """Return the cell as a step."""
        return Cell(cell.name, f"%%step {cell.name}\n{cell.code}")

    def restore(self) -> list[Cell]:
        """Return the command that loads everything."""
        return [Cell("resume", "%steps resume")]

    def lazily(self) -> list[Cell]:
        """Return the steps, which are replayed and load what is read."""
        return [self.preamble(), *map(self.cell, self.work.cells)]


class Dill(Adapter):
    """The whole of ``__main__`` by ``dill.dump_module`` after each cell."""

    name = "dill"
    packages = ("dill",)
    again = False

    def setup(self) -> Cell:
        """Return the import."""
        return Cell("setup", f"import dill\n_path = {str(self.folder / 'main.dill')!r}")

    def arm(self) -> Cell:
        """Return the hook."""
        code = (
            "def _keep(result=None):\n    dill.dump_module(_path)\n"
            "get_ipython().events.register('post_run_cell', _keep)"
        )
        return Cell("arm", code)

    def restore(self) -> list[Cell]:
        """Return the load."""
        return [Cell("load", "dill.load_module(_path)")]


class Cloudpickle(Adapter):
    """All names of the user in one pickle by cloudpickle after each cell."""

    name = "cloudpickle"
    packages = ("cloudpickle",)
    again = False

    def setup(self) -> Cell:
        """Return the import and the choice of names."""
        path = str(self.folder / "names.pickle")
        return Cell("setup", f"import cloudpickle\n_path = {path!r}\n{_USER_NAMES}")

    def arm(self) -> Cell:
        """Return the hook."""
        code = (
            "def _keep(result=None):\n    with open(_path, 'wb') as file:\n"
            "        cloudpickle.dump(_user_names(), file, protocol=5)\n"
            "get_ipython().events.register('post_run_cell', _keep)"
        )
        return Cell("arm", code)

    def restore(self) -> list[Cell]:
        """Return the load."""
        code = (
            "with open(_path, 'rb') as _file:\n"
            "    globals().update(cloudpickle.load(_file))"
        )
        return [Cell("load", code)]


class Kishu(Adapter):
    """A commit after each cell by Kishu itself; the newest one is checked out."""

    name = "kishu"
    # the restore below uses parts of it that are not its public face
    packages = ("kishu==0.3.4",)
    # It imports pkg_resources, which newer releases of setuptools left out.
    common = ("setuptools<81", "ipykernel>=7,<8", "numpy", "pandas", "xxhash>=3.5")
    again = False
    variables: ClassVar = {
        "KISHU_PATH_ROOT": "{folder}",
        # its own headless mode: no server is asked to save the notebook
        "ENV_KISHU_TEST_MODE": "1",
    }
    expected = ("PostWithoutPreError",)

    def prepare(self) -> None:
        """Write the notebook that it wants."""
        cell = {
            "cell_type": "code",
            "id": "first",
            "source": "pass",
            "metadata": {},
            "outputs": [],
            "execution_count": None,
        }
        document = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
        (self.folder / "nb.ipynb").write_text(json.dumps(document))

    def setup(self) -> Cell:
        """Return the start of its tracking."""
        path = str(self.folder / "nb.ipynb")
        return Cell("setup", f"from kishu import init_kishu\ninit_kishu({path!r})")

    def restore(self) -> list[Cell]:
        """Return the checkout of the newest commit of the killed kernel."""
        path = str(self.folder / "nb.kishudb")
        code = (
            "import pathlib\n"
            "from kishu.storage.commit_graph import KishuCommitGraph\n"
            f"_graph = KishuCommitGraph.new_var_graph(pathlib.Path({path!r}))\n"
            "_ids = [node.commit_id for node in _graph.list_all_history()]\n"
            "_old = [one for one in _ids if one.startswith('1:')]\n"
            "_newest = max(_old, key=lambda one: [int(n) for n in one.split(':')])\n"
            "_kishu.checkout(_newest, skip_notebook=True)"
        )
        return [Cell("checkout", code)]
