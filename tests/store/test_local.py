"""A store in a folder: the conformance suite, modes, order, and what is left behind."""

import errno
import os
import stat
import time
from pathlib import Path

import pytest
from conformance import BackendTests
from store_checks import counted

from nbresume.errors import Damaged, KeyMissing, KeyTaken, Unavailable, Unfit
from nbresume.store import disk
from nbresume.store.local_open import open_local

DAY = 24 * 3600


class TestLocal(BackendTests):
    """The conformance suite."""

    @pytest.fixture
    def backend(self, local):
        """Return an empty store."""
        return local


def mode(path):
    """Return the rights of a file."""
    return path.stat().st_mode & 0o777


def test_a_store_is_private_and_unknown_to_git(local):
    """Only the user may look into the store, and git does not."""
    local.create("journal/c1/0000000000.rec", b"one")
    local.write("data.zarr/r/a/c.0", [b"two"])
    local.publish({"data.zarr/zarr.json": b"{}"})

    assert local.read(".gitignore") == b"*\n"
    for folder in ("", "tmp", "journal", "journal/c1", "data.zarr", "data.zarr/r/a"):
        assert mode(local.root / folder) == 0o700
    assert mode(local.root / "journal/c1/0000000000.rec") == 0o600
    assert mode(local.root / "data.zarr/zarr.json") == 0o600
    assert mode(local.root / "data.zarr/r/a/c.0") == 0o400
    assert local.names("tmp") == []


def test_folders_above_a_new_store_are_made(tmp_path):
    """A store may be put where no folder is yet."""
    made = open_local(tmp_path / "a" / "b" / "store", create=True)

    made.create("a", b"")

    assert made.read("a") == b""


def test_reading_makes_and_changes_nothing(tmp_path, local):
    """Looking into a folder leaves it exactly as it was."""
    local.create("store.json", b"")
    local.create("a/b", b"one")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}

    reader = open_local(local.root, create=False)
    found = reader.read("a/b"), reader.names("a"), reader.size("x/y"), reader.names("x")
    open_local(local.root, create=True)

    assert found == (b"one", ["b"], None, [])
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before
    with pytest.raises(KeyMissing, match="no such folder"):
        open_local(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_a_folder_with_other_things_is_no_store(tmp_path):
    """A folder of the user that holds other files is not taken for a store."""
    (tmp_path / "thesis.tex").write_text("")
    (tmp_path / ".hidden").write_text("")

    with pytest.raises(Unfit, match=r"thesis\.tex"):
        open_local(tmp_path, create=True)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".hidden",
        "thesis.tex",
    ]


def test_a_staged_file_that_goes_meanwhile_is_no_fault(local, monkeypatch):
    """Another kernel puts its file in place while this one looks for leftovers."""
    local.create("store.json", b"")
    staged = local.root / "tmp" / ("a" * 32)
    staged.write_bytes(b"x")
    listed = Path.iterdir

    def listed_and_gone(folder):
        found = list(listed(folder))
        staged.unlink(missing_ok=True)
        return iter(found)

    monkeypatch.setattr(Path, "iterdir", listed_and_gone)

    open_local(local.root, create=True).create("b", b"")


def test_old_leftovers_are_collected(local):
    """What a killed kernel left in tmp is deleted after a day; nothing else is."""
    local.create("store.json", b"")
    now = time.time()
    for name, age in (("a" * 32, DAY + 60), ("b" * 32, DAY - 60), ("mine", 9 * DAY)):
        path = local.root / "tmp" / name
        path.write_text("")
        os.utime(path, (now - age, now - age))

    open_local(local.root, create=True).create("a", b"")

    assert sorted(local.names("tmp")) == ["b" * 32, "mine"]


@pytest.mark.parametrize("code", ["EPERM", "EOPNOTSUPP", "ENOSYS"])
def test_a_folder_without_hard_links_is_refused(tmp_path, monkeypatch, code):
    """Where a file cannot be created atomically there is no store, however it says so.

    exFAT and FAT say the first.
    """

    def refuse(*_):
        raise OSError(getattr(errno, code), "no")

    monkeypatch.setattr(os, "link", refuse)

    with pytest.raises(Unfit, match=r"store is not used as a store: .* no hard links"):
        open_local(tmp_path / "store", create=True)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_folder_where_two_writers_win_is_refused(tmp_path, monkeypatch):
    """A file system that replaces instead of refusing is found out."""
    monkeypatch.setattr(os, "link", lambda *_: None)

    with pytest.raises(Unfit, match="two writers"):
        open_local(tmp_path / "store", create=True)


def test_a_store_made_by_a_killed_process_survives_power_loss(tmp_path, monkeypatch):
    """The name of its folder may not have been flushed; the first writer does it."""
    (tmp_path / "store").mkdir()
    store = open_local(tmp_path / "store", create=True)
    store.create("journal/a", b"")
    again = open_local(tmp_path / "store", create=True)
    flushed = []
    flush_folder = disk.flush_folder
    monkeypatch.setattr(
        disk, "flush_folder", lambda path: [flushed.append(path), flush_folder(path)]
    )

    again.create("journal/b", b"")
    again.create("journal/c", b"")

    assert flushed.count(str(tmp_path)) == 1


def failing_fsync(monkeypatch, code):
    """Let flushing of folders fail."""
    real = os.fsync

    def fsync(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(code, os.strerror(code))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.parametrize(
    ("code", "refusal"), [(errno.EINVAL, Unfit), (errno.EIO, Unavailable)]
)
def test_a_folder_that_cannot_be_flushed_is_refused(
    tmp_path, monkeypatch, code, refusal
):
    """Where a new name could be lost with the power there is no store."""
    (tmp_path / "store").mkdir()
    failing_fsync(monkeypatch, code)

    with pytest.raises(refusal):
        open_local(tmp_path / "store", create=True)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EIO, "input/output"),
        (errno.EROFS, "read-only"),
        (errno.EMFILE, "ulimit -n"),
        (errno.ESTALE, r"\(ESTALE\)"),
    ],
)
def test_a_failing_device_is_told_and_leaves_nothing(local, monkeypatch, code, says):
    """A full or failing disk is named, and no half-written file stays."""
    local.create("store.json", b"")

    def write(*_):
        raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        for attempt in (
            lambda: local.create("a/b", b"x"),
            lambda: local.write("g/b", [b"x"]),
            lambda: local.publish({"g/c": b"x"}),
        ):
            with pytest.raises(Unavailable, match=says):
                attempt()

    assert [local.size("a/b"), local.size("g/b"), local.size("g/c")] == [None] * 3
    assert local.names("tmp") == []


def test_short_writes_are_completed(local, monkeypatch):
    """A system that takes a few bytes at a time gets all of them."""
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:3]))

    local.create("a", b"abcdefghij")
    local.write("g/a", [b"abcd", b"efgh"])

    assert local.read("a") == b"abcdefghij"
    assert local.read("g/a") == b"abcdefgh"


def test_a_link_whose_reply_was_lost_counts(local, monkeypatch):
    """A file server that makes a link and calls it an error is seen through."""
    local.create("store.json", b"")
    real = os.link

    def link(source, path):
        real(source, path)
        raise OSError(errno.EIO, "reply lost")

    monkeypatch.setattr(os, "link", link)

    local.create("a", b"one")

    assert local.read("a") == b"one"


def test_a_link_that_fails_creates_nothing(local, monkeypatch):
    """A device that fails at the last moment leaves the key free."""
    local.create("store.json", b"")

    def link(*_):
        raise OSError(errno.EIO, "no")

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", link)
        with pytest.raises(Unavailable):
            local.create("a", b"one")

    local.create("a", b"two")
    assert local.read("a") == b"two"


def test_the_loser_makes_the_winner_last(local, monkeypatch):
    """Who finds a key taken may rely on it: its name is flushed first."""
    local.create("j/a", b"one")

    with counted(monkeypatch) as seen, pytest.raises(KeyTaken):
        local.create("j/a", b"two")

    assert [what for what in seen if what[0] == "fsync"] == [
        ("fsync", "file"),
        ("fsync", "folder"),
    ]


def test_a_folder_made_by_another_process_is_made_to_last(local, monkeypatch):
    """A folder that was found is flushed into its parent once, then relied on."""
    (local.root / "j" / "c1").mkdir(parents=True)
    with counted(monkeypatch) as seen:
        local.create("j/c1/a", b"")
        first = seen.count(("fsync", "folder"))
        local.create("j/c1/b", b"")

    # c1, then j and the store's folder for the names of the two folders
    assert first == 3
    assert seen.count(("fsync", "folder")) == 4


def test_sealing_makes_the_folders_above_last(local, monkeypatch):
    """Of a new group, each folder above is flushed once, however many arrays it has."""
    local.write("d/r/g/a/c.0", [b"1"])
    local.write("d/r/g/b/c.0", [b"2"])
    with counted(monkeypatch) as seen:
        local.seal(["d/r/g/a", "d/r/g/b"])
        first = seen.count(("fsync", "folder"))
        local.seal(["d/r/g/a"])

    # a, b, and the folders that hold the names b + a, g, r, d
    assert first == 6
    assert seen.count(("fsync", "folder")) == 7


def test_a_store_that_went_away_is_told(local):
    """A store folder that was deleted under a running kernel is not made anew."""
    local.write("d/g/a", [b"1"])
    (local.root / "d" / "g" / "a").unlink()
    (local.root / "d" / "g").rmdir()

    with pytest.raises(Unavailable, match="its folder has gone"):
        local.write("d/g/b", [b"1"])
    with pytest.raises(Unavailable, match="its folder has gone"):
        local.seal(["d/g"])


def test_a_folder_in_the_place_of_a_file_is_no_file(local):
    """A folder under the name of a record is told, not read."""
    local.create("a/b", b"")

    assert local.size("a") is None
    with pytest.raises(Unavailable):
        local.read("a")
    with pytest.raises(KeyMissing):
        local.read("a/b/c")
    with pytest.raises(KeyMissing):
        local.read_into("a/b/c", memoryview(bytearray(1)))


def test_an_empty_read_needs_no_bytes(local):
    """Nothing is read when nothing is asked for."""
    local.create("a", b"xy")

    local.read_into("a", memoryview(bytearray()), offset=2)

    with pytest.raises(Damaged):
        local.read_into("a", memoryview(bytearray(1)), offset=2)


def test_free_space_is_known(local):
    """The store can say how much may still be written."""
    assert local.free_bytes() > 0


def test_a_store_without_its_json_is_left_as_it_is(local):
    """A store that lost its store.json is not set up anew; `layout` refuses it."""
    local.create("journal/c1/0000000000.rec", b"one")

    again = open_local(local.root, create=True)

    assert again.read("journal/c1/0000000000.rec") == b"one"
