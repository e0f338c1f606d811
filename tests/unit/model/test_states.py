"""States are derived: every combination of facts has one, every record its meaning."""

from datetime import UTC, datetime
from itertools import pairwise, product

import pytest
from unit.run.samples import (
    AT,
    CLAIM,
    COMMITTED,
    FAILED,
    INTENT,
    MADE_CURRENT,
    MIGRATION,
    QUARANTINED,
    RECORDS,
    REF,
    RESOLUTION,
    changed,
)

from nbresume.model.commits import KEPT_COMMITS, KEPT_KEYS
from nbresume.model.folded import RunState
from nbresume.model.histories import StepHistory
from nbresume.model.records import Record
from nbresume.model.states import TABLE, Claimant, Facts, Outcome, Row, State, state_of
from nbresume.model.values import Ambient, How, Options, Output, Sighting
from nbresume.settings import Undeclared

LATER = datetime(2026, 11, 6, tzinfo=UTC)
COMBINATIONS = [
    Facts(*facts)
    for facts in product(Outcome, Claimant, (False, True), (None, *How))
    if facts[3] is not How.EVIDENCE or facts[0] is Outcome.COMMITTED
]
EXPECTED = {
    # the states of DESIGN 6, said once more without the table
    Facts(Outcome.NONE): State.NEW,
    Facts(Outcome.OPEN, Claimant.ALIVE): State.RUNNING,
    Facts(Outcome.OPEN, Claimant.ALIVE, in_doubt=True): State.RUNNING,
    Facts(Outcome.OPEN, Claimant.UNKNOWN): State.RUNNING,
    Facts(Outcome.OPEN, Claimant.HOLDS_BODY): State.RAN,
    Facts(Outcome.OPEN, Claimant.HOLDS_BODY, in_doubt=True): State.RAN,
    Facts(Outcome.OPEN, Claimant.GONE): State.INTERRUPTED,
    Facts(Outcome.OPEN, Claimant.GONE, in_doubt=True): State.AMBIGUOUS,
    Facts(Outcome.FAILED): State.FAILED,
    Facts(Outcome.FAILED, Claimant.ALIVE, in_doubt=True): State.AMBIGUOUS,
    Facts(Outcome.COMMITTED, Claimant.ALIVE): State.COMMITTED,
    Facts(Outcome.COMMITTED, Claimant.GONE, resolution=How.EVIDENCE): State.COMMITTED,
    Facts(Outcome.OPEN, resolution=How.ABANDON): State.ABANDONED,
    Facts(Outcome.FAILED, resolution=How.ABANDON): State.ABANDONED,
    Facts(Outcome.OPEN, in_doubt=True, resolution=How.RETRY): State.NEW,
    Facts(Outcome.FAILED, in_doubt=True, resolution=How.RETRY): State.NEW,
    Facts(Outcome.FAILED, resolution=How.RETRY): State.FAILED,
}


@pytest.mark.parametrize("facts", COMBINATIONS, ids=str)
def test_every_combination_of_facts_has_a_state(facts):
    """No combination falls through the table, and none depends on its order."""
    fitting = [row for row in TABLE if row.fits(facts)]

    assert fitting
    assert state_of(facts) is fitting[0].state


@pytest.mark.parametrize(("facts", "state"), EXPECTED.items(), ids=str)
def test_a_state_follows_from_facts(facts, state):
    """The table says what the design's diagram says."""
    assert state is state_of(facts)


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_every_row_is_needed(row):
    """There are facts that only this row decides."""
    decided = [
        facts
        for facts in COMBINATIONS
        if next(found for found in TABLE if found.fits(facts)) is row
    ]

    assert decided


def test_none_in_a_row_stands_for_anything():
    """A row fits by its outcome and by what else it names."""
    row = Row(Outcome.OPEN, None, True, None, State.AMBIGUOUS)

    assert row.fits(Facts(Outcome.OPEN, Claimant.GONE, in_doubt=True))
    assert not row.fits(Facts(Outcome.OPEN, Claimant.GONE, in_doubt=False))
    assert not row.fits(Facts(Outcome.FAILED, Claimant.GONE, in_doubt=True))


# -- the fold -------------------------------------------------------------------


def folded(*records, epoch=1):
    """Return the state after these records."""
    state = RunState()
    for revision, record in enumerate(records):
        state.apply(
            record, revision=revision, digest=f"d{revision}", epoch=epoch, at=AT
        )
    return state


def step_a(*records):
    """Return the history of step a after these records."""
    history = folded(*records).step("a")
    assert history is not None
    return history


def test_every_record_moves_the_state_on():
    """Revision and digest are those of the newest record, whatever its kind."""
    for record in RECORDS:
        state = folded(record)

        assert (state.revision, state.digest) == (0, "d0")


def test_a_record_that_decides_nothing_only_moves_the_state_on():
    """No step, claim or cost comes from it."""
    state = folded(Record())

    assert state == RunState(revision=0, digest="d0", newest_at=AT)


def test_a_claim_names_the_writer():
    """The newest claim holds, with its epoch and its time."""
    state = folded(CLAIM)
    other = changed(CLAIM, actor="another")
    state.apply(other, revision=1, digest="d1", epoch=2, at=LATER)

    assert (state.epoch, state.claim, state.claimed_at) == (2, other, LATER)


def test_an_intent_opens_an_attempt():
    """The step has an attempt without outcome, and counts it."""
    history = step_a(CLAIM, INTENT)

    assert history.first_revision == 1
    assert history.attempts == 1
    assert history.attempt.outcome is Outcome.OPEN
    assert history.attempt.by == "pid 100 on host-1"
    assert step_a(INTENT).attempt.by == ""
    assert history.facts(Claimant.GONE) == Facts(Outcome.OPEN, Claimant.GONE)


def test_an_intent_stores_ambient_values_and_modules():
    """The newest kept value of each name stands; one that was not kept does not."""
    lost = Ambient(version="v:k2", base="", cells=[("p", "t")], manifest=-1)
    newer = changed(INTENT, ambient={"k": lost}, modules={"pd": "pandas"})
    state = folded(INTENT, newer)

    assert state.ambient["k"].ambient.version == "v:k"
    assert state.ambient["k"].manifest == REF
    assert state.modules == {"np": "numpy", "pd": "pandas"}
    assert state.next_object == 3


def test_a_commit_counts():
    """The step is committed; its commit is found by name and by key."""
    state = folded(INTENT, COMMITTED)
    history = state.step("a")

    assert history.attempt.outcome is Outcome.COMMITTED
    assert history.commit().record == state.commit("a").record == COMMITTED
    assert (history.current, history.keys) == (1, {"key": 1})
    assert state.next_object == 5
    assert state.commit("b") is state.step("b") is None


def test_a_newer_commit_supersedes():
    """The former one stays to be found by its key."""
    newer = changed(COMMITTED, attempt="a-2", key="key2", commit_number=2)
    history = step_a(INTENT, COMMITTED, changed(INTENT, attempt="a-2"), newer)

    assert history.current == 3
    assert history.commit_number == 2
    assert history.keys == {"key": 1, "key2": 3}


def test_a_commit_of_another_attempt_leaves_the_newest_one_open():
    """Only the attempt that a record names gets an outcome."""
    other = changed(INTENT, attempt="a-2")
    history = step_a(INTENT, other, COMMITTED, FAILED)

    assert history.attempt.outcome is Outcome.OPEN


def test_an_attempt_that_failed_has_its_error():
    """The newest attempt is failed."""
    history = step_a(INTENT, FAILED)

    assert history.attempt.outcome is Outcome.FAILED
    assert history.attempt.failed == FAILED


def test_a_failure_of_a_step_without_intent_counts_only_its_cost():
    """Behind a damaged intent the outcome belongs to nobody."""
    state = folded(FAILED)

    assert state.steps == {}
    assert state.usage.wall_s == 1.0


def test_a_step_committed_behind_a_damaged_intent_is_committed():
    """The commit alone proves it."""
    history = step_a(COMMITTED)

    assert history.attempt is None
    assert history.facts(Claimant.GONE).outcome is Outcome.COMMITTED


def test_a_step_without_attempt_or_commit_is_new():
    """A rerun that was asked for before the first run makes no attempt."""
    history = step_a(changed(RESOLUTION, how=How.RERUN, attempt="", evidence=None))

    assert history.facts(Claimant.GONE).outcome is Outcome.NONE
    assert history.rerun is not None


def test_a_rerun_is_asked_for_until_the_next_commit():
    """The commit that follows fulfils it."""
    rerun = changed(RESOLUTION, how=How.RERUN, evidence=None)

    assert step_a(INTENT, COMMITTED, rerun).rerun == rerun
    assert step_a(INTENT, COMMITTED, rerun, COMMITTED).rerun is None


@pytest.mark.parametrize("how", [How.RETRY, How.ABANDON])
def test_a_resolution_settles_its_attempt(how):
    """It stands in the facts of the attempt."""
    resolution = changed(RESOLUTION, how=how, evidence=None)
    history = step_a(INTENT, resolution)

    assert history.facts(Claimant.GONE).resolution is how


def test_a_resolution_of_another_attempt_says_nothing():
    """A decision about an older attempt, or an unknown step, changes no state."""
    old = changed(RESOLUTION, attempt="a-0")

    assert step_a(INTENT, old).attempt.resolution is None
    assert folded(RESOLUTION).steps == {}


def test_evidence_commits_without_values():
    """The step counts as done; the names that it would have set are not kept."""
    intent = changed(INTENT, options=Options(effects=True))
    history = step_a(intent, RESOLUTION)
    commit = history.commit()

    assert history.attempt.outcome is Outcome.COMMITTED
    assert commit.by_evidence == RESOLUTION
    assert commit.record.outputs == {}
    assert list(commit.record.not_kept) == ["y"]
    assert commit.record.effects == ["it declared --effects"]
    assert commit.record.key == INTENT.key
    assert commit.record.commit_number == 1


def test_evidence_may_settle_a_step_that_declared_nothing():
    """What was settled that way is locked, whatever the header said."""
    bare = changed(RESOLUTION, evidence=None)

    assert step_a(INTENT, bare).commit().record.effects == ["settled by evidence"]


def test_an_older_commit_is_made_current():
    """The edit was undone: the former commit counts again."""
    newer = changed(COMMITTED, attempt="a-2", key="key2")
    back = changed(MADE_CURRENT, commit=0, renamed_from="")
    history = step_a(COMMITTED, newer, back)

    assert history.current == 0
    assert history.commit().record == COMMITTED


def test_a_renamed_step_keeps_its_history():
    """It is found under the new name only."""
    named = changed(COMMITTED, step="b")
    back = changed(MADE_CURRENT, commit=0)
    state = folded(named, back)

    assert list(state.steps) == ["a"]
    assert state.step("a").name == "a"
    assert state.commit("a").record == named


def test_renaming_what_is_not_there_changes_nothing():
    """A rename behind a damaged commit has nothing to carry over."""
    assert folded(MADE_CURRENT).steps == {}


def test_a_quarantined_record_is_no_longer_damaged():
    """It keeps its place, and is remembered as quarantined."""
    state = folded(CLAIM)
    state.skip(1, digest="bad")
    assert (state.damaged, state.revision, state.digest) == ([1], 1, "bad")

    state.apply(QUARANTINED, revision=2, digest="d2", epoch=1, at=AT)

    assert (state.damaged, state.quarantined) == ([], [1])


def test_a_migrated_run_goes_on_elsewhere_until_that_is_undone():
    """Which chain it is stands in the newest migration."""
    back = changed(MIGRATION, chain="")

    assert folded(CLAIM).moved_to == ""
    assert folded(CLAIM, MIGRATION).moved_to == MIGRATION.chain
    assert folded(CLAIM, MIGRATION, back).moved_to == ""


def test_each_attempt_is_settled_once():
    """A second resolution of the same attempt is no second recovery."""
    other = changed(RESOLUTION, attempt="another")

    assert folded(INTENT, other).settled == 0
    assert folded(INTENT, RESOLUTION, RESOLUTION).settled == 1


def test_usage_never_decreases():
    """Every record adds to what the run has cost, a failed one too."""
    state, costs = RunState(), []
    for revision, record in enumerate([INTENT, COMMITTED, INTENT, FAILED, *RECORDS]):
        state.apply(record, revision=revision, digest="d", epoch=1, at=AT)
        usage = state.usage
        costs.append((usage.attempts, usage.wall_s, usage.cpu_s, usage.bytes))

    for before, after in pairwise(costs):
        assert all(b <= a for b, a in zip(before, after, strict=True))
    assert costs[3] == (2, 3.0, 1.5, 20)


def test_a_declared_effect_is_a_doubt():
    """The intent's own options decide, not the header of today."""
    history = step_a(changed(INTENT, options=Options(effects=True)))

    assert history.attempt.doubt() == "it declared --effects"
    assert history.facts(Claimant.GONE).in_doubt
    assert not step_a(INTENT).facts(Claimant.GONE).in_doubt


SIGHTING = Sighting(what="starting the program curl", at=AT)


def noticed(*records, seen=(SIGHTING,)):
    """Return the history of step a, whose newest attempt was seen reaching out."""
    history = step_a(*records)
    history.attempt.seen = list(seen)
    return history


@pytest.mark.parametrize(
    ("options", "policy", "in_doubt"),
    [
        (Options(), Undeclared.EVIDENCE, True),
        (Options(), Undeclared.RERUN, False),
        (Options(pure=True), Undeclared.EVIDENCE, False),
        (Options(always=True), Undeclared.EVIDENCE, False),
        (Options(effects=True), Undeclared.RERUN, True),
        (Options(pure=True), Undeclared.REFUSE, False),
    ],
)
def test_an_attempt_that_was_seen_reaching_out_is_in_doubt(options, policy, in_doubt):
    """Unless its own intent or the policy says otherwise."""
    history = noticed(changed(INTENT, options=options))
    facts = history.facts(Claimant.GONE, undeclared=policy)

    assert facts.in_doubt is in_doubt
    state = State.AMBIGUOUS if in_doubt else State.INTERRUPTED
    assert state_of(facts) is state


def test_the_strict_policy_needs_no_evidence():
    """An undeclared attempt that was cut off is in doubt though nothing was seen."""
    history = step_a(INTENT)

    assert history.facts(Claimant.GONE, undeclared=Undeclared.REFUSE).in_doubt
    assert not history.facts(Claimant.GONE).in_doubt


def test_a_declaration_is_told_before_evidence():
    """What the author said comes first."""
    declared = changed(INTENT, options=Options(effects=True))

    assert noticed(declared).attempt.doubt() == "it declared --effects"
    assert noticed(INTENT).attempt.doubt() == "it was seen starting the program curl"


def test_a_failure_with_evidence_is_failed():
    """The failed record absorbs what was seen; the state is that of any failure."""
    history = step_a(INTENT, changed(FAILED, seen=[SIGHTING]))
    facts = history.facts(Claimant.GONE)

    assert history.attempt.seen == [SIGHTING]
    assert history.attempt.doubt()
    assert state_of(facts) is State.FAILED


def test_what_was_settled_by_evidence_keeps_what_was_seen():
    """The commit that a person's evidence makes names the sightings."""
    state = folded(INTENT)
    state.step("a").attempt.seen = [SIGHTING]
    state.apply(RESOLUTION, revision=1, digest="d1", epoch=1, at=AT)

    record = state.commit("a").record
    assert record.seen == [SIGHTING]
    assert record.effects == ["it was seen starting the program curl"]


def test_a_person_saw_the_failure_of_a_step_with_effects():
    """A recorded failure is FAILED, not in doubt, whatever was declared."""
    intent = changed(INTENT, options=Options(effects=True))
    facts = step_a(intent, FAILED).facts(Claimant.GONE)

    assert state_of(facts) is State.FAILED


def test_few_commits_stay_whole_and_the_current_one_always_does():
    """The folded state does not grow with the number of commits."""
    state = RunState()
    for n in range(KEPT_KEYS + 10):
        record = changed(COMMITTED, key=f"key{n}", commit_number=n + 1)
        state.apply(record, revision=n, digest="d", epoch=1, at=AT)
    history = state.step("a")

    assert sorted(history.commits) == list(range(70, 74))
    assert len(history.commits) == KEPT_COMMITS
    assert len(history.keys) == KEPT_KEYS
    assert "key9" not in history.keys
    assert history.keys["key10"] == 10


def test_a_key_that_comes_again_is_the_newest():
    """Of two commits with one key the later one is found."""
    state = folded(COMMITTED, changed(COMMITTED, key="key2"), COMMITTED)

    assert state.step("a").keys == {"key2": 1, "key": 2}
    assert list(state.step("a").keys) == ["key2", "key"]


def test_a_commit_that_is_current_no_more_is_found_whole_while_it_is_new():
    """Of an older one only the key stays: it is read from the chain."""
    history = StepHistory(name="a", first_revision=0, current=7)

    assert history.commit() is None


def test_outputs_of_a_commit_are_values_without_bytes():
    """A record names versions and objects, never values."""
    output = COMMITTED.outputs["y"]

    assert output == Output(version="v:2", object="o1", data=["o1"])


def test_evidence_settles_a_step_that_was_renamed():
    """What a person says of a step counts for it under the name that it has now."""
    state = RunState()
    settled = changed(RESOLUTION, step="b", attempt=INTENT.attempt)
    carried = changed(MADE_CURRENT, step="b", renamed_from="a", commit=-1)

    for revision, record in enumerate((INTENT, carried, settled)):
        state.apply(record, revision=revision, digest="", epoch=1, at=AT)

    assert list(state.steps) == ["b"]
    assert state.commit("b").by_evidence == settled
