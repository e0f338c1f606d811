"""Which run a notebook belongs to."""

import threading
import time

import pytest
from unit.run.fakes import Lab

from nbresume.run.runs import Runs, choose_run
from nbresume.store.local_open import open_local

A = "%%step a\nx = 1"


def claimed():
    """Return a lab whose notebook has a run, and the kernel that made it."""
    lab = Lab(a=A, b="%%step b\ny = 1")
    k = lab.kernel()
    k.go()
    return lab, k


def move(lab, path, *, stays=False):
    """Let the notebook have another path; `stays` leaves the former file there."""
    if not stays:
        lab.notebook.paths.discard(lab.notebook.path)
    lab.notebook.path = path
    lab.notebook.paths.add(path)


def test_the_exact_path_goes_on():
    """The same notebook has the same run, and not a word is said."""
    lab, k = claimed()
    other = lab.kernel()

    assert other.run_id == k.run_id
    assert other.screen.said == []


def test_a_named_run_is_used_whatever_the_path_says():
    """A setting comes first."""
    lab, _ = claimed()

    assert lab.kernel(run_id="f" * 16).run_id == "f" * 16


def test_a_renamed_notebook_is_adopted_and_told():
    """Its former path is gone, and a cell id is shared."""
    lab, k = claimed()
    move(lab, "/project/better.ipynb")
    other = lab.kernel()

    assert other.run_id == k.run_id
    assert other.screen.said == [
        "this notebook was main.ipynb before: its steps are taken over"
    ]
    assert other.go() == []


def test_a_copy_starts_a_run_of_its_own_and_is_told():
    """The original's file is still there."""
    lab, k = claimed()
    move(lab, "/project/copy.ipynb", stays=True)
    other = lab.kernel()

    assert other.run_id != k.run_id
    assert "copy of main.ipynb" in other.screen.said[0]
    assert f"set NBRESUME_RUN={k.run_id}" in other.screen.said[0]
    assert other.go() == ["a", "b"]


def test_another_notebook_starts_a_run_of_its_own():
    """No cell is shared: nothing is said."""
    lab, k = claimed()
    move(lab, "/project/other.ipynb")
    lab.notebook.sources = {"z": A}
    other = lab.kernel()

    assert other.run_id != k.run_id
    assert other.screen.said == []
    assert other.go() == ["a"]


def test_a_notebook_without_a_path_starts_a_run_of_its_own():
    """An empty path is nobody's."""
    lab, k = claimed()
    lab.notebook.path = ""
    lab.notebook.is_known = False
    other = lab.kernel()
    other.go("a")

    assert other.run_id != k.run_id
    assert lab.kernel().run_id not in (k.run_id, other.run_id)


def test_the_newest_run_of_a_path_goes_on():
    """After ``%steps new`` the former run is not found by the path."""
    lab, k = claimed()
    run_id = lab.store().runs().next_id(lab.notebook.path)
    fresh = lab.kernel(run_id=run_id)
    fresh.parts.claims.ensure(fresh.session.order())

    assert lab.kernel().run_id == run_id != k.run_id


def test_runs_are_listed_newest_first():
    """Each with its newest claim."""
    lab, k = claimed()
    lab.clock.advance(10)
    other = lab.kernel(run_id="f" * 16)
    other.go()
    lab.clock.advance(10)
    again = lab.kernel(run_id=k.run_id)
    again.parts.claims.ensure(again.session.order())

    found = lab.store().runs().all()

    assert [(c.run_id, c.epoch) for c in found] == [(k.run_id, 2), ("f" * 16, 1)]


def test_a_run_whose_derived_claim_is_lost_is_found_in_its_chain():
    """A crash between claim and copy, or a power cut, loses nothing."""
    lab, k = claimed()
    for key in [key for key in lab.backend.files if key.startswith("runs/")]:
        del lab.backend.files[key]

    assert lab.kernel().run_id == k.run_id
    assert lab.store().runs().all()[0].claim.workflow == "main.ipynb"


def test_a_damaged_derived_claim_is_read_from_the_chain():
    """What is derived is never believed against the chain."""
    lab, k = claimed()
    key = f"runs/{k.run_id}/0000000001"
    lab.backend.files[key] = b"{"

    assert lab.store().runs().all()[0].run_id == k.run_id


def test_a_folder_that_holds_no_claim_is_no_run():
    """A user's own chain, an empty folder and damaged records are passed over."""
    lab, _ = claimed()
    lab.backend.create(f"journal/{'e' * 16}/{0:010d}.rec", b"{")
    lab.backend.create(f"journal/orders/{0:010d}.rec", b"{}")
    lab.backend.create(f"runs/{'d' * 16}/0000000001", b"{")

    assert len(lab.store().runs().all()) == 1


def test_finding_a_run_reads_no_chain():
    """Only the derived claims are read."""
    lab, k = claimed()
    lab.backend.operations.clear()

    assert choose_run(lab.store().runs(), lab.world()) == k.run_id
    read = [key for op, key in lab.backend.operations if op == "read"]
    assert read == [f"runs/{k.run_id}/0000000001"]


def test_kernels_that_begin_at_once_begin_the_same_run():
    """Both opened the notebook before either claimed: one becomes its writer."""
    lab = Lab(a=A, b="%%step b\ny = 1")
    first, second = lab.kernel(), lab.kernel()

    assert first.go("a") == ["a"]
    assert second.go("a", "b") == ["b"]

    assert first.run_id == second.run_id
    assert len(lab.store().runs().all()) == 1


def test_the_later_run_is_known_although_the_clock_went_back():
    """Which run goes on is not decided by time."""
    lab, k = claimed()
    lab.clock.jump(-5 * 3600)
    later = lab.kernel(run_id=lab.store().runs().next_id(lab.notebook.path))
    later.go()

    assert lab.kernel().run_id == later.run_id != k.run_id


def test_a_run_that_began_here_is_later_than_one_that_was_adopted():
    """An adopted run was claimed here before any other began."""
    lab, k = claimed()
    move(lab, "/project/better.ipynb")
    lab.kernel().go("a")
    assert lab.kernel().run_id == k.run_id
    adopter = lab.kernel()
    lab.edit(a="%%step a\nx = 2")
    adopter.go()
    lab.clock.jump(-5 * 3600)
    later = lab.kernel(run_id=lab.store().runs().next_id(lab.notebook.path))
    later.go()

    assert lab.kernel().run_id == later.run_id != k.run_id


@pytest.mark.parametrize("listing", [1, 2, 3, 4])
def test_a_run_that_is_claimed_while_another_kernel_looks_is_the_same(listing):
    """Before a listing of the second kernel the first one claims."""
    lab = Lab(a=A)
    first = lab.kernel()
    lab.backend.act_at("names", listing, first.go)

    assert lab.kernel().run_id == first.run_id
    assert lab.ledger == ["a"]


def test_a_run_begins_with_its_first_record(tmp_path):
    """A kernel that has made the folder, and no record yet, has begun nothing."""
    lab = Lab(a=A)
    lab.backend = open_local(tmp_path / "store", create=True)
    run_id = lab.store().runs().next_id(lab.notebook.path)
    (tmp_path / "store" / "journal" / run_id).mkdir(parents=True)

    assert lab.kernel().run_id == run_id


class Asked:
    """A store of many runs that says how many it was asked about at once."""

    def __init__(self, count):
        self._ids = [f"{n:016x}" for n in range(count)]
        self._lock = threading.Lock()
        self._now = 0
        self.most = 0
        self.threads = set()

    def names(self, folder):
        """Return the ids of the runs; no claim is repeated."""
        return self._ids if folder == "journal" else []

    def read_chain(self, _run_id):
        """Take a moment, as a bucket does."""
        with self._lock:
            self.threads.add(threading.get_ident())
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.002)
        with self._lock:
            self._now -= 1
        return []


@pytest.mark.parametrize(("count", "at_once"), [(5, 1), (40, 10), (200, 16)])
def test_many_runs_are_asked_some_at_a_time(count, at_once):
    """A store that is far away answers many questions as soon as one."""
    asked = Asked(count)
    runs = Runs(asked, asked.read_chain, read_first=None, store_id="s")

    assert runs.all() == []
    assert asked.most <= at_once
    assert (asked.most > 1) == (at_once > 1)
    assert (asked.threads == {threading.get_ident()}) == (at_once == 1)
