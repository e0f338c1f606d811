"""Two hosts, each with a cluster that sees none of its files, and one bucket."""

import re

import pytest
from clusters import CONNECT, IMPATIENT, SLOW
from hosts import Host, blind_cluster
from proxy import Proxy
from real_kernel import LOAD, wait_for

from nbresume.store.remote_open import open_remote

pytestmark = pytest.mark.kernel

MAKE = """%%step make
import dask.array as da
x = da.random.default_rng(3).random((400, 300), chunks=(100, 100))
y = x + 1"""
CHUNK = re.compile(r"/o\d+/c\.")


@pytest.fixture
def seen(service):
    """Return the proxy through which clusters reach the bucket."""
    found = Proxy(service.address)
    yield found
    found.close()


@pytest.fixture
def hosts(tmp_path, bucket, proxy):
    """Return two hosts."""
    return [Host(tmp_path, name, bucket, LOAD) for name in ("east", "west")]


@pytest.fixture
def cluster(tmp_path, service, hosts, seen):
    """Return what starts a cluster of a name; they end with the test."""
    running = []

    def start(name):
        env = service.endpoint(seen.url)
        running.append(blind_cluster(tmp_path / name, hosts, env))
        return running[-1]

    yield start
    for one in running:
        one.kill()


def connected(kernel, cluster):
    """Load nbresume, and make the cluster the one that dask uses."""
    kernel.ok(LOAD, "c0")
    kernel.ok(CONNECT.format(address=cluster.address))


def chunks(proxy, method):
    """Return how many chunks of arrays were put or got through a proxy."""
    return sum(m == method and bool(CHUNK.search(path)) for m, path in proxy.seen)


def committed(bucket):
    """Return the groups that plain zarr sees as commits."""
    backend = open_remote(bucket)
    keys = [
        f"data.zarr/{run}/{group}/zarr.json"
        for run in backend.names("data.zarr")
        for group in backend.names(f"data.zarr/{run}")
    ]
    return [
        key
        for key in keys
        if backend.size(key) and b"nbresume.committed" in backend.read(key)
    ]


def test_what_one_host_committed_another_reads_through_its_own_cluster(
    hosts, cluster, proxy, seen, bucket
):
    """No chunk passes through a kernel, on either host; a restore reads none."""
    east, west = hosts
    with east.kernel() as kernel:
        connected(kernel, cluster("first"))
        kernel.ok(MAKE, "c1")
        live = kernel.evaluate("(x.chunks, float(x.sum()), float(y.sum()))")
        hidden = str(east.folder / "main.ipynb")
        blind = kernel.evaluate(f"client.submit(open, {hidden!r}).result()")
    put, got = chunks(seen, "PUT"), chunks(seen, "GET")
    with west.kernel() as kernel:
        west.type("trust", bucket)
        connected(kernel, cluster("second"))
        said = kernel.ok(MAKE, "c1").text
        at_first = chunks(seen, "GET") - got
        kernel.ok("x[150, 250].compute()")
        one = chunks(seen, "GET") - got - at_first
        restored = kernel.evaluate("(x.chunks, float(x.sum()), float(y.sum()))")

    assert blind.startswith("PermissionError")
    assert put == 2 * 4 * 3
    assert "[restored]" in said
    assert (at_first, one) == (0, 1)
    assert restored == live
    assert chunks(proxy, "PUT") == chunks(proxy, "GET") == 0
    assert len(committed(bucket)) == 1


def test_a_cluster_that_dies_half_way_leaves_no_commit_for_anybody(
    tmp_path, hosts, cluster, bucket
):
    """The step is RAN here, in no state there; another cluster makes it whole."""
    east, west = hosts
    first = cluster("first")
    begun, go = first.folder / "begun", first.folder / "go"
    slow = SLOW.format(begun=str(begun), go=str(go))
    with east.kernel() as kernel:
        connected(kernel, first)
        kernel.ok(IMPATIENT)
        asked = kernel.send(slow, "c1")
        wait_for(begun)
        first.kill()
        said = kernel.finish(asked)
        after = committed(bucket)
        west.type("trust", bucket)
        elsewhere = west.type("status", "main.ipynb")
        go.touch()
        kernel.ok(CONNECT.format(address=cluster("second").address))
        kernel.ok("%steps commit slow")
        value = kernel.evaluate("float(y.sum())")

    assert "slow RAN but is not committed" in said.text
    assert after == []
    assert re.search(r"slow +running", elsewhere)
    assert len(committed(bucket)) == 1
    assert value == "40.0"


def test_workers_whose_credentials_are_refused_are_told(hosts, cluster, seen, bucket):
    """The step is RAN and says why; with others it commits without running again."""
    east, _ = hosts
    with east.kernel() as kernel:
        connected(kernel, cluster("first"))
        seen.amend = lambda *_: (403, [], b"")
        said = kernel.run(MAKE, "c1").text
        after = committed(bucket)
        seen.amend = lambda _, answer: answer
        kernel.ok("%steps commit make")

    assert "make RAN but is not committed" in said
    assert "does not accept these credentials" in said
    assert after == []
    assert len(committed(bucket)) == 1
