"""What follows from records is compared with them, and written again on a word."""

import pytest
from unit.run.fakes import Lab, erase_by_hand

from nbresume.run.repairing import mendable
from nbresume.run.runs import choose_run

CELLS = {"a": "%%step a\nx = 1", "b": "%%step b\ny = x + 1"}


def ran():
    """Return a lab and a kernel that ran all cells."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go()
    return lab, k


def found(lab, k):
    """Return what differs from the records, as a command finds it."""
    journal = lab.inspect(k.run_id).journal
    return mendable(journal, lab.store().runs())


def key_of(lab, start, end):
    """Return the one key that begins and ends so."""
    keys = [one for one in lab.backend.files if one.startswith(start)]
    return next(one for one in sorted(keys) if one.endswith(end))


def test_where_all_is_well_nothing_is_found():
    """And looking writes nothing."""
    lab, k = ran()
    before = dict(lab.backend.files)

    assert found(lab, k) == []
    assert lab.backend.files == before


@pytest.mark.parametrize("change", [None, b"{}", b"not JSON"])
def test_a_group_is_shown_again(change):
    """Missing or damaged: it is what it was afterwards."""
    lab, k = ran()
    group = k.commits("a").manifest.group
    key = f"data.zarr/{k.run_id}/{group}/zarr.json"
    before = dict(lab.backend.files)
    if change is None:
        del lab.backend.files[key]
    else:
        lab.backend.files[key] = change

    (one,) = found(lab, k)
    assert "step a (commit 1)" in one.told
    one.mend()

    assert lab.backend.files == before
    assert found(lab, k) == []


def test_the_claim_is_repeated_again():
    """So that the run is found without reading its chain."""
    lab, k = ran()
    key = key_of(lab, "runs/", "0000000001")
    good = lab.backend.files[key]
    lab.backend.files[key] = good[:-5]

    (one,) = found(lab, k)
    one.mend()

    assert lab.backend.files[key] == good
    assert choose_run(lab.store().runs(), lab.world()) == k.run_id


def test_what_is_damaged_or_erased_is_not_shown():
    """Plain zarr reads a missing chunk as zeros."""
    lab, k = ran()
    erase_by_hand(k, "a")
    group = k.commits("b").manifest.group
    for part in ("zarr.json", "pack/c.0"):
        del lab.backend.files[f"data.zarr/{k.run_id}/{group}/{part}"]

    assert found(lab, k) == []
