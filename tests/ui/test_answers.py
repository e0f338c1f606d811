"""What is typed behind ``resolve``, and what is said of it afterwards."""

import pytest
from unit.run.samples import RESOLUTION, changed

from nbresume.errors import UsageError
from nbresume.model.values import How
from nbresume.ui.answers import answer_of
from nbresume.ui.replies import settled

GIVEN = dict.fromkeys(("because", "kind", "reference", "effect", "result"))
GIVEN["value"] = ()


def typed(how="evidence", **given):
    """Return the answer that these options make."""
    return answer_of(how, GIVEN | given, ["x"])


@pytest.mark.parametrize(
    ("text", "value"),
    [("None", None), ("17", 17), ("'ch_17'", "ch_17"), ("{'a': [1]}", {"a": [1]})],
)
def test_a_result_is_a_literal(text, value):
    """What an effect returned can be typed."""
    assert typed(effect="charge", result=text).result == (value,)


@pytest.mark.parametrize("text", ["", "ch_17", "open('x')", "[" * 10_000])
def test_what_is_no_literal_is_refused(text):
    """Nothing that is typed is run."""
    with pytest.raises(UsageError, match="no Python literal"):
        typed(effect="charge", result=text)


def test_a_result_belongs_to_an_effect():
    """A step has names instead."""
    with pytest.raises(UsageError, match="--effect KEY"):
        typed(result="17")


def test_values_are_names_with_literals():
    """A name that was given a value is not one that is not kept."""
    answer = typed(value=("x=[1, 'a']", "y=None"))
    assert answer.values == {"x": [1, "a"], "y": None}
    assert answer.names_not_kept == []


@pytest.mark.parametrize(
    ("how", "given"),
    [
        ("evidence", {"value": ("x",)}),
        ("evidence", {"value": ("1x=2",)}),
        ("evidence", {"value": ("x=open('f')",)}),
        ("evidence", {"value": ("x=1",), "effect": "charge"}),
        ("retry", {"value": ("x=1",)}),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(how, given):
    """Only evidence for a whole step gives values, and only plain ones."""
    with pytest.raises(UsageError):
        typed(how, **given)


def test_an_answer_says_what_was_typed():
    """Options that were left out are empty."""
    answer = typed("retry", because="looked")

    assert (answer.how, answer.because, answer.effect) == (How.RETRY, "looked", "")
    assert answer.result == ()
    assert answer.names_not_kept == ["x"]


def test_what_was_settled_is_said():
    """The step or the effect, and what the actor was told."""
    whole = changed(RESOLUTION, how=How.RETRY, because="looked", acknowledged=["x"])
    told = "step a is settled: retry (looked)\n  on record: x"
    assert settled(whole) == told
    effect = changed(RESOLUTION, effect="charge", because="seen", acknowledged=[])
    assert settled(effect) == "effect 'charge' of step a is done (seen)"
