"""`%steps undo` and `%steps checkout`: names of one kernel at other moments."""

import random

import pytest
from unit.run.fakes import Lab

from nbresume.errors import ErrorKind, NotCommitted, RefusedError, UsageError
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.plan.planner import Verdict
from nbresume.run.past import parse_label, parse_pair, past_of
from nbresume.run.recovery import Answer

CELLS = {
    "a": "%%step a\nL = [1]\nx = 1",
    "p": "k = 3",
    "b": "%%step b\nL.append(k)\nx = x + 1\ny = x",
    "c": "%%step c\nz = sum(L)\ndel y",
}
AFTER_A = {"L": [1], "x": 1}
AFTER_B = {"L": [1, 3], "x": 2, "y": 2, "k": 3}
AFTER_C = {"L": [1, 3], "x": 2, "z": 4, "k": 3}


def ran(**more):
    """Return a lab and a kernel that ran all cells."""
    lab = Lab(**CELLS | more)
    k = lab.kernel()
    k.go()
    return lab, k


def names(k):
    """Return the user's names with their values."""
    known = {n for n in k.namespace if not n.startswith("__")} | set(
        k.parts.live.known()
    )
    return {name: k[name] for name in sorted(known) if name in k}


# -- undo -------------------------------------------------------------------------


def test_undo_goes_back_step_by_step():
    """Set, changed in place and deleted names are as before the body; nothing runs."""
    lab, k = ran()
    ledger, records = list(lab.ledger), lab.records(k.run_id)

    k.undo()
    assert names(k) == AFTER_B
    k.undo()
    assert names(k) == AFTER_A | {"k": 3}
    k.undo()
    assert names(k) == {"k": 3}
    with pytest.raises(NotCommitted, match="beginning of the run"):
        k.undo()
    assert (lab.ledger, lab.records(k.run_id)) == (ledger, records)


def test_undo_of_a_rerun_brings_the_former_commit_back():
    """After an edit: the values of the commit before, and nothing else moves."""
    lab, k = ran()
    lab.edit(a="%%step a\nL = [10]\nx = 10")
    k.go("a")
    assert names(k) == AFTER_C | {"L": [10], "x": 10}

    done = k.undo()

    assert names(k) == AFTER_C
    assert done.trip.left == ("a@2",)


def test_identity_comes_back_too():
    """Names that shared an object share one again."""
    lab = Lab(a="%%step a\nL = [1]\nM = [L]", b="%%step b\nL.append(2)")
    k = lab.kernel()
    k.go()

    k.undo()

    assert names(k) == {"L": [1], "M": [[1]]}
    assert k["M"][0] is k["L"]


def test_process_state_goes_back_too():
    """A generator stands where it stood before the step that drew from it."""
    lab = Lab(
        a="%%step a\nimport random\nrandom.seed(1)", b="%%step b\nn = random.random()"
    )
    k = lab.kernel()
    k.go()
    drawn = k["n"]

    k.undo()

    assert random.random() == drawn  # noqa: S311 - the very number


def test_what_is_undone_replays_when_its_cell_is_run():
    """The run is unchanged: the plan says replay, and so it is; then undo undoes it."""
    _, k = ran()
    k.undo()

    assert k.step("c").plan is Verdict.REPLAY
    assert k.go("c") == []
    assert names(k) == AFTER_C
    k.undo()
    assert names(k) == AFTER_B


def test_a_step_below_finds_what_its_position_demands():
    """Undone values are back when a step is run that reads them."""
    lab, k = ran(d="%%step d\nw = z + x")
    k.undo()
    k.undo()
    assert "z" not in k

    assert k.go("d") == []
    lab.edit(d="%%step d\nw = z - x")
    assert k.go("d") == ["d"]
    assert k["w"] == 2


def test_a_failed_attempt_is_undone_if_its_values_may_be_lost():
    """What it left is lost for good, which is said first."""
    _, k = ran(d="%%step d\nx = x + 5\nL.append(9)\n1 / 0")
    assert k.last.how == "failed"

    with pytest.raises(RefusedError, match=r"lost for good.*%steps undo --yes") as told:
        k.undo()
    assert "left by step d, which is not committed" in str(told.value)
    assert k["x"] == 7
    done = k.undo(yes=True)

    assert names(k) == AFTER_C
    assert done.trip.where == "before the attempt of step d that is not committed"
    assert k.state("d") is State.FAILED
    k.undo()
    assert names(k) == AFTER_B


def test_a_plain_cells_change_that_is_not_saved_is_said_first():
    """A name of the step that a plain cell changed since is lost by undo."""
    _, k = ran(q="z = 100")

    with pytest.raises(RefusedError, match=r"z \(a plain cell made or changed it"):
        k.undo()
    assert k["z"] == 100
    assert k.undo(yes=True).trip.lost != ()
    assert "z" not in k


def test_a_plain_cells_change_that_an_intent_saved_is_not_lost():
    """A record holds it, so nobody is asked; a checkout finds it again."""
    _, k = ran(q="z = 100", d="%%step d\nw = z")
    assert k["w"] == 100

    k.checkout("c")
    assert names(k) == AFTER_C
    k.checkout("d")
    assert names(k) == AFTER_C | {"z": 100, "w": 100}


def test_a_value_that_its_step_could_not_keep_is_said_first():
    """It is good in this kernel only."""
    lab = Lab(a="%%step a\ng = (i for i in range(3))\nx = 1", b="%%step b\nx = 2")
    k = lab.kernel()
    k.go()
    k.undo()

    with pytest.raises(RefusedError, match=r"g \(step a could not keep it\)"):
        k.undo()
    k.undo(yes=True)
    assert "g" not in k
    done = k.checkout("a")
    assert done.arrived.missing[0].startswith("g (step a could not keep it")
    assert k["x"] == 1


@pytest.mark.parametrize(
    "go", [lambda k, **how: k.undo(**how), lambda k, **how: k.checkout("a", **how)]
)
def test_going_past_an_effect_needs_a_word(go):
    """What was done outside stays done, and that is said first."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b --effects\ny = x")
    k = lab.kernel()
    k.go()

    with pytest.raises(RefusedError, match=r"b@1 \(it declared --effects\) acted"):
        go(k)
    assert k["y"] == 1
    done = go(k, yes=True)

    assert done.trip.acted == ("b@1 (it declared --effects)",)
    assert names(k) == {"x": 1}
    assert k.go("b") == []


def test_nothing_is_undone_in_a_kernel_that_holds_no_step():
    """After a restart there is nothing to take back; after a resume there is."""
    _, k = ran()
    k = k.restart()

    with pytest.raises(NotCommitted, match="%steps resume"):
        k.undo()
    k.session.stepper.stand_at(k.resume().steps)
    k.undo()
    assert names(k) == AFTER_B


def test_nothing_moves_while_a_step_runs():
    """A magic inside a step's cell is refused."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\nback()\ny = 2")
    kernels = []
    errors = []

    def back():
        try:
            kernels[0].undo()
        except RefusedError as error:
            errors.append(str(error))

    lab.tools["back"] = back
    kernels.append(lab.kernel())
    kernels[0].go()

    assert "step b is running" in errors[0]
    assert names(kernels[0]) == {"x": 1, "y": 2}


def test_a_damaged_commit_is_refused_before_anything_moves():
    """All or nothing: its payload is looked for first."""
    lab, k = ran()
    k.checkout("c")
    group = k.commits("a").manifest.group
    for key in [key for key in lab.backend.files if f"/{group}/pack/" in key]:
        del lab.backend.files[key]
    before = names(k)

    with pytest.raises(RefusedError, match="commit 1 of step a is damaged"):
        k.checkout("a")
    assert names(k) == before


# -- checkout ---------------------------------------------------------------------


def test_checkout_brings_the_namespace_of_any_commit():
    """Back and forth between all boundaries, also those of superseded commits."""
    lab, k = ran()
    lab.edit(a="%%step a\nL = [10]\nx = 10")
    k.go()
    new = {"L": [10, 3], "x": 11, "k": 3}
    expected = {
        "a@1": AFTER_A | {"k": 3},
        "b@1": AFTER_B,
        "c@1": AFTER_C,
        "a@2": AFTER_C | {"L": [10], "x": 10},
        "b@2": new | {"y": 11, "z": 4},
        "c@2": new | {"z": 13},
    }

    for label in [*expected, *reversed(expected)]:
        k.checkout(label)
        assert names(k) == expected[label], label
    k.checkout("b")
    assert names(k) == expected["b@2"]


def test_checkout_of_a_superseded_commit_changes_no_plan():
    """Run All afterwards replays what the plan says, with the values of now."""
    lab, k = ran()
    lab.edit(a="%%step a\nL = [10]\nx = 10")
    k.go()
    plans = [step.plan for step in k.view().steps]

    k.checkout("a@1")

    assert [step.plan for step in k.view().steps] == plans == [Verdict.REPLAY] * 3
    assert k.go("c") == []
    assert k["L"] == [10, 3]
    assert "L (it stood at another position)" in k.last.text
    assert k.go() == []
    assert names(k) == {"L": [10, 3], "x": 11, "z": 13, "k": 3}


def test_a_change_on_a_superseded_value_does_not_flow_into_the_run():
    """A plain cell changes an old value in place: the next step finds the current."""
    lab, k = ran(d="%%step d\nw = sum(L)")
    lab.edit(a="%%step a\nL = [10]\nx = 10")
    k.go()
    lab.insert("d", q="L.append(1000)")
    k.checkout("b@1")
    k.run("q")
    assert k["L"] == [1, 3, 1000]

    assert k.go("d") == []
    assert "was changed on a value that is not current" in k.last.text
    assert k["L"] == [10, 3]
    assert k["w"] == 13


def test_a_plain_cells_value_of_another_moment_does_not_flow_into_the_run():
    """The step that read a newer one replays with that."""
    lab, k = ran()
    lab.edit(p="k = 4")
    k.go()
    assert k["L"] == [1, 4]

    k.checkout("b@1", yes=True)
    assert names(k) == AFTER_B
    assert k.go("b") == []
    assert (k["k"], k["L"]) == (4, [1, 4])


def test_a_plain_cell_that_is_run_again_makes_its_value_todays():
    """Also if it makes the very same object; until then a new step is refused."""
    lab, k = ran()
    lab.edit(p="k = 4")
    k.go()
    k.checkout("b@1", yes=True)
    lab.edit(p="k = 3", d="%%step d\nw = k")

    refused = k.run("d")
    assert refused.how == "refused"
    assert "k is of another moment (checkout, undo): run its cell again" in refused.text
    k.run("p")
    assert k.go("d") == ["d"]
    assert k["w"] == 3


def test_a_checkout_after_a_restart_needs_nothing_run():
    """The commits are enough, in a kernel that holds nothing."""
    lab, k = ran()
    k = k.restart()
    ledger = list(lab.ledger)

    k.checkout("b")

    assert names(k) == AFTER_B
    assert lab.ledger == ledger
    assert k.go() == []


def test_resume_goes_back_to_the_newest_state():
    """The way out of the past."""
    _, k = ran()
    k.checkout("a")

    k.resume()

    assert names(k) == AFTER_C


def test_a_renamed_steps_commits_are_found_by_its_new_name():
    """Also those from before it was renamed."""
    lab, k = ran()
    lab.edit(b=CELLS["b"].replace("step b", "step better"))
    k.go()

    k.checkout("better@1")

    assert names(k)["y"] == 2


def test_undo_finds_the_last_step_under_its_new_name():
    """It was renamed since."""
    _, k = ran()
    k.parts.recovery.rename("c", "total")

    assert k.undo().trip.left == ("total@1",)
    assert names(k) == AFTER_B


@pytest.mark.parametrize(
    ("label", "told"),
    [
        ("nope", r"no step nope.*Committed are: a, b, c"),
        ("a@7", r"no commit 7.*Type one of a@1"),
        ("d", r"has no commit in this run"),
    ],
)
def test_an_unknown_boundary_is_refused_with_what_there_is(label, told):
    """What to type next is said."""
    _, k = ran(d="%%step d\n1 / 0")

    with pytest.raises(NotCommitted, match=told):
        k.checkout(label, yes=True)


@pytest.mark.parametrize("label", ["a@", "a@x", "a@0", "a@-1", "a@1.5", "a@١"])  # noqa: RUF001
def test_a_label_that_is_none_is_refused(label):
    """Numbers of commits are those of the history."""
    with pytest.raises(UsageError, match="no number of a commit"):
        parse_label(label)


def test_labels_are_steps_with_an_optional_number():
    """``NAME`` and ``NAME@COMMIT``, one or two of them."""
    assert parse_label("fit") == ("fit", None)
    assert parse_label("fit@12") == ("fit", 12)
    assert parse_pair("fit@1", "") == ("fit", 1, "fit", None)
    assert parse_pair("fit", "load@2") == ("fit", None, "load", 2)
    with pytest.raises(UsageError, match="fit@1"):
        parse_pair("fit", "")


# -- the past ---------------------------------------------------------------------


def test_evidence_is_a_moment():
    """A person's evidence made the commit; what it gives no value is not brought."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b --effects\ny = 2\ndie()")
    lab.kernel().go()
    k = lab.kernel()
    k.go("a")
    answer = Answer(How.EVIDENCE, "it arrived", names_not_kept=["y"])
    k.parts.recovery.resolve("b", answer, k.session.order())
    assert k.go() == []

    with pytest.raises(RefusedError, match=r"b@1 .* acted on the outside"):
        k.undo()
    k.checkout("a", yes=True)
    assert names(k) == {"x": 1}
    assert k.checkout("b").arrived.missing[0].startswith("y (step b could not keep it")


def test_the_past_counts_commits_made_current():
    """Whatever makes a commit count is a moment."""
    lab, k = ran()
    lab.edit(a="%%step a\nL = [10]\nx = 10")
    k.go()
    lab.edit(a=CELLS["a"])
    k.go()

    past = past_of(k.journal)

    labels = [moment.label for moment in past.moments]
    assert labels == ["a@1", "b@1", "c@1", "a@2", "b@2", "c@2", "a@1", "b@1", "c@1"]
    k.undo()
    assert names(k) == AFTER_B | {"z": 13}


def test_the_past_passes_over_a_damaged_record():
    """What it said is not known; the rest is."""
    lab, k = ran()
    key = f"journal/{k.run_id}/{4:010d}.rec"
    lab.backend.files[key] = b"{"
    k = k.restart()

    k.checkout("c")

    assert {n: v for n, v in names(k).items() if n in "Lxz"} == {
        "L": [1],
        "x": 1,
        "z": 4,
    }


def test_refusals_have_codes():
    """Programs can tell them apart."""
    _, k = ran()

    with pytest.raises(NotCommitted) as unknown:
        k.checkout("nope")

    assert unknown.value.kind is ErrorKind.NOT_COMMITTED
