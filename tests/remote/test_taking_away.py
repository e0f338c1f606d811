"""What takes values away, in a bucket: as on a disk, but that nothing is linked."""

import sys
from datetime import timedelta
from pathlib import Path

import pytest
from conformance_sealed import sealed
from services import EVERYWHERE
from unit.run.fakes import Lab

from nbresume.compose.keeping import plan_collection, plan_erasure
from nbresume.model.states import State
from nbresume.model.values import Erased
from nbresume.run.erasing import Target
from nbresume.run.retention import Rules
from nbresume.run.verify import verify
from nbresume.store.remote_open import open_remote
from nbresume.store.sweeping import Stock

sys.path.insert(0, str(Path(__file__).parents[1]))

A = "%%step a\nbig = ['canary'] * 300_000\nx = 0"
CELLS = {"a": A, "b": "%%step b\ny = x + len(big)"}


@pytest.fixture(params=["clear", "sealed"])
def store(request, bucket):
    """Return a store in a bucket."""
    found = open_remote(bucket)
    return sealed(found, store="store-1") if request.param == "sealed" else found


def ran(store):
    """Return a lab over a bucket, and a kernel that made a commit no step needs."""
    lab = Lab(**CELLS)
    lab.backend = store
    k = lab.kernel()
    k.go()
    lab.edit(a=A.replace("x = 0", "x = 1"))
    k.go()
    k.kill()
    # the service dates what it keeps by its own clock
    lab.clock.jump(10_000 * 24 * 3600)
    return lab, k


def holding(lab, run_id):
    """Return the keys of a run's groups that hold the value."""
    stock = Stock(lab.backend)
    keys = [
        file.key
        for group in stock.groups(run_id)
        for files in stock.files(run_id, group).values()
        for file in files
    ]
    return [key for key in keys if b"canary" in lab.backend.read(key)]


@EVERYWHERE
def test_what_no_step_needs_goes(store):
    """The service says when a key was written; deleting is for good."""
    lab, k = ran(store)
    young = Rules(count=1, grace=timedelta(days=20_000))
    assert plan_collection(lab.store(), lab.world(), young).going == []

    planned = plan_collection(lab.store(), lab.world(), Rules(count=1))
    told = sum(one.size_bytes for one in planned.going)
    freed = planned.collect()

    assert freed == told > 0
    # the first commit of step a holds what the second refers to
    assert len(Stock(lab.backend).groups(k.run_id)) == 3
    assert verify(lab.inspect(k.run_id).journal).problems == []
    k = lab.kernel()
    assert k.go() == []
    assert k["y"] == 300_001


@EVERYWHERE
def test_a_value_is_erased(store):
    """In the run and in its fork, and no key holds it afterwards."""
    lab, k = ran(store)
    origin = k.run_id
    k = lab.kernel(run_id=origin)
    k.fork("b")
    assert holding(lab, origin)

    target = Target(Erased.NAME, origin, name="big")
    planned = plan_erasure(lab.store(), target, lab.world())
    freed = planned.eraser.erase(planned.erasure, because="asked for")

    assert freed == planned.erasure.size_bytes > 0
    assert holding(lab, origin) == []
    assert k.state("a") is State.ERASED
    assert k.go()[0] == "a"
