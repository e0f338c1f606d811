"""Kernels whose store is in a bucket, killed at each request of a step."""

import json
import os
import signal
import time
from collections import Counter
from urllib.parse import unquote

import pytest
from proxy import DROP
from real_kernel import LOAD, Kernel, save
from services import NOT_S3

from nbresume.store.chain import Chain
from nbresume.store.remote_open import open_remote
from nbresume.store.trust import Trust

pytestmark = pytest.mark.kernel

SITUATIONS = [
    ("probe", True),
    ("claim", False),
    ("claim", True),
    ("copy", True),
    ("intent", True),
    ("pack", False),
    ("committed", False),
    ("committed", True),
    ("documents", False),
    ("documents", True),
]
"""Which of the requests that a kernel sends for its first step is the last one."""
ELSEWHERE = [("committed", False), ("committed", True)]
KEPT = (("committed", True), ("documents", False), ("documents", True))
FIRST = "%%step first\nx = [1]\nopen('ledger', 'a').write('first\\n')"


def step(number):
    """Return a step that another kernel has to go on from."""
    note = f"open('ledger', 'a').write('s{number}\\n')"
    return f"%%step s{number}\ny = x + [{number}]\n{note}"


def ran(folder):
    """Return how often each body ran."""
    path = folder / "ledger"
    return Counter(path.read_text().split() if path.exists() else [])


def committed(bucket):
    """Return the steps that are committed in the bucket, as any reader finds them."""
    backend = open_remote(bucket)
    found = set()
    for run_id in backend.names("journal"):
        for link in Chain(backend, Trust(b"k" * 32), run_id).follow(-1):
            if link.envelope.kind == "nbresume.committed":
                found.add(link.envelope.payload["step"])
    return found


class Killer:
    """Kills a kernel at one of its requests, which arrives or does not."""

    def __init__(self, proxy, kernel, name, *, is_sent):
        self.proxy, self.kernel, self.name, self.is_sent = proxy, kernel, name, is_sent
        self.is_committed = False
        proxy.plan = self.plan

    def plan(self, number):
        """Return what happens to a request."""
        method, path = self.proxy.seen[number]
        if method != "PUT" or self.called(unquote(path)) != self.name:
            return None
        self.proxy.plan = lambda _: None
        os.kill(self.kernel.pid, signal.SIGKILL)
        return DROP, self.is_sent

    def called(self, path):
        """Return what a put is for a step."""
        if "/journal/" in path:
            kind = json.loads(self.proxy.body)["kind"].removeprefix("nbresume.")
            self.is_committed |= kind == "committed"
            return kind
        if path.endswith("/zarr.json"):
            return "documents" if self.is_committed else "older documents"
        kinds = {"/tmp/probe": "probe", "/runs/": "copy", "/pack/c.0": "pack"}  # noqa: S108
        return next(kind for sign, kind in kinds.items() if sign in path)


def wait_for_end(proxy, kernel):
    """Wait until the kernel is dead, or has sent all that there was to send."""
    seen, since = 0, time.monotonic()
    while kernel.process.poll() is None and time.monotonic() < since + 3:
        if len(proxy.seen) > seen:
            seen, since = len(proxy.seen), time.monotonic()
        time.sleep(0.02)


def objects(bucket):
    """Return the bytes of every object of the store."""
    backend, found, folders = open_remote(bucket), [], [""]
    while folders:
        folder = folders.pop()
        for name in backend.names(folder):
            key = f"{folder}/{name}".lstrip("/")
            if backend.size(key) is None:
                folders.append(key)
            else:
                found.append(backend.read(key))
    return found


@pytest.mark.parametrize(
    "encrypt", [{}, {"NBRESUME_ENCRYPT": "1"}], ids=["clear", "encrypted"]
)
def test_a_kernel_is_killed_at_each_request_of_a_step(tmp_path, proxy, bucket, encrypt):
    """What was committed is there; what was not runs again; each kernel resumes."""
    kill(tmp_path, proxy, bucket, SITUATIONS, **encrypt)


@NOT_S3
def test_a_kernel_is_killed_at_its_commit_elsewhere(tmp_path, proxy, bucket):
    """Azure's and Google's stores keep the same promise."""
    kill(tmp_path, proxy, bucket, ELSEWHERE)


def kill(folder, proxy, bucket, situations, **encrypt):
    """Kill a kernel in each situation; the next one must find what was committed."""
    env = {"NBRESUME_UNATTENDED": "1", "NBRESUME_STORE": bucket, **encrypt}
    lost, doubled, kept, killed, ledger = 0, 0, 0, 0, Counter(first=1)
    save(folder / "main.ipynb", LOAD, FIRST)
    with Kernel(folder, env=env) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(FIRST, "c1")
    for number, (name, is_sent) in enumerate(situations):
        cells = (LOAD, FIRST, step(number))
        save(folder / "main.ipynb", *cells)
        with Kernel(folder, env=env) as kernel:
            kernel.ok(LOAD, "c0")
            kernel.ok(FIRST, "c1")
            Killer(proxy, kernel, name, is_sent=is_sent)
            kernel.send(step(number), "c2")
            wait_for_end(proxy, kernel)
            killed += kernel.process.poll() == -signal.SIGKILL
        proxy.plan = lambda _: None
        # a body that is not known to be whole runs again
        is_kept = f"s{number}" in committed(bucket)
        kept += is_kept
        ledger[f"s{number}"] = 1 if is_kept else ran(folder)[f"s{number}"] + 1
        with Kernel(folder, env=env) as kernel:
            for at, cell in enumerate(cells):
                kernel.ok(cell, f"c{at}")
            lost += kernel.evaluate("x, y") != f"([1], [1, {number}])"
        doubled += ran(folder) != ledger
    print(f"{killed} kills, {kept} kept, {lost} lost, {doubled} doubled")

    assert killed == len(situations)
    assert (lost, doubled) == (0, 0)
    assert kept == sum(one in KEPT for one in situations)
    # the text of a cell is a payload
    in_the_clear = any(b"open('ledger'" in data for data in objects(bucket))
    assert in_the_clear != bool(encrypt)
