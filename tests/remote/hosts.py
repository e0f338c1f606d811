"""Hosts that share nothing but a bucket, and clusters that share that with them."""

import json
import os
import subprocess
import sys

from clusters import Cluster
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


BLIND = """
import sys

def refuse(event, args):
    path = args[0] if args else ""
    if isinstance(path, str) and path.startswith({folders!r}):
        raise PermissionError(13, "another host's", path)

sys.addaudithook(refuse)
"""


def blind_cluster(folder, hosts, env):
    """Return a cluster at home elsewhere: files of hosts are none there."""
    folder.mkdir()
    blind = BLIND.format(folders=tuple(str(host.folder) for host in hosts))
    own = {"HOME": str(folder), "JUPYTER_DATA_DIR": str(folder / "data")}
    return Cluster(folder, own | plant(folder / "site", blind) | env)
