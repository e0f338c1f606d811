"""A process that has imported everything and forks kernels, each an IPython shell.

A fork is a process like any other, with a pid, a start and an end by SIGKILL; only the
second that imports take is saved. What the shell is told, and what it says, goes over
a socket; a second one leads to the outside world, to which `note` writes; `reach` opens
a connection to it.
"""

import builtins
import contextlib
import io
import json
import os
import re
import signal
import socket
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import nbclient  # noqa: F401 - imported once, here
import zarr  # noqa: F401
from faults import Fault, install
from IPython.core.interactiveshell import InteractiveShell
from recorder import Recorder
from traitlets.config import Config

from nbresume.ui.ipython import magics, steps  # noqa: F401

_COLORS = re.compile(r"\x1b\[[0-9;]*m")


class _Screen(io.StringIO):
    """A stream whose ``write`` can be wrapped, as that of a kernel can."""


class Outside:
    """The way to the outside world, as cells see it."""

    def __init__(
        self, connection: socket.socket, port: int, recorder: Recorder | None
    ) -> None:
        self._connection = connection
        self._port = port
        self._recorder = recorder

    def note(self, mark: str) -> None:
        """Do something in the outside world, and wait until it was done.

        The product cannot see it.
        """
        self._connection.sendall(f"{mark}\n".encode())
        heard = self._connection.recv(16)
        if self._recorder is not None:
            self._recorder.tell("mark", mark)
        _obey(heard)

    def reach(self, mark: str) -> None:
        """Do the same over a connection of its own, which the product can see."""
        with socket.create_connection(("127.0.0.1", self._port)) as connection:
            connection.sendall(f"{mark} {os.getpid()}\n".encode())
            heard = connection.recv(16)
        _obey(heard)


def _obey(heard: bytes) -> None:
    match heard:
        case b"done":
            return
        case b"kill":
            os.kill(os.getpid(), signal.SIGKILL)
        case b"crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        case b"exit":
            os._exit(1)
        case told:
            raise ConnectionError(told)


def serve(spec: dict, control: socket.socket, outside: socket.socket) -> None:
    """Be a kernel until the other side hangs up."""
    os.chdir(spec["folder"])
    os.environ.update(spec["env"])
    faults = install()
    recorder = Recorder(Path(spec["record"])) if spec["record"] else None
    if recorder is not None:
        recorder.install()
    exec(spec["plant"], {})  # noqa: S102 - a fault that a test plants
    world = Outside(outside, spec["port"], recorder)
    builtins.note, builtins.reach = world.note, world.reach
    config = Config()
    config.HistoryManager.enabled = False
    shell = InteractiveShell.instance(config=config, colors="nocolor")
    while request := _request(control):
        answer = _answer(shell, faults, request)
        if recorder is not None and "code" in request:
            recorder.tell("reply", request["cell_id"], answer["error"])
        control.sendall(json.dumps(answer).encode())
    os._exit(0)


def _request(control: socket.socket) -> dict | None:
    while True:
        try:
            told = control.recv(1 << 16)
        except KeyboardInterrupt:
            continue
        return json.loads(told) if told else None


def _answer(shell: InteractiveShell, faults, request: dict) -> dict:
    if "arm" in request:
        faults.arm(Fault(**request["arm"]) if request["arm"] else None)
        return {}
    if "look" in request:
        try:
            return {"value": repr(eval(request["look"], shell.user_ns))}  # noqa: S307
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told
            return {"value": f"{type(error).__name__}: {error}"}
    screen = _Screen()
    with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
        result = shell.run_cell(
            request["code"], cell_id=request["cell_id"], store_history=True
        )
    error = result.error_in_exec or result.error_before_exec
    told = f"{type(error).__name__}: {error}" if error else ""
    return {"error": told, "text": _COLORS.sub("", screen.getvalue())[-20_000:]}


def main(number: int) -> None:
    """Fork a kernel for each request; say its pid."""
    # the forked ones are reaped by the system: no zombie is left of a killed one
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(fileno=number) as requests:
        while True:
            told, descriptors, _, _ = socket.recv_fds(requests, 1 << 16, 2)
            if not told:
                return
            pid = os.fork()
            if pid:
                for descriptor in descriptors:
                    os.close(descriptor)
                requests.sendall(str(pid).encode())
                continue
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            control, outside = (socket.socket(fileno=d) for d in descriptors)
            serve(json.loads(told), control, outside)


if __name__ == "__main__":
    main(int(sys.argv[1]))
