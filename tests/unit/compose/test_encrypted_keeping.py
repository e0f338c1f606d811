"""Erasing, collecting, verifying, repairing in an encrypted store: as in any other."""

import secrets

import pytest
from unit.compose.shelves import CELLS, shelf

from nbresume.compose.keeping import plan_collection, plan_erasure
from nbresume.compose.rotating import rotate
from nbresume.compose.stores import open_journal
from nbresume.errors import NotTrusted, SealedError
from nbresume.model.states import State
from nbresume.model.values import Erased
from nbresume.run.erasing import Target
from nbresume.run.repairing import mendable
from nbresume.run.retention import Rules

DAY_S = 24 * 3600
KEPT = ("keys/", "vouched/", "store.json")


@pytest.fixture
def mine(tmp_path):
    """Return a folder whose store has a changed array, and a key that was changed."""
    found = shelf(tmp_path, encrypt=True)
    found.k = found.ran()
    found.lab.edit(a=CELLS["a"] + "\nx[0] = 5")
    found.k.go()
    found.k.kill()
    file = found.place.key_file
    file.write_text(f"{secrets.token_hex(32)}\n{file.read_text()}")
    rotate(found.open(), finish=True)
    file.write_text(file.read_text().split()[0])
    found.open()
    # the disk dates what it keeps by its own clock
    found.lab.clock.jump(10_000 * DAY_S)
    return found


def of_the_store(mine):
    """Return what belongs to no run."""
    return {k: v for k, v in mine.files().items() if k.startswith(KEPT)}


def test_a_value_is_erased(mine):
    """Its files are gone; what opens the others and vouches for records is not."""
    before = of_the_store(mine)
    target = Target(Erased.STEP, mine.k.run_id, step="a")
    world = mine.lab.world(alive=False)

    planned = plan_erasure(mine.open(), target, world)
    freed = planned.eraser.erase(planned.erasure, because="asked for")

    assert freed == planned.erasure.size_bytes > 0
    assert not [k for k in mine.files() if k.startswith("data.zarr/") and "/o" in k]
    assert of_the_store(mine) == before
    assert {k.partition("/")[0] for k in before} == {"keys", "vouched", "store.json"}
    assert mine.problems(mine.k.run_id) == []
    k = mine.lab.kernel(run_id=mine.k.run_id)
    assert k.state("a") is State.ERASED
    assert k.go()[0] == "a"
    assert mine.problems(mine.k.run_id) == []


def test_what_no_step_needs_is_collected(mine):
    """No file is another one's link: each gives back what it takes."""
    before = of_the_store(mine)
    payloads = mine.files("data.zarr")
    world = mine.lab.world(alive=False)

    planned = plan_collection(mine.open(), world, Rules(count=1))
    told = sum(one.size_bytes for one in planned.going)
    freed = planned.collect()

    assert freed == told > 10_000
    assert len(mine.files("data.zarr")) < len(payloads)
    assert of_the_store(mine) == before
    assert mine.problems(mine.k.run_id) == []
    k = mine.lab.kernel(run_id=mine.k.run_id)
    assert k.go() == []
    assert k["y"] == 7.0


def test_what_zarr_is_told_is_written_again(mine):
    """With the codec that opens it."""
    before = mine.files("data.zarr")
    root = mine.folder / "store" / "data.zarr" / mine.k.run_id
    for name in ("zarr.json", "pack/zarr.json"):
        for path in root.glob(f"*/{name}"):
            path.unlink()
    store = mine.open()
    journal = open_journal(store, mine.k.run_id, mine.lab.world())
    journal.open()

    found = mendable(journal, store.runs())
    for one in found:
        one.mend()

    assert len(found) >= 4
    was = {k: v for k, v in before.items() if "ambient" not in k}
    assert {k: mine.files().get(k) for k in was} == was


def test_a_changed_byte_is_found(mine):
    """By the tag of its segment, before the digest of what it holds."""
    root = mine.folder / "store" / "data.zarr" / mine.k.run_id
    [first, *_] = sorted(root.glob("*/o*/c*"))
    data = bytearray(first.read_bytes())
    data[-1] ^= 1
    first.chmod(0o600)
    first.write_bytes(data)

    problems = mine.problems(mine.k.run_id)

    assert len(problems) >= 1


def test_a_store_is_not_taken_for_one_in_the_clear(mine):
    """Whoever changes ``store.json`` has nothing written in the clear by that."""
    path = mine.folder / "store" / "store.json"
    path.chmod(0o600)
    path.write_text(path.read_text().replace("aes-256-gcm", ""))
    mine.encrypt = False
    before = mine.files()

    with pytest.raises(SealedError, match="has data keys"):
        mine.open(create=True)
    for folder in (mine.folder / "store" / "keys").iterdir():
        for wrap in folder.iterdir():
            wrap.unlink()
        folder.rmdir()
    without = {k: v for k, v in before.items() if not k.startswith("keys/")}

    # nor do its records count: they were signed for an encrypted store
    mine.open(create=True)
    with pytest.raises(NotTrusted, match="written under another key"):
        mine.lab.kernel(run_id=mine.k.run_id).go()
    assert {k: v for k, v in mine.files().items() if "tmp/" not in k} == without


LAZY = {
    "a": "%%step a\nimport dask, dask.array\nx = dask.array.arange(600, chunks=100)",
    "b": "%%step b\ns = dask.delayed(float)(x.sum())\nt = float(x.sum().compute())",
}


def test_a_recipe_over_stored_chunks_holds_no_data_key_in_the_clear(tmp_path):
    """It says how its chunks are opened: that lies in an encrypted payload."""
    mine = shelf(tmp_path, encrypt=True, cells=LAZY)
    k = mine.ran()
    mine.open()
    again = mine.lab.kernel(run_id=k.run_id)

    assert again.go() == []
    assert again["s"].compute() == again["t"] == 599 * 300
    secret = mine.open().data_keys.current().secret
    files = [path for path in mine.folder.rglob("*") if path.is_file()]
    assert not [path for path in files if secret in path.read_bytes()]
