"""The ways out of a step that waits for a person are the same in every face."""

import pytest
from unit.run.fakes import Lab
from unit.run.views import GOLDEN

from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.plan.planner import Verdict
from nbresume.run.settling import Answer
from nbresume.run.ways import WHOLE, Way, remedy, ways_out


def steps():
    """Return every step of every golden view."""
    return [step for make in GOLDEN.values() for step in make().steps]


def test_there_is_a_way_wherever_something_is_to_be_typed():
    """The remedy of a step is its ways out in one line."""
    found = steps()

    assert {bool(step.ways) for step in found} == {True, False}
    assert all(remedy(step.name, step.ways) == step.remedy for step in found)
    assert all(bool(step.ways) == bool(step.remedy) for step in found)


def test_a_step_in_doubt_has_all_ways():
    """None is chosen or left out, whatever the doubt is."""
    in_doubt = [step for step in steps() if step.state is State.AMBIGUOUS]

    assert in_doubt
    for step in in_doubt:
        assert {way.how for way in step.ways if not way.effect} >= set(WHOLE)
        assert step.evidence
        assert step.started_at is not None
        assert step.has_effects


def test_an_open_effect_has_a_way_of_its_own():
    """Its key is quoted as it has to be typed."""
    ways = ways_out("pay", State.AMBIGUOUS, ["to a"], word=False)

    assert [way.command for way in ways if way.effect] == [
        "%steps resolve pay evidence --effect 'to a' --because TEXT"
    ]
    assert "called once more" in ways[0].text


def test_the_word_that_calls_only_read_is_a_way_of_the_notebook():
    """It is typed into the cell, so there is no word that records it."""
    ways = ways_out("pay", State.AMBIGUOUS, [], word=True)

    assert ways[-1].how == ""
    assert remedy("pay", ways) == (
        "%steps resolve pay retry | evidence | abandon --because TEXT; "
        "if its calls only read: %%step pay --pure"
    )


@pytest.mark.parametrize(
    ("state", "locked", "command"),
    [
        (State.ABANDONED, False, "%steps resolve a retry --because TEXT"),
        (State.RAN, False, "%steps commit a"),
        (State.STALE, True, "%steps rerun a --because TEXT"),
    ],
)
def test_other_steps_that_wait_have_one_way(state, locked, command):
    """It is what the refusal tells to type."""
    (way,) = ways_out("a", state, [], word=False, locked=locked)

    assert way.command == remedy("a", [way]) == command


@pytest.mark.parametrize("state", [State.STALE, State.FAILED, State.NEW])
def test_what_runs_by_itself_needs_no_way(state):
    """Nobody is asked."""
    assert ways_out("a", state, ["k"], word=True) == []


def test_a_locked_stale_step_names_its_way_in_the_view():
    """The page offers what the kernel tells to type."""
    lab = Lab(a="%%step a --effects\nx = 1")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a --effects\nx = 2")
    step = k.step("a")

    assert step.plan is Verdict.REFUSED
    assert [(way.how, way.command) for way in step.ways] == [
        ("rerun", "%steps rerun a --because TEXT")
    ]


def test_an_orphan_in_doubt_can_be_settled():
    """Its cell is gone; the way out is not."""
    lab = Lab(m="%%step m --effects\ndie()", n="1")
    lab.kernel().go()
    lab.delete("m")
    step = lab.kernel().step("m")

    assert [way.how for way in step.ways] == list(WHOLE)


def test_what_a_person_is_told_is_what_the_record_says_they_were_told():
    """The page shows `evidence`; the resolution keeps it as acknowledged."""
    lab = Lab(m="%%step m --effects\ndie()", n="1")
    lab.kernel().go()
    k = lab.kernel()
    told = k.step("m").evidence
    record = k.parts.recovery.resolve("m", Answer(How.ABANDON, "a test"))

    assert record.acknowledged == told


def test_a_way_is_a_frozen_value():
    """It crosses the border as JSON."""
    with pytest.raises(AttributeError):
        Way(how="", command="", text="").how = "retry"
