"""Retention: what no step needs goes, on a word; what one needs is always there."""

from datetime import timedelta

from unit.run.fakes import Lab

from nbresume.compose.keeping import plan_collection
from nbresume.errors import Unavailable
from nbresume.model.states import State
from nbresume.run.retention import Rules
from nbresume.run.verify import verify
from nbresume.store.trust import Trust

DAY_S = 24 * 3600
CELLS = {
    "a": "%%step a\nbig = bytes(2_000_000)\nx = 0",
    "b": "%%step b\ny = x + len(big)",
}


def edited(times, **cells):
    """Return a lab and a kernel in which step a was edited so many times."""
    lab = Lab(**(cells or CELLS))
    k = lab.kernel()
    k.go()
    for number in range(1, times + 1):
        lab.clock.advance(DAY_S)
        lab.edit(a=CELLS["a"].replace("x = 0", f"x = {number}"))
        k.go()
    lab.clock.advance(2 * DAY_S)
    return lab, k


def plan(lab, **rules):
    """Return what a collection would take away."""
    if "age" in rules:
        rules["age"] = timedelta(days=rules["age"])
    return plan_collection(lab.store(), lab.world(alive=False), Rules(**rules))


def why(planned):
    """Return the reasons of what would go, each once."""
    return {one.why for _, found in planned.parts for one in found.going}


def collect(lab, **rules):
    """Collect; return how many bytes went."""
    return plan(lab, **rules).collect()


def groups(lab, run_id):
    """Return the groups of a run that lie in the store."""
    start = f"data.zarr/{run_id}/"
    names = {
        key[len(start) :].partition("/")[0]
        for key in lab.backend.files
        if key.startswith(start)
    }
    return names - {"zarr.json"}


def test_without_a_rule_commits_stay():
    """An older one may be gone back to."""
    lab, k = edited(3)
    before = groups(lab, k.run_id)

    assert collect(lab) == 0

    assert groups(lab, k.run_id) == before
    k.checkout("a@1")
    assert k["x"] == 0


def test_by_count_the_newest_stay():
    """What they refer to stays, though an older commit wrote it."""
    lab, k = edited(5)

    freed = collect(lab, count=2)

    assert freed > 0
    assert verify(lab.inspect(k.run_id).journal).problems == []
    k = k.restart()
    assert k.go() == []
    assert (k["x"], k["y"], len(k["big"])) == (5, 2_000_005, 2_000_000)
    k.checkout("b@5")
    assert k["x"] == 4


def test_by_age_what_has_not_counted_for_long_goes():
    """The commit that counts never does."""
    lab, k = edited(5)
    before = len(groups(lab, k.run_id))

    collect(lab, age=4)

    assert 0 < len(groups(lab, k.run_id)) < before
    lab.clock.advance(100 * DAY_S)
    collect(lab, age=1)
    assert k.restart().go() == []


def test_by_size_the_oldest_go_first():
    """Until the rest fits, or nothing older is left."""
    lab, k = edited(4)

    collect(lab, size_bytes=1)

    k = k.restart()
    assert k.go() == []
    assert collect(lab, size_bytes=1) == 0


def test_what_is_young_stays():
    """Whatever the rules say."""
    lab, k = edited(3)
    lab.edit(a="%%step a\nx = 99\nbig = b''")
    k.go()

    collect(lab, count=1, grace=timedelta(days=30))

    assert k.journal.state.commit("a")
    k.checkout("a@1")
    assert k["x"] == 0


def test_what_an_interrupted_attempt_left_goes():
    """No record names it."""
    lab, k = edited(0)
    lab.edit(a="%%step a\nx = 7\nbig = b'1' * 3_000_000")
    lab.backend.act_at("create", 2, k._die)
    k.go()
    k = lab.kernel()
    k.go()
    lab.clock.advance(2 * DAY_S)

    planned = plan(lab)

    assert why(planned) == {"no record names it"}
    assert planned.collect() > 0
    assert k.restart().go() == []


def test_the_newest_attempt_is_left_alone():
    """A kernel that stands still may yet name what it wrote."""
    lab, k = edited(0)
    lab.edit(a="%%step a\nx = 7")
    lab.backend.act_at("create", 2, k._die)
    k.go()
    lab.clock.advance(9 * DAY_S)

    assert why(plan(lab)) == set()


def test_a_fork_keeps_what_it_shares():
    """Also when the origin has gone on for long."""
    lab, k = edited(0)
    origin = k.run_id
    k.fork("b")
    fork = k.run_id
    o = lab.kernel(run_id=origin)
    for number in range(3):
        lab.clock.advance(DAY_S)
        lab.edit(a=f"%%step a\nbig = b'{number}' * 2_000_000\nx = {number}")
        o.go()
    o.kill()
    lab.clock.advance(9 * DAY_S)
    lab.edit(**CELLS)

    collect(lab, count=1)

    k = lab.kernel(run_id=fork)
    assert k.go() == []
    assert (k["y"], len(k["big"])) == (2_000_000, 2_000_000)


def test_a_foreign_run_is_left_alone():
    """Nothing is decided about it."""
    lab, k = edited(3)
    lab.trust = Trust(b"o" * 32)

    planned = plan(lab, count=1)

    assert planned.collect() == 0
    assert list(planned.skipped) == [k.run_id]


def test_a_kernel_that_works_meanwhile_is_left_alone():
    """Its run is collected the next time."""
    lab, k = edited(5)
    planned = plan(lab, count=1)
    k.parts.recovery.rerun("b", because="asked for")
    before = groups(lab, k.run_id)

    assert planned.collect() == 0

    assert "at the same moment" in planned.skipped[k.run_id]
    assert groups(lab, k.run_id) == before


def test_cut_off_anywhere_nothing_is_lost():
    """At each operation; the next one takes away the rest."""
    cuts = 0
    for nth in range(1, 300):
        lab, k = edited(3)
        lab.backend.fail_at("delete", nth, Unavailable("power lost"), late=nth % 2 == 0)
        try:
            collect(lab, count=1)
        except Unavailable:
            cuts += 1
        else:
            break
        lab.backend.forget_faults()
        assert k.restart().go() == []
        lab.clock.advance(2 * DAY_S)
        collect(lab, count=1)
        assert why(plan(lab, count=1)) == set()
        k = lab.kernel()
        assert k.go() == []
        assert len(k["big"]) == 2_000_000
        assert k.state("a") is State.COMMITTED

    assert cuts > 4


def test_a_thousand_runs_cost_what_each_costs():
    """A chain is read from its fold; none is walked where nothing lies idle."""
    costs = []
    for count in (10, 40):
        lab = Lab(a="%%step a\nx = 1")
        for number in range(count):
            lab.notebook.path = f"/project/{number}.ipynb"
            lab.notebook.paths.add(lab.notebook.path)
            k = lab.kernel()
            k.go()
            k.kill()
        lab.clock.advance(9 * DAY_S)
        before = len(lab.backend.operations)
        assert why(plan(lab)) == set()
        costs.append(len(lab.backend.operations) - before)

    assert costs[1] <= 4.2 * costs[0]
    assert costs[1] / 40 < 20
