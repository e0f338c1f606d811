"""Backups of encrypted stores: encrypted as they are, and for who has the key alone."""

import secrets
import shutil
import zipfile

import msgspec
import numpy as np
import pytest
import zarr
from unit.compose.shelves import CELLS, shelf

from nbresume import codec
from nbresume.compose.rotating import rotate
from nbresume.compose.stores import trust_store
from nbresume.errors import Damaged, RefusedError, SealedError
from nbresume.store import backups
from nbresume.store.backup_reader import BackupReader

CANARY = f"canary-{secrets.token_hex(20)}"
HIDDEN = CELLS | {"c": f"%%step c\nz = sum(L)\nword = {CANARY!r}\nprint(word)"}


def encrypted(tmp_path):
    """Return a folder for a user whose stores are encrypted."""
    return shelf(tmp_path, encrypt=True, cells=dict(HIDDEN))


def same_user(mine, tmp_path):
    """Return another folder of a user."""
    other = encrypted(tmp_path)
    mine.share_key(other)
    return other


def bare(who):
    """Return everything in a store but what an import has to find out itself."""
    return {k: v for k, v in who.files().items() if not k.startswith("tmp/")}


@pytest.fixture
def mine(tmp_path):
    """Return a folder with an encrypted store, and a backup of its run."""
    found = encrypted(tmp_path)
    found.run_id = found.ran().run_id
    found.file = tmp_path / "run.zip"
    found.export(found.file)
    return found


def test_nothing_of_the_values_is_in_the_file(mine):
    """It is encrypted as the store is, and has what opens it, wrapped."""
    data = mine.file.read_bytes()
    with zipfile.ZipFile(mine.file) as archive:
        names = archive.namelist()
        packs = [archive.read(n) for n in names if n.endswith("/c.0")]

    assert CANARY.encode() not in data
    assert len([name for name in names if name.startswith("nbresume/keys/")]) == 1
    assert all(p.startswith((b"nbseal1", b"{")) for p in packs)
    assert bytes.fromhex(mine.place.key_file.read_text()) not in data


def test_a_run_comes_back_where_its_key_is(mine, tmp_path):
    """Byte for byte, data keys among it, and a kernel replays it."""
    other = same_user(mine, tmp_path)

    done = other.take(mine.file)

    assert (done.runs, done.trusted, done.problems) == ([mine.run_id], True, [])
    was, now = bare(mine), bare(other)
    for below in ("journal/", "data.zarr/", "keys/"):
        names = {k: v for k, v in was.items() if k.startswith(below)}
        assert names
        assert {k: v for k, v in now.items() if k.startswith(below)} == names
    assert other.problems(mine.run_id) == []
    other.open()
    again = other.lab.kernel(run_id=mine.run_id)
    assert again.go() == []
    assert (again["y"], again["word"]) == (7.0, CANARY)


def test_plain_zarr_opens_the_file_with_the_codec(mine, monkeypatch):
    """As it opens the store."""
    store = mine.open()
    monkeypatch.setattr(codec, "_UNLOCKED", {store.store_id: store.data_keys})

    with zarr.storage.ZipStore(mine.file) as opened:
        root = zarr.open_group(opened, mode="r")
        arrays = [
            a[:]
            for _, group in root[mine.run_id].groups()
            for name, a in group.arrays()
            if name != "pack"
        ]
        packs = [group["pack"][:] for _, group in root[mine.run_id].groups()]

    assert [np.array_equal(a, np.arange(400_000.0)) for a in arrays] == [True]
    assert all(len(pack) for pack in packs)


@pytest.mark.parametrize("only_check", [True, False])
def test_without_the_key_nothing_is_imported(mine, tmp_path, only_check):
    """Nobody could say whether it is whole; which key it takes is said."""
    other = encrypted(tmp_path)
    other.ran("p")
    before = other.files()
    wanted = mine.open().trust.key_id

    with pytest.raises(SealedError, match=f"they take the key {wanted}"):
        other.take(mine.file, only_check=only_check)

    assert other.files() == before


def test_without_the_key_nothing_is_exported(mine, tmp_path):
    """The file could not be read back."""
    trust_store(mine.open())
    mine.place.key_file.unlink()

    with pytest.raises(SealedError, match="they take the key"):
        mine.export(tmp_path / "more.zip")

    assert list(tmp_path.glob("more.zip*")) == []


def test_only_what_fits_comes_into_a_store(mine, tmp_path):
    """Nothing in the clear into an encrypted one, nor the other way round."""
    clear = shelf(tmp_path)
    mine.share_key(clear)
    clear.ran()
    clear.export(tmp_path / "clear.zip")
    other = same_user(mine, tmp_path)
    other.ran("p")
    empty = same_user(mine, tmp_path)
    before = [one.files() for one in (clear, other, mine)]

    with pytest.raises(RefusedError, match="is not encrypted, and the backup is"):
        clear.take(mine.file)
    with pytest.raises(RefusedError, match="is encrypted, and the backup is not"):
        mine.take(tmp_path / "clear.zip")
    with pytest.raises(RefusedError, match="another encrypted store"):
        other.take(mine.file)
    with pytest.raises(SealedError, match="NBRESUME_ENCRYPT is set"):
        empty.take(tmp_path / "clear.zip")

    assert [one.files() for one in (clear, other, mine)] == before
    assert empty.files() == {}


def test_a_second_run_comes_into_the_same_store(mine, tmp_path):
    """It has that store's id, so what is encrypted for it opens there."""
    k = mine.lab.kernel(run_id=mine.run_id)
    k.go()
    k.fork("b")
    k.go()
    mine.export(tmp_path / "both.zip")
    other = same_user(mine, tmp_path)

    other.take(tmp_path / "both.zip", mine.run_id)
    other.take(tmp_path / "both.zip", k.run_id)

    assert other.open().runs().ids() == {mine.run_id, k.run_id}
    assert [other.problems(run) for run in (mine.run_id, k.run_id)] == [[], []]
    assert len(list((other.folder / "store" / "keys").iterdir())) == 1


def renewed(mine):
    """Put a fresh key before the former one; return the text of both."""
    file = mine.place.key_file
    former = file.read_text().split()[0]
    file.write_text(f"{secrets.token_hex(32)}\n{former}\n")
    return file.read_text().split()


def test_a_key_that_was_retired_is_not_brought_back(mine, tmp_path):
    """By a backup from before: the store has that data key, and keeps its wraps."""
    former = mine.open().trust.key_id
    renewed(mine)
    rotate(mine.open(), finish=True)
    shutil.rmtree(mine.folder / "store" / "journal" / mine.run_id)

    mine.take(mine.file)

    assert mine.problems(mine.run_id) == []
    assert not list((mine.folder / "store" / "keys").glob(f"*/{former}"))


@pytest.mark.parametrize("encrypt", [True, False])
def test_what_a_former_key_signed_is_known_by_the_new_one_alone(tmp_path, encrypt):
    """A backup that was made after the key was changed says who vouches for it."""
    mine = shelf(tmp_path, encrypt=encrypt)
    run_id = mine.ran().run_id
    # of other runs nothing is said
    mine.lab.kernel(run_id="f" * 16).go("a")
    new = renewed(mine)[0]
    rotate(mine.open(), finish=True)
    mine.place.key_file.write_text(new)
    mine.export(tmp_path / "run.zip", run_id)
    other = shelf(tmp_path, encrypt=encrypt)
    mine.share_key(other)

    done = other.take(tmp_path / "run.zip")

    assert done.trusted
    assert other.problems(run_id) == []
    other.open()
    assert other.lab.kernel(run_id=run_id).go() == []
    with BackupReader(tmp_path / "run.zip") as reader:
        [key] = [k for k in reader.contents.files if k.startswith("vouched/")]
        assert b"f" * 16 not in reader.read(key)


@pytest.mark.parametrize("encrypt", [True, False])
def test_a_backup_from_before_a_key_was_changed_is_ones_own(tmp_path, encrypt):
    """As long as the former key stands behind the new one."""
    mine = shelf(tmp_path, encrypt=encrypt)
    run_id = mine.ran().run_id
    mine.export(tmp_path / "run.zip")
    renewed(mine)
    other = shelf(tmp_path, encrypt=encrypt)
    mine.share_key(other)

    assert other.take(tmp_path / "run.zip").trusted
    assert other.problems(run_id) == []


def test_a_backup_that_says_it_is_not_encrypted(mine, tmp_path):
    """What was encrypted is not taken for bytes in the clear."""
    with zipfile.ZipFile(mine.file) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    table = msgspec.structs.replace(backups.decode(files[backups.TABLE]), cipher="")
    files[backups.TABLE] = backups.encode(table)
    path = tmp_path / "changed.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    other = shelf(tmp_path)
    mine.share_key(other)

    with pytest.raises(Damaged, match="damaged or missing"):
        other.take(path)

    assert not (other.folder / "store").exists()
