"""What a tiny step costs in a bucket: the ratio to two conditional puts.

An S3 server on the loopback interface, in a process of its own; steps and pairs of puts
come in turn, in one process, and the ratio is that of the two medians. A step is its
intent, its pack and its commit, and what shows it to plain zarr. It is measured twice:
as near as the server is, where its processor is what a request waits for, and behind a
proxy that holds each request back as a network does.
"""

import argparse
import http.client
import os
import secrets
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "remote"))

from proxy import Proxy

from nbresume.model.envelope import Envelope
from nbresume.store.chain import Chain
from nbresume.store.drafts import Blob
from nbresume.store.objects import Objects
from nbresume.store.remote import RemoteBackend
from nbresume.store.remote_open import open_remote
from nbresume.store.trust import Trust

RUN = "0123456789abcdef"
BOUND = 2.2


def served() -> tuple[subprocess.Popen, str]:
    """Start a server; return it and its host and port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for _ in range(600):
        with socket.socket() as tried:
            if tried.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.1)
    return server, f"127.0.0.1:{port}"


def make_bucket(host: str) -> None:
    """Make a bucket, and have the environment say how it is reached."""
    asked = http.client.HTTPConnection(host, timeout=30)
    asked.request("PUT", "/bench")
    assert asked.getresponse().status == 200
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://{host}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "bench",
        "AWS_SECRET_ACCESS_KEY": "bench",
        "AWS_REGION": "us-east-1",
    }


class Far(Proxy):
    """A proxy that stands for a network: each request is on its way for a while."""

    def __init__(self, upstream: str, delay_s: float) -> None:
        super().__init__(upstream)
        self.delay_s = delay_s

    def forward(self, asked, body):
        """Make the real call, later."""
        time.sleep(self.delay_s)
        return super().forward(asked, body)


class Steps:
    """One tiny step after the other, in one run."""

    def __init__(self, backend: RemoteBackend) -> None:
        self.chain = Chain(backend, Trust(b"k" * 32), RUN)
        self.objects = Objects(backend, RUN)
        self.revision = 0
        self.prev = ""

    def record(self) -> None:
        """Append a record of the size of an intent."""
        link = self.chain.append(
            Envelope(
                id=RUN,
                run_id=RUN,
                revision=self.revision,
                kind="bench.record",
                schema_version=1,
                payload={"text": "x" * 600},
                updated_at=datetime.now(UTC),
                nonce=secrets.token_hex(16),
                prev=self.prev,
            )
        )
        assert link.envelope is not None
        self.prev, self.revision = link.digest, self.revision + 1

    def step(self) -> None:
        """Write what a tiny step writes."""
        group = f"a{self.revision}"
        self.record()
        draft = self.objects.draft(group)
        draft.add(Blob(secrets.token_bytes(300)))
        draft.write()
        self.record()
        self.objects.publish(group, {})


def timed(action: Callable[[], object]) -> float:
    """Return the seconds of an action."""
    begun = time.perf_counter()
    action()
    return time.perf_counter() - begun


def compare(where: str, rounds: int) -> None:
    """Measure as the environment says, and print the ratio."""
    backend = open_remote(f"s3://bench/{secrets.token_hex(4)}")
    steps = Steps(backend)
    steps.step()

    def two_puts() -> None:
        for _ in range(2):
            backend.create(f"bare/{secrets.token_hex(8)}", b"x" * 900)

    pairs = [(timed(steps.step), timed(two_puts)) for _ in range(rounds)]
    step, bare = (statistics.median(side) for side in zip(*pairs, strict=True))
    word = "met" if step / bare <= BOUND else "MISSED"
    print(
        f"{where}: tiny step {step * 1e3:.1f} ms, two conditional puts "
        f"{bare * 1e3:.1f} ms, ratio {step / bare:.2f} (at most {BOUND}): {word}"
    )


def main() -> None:
    """Measure near and far."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--rounds", type=int, default=50)
    asked.add_argument("--delay-ms", type=float, default=20)
    options = asked.parse_args()
    server, host = served()
    try:
        make_bucket(host)
        compare("on loopback", options.rounds)
        far = Far(f"http://{host}", options.delay_ms / 1e3)
        os.environ["AWS_ENDPOINT_URL"] = far.url
        compare(f"{options.delay_ms:g} ms away", options.rounds)
        far.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
