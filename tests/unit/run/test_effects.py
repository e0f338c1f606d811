"""An effect is called once per authorised attempt, and replayed from its record."""

import asyncio

import pytest
from unit.run.fakes import Killed
from unit.run.outside import (
    PAY,
    Declined,
    Timeout,
    committed,
    cut_off,
    effects_of,
    lab_of,
    raises,
    records,
)

import nbresume
from nbresume.model.records import EffectDone, EffectOpened
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.recovery import Answer
from nbresume.run.verify import verify

# -- called once -----------------------------------------------------------------


def test_an_effect_is_on_record_before_and_after_its_call(remote):
    """The open record comes before the call, the outcome before the next line."""
    lab = lab_of(remote, pay=PAY)
    seen = []
    lab.tools["later"] = lambda: seen.append(lab.records(k.run_id))
    charge = remote.charge
    remote.charge = lambda n: (seen.append(lab.records(k.run_id)), charge(n))[1]
    k = lab.kernel()
    k.go()

    assert seen[0] == ["claim", "intent", "effect_opened"]
    assert seen[1] == ["claim", "intent", "effect_opened", "effect_done"]
    assert k.state("pay") is State.COMMITTED
    assert k["receipt"] == {"id": "ch_1", "amount": 100}


def test_a_later_line_that_failed_charges_nobody_twice(remote):
    """The cell is corrected and run again; the recorded result is replayed."""
    lab = lab_of(remote, pay=PAY)
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    assert k.state("pay") is State.FAILED
    lab.edit(pay=PAY.replace("later()", "total = receipt['amount'] * 2"))
    k.go()

    assert remote.ledger == [100]
    assert (k.state("pay"), k["total"]) == (State.COMMITTED, 200)


def test_a_crash_after_the_outcome_runs_again_by_itself(remote):
    """Nothing is open, so the step is interrupted, and its effect is replayed."""
    lab = lab_of(remote, pay=PAY)
    lab.tools["later"] = raises(Killed())
    k = lab.kernel()
    k.go()
    assert lab.kernel().state("pay") is State.INTERRUPTED
    lab.tools["later"] = lambda: None
    k = lab.kernel()
    k.go()

    assert remote.ledger == [100]
    assert k["receipt"] == {"id": "ch_1", "amount": 100}


def test_effects_are_numbered_and_keep_results_in_groups_of_their_own(remote):
    """Each result lies in ``<attempt>-effect-<n>``, published and verified."""
    lab = lab_of(
        remote,
        pay="%%step pay\nrows = [effect(f'c{n}', remote.charge, n) for n in range(3)]",
    )
    k = lab.kernel()
    k.go()
    attempt = k.commits("pay").attempt
    groups = [record["result"]["group"] for record in records(k, EffectDone)]

    assert groups == [f"{attempt}-effect-{n}" for n in (1, 2, 3)]
    assert all(k.journal.objects.is_published(group) for group in groups)
    report = verify(k.journal)
    assert (report.problems, report.payloads > 3) == ([], True)


def test_the_same_key_in_two_steps_is_two_effects(remote):
    """The step is a part of an effect's identity."""
    lab = lab_of(remote, pay=PAY, refund=PAY.replace("step pay", "step refund"))
    k = lab.kernel()
    k.go()

    assert remote.ledger == [100, 100]
    assert len(set(remote.keys)) == 2


def test_equal_calls_in_one_step_are_one_effect(remote):
    """The second one is replayed."""
    lab = lab_of(remote, pay=f"{PAY}\nagain = effect('charge', remote.charge, 100)")
    k = lab.kernel()
    k.go()

    assert remote.ledger == [100]
    assert k["again"] == k["receipt"]


def test_other_arguments_under_one_key_are_refused(remote):
    """A loop that forgets to number its keys is told so."""
    loop = "%%step pay\nfor n in (1, 2):\n    effect('charge', remote.charge, n)"
    lab = lab_of(remote, pay=loop)
    k = lab.kernel()
    k.go()

    assert remote.ledger == [1]
    assert "in a loop" in k.last.text.lower()
    assert k.state("pay") is State.FAILED


def test_a_key_with_spaces_is_quoted_in_what_to_type(remote):
    """The command that a message shows can be typed as it stands."""
    text = "%%step pay\nfor n in (1, 2):\n    effect('the big one', remote.charge, n)"
    k = lab_of(remote, pay=text).kernel()
    k.go()

    assert "%steps rerun pay --again 'the big one' --because TEXT" in k.last.text


def test_another_amount_in_a_later_attempt_is_refused(remote):
    """An edit of the arguments is no reason to charge again."""
    lab = lab_of(remote, pay=PAY)
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    lab.edit(pay=PAY.replace("100", "200"))
    k.go()

    assert remote.ledger == [100]
    assert "%steps rerun pay --again charge" in k.last.text


def test_an_argument_that_cannot_be_compared_counts_by_its_type(remote):
    """A thread, as a connection, is no reason to refuse the same call."""
    lab = lab_of(
        remote,
        pay="%%step pay --always\nlink = threading.main_thread()\n"
        "r = effect('c', lambda link: remote.charge(1), link)",
    )
    lab.kernel().go()
    k = lab.kernel()
    k.go()

    assert remote.ledger == [1]
    assert k["r"]["id"] == "ch_1"


def test_a_class_of_the_notebook_is_found_again(remote):
    """A replayed result is an instance of the class that the notebook has now."""
    lab = lab_of(
        remote,
        setup="class Receipt:\n    def __init__(self, n):\n        self.n = n",
        pay="%%step pay\nr = effect('c', Receipt, 7)\nlater()\n"
        "same = type(r) is Receipt",
    )
    lab.tools["later"] = raises(Killed())
    lab.kernel().go()
    lab.tools["later"] = lambda: None
    k = lab.kernel()
    k.go()

    assert (k["same"], k["r"].n) == (True, 7)


def test_an_always_step_replays_its_effects(remote):
    """It runs each time, and calls nothing a second time."""
    lab = lab_of(remote, pay=PAY.replace("pay\n", "pay --always\n", 1))
    for _ in range(3):
        lab.kernel().go()

    assert remote.ledger == [100]


# -- open ------------------------------------------------------------------------


def test_a_crash_inside_the_call_is_in_doubt(remote):
    """The step did not declare effects, and is refused all the same."""
    lab = cut_off(remote)
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.AMBIGUOUS
    assert k.last.how == "refused"
    assert "ambiguous (in doubt)" in k.last.text
    assert "'charge'" in k.last.text
    assert "--effect KEY" in k.last.text
    assert k.step("pay").open_effects == ["charge"]
    assert remote.ledger == [100]


def test_retry_calls_again_with_the_same_idempotency_key(remote):
    """The record of the retry says what was open, that of the call what it repeats."""
    lab = cut_off(remote)
    k = lab.kernel()
    record = k.parts.recovery.resolve("pay", Answer(How.RETRY, "no charge there"))
    k.go()

    assert record.acknowledged[0] == "the effect 'charge' is open"
    assert remote.ledger == [100, 100]
    assert len(set(remote.keys)) == 1
    first, second = records(k, EffectOpened)
    assert second["repeats"] == first["attempt"]
    assert k.state("pay") is State.COMMITTED


def test_a_retry_holds_for_one_attempt(remote):
    """Cut off again before the call, the step is in doubt again."""
    lab = cut_off(remote)
    k = lab.kernel()
    k.parts.recovery.resolve("pay", Answer(How.RETRY, "looked"))
    lab.edit(pay=PAY.replace("pay\n", "pay\nlater()\n", 1))
    k.namespace["__builtins__"]["later"] = raises(Killed())
    k.go()
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.AMBIGUOUS
    assert remote.ledger == [100]


def test_a_policy_calls_again_on_record(remote):
    """``--retry`` is a person's choice for all attempts."""
    lab = cut_off(remote)
    k = lab.kernel(retry=True)
    k.go()

    assert remote.ledger == [100, 100]
    assert k.state("pay") is State.COMMITTED


@pytest.mark.parametrize(
    "error", [Timeout(), SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError()]
)
def test_any_other_exception_leaves_it_open(remote, error):
    """A timeout, an exit and Ctrl-C say nothing about what happened outside."""
    lab = cut_off(remote, error=error)
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.AMBIGUOUS
    assert "in doubt" in k.last.text
    assert remote.ledger == [100]


def test_a_caught_exception_does_not_let_the_step_commit(remote):
    """The cell finished; the step is in doubt, and its reply says so."""
    remote.error = Timeout()
    lab = lab_of(
        remote,
        pay="%%step pay\ntry:\n    effect('charge', remote.charge, 1)\n"
        "except Timeout:\n    pass",
    )
    k = lab.kernel()
    k.go()

    assert k.last.how == "RAN"  # the lab's word for a finish that raised
    assert "was not committed" in k.last.text
    assert k.state("pay") is State.AMBIGUOUS
    assert lab.records(k.run_id)[-1] == "failed"


def test_an_open_effect_is_not_called_again_in_the_same_attempt(remote):
    """A loop that tries again after a timeout is refused."""
    remote.error = Timeout()
    lab = lab_of(
        remote,
        pay="%%step pay\nfor _ in range(3):\n    try:\n"
        "        effect('charge', remote.charge, 1)\n    except Timeout:\n        pass",
    )
    k = lab.kernel()
    k.go()

    assert remote.ledger == [1]
    assert "in doubt" in k.last.text


def test_a_retried_effect_that_is_called_no_more_does_not_block(remote):
    """The person has looked; the edited cell does without the call."""
    lab = cut_off(remote)
    k = lab.kernel()
    k.parts.recovery.resolve("pay", Answer(How.RETRY, "it did not happen"))
    lab.edit(pay="%%step pay\nreceipt = None")
    k.go()

    assert k.state("pay") is State.COMMITTED


# -- definite --------------------------------------------------------------------

DEFINITE = ".using(definite=Declined)"


def test_a_definite_exception_is_a_recorded_failure(remote):
    """Nothing happened, so it may be tried again, also with other arguments."""
    remote.refusal = Declined()
    lab = lab_of(remote, pay=PAY.replace("effect(", f"effect{DEFINITE}("))
    k = lab.kernel()
    k.go()
    assert k.state("pay") is State.FAILED
    assert records(k, EffectDone)[0]["error_type"] == "Declined"
    remote.refusal = None
    lab.edit(pay=PAY.replace("100", "50"))
    k.go()

    assert remote.ledger == [50]
    assert k.state("pay") is State.COMMITTED


def test_a_definite_exception_may_be_tried_again_at_once(remote):
    """A loop over a busy remote ends with one effect."""
    lab = lab_of(
        remote,
        pay="%%step pay\nfor _ in range(3):\n    try:\n"
        f"        r = effect{DEFINITE}('c', busy, 1)\n"
        "    except Declined:\n        pass",
    )
    tries = []

    def busy(n):
        tries.append(n)
        if len(tries) < 3:
            raise Declined
        return remote.charge(n)

    lab.tools["busy"] = busy
    k = lab.kernel()
    k.go()

    assert (len(tries), remote.ledger) == (3, [1])
    assert k.state("pay") is State.COMMITTED


def test_an_exception_that_is_not_definite_stays_open(remote):
    """Only the classes that were named prove that nothing happened."""
    lab = cut_off(remote, DEFINITE, Timeout())

    assert lab.kernel().state("pay") is State.AMBIGUOUS


# -- idempotent, ttl -------------------------------------------------------------

HOUR = ".using(idempotent=True, ttl=3600)"


def test_a_remote_that_honors_the_key_is_called_again(remote):
    """The step is no more than interrupted, and the key is the same."""
    lab = cut_off(remote, HOUR)
    lab.clock.advance(3599)
    k = lab.kernel()
    assert k.state("pay") is State.INTERRUPTED
    k.go()

    assert len(set(remote.keys)) == 1
    assert k.state("pay") is State.COMMITTED


def test_after_its_ttl_the_key_is_a_new_one_for_the_remote(remote):
    """What was safe an hour ago is in doubt now."""
    lab = cut_off(remote, HOUR)
    lab.clock.advance(3600)
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.AMBIGUOUS
    assert remote.ledger == [100]


def test_the_ttl_counts_from_the_first_call(remote):
    """A repetition does not make the remote remember longer."""
    lab = cut_off(remote, HOUR)
    lab.clock.advance(2000)
    remote.error = Killed()
    lab.kernel().go()
    lab.clock.advance(2000)
    k = lab.kernel()

    assert remote.ledger == [100, 100]
    assert k.state("pay") is State.AMBIGUOUS


def test_a_clock_that_was_set_back_ends_every_ttl(remote):
    """How much time has passed cannot be known: that is doubt."""
    lab = cut_off(remote, HOUR)
    lab.clock.advance(-1)
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.AMBIGUOUS
    assert remote.ledger == [100]


def test_a_clock_that_jumped_ahead_ends_a_ttl_too(remote):
    """A record from the future counts as a time that has passed."""
    lab = cut_off(remote, HOUR)
    lab.clock.advance(10**9)

    assert lab.kernel().state("pay") is State.AMBIGUOUS


def test_a_ttl_that_ends_during_the_attempt_is_seen_at_the_call(remote):
    """The step was let through, and its effect is refused."""
    lab = cut_off(remote, HOUR)
    text = PAY.replace("effect(", f"effect{HOUR}(").replace(
        "pay\n", "pay\nlater()\n", 1
    )
    lab.edit(pay=text)
    lab.tools["later"] = lambda: lab.clock.advance(4000)
    k = lab.kernel()
    k.go()

    assert remote.ledger == [100]
    assert "in doubt" in k.last.text


def test_idempotence_typed_later_does_not_count_for_the_past(remote):
    """A declaration counts for calls whose open record has it."""
    lab = cut_off(remote)
    lab.edit(pay=PAY.replace("effect(", f"effect{HOUR}("))
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.AMBIGUOUS
    assert remote.ledger == [100]


# -- lookup ----------------------------------------------------------------------

LOOK = ".using(lookup=find)"


@pytest.mark.parametrize(
    ("answer", "ledger", "receipt"),
    [
        (nbresume.effect.happened({"id": "found"}, reference="7"), [100], "found"),
        (nbresume.effect.absent(), [100, 100], "ch_2"),
    ],
)
def test_a_lookup_decides(remote, answer, ledger, receipt):
    """Its answer is on record as evidence, and the step goes on by itself."""
    asked = []
    lab = lab_of(remote, pay=PAY.replace("effect(", f"effect{LOOK}("))
    lab.tools["find"] = lambda key: asked.append((key, nbresume.idempotency_key()))
    remote.error = Killed()
    lab.kernel().go()
    remote.error = None
    lab.tools["find"] = lambda key: (
        asked.append((key, nbresume.idempotency_key())),
        answer,
    )[1]
    k = lab.kernel()
    assert k.state("pay") is State.INTERRUPTED
    k.go()

    assert asked == [("charge", remote.keys[0])]
    assert remote.ledger == ledger
    assert k["receipt"]["id"] == receipt
    assert k.state("pay") is State.COMMITTED


def looked_up(remote, find):
    """Return a lab that was cut off in an effect with this lookup."""
    lab = lab_of(remote, pay=PAY.replace("effect(", f"effect{LOOK}("))
    lab.tools["find"] = find
    remote.error = Killed()
    lab.kernel().go()
    remote.error = None
    return lab


def test_a_lookup_that_knows_nothing_lets_nothing_happen(remote):
    """It can be asked again; a person can decide meanwhile."""
    lab = looked_up(remote, lambda key: None)
    k = lab.kernel()
    k.go()
    assert "in doubt" in k.last.text
    assert remote.ledger == [100]
    k.parts.recovery.resolve("pay", Answer(How.RETRY, "looked by hand"))
    k.go()

    assert remote.ledger == [100, 100]
    assert k.state("pay") is State.COMMITTED


def test_a_lookup_that_answers_in_other_words_is_refused(remote):
    """An empty list is no evidence of anything."""
    lab = looked_up(remote, lambda key: [])
    k = lab.kernel()
    k.go()

    assert "effect.happened" in k.last.text
    assert k.step("pay").open_effects == ["charge"]
    assert remote.ledger == [100]


def test_an_async_lookup_of_a_plain_call_is_refused(remote):
    """Nobody would await it."""

    async def find(key):
        return nbresume.effect.absent()

    lab = looked_up(remote, find)
    k = lab.kernel()
    k.go()

    assert "it returned a coroutine" in k.last.text
    assert remote.ledger == [100]


def test_a_lookup_that_fails_lets_nothing_happen(remote):
    """The remote is down: the effect stays open."""
    lab = looked_up(remote, lambda key: raises(Timeout())())
    k = lab.kernel()
    k.go()

    assert isinstance(k.last.error, Timeout)
    assert k.step("pay").open_effects == ["charge"]
    assert remote.ledger == [100]


# -- two kernels -----------------------------------------------------------------


def test_a_fenced_kernel_calls_nothing(remote):
    """Its open record is refused, so the call is never made."""
    lab = lab_of(remote, pay=f"%%step pay\nlater()\n{PAY.partition(chr(10))[2]}")

    def taken_over():
        lab.tools["later"] = lambda: None
        lab.processes["process-100"] = True
        other = lab.kernel()
        other.parts.claims.ensure(other.session.order(), take_over=True)

    lab.tools["later"] = taken_over
    k = lab.kernel()
    k.go()

    assert k.last.how == "fenced"
    assert remote.ledger == []
    assert "effect_opened" not in lab.records(k.run_id)


def test_a_kernel_that_is_fenced_during_the_call_records_nothing(remote):
    """The other one sees the effect open, and the step in doubt."""
    lab = lab_of(remote, pay=PAY)
    charge, others = remote.charge, []

    def taken_over(n):
        made = charge(n)
        other = lab.kernel()
        other.parts.claims.ensure(other.session.order(), take_over=True)
        others.append(other)
        return made

    remote.charge = taken_over
    k = lab.kernel()
    k.go()
    other = others[0]
    other.go()

    assert k.last.how == "fenced"
    assert remote.ledger == [100]
    assert other.state("pay") is State.AMBIGUOUS
    assert other.last.how == "refused"


def test_a_step_settled_meanwhile_calls_nothing(remote):
    """Somebody decided about this very attempt from a terminal."""
    lab = lab_of(remote, pay=f"%%step pay\nlater()\n{PAY.partition(chr(10))[2]}")

    def settled():
        lab.processes["process-100"] = False
        inspected = lab.inspect(k.run_id)
        inspected.recovery.resolve("pay", Answer(How.ABANDON, "stop it"))

    lab.tools["later"] = settled
    k = lab.kernel()
    k.go()

    assert remote.ledger == []
    assert "it was settled as abandon" in k.last.text


# -- committed -------------------------------------------------------------------


def test_a_committed_step_with_effects_is_locked(remote):
    """An edit does not run it again."""
    lab, k = committed(remote)
    lab.edit(pay=PAY + "\nx = 1")
    k.go()

    assert k.last.how == "refused"
    assert "%steps rerun pay --because TEXT" in k.last.text
    assert k.commits("pay").effects == ["it made the effect 'charge'"]


def test_a_rerun_replays_recorded_effects(remote):
    """The person unlocked the step, not its effects."""
    lab, k = committed(remote)
    lab.edit(pay=PAY + "\nx = 1")
    k.parts.recovery.rerun("pay", because="a new column")
    k.go()

    assert remote.ledger == [100]
    assert k["x"] == 1
    assert k.commits("pay").commit_number == 2


@pytest.mark.parametrize("again", [["charge"], ["all"]])
def test_again_opens_a_new_generation(remote, again):
    """It is another effect with another idempotency key; a third run replays it."""
    _, k = committed(remote)
    k.parts.recovery.rerun("pay", because="the shop asked for it", again=again)
    k.go()
    k.parts.recovery.rerun("pay", because="once more")
    k.go()

    assert remote.ledger == [100, 100]
    assert len(set(remote.keys)) == 2
    assert effects_of(k)["charge"].generation == 1
    assert k["receipt"]["id"] == "ch_2"


def test_a_new_generation_may_have_other_arguments(remote):
    """It is a new call."""
    lab, k = committed(remote)
    lab.edit(pay=PAY.replace("100", "120"))
    k.parts.recovery.rerun("pay", because="the price was wrong", again=["charge"])
    k.go()

    assert remote.ledger == [100, 120]


def test_effects_of_a_failed_step_are_not_made_under_a_new_name(remote):
    """The cell was renamed: rename, or say that it is a new step."""
    lab = lab_of(remote, pay=PAY)
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    k.namespace["__builtins__"]["later"] = lambda: None
    lab.edit(pay=PAY.replace("step pay", "step charge_all"))
    k.go()
    assert k.last.how == "refused"
    assert "%steps rename pay charge_all" in k.last.text
    k.parts.recovery.rename("pay", "charge_all")
    k.go()

    assert remote.ledger == [100]
    assert k.state("charge_all") is State.COMMITTED


def test_a_new_step_in_the_same_cell_has_its_own_effects(remote):
    """A person said that it is one."""
    lab = lab_of(remote, pay=PAY)
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    k.namespace["__builtins__"]["later"] = lambda: None
    lab.edit(pay=PAY.replace("step pay", "step second"))
    k.parts.recovery.rerun("second", because="another invoice")
    k.go()

    assert remote.ledger == [100, 100]


def test_effects_survive_in_a_fold(remote):
    """Opening from a fold knows what opening from the first record knows."""
    cells = {f"s{n}": f"%%step s{n}\nx{n} = {n}" for n in range(60)}
    lab = lab_of(remote, pay=PAY, **cells)
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go("pay")
    k.go(*cells)
    assert k.journal.fold is not None
    k.namespace["__builtins__"]["later"] = lambda: None
    lab.tools["later"] = lambda: None
    k = lab.kernel()
    k.go("pay")

    assert remote.ledger == [100]
    assert k.state("pay") is State.COMMITTED
