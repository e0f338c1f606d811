"""The installed wheel: both extensions are found, and no node is needed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

JUPYTER = Path(sys.executable).parent / "jupyter"


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("labextension", "list"), "nbresume"),
        (("server", "extension", "list"), "nbresume.ui.server"),
    ],
)
def test_jupyter_lists_it(tmp_path, words, name):
    """JupyterLab and the server find their parts enabled and in order."""
    done = subprocess.run(
        [JUPYTER, *words],
        capture_output=True,
        text=True,
        check=True,
        # nothing but this environment's own programs
        env=os.environ | {"PATH": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path)},
    )

    told = done.stdout + done.stderr
    found = [line for line in told.splitlines() if name in line.split()]
    assert any("enabled" in line for line in found), told
    assert any("OK" in line for line in found), told
