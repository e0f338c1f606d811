"""What the records of an effect add up to: open, done, free, or honored."""

from datetime import timedelta

import msgspec
import pytest
from unit.run.samples import AT, EFFECT_DONE, EFFECT_OPENED, REF, RESOLUTION, changed

from nbresume.model import effects
from nbresume.model.codec import canonical, decode
from nbresume.model.effects import EffectHistory
from nbresume.model.values import Ended, How


def folded(*records, at=AT):
    """Return the effects after these records."""
    known = {}
    for record in records:
        effects.note(known, record, at)
    return known


def test_an_effect_is_open_between_its_two_records():
    """What happened between them nobody knows."""
    opened = folded(EFFECT_OPENED)["charge"]
    done = folded(EFFECT_OPENED, EFFECT_DONE)["charge"]

    assert (opened.is_open, opened.is_done) == (True, False)
    assert (done.is_open, done.is_done) == (False, True)
    assert effects.open_keys(folded(EFFECT_OPENED)) == ["charge"]


@pytest.mark.parametrize("how", [Ended.FAILED, Ended.ABSENT])
def test_what_surely_did_not_happen_is_free(how):
    """It is neither open nor done."""
    effect = folded(EFFECT_OPENED, changed(EFFECT_DONE, how=how))["charge"]

    assert (effect.is_open, effect.is_done) == (False, False)


def test_an_outcome_of_another_generation_counts_for_nothing():
    """It belongs to a call that somebody had made anew since."""
    late = changed(EFFECT_DONE, generation=1)

    assert folded(EFFECT_OPENED, late)["charge"].is_open
    assert folded(EFFECT_DONE) == {}


@pytest.mark.parametrize(
    ("after_s", "honored"),
    [(0, True), (3599, True), (3600, False), (-1, False), (None, False)],
)
def test_a_key_is_honored_within_its_ttl(after_s, honored):
    """Not after it, not by a clock that was set back, not when nobody knows."""
    effect = folded(EFFECT_OPENED)["charge"]
    now = None if after_s is None else AT + timedelta(seconds=after_s)

    assert effect.is_honored(now) is honored
    assert effect.is_in_doubt(now) is not honored


def test_a_key_that_never_expires_needs_no_clock():
    """The author vouches for the remote's memory."""
    effect = folded(changed(EFFECT_OPENED, ttl_s=None))["charge"]

    assert effect.is_honored(None)


def test_a_lookup_takes_the_doubt_away():
    """The outside can be asked when the step runs."""
    asked = changed(EFFECT_OPENED, idempotent=False, lookup=True)
    silent = changed(EFFECT_OPENED, idempotent=False)

    assert effects.doubtful_keys(folded(asked), AT) == []
    assert effects.doubtful_keys(folded(silent), AT) == ["charge"]


def test_evidence_settles_what_is_open_and_nothing_else():
    """With the result that was given, or with the word that there is none."""
    known = folded(EFFECT_OPENED, EFFECT_DONE)
    given = changed(RESOLUTION, effect="charge", result=REF, gave_result=True)
    effects.settle(known, changed(given, result=None), ["charge", "other"])
    assert known["charge"].done == EFFECT_DONE
    known = folded(EFFECT_OPENED)
    effects.settle(known, given, ["charge"])
    bare = folded(EFFECT_OPENED)
    effects.settle(bare, RESOLUTION, ["charge"])

    assert (known["charge"].done.result, known["charge"].done.not_kept) == (REF, "")
    assert "gave no result" in bare["charge"].done.not_kept


@pytest.mark.parametrize(("again", "generation"), [("charge", 1), ("all", 1), ("x", 0)])
def test_a_new_generation_forgets_the_old_one(again, generation):
    """Only of the effects that were named."""
    known = folded(EFFECT_OPENED, EFFECT_DONE)
    effects.renew(known, [again])

    assert known["charge"].generation == generation
    assert known["charge"].is_done is (generation == 0)


def test_an_open_effect_gets_no_new_generation():
    """It was called while somebody asked for a rerun; that must not be forgotten."""
    known = folded(EFFECT_OPENED)
    effects.renew(known, ["all"])

    assert known["charge"].is_open


def test_a_history_survives_a_fold():
    """It is decoded from the folded state as it was."""
    known = folded(EFFECT_OPENED, EFFECT_DONE)["charge"]
    data = canonical(msgspec.to_builtins(known, str_keys=True))

    assert decode(data, EffectHistory, name="a fold") == known


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        (["a"], "effect 'a'"),
        (["a", "b"], "effects 'a', 'b'"),
        (list("abcde"), "effects 'a', 'b', 'c' and 2 more"),
    ],
)
def test_many_keys_are_counted(keys, said):
    """A sentence names the first three."""
    assert effects.spoken_keys(keys) == said


def test_evidence_is_spoken_of_by_kind_and_reference():
    """Without evidence nothing is said."""
    assert effects.reference_of(None) == ""
    assert effects.reference_of(RESOLUTION.evidence) == " by receipt mail 7"
    assert RESOLUTION.how is How.EVIDENCE
