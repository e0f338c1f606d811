"""A real IPython kernel as a process of its own, driven over its sockets.

The rule: a cell takes from its request until the kernel says that it is idle, as a
front end sees it; what it wrote and held is read from ``/proc`` by the side.
"""

import os
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from queue import Empty

from jupyter_client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

START_S = 120
_DROPPED = (
    *("PYTHONPATH", "VIRTUAL_ENV", "OMP_NUM_THREADS"),
    # a kernel would compile all of an editable package at each start
    "PYTHONDONTWRITEBYTECODE",
)


class CellFailed(Exception):  # noqa: N818 - says what happened, as the package's do
    """A cell raised, did not end in time, or took its kernel with it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back from one cell."""

    seconds: float
    printed: str
    error: str
    """Name and message of what was raised, or nothing."""


@dataclass(frozen=True, slots=True)
class Process:
    """What ``/proc`` says about a kernel, in bytes."""

    written: int
    peak: int
    resident: int


class Kernel:
    """A kernel that was started, until it is killed."""

    def __init__(self, python: Path, folder: Path, variables: dict[str, str]) -> None:
        path, _ = write_connection_file(str(folder / f"kernel-{time.time_ns()}.json"))
        own = {k: v for k, v in os.environ.items() if k not in _DROPPED}
        own |= {
            "IPYTHONDIR": str(folder / "ipython"),
            "JUPYTER_RUNTIME_DIR": str(folder),
        }
        command = [str(python), "-m", "ipykernel_launcher", "-f", path]
        self.begun = time.perf_counter()
        self._process = subprocess.Popen(
            [*command, "--HistoryManager.enabled=False"],
            env=own | variables,
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._client = BlockingKernelClient(connection_file=path)
        try:
            self._client.load_connection_file()
            self._client.start_channels()
            self._wait()
        except BaseException:
            self.kill()
            raise
        self.start_s = time.perf_counter() - self.begun

    def _wait(self) -> None:
        """Return as soon as the kernel answers on both sockets."""
        until = time.perf_counter() + START_S
        while self._process.poll() is None and time.perf_counter() < until:
            try:
                self._client.kernel_info(reply=True, timeout=1)
                # what it publishes is lost to us until the subscription arrived
                self._client.get_iopub_msg(timeout=0.1)
            except (TimeoutError, Empty):
                continue
            return
        raise CellFailed("the kernel did not start")

    def run(self, code: str, cell_id: str = "", *, timeout_s: float = 600) -> Answer:
        """Run a cell to its end; an error that it raised is part of the answer.

        Raises
        ------
        CellFailed
            If the kernel died or was not idle in time.
        """
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": False,
        }
        session = self._client.session
        request = session.msg(
            "execute_request", content, metadata={"cellId": cell_id or "plain"}
        )
        begun = time.perf_counter()
        self._client.shell_channel.send(request)
        printed: list[str] = []
        error = ""
        for message in self._until_idle(request["header"]["msg_id"], begun + timeout_s):
            said = message["content"]
            if message["msg_type"] == "stream":
                printed.append(said["text"])
            elif message["msg_type"] == "error":
                error = f"{said['ename']}: {said['evalue']}"
        seconds = time.perf_counter() - begun
        return Answer(seconds, "".join(printed), error)

    def _until_idle(self, request_id: str, until: float):
        """Give the messages that belong to a request."""
        while True:
            left = until - time.perf_counter()
            if left <= 0:
                raise CellFailed("the cell did not end in time")
            try:
                message = self._client.get_iopub_msg(timeout=min(left, 1))
            except Empty:
                if self._process.poll() is not None:
                    raise CellFailed("the kernel died") from None
                continue
            if message["parent_header"].get("msg_id") != request_id:
                continue
            if message["content"].get("execution_state") == "idle":
                return
            yield message

    def process(self) -> Process:
        """Return what the kernel wrote and held so far.

        Raises
        ------
        CellFailed
            It is dead, and has neither files nor memory.
        """
        root = Path("/proc") / str(self._process.pid)
        try:
            moved = _table(root / "io")
            held = _table(root / "status")
            peak, resident = held["VmHWM"] * 1024, held["VmRSS"] * 1024
        except (OSError, KeyError) as error:
            raise CellFailed("the kernel died") from error
        return Process(moved["wchar"], peak, resident)

    def kill(self) -> None:
        """Send SIGKILL; nothing in the kernel gets to run after it."""
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._client.stop_channels()


def _table(path: Path) -> dict[str, int]:
    """Return the numbers of a file of ``/proc``."""
    pairs = (line.split(":") for line in path.read_text().splitlines())
    return {
        name: int(rest.split()[0])
        for name, rest in pairs
        if rest.split() and rest.split()[0].isdigit()
    }


def tree_bytes(folder: Path) -> int:
    """Return the bytes of all files below a folder, hard links once."""
    seen: dict[int, int] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(Path(place) / name)
            except FileNotFoundError:
                continue  # a journal of a data base comes and goes
            seen[found.st_ino] = found.st_size
    return sum(seen.values())
