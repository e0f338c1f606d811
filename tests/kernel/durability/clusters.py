"""A dask cluster in processes of its own, and cells that it computes."""

import os
import signal
import subprocess
import sys

SCRIPT = """
import sys
from distributed import LocalCluster

if __name__ == "__main__":
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""
CONNECT = """from distributed import Client
client = Client({address!r})"""
SLOW = """%%step slow
import dask.array as da, numpy as np, pathlib, time
def slowly(block, block_id=None):
    if block_id != (0,):
        pathlib.Path({begun!r}).touch()
        while not pathlib.Path({go!r}).exists():
            time.sleep(0.05)
    return block + 1
y = da.zeros(40, chunks=10).map_blocks(slowly, meta=np.empty(0))"""
"""All blocks but the first wait for a file; one says by another that it began."""
IMPATIENT = "import nbresume.capture.shelving as _s; _s._ALONE_S = 3"


class Cluster:
    """A scheduler and two workers."""

    def __init__(self, folder, env=None):
        self.folder = folder
        script = folder / "cluster.py"
        script.write_text(SCRIPT)
        self.process = subprocess.Popen(
            [sys.executable, str(script)],
            env=os.environ | (env or {}),
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
