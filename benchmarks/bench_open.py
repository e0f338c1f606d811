"""How long it takes to open a store, and to add to it, as it grows.

Usage: ``PYTHONPATH=kernel_ext python benchmarks/bench_open.py [RECORDS …]``: for each
length of the chain, the time to list it, to read and vouch for all of it and for its
newest hundred records, and the medians of one append and of one tiny step; beside them
the price of three bare durable creates, which is what the disk alone costs.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from nbresume.model.codec import encode_envelope
from nbresume.model.digests import record_digest
from nbresume.model.envelope import Envelope
from nbresume.store.chain import Chain
from nbresume.store.drafts import Blob
from nbresume.store.local import LocalBackend
from nbresume.store.local_open import open_local
from nbresume.store.objects import Objects
from nbresume.store.trust import Link, Trust

RUN = "0123456789abcdef"
TAIL = 100
ROUNDS = 50
PAYLOAD = {"step": "load_data", "inputs": {f"name_{n}": "0" * 24 for n in range(8)}}


def record(revision: int, prev: str) -> Envelope:
    """Return a record of the weight that an intent has."""
    return Envelope(
        id=RUN,
        run_id=RUN,
        revision=revision,
        kind="acme.bench",
        schema_version=1,
        payload=PAYLOAD,
        updated_at=datetime.now(UTC),
        nonce=f"nonce-{revision}",
        prev=prev,
    )


def fill(backend: LocalBackend, chain: Chain, trust: Trust, count: int) -> Link:
    """Write a chain of `count` records without flushing; return the newest."""
    link = chain.append(record(0, ""))
    for revision in range(1, count):
        envelope = trust.sign(record(revision, link.digest))
        link = written(backend, envelope)
    return link


def written(backend: LocalBackend, envelope: Envelope) -> Link:
    """Put a record in its place without the price of durability."""
    data = encode_envelope(envelope)
    path = backend.root / "journal" / RUN / f"{envelope.revision:010d}.rec"
    path.write_bytes(data)
    return Link(envelope.revision, record_digest(data), len(data), envelope)


def seconds(work: Callable[[], object]) -> float:
    """Return how long the work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def measure(count: int) -> None:
    """Print one row for a chain of `count` records."""
    with tempfile.TemporaryDirectory(prefix="nbresume-bench-") as folder:
        backend = open_local(Path(folder) / "store", create=True)
        trust = Trust(b"k" * 32)
        chain = Chain(backend, trust, RUN)
        objects = Objects(backend, RUN)
        head = fill(backend, chain, trust, count)

        listed = seconds(chain.newest)
        whole = seconds(lambda: trust.vouch(chain.follow(-1)))
        tail = seconds(lambda: trust.vouch(chain.follow(max(-1, count - TAIL - 1))))
        appends, steps, bare = [], [], []
        for number in range(ROUNDS):
            begin = time.perf_counter()
            head = chain.append(record(head.revision + 1, head.digest))
            appends.append(time.perf_counter() - begin)
            draft = objects.draft(f"a{number}")
            draft.add(Blob(b"x" * 2000))
            begin = time.perf_counter()
            head = chain.append(record(head.revision + 1, head.digest))
            draft.write()
            head = chain.append(record(head.revision + 1, head.digest))
            objects.publish(f"a{number}", PAYLOAD)
            steps.append(time.perf_counter() - begin)
            begin = time.perf_counter()
            for part in range(3):
                backend.create(f"bench/{number}-{part}", b"x" * 2000)
            bare.append(time.perf_counter() - begin)
    print(
        f"{count:>8,} {listed * 1e3:>8.1f} {whole * 1e3:>8.1f} {tail * 1e3:>8.1f}"
        f" {statistics.median(appends) * 1e3:>8.2f}"
        f" {statistics.median(steps) * 1e3:>8.2f}"
        f" {statistics.median(bare) * 1e3:>8.2f}"
    )


def main() -> None:
    """Print the table."""
    print(f"{'records':>8} {'list':>8} {'all':>8} {'newest':>8}", end="")
    print(f" {'append':>8} {'step':>8} {'3 bare':>8}   (ms)")
    for count in [int(text) for text in sys.argv[1:]] or [10, 1_000, 10_000]:
        measure(count)


if __name__ == "__main__":
    main()
