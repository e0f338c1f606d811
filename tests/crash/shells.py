"""Kernels for the ladder of crash tests: real processes, forked from one zygote.

Each is an IPython shell in a process of its own with the extension loaded as a
notebook loads it, and is stopped and killed by signals. Kernels of ``ipykernel`` are
killed in `test_kill.py`.
"""

import dataclasses
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from faults import Fault

LOAD = "%load_ext nbresume"
ZYGOTE = Path(__file__).with_name("zygote.py")
_LIMIT_S = 60


@dataclass(frozen=True)
class Said:
    """What a kernel answered to a cell."""

    error: str
    text: str

    @property
    def ok(self) -> bool:
        """Say whether the cell succeeded."""
        return not self.error


class Dead(Exception):  # noqa: N818 - it says what the kernel is
    """The kernel ended in place of an answer."""


class Outside:
    """The outside world: a ledger whose every line is flushed before it is told.

    A line is ``step``, or ``step.effect``; with ``=KEY`` it is written once for a key.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.on_mark: Callable[[str], str] = lambda mark: "done"
        """Called after a line was flushed; returns what the kernel hears."""
        self.on_reach: Callable[[str, int], None] = lambda mark, pid: None
        """Called before that with the pid, if the kernel made a connection for it."""
        self._lock = threading.Lock()
        self._server: socket.socket | None = None

    def serve(self, connection: socket.socket) -> None:
        """Answer one kernel until it ends."""
        with connection, connection.makefile("r") as lines:
            try:
                for line in lines:
                    mark, _, pid = line.strip().partition(" ")
                    if pid:
                        self.on_reach(mark, int(pid))
                    self._add(mark)
                    heard = self.on_mark(_without_key(mark))
                    connection.sendall(heard.encode())
            except OSError:
                return  # the kernel was killed in between

    def listen(self) -> None:
        """Let kernels make connections, also while others stand still in one."""
        self._server = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        """Where it listens; 0 if it does not."""
        return self._server.getsockname()[1] if self._server else 0

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            # it wakes up who waits for connections; closing alone does not
            self._server.shutdown(socket.SHUT_RDWR)
            self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._server.accept()
                threading.Thread(
                    target=self.serve, args=(connection,), daemon=True
                ).start()

    def _add(self, mark: str) -> None:
        with self._lock, self.path.open("a+") as file:
            file.seek(0)
            if "=" in mark and mark in file.read().split():
                return  # done before with this idempotency key
            file.write(f"{mark}\n")
            file.flush()
            os.fsync(file.fileno())

    def marks(self) -> list[str]:
        """Return what happened, in order, without idempotency keys."""
        told = self.path.read_text().split() if self.path.exists() else []
        return [_without_key(mark) for mark in told]


def _without_key(mark: str) -> str:
    return mark.partition("=")[0]


class Zygote:
    """The process that kernels are forked from."""

    def __init__(self, *under: str) -> None:
        mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with its:
            self._process = subprocess.Popen(
                [*under, sys.executable, str(ZYGOTE), str(its.fileno())],
                pass_fds=[its.fileno()],
                env={**os.environ, "MPLBACKEND": "Agg"},
            )
        self._requests = mine
        self._shells: list[Shell] = []
        self._lock = threading.Lock()

    def fork(
        self,
        folder: Path,
        outside: Outside,
        *,
        record: Path | None = None,
        plant: str = "",
    ) -> "Shell":
        """Return a new kernel for the notebook ``main.ipynb`` of a folder.

        It records its file operations, and has a planted fault, if that is said.
        """
        control, its_control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        world, its_world = socket.socketpair()
        spec = {
            "folder": str(folder),
            "record": str(record or ""),
            "plant": plant,
            "port": outside.port,
            "env": {
                "JPY_SESSION_NAME": str(folder / "main.ipynb"),
                "IPYTHONDIR": str(folder / ".ipython"),
                "JUPYTER_DATA_DIR": str(folder / "user"),
            },
        }
        with its_control, its_world, self._lock:
            descriptors = [its_control.fileno(), its_world.fileno()]
            socket.send_fds(self._requests, [json.dumps(spec).encode()], descriptors)
            pid = int(self._requests.recv(64))
        threading.Thread(target=outside.serve, args=(world,), daemon=True).start()
        self._shells.append(Shell(pid, control))
        return self._shells[-1]

    def close(self) -> None:
        """Let the process end, and every kernel of it."""
        for shell in self._shells:
            shell.kill()
        self._requests.close()
        self._process.wait(timeout=_LIMIT_S)


class Shell:
    """One kernel."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self.pid = pid
        self._control = control
        self._control.settimeout(_LIMIT_S)
        self.process = psutil.Process(pid)

    def load(self) -> "Shell":
        """Load the extension as the notebook's first cell does."""
        said = self.run(LOAD, "c0")
        assert said.ok, said
        return self

    def run(self, code: str, cell_id: str) -> Said:
        """Run a cell; return what it said.

        Raises
        ------
        Dead
            The kernel ended before it answered.
        """
        self.send(code, cell_id)
        return self.answer()

    def send(self, code: str, cell_id: str) -> None:
        """Send a cell and do not wait."""
        self._send({"code": code, "cell_id": cell_id})

    def answer(self) -> Said:
        """Return what a cell that was sent has said."""
        return Said(**self._receive())

    def arm(self, fault: Fault | None) -> None:
        """Let a fault happen from now on; None for none."""
        self._send({"arm": dataclasses.asdict(fault) if fault else None})
        self._receive()

    def look(self, expression: str) -> str:
        """Return the repr of an expression."""
        self._send({"look": expression})
        return self._receive()["value"]

    def _send(self, request: dict) -> None:
        try:
            self._control.sendall(json.dumps(request).encode())
        except OSError as error:
            raise Dead from error

    def _receive(self) -> dict:
        try:
            told = self._control.recv(1 << 18)
        except ConnectionError:
            told = b""
        if not told:
            self.wait_dead()
            raise Dead
        return json.loads(told)

    # -- signals ------------------------------------------------------------------

    def kill(self) -> None:
        """End the process with SIGKILL."""
        self._signal(signal.SIGKILL)
        self.wait_dead()

    def shoot(self) -> None:
        """Send SIGKILL and do not wait: somebody else reads the answers."""
        self._signal(signal.SIGKILL)

    def pause(self) -> None:
        """Send SIGSTOP and do not wait."""
        self._signal(signal.SIGSTOP)

    def interrupt(self) -> None:
        """Send Ctrl-C."""
        self._signal(signal.SIGINT)

    def stop(self) -> None:
        """Let the process stand still."""
        self._signal(signal.SIGSTOP)
        self.wait_stopped()

    def go_on(self) -> None:
        """Let a process that stands still go on."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: int) -> None:
        # it may end at any moment
        with suppress(ProcessLookupError):
            if self.is_alive():
                os.kill(self.pid, number)

    def is_alive(self) -> bool:
        """Say whether the process is there."""
        return self.process.is_running()

    def wait_stopped(self) -> bool:
        """Return once the process stands still; False if it answers or ends."""
        until = time.monotonic() + _LIMIT_S
        while time.monotonic() < until:
            try:
                if self.process.status() == psutil.STATUS_STOPPED:
                    return True
            except psutil.NoSuchProcess:
                return False
            if self.has_answered():
                return False
            time.sleep(0.002)
        raise TimeoutError(self.pid)

    def has_answered(self) -> bool:
        """Say whether an answer, or the end, can be received at once."""
        self._control.setblocking(False)
        try:
            self._control.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        finally:
            self._control.settimeout(_LIMIT_S)
        return True

    def wait_dead(self) -> None:
        """Return once the process is gone."""
        self._control.close()
        until = time.monotonic() + _LIMIT_S
        while self.process.is_running():
            if time.monotonic() > until:
                raise TimeoutError(self.pid)
            time.sleep(0.002)
