"""A real Jupyter server, with the routes of nbresume, on a port of its own."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

TESTS = next(p for p in Path(__file__).resolve().parents if p.name == "tests")
sys.path.insert(0, str(TESTS / "kernel" / "durability"))

from real_kernel import LOAD, Kernel, save  # noqa: E402 - after its path

A = "%%step a\nx = [1, 2]"
MAIL = "%%step c --effects\nimport os, signal\nos.kill(os.getpid(), signal.SIGKILL)"

EXTENSION = "nbresume.ui.server"
START_S = 60


def free_port():
    """Return a port that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@dataclass(frozen=True)
class Answer:
    """What the server said."""

    status: int
    body: bytes
    headers: list[tuple[str, str]]

    @property
    def json(self):
        """Return the body as JSON."""
        return json.loads(self.body)


@dataclass(frozen=True)
class Server:
    """A server that runs, and how to ask it."""

    port: int
    token: str
    root: Path

    def get(self, route, *, as_stranger=False, **query) -> Answer:
        """Ask a route."""
        own = {} if as_stranger else self.pass_of(self.token)
        return self.send("GET", f"{route}?{urlencode(query)}", own)

    def post(self, route, content, *, who="", headers=None) -> Answer:
        """Send JSON, or bytes, to a route."""
        own = self.pass_of(who or self.token) if headers is None else headers
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.send("POST", route, own, body)

    def pass_of(self, token) -> dict[str, str]:
        """Return the headers of somebody who has a token."""
        return {"Authorization": f"token {token}"}

    def send(self, method, route, headers, body=None) -> Answer:
        """Send a request; return what the server said."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, f"/{route}", body=body, headers=headers)
        response = connection.getresponse()
        answer = Answer(response.status, response.read(), response.getheaders())
        connection.close()
        return answer


def wait_until_up(server, process, log):
    """Wait until the server answers; fail with its log if it ended."""
    end = time.monotonic() + START_S
    while True:
        try:
            if server.get("api/status").status == 200:
                return
        except OSError:
            pass
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


@contextmanager
def running(home, config="", env=None, who=""):
    """Run a Jupyter server over an empty folder.

    Parameters
    ----------
    home
        Folder for everything that is the server's.
    config
        Lines of its configuration, in Python.
    env
        Variables for its process.
    who
        The token that the tests show it.
    """
    root = home / "root"
    root.mkdir()
    lines = f"c.ServerApp.jpserver_extensions = {{{EXTENSION!r}: True}}\n{config}"
    (home / "config").mkdir()
    (home / "config" / "jupyter_server_config.py").write_text(lines)
    found = Server(free_port(), who or secrets.token_hex(16), root)
    log = home / "server.log"
    with log.open("w") as out:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "jupyter_server", "--no-browser"),
                *("--allow-root", "--ServerApp.ip=127.0.0.1"),
                f"--ServerApp.port={found.port}",
                "--ServerApp.port_retries=0",
                f"--IdentityProvider.token={found.token}",
                f"--ServerApp.root_dir={root}",
            ],
            env={
                **os.environ,
                "JUPYTER_CONFIG_DIR": str(home / "config"),
                "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
                "IPYTHONDIR": str(home / "ipython"),
                **(env or {}),
            },
            cwd=root,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_up(found, process, log)
        yield found
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(20)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Run a Jupyter server over an empty folder."""
    with running(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture
def folder(server):
    """Return an empty folder below the server's root."""
    made = server.root / f"f{time.monotonic_ns()}"
    made.mkdir()
    return made


@pytest.fixture
def serving():
    """Return what runs another server."""
    return running


@pytest.fixture
def in_doubt_in():
    """Return what makes a folder, below a server's root, with a step in doubt."""
    return _in_doubt


@pytest.fixture
def in_doubt(server):
    """Return a folder whose notebook has a step that was killed while it acted."""
    return _in_doubt(server)


def _in_doubt(server):
    folder = server.root / f"d{time.monotonic_ns()}"
    folder.mkdir()
    save(folder / "nb.ipynb", LOAD, A, MAIL)
    with Kernel(folder, "nb.ipynb") as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(A, "c1")
        kernel.send(MAIL, "c2")
        kernel.process.wait()
    return folder
