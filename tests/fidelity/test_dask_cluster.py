"""A step whose arrays are computed by a cluster, which works on or dies."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel" / "durability"))

from clusters import CONNECT, IMPATIENT, SLOW, Cluster
from real_kernel import LOAD, Kernel, save, wait_for

MAKE = """%%step make
import dask.array as da
import dask.dataframe as dd
import pandas as pd
import xarray as xr
x = da.random.default_rng(3).random((400, 300), chunks=(100, 100))
held = (x + 1).persist()
frame = dd.from_pandas(pd.DataFrame({"a": range(8), "s": list("abcdefgh")}), 4)
frame = frame.persist()
ds = xr.Dataset({"v": (("t", "u"), x), "m": x.mean()})"""
LOOK = """(
    x.chunks, float(x.sum()), float(held.sum()), frame.a.sum().compute(),
    frame.compute().s.tolist(), frame.divisions, float(ds.v.max()), float(ds.m),
    ds.v.data is x,
)"""
CHUNKS = "sorted({name for name in touched if name.startswith('c.')})"
WATCH = """import sys
touched = []
def _note(event, args):
    if event == "open" and isinstance(args[0], str) and "/data.zarr/" in args[0]:
        if "/pack/" not in args[0]:
            touched.append(args[0].rpartition("/")[2])
sys.addaudithook(_note)"""


@pytest.fixture
def cluster(tmp_path):
    """Return a running cluster."""
    found = Cluster(tmp_path)
    yield found
    found.kill()


def connected(kernel, cluster):
    """Load nbresume, and make the cluster the one that dask uses."""
    kernel.ok(LOAD, "c0")
    kernel.ok(CONNECT.format(address=cluster.address), "c1")
    kernel.ok(WATCH)


def committed(folder):
    """Return the texts of the groups that plain zarr sees as commits."""
    found = (folder / ".nbresume" / "data.zarr").glob("*/*/zarr.json")
    return [one for one in found if "nbresume.committed" in one.read_text()]


def plain_chunks(folder):
    """Return the chunk files of the store that are not encrypted."""
    found = [p for p in folder.glob(".nbresume/data.zarr/**/c*") if p.is_file()]
    assert len(found) > 20
    return [path for path in found if not path.read_bytes().startswith(b"nbseal1")]


@pytest.mark.kernel
@pytest.mark.parametrize("encrypt", ["", "1"], ids=["clear", "encrypted"])
def test_workers_write_and_whoever_needs_a_chunk_reads_it(tmp_path, cluster, encrypt):
    """No chunk passes through the kernel; a restore reads none; then only what it uses.

    What the memory of the cluster held comes back over the store.
    """
    env = {"NBRESUME_ENCRYPT": encrypt}
    save(tmp_path / "main.ipynb", LOAD, CONNECT, MAKE)
    with Kernel(tmp_path, env=env) as kernel:
        connected(kernel, cluster)
        kernel.ok(MAKE, "c2")
        by_kernel = kernel.evaluate(CHUNKS)
        live = kernel.evaluate(LOOK)
    with Kernel(tmp_path, env=env) as kernel:
        connected(kernel, cluster)
        said = kernel.ok(MAKE, "c2").text
        at_first = kernel.evaluate(f"(x.shape, held.shape, {CHUNKS})")
        kernel.ok("import dask; dask.config.set(scheduler='synchronous')")
        kernel.ok("x[150, 250].compute()")
        then = kernel.evaluate(CHUNKS)
        kernel.ok("dask.config.set(scheduler=None)")
        restored = kernel.evaluate(LOOK)

    assert by_kernel == "[]"
    assert "[restored]" in said
    assert at_first == "((400, 300), (400, 300), [])"
    assert then == "['c.1.2']"
    assert restored == live
    assert len(committed(tmp_path)) == 1
    assert (plain_chunks(tmp_path) == []) == bool(encrypt)


@pytest.mark.long
@pytest.mark.kernel
def test_a_cluster_that_dies_half_way_leaves_no_commit(tmp_path, cluster):
    """The step is RAN and says so; with another cluster it commits."""
    begun, go = tmp_path / "begun", tmp_path / "go"
    slow = SLOW.format(begun=str(begun), go=str(go))
    save(tmp_path / "main.ipynb", LOAD, CONNECT, slow)
    with Kernel(tmp_path) as kernel:
        connected(kernel, cluster)
        kernel.ok(IMPATIENT)
        asked = kernel.send(slow, "c2")
        wait_for(begun)
        cluster.kill()
        said = kernel.finish(asked)
        table = kernel.run("%steps").text
        after = committed(tmp_path)
        go.touch()
        again = Cluster(tmp_path)
        try:
            kernel.ok(CONNECT.format(address=again.address), "c1")
            kernel.ok("%steps commit slow")
        finally:
            again.kill()

    assert "slow RAN but is not committed" in said.text
    assert "work of dask collections" in said.text
    assert "ran, not committed" in table
    assert after == []
    assert len(committed(tmp_path)) == 1


@pytest.mark.long
@pytest.mark.kernel
def test_a_worker_that_dies_is_replaced_and_the_commit_is_whole(tmp_path, cluster):
    """Its work is done again by another one."""
    once = tmp_path / "once"
    body = f"""%%step make
import dask.array as da, numpy as np, os, pathlib, signal
def die_once(block, block_id=None):
    if block_id == (2,) and not pathlib.Path({str(once)!r}).exists():
        pathlib.Path({str(once)!r}).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return block + 1
y = da.zeros(40, chunks=10).map_blocks(die_once, meta=np.empty(0))"""
    save(tmp_path / "main.ipynb", LOAD, CONNECT, body)
    with Kernel(tmp_path) as kernel:
        connected(kernel, cluster)
        kernel.ok(body, "c2")
        value = kernel.evaluate("float(y.sum())")

    assert once.exists()
    assert value == "40.0"
    assert len(committed(tmp_path)) == 1


@pytest.mark.long
@pytest.mark.kernel
def test_a_kernel_that_dies_half_way_leaves_no_commit(tmp_path, cluster):
    """Workers go on for a while; what they write is named by no record."""
    begun, go = tmp_path / "begun", tmp_path / "go"
    slow = SLOW.format(begun=str(begun), go=str(go))
    save(tmp_path / "main.ipynb", LOAD, CONNECT, slow)
    with Kernel(tmp_path) as kernel:
        connected(kernel, cluster)
        kernel.send(slow, "c2")
        wait_for(begun)
        kernel.kill()
    go.touch()
    first = committed(tmp_path)
    with Kernel(tmp_path) as kernel:
        connected(kernel, cluster)
        before = kernel.run("%steps").text
        kernel.ok(slow, "c2")
        value = kernel.evaluate("float(y.sum())")
        proof = kernel.ok("%steps verify").text

    assert first == []
    assert "interrupted" in before
    assert value == "40.0"
    assert "damaged" not in proof
