"""How `nbresume run` reaches its kernel: sockets in a folder, not TCP ports.

The rule: a kernel of this machine never waits for a port. jupyter_client looks for free
ports and lets go of them before the kernel binds them; where many runs begin at once,
another process takes one in between, and the kernel never answers. A socket in a folder
of its own cannot be taken, and no other user of the machine can connect to it.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from jupyter_client.kernelspec import KernelSpecManager
from traitlets.config import Config

_LONGEST = 90
"""Bytes of a path with which every system can bind a socket, its number behind it."""


@contextmanager
def own_sockets(kernel: str) -> Iterator[Config]:
    """Make a folder for the sockets of a kernel; yield what makes it use them.

    Raises
    ------
    NoSuchKernel
        No kernel of this name is installed.
    """
    with tempfile.TemporaryDirectory(prefix="nbresume-") as folder:
        sockets = Path(folder) / "s"
        is_here = os.name == "posix" and _starts_here(kernel)
        if is_here and len(os.fsencode(sockets)) <= _LONGEST:
            yield Config({"KernelManager": {"transport": "ipc", "ip": str(sockets)}})
        else:
            yield Config()


def _starts_here(kernel: str) -> bool:
    """Whether the kernel is a process of this machine, as far as its spec says."""
    spec = KernelSpecManager().get_kernel_spec(kernel)
    asked = spec.metadata.get("kernel_provisioner", {}).get("provisioner_name")
    return asked in (None, "local-provisioner")
