"""What a tombstone does to a run: it must run again, and never looks committed."""

import pytest
from unit.run.fakes import Lab, erase_by_hand

from nbresume import effect
from nbresume.errors import ConflictError, LockedStep, RefusedError
from nbresume.model.states import State
from nbresume.plan.planner import Verdict

CELLS = {
    "a": "%%step a\nx = [1, 2]",
    "b": "%%step b\ny = sum(x)",
}


def ran(**cells):
    """Return a lab and a kernel that ran all cells."""
    lab = Lab(**(cells or CELLS))
    k = lab.kernel()
    k.go()
    return lab, k


def test_an_erased_step_is_not_committed():
    """Its state says so, and why; it has no commit and no lock."""
    _, k = ran()

    erase_by_hand(k, "a")

    step = k.step("a")
    assert step.state is State.ERASED
    assert (step.plan, step.locked, step.revision) == (Verdict.RERUN, False, -1)
    assert step.reasons == ["its values were erased by someone: it held a name"]
    assert k.journal.state.commit("a") is None
    assert k.view().resume_from == "a"


def test_it_runs_again_and_what_is_equal_below_holds():
    """The same value has the same version: nothing below moved."""
    _, k = ran()
    erase_by_hand(k, "a")

    assert k.go() == ["a"]

    assert k.state("a") is State.COMMITTED
    assert k.commits("a").commit_number == 2
    assert k.state("b") is State.COMMITTED


def test_a_step_below_holds_and_is_replayed_without_it():
    """What b committed is whole; only running it would need what is gone."""
    _, k = ran()
    erase_by_hand(k, "a")
    k = k.restart()

    assert k.go("b") == []
    assert k["y"] == 3
    assert "x" not in k


def test_a_step_below_that_would_run_is_refused():
    """It is told which step makes the value again."""
    lab, k = ran()
    erase_by_hand(k, "a")
    k = k.restart()
    lab.edit(b="%%step b\ny = sum(x) + 1")

    assert k.go("b") == []

    assert isinstance(k.last.error, RefusedError)
    assert "what step a committed was erased by someone" in k.last.text
    assert "Run step a again." in k.last.text
    assert k.go() == ["a", "b"]
    assert k["y"] == 4


def test_the_living_kernel_keeps_what_it_holds():
    """A value in memory is not taken away from under a cell."""
    lab, k = ran()
    erase_by_hand(k, "a")
    lab.edit(b="%%step b\ny = sum(x) + 1")

    assert k.go("b") == ["b"]

    assert k["y"] == 4


def test_a_step_with_effects_is_refused():
    """What acted on the outside never acts again unasked, also if it was erased."""
    _, k = ran(a="%%step a --effects\nx = 1")
    erase_by_hand(k, "a")

    assert k.step("a").plan is Verdict.REFUSED
    assert [way.command for way in k.step("a").ways] == [
        "%steps rerun a --because TEXT"
    ]
    assert k.step("a").has_effects
    assert k.go() == []
    assert isinstance(k.last.error, LockedStep)
    assert "its values were erased by someone: it held a name" in k.last.text

    k.parts.recovery.rerun("a", because="the mailbox is empty")
    assert k.go() == ["a"]
    assert k.state("a") is State.COMMITTED


def test_another_name_does_not_unlock_it():
    """The same cell under a new name is refused like that of a committed step."""
    lab, k = ran(a="%%step a --effects\nx = 1")
    erase_by_hand(k, "a")

    lab.edit(a="%%step other --effects\nx = 1")

    assert k.go() == []
    assert isinstance(k.last.error, LockedStep)
    k.parts.recovery.rename("a", "other")
    assert k.state("other") is State.ERASED


def test_a_recorded_effect_is_never_repeated(remote):
    """Its result is gone: replaying raises, and only --again calls anew."""
    lab = Lab(a="%%step a\nx = pay()")
    lab.tools["pay"] = lambda: effect("charge", remote.charge, 5)
    k = lab.kernel()
    k.go()
    result = k.journal.state.step("a").effects["charge"].done.result
    erase_by_hand(k, "a", result.group)
    k.parts.recovery.rerun("a", because="asked for")

    k.go()

    assert remote.ledger == [5]
    assert "erased by someone" in k.last.text


def test_an_undone_edit_finds_no_erased_commit():
    """A commit that is erased is not made current again."""
    lab, k = ran()
    lab.edit(a="%%step a\nx = [7]")
    k.go()
    erase_by_hand(k, "a")
    k.go()

    lab.edit(a=CELLS["a"])

    assert k.go() == ["a"]
    assert k["y"] == 3


def test_a_fold_keeps_it():
    """Who opens the run by a fold finds the step erased as well."""
    lab, k = ran()
    erase_by_hand(k, "a")
    for number in range(40):
        lab.edit(**{f"c{number}": f"%%step c{number}\nz{number} = {number}"})
    k.go(*[f"c{number}" for number in range(40)])
    assert k.journal.fold.revision > 5

    assert k.restart().state("a") is State.ERASED


def test_a_fork_does_not_leave_it_out_unseen():
    """A fork would begin without it, and a step that acts would act again."""
    _, k = ran()
    erase_by_hand(k, "a")

    with pytest.raises(RefusedError, match="step a has no values: they were erased"):
        k.fork("b")


def test_a_kernel_refers_to_nothing_that_was_erased():
    """What it has written before is written anew, while the old bytes are there."""
    lab, k = ran(a="%%step a\nbig = bytes(2_000_000)")
    former = k.commits("a").manifest.group
    erase_by_hand(k, "a")

    assert k.go() == ["a"]

    for key in [key for key in lab.backend.files if f"/{former}/" in key]:
        del lab.backend.files[key]
    k = k.restart()
    assert k.go() == []
    assert len(k["big"]) == 2_000_000


def test_an_erasure_in_the_middle_of_a_commit_stops_it():
    """The commit may refer to what goes; typed again it stores all of it."""
    lab, k = ran(a="%%step a\nx = [1]", b="%%step b\nx.append(2)")
    other = lab.kernel()
    lab.edit(b="%%step b\nx.append(3)")

    lab.backend.act_at("seal", 1, lambda: erase_by_hand(other, "a"))
    k.go("b")

    assert k.last.how == "RAN", k.last
    assert isinstance(k.last.error.__cause__, ConflictError)
    k.session.stepper.commit_again("b")
    assert k.commits("b").commit_number == 2
    k = k.restart()
    assert k.go("b") == []
    assert k["x"] == [1, 3]
