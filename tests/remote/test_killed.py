"""Kernels whose store is in a bucket, killed at each request of a step."""

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from proxy import DROP, Proxy

from nbresume.store.chain import Chain
from nbresume.store.remote_open import open_remote
from nbresume.store.trust import Trust

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel" / "durability"))

from real_kernel import LOAD, Kernel, save

pytestmark = pytest.mark.kernel

REQUESTS = 5
"""Of a step: intent, pack, commit and documents; a claim and its copy before some."""
SITUATIONS = [(n, is_sent) for n in range(REQUESTS) for is_sent in (False, True)]
STEPS = [
    f"%%step s{i}\nx{i} = [{i}]\nopen('ledger', 'a').write('s{i}\\n')"
    for i in range(len(SITUATIONS))
]


@pytest.fixture
def proxy(s3):
    """Return a proxy through which the kernels reach the bucket."""
    found = Proxy(s3)
    yield found
    found.close()


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


def kill_at(proxy, kernel, at, *, is_sent):
    """Let a kernel be killed at one of its next requests, which arrives or does not."""
    first = len(proxy.seen)

    def plan(number):
        if number != first + at:
            return None
        os.kill(kernel.pid, signal.SIGKILL)
        return DROP, is_sent

    proxy.plan = plan


def wait_for_end(proxy, kernel):
    """Wait until the kernel is dead, or has sent all that there was to send."""
    seen, since = 0, time.monotonic()
    while kernel.process.poll() is None and time.monotonic() < since + 3:
        if len(proxy.seen) > seen:
            seen, since = len(proxy.seen), time.monotonic()
        time.sleep(0.02)


def test_a_kernel_is_killed_at_each_request_of_a_step(tmp_path, proxy, bucket):
    """What was committed is there; what was not runs again; each kernel resumes."""
    save(tmp_path / "main.ipynb", LOAD, *STEPS)
    env = {
        "NBRESUME_UNATTENDED": "1",
        "NBRESUME_STORE": bucket,
        "AWS_ENDPOINT_URL": proxy.url,
    }
    lost, doubled, kept = 0, 0, 0
    ledger = Counter()
    for number, (at, is_sent) in enumerate([*SITUATIONS, (0, False)]):
        proxy.plan = lambda _: None
        with Kernel(tmp_path, env=env) as kernel:
            kernel.ok(LOAD, "c0")
            # all of them: the step at which the kernel before this one was killed, too
            for done, step in enumerate(STEPS[:number], start=1):
                kernel.ok(step, f"c{done}")
            values = [kernel.evaluate(f"x{i}") for i in range(number)]
            lost += values != [f"[{i}]" for i in range(number)]
            doubled += ran(tmp_path) != ledger
            if number == len(SITUATIONS):
                break
            kill_at(proxy, kernel, at, is_sent=is_sent)
            kernel.send(STEPS[number], f"c{number + 1}")
            wait_for_end(proxy, kernel)
        ledger = ran(tmp_path)
        if f"s{number}" in committed(bucket):
            kept += 1
        else:
            # nobody can say whether it is whole, so the next kernel runs it
            ledger[f"s{number}"] += 1
    print(f"{len(SITUATIONS)} kills, {kept} kept, {lost} lost, {doubled} doubled")

    assert (lost, doubled) == (0, 0)
    assert 0 < kept < len(SITUATIONS)
