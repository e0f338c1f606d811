"""A network that fails: what was acknowledged is there, once, and nothing else."""

import threading
from contextlib import suppress

import pytest
from proxy import DELAY, DROP, HALF, TWICE
from services import EVERYWHERE, NOT_S3
from store_checks import record

from nbresume.errors import ConflictError, Unavailable
from nbresume.store.chain import Chain
from nbresume.store.drafts import Blob
from nbresume.store.objects import Objects
from nbresume.store.remote_open import open_remote
from nbresume.store.trust import Trust

RUN = "0123456789abcdef"
FAULTS = [DROP, HALF, DELAY, TWICE, 409, 412, 500, 503]


def graph(bucket, patience_s=5):
    """Return a chain and the payloads of a run, as a fresh process opens them."""
    backend = open_remote(bucket, patience_s=patience_s)
    return Chain(backend, Trust(b"k" * 32), RUN), Objects(backend, RUN)


def tiny_step(chain, objects, revision, prev, told=None):
    """Write what a tiny step writes; return its commit record.

    It is told once it counts: what comes after it may fail, and takes nothing back.
    """
    intent = chain.append(record(revision, id=RUN, prev=prev))
    draft = objects.draft(f"a{revision}")
    draft.add(Blob(b"value %d" % revision))
    draft.write()
    commit = chain.append(record(revision + 1, id=RUN, prev=intent.digest))
    if told is not None:
        told.append(commit)
    objects.publish(f"a{revision}", {})
    return commit


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("fault", FAULTS)
def test_every_third_request_fails(proxy, bucket, fault, after):
    """Steps are kept, or an error says that they may not be: never lost or doubled."""
    fails_each(proxy, bucket, fault, after=after)


@NOT_S3
@pytest.mark.parametrize(
    ("fault", "after"),
    [(DROP, True), (HALF, False), (TWICE, True), (409, False), (412, True)],
)
def test_every_third_request_fails_elsewhere(proxy, bucket, fault, after):
    """The same, where the services differ: in what an answer to a put means."""
    fails_each(proxy, bucket, fault, after=after)


@pytest.mark.parametrize("every", [2, 4, 5, 7])
def test_every_nth_reply_is_lost(proxy, bucket, every):
    """Whichever requests of a step they are."""
    fails_each(proxy, bucket, DROP, after=True, every=every)


def fails_each(proxy, bucket, fault, *, after, every=3):
    """Do steps while a fault happens to every nth request; look what is there."""
    chain, objects = graph(bucket)
    proxy.plan = lambda n: (fault, after) if n % every == every - 1 else None
    acknowledged, prev = [], ""
    for revision in (0, 2, 4):
        try:
            prev = tiny_step(chain, objects, revision, prev, acknowledged).digest
        except (ConflictError, Unavailable):
            break
    proxy.plan = lambda number: None

    assert proxy.faults
    found, _ = graph(bucket)
    there = found.follow(-1)
    assert [one.revision for one in there] == list(range(len(there)))
    digests = [one.digest for one in there]
    backend = open_remote(bucket)
    for commit in acknowledged:
        assert digests.count(commit.digest) == 1
        group = commit.revision - 1
        pack = backend.read(f"data.zarr/{RUN}/a{group}/pack/c.0")
        assert pack == b"value %d" % group


def test_the_network_goes_at_every_request_of_a_step(proxy, bucket):
    """From the i-th request on nothing answers: a fresh graph finds whole steps."""
    chain, objects = graph(bucket)
    first = tiny_step(chain, objects, 0, "")
    before = len(proxy.seen)
    last = tiny_step(chain, objects, 2, first.digest)
    requests = len(proxy.seen) - before
    revision, lost, doubled, cuts = 4, 0, 0, 0
    for cut in range(requests):
        for after in (False, True):
            chain, objects = graph(bucket, patience_s=0)
            objects._rooted = chain._backend._is_fit = True
            start = len(proxy.seen)
            at = start + cut
            proxy.plan = lambda n, at=at, after=after: (
                None if n < at else (DROP, after and n == at)
            )
            acknowledged = []
            with suppress(Unavailable):
                tiny_step(chain, objects, revision, last.digest, acknowledged)
            proxy.plan = lambda number: None
            cuts += 1
            chain, objects = graph(bucket)
            there = chain.follow(-1)
            digests = [one.digest for one in there]
            lost += any(one.digest not in digests for one in acknowledged)
            lost += digests.count(last.digest) == 0
            doubled += len(set(digests)) != len(digests)
            last = there[-1]
            revision = last.revision + 1
    print(f"{cuts} cuts, {lost} lost, {doubled} doubled")
    assert (lost, doubled) == (0, 0)


@EVERYWHERE
def test_racing_writers_count_right(bucket):
    """Of eight writers of each revision exactly one wins."""
    won, barrier = [], threading.Barrier(8)

    def race(number):
        chain, _ = graph(bucket)
        barrier.wait()
        for revision in range(5):
            try:
                chain.append(record(revision, id=RUN, nonce=f"{number:032x}"))
            except ConflictError:
                continue
            won.append(revision)

    threads = [threading.Thread(target=race, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(won) == list(range(5))


def test_a_tiny_step_takes_four_round_trips_and_no_listing(proxy, bucket):
    """Intent, pack, commit, and two documents at once: nothing else."""
    chain, objects = graph(bucket)
    first = tiny_step(chain, objects, 0, "")
    before = len(proxy.seen)
    # long enough for what is sent at once to be here at once
    proxy.plan = lambda _: (DELAY, False)
    tiny_step(chain, objects, 2, first.digest)
    made = proxy.seen[before:]

    assert [method for method, _ in made] == ["PUT"] * 5
    assert proxy.round_trips(before) == 4
    assert not [path for _, path in made if "list-type" in path]
