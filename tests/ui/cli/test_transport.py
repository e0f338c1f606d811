"""How `nbresume run` reaches its kernel: no port that another process may take."""

import json
import tempfile
from pathlib import Path

import pytest
from jupyter_client.provisioning import KernelProvisionerFactory
from real_kernel import LOAD, save

from nbresume.ui.transport import own_sockets

TELL = "k = get_ipython().kernel.parent\nprint(k.transport, k.ip.split('/')[-1])"
REMOTE = {
    "argv": ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"],
    "display_name": "elsewhere",
    "language": "python",
    "metadata": {"kernel_provisioner": {"provisioner_name": "k8s-provisioner"}},
}


@pytest.mark.kernel
def test_its_kernel_takes_no_ports(in_child, tmp_path, monkeypatch):
    """The kernel listens in a folder, which is gone when the run has ended."""
    save(tmp_path / "nb.ipynb", LOAD, TELL)
    # a test's own folder is too deep for a socket
    with tempfile.TemporaryDirectory() as short:
        monkeypatch.setenv("TMPDIR", short)
        done = in_child("run", tmp_path / "nb.ipynb")
        left = list(Path(short).iterdir())
    cell = json.loads((tmp_path / "nb.ipynb").read_text())["cells"][1]

    assert done.code == 0, done.said
    assert "".join(cell["outputs"][0]["text"]) == "ipc s\n"
    assert left == []


def test_a_kernel_of_another_machine_has_ports(tmp_path, monkeypatch):
    """Who starts a kernel elsewhere decides how it is reached."""
    spec = tmp_path / "kernels" / "far" / "kernel.json"
    spec.parent.mkdir(parents=True)
    spec.write_text(json.dumps(REMOTE))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    # as if what starts it were installed
    monkeypatch.setattr(
        KernelProvisionerFactory, "is_provisioner_available", lambda *_: True
    )
    with own_sockets("far") as far, own_sockets("python3") as here:
        assert far == {}
        assert here["KernelManager"]["transport"] == "ipc"


def test_a_path_too_long_for_a_socket_is_not_used(tmp_path, monkeypatch):
    """A system refuses to bind a socket whose path is longer than it can note."""
    deep = tmp_path / ("d" * 80)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with own_sockets("python3") as config:
        assert config == {}
