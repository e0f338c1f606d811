"""A real Jupyter server, with the routes of nbresume, on a port of its own."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

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
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        own = {} if as_stranger else {"Authorization": f"token {self.token}"}
        connection.request("GET", f"/{route}?{urlencode(query)}", headers=own)
        response = connection.getresponse()
        answer = Answer(response.status, response.read())
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


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Run a Jupyter server over an empty folder."""
    home = tmp_path_factory.mktemp("server")
    root = home / "root"
    root.mkdir()
    config = {"ServerApp": {"jpserver_extensions": {EXTENSION: True}}}
    (home / "config").mkdir()
    (home / "config" / "jupyter_server_config.json").write_text(json.dumps(config))
    found = Server(free_port(), secrets.token_hex(16), root)
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
