"""Importing is cheap: heavy packages are loaded by what needs them, not before."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "kernel" / "durability"))

from real_kernel import LOAD, Kernel, save

ALLOWED = {"nbresume", "nbresume.collector", "nbresume.settings"}
MOST_OF_OURS = 117
"""Modules of ours that `%load_ext` imports: each takes a third of a millisecond."""
LATER = (
    *("ui.ipython.going_back", "ui.ipython.steps", "ui.ipython.face", "ui.widget"),
    *("compose.sequence", "compose.effects", "run.stepper", "run.parts", "run.commits"),
    *("run.inputs", "run.restore", "run.recovery", "run.view", "run.evidence"),
    *("capture.canonical", "capture.snapshot", "capture.pickling", "capture.rebuild"),
)
"""Modules that are needed when a cell has begun, a run is shown, a command typed."""
STEP = "%%step a\nx = [1, 2]\nprint('shown')"


def loaded(code, before="pass"):
    """Return the modules that a new Python has after the code, over those before."""
    script = (
        f"import json, sys\n{before}\nbefore = set(sys.modules)\n"
        f"{code}\nprint(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_importing_the_package_loads_almost_nothing():
    """`import nbresume` loads itself, its settings and the standard library."""
    found = loaded("import nbresume")

    ours = {name for name in found if name.split(".")[0] == "nbresume"}
    others = {name.split(".")[0] for name in found} - {"nbresume"}
    assert ours == ALLOWED
    assert others - set(sys.stdlib_module_names) == set()


def test_obstore_is_loaded_by_nobody_without_such_a_store():
    """What opens stores does not import obstore until a URL is opened."""
    found = {name.split(".")[0] for name in loaded("import nbresume.compose.stores")}

    assert "obstore" not in found


def test_the_command_line_loads_no_kernel_and_no_zarr():
    """`nbresume --version` and `status` need neither IPython, numpy nor zarr."""
    found = {name.split(".")[0] for name in loaded("import nbresume.ui.cli")}

    for name in ("IPython", "ipykernel", "nbclient", "nbformat", "zarr", "dill"):
        assert name not in found


def test_the_extension_loads_what_each_session_needs_and_no_more():
    """What `%load_ext` imports beside the kernel: no commands, no data libraries.

    A package that is added here is paid for by every kernel that is started.
    """
    found = loaded(
        "import nbresume.ui.ipython.magics",
        before="import IPython, ipykernel.kernelapp, ipykernel.zmqshell",
    )

    ours = {name for name in found if name.split(".")[0] == "nbresume"}
    others = {name.split(".")[0] for name in found} - {"nbresume"}
    assert others - set(sys.stdlib_module_names) == {"blake3", "msgspec"}
    assert len(ours) <= MOST_OF_OURS
    assert {f"nbresume.{name}" for name in LATER} & ours == set()


def test_the_server_loads_nothing_that_unpickles():
    """What a Jupyter server imports of ours rebuilds no value and runs no kernel."""
    found = set(loaded("import nbresume.ui.server"))

    for name in ("dill", "zarr", "ipykernel", "ipywidgets"):
        assert name not in {module.split(".")[0] for module in found}


@pytest.mark.kernel
def test_small_steps_load_no_heavy_package(tmp_path):
    """Loading the extension, running and replaying a small step needs none of them.

    Widgets are for somebody who sees them: this kernel is one of a headless run.
    """
    save(tmp_path / "main.ipynb", LOAD, STEP)
    heavy = ("zarr", "dill", "ipywidgets", "pandas", "pyarrow")
    ask = f"sorted(n for n in {heavy!r} if n in __import__('sys').modules)"
    with Kernel(tmp_path, env={"NBRESUME_UNATTENDED": "1"}) as kernel:
        for number, code in enumerate((LOAD, STEP)):
            kernel.ok(code, f"c{number}")
        after_run = kernel.evaluate(ask)
    with Kernel(tmp_path, env={"NBRESUME_UNATTENDED": "1"}) as kernel:
        before = kernel.evaluate(ask)
        kernel.ok(LOAD, "c0")
        after_load = kernel.evaluate(ask)
        replayed = kernel.ok(STEP, "c1")
        after_replay = kernel.evaluate(ask)
        value = kernel.evaluate("x")

    assert before == "[]"
    assert "[restored]" in replayed.text
    assert value == "[1, 2]"
    assert (after_run, after_load, after_replay) == ("[]", "[]", "[]")


@pytest.mark.kernel
def test_buttons_are_made_when_no_cell_waits(tmp_path):
    """Loading shows the run as text; ipywidgets is imported in a quiet moment."""
    save(tmp_path / "main.ipynb", LOAD, STEP)
    ask = "'ipywidgets' in __import__('sys').modules"
    with Kernel(tmp_path) as kernel:
        for number, code in enumerate((LOAD, STEP)):
            kernel.ok(code, f"c{number}")
    with Kernel(tmp_path) as kernel:
        shown = kernel.ok(f"{LOAD}\nprint('loaded:', {ask})", "c0").text
        until = time.monotonic() + 30
        while kernel.evaluate(ask) == "False" and time.monotonic() < until:
            time.sleep(0.5)
        later = kernel.evaluate(ask)

    assert "loaded: False" in shown
    assert "✓  a     committed" in shown
    assert later == "True"
