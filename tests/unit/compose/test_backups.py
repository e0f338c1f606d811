"""Backups: runs as one file that plain zarr opens, and back into a store."""

import numpy as np
import pytest
import zarr
from unit.compose.shelves import CELLS, shelf
from unit.run.later import LATER

from nbresume.compose.migrating import migrator
from nbresume.compose.stores import trust_store
from nbresume.errors import NotTrusted, RefusedError
from nbresume.model.states import State
from nbresume.run.migrate import Wish
from nbresume.store.backup_reader import BackupReader


def test_plain_zarr_opens_the_file(tmp_path):
    """As it is, without unpacking: groups of commits, arrays, and the table."""
    mine = shelf(tmp_path)
    k = mine.ran()
    done = mine.export(tmp_path / "run.zip")

    with zarr.storage.ZipStore(tmp_path / "run.zip") as opened:
        root = zarr.open_group(opened, mode="r")
        steps = {
            group.attrs["nbresume"].get("step", ""): group
            for _, group in root[k.run_id].groups()
        }
        (array,) = [a for n, a in steps["a"].arrays() if n != "pack"]
        whole = array[:]
        table = bytes(root["nbresume"][:])
        members = dict(root.members(max_depth=None))

    assert np.array_equal(whole, np.arange(400_000.0))
    assert {"a", "b", "c"} <= steps.keys()
    assert done.store_id.encode() in table
    assert all(f"{k.run_id}/" in n or n in (k.run_id, "nbresume") for n in members)


def test_a_run_comes_back_in_another_store(tmp_path):
    """Byte for byte, and a kernel of the same user replays it."""
    mine, other = shelf(tmp_path), shelf(tmp_path)
    k = mine.ran()
    mine.export(tmp_path / "run.zip")
    mine.share_key(other)
    other.lab = type(other.lab)(**CELLS)

    done = other.take(tmp_path / "run.zip")

    assert (done.runs, done.trusted, done.problems) == ([k.run_id], True, [])
    for below in (f"journal/{k.run_id}", f"data.zarr/{k.run_id}"):
        was = mine.files(below)
        assert {n: other.files()[n] for n in was} == was
    assert other.problems(k.run_id) == []
    again = other.lab.kernel(run_id=k.run_id)
    assert again.go() == []
    assert (again["y"], again["z"]) == (7.0, 4)


def test_it_comes_into_a_store_that_is_there(tmp_path):
    """Another store signs otherwise: this user's own records are accepted there."""
    mine, other = shelf(tmp_path), shelf(tmp_path)
    k = mine.ran()
    mine.export(tmp_path / "run.zip")
    mine.share_key(other)
    other.lab.notebook.path = "/project/other.ipynb"
    there = other.ran("p")
    there.go("a")
    before = other.files()

    done = other.take(tmp_path / "run.zip")

    assert done.trusted
    assert done.store_id != mine.open().store_id
    assert {n: d for n, d in other.files().items() if n in before} == before
    other.open()
    again = other.lab.kernel(run_id=k.run_id)
    assert again.go() == []
    other.lab.edit(c="%%step c\nz = sum(L) + 1")
    assert again.go() == ["c"]
    assert other.problems(k.run_id) == []
    other.open()
    later = other.lab.kernel(run_id=k.run_id)
    assert (later.go(), later["z"]) == ([], 5)


def test_the_run_of_another_key_is_imported_and_not_loaded(tmp_path):
    """It is looked at, and loaded only after somebody trusted the store."""
    mine, other = shelf(tmp_path), shelf(tmp_path)
    k = mine.ran()
    mine.export(tmp_path / "run.zip")

    done = other.take(tmp_path / "run.zip")

    assert not done.trusted
    other.open()
    assert not other.lab.inspect(k.run_id).trusted
    with pytest.raises(NotTrusted):
        other.lab.kernel(run_id=k.run_id)
    trust_store(other.open())
    other.open()
    again = other.lab.kernel(run_id=k.run_id)
    assert (again.go(), again["z"]) == ([], 4)


def test_a_fork_brings_what_it_shares(tmp_path):
    """And not the run that it comes from; that one can come later."""
    mine, other = shelf(tmp_path), shelf(tmp_path)
    k = mine.ran()
    origin = k.run_id
    k.fork("b")
    k.go()
    mine.export(tmp_path / "fork.zip", k.run_id)
    mine.export(tmp_path / "origin.zip", origin)
    mine.share_key(other)

    other.take(tmp_path / "fork.zip")

    assert other.open().runs().ids() == {k.run_id}
    assert other.problems(k.run_id) == []
    again = other.lab.kernel(run_id=k.run_id)
    assert (again.go(), again["z"], again["y"]) == ([], 4, 7.0)
    other.take(tmp_path / "origin.zip")
    assert other.open().runs().ids() == {k.run_id, origin}
    assert other.problems(origin) == []


def test_a_run_that_was_migrated_and_back(tmp_path):
    """All its chains go along."""
    mine, other = shelf(tmp_path), shelf(tmp_path)
    k = mine.ran()
    k.kill()
    moves = migrator(mine.open(), mine.lab.world(alive=False), formats=LATER)
    moves.migrate(mine.open().chain(k.run_id), Wish("a test"))
    moves.undo(mine.open().chain(k.run_id), Wish("a test"))
    mine.export(tmp_path / "run.zip")
    mine.share_key(other)

    other.take(tmp_path / "run.zip")

    chains = {k.run_id, f"{k.run_id}.2"}
    assert set(other.open().backend.names("journal")) == chains
    assert other.files("journal") == mine.files("journal")
    assert other.problems(k.run_id) == []
    assert other.lab.kernel(run_id=k.run_id).go() == []


def test_a_run_that_is_there_is_not_replaced(tmp_path):
    """Nothing changes; what to type is said."""
    mine = shelf(tmp_path)
    k = mine.ran()
    mine.export(tmp_path / "run.zip")
    before = mine.files()

    with pytest.raises(RefusedError, match=r"(?s)has it already.*--run RUN") as caught:
        mine.take(tmp_path / "run.zip")

    assert k.run_id in str(caught.value)
    assert mine.files() == before


def test_a_run_in_use_is_cut_at_a_record(tmp_path):
    """What a kernel does while it is written is not in it, and all before is."""
    mine, other = shelf(tmp_path), shelf(tmp_path)
    k = mine.ran("a", "p")
    mine.lab.tools["export"] = lambda: mine.export(tmp_path / "run.zip")
    k = k.restart()
    mine.lab.edit(b="%%step b\nexport()\nL.append(k)")
    k.go()
    mine.share_key(other)
    assert k.view().steps[1].state == State.COMMITTED

    other.take(tmp_path / "run.zip")

    other.open()
    states = {s.name: s.state for s in other.lab.kernel(run_id=k.run_id).view().steps}
    assert (states["a"], states["b"]) == (State.COMMITTED, State.INTERRUPTED)


def test_some_runs_of_a_store(tmp_path):
    """A file of all runs, of which one is brought in, and then the rest."""
    mine, other = shelf(tmp_path), shelf(tmp_path)
    first = mine.ran().run_id
    mine.lab.notebook.path = "/project/second.ipynb"
    mine.lab.notebook.paths = {"/project/main.ipynb", "/project/second.ipynb"}
    mine.lab.notebook.sources = {"n1": "%%step n\nq = 17"}
    second = mine.ran().run_id
    mine.export(tmp_path / "all.zip")
    assert first != second

    done = other.take(tmp_path / "all.zip", second)
    assert done.runs == [second]
    assert other.open().runs().ids() == {second}
    with pytest.raises(RefusedError):
        other.take(tmp_path / "all.zip")
    assert other.open().runs().ids() == {second}
    other.take(tmp_path / "all.zip", first)
    assert other.open().runs().ids() == {first, second}


def test_checking_writes_nothing(tmp_path):
    """No store is made for it."""
    mine, other = shelf(tmp_path), shelf(tmp_path)
    mine.ran()
    mine.export(tmp_path / "run.zip")

    done = other.take(tmp_path / "run.zip", only_check=True)

    assert done.records > 3
    assert list(other.folder.iterdir()) == []


def test_equal_stores_give_equal_files(tmp_path):
    """Nothing in it depends on when or where it was written, but the table."""
    mine = shelf(tmp_path)
    mine.ran()
    mine.export(tmp_path / "one.zip")
    mine.export(tmp_path / "two.zip")

    with (
        BackupReader(tmp_path / "one.zip") as one,
        BackupReader(tmp_path / "two.zip") as two,
    ):
        assert one.contents.files == two.contents.files
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()
    assert (tmp_path / "one.zip").stat().st_mode & 0o777 == 0o600
