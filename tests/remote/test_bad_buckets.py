"""What a kernel and a reader do with a bucket, a clock or a network that is bad."""

import json
import re
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from urllib.parse import unquote

import pytest
from proxy import DROP
from real_kernel import LOAD, Kernel, save
from services import EVERYWHERE
from unit.run.fakes import Lab

from nbresume.compose.keeping import plan_collection
from nbresume.errors import Unavailable
from nbresume.model.states import State
from nbresume.run.retention import Rules
from nbresume.store.objects import Objects
from nbresume.store.remote_open import open_remote
from nbresume.store.sweeping import Stock

RUN = "0123456789abcdef"
STEP = "%%step a\nx = 1\nopen('ran', 'w').close()"
SKEWED = {
    "s3": (403, b"<Error><Code>RequestTimeTooSkewed</Code></Error>"),
    "az": (403, b"<Error><Detail>Request date header too old</Detail></Error>"),
    "gs": (
        400,
        b"Invalid JWT: Token must be short-lived and in a reasonable timeframe",
    ),
}
"""What each service says of a request that was signed at another time than its own."""


def moved(proxy, hours):
    """Let the service's clock be so many hours ahead, as its answers tell."""

    def amend(_, answer):
        status, headers, data = answer
        return status, [*map(later, headers)], data

    def later(header):
        name, value = header
        if name.lower() not in ("last-modified", "date"):
            return header
        at = parsedate_to_datetime(value) + timedelta(hours=hours)
        return name, format_datetime(at.astimezone(UTC), usegmt=True)

    proxy.amend = amend


@pytest.mark.kernel
def test_no_body_runs_where_a_key_can_be_made_twice(tmp_path, proxy, bucket):
    """It is noticed before the claim: nothing was run, and no chain has begun."""
    proxy.left_out = ("if-none-match",)
    save(tmp_path / "main.ipynb", LOAD, STEP)
    env = {"NBRESUME_UNATTENDED": "1", "NBRESUME_STORE": bucket}
    with Kernel(tmp_path, env=env) as kernel:
        loaded = kernel.run(LOAD, "c0")
        said = kernel.run(STEP, "c1")

    assert "conditional writes" in loaded.error + said.error
    assert not (tmp_path / "ran").exists()
    assert open_remote(bucket).names("journal") == []


@EVERYWHERE
def test_a_clock_beyond_the_signing_window_is_told(service, proxy, bucket):
    """It is the clock that is called wrong, not the credentials or the network."""
    status, body = SKEWED[service.scheme]
    proxy.amend = lambda *_: (status, [], body)
    backend = open_remote(bucket, patience_s=0)
    for refused in (lambda: backend.create("a", b""), lambda: backend.names("")):
        with pytest.raises(Unavailable, match="the clock of") as told:
            refused()
        assert "Set the clock of this computer" in told.value.remedy


@pytest.mark.parametrize("hours", [-1, 1])
def test_an_hour_between_the_clocks_takes_nothing_away(proxy, bucket, hours):
    """What no record names yet stays a day, whichever clock is ahead."""
    moved(proxy, hours)
    lab = Lab(a="%%step a\nx = 1")
    lab.backend = open_remote(bucket)
    lab.clock.jump((datetime.now(UTC) - lab.clock.now()).total_seconds())
    k = lab.kernel()
    k.go()
    draft = Objects(lab.backend, k.run_id).draft("unnamed")
    draft.add_to_pack(b"about to be named")
    draft.write()
    k.kill()
    stock = Stock(lab.backend)

    ahead = stock.written_at(k.run_id, "unnamed") - lab.clock.now()
    assert timedelta(hours=abs(hours) - 0.1) < abs(ahead)
    assert plan_collection(lab.store(), lab.world(), Rules(count=1)).going == []
    lab.clock.jump(26 * 3600)
    going = plan_collection(lab.store(), lab.world(), Rules(count=1)).going
    assert [one.group.name for one in going] == ["unnamed"]
    assert lab.kernel().go() == []


@EVERYWHERE
@pytest.mark.parametrize("chunks", [1, 2])
def test_an_array_of_which_a_part_went_up_is_in_no_commit(proxy, bucket, chunks):
    """The kernel dies with the network; the next one runs it, and `gc` takes the rest.

    The array goes up in three chunks, of which so many arrive.
    """
    lab = Lab(a="%%step a\nimport numpy as np\nx = np.random.rand(1_500_000)")
    lab.backend = open_remote(bucket, patience_s=0)
    k = lab.kernel()
    proxy.plan = lambda n: (DROP, False) if put(proxy, slice(n)) >= chunks else None
    k.go()
    assert "was not written" in str(k.last.error)
    k.kill()
    proxy.plan = lambda _: None
    lying = Stock(lab.backend).groups(k.run_id)

    k = lab.kernel()
    assert k.state("a") is State.INTERRUPTED
    assert len(lying) == 1
    assert k.go() == ["a"]
    assert len(Stock(lab.backend).groups(k.run_id)) == 2
    k.kill()
    lab.clock.jump(10_000 * 24 * 3600)
    planned = plan_collection(lab.store(), lab.world(), Rules())
    assert [one.group.name for one in planned.going] == lying
    assert planned.collect() > 0
    k = lab.kernel()
    assert k.go() == []
    assert k["x"].shape == (1_500_000,)


def put(proxy, these):
    """Return how many chunks of arrays were put among these requests."""
    paths = [unquote(path) for method, path in proxy.seen[these] if method == "PUT"]
    return sum(bool(re.search(r"/o\d+/c\.", path)) for path in paths)


@pytest.mark.parametrize(
    ("count", "pages"), [(30, 1), pytest.param(1000, 2, marks=pytest.mark.long)]
)
def test_many_runs_are_not_read_to_open_one(proxy, bucket, count, pages):
    """A service lists a thousand keys a page; each run is listed by two small reads."""
    lab = Lab(a="%%step a\nx = 1")
    lab.backend = open_remote(bucket)
    k = lab.kernel()
    k.go()
    k.kill()
    few = requests(proxy, lab.kernel)
    assert few == {"list": 4, "GET": 5}
    fill(lab, k.run_id, count)

    assert requests(proxy, lab.kernel) == few
    listing = lab.store().runs()
    assert len(listing.ids()) == count + 1
    asked = requests(proxy, listing.all)
    # the names of all runs, twice, and for each its claims and the newest of them
    assert asked == {"list": 2 * pages + count + 1, "GET": count + 1}


def fill(lab, run_id, count):
    """Repeat the first record and the claim of a run under other ids and paths."""
    source = lab.backend
    record = source.read(f"journal/{run_id}/0000000000.rec")
    claimed = json.loads(source.read(f"runs/{run_id}/0000000001"))

    def repeat(number):
        other = f"{number:016x}"
        claim = claimed["claim"] | {"notebook": f"/other/{other}.ipynb", "cells": []}
        data = json.dumps(claimed | {"run_id": other, "claim": claim}).encode()
        source.create(f"journal/{other}/0000000000.rec", record)
        source.publish({f"runs/{other}/0000000001": data})

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(repeat, range(count)))


def requests(proxy, call):
    """Return what requests something makes."""
    before = len(proxy.seen)
    call()
    made = proxy.seen[before:]
    return Counter("list" if "list-type" in path else method for method, path in made)
