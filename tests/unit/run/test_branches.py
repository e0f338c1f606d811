"""`--when EXPR`: a decision on record, and a step that is not taken."""

import pytest
from unit.run.fakes import Lab

from nbresume.model.states import State
from nbresume.run.explaining import NoSources, explain

CELLS = {
    "p": "limit = 10",
    "load": "%%step load\nrows = 5",
    "big": "%%step big --when 'rows > limit'\nhow = 'big'\nextra = 1",
    "use": "%%step use --after big\nn = rows + 1",
}


def lab_and_kernel(**cells):
    """Return a lab with the cells above, some of them other ones, and its kernel."""
    lab = Lab(**CELLS | cells)
    k = lab.kernel()
    k.go()
    return lab, k


def test_a_step_is_taken_where_its_condition_is_true():
    """And then it is a step like any other."""
    lab, k = lab_and_kernel(p="limit = 1")

    assert lab.ledger == ["load", "big", "use"]
    assert k.restart().go() == []


def test_a_step_that_is_not_taken_leaves_nothing_and_steps_below_go_on():
    """It is shown as what it is."""
    lab, k = lab_and_kernel()
    view = k.view()

    assert lab.ledger == ["load", "use"]
    assert "how" not in k
    assert k.state("big") is State.NOT_TAKEN
    assert k.step("big").plan == "not taken"
    assert k.step("big").reasons == ["its condition is false"]
    assert view.headline == "2 of 2 steps locked, 1 not taken; all are committed"


def test_the_decision_holds_in_another_kernel_and_is_not_made_again():
    """The chain does not grow."""
    lab = Lab(**CELLS | {"big": "%%step big --when 'asked(rows > limit)'\nhow = 1"})
    asked = []
    lab.tools["asked"] = lambda value: asked.append(value) or value
    k = lab.kernel()
    k.go()
    revision = k.journal.state.revision
    k = k.restart()

    assert k.go() == []
    assert k.run("big").how == "not taken"
    assert asked == [False]
    assert k.journal.state.revision == revision


def test_a_decision_is_made_anew_when_what_it_reads_changed():
    """By a plain cell, or by a step above."""
    lab, k = lab_and_kernel()
    lab.edit(p="limit = 1")
    k = k.restart()
    assert k.go() == ["big", "use"]
    lab.edit(load="%%step load\nrows = 0")
    assert k.go() == ["load", "use"]
    assert k.state("big") is State.NOT_TAKEN
    assert "how" not in k


def test_a_step_that_is_taken_again_is_replayed():
    """Its commit was there all the time."""
    lab, k = lab_and_kernel(p="limit = 1")
    lab.edit(p="limit = 10")
    k.go()
    assert "how" not in k
    lab.edit(p="limit = 1")

    assert k.go() == []
    assert k["how"] == "big"


def test_what_a_step_below_made_under_the_same_name_stays():
    """Only what stands at the step's place goes."""
    cells = {"again": "%%step again\nhow = 'again'"}
    _, k = lab_and_kernel(**cells)
    assert k["how"] == "again"
    assert k.restart().go() == []


def test_a_name_that_stands_above_is_seen_again():
    """A step that is not taken hides nothing."""
    lab, k = lab_and_kernel(
        p="limit = 1",
        load="%%step load\nrows = 5\nhow = 'small'",
        use="%%step use\nsaid = how",
    )
    assert k["said"] == "big"
    lab.edit(p="limit = 10")
    k = k.restart()

    assert k.go() == ["use"]
    assert k["said"] == "small"


def test_the_audit_trail_and_the_explanation_tell_the_decision():
    """Who reads them sees why a step did not run."""
    lab, k = lab_and_kernel()
    assert "branch" in lab.records(k.run_id)
    view = k.view()
    big = next(step for step in view.steps if step.name == "big")
    told = explain(
        big,
        view,
        k.journal.state,
        k.session.order(),
        files=k.parts.files,
        sources=NoSources(),
    )

    assert told.verdict == "not taken"
    assert told.sentence.startswith("step big is not taken: its condition is false")


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        ({"p": "limit = 3"}, "a plain cell that it reads is edited"),
        ({"load": "%%step load\nrows = 50"}, "step load runs"),
        ({"big": "%%step big --when 'rows > 1'\nhow = 1"}, "its condition was edited"),
        ({"big": "%%step big\nhow = 1"}, "its condition was taken away"),
    ],
)
def test_the_plan_says_that_it_is_open(edit, why):
    """And what ran was said."""
    lab, k = lab_and_kernel()
    lab.edit(**edit)
    k = k.restart()
    step = k.step("big")

    assert step.plan == "rerun"
    assert why in step.reasons[0]
    assert "big" in k.go()


def test_a_condition_that_is_taken_away_leaves_a_record():
    """The commit of former times counts again."""
    lab, k = lab_and_kernel(p="limit = 1")
    lab.edit(p="limit = 10")
    k.go()
    lab.edit(big="%%step big\nhow = 'big'\nextra = 1")

    assert k.go() == []
    assert k["extra"] == 1


def test_a_condition_on_a_file_follows_the_file():
    """A path in it counts, whether the file is there or not."""
    lab = Lab(big="%%step big --when 'disk.is_there(\"flag.txt\")'\nhow = 1")
    k = lab.kernel()
    assert k.go() == []
    lab.disk.put("flag.txt", "1")
    assert k.step("big").plan == "rerun"

    assert k.restart().go() == ["big"]


@pytest.mark.parametrize(
    ("when", "why"),
    [
        ("nowhere > 1", "raised NameError"),
        ("rows.append(1)", "raised AttributeError"),
        ("box.append(1) is None", "its condition changed box"),
    ],
)
def test_a_condition_that_fails_or_acts_is_refused(when, why):
    """Nothing was decided, and nothing ran."""
    _, k = lab_and_kernel(
        load="%%step load\nrows = 5\nbox = []",
        big=f"%%step big --when '{when}'\nhow = 1",
    )
    ran = k.run("big")

    assert ran.how == "refused"
    assert why in ran.text
    assert "how" not in k


def test_a_step_in_doubt_stays_so_whatever_its_condition_says():
    """A person has to decide first."""
    lab = Lab(**CELLS | {"big": "%%step big --effects --when 'rows < limit'\ndie()"})
    lab.kernel().go()
    lab.edit(load="%%step load\nrows = 50")
    k = lab.kernel()
    k.go()

    assert k.state("big") is State.AMBIGUOUS
    assert k.run("big").how == "refused"


def test_resume_goes_past_a_step_that_is_not_taken():
    """The resume point is the first step that would run."""
    lab, k = lab_and_kernel(use="%%step use\ndie()")
    k = lab.kernel()

    assert k.view().resume_from == "use"
    assert k.resume().resume_from == "use"
