"""Retention: what no step needs goes, on a word; what one needs is always there."""

from datetime import timedelta

import pytest
from unit.run.fakes import Lab

from nbresume.compose.keeping import plan_collection
from nbresume.errors import Unavailable
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.recovery import Answer
from nbresume.run.retention import Rules
from nbresume.run.verify import verify
from nbresume.store.sweeping import Stock, space
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


def files(lab):
    """Return the files of all groups of the store."""
    stock = Stock(lab.backend)
    return [
        file
        for run in stock.runs()
        for group in stock.groups(run)
        for each in stock.files(run, group).values()
        for file in each
    ]


def payload_bytes(lab):
    """Return how many bytes the payloads of the store take."""
    return space(files(lab))


def numbers(lab, run_id):
    """Return the numbers of the commits of step a whose payloads are there."""
    commits = lab.inspect(run_id).journal.state.step("a").commits.values()
    return [one.record.commit_number for one in commits if not one.erased]


def why(planned):
    """Return the reasons of what would go, each once."""
    return {one.why for one in planned.going}


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


def test_size_is_that_of_the_store():
    """The oldest commits of all runs go first, whichever run they are of."""
    lab = Lab(**CELLS)
    kernels = {}
    for day in range(6):
        path = f"/project/{day % 2}.ipynb"
        lab.notebook.path = path
        lab.notebook.paths.add(path)
        big = f"%%step a\nbig = b'{day}' * 500_000\nx = {day}"
        lab.edit(a=big)
        k = kernels.get(path) or kernels.setdefault(path, lab.kernel())
        k.go()
        lab.clock.advance(DAY_S)
    lab.clock.advance(3 * DAY_S)
    held = payload_bytes(lab)

    freed = collect(lab, size_bytes=held - 400_000)
    assert 400_000 <= freed < 600_000
    assert held - freed == payload_bytes(lab)
    assert [len(numbers(lab, k.run_id)) for k in kernels.values()] == [2, 3]

    collect(lab, size_bytes=1)

    assert [len(numbers(lab, k.run_id)) for k in kernels.values()] == [1, 1]
    assert collect(lab, size_bytes=1) == 0


def test_what_a_fork_left_that_never_began_goes():
    """Its payload was written; its record was not."""
    lab, k = edited(0)
    lab.backend.fail_at("create", 1, Unavailable("power lost"))
    with pytest.raises(Unavailable):
        k.fork("b")
    (fork,) = {*Stock(lab.backend).runs()} - {k.run_id}
    assert collect(lab) == 0

    lab.clock.advance(2 * DAY_S)

    assert why(plan(lab)) == {"a fork that was not begun"}
    assert collect(lab) > 0
    assert groups(lab, fork) == set()


def test_a_damaged_first_record_stops_it_all():
    """Nobody can say what that run shares."""
    lab, k = edited(1)
    (key,) = [key for key in lab.backend.files if key.endswith("0000000000.rec")]
    good = lab.backend.files[key]
    lab.backend.files[key] = good[:-9]

    planned = plan(lab, count=1)
    assert planned.collect() == 0
    assert "put that file back" in planned.skipped[k.run_id]

    del lab.backend.files[key]
    lab.clock.advance(9 * DAY_S)
    assert collect(lab, count=1) == 0

    lab.backend.files[key] = good
    assert collect(lab, count=1) > 0


def test_a_fold_knows_what_a_damaged_first_record_said():
    """A long chain goes on being collected without it."""
    lab, k = edited(9)
    assert k.journal.fold is not None
    (key,) = [key for key in lab.backend.files if key.endswith("0000000000.rec")]
    lab.backend.files[key] = b"{"

    assert collect(lab, count=1) > 0
    assert lab.kernel(run_id=k.run_id).go() == []


def test_what_a_damaged_record_may_have_named_stays():
    """The record may come back; what other records do not need goes."""
    lab, k = edited(3)
    commit = k.journal.state.step("a").commits[2]
    (key,) = [key for key in lab.backend.files if key.endswith("0000000002.rec")]
    good = lab.backend.files[key]
    lab.backend.files[key] = good[:-9]

    collect(lab, count=2)
    lab.backend.files[key] = good

    assert commit.record.manifest.group in groups(lab, k.run_id)


def test_by_evidence_is_a_commit_too():
    """What a person gave is kept like what a step left."""
    lab, k = edited(0)
    lab.edit(a="%%step a --effects\nx = 1\nbig = b''\ndie()")
    k.go()
    lab.clock.advance(DAY_S)
    k = lab.kernel()
    answer = Answer(How.EVIDENCE, "seen", values={"x": 5, "big": b""})
    k.parts.recovery.resolve("a", answer)
    lab.edit(a="%%step a --effects\nx = 2\nbig = b''")
    k.parts.recovery.rerun("a", because="asked for")
    k.go()
    lab.clock.advance(9 * DAY_S)

    assert why(plan(lab)) <= {"an attempt without a commit"}
    assert "an older commit" in why(plan(lab, count=1))


def test_bytes_that_links_share_are_counted_once():
    """They get free with the last group that holds them."""
    lab = Lab(
        a="%%step a\nimport numpy as np\nbig = np.arange(3_000_000.0)\nx = 0",
        b="%%step b\nbig[0] += 1\ny = x",
    )
    k = lab.kernel()
    k.go()
    lab.clock.advance(DAY_S)
    lab.edit(b="%%step b\nbig[0] += 2\ny = x")
    k.go()
    lab.clock.advance(9 * DAY_S)
    assert [name for name, _ in lab.backend.operations].count("link") > 0
    before = space(files(lab))

    planned = plan(lab, count=1)
    told = sum(one.size_bytes for one in planned.going)
    freed = planned.collect()

    assert freed == told == before - space(files(lab)) > 0
    assert lab.kernel().go() == []


def test_what_a_run_costs_does_not_grow_with_the_store():
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
        costs.append((len(lab.backend.operations) - before) / count)

    assert costs[1] <= costs[0] < 20
