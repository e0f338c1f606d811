"""Two kernels: who may run a step, who is told, who is fenced."""

import pytest
from unit.run.fakes import Lab

from nbresume.errors import ErrorKind, TakenRun
from nbresume.model.states import Claimant, State
from nbresume.model.values import How
from nbresume.run.claims import Offer
from nbresume.run.recovery import Answer


def lab_of_two():
    """Return a lab and two kernels; the first one has run step a."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = x", c="%%step c\nz = y")
    one = lab.kernel()
    one.go("a")
    return lab, one, lab.kernel()


def open_step(lab, kernel, step):
    """Let the kernel run a step whose body is still running while the test looks."""
    lab.tools["look"] = lambda: None
    source = lab.notebook.sources[step]

    def during(look):
        kernel.namespace["__builtins__"]["look"] = look
        lab.edit(**{step: source + "\nlook()"})
        return kernel.run(step)

    return during


# -- what is offered ------------------------------------------------------------


def test_a_run_that_nobody_claimed_is_free():
    """The first intent claims it."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    assert k.parts.claims.offer() is Offer.FREE
    assert k.parts.claims.is_alive() is False
    k.go()

    assert k.parts.claims.offer() is Offer.MINE
    assert lab.records(k.run_id).count("claim") == 1


def test_a_dead_kernels_run_is_free():
    """It is taken without a word: there is nobody to disturb."""
    _, one, two = lab_of_two()
    one.kill()

    assert two.parts.claims.offer() is Offer.FREE
    assert two.go("a", "b") == ["b"]
    assert not any("takes the run over" in line for line in two.screen.said)


def test_an_idle_kernels_run_is_taken_with_a_notice():
    """The notice says from whom."""
    _, _, two = lab_of_two()
    assert two.parts.claims.offer() is Offer.IDLE

    assert two.go("a", "b") == ["b"]

    assert "takes the run over from another kernel (pid 100 on host-1)" in "\n".join(
        two.screen.said
    )
    assert two.journal.state.epoch == 2


def test_a_busy_kernels_run_is_refused():
    """The refusal says what it runs and how to take over."""
    lab, one, two = lab_of_two()
    during = open_step(lab, one, "b")
    seen = []

    def look():
        two.journal.refresh()
        seen.append((two.parts.claims.offer(), two.run("c", "%%step c\nz = 1")))

    during(look)

    offer, refused = seen[0]
    assert offer is Offer.BUSY
    assert refused.error.kind is ErrorKind.TAKEN_RUN
    assert "is running step b" in refused.text
    assert "%steps resume --take-over" in refused.text
    assert lab.ledger == ["a", "b"]


def test_the_step_that_another_kernel_runs_is_refused():
    """It is neither interrupted nor in doubt: it is running."""
    lab, one, two = lab_of_two()
    during = open_step(lab, one, "b")
    seen = []

    def look():
        two.journal.refresh()
        seen.append((two.state("b"), two.go("a", "b"), two.last))

    during(look)

    state, ran, refused = seen[0]
    assert state is State.RUNNING
    assert ran == []
    assert refused.error.kind is ErrorKind.TAKEN_RUN
    assert "(pid 100 on host-1) is running it" in refused.text


def test_a_kernel_that_cannot_be_asked_is_not_robbed():
    """Unknown is refused: it may be alive on another machine."""
    lab, _, two = lab_of_two()
    lab.processes["process-100"] = None

    assert two.parts.claims.offer() is Offer.UNKNOWN
    assert two.go("a", "b") == []
    assert two.last.error.kind is ErrorKind.TAKEN_RUN
    assert "cannot be asked from here" in two.last.text
    two.parts.claims.ensure(two.session.order(), take_over=True)
    assert two.go("b") == ["b"]
    assert two.journal.state.claim.took_over


def test_a_kernel_that_was_given_up_is_fenced():
    """A job that was told so takes the run, on record, from whoever holds it then."""
    lab, _, two = lab_of_two()
    lab.processes["process-100"] = None
    two.parts.claims.give_up_holder()

    assert two.parts.claims.offer() is Offer.FREE
    assert two.go("a", "b") == ["b"]
    assert two.journal.state.claim.took_over
    assert "takes the run over from another kernel (pid 100" in two.last.text


def test_who_takes_the_run_later_is_not_given_up():
    """A job that lost the run to another one does not take it back by itself."""
    lab, _, two = lab_of_two()
    two.parts.claims.give_up_holder()
    two.go("b")
    three = lab.kernel()
    three.parts.claims.ensure(three.session.order(), take_over=True)
    lab.processes["process-102"] = None

    assert two.go("c") == []
    assert two.last.error.kind is ErrorKind.TAKEN_RUN


def test_a_dead_kernel_that_was_given_up_was_not_robbed():
    """The record says that somebody took over only if there was somebody."""
    lab, _, two = lab_of_two()
    lab.processes["process-100"] = False
    two.parts.claims.give_up_holder()

    assert two.go("b") == ["b"]
    assert not two.journal.state.claim.took_over


def test_reading_and_replaying_need_no_claim():
    """A second kernel looks and replays; not a byte is written."""
    lab, _, two = lab_of_two()
    before = dict(lab.backend.files)

    assert two.go("a") == []
    two.view()
    two.resume()

    assert lab.backend.files == before
    assert not two.journal.is_claimant


def test_a_step_that_the_other_kernel_committed_replays_with_a_word():
    """It may be newer than what this kernel holds."""
    _, _, two = lab_of_two()

    two.go("a")

    assert "by another kernel: it may be newer" in "\n".join(two.screen.said)
    assert two["x"] == 1


def test_a_claimant_sees_its_running_attempt_and_others_that_are_gone():
    """An attempt of an earlier epoch belongs to a fenced kernel."""
    _, one, two = lab_of_two()
    old = one.journal.state.step("a").attempt
    assert one.parts.claims.claimant_of(old) is Claimant.ALIVE
    two.go("a", "b")

    assert two.parts.claims.claimant_of(old) is Claimant.GONE


# -- fencing --------------------------------------------------------------------


def test_an_old_writer_is_fenced_at_its_next_append():
    """It is told, writes nothing more, and its body's result is not committed."""
    lab, one, two = lab_of_two()
    during = open_step(lab, one, "b")

    def look():
        two.journal.refresh()
        two.parts.claims.ensure(two.session.order(), take_over=True)

    outcome = during(look)

    assert outcome.how == "fenced"
    assert "fenced" in str(outcome.error)
    assert "pid 101 on host-1" in str(outcome.error)
    assert lab.records(one.run_id) == [
        "claim",
        "intent",
        "committed",
        "intent",
        "claim",
    ]
    lab.edit(b="%%step b\ny = x")
    assert two.go("a", "b") == ["b"]


def test_an_idle_kernel_that_lost_the_run_unawares_may_take_it_back():
    """Nothing of it was cut off: it is any other kernel to the new owner."""
    _, one, two = lab_of_two()
    two.go("a", "b")

    assert one.go("c") == ["c"]
    assert one.journal.state.epoch == 3


def test_fenced_is_final_until_a_person_takes_over():
    """A kernel that was told so does not fight for the run."""
    lab, one, two = lab_of_two()
    during = open_step(lab, one, "b")

    def look():
        two.journal.refresh()
        two.parts.claims.ensure(two.session.order(), take_over=True)

    during(look)
    lab.edit(b="%%step b\ny = x")

    refused = one.run("b")

    assert one.parts.claims.offer() is Offer.FENCED
    assert refused.error.kind is ErrorKind.TAKEN_RUN
    assert "fenced: another kernel (pid 101 on host-1)" in refused.text
    one.parts.claims.ensure(one.session.order(), take_over=True)
    assert one.go("b") == ["b"]
    assert one.journal.state.epoch == 3


def test_a_fenced_kernel_goes_on_when_the_other_one_is_dead():
    """There is nobody left to disturb."""
    lab, one, two = lab_of_two()
    during = open_step(lab, one, "b")

    def look():
        two.journal.refresh()
        two.parts.claims.ensure(two.session.order(), take_over=True)

    during(look)
    lab.edit(b="%%step b\ny = x")
    two.kill()

    assert one.go("b") == ["b"]


def test_a_failure_of_a_fenced_kernel_is_not_recorded():
    """It changes nothing that a reader can see."""
    lab, one, two = lab_of_two()
    during = open_step(lab, one, "b")

    def look():
        two.journal.refresh()
        two.parts.claims.ensure(two.session.order(), take_over=True)
        raise ValueError

    assert during(look).how == "fenced"
    assert lab.records(one.run_id)[-1] == "claim"


def test_a_step_of_a_kernel_that_was_taken_over_was_interrupted():
    """It reruns in the new one, which records what it repeats."""
    lab, one, two = lab_of_two()
    during = open_step(lab, one, "b")

    def look():
        two.journal.refresh()
        two.parts.claims.ensure(two.session.order(), take_over=True)
        assert two.state("b") is State.INTERRUPTED

    during(look)
    lab.edit(b="%%step b\ny = x")
    two.go("a", "b")

    assert two.journal.state.step("b").attempt.intent.recovers


def test_a_lost_race_for_the_claim_is_refused():
    """Of two kernels that claim at once one wins; the other decides anew."""
    lab, one, two = lab_of_two()
    one.kill()
    three = lab.kernel()
    three.journal.refresh()
    two.parts.claims.ensure(two.session.order())

    with pytest.raises(TakenRun, match="at the same moment") as caught:
        three.parts.claims.ensure(three.session.order())

    assert "Run the cell again" in caught.value.remedy
    assert not three.journal.is_claimant
    assert three.journal.state.epoch == 2


def test_a_claim_names_the_notebook_and_its_steps():
    """So that a run is found again, and a difference is shown."""
    lab, one, _ = lab_of_two()
    claim = one.journal.state.claim

    assert claim.workflow == "main.ipynb"
    assert claim.cells == ["a", "b", "c"]
    assert (claim.actor, claim.took_over) == ("someone", False)
    lab.edit(d="%%step d\nw = 1")
    two = lab.kernel()
    two.parts.claims.ensure(two.session.order())
    assert two.journal.state.claim.definition_digest != claim.definition_digest


def test_a_claim_is_repeated_where_runs_are_found():
    """And again after each claim, so that finding a run reads no chain."""
    lab, one, two = lab_of_two()
    two.parts.claims.ensure(two.session.order())

    assert lab.backend.names(f"runs/{one.run_id}") == ["0000000001", "0000000002"]


def test_a_settled_attempt_is_nothing_that_runs():
    """Who was told to retry does not wait for the dead attempt."""
    lab, one, two = lab_of_two()
    during = open_step(lab, one, "b")
    seen = []

    def look():
        three = lab.inspect(one.run_id)
        lab.processes["process-100"] = False
        three.recovery.resolve("b", Answer(How.RETRY, "it hangs"))
        lab.processes["process-100"] = True
        two.journal.refresh()
        seen.append(two.parts.claims.offer())

    outcome = during(look)

    assert seen == [Offer.IDLE]
    assert outcome.how == "RAN"
    assert "settled as retry by someone" in outcome.text
