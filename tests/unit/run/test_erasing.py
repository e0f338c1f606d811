"""Erasure: what a person named goes, in every run; cut off, it is finished."""

import pytest
from unit.run.fakes import Lab

from nbresume import effect
from nbresume.compose.keeping import plan_collection, plan_erasure
from nbresume.errors import NotCommitted, TakenRun, Unavailable
from nbresume.model.states import State
from nbresume.model.values import Erased
from nbresume.run.erasing import Target
from nbresume.run.needed import needed
from nbresume.run.retention import Rules
from nbresume.run.verify import verify

CANARY = "canary-5b1e"
CELLS = {
    "p": "k = 1",
    "a": f"%%step a\nsecret = '{CANARY}'\nprint(secret)",
    "b": "%%step b\nn = len(secret) + k",
    "c": "%%step c\nz = n + 1",
}


def ran(**cells):
    """Return a lab and a kernel that ran all cells."""
    lab = Lab(**(cells or CELLS))
    k = lab.kernel()
    k.go()
    return lab, k


def erase(lab, run_id, what, name="", **more):
    """Plan an erasure and carry it out; return what was planned."""
    what = Erased(what)
    target = Target(
        what,
        run_id,
        step=name if what is Erased.STEP else "",
        name=name if what is Erased.NAME else "",
        **more,
    )
    planned = plan_erasure(lab.store(), target, lab.world(alive=False))
    planned.eraser.erase(planned.erasure, because="asked for")
    return planned.erasure


def finish(lab):
    """Collect, which finishes what was cut off."""
    plan_collection(lab.store(), lab.world(alive=False), Rules()).collect()


def holding(lab, text=CANARY):
    """Return the keys of the store that hold a text."""
    return [key for key, data in lab.backend.files.items() if text.encode() in data]


@pytest.mark.parametrize(
    ("what", "name"), [("step", "a"), ("name", "secret"), ("run", "")]
)
def test_the_value_is_found_in_no_byte(what, name):
    """Nor its source, what it showed, its previews, in earlier commits."""
    lab, k = ran()
    lab.edit(a=CELLS["a"] + "\nmore = 1")
    k.go()
    assert holding(lab)

    erase(lab, k.run_id, what, name)

    assert holding(lab) == []
    assert k.state("a") is State.ERASED
    assert k.go()[0] == "a"


def test_what_else_is_there_stays():
    """Erasing one step leaves the others whole; verify agrees."""
    lab, k = ran()

    erased = erase(lab, k.run_id, "step", "a")

    assert erased.steps == {k.run_id: {"a"}}
    assert erased.readers == {"b"}
    k = k.restart()
    assert k.go("c") == []
    assert k["z"] == 14 - 1
    assert lab.records(k.run_id)[-1] == "tombstone"


def test_what_was_made_of_it_goes_with_derived():
    """At any remove."""
    lab, k = ran(
        a=f"%%step a\nsecret = '{CANARY}'",
        b="%%step b\nloud = secret + '!'",
        c="%%step c\nlouder = loud + '!'",
        d="%%step d\nother = 5",
    )
    erase(lab, k.run_id, "name", "secret")
    assert holding(lab)

    k.go()
    erase(lab, k.run_id, "name", "secret", derived=True)

    assert holding(lab) == []
    assert k.state("d") is State.COMMITTED


def test_values_of_plain_cells_go():
    """An intent stored them."""
    lab, k = ran(p=f"secret = ['{CANARY}']", a="%%step a\nn = len(secret)")
    assert holding(lab)

    erase(lab, k.run_id, "name", "secret")

    assert holding(lab) == []


def test_results_of_effects_go():
    """The effect stays done, and is not repeated."""
    calls = []

    def call():
        calls.append(1)
        return CANARY

    lab = Lab(a="%%step a\nx = pay()")
    lab.tools["pay"] = lambda: effect("charge", call)
    k = lab.kernel()
    k.go()

    erase(lab, k.run_id, "step", "a")

    assert holding(lab) == []
    k.parts.recovery.rerun("a", because="asked for")
    k.go()
    assert calls == [1]


def test_an_attempt_that_was_cut_off_leaves_nothing():
    """No record names its payloads, so nobody can say what lies in them."""
    lab, k = ran()
    lab.edit(a=CELLS["a"] + "\nmore = 1")
    lab.backend.act_at("create", 2, k._die)
    k.go()
    assert k.is_dead
    k = lab.kernel()
    lab.edit(a=CELLS["a"] + "\nmore = 2")
    k.go()

    erase(lab, k.run_id, "name", "secret")

    assert holding(lab) == []


@pytest.mark.parametrize("where", ["origin", "fork"])
def test_forks_are_reached(where):
    """From either side: what is shared goes for all."""
    lab, k = ran()
    origin = k.run_id
    k.fork("b")
    fork = k.run_id

    erased = erase(lab, origin if where == "origin" else fork, "step", "a")

    assert erased.steps == {origin: {"a"}, fork: {"a"}}
    assert holding(lab) == []
    assert k.state("a") is State.ERASED
    assert lab.records(origin)[-1] == lab.records(fork)[-1] == "tombstone"
    assert k.go() == ["a", "c"]


def test_what_a_fork_made_anew_goes_too():
    """It is the same step there; what the origin made anew is another run's."""
    lab, k = ran()
    origin = k.run_id
    k.fork("b")
    fork = k.run_id
    lab.edit(a=CELLS["a"] + "\nmore = 1")
    assert "a" in k.go()

    erased = erase(lab, origin, "step", "a")

    assert erased.steps == {origin: {"a"}, fork: {"a"}}
    assert holding(lab) == []

    k.go()
    erased = erase(lab, fork, "step", "a")
    assert erased.steps == {origin: set(), fork: {"a"}}


def test_what_holds_the_same_bytes_by_a_link_goes():
    """A step that changed a part of a large array shares the other parts of it."""
    lab, k = ran(
        a="%%step a\nimport numpy as np\nbig = np.full(3_000_000, 7.25)",
        b="%%step b\nbig[0] = 1",
        c="%%step c\nsmall = 5",
    )
    assert [name for name, _ in lab.backend.operations].count("link") > 0
    assert holding(lab, "blosc")

    erased = erase(lab, k.run_id, "step", "a")

    assert erased.steps == {k.run_id: {"a", "b"}}
    assert holding(lab, "blosc") == []


def test_what_was_made_of_a_step_goes_with_derived():
    """As for a name."""
    lab, k = ran()

    erased = erase(lab, k.run_id, "step", "a", derived=True)

    assert erased.steps == {k.run_id: {"a", "b", "c"}}
    assert erased.readers == set()


def test_what_was_erased_is_in_no_backup():
    """Also while its bytes are there: the erasure was cut off."""
    lab, k = ran()
    group = k.commits("a").manifest.group
    lab.backend.fail_at("delete", 1, Unavailable("power lost"))
    with pytest.raises(Unavailable):
        erase(lab, k.run_id, "step", "a")
    assert holding(lab)

    journal = lab.inspect(k.run_id).journal
    wanted = {one.name for one in needed(journal, journal.envelopes())}

    assert k.commits("b").manifest.group in wanted
    assert group not in wanted


def test_nothing_is_written_by_looking():
    """A plan is a plan."""
    lab, k = ran()
    before = dict(lab.backend.files)

    plan_erasure(
        lab.store(), Target(Erased.STEP, k.run_id, step="a"), lab.world(alive=False)
    )
    plan_collection(lab.store(), lab.world(alive=False), Rules())

    assert lab.backend.files == before


def test_what_is_not_there_is_refused():
    """Also a second time: it has gone."""
    lab, k = ran()
    with pytest.raises(NotCommitted, match="holds no payload of it"):
        erase(lab, k.run_id, "step", "nobody")
    with pytest.raises(NotCommitted, match="holds no payload of it"):
        erase(lab, "e" * 16, "run")
    erase(lab, k.run_id, "step", "a")

    with pytest.raises(NotCommitted, match="step a was not erased"):
        erase(lab, k.run_id, "step", "a")


def test_a_running_step_is_waited_for():
    """Its kernel would store again what it holds."""
    lab, k = ran()

    def peek():
        with pytest.raises(TakenRun):
            erase(lab, k.run_id, "run")

    lab.tools["peek"] = peek
    k = lab.kernel()
    lab.edit(c="%%step c\nz = n + 2\npeek()")

    k.go("c")

    assert k.last.how == "ran", k.last
    assert holding(lab)


def test_cut_off_anywhere_it_is_finished():
    """At each operation: nothing looks committed that is not whole."""
    cuts = 0
    for nth in range(1, 200):
        lab, k = ran()
        origin = k.run_id
        k.fork("b")
        operation = "delete" if nth > 2 else "create"
        lab.backend.fail_at(
            operation, nth if nth <= 2 else nth - 2, Unavailable("power lost")
        )
        try:
            erase(lab, origin, "step", "a")
        except Unavailable:
            cuts += 1
        else:
            break
        lab.backend.forget_faults()
        for run in (origin, k.run_id):
            seen = lab.inspect(run)
            if seen.journal.state.commit("a") is not None:
                assert verify(seen.journal).problems == []
        finish(lab)
        if lab.inspect(origin).journal.state.commit("a") is None:
            assert holding(lab) == []
            assert lab.inspect(k.run_id).journal.state.commit("a") is None
        else:
            assert nth == 1

    assert cuts > 4
