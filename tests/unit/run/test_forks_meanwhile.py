"""Forks that are begun while something is taken away: none loses what it shares.

Whoever takes away writes the tombstone and then looks for forks; a fork writes its
record and then looks for tombstones.
"""

import pytest
from unit.run.fakes import Lab

from nbresume.compose import forking
from nbresume.compose.keeping import plan_collection, plan_erasure
from nbresume.errors import NotCommitted, RefusedError
from nbresume.model.values import Erased
from nbresume.run.erasing import Target
from nbresume.run.forks import Wanted
from nbresume.run.retention import Rules
from nbresume.run.verify import verify
from nbresume.settings import Settings

DAY_S = 24 * 3600
FORK = "f" * 16
CELLS = {
    "a": "%%step a\nbig = bytes(2_000_000)\nx = 0",
    "b": "%%step b\ny = x + len(big)",
}
TAKING = ("create", "delete", "prune", "names")
FORKING = ("read", "names", "write", "seal", "create", "publish")


def collecting(lab, _):
    """Collect all commits that do not count; return how many bytes went."""
    planned = plan_collection(lab.store(), lab.world(alive=False), Rules(count=1))
    return planned.collect()


def at_each(lab_of, operations, meanwhile, act):
    """Act on fresh labs; at each operation of it something else is done meanwhile.

    Give (operation, nth, lab, kernel, result of the other, result of the act).
    """
    for operation in operations:
        for nth in range(1, 100):
            lab, k = lab_of()
            done = []

            def happen(lab=lab, k=k, done=done):
                done.append(meanwhile(lab, k))

            lab.backend.act_at(operation, nth, happen)
            result = act(lab, k)
            if not done:
                break
            yield operation, nth, lab, k, done[0], result


def forkable():
    """Return a lab and a kernel whose step a has a commit that no step needs."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go()
    lab.clock.advance(DAY_S)
    lab.edit(a="%%step a\nbig = b'other' * 500_000\nx = 7")
    k.go()
    lab.clock.advance(9 * DAY_S)
    return lab, k


def fork_of(lab, k):
    """Fork the run at the older commit, as a command does; return its id, or None."""
    world, wanted = lab.world(alive=False), Wanted(k.run_id, "a", 1)
    order = lab.inspect(k.run_id).order()
    try:
        found = forking.plan(lab.store(), wanted, world, Settings(), order)
        forking.begin(found, FORK)
    except (NotCommitted, RefusedError):
        return None
    return FORK


def check_fork(lab, run_id):
    """Assert that a fork has all that it shares, or says that it is erased."""
    looked = lab.inspect(run_id)
    assert verify(looked.journal).problems == []
    commit = looked.journal.state.commit("a")
    k = lab.kernel(run_id=run_id)
    lab.edit(**CELLS)
    assert k.go("a") == ([] if commit else ["a"])
    assert (k["x"], len(k["big"])) == (0, 2_000_000)
    return commit is not None


@pytest.mark.long
def test_a_fork_that_is_begun_during_a_collection_loses_nothing():
    """At each operation of the collection, between its plan and its last deletion."""
    whole = erased = refused = 0
    for _, _, lab, _, fork, _ in at_each(forkable, TAKING, fork_of, collecting):
        if fork is None:
            refused += 1
        elif check_fork(lab, fork):
            whole += 1
        else:
            erased += 1

    assert whole > 5
    assert refused > 5


@pytest.mark.long
def test_a_collection_during_a_fork_takes_nothing_from_it():
    """At each operation of the fork, between its plan and its record."""
    whole = erased = refused = 0
    for _, _, lab, _, _, fork in at_each(forkable, FORKING, collecting, fork_of):
        if fork is None:
            refused += 1
        elif check_fork(lab, fork):
            whole += 1
        else:
            erased += 1

    assert whole > 0
    assert erased > 0
    assert refused > 5


@pytest.mark.long
def test_an_erasure_during_a_fork_reaches_it():
    """At each operation: the value is gone for the fork, too."""

    def lab_of():
        lab = Lab(a="%%step a\nbig = b'canary' * 400_000\nx = 0", b="%%step b\ny = x")
        k = lab.kernel()
        k.go()
        return lab, k

    def erase(lab, k):
        target = Target(Erased.STEP, k.run_id, step="a")
        planned = plan_erasure(lab.store(), target, lab.world(alive=False))
        return planned.eraser.erase(planned.erasure, because="asked for")

    for acting, other, operations in (
        (fork_of, erase, FORKING),
        (erase, fork_of, TAKING),
    ):
        for _, _, lab, k, _, _ in at_each(lab_of, operations, other, acting):
            assert not [key for key, v in lab.backend.files.items() if b"canary" in v]
            for run in lab.store().runs().ids():
                looked = lab.inspect(run)
                assert looked.journal.state.commit("a") is None, (run, k.run_id)
                assert verify(looked.journal).problems == []
