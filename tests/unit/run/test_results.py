"""A result that cannot be kept is no reason to repeat its call."""

import numpy as np
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


def test_a_large_array_is_an_array_of_its_own(remote):
    """Plain zarr shows it under the effect's group; a replay gives an equal one."""
    lab = lab_of(
        remote,
        pay="%%step pay\nx = effect('load', make)\nlater()",
    )
    lab.tools["make"] = lambda: np.arange(200_000.0)
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    group = effects_of(k)["load"].done.result
    assert any(f"{group.group}/result/" in name for name in lab.backend.files)
    lab.tools |= {"later": lambda: None, "make": raises(ValueError())}
    k = lab.kernel()
    k.go()

    assert k.state("pay") is State.COMMITTED
    assert np.array_equal(k["x"], np.arange(200_000.0))
    assert k["x"].flags.writeable


def test_a_class_that_is_gone_is_named(remote):
    """The result needs it; the call is not repeated for that."""
    lab = lab_of(
        remote,
        setup="class Receipt:\n    pass",
        pay="%%step pay\nr = effect('c', Receipt)\nlater()",
    )
    lab.tools["later"] = raises(ValueError())
    k = lab.kernel()
    k.go()
    lab.edit(setup="x = 1", pay="%%step pay\nr = effect('c', dict)\nlater()")
    k = lab.kernel()
    k.go()

    assert "it needs Receipt" in k.last.text


def test_a_result_that_is_not_published_is_done(remote):
    """What plain zarr shows is derived: its failure is told and changes nothing."""
    lab = lab_of(remote, pay=PAY)
    charge = remote.charge

    def full(n):
        # the first two are the groups above
        lab.backend.fail_at("publish", 3, Unavailable("the disk is full"))
        return charge(n)

    remote.charge = full
    k = lab.kernel()
    k.go()

    assert "its zarr metadata was not written" in k.last.text
    assert k.state("pay") is State.COMMITTED
