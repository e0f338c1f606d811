"""Evidence settles one open effect; only what is on record is made anew."""

import threading

import pytest
from unit.run.fakes import Lab
from unit.run.outside import PAY, Remote, committed, cut_off, lab_of

import nbresume
from nbresume.errors import RefusedError
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.recovery import Answer
from nbresume.run.verify import verify


def test_evidence_for_the_effect_gives_its_result(remote):
    """The step runs again by itself and finds the result that the person gave."""
    lab = cut_off(remote)
    k = lab.kernel()
    answer = Answer(
        How.EVIDENCE,
        "seen in the books",
        kind="receipt",
        reference="ch_1",
        effect="charge",
        result=({"id": "ch_1"},),
    )
    k.parts.recovery.resolve("pay", answer)
    assert k.state("pay") is State.INTERRUPTED
    k.go()

    assert remote.ledger == [100]
    assert k["receipt"] == {"id": "ch_1"}
    assert verify(k.journal).problems == []


def test_evidence_without_a_result_is_told_on_replay(remote):
    """It happened and is not repeated, but there is no value to go on with."""
    lab = cut_off(remote)
    k = lab.kernel()
    k.parts.recovery.resolve("pay", Answer(How.EVIDENCE, "seen", effect="charge"))
    k.go()

    assert remote.ledger == [100]
    assert "is done and not repeated" in k.last.text
    assert "which gave no result" in k.last.text


def test_evidence_that_it_returned_nothing_is_a_result(remote):
    """None is what many calls return."""
    lab = cut_off(remote)
    k = lab.kernel()
    answer = Answer(How.EVIDENCE, "seen", effect="charge", result=(None,))
    k.parts.recovery.resolve("pay", answer)
    k.go()

    assert k["receipt"] is None
    assert k.state("pay") is State.COMMITTED


def test_evidence_for_the_step_settles_its_effects(remote):
    """The step counts as committed; nothing of it is open any more."""
    lab = cut_off(remote)
    k = lab.kernel()
    k.parts.recovery.resolve("pay", Answer(How.EVIDENCE, "all done"))
    k.go()

    assert k.step("pay").open_effects == []
    assert k.last.how == "replayed"
    assert remote.ledger == [100]


def test_abandon_blocks_the_step(remote):
    """It does not run until somebody says retry."""
    lab = cut_off(remote)
    k = lab.kernel()
    k.parts.recovery.resolve("pay", Answer(How.ABANDON, "too late"))
    k.go()

    assert k.last.how == "refused"
    assert k.state("pay") is State.ABANDONED
    assert remote.ledger == [100]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(How.RETRY, "x", effect="charge"), "of a whole step"),
        (Answer(How.EVIDENCE, "x", effect="other"), "it is not open"),
        (Answer(How.EVIDENCE, "", effect="charge"), "has to say why"),
        (
            Answer(
                How.EVIDENCE, "x", effect="charge", result=(threading.main_thread(),)
            ),
            "cannot be kept",
        ),
    ],
)
def test_what_settles_nothing_is_refused(remote, answer, said):
    """A decision about an effect is about one that is open, and says why."""
    k = cut_off(remote).kernel()

    with pytest.raises(nbresume.NbresumeError, match=said):
        k.parts.recovery.resolve("pay", answer)


def test_only_what_is_on_record_is_made_again(remote):
    """A misspelled key is refused, and so is what is open."""
    _, k = committed(remote)
    with pytest.raises(nbresume.NbresumeError, match="no such effect is on record"):
        k.parts.recovery.rerun("pay", because="x", again=["chrage"])
    k = cut_off(Remote()).kernel()

    with pytest.raises(nbresume.NbresumeError, match="its outcome is unknown"):
        k.parts.recovery.rerun("pay", because="x", again=["all"])


def test_an_effect_of_a_running_step_is_not_settled(remote):
    """Its call may still come back."""
    lab = lab_of(remote, pay=PAY)
    told = []

    def settled(n):
        other = lab.kernel()
        answer = Answer(How.EVIDENCE, "seen", effect="charge")
        with pytest.raises(nbresume.NbresumeError) as refused:
            other.parts.recovery.resolve("pay", answer)
        told.append(str(refused.value))

    remote.charge = settled
    k = lab.kernel()
    k.go()

    assert "step pay is RUNNING" in told[0]
    assert k.state("pay") is State.COMMITTED


def test_evidence_for_the_step_gives_its_values():
    """They are bound as if the step had run, here and in every kernel after it."""
    lab = Lab(
        m="%%step m --effects\ndie()\nreceipt, count, odd = [], 1, [2]",
        b="%%step b\nshown = [receipt, count]",
        c="%%step c\nboth = receipt + [odd]",
    )
    lab.kernel().go()
    k = lab.kernel()
    values = {"receipt": ["ch_1", 17], "count": 3}
    answer = Answer(How.EVIDENCE, "seen", names_not_kept=["odd"], values=values)
    record = k.parts.recovery.resolve("m", answer)
    assert record.outputs.keys() == values.keys()

    for restarted in (False, True):
        kernel = k.restart() if restarted else k
        assert kernel.run("m").how == "replayed"
        # what was given is there for plain zarr at once: nothing has to be mended
        assert "zarr metadata" not in " ".join(kernel.screen.said)
        assert kernel.run("b").how in ("ran", "replayed")
        kernel.parts.live.load_all(kernel.parts.live.pending)
        assert kernel["shown"] == [["ch_1", 17], 3]
        assert kernel["shown"][0] is kernel["receipt"]
        assert "odd has no value" in str(kernel.run("c").error)
    assert verify(kernel.journal).problems == []


def test_a_given_value_that_cannot_be_kept_settles_nothing():
    """The step stays in doubt, and the chain as it was."""
    lab = Lab(m="%%step m --effects\ndie()\nreceipt = 1")
    lab.kernel().go()
    k = lab.kernel()
    before = k.journal.state.revision
    answer = Answer(How.EVIDENCE, "seen", values={"receipt": threading.Thread()})
    with pytest.raises(RefusedError, match="receipt"):
        k.parts.recovery.resolve("m", answer)
    assert k.journal.state.revision == before
    assert k.state("m") is State.AMBIGUOUS
