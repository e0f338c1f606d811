"""A fork is all or nothing: killed, or without power, at each write.

There is no such run, or it is whole; the origin is as it was, and the next try works.
"""

import pytest
from unit.run.fakes import Killed, Lab

CELLS = {
    "a": "%%step a\nL = [1]",
    "p": "k = 3",
    "b": "%%step b\nL.append(k)",
    "c": "%%step c\nz = sum(L)",
}
WRITES = ("write", "seal", "create", "publish")
"""The operations of the store that change something."""


def ran():
    """Return a lab whose notebook was run, and the kernel."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go()
    return lab, k


def boundaries():
    """Return (operation, nth, late, whether the record is there) for each write."""
    lab, k = ran()
    begun = len(lab.backend.operations)
    k.fork("b")
    done = [name for name, _ in lab.backend.operations[begun:] if name in WRITES]
    record = done.index("create")
    return [
        (name, done[: at + 1].count(name), late, (at, late) >= (record, True))
        for at, name in enumerate(done)
        for late in (False, True)
    ]


BOUNDARIES = boundaries()


def test_every_write_is_a_boundary():
    """The payload, its metadata and folders, one record, its repetition."""
    operations = [name for name, _, late, _ in BOUNDARIES if not late]

    assert operations.count("create") == 1
    assert operations.count("write") == 1
    assert operations.count("publish") >= 1


@pytest.mark.parametrize("power", [False, True], ids=["killed", "no-power"])
@pytest.mark.parametrize(("operation", "nth", "late", "is_there"), BOUNDARIES)
def test_a_fork_that_is_cut_off_is_whole_or_not_there(
    operation, nth, late, is_there, power
):
    """Its one record decides; what it needs was durable before."""
    lab, k = ran()
    origin = k.run_id
    chain = {key: v for key, v in lab.backend.files.items() if origin in key}
    lab.backend.fail_at(operation, nth, Killed(), late=late)

    with pytest.raises(Killed):
        k.fork("b")
    k.kill()
    lab.backend.forget_faults()
    if power:
        lab.backend.lose_power()

    assert len(lab.store().runs().ids()) == 1 + is_there
    after = lab.kernel()
    assert (after.run_id != origin) == is_there
    assert after.go() == (["c"] if is_there else [])
    assert (after["L"], after["z"]) == ([1, 3], 4)
    kept = {key: v for key, v in lab.backend.files.items() if origin in key}
    if not power:
        assert {key: kept[key] for key in chain} == chain
    if not is_there:
        after.fork("b")
        assert after.go() == ["c"]
