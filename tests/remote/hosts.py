"""Hosts that share nothing but a bucket, and clusters that share that with them."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel" / "durability"))

from real_kernel import Kernel, plant, save

ELSEWHERE = """
import socket
from datetime import UTC, datetime, timedelta
import nbresume.compose.system as system
socket.gethostname = lambda: {name!r}
system._boot_id = lambda: {name!r} + ' boot'
system.SystemClock.now = lambda _: datetime.now(UTC) + timedelta(hours={hours})
"""


class Host:
    """A machine with a home, a key, a clock and a copy of the notebook of its own."""

    def __init__(self, folder, name, bucket, *cells, hours=0):
        self.folder = folder / name
        startup = self.folder / ".ipython" / "profile_default" / "startup"
        startup.mkdir(parents=True)
        (startup / "00-host.py").write_text(ELSEWHERE.format(name=name, hours=hours))
        save(self.folder / "main.ipynb", *cells)
        self.env = {
            "HOME": str(self.folder),
            "JUPYTER_DATA_DIR": str(self.folder / "data"),
            "NBRESUME_STORE": bucket,
            "NBRESUME_RUN": "shared",
            "NBRESUME_UNATTENDED": "1",
        }

    def kernel(self):
        """Start a kernel."""
        return Kernel(self.folder, env=self.env)

    def ledger(self):
        """Return which bodies ran here."""
        path = self.folder / "ledger"
        return path.read_text().split() if path.exists() else []

    def type(self, *words):
        """Return what a command says here."""
        done = subprocess.run(
            [sys.executable, "-m", "nbresume", *words],
            env=os.environ | self.env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def history(self):
        """Return the records of the run, oldest first."""
        return json.loads(self.type("history", "main.ipynb", "--json"))


CLUSTER = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
BLIND = """
import sys

def refuse(event, args):
    path = args[0] if args else ""
    if isinstance(path, str) and path.startswith({folders!r}):
        raise PermissionError(13, "another host's", path)

sys.addaudithook(refuse)
"""


class Cluster:
    """A scheduler and two workers at home elsewhere: files of hosts are none there."""

    def __init__(self, folder, hosts, env):
        self.folder = folder
        folder.mkdir()
        script = folder / "cluster.py"
        script.write_text(CLUSTER)
        blind = BLIND.format(folders=tuple(str(host.folder) for host in hosts))
        own = {"HOME": str(folder), "JUPYTER_DATA_DIR": str(folder / "data")}
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            env=os.environ | own | plant(folder / "site", blind) | env,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            text=True,
        )
        self.address = self.process.stdout.readline().strip()

    def kill(self):
        """Kill all of it, as a power cut would."""
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
