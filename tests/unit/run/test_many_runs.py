"""A store of a thousand runs, on a disk: what taking away costs, counted.

Calls of the store are counted, and what reaches the system by Python's audit events;
nothing is timed.
"""

import sys
from collections import Counter

import pytest
from unit.run.fakes import Lab

from nbresume.compose.keeping import plan_collection, plan_erasure
from nbresume.model.values import Erased
from nbresume.run.erasing import Target
from nbresume.run.retention import Rules
from nbresume.run.verify import verify
from nbresume.store.local_open import open_local

DAY_S = 24 * 3600
EVERY = 10
"""One run of so many has an older commit."""


class Counted:
    """A store that counts what is asked of it."""

    def __init__(self, backend):
        self._backend = backend
        self.asked = Counter()

    def __getattr__(self, name):
        found = getattr(self._backend, name)

        def call(*args, **options):
            self.asked[name] += 1
            return found(*args, **options)

        # what zarr is told is no question to the place
        return call if callable(found) and name != "codecs" else found


class Opened:
    """Counts the files that are opened, listed, removed below a folder."""

    def __init__(self, folder):
        self.seen = Counter()
        self._folder, self._is_on = str(folder), False
        sys.addaudithook(self._told)

    def _told(self, event, args):
        if self._is_on and event in ("open", "os.listdir", "os.remove", "os.link"):
            self.seen[event] += str(args[0]).startswith(self._folder)

    def __enter__(self):
        self.seen.clear()
        self._is_on = True
        return self.seen

    def __exit__(self, *_):
        self._is_on = False


def filled(folder, count):
    """Return a lab over a store on a disk with so many runs, and their ids."""
    lab = Lab(a="%%step a\nbig = bytes(500_000)\nx = 1", b="%%step b\ny = x")
    lab.backend = Counted(open_local(folder, create=True))
    runs = [f"{number:016x}" for number in range(count)]
    for number, run in enumerate(runs):
        lab.notebook.path = f"/project/{number}.ipynb"
        k = lab.kernel(run_id=run)
        k.go()
        if number % EVERY == 0:
            k.run("a", "%%step a\nbig = b'0' * 500_000\nx = 2")
            k.run("b")
        k.kill()
    # the files are dated by the machine's clock
    lab.clock.jump(10_000 * DAY_S)
    lab.backend.asked.clear()
    return lab, runs


def per_run(lab, count, take):
    """Return what something asks of the store for each of its runs."""
    lab.backend.asked.clear()
    done = take()
    asked = {name: number / count for name, number in lab.backend.asked.items()}
    return done, asked


@pytest.mark.long
@pytest.mark.parametrize(
    "count", [pytest.param(50), pytest.param(1000, marks=pytest.mark.long)]
)
def test_each_run_costs_the_same(tmp_path, count):
    """However many there are: a collection opens each, and walks what lies idle."""
    lab, runs = filled(tmp_path / "store", count)
    opened, rules = Opened(tmp_path), Rules(count=1)

    with opened as seen:
        planned, asked = per_run(
            lab, count, lambda: plan_collection(lab.store(), lab.world(), rules)
        )
    assert len({one.group.run for one in planned.going}) == count // EVERY
    assert sum(asked.values()) < 18
    assert set(asked) <= {
        "names",
        "read",
        "read_into",
        "size",
        "shared_as",
        "written_at",
    }
    assert seen["os.remove"] == seen["os.link"] == 0
    assert seen["open"] / count < 9

    groups = len(planned.going)
    freed, asked = per_run(lab, count, planned.collect)
    assert freed > 450_000 * (count // EVERY)
    assert asked["create"] == 1 / EVERY
    assert lab.backend.asked["delete"] <= 4 * groups

    again, asked = per_run(
        lab, count, lambda: plan_collection(lab.store(), lab.world(), rules)
    )
    assert again.going == []
    assert sum(asked.values()) < 12

    target = Target(Erased.STEP, runs[7], step="a")
    erased, asked = per_run(
        lab, count, lambda: plan_erasure(lab.store(), target, lab.world())
    )
    assert sum(asked.values()) < 3, "whose fork each run is, and no more"
    erased.eraser.erase(erased.erasure, because="asked for")
    for run in runs[:: EVERY * 5]:
        assert verify(lab.inspect(run).journal).problems == []


def opened_again(lab, folder):
    """Begin a run and open it again; return what that asks of store and system."""
    lab.notebook.path = "/project/mine.ipynb"
    k = lab.kernel(run_id=lab.store().runs().next_id(lab.notebook.path))
    k.go()
    k.kill()
    opened = Opened(folder)
    lab.backend.asked.clear()
    with opened as seen:
        again = lab.kernel()
    assert again.run_id == k.run_id
    assert again.screen.said == []
    return dict(lab.backend.asked), dict(seen)


@pytest.mark.parametrize(
    "count", [pytest.param(50), pytest.param(1000, marks=pytest.mark.long)]
)
def test_opening_a_run_reads_no_other(tmp_path, count):
    """They are listed by two small files each; a notebook's own run is just found."""
    lab, runs = filled(tmp_path / "many", count)
    listing, opened = lab.store().runs(), Opened(tmp_path)
    with opened as seen:
        found, asked = per_run(lab, count, listing.all)
        origins = [listing.origin(one.run_id) for one in found]

    assert sorted(one.run_id for one in found) == runs
    assert set(origins) == {None}
    assert asked == {"names": 1 + 2 / count, "read": 1}
    assert seen["open"] == 2 * count

    few, _ = filled(tmp_path / "few", 2)
    folders = (tmp_path / "few", tmp_path / "many")
    assert opened_again(few, folders[0]) == opened_again(lab, folders[1])
