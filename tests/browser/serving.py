"""A real JupyterLab over a folder: it can be killed, and started again.

The rule: everything of it lies in one folder, and nothing of it is left behind. What
is still there when it should be gone is ended, and told.
"""

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil

START_S = 90
STOP_S = 30


def environment(home):
    """Return variables by which a server keeps everything in one folder."""
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
    }
    return os.environ | {name: str(home / folder) for name, folder in own.items()}


class Lab:
    """A JupyterLab; two of one home are two servers of one user."""

    def __init__(self, home: Path, *module: str) -> None:
        self.home = home
        self.root = home / "root"
        self.connections = home / "runtime"
        """Where the connection files of its kernels lie."""
        self.token = secrets.token_hex(16)
        self._module = module or ("jupyterlab",)
        self._port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Return its address; it stays the same when it is started again."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it answers; the first time on any free port."""
        self.root.mkdir(parents=True, exist_ok=True)
        self._without_news()
        log = self.home / "server.log"
        with log.open("a") as out:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", *self._module),
                    *("--no-browser", "--allow-root"),
                    *("--ServerApp.ip=127.0.0.1", "--ServerApp.port_retries=0"),
                    f"--ServerApp.port={self._port}",
                    f"--IdentityProvider.token={self.token}",
                    f"--ServerApp.root_dir={self.root}",
                    "--LabApp.expose_app_in_browser=True",
                ],
                env=environment(self.home),
                cwd=self.root,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        end = time.monotonic() + START_S
        while not self._is_up():
            assert self._process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.1)

    def kill(self) -> None:
        """Kill it as the system does when memory runs out; its kernels see it go."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(STOP_S)

    def stop(self) -> None:
        """End it and everything that it started."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            self._process.wait(STOP_S)
        self.end_kernels()

    def ask(self, method: str, route: str):
        """Ask one of Jupyter's own routes; return its JSON."""
        request = Request(f"{self.url}/{route}", method=method)  # noqa: S310 - ours
        request.add_header("Authorization", f"token {self.token}")
        with urlopen(request, timeout=STOP_S) as answer:  # noqa: S310 - ours
            body = answer.read()
        return json.loads(body) if body else None

    def kernels(self, kernel_id: str = "") -> list[psutil.Process]:
        """Return the kernel processes of this home, or those of one kernel."""
        wanted = str(self.connections / f"kernel-{kernel_id}")
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if any(wanted in word for word in process.cmdline()):
                    found.append(process)
        return found

    def end_kernels(self) -> None:
        """Kill what is left of its kernels; nothing restarts them any more."""
        left = self.kernels()
        for process in left:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(left, STOP_S)

    def clear(self) -> None:
        """Leave it as it was when it started: no kernel, file or setting of a test."""
        end = time.monotonic() + STOP_S
        while left := [
            f"api/{what}/{found['id']}"
            for what in ("sessions", "kernels")
            for found in self.ask("GET", f"api/{what}")
        ]:
            for route in left:
                # while the server restarts a kernel that was killed, it cannot end it
                with contextlib.suppress(HTTPError):
                    self.ask("DELETE", route)
            assert time.monotonic() < end, left
        self.end_kernels()
        for path in self.root.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        for path in (self.home / "settings").rglob("*.jupyterlab-settings"):
            path.unlink()
        self._without_news()

    def _is_up(self) -> bool:
        """Say whether it answers; learn its port by the file that says so."""
        assert self._process is not None
        said = self.connections / f"jpserver-{self._process.pid}.json"
        try:
            self._port = json.loads(said.read_text())["port"]
            self.ask("GET", "api/status")
        except (OSError, ValueError):
            return False
        return True

    def set(self, extension: str, plugin: str, **said) -> None:
        """Set settings of one of JupyterLab's plugins, as its editor does."""
        folder = self.home / "settings" / "@jupyterlab" / extension
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{plugin}.jupyterlab-settings").write_text(json.dumps(said))

    def _without_news(self) -> None:
        """Keep the question about news from covering the page."""
        self.set(
            "apputils-extension",
            "notification",
            fetchNews="false",
            checkForUpdates=False,
        )
