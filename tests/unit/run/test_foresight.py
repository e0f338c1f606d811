"""Where a run goes on: one answer for the kernel, the view and the page."""

import pytest
from unit.run.fakes import Lab

from nbresume.model.states import State
from nbresume.plan.planner import Verdict


def agreed(k):
    """Return the resume point and the cell that a resume runs first.

    What the kernel says, after checking that view and page say the same.
    """
    view, resumed = k.view(), k.resume()
    assert view.resume_from == resumed.resume_from
    cells = [cell.cell_id for cell in k.session.order().cells]
    place = {step.name: step.place for step in view.steps}
    end = place.get(view.resume_from, len(cells))
    # as the page looks for it: below the last step above the point that holds
    above = [s.place for s in view.steps if s.holds and 0 <= s.place < end]
    first = max(above, default=-1) + 1
    assert resumed.next_cell == (cells[first] if first < len(cells) else "")
    return resumed.resume_from, resumed.next_cell


def run(**cells):
    """Return a lab whose notebook ran to its end, and another kernel on it."""
    lab = Lab(**cells)
    lab.kernel().go()
    return lab, lab.kernel()


def test_a_run_goes_on_at_the_first_step_that_has_not_run():
    """Plain cells do not count; none is left when all are committed."""
    lab = Lab(p="1", a="%%step a\nx = 1", q="2", b="%%step b\ny = 1")
    k = lab.kernel()
    assert agreed(k) == ("a", "p")
    k.go("p", "a")
    assert agreed(k) == ("b", "q")
    k.go()
    assert agreed(k) == ("", "")


def test_a_stale_step_above_is_where_it_goes_on():
    """What it and the steps below it made is not bound over their edit."""
    lab, k = run(
        a="%%step a\nx = 1", p="2", b="%%step b\ny = x", c="%%step c\nraise OSError"
    )
    lab.edit(b="%%step b\ny = x + 1")

    assert agreed(k) == ("b", "p")
    assert k["x"] == 1
    assert "y" not in k
    # and what is run from there on is what Run All would run
    assert k.go("p", "b") == ["b"]
    assert k["y"] == 2


def test_what_depends_on_a_stale_step_is_not_bound_either():
    """A step between that does not depend on it waits as well: below is below."""
    lab, k = run(a="%%step a\nx = 1", b="%%step b\ny = 5", c="%%step c\nz = x")
    lab.edit(a="%%step a\nx = 2")

    assert agreed(k) == ("a", "a")
    assert [name for name in "xyz" if name in k] == []


def test_an_always_step_above_does_not_move_it():
    """It is run again by a resume, and what was made of it holds."""
    _, k = run(
        a="%%step a --always\nx = [1]",
        b="%%step b\ny = x[0]",
        q="2",
        c="%%step c\nraise OSError",
    )

    assert agreed(k) == ("c", "q")
    assert k["y"] == 1
    assert k.resume().always == ["a"]
    by_name = {step.name: step for step in k.view().steps}
    assert (by_name["a"].plan, by_name["a"].always) == (Verdict.RERUN, True)
    assert (by_name["b"].plan, by_name["b"].state) == (Verdict.REPLAY, State.COMMITTED)
    assert by_name["b"].reasons == ["x is made anew by step a (--always)"]


def test_the_last_step_above_may_be_an_always_step():
    """Cells are run from below it, as it is run by the resume itself."""
    _, k = run(
        a="%%step a\nx = 1", b="%%step b --always\ny = x", c="%%step c\nraise OSError"
    )

    assert agreed(k) == ("c", "c")
    assert (k["y"], k.resume().always) == (1, ["b"])


def test_an_always_step_that_never_committed_is_where_it_goes_on():
    """There is nothing of it that could be bound."""
    _, k = run(a="%%step a --always\nraise OSError", b="%%step b\ny = 1")

    assert agreed(k) == ("a", "a")


def test_an_edited_always_step_makes_stale_what_reads_it():
    """Its author vouches for running it, not for what another code makes."""
    lab, k = run(a="%%step a --always\nx = 1", b="%%step b\ny = x", c="%%step c\nz = 1")
    lab.edit(a="%%step a --always\nx = 2")

    assert agreed(k) == ("b", "b")
    assert k.resume().always == ["a"]


def test_always_counts_as_the_header_says_now():
    """The flag is no part of the code, so that it may be typed later or taken away."""
    lab, k = run(a="%%step a\nx = 1", b="%%step b\ny = x")
    lab.edit(a="%%step a --always\nx = 1")
    assert k.step("a").plan is Verdict.RERUN
    assert agreed(k) == ("", "")
    lab.edit(a="%%step a\nx = 1")
    assert k.step("a").plan is Verdict.REPLAY


@pytest.mark.parametrize("header", ["%%step a --always --no", "%%step a 'x"])
def test_a_header_that_is_refused_is_no_always(header):
    """Until it is run, its commit is what there is."""
    lab, k = run(a="%%step a\nx = 1", b="%%step b\ny = x")
    lab.edit(a=f"{header}\nx = 1")

    assert not any(step.always for step in k.view().steps)


def test_a_step_in_doubt_above_is_where_it_stops():
    """Also one that was committed before: its newest attempt is what counts."""
    lab = Lab(
        a="%%step a\nx = 1",
        m="%%step m --effects\nif again:\n    die()",
        c="%%step c\nz = 1",
    )
    lab.tools["again"] = False
    lab.kernel().go()
    lab.tools["again"] = True
    k = lab.kernel()
    k.parts.recovery.rerun("m", because="once more")
    k.go("m")
    k = lab.kernel()

    assert k.state("m") is State.AMBIGUOUS
    assert agreed(k) == ("m", "m")
    assert k.view().headline.endswith("stopped at m, which is ambiguous (in doubt)")


def test_a_failed_attempt_of_an_edited_step_is_where_it_goes_on():
    """An older commit, of other code, does not stand in for it."""
    lab, k = run(a="%%step a\nx = 1", b="%%step b\ny = x", c="%%step c\nz = y")
    lab.edit(b="%%step b\nraise OSError")
    k.go("a", "b")
    k = lab.kernel()

    assert k.state("b") is State.FAILED
    assert agreed(k) == ("b", "b")
    assert k.step("b").reasons == ["it raised OSError", "its code changed"]
    # the edit is undone: the older commit is as good as it was
    lab.edit(b="%%step b\ny = x")
    assert agreed(k) == ("", "")


def test_a_renamed_step_is_where_it_goes_on():
    """When its cell is run, it is the step that it was, and nothing runs."""
    lab, k = run(a="%%step a\nx = 1", b="%%step b\ny = x", c="%%step c\nz = y")
    lab.edit(b="%%step bee\ny = x")

    assert agreed(k) == ("bee", "b")
    assert k.go("b", "c") == []
    assert agreed(k) == ("", "")


def test_a_step_that_shall_run_again_is_where_it_goes_on():
    """Somebody asked for that."""
    _, k = run(a="%%step a\nx = 1", b="%%step b\ny = x")
    k.parts.recovery.rerun("b", because="asked for")

    assert agreed(k) == ("b", "b")


def test_a_copy_above_its_original_is_the_copy():
    """The name stands where the cell stands that ran it, also in the view."""
    lab, _ = run(p="1", a="%%step a\nx = 1", b="%%step b\ny = x")
    lab.insert("a", copy="%%step a\nx = 1")
    k = lab.kernel()

    step = k.step("a")
    assert (step.cell_id, step.place, step.state) == ("a", 2, State.COMMITTED)
    assert agreed(k) == ("", "")
    assert k.go("a", "b") == []
    # also when the copy was edited: its text is not that of the step
    lab.edit(copy="%%step a\nx = 2")
    assert k.step("a").state is State.COMMITTED


def test_a_copy_of_a_step_that_never_ran_is_the_lower_one():
    """Nothing tells which was there before."""
    lab = Lab(a="%%step a\nx = 1", copy="%%step a\nx = 2")

    assert lab.kernel().step("a").cell_id == "a"


def test_the_owner_of_a_name_that_is_gone_decides_nothing():
    """Two copies are left: the upper one carries the step."""
    lab, _ = run(a="%%step a\nx = 1", b="%%step b\ny = x")
    lab.delete("a")
    lab.insert("b", one="%%step a\nx = 1", two="%%step a\nx = 1")

    assert lab.kernel().step("a").cell_id == "one"
