"""After a crash: what reruns by itself, what is in doubt, and who settles it."""

import pytest
from unit.run.fakes import Lab

from nbresume.errors import ErrorKind, NbresumeError, RefusedError
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.recovery import Answer


def cut_off(header, *, below="%%step b\ny = 2"):
    """Return a lab whose step m was killed, and a fresh kernel on it."""
    lab = Lab(
        a="%%step a\nx = 1", m=f"{header}\nif armed():\n    die()\nz = x", b=below
    )
    arm = [True]
    lab.tools["armed"] = lambda: arm[0]
    k = lab.kernel()
    assert k.go() == ["a", "m"]
    assert k.last.how == "killed"
    arm[0] = False
    return lab, lab.kernel()


def kind_of(call):
    """Return the kind of the error that the call raises."""
    with pytest.raises(NbresumeError) as caught:
        call()
    return caught.value.kind


# -- plain steps ----------------------------------------------------------------


def test_an_interrupted_plain_step_reruns_by_itself():
    """The same inputs, and a record of which attempt is repeated."""
    _, k = cut_off("%%step m")
    cut = k.journal.state.step("m").attempt.intent.attempt
    assert k.state("m") is State.INTERRUPTED

    assert k.go() == ["m", "b"]

    intent = k.journal.state.step("m").attempt.intent
    assert intent.recovers == cut
    assert intent.unattended == 0
    assert k["z"] == 1


def test_a_step_that_the_crash_left_does_not_change_the_others():
    """What was committed before is replayed."""
    lab, k = cut_off("%%step m")
    k.go()

    assert lab.ledger == ["a", "m", "m", "b"]
    assert lab.kernel().go() == []


def test_an_interrupted_step_finds_the_plain_cells_values():
    """Ambient values were durable before the body."""
    lab = Lab(p="k = [1]", m="%%step m\nif armed():\n    die()\nz = k + [2]")
    arm = [True]
    lab.tools["armed"] = lambda: arm[0]
    lab.kernel().go()
    arm[0] = False
    k = lab.kernel()

    assert k.go("m") == ["m"]
    assert k["z"] == [1, 2]


def test_with_nobody_there_it_reruns_three_times():
    """Then it is refused until somebody looks."""
    lab = Lab(m="%%step m\ndie()")
    for n in range(4):
        k = lab.kernel(attended=False)
        assert k.go() == ["m"]
        assert k.journal.state.step("m").attempt.intent.unattended == n
    k = lab.kernel(attended=False)

    refused = k.run("m")

    assert refused.error.kind is ErrorKind.REFUSED
    assert "interrupted 4 times in a row with nobody there" in refused.text
    k.parts.recovery.resolve("m", Answer(How.RETRY, "the disk was full"))
    assert k.go() == ["m"]


def test_a_person_may_rerun_it_as_often_as_they_like():
    """Who is there has seen it."""
    lab = Lab(m="%%step m\ndie()")
    for _ in range(6):
        assert lab.kernel().go() == ["m"]


# -- steps in doubt -------------------------------------------------------------


def test_an_interrupted_step_with_effects_is_in_doubt():
    """The refusal has both words, what was in flight, since when, by whom, and how."""
    lab, k = cut_off("%%step m --effects")

    assert k.go() == []

    assert k.last.error.kind is ErrorKind.AMBIGUOUS
    for part in (
        "ambiguous (in doubt)",
        "it declared --effects",
        "Started 2026-11-05",
        "pid 100 on host-1",
        "%steps resolve m retry | evidence | abandon --because TEXT",
    ):
        assert part in k.last.text
    assert k.state("m") is State.AMBIGUOUS
    assert lab.ledger == ["a", "m"]


def test_it_stays_in_doubt_until_somebody_decides():
    """Neither time nor restarts change that."""
    lab, k = cut_off("%%step m --effects")
    before = dict(lab.backend.files)
    for _ in range(3):
        k = k.restart()
        k.go()
        assert k.state("m") is State.AMBIGUOUS

    assert lab.backend.files == before


def test_the_intents_declaration_counts_not_todays():
    """Taking ``--effects`` away after the crash does not relabel the attempt."""
    lab, k = cut_off("%%step m --effects")
    lab.edit(m="%%step m\nz = x")

    assert k.run("m").error.kind is ErrorKind.AMBIGUOUS


def test_a_declaration_typed_after_the_crash_does_not_count():
    """A step that declared nothing when it was killed reruns."""
    lab, k = cut_off("%%step m")
    lab.edit(m="%%step m --effects\nz = x")

    assert k.go() == ["m", "b"]


def test_a_new_name_settles_nothing():
    """The step stays in doubt, whatever its cell is called now."""
    lab, k = cut_off("%%step m --effects")
    lab.edit(m="%%step n --effects\nz = x")

    refused = k.run("m")

    assert refused.error.kind is ErrorKind.AMBIGUOUS
    assert "%steps resolve m" in refused.text
    k.parts.recovery.resolve("m", Answer(How.RETRY, "not sent"))
    assert k.go("m") == ["n"]


def test_a_new_name_for_a_new_step_is_a_persons_word():
    """``%steps rerun`` says that it is another step."""
    lab, k = cut_off("%%step m --effects")
    lab.edit(m="%%step n --effects\nz = x")
    k.parts.recovery.rerun("n", because="another letter")

    assert k.go("m") == ["n"]


def test_the_refusal_names_the_kernel_that_was_cut_off():
    """Also when another one has claimed the run since."""
    lab, k = cut_off("%%step m --effects")
    lab.edit(a="%%step a\nx = 5")
    k.go("a")
    assert k.journal.is_claimant

    assert "by pid 100 on host-1" in k.run("m").text


@pytest.mark.parametrize("below", ["%%step b\ny = 2", "%%step b\ny = x"])
def test_what_would_run_below_a_step_in_doubt_is_refused(below):
    """It could be built on something that never happened."""
    _, k = cut_off("%%step m --effects", below=below)

    assert k.go("a", "b") == []
    assert k.last.error.kind is ErrorKind.AMBIGUOUS
    assert "step m above it is ambiguous (in doubt)" in k.last.text


def test_a_stale_step_below_one_in_doubt_is_refused_and_a_valid_one_replays():
    """Committed unchanged steps replay; edited ones do not run."""
    lab = Lab(a="%%step a\nx = 1", m="%%step m --effects\ndie()", b="%%step b\ny = x")
    k = lab.kernel()
    k.go("a", "b")
    k.go("m")
    k = lab.kernel()

    assert k.run("b").how == "replayed"
    lab.edit(b="%%step b\ny = x + 1")
    assert k.run("b").error.kind is ErrorKind.AMBIGUOUS


def test_a_step_above_one_in_doubt_runs():
    """Only what stands below is held back."""
    lab, k = cut_off("%%step m --effects")
    lab.edit(a="%%step a\nx = 5")

    assert k.go("a") == ["a"]


def test_retry_lets_it_run_again_on_record():
    """The record says who decided and why, and what they were told."""
    _, k = cut_off("%%step m --effects")
    record = k.parts.recovery.resolve("m", Answer(How.RETRY, "the outbox is empty"))

    assert (record.actor, record.because) == ("someone", "the outbox is empty")
    assert record.acknowledged == [
        "it declared --effects",
        "how long it took is not known: it was cut off",
    ]
    assert k.go() == ["m", "b"]
    assert k.restart().go() == []


def test_evidence_commits_it_without_running():
    """Its names have no value, and a step that reads one is refused."""
    lab, k = cut_off("%%step m --effects", below="%%step b\ny = z")
    answer = Answer(
        How.EVIDENCE,
        "the mail was received",
        kind="receipt",
        reference="mail 7",
        names_not_kept=["z"],
    )
    k.parts.recovery.resolve("m", answer)

    assert k.run("m").how == "replayed"
    assert "by evidence of someone" in k.last.text
    assert "could not keep z" in k.last.text
    assert k.run("b").error.kind is ErrorKind.NOT_KEPT
    assert lab.ledger == ["a", "m"]
    evidence = k.journal.state.step("m").attempt.resolution.evidence
    assert (evidence.kind, evidence.reference) == ("receipt", "mail 7")
    k = k.restart()
    assert k.go() == []
    assert k.state("m") is State.COMMITTED


def test_what_was_settled_by_evidence_never_runs_again_unasked():
    """An edit is refused as for any committed step with effects."""
    lab, k = cut_off("%%step m --effects")
    k.parts.recovery.resolve("m", Answer(How.EVIDENCE, "seen"))
    lab.edit(m="%%step m --effects\nz = 5")

    assert k.run("m").error.kind is ErrorKind.LOCKED


def test_abandon_blocks_the_step_and_what_stands_below():
    """Until somebody says retry."""
    _, k = cut_off("%%step m --effects")
    k.parts.recovery.resolve("m", Answer(How.ABANDON, "we shall not send it"))
    assert k.state("m") is State.ABANDONED

    assert k.run("m").error.kind is ErrorKind.REFUSED
    assert "abandoned by someone" in k.last.text
    assert "above it is abandoned" in k.run("b").text
    assert k.step("m").reasons == ["we shall not send it"]
    k.parts.recovery.resolve("m", Answer(How.RETRY, "after all"))
    assert k.go() == ["m", "b"]


@pytest.mark.parametrize(
    ("header", "settings", "policy"),
    [
        ("%%step m --effects --retry", {}, "--retry"),
        ("%%step m --effects", {"retry": True}, "nbresume run --retry"),
    ],
)
def test_a_policy_decides_on_record(header, settings, policy):
    """The record names the policy instead of a person's reason."""
    lab, _ = cut_off(header)
    k = lab.kernel(**settings)

    assert k.go() == ["m", "b"]

    kinds = lab.records(k.run_id)
    assert kinds[-5:] == ["resolution", "intent", "committed", "intent", "committed"]
    assert f"the policy {policy} runs it again" in "\n".join(k.screen.said)
    trail = [
        link.envelope.payload
        for link in k.journal.envelopes()
        if link.envelope.kind == "nbresume.resolution"
    ]
    assert trail[0]["policy"] == policy
    assert trail[0]["how"] == "retry"


def test_a_policy_typed_after_the_crash_counts():
    """``--retry`` is the user's standing choice, and no code change."""
    lab, k = cut_off("%%step m --effects")
    lab.edit(m="%%step m --effects --retry\nif armed():\n    die()\nz = x")

    assert k.go() == ["m", "b"]


def test_a_failure_that_a_person_saw_may_run_again():
    """The traceback was on their screen."""
    lab = Lab(m="%%step m --effects\nif fails():\n    raise ValueError\nz = 1")
    fails = [True]
    lab.tools["fails"] = lambda: fails[0]
    k = lab.kernel()
    k.go()
    assert k.state("m") is State.FAILED
    fails[0] = False

    assert k.go() == ["m"]


def test_a_failure_that_nobody_saw_is_in_doubt():
    """A headless run refuses a failed step with effects, unless told to retry."""
    lab = Lab(m="%%step m --effects\nif fails():\n    raise ValueError\nz = 1")
    fails = [True]
    lab.tools["fails"] = lambda: fails[0]
    lab.kernel(attended=False).go()
    fails[0] = False
    k = lab.kernel(attended=False)

    assert k.run("m").error.kind is ErrorKind.AMBIGUOUS
    assert lab.kernel(attended=False, retry=True).go() == ["m"]


def test_a_failed_plain_step_runs_again_with_nobody_there():
    """A recorded exception of a step without effects is no doubt."""
    lab = Lab(m="%%step m\nif fails():\n    raise ValueError\nz = 1")
    fails = [True]
    lab.tools["fails"] = lambda: fails[0]
    lab.kernel(attended=False).go()
    fails[0] = False

    assert lab.kernel(attended=False).go() == ["m"]


def test_a_damaged_outcome_of_a_step_with_effects_is_undecided():
    """What the damaged record may have decided counts as undecided."""
    lab = Lab(m="%%step m --effects\nz = 1")
    k = lab.kernel()
    k.go()
    lab.backend.files[f"journal/{k.run_id}/{2:010d}.rec"] = b"{"
    k = k.restart()

    assert k.run("m").error.kind is ErrorKind.AMBIGUOUS
    assert lab.ledger == ["m"]


# -- who may settle what --------------------------------------------------------


def test_a_reason_is_needed():
    """A decision without a reason is not recorded."""
    lab, k = cut_off("%%step m --effects")
    before = dict(lab.backend.files)

    assert kind_of(lambda: k.parts.recovery.resolve("m", Answer(How.RETRY, "  "))) is (
        ErrorKind.REFUSED
    )
    assert lab.backend.files == before


def test_a_step_that_never_ran_cannot_be_settled():
    """There is nothing in doubt."""
    _, k = cut_off("%%step m --effects")

    for step in ("b", "nobody"):
        kind = kind_of(
            lambda s=step: k.parts.recovery.resolve(s, Answer(How.RETRY, "x"))
        )
        assert kind is ErrorKind.NOT_COMMITTED


def test_a_committed_step_cannot_be_settled():
    """The refusal says that rerun is the word."""
    _, k = cut_off("%%step m --effects")

    with pytest.raises(RefusedError, match="%steps rerun a --because"):
        k.parts.recovery.resolve("a", Answer(How.RETRY, "x"))


def test_another_process_may_settle_it():
    """The command line decides; the kernel that runs next applies it."""
    lab, k = cut_off("%%step m --effects")
    k.go()
    inspection = lab.inspect(k.run_id)
    inspection.recovery.resolve("m", Answer(How.RETRY, "checked"))

    assert k.go() == ["m", "b"]


def test_a_rename_needs_a_commit_and_a_free_name():
    """Nothing is overwritten."""
    _, k = cut_off("%%step m --effects")
    k.parts.recovery.resolve("m", Answer(How.EVIDENCE, "seen"))
    rename = k.parts.recovery.rename

    assert kind_of(lambda: rename("b", "c")) is ErrorKind.NOT_COMMITTED
    assert kind_of(lambda: rename("a", "m")) is ErrorKind.REFUSED
    assert kind_of(lambda: rename("a", "no name")) is ErrorKind.BAD_NAME


def test_the_state_of_an_unknown_step_is_new():
    """No history, no doubt."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()

    assert k.parts.recovery.state(None) is State.NEW
    assert k.state("a") is State.NEW


def test_a_committed_step_whose_rerun_was_cut_off_and_settled_is_committed():
    """After retry the former commit still counts until the step has run."""
    lab, k = cut_off("%%step m --effects")
    k.parts.recovery.resolve("m", Answer(How.RETRY, "checked"))
    k.go()
    lab.tools["armed"] = lambda: True
    lab.edit(m="%%step m --effects\nif armed():\n    die()\nz = 7")
    k = lab.kernel()
    k.parts.recovery.rerun("m", because="another letter")
    k.go("m")
    k = lab.kernel()
    assert k.state("m") is State.AMBIGUOUS
    k.parts.recovery.resolve("m", Answer(How.RETRY, "not sent"))

    assert k.parts.recovery.state(k.journal.state.step("m")) is State.COMMITTED


def test_deleting_the_cell_of_a_step_in_doubt_settles_nothing():
    """What would run below stays refused until somebody decides."""
    lab, k = cut_off("%%step m --effects")
    lab.delete("m")

    refused = k.run("b")

    assert refused.error.kind is ErrorKind.AMBIGUOUS
    k.parts.recovery.resolve("m", Answer(How.ABANDON, "not needed"))
    assert k.run("b").error.kind is ErrorKind.AMBIGUOUS
    k.parts.recovery.resolve("m", Answer(How.RETRY, "not sent"))
    assert k.go("b") == ["b"]


def test_a_step_that_is_being_run_is_not_unlocked():
    """The commit of that run would undo the decision without a word."""
    told = []
    lab = Lab(a="%%step a\nwork()")

    def work():
        other = lab.inspect(k.run_id)
        with pytest.raises(RefusedError, match="is running it") as refused:
            other.recovery.rerun("a", because="it was wrong")
        told.append(refused.value.remedy)

    lab.tools["work"] = work
    k = lab.kernel()
    k.go()

    assert told == ["Wait until its cell has ended, or interrupt it there."]
    assert k.step("a").state is State.COMMITTED
