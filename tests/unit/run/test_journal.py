"""The chain and its folded state: read, append, fold, damage, foreign stores."""

import msgspec
import pytest
from unit.run.fakes import KEY, Lab
from unit.run.samples import MADE_CURRENT, changed

from nbresume.errors import (
    ConflictError,
    ErrorKind,
    FencedError,
    NotTrusted,
    SchemaError,
    Unavailable,
)
from nbresume.model.codec import record_of
from nbresume.model.folded import RunState
from nbresume.model.records import Quarantined
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.recovery import Answer
from nbresume.store.trust import Trust


def record_key(k, revision):
    """Return the key of a record of the run."""
    return f"journal/{k.run_id}/{revision:010d}.rec"


def long_run(commits=18):
    """Return a lab whose chain is long enough to hold a fold."""
    lab = Lab(a="%%step a\nx = 0", b="%%step b\ny = 0")
    k = lab.kernel()
    k.go()
    for n in range(1, commits):
        lab.edit(a=f"%%step a\nx = {n}")
        k.go("a")
    return lab, k


def whole_chain(k):
    """Return the state that the chain folds to without any fold."""
    state = RunState()
    for link in k.journal.envelopes():
        state.apply(
            record_of(link.envelope),
            revision=link.revision,
            digest=link.digest,
            epoch=link.envelope.epoch,
            at=link.envelope.updated_at,
        )
    return state


def as_json(state):
    """Return the state as it would be stored."""
    return msgspec.to_builtins(state, str_keys=True)


# -- reading --------------------------------------------------------------------


def flushes_of_the_chain(lab):
    """Return how often the folder of the chain was flushed by a reader."""
    return sum(
        (operation, key.partition("/")[0]) == ("seal", "journal")
        for operation, key in lab.backend.operations
    )


def test_what_another_kernel_wrote_is_made_to_last_before_it_is_built_on():
    """Who wrote it may have been killed before its folder was flushed."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = x")
    lab.kernel().go("a")
    k = lab.kernel()
    before = flushes_of_the_chain(lab)

    assert k.run("a").how == "replayed"
    assert flushes_of_the_chain(lab) == before + 1
    k.go("a", "b", "b")
    assert flushes_of_the_chain(lab) == before + 1


# -- folds ----------------------------------------------------------------------


def test_a_reopened_run_reads_fold_and_tail():
    """It is equal to the whole chain, and only the tail is read."""
    lab, k = long_run()
    assert k.journal.fold is not None
    lab.backend.operations.clear()

    again = lab.kernel()

    read = [key for op, key in lab.backend.operations if op == "read"]
    records = [key for key in read if key.startswith("journal/")]
    assert len(records) < len(lab.records(k.run_id)) / 2
    assert as_json(again.journal.state) == as_json(whole_chain(k))
    assert again.go() == []
    assert again["x"] == 17


def test_folds_are_written_when_the_tail_outweighs_them():
    """A small tail makes none, a long run several."""
    _, k = long_run(3)
    assert k.journal.fold is None
    assert not k.journal.wants_fold()
    _, k = long_run(45)
    folds = {
        link.envelope.payload["fold"]["revision"]
        for link in k.journal.envelopes()
        if link.envelope.payload.get("fold")
    }

    assert len(folds) > 1
    assert max(folds) == k.journal.fold.revision


@pytest.mark.parametrize(("distance", "damaged"), [(-2, False), (2, True)])
def test_a_hole_in_the_chain_is_damage(distance, damaged):
    """Below the newest fold it is not even noticed; behind it, it is told."""
    lab, k = long_run()
    fold = k.journal.fold.revision
    for n in range(3):
        lab.edit(a=f"%%step a\nx = 'more {n}'")
        k.go("a")
    k.kill()
    assert k.journal.fold.revision == fold
    del lab.backend.files[record_key(k, fold + distance)]

    again = lab.kernel()

    assert again.journal.state.damaged == ([fold + distance] if damaged else [])
    assert again.go() == []


@pytest.mark.parametrize("how", ["truncated", "missing", "changed"])
def test_a_damaged_fold_is_passed_over(how):
    """The records are read on to an earlier fold or to the beginning."""
    lab, k = long_run()
    keys = [f for f in lab.backend.files if f"{k.journal.fold.group}/pack" in f]
    for key in keys:
        data = lab.backend.files[key]
        if how == "missing":
            del lab.backend.files[key]
        elif how == "truncated":
            lab.backend.files[key] = data[: len(data) // 2]
        else:
            lab.backend.files[key] = data[:-1] + b"\x00" if len(data) > 2 else data

    again = lab.kernel()

    assert again.journal.state.revision == k.journal.state.revision
    assert as_json(again.journal.state) == as_json(whole_chain(k))


class LaterState(RunState, kw_only=True):
    """The folded state of a release that knows more."""

    later: int = 1


def test_a_fold_of_another_release_is_passed_over():
    """What it knows is not dropped without a word: the records say it all."""
    lab, k = long_run()
    k.journal.state = LaterState(**msgspec.structs.asdict(k.journal.state))
    before = k.journal.fold.revision
    n = 100
    while k.journal.fold.revision == before:
        lab.edit(a=f"%%step a\nx = {n}")
        k.go("a")
        n += 1

    again = lab.kernel()

    assert b'"later":1' in k.journal.objects.read_slice(k.journal.fold)
    assert type(again.journal.state) is RunState
    assert as_json(again.journal.state) == as_json(whole_chain(k))


def test_a_record_behind_the_fold_that_is_damaged_is_skipped():
    """The tail's damage is told; the fold below it still serves."""
    lab, k = long_run()
    k.kill()
    last = k.journal.state.revision
    lab.backend.files[record_key(k, last)] = b"{"

    again = lab.kernel()

    assert again.journal.state.damaged == [last]
    assert again.state("a") is State.INTERRUPTED
    assert again.go("a", "b") == ["a"]


# -- damage ---------------------------------------------------------------------


def damaged_commit():
    """Return a lab whose second step's commit record is damaged."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = x", c="%%step c\nz = 1")
    k = lab.kernel()
    k.go()
    k.kill()
    key = record_key(k, 4)
    lab.backend.files[key] = lab.backend.files[key][:-40]
    return lab, k


def test_a_damaged_record_keeps_its_place_and_is_told():
    """What it may have decided is undecided; the chain goes on."""
    lab, _ = damaged_commit()
    k = lab.kernel()

    assert k.journal.state.damaged == [4]
    assert "record 4 of this run is damaged" in "\n".join(k.screen.said)
    assert k.state("b") is State.INTERRUPTED
    assert k.go() == ["b"]
    assert k["y"] == 1


def test_the_damage_is_told_once():
    """Reading again does not repeat it."""
    lab, _ = damaged_commit()
    k = lab.kernel()
    k.journal.refresh()
    k.journal.open()

    assert len(k.screen.said) == 1


def test_reading_a_damaged_run_changes_no_byte():
    """Only a claim writes about it."""
    lab, _ = damaged_commit()
    before = dict(lab.backend.files)
    k = lab.kernel()
    k.go("a")
    k.view()

    assert lab.backend.files == before


def test_the_next_claim_quarantines_what_is_damaged():
    """Once, with the digest of the bytes that were found."""
    lab, _ = damaged_commit()
    k = lab.kernel()
    k.go()
    kinds = lab.records(k.run_id)

    assert kinds[4] == "damaged"
    assert kinds[7:9] == ["claim", "quarantined"]
    assert k.journal.state.quarantined == [4]
    assert k.view().damaged == [4]
    again = lab.kernel()
    assert again.journal.state.damaged == []
    again.parts.claims.ensure(again.session.order())
    assert lab.records(k.run_id).count("quarantined") == 1
    assert again.go() == []


def test_a_missing_record_counts_as_damaged():
    """A hole in the chain is no end of it."""
    lab, old = damaged_commit()
    del lab.backend.files[record_key(old, 4)]

    k = lab.kernel()

    assert 4 in k.journal.state.damaged
    assert k.journal.state.revision == 6
    assert k.go() == ["b"]
    assert [link.revision for link in k.journal.envelopes()][4:5] == [4]
    assert lab.kernel().go() == []


def test_a_record_in_a_foreign_place_is_damaged():
    """Bytes of another revision do not pass for this one."""
    lab, old = damaged_commit()
    lab.backend.files[record_key(old, 4)] = lab.backend.files[record_key(old, 2)]

    assert lab.kernel().journal.state.damaged == [4]


def test_a_forged_record_is_damaged():
    """A changed byte breaks the signature, also when the JSON is whole."""
    lab, old = damaged_commit()
    key = record_key(old, 2)
    lab.backend.files[key] = lab.backend.files[key].replace(b'"x"', b'"w"')
    k = lab.kernel()

    assert 2 in k.journal.state.damaged
    assert k.state("a") is State.INTERRUPTED


def test_an_unknown_schema_is_refused_and_nothing_is_written():
    """A newer release's record is not guessed at."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    link = k.journal.envelopes()[-1]
    envelope = msgspec.structs.replace(
        link.envelope,
        revision=link.revision + 1,
        prev=link.digest,
        kind="nbresume.teleported",
        nonce="later",
        writer="nbresume 9.0",
    )
    lab.store().chain(k.run_id).append(envelope)
    before = dict(lab.backend.files)

    with pytest.raises(SchemaError, match=r"nbresume 9\.0"):
        lab.kernel()
    with pytest.raises(SchemaError):
        k.journal.refresh()
    assert lab.backend.files == before


# -- foreign stores -------------------------------------------------------------


def foreign_run(commits=2):
    """Return a lab whose store was written under another key, and its run."""
    lab, k = long_run(commits)
    k.kill()
    lab.trust = Trust(b"o" * 32)
    return lab, k.run_id


@pytest.mark.parametrize("commits", [2, 18])
def test_a_foreign_store_is_not_trusted(commits):
    """Nothing of it is used, and the remedy is named."""
    lab, _ = foreign_run(commits)
    before = dict(lab.backend.files)

    with pytest.raises(NotTrusted, match="nbresume trust"):
        lab.kernel()

    assert lab.backend.files == before


@pytest.mark.parametrize("commits", [2, 18])
def test_a_foreign_store_can_be_looked_at(commits):
    """Its decisions are listed, and the view says that it is not trusted."""
    lab, run_id = foreign_run(commits)

    inspection = lab.inspect(run_id)

    assert not inspection.trusted
    view = inspection.view()
    assert not view.trusted
    assert [step.name for step in view.steps] == ["a", "b"]
    assert all(step.locked for step in view.steps)


def test_a_pinned_foreign_store_is_used_and_goes_on():
    """Its head is accepted; what this user appends hangs on it."""
    lab, run_id = foreign_run()
    link = lab.store().read_chain(run_id)[-1]
    lab.trust = Trust(b"o" * 32, pins={(run_id, link.revision): link.digest})
    k = lab.kernel()

    assert k.go() == []
    lab.edit(a="%%step a\nx = 'mine'")
    assert k.go() == ["a"]
    assert lab.kernel().go() == []


def test_an_old_commit_of_a_pinned_store_is_made_current():
    """What the own records hang on is vouched for, however far back."""
    lab, run_id = foreign_run(8)
    link = lab.store().read_chain(run_id)[-1]
    lab.trust = Trust(b"o" * 32, pins={(run_id, link.revision): link.digest})
    lab.edit(a="%%step a\nx = 0")
    k = lab.kernel()

    assert k.go() == []
    assert k["x"] == 0
    k = lab.kernel()
    assert k.go() == []
    assert k["x"] == 0
    lab.trust = Trust(KEY)
    assert lab.inspect(run_id).view().steps[0].locked


# -- appending ------------------------------------------------------------------


def test_nobody_appends_without_a_claim():
    """A kernel that has not claimed is told so."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()

    with pytest.raises(FencedError, match=r"\(nobody\)"):
        k.journal.append(changed(MADE_CURRENT))


def test_a_decision_made_meanwhile_is_applied_before_the_append():
    """The command line may decide about another step while a kernel works."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ndecide()\ny = 1")
    lab.tools["decide"] = lambda: lab.inspect(k.run_id).recovery.rerun(
        "a", because="it was wrong"
    )
    k = lab.kernel()

    assert k.go() == ["a", "b"]
    assert lab.records(k.run_id)[-2:] == ["resolution", "committed"]
    assert k.journal.state.step("a").rerun is not None


def test_a_decision_about_this_very_attempt_stops_its_outcome():
    """What was settled meanwhile is not overwritten."""
    lab = Lab(a="%%step a --effects\ndecide()\nx = 1")

    def decide():
        lab.processes["process-100"] = False
        lab.inspect(k.run_id).recovery.resolve("a", Answer(How.ABANDON, "it hangs"))
        lab.processes["process-100"] = True

    lab.tools["decide"] = decide
    k = lab.kernel()
    k.go()

    assert "settled as abandon by someone" in k.last.text
    assert lab.records(k.run_id) == ["claim", "intent", "resolution"]
    assert k.state("a") is State.ABANDONED


def test_a_decision_lost_to_another_one_is_made_on_what_is_there():
    """Two people may decide at the same moment."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = 1")
    k = lab.kernel()
    k.go()
    one, two = lab.inspect(k.run_id), lab.inspect(k.run_id)
    one.recovery.rerun("a", because="one")
    two.journal.decide(changed(MADE_CURRENT, step="b", commit=4, renamed_from=""))

    assert lab.records(k.run_id)[-2:] == ["resolution", "made_current"]


def test_a_record_that_lost_to_a_decision_is_appended_behind_it():
    """Both are in the chain, each at a revision of its own."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    lab.inspect(k.run_id).recovery.rerun("a", because="it was wrong")

    revision = k.journal.append(changed(MADE_CURRENT, commit=2, renamed_from=""))

    assert revision == 4
    assert lab.records(k.run_id)[-2:] == ["resolution", "made_current"]


def test_a_claim_on_an_old_view_is_a_conflict():
    """It is never repeated by itself."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    other = lab.kernel()
    lab.edit(a="%%step a\nx = 2")
    k.go()

    with pytest.raises(ConflictError) as caught:
        other.journal.claim(k.journal.state.claim)

    assert caught.value.kind is ErrorKind.CONFLICT


def test_a_commit_of_a_made_current_record_that_is_damaged_stays_unknown():
    """The step counts as not committed then."""
    lab, k = long_run(8)
    lab.edit(a="%%step a\nx = 0")
    k.go("a")
    revision = k.journal.state.step("a").current
    lab.backend.files[record_key(k, revision)] = b"{"

    again = lab.kernel()

    assert again.journal.state.commit("a") is None
    assert again.journal.commit_at(revision) is None
    assert again.journal.commit_at(0) is None


def test_a_made_current_record_about_no_step_changes_nothing():
    """A decision about a step that a damaged record hid is passed over."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    k.journal.decide(changed(MADE_CURRENT, step="nobody", renamed_from=""))

    assert list(lab.kernel().journal.state.steps) == ["a"]


def test_the_envelopes_are_the_whole_chain():
    """An empty run has none."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    assert k.journal.envelopes() == []
    k.go()

    assert [link.revision for link in k.journal.envelopes()] == [0, 1, 2]


def test_quarantine_is_a_record_of_the_claimant():
    """It names the revision and what was found."""
    lab, _ = damaged_commit()
    k = lab.kernel()
    k.parts.claims.ensure(k.session.order())
    payload = k.journal.envelopes()[-1].envelope.payload

    assert payload["revision"] == 4
    assert len(payload["found_digest"]) == 64
    assert set(payload) == set(Quarantined.__struct_fields__)


# -- usage that the user's code reports -----------------------------------------


def test_the_next_record_carries_what_was_reported():
    """It costs no record of its own, and is counted once."""
    lab = Lab(a="%%step a\nused(tokens=5, cost=0.5)\nused(tokens=1, cost=0.0)")
    k = lab.kernel()
    k.namespace["__builtins__"]["used"] = k.journal.report
    k.go()
    k.go()

    assert lab.records(k.run_id) == ["claim", "intent", "committed"]
    usage = lab.kernel().view().usage
    assert (usage.tokens, usage.cost, usage.attempts) == (6, 0.5, 1)


def test_what_was_reported_waits_for_a_record_that_is_written():
    """A commit that failed has carried nothing; the next one does."""
    lab = Lab(a="%%step a\nused()\nx = 1")
    lab.tools["used"] = lambda: k.journal.report(tokens=5, cost=0.0)
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\nused()\nx = 2\nbreak_store()")
    lab.tools |= {
        "break_store": lambda: lab.backend.fail_at("create", 1, Unavailable("broken"))
    }
    k.namespace["__builtins__"] |= lab.tools
    assert k.run("a").how == "RAN"
    assert k.view().usage.tokens == 5
    k.session.stepper.commit_again("a")

    assert k.view().usage.tokens == 10
