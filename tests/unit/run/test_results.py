"""A result that cannot be kept is no reason to repeat its call."""

from unit.run.outside import PAY, effects_of, lab_of, raises

from nbresume.errors import Unavailable
from nbresume.model.states import State
from nbresume.run.verify import verify


def test_a_result_that_cannot_be_kept_is_done(remote):
    """The first time it is there; a replay says so and repeats nothing."""
    lab = lab_of(
        remote,
        pay="%%step pay\ndef call():\n    remote.charge(1)\n"
        "    return threading.main_thread()\nlock = effect('c', call)\nlater()",
    )
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    assert "its result cannot be kept" in k.last.text
    lab.tools["later"] = lambda: None
    k = lab.kernel()
    k.go()

    assert remote.ledger == [1]
    assert "is done and not repeated" in k.last.text


def test_a_full_disk_after_the_call_is_no_reason_to_repeat_it(remote):
    """What happened is recorded; only its result is lost."""
    lab = lab_of(remote, pay=PAY)
    lab.tools["later"] = raises(ValueError())
    charge = remote.charge

    def full(n):
        made = charge(n)
        lab.backend.fail_at("write", 1, Unavailable("nothing was written"))
        return made

    remote.charge = full
    k = lab.kernel()
    k.go()
    k.go()

    assert remote.ledger == [100]
    assert effects_of(k)["charge"].done.not_kept
    assert "is done and not repeated" in k.last.text


def test_an_outcome_that_cannot_be_recorded_leaves_it_open(remote):
    """The record itself failed: nobody can know later."""
    lab = lab_of(remote, pay=PAY)
    charge = remote.charge

    def broken(n):
        made = charge(n)
        lab.backend.fail_at("create", 1, Unavailable("the device failed"))
        return made

    remote.charge = broken
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.AMBIGUOUS
    assert remote.ledger == [100]


def test_a_damaged_result_is_never_a_reason_to_call(remote):
    """Its bytes are gone; the effect is done all the same."""
    lab = lab_of(remote, pay=PAY)
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    group = effects_of(k)["charge"].done.result.group
    for name in [name for name in lab.backend.files if f"{group}/pack/c" in name]:
        del lab.backend.files[name]
    k = lab.kernel()
    k.go()

    assert remote.ledger == [100]
    assert "is done and not repeated" in k.last.text
    assert verify(k.journal).problems
