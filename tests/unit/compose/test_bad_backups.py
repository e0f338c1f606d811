"""Files that are no whole backup: refused before a byte is placed."""

import shutil
import zipfile

import msgspec
import pytest
from unit.compose.shelves import shelf

from nbresume.compose.stores import store_in
from nbresume.errors import Damaged, RefusedError, SchemaError, Unavailable
from nbresume.store import backups
from nbresume.store.backup_reader import BackupReader
from nbresume.store.backups import TABLE, Kept
from nbresume.store.layout import Layout


def signer(who, made):
    """Return what signs for a user, in the store that somebody made."""
    store = made.open()
    layout = Layout(1, store.store_id, store.cipher)
    return store_in(store.files, layout, who.place).trust


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with a store, and a backup of its run."""
    folder = tmp_path_factory.mktemp("made")
    mine = shelf(folder)
    mine.run_id = mine.ran().run_id
    mine.export(folder / "run.zip")
    mine.file = folder / "run.zip"
    return mine


def rewritten(made, path, change, *, sign=None, **how):
    """Write the backup again: `change` takes and returns name → bytes and the table."""
    with zipfile.ZipFile(made.file) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    table = backups.decode(files[TABLE])
    files, table = change(files, table)
    if table is not None:
        files[TABLE] = backups.encode(table.signed(sign) if sign else table)
    with zipfile.ZipFile(path, "w", how.get("how", zipfile.ZIP_STORED)) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, how.get("how"))
    return path


def refused(made, path, text, kind=Damaged):
    """Let another user import it; nothing may be made."""
    other = shelf(path.parent)
    made.share_key(other)
    with pytest.raises(kind, match=text) as caught:
        other.take(path)
    assert not (other.folder / "store").exists()
    return caught.value


def named(table, files, name, data):
    """Return the table, with one more file or another content."""
    key = name.removeprefix("nbresume/")
    key = key if key != name else f"data.zarr/{name}"
    found = Kept(size=len(data), digest=backups_digest(data))
    return files | {name: data}, msgspec.structs.replace(
        table, files=table.files | {key: found}
    )


def backups_digest(data):
    """Return what a table says of these bytes."""
    import blake3

    return blake3.blake3(data).hexdigest()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_torn_file(made, tmp_path, share):
    """Wherever it ends."""
    whole = made.file.read_bytes()
    path = tmp_path / "torn.zip"
    path.write_bytes(whole[: int(len(whole) * share)])

    refused(made, path, "no whole zip file")


def test_every_flipped_byte_is_found(made, tmp_path):
    """One in so many of the whole file, its headers and its directory too."""
    whole = bytearray(made.file.read_bytes())
    other = shelf(tmp_path)
    made.share_key(other)
    path = tmp_path / "flipped.zip"
    accepted = []
    for at in [
        *range(0, len(whole), 70_001),
        *range(len(whole) - 2500, len(whole), 37),
    ]:
        whole[at] ^= 0x10
        path.write_bytes(whole)
        whole[at] ^= 0x10
        try:
            other.take(path, only_check=True)
        except Damaged:
            continue
        accepted.append(at)

    # times, rights and hints of the zip's own directory say nothing about the content
    for at in accepted:
        whole[at] ^= 0x10
        path.write_bytes(whole)
        whole[at] ^= 0x10
        with BackupReader(path) as torn, BackupReader(made.file) as good:
            assert torn.contents == good.contents
            for key in good.contents.files:
                assert torn.read(key) == good.read(key)
    assert len(accepted) < 60


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "nbresume/journal/../../outside",
        "/etc/outside",
        "nbresume/..",
        "nbresume\\outside",
        "nbresume/journal/a/0000000000.rec/../x",
        "c:/outside",
    ],
)
def test_a_name_that_leads_out(made, tmp_path, name):
    """Named in the table or not, signed or not."""

    def in_table(files, table):
        return named(table, files, name, b"x")

    def beside(files, table):
        return files | {name: b"x"}, table

    own = signer(made, made)
    for number, change in enumerate((in_table, beside)):
        path = rewritten(made, tmp_path / f"{number}.zip", change, sign=own)
        refused(
            made, path, "would lie outside|does not name|neither a record|another name"
        )
    assert not (tmp_path.parent / "outside").exists()


@pytest.mark.parametrize("how", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_compressed_file(made, tmp_path, how):
    """A small file cannot grow into a large one."""
    path = rewritten(made, tmp_path / "small.zip", lambda f, t: (f, t), how=how)

    refused(made, path, "compressed or encrypted")


def test_two_files_of_one_name(made, tmp_path):
    """What is checked would not be what is placed."""
    path = tmp_path / "twice.zip"
    shutil.copy(made.file, path)
    with (
        pytest.warns(UserWarning, match="Duplicate"),
        zipfile.ZipFile(path, "a") as archive,
    ):
        archive.writestr("zarr.json", b"{}")

    refused(made, path, "twice")


def test_another_zip_file(made, tmp_path):
    """One that nbresume did not write."""
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("holiday.txt", "sun")

    refused(made, path, "no backup of nbresume")


def test_a_newer_format(made, tmp_path):
    """It says which one, and what to do."""
    path = rewritten(
        made,
        tmp_path / "newer.zip",
        lambda f, t: (
            f | {TABLE: f[TABLE].replace(b'"format":1', b'"format":9')},
            None,
        ),
    )

    error = refused(made, path, "format 9", SchemaError)
    assert "pip install -U nbresume" in error.remedy


def test_a_payload_that_was_changed_with_its_table(made, tmp_path):
    """Its signature tells; if another key signed it, the digests in records do."""

    def change(files, table):
        name = next(n for n in files if "/pack/c" in n)
        return named(table, files, name, files[name][:-9] + b"\0" + files[name][-8:])

    path = rewritten(made, tmp_path / "forged.zip", change)
    refused(made, path, "changed after it was signed")

    foreign = shelf(tmp_path)
    foreign.ran("p")
    sign = signer(foreign, made)
    path = rewritten(made, tmp_path / "foreign.zip", change, sign=sign)
    refused(made, path, "damaged or missing")


def test_a_record_that_was_changed_with_its_table(made, tmp_path):
    """Its signature is not right any more, and the record after it names another."""

    def change(files, table):
        name = f"nbresume/journal/{made.run_id}/0000000000.rec"
        data = files[name].replace(b"main.ipynb", b"else.ipynb")
        assert data != files[name]
        return named(table, files, name, data)

    foreign = shelf(tmp_path)
    foreign.ran("p")
    for number, who in enumerate((made, foreign)):
        sign = signer(who, made)
        path = rewritten(made, tmp_path / f"{number}.zip", change, sign=sign)
        refused(made, path, "record 0 is damaged")


def test_a_record_that_was_left_out(made, tmp_path):
    """A chain has no gaps."""

    def change(files, table):
        key = f"journal/{made.run_id}/0000000000.rec"
        rest = {k: v for k, v in table.files.items() if k != key}
        return (
            {n: d for n, d in files.items() if n != f"nbresume/{key}"},
            msgspec.structs.replace(table, files=rest),
        )

    own = signer(made, made)
    path = rewritten(made, tmp_path / "gap.zip", change, sign=own)
    refused(made, path, "record 0 is damaged")


def test_payloads_that_no_record_names(made, tmp_path):
    """Nobody would ever look for them in the store."""

    def change(files, table):
        name = f"{made.run_id}/0123456789ab/pack/c.0"
        return named(table, files, name, b"x" * 100)

    own = signer(made, made)
    path = rewritten(made, tmp_path / "more.zip", change, sign=own)
    refused(made, path, "which no record names")


def test_what_was_damaged_in_the_store(tmp_path):
    """It is not exported unasked, nor imported; with a word it is, and told."""
    mine, other = shelf(tmp_path), shelf(tmp_path)
    k = mine.ran()
    mine.share_key(other)
    chunk = next((mine.folder / "store" / "data.zarr").glob("*/*/o*/c.0"))
    chunk.chmod(0o600)
    chunk.write_bytes(chunk.read_bytes()[:-100])

    with pytest.raises(Damaged, match=r"(?s)1 things.*export … --damaged"):
        mine.export(tmp_path / "run.zip")
    assert list(tmp_path.glob("run.zip*")) == []
    done = mine.export(tmp_path / "run.zip", damaged=True)
    assert len(done.problems) == 1
    with pytest.raises(Damaged, match="import … --damaged"):
        other.take(tmp_path / "run.zip")
    assert len(other.take(tmp_path / "run.zip", damaged=True).problems) == 1

    again = (other.open(), other.lab.kernel(run_id=k.run_id))[1]
    # it is never zeros: the step runs again
    assert again.go()[0] == "a"


def test_a_backup_that_changes_while_it_is_placed(made, tmp_path, monkeypatch):
    """It was whole when it was checked; nothing of it is in the store."""
    other = shelf(tmp_path)
    made.share_key(other)
    path = tmp_path / "moving.zip"
    shutil.copy(made.file, path)
    check, seen = BackupReader.check, []

    def check_then_change(reader):
        check(reader)
        key = next(k for k in reader.contents.files if k.endswith("c.0"))
        at = made.file.read_bytes().index(reader.read(key)[:64])
        seen.append(at)

    monkeypatch.setattr(BackupReader, "check", check_then_change)
    original = BackupReader.slices

    def slices(reader, key):
        if seen and key.endswith("c.0"):
            with path.open("r+b") as file:
                file.seek(seen[0])
                file.write(b"\xff" * 8)
        return original(reader, key)

    monkeypatch.setattr(BackupReader, "slices", slices)
    with pytest.raises(Damaged, match="not what it was"):
        other.take(path)

    assert other.open().runs().ids() == set()
    assert not any("import-" in name for name in other.files())


def test_payloads_of_another_run_under_that_name(made, tmp_path):
    """What a store has is never replaced, nor mixed with something else."""
    other = shelf(tmp_path)
    made.share_key(other)
    other.ran("p")
    group = next(p for p in (made.folder / "store/data.zarr").glob("*/*") if p.is_dir())
    target = other.folder / "store" / group.relative_to(made.folder / "store")
    shutil.copytree(group, target)
    other_chunk = next(target.rglob("c.0"))
    other_chunk.chmod(0o600)
    other_chunk.write_bytes(b"else")
    before = other.files()

    with pytest.raises(RefusedError, match="is not what the backup has"):
        other.take(made.file)
    assert other.files() == before
    # the same bytes are no obstacle: a fork brought them
    shutil.rmtree(target)
    shutil.copytree(group, target)
    other.take(made.file)
    assert other.problems(made.run_id) == []


def test_a_full_disk_is_told_before(made, tmp_path, monkeypatch):
    """Nothing is staged that would not fit."""
    from nbresume.store.local import LocalBackend

    other = shelf(tmp_path)
    made.share_key(other)
    monkeypatch.setattr(LocalBackend, "free_bytes", lambda _self: 1000)

    with pytest.raises(Unavailable, match="1000 are free"):
        other.take(made.file)
    assert other.open().runs().ids() == set()


def test_a_file_that_is_there_is_not_replaced(made):
    """A backup of yesterday stays one."""
    before = made.file.read_bytes()

    with pytest.raises(RefusedError, match="replaces nothing"):
        made.export(made.file)
    assert made.file.read_bytes() == before


def test_a_finished_backup_is_never_emptied(made, tmp_path):
    """Its writer was killed between its two names; then somebody moved it away."""
    path, part = tmp_path / "run.zip", tmp_path / "run.zip.part"
    made.export(path)
    part.hardlink_to(path)
    before = path.read_bytes()
    path.rename(tmp_path / "yesterday.zip")

    made.export(path)

    # written anew, and not over it: the bytes of both are equal
    assert not path.samefile(tmp_path / "yesterday.zip")
    assert (tmp_path / "yesterday.zip").read_bytes() == path.read_bytes() == before
    assert not part.exists()


def test_two_exports_into_one_file(made, tmp_path):
    """The second one is told, and does no harm to the first."""
    import fcntl

    path, part = tmp_path / "run.zip", tmp_path / "run.zip.part"
    with part.open("wb") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        other.write(b"half")
        other.flush()
        with pytest.raises(Unavailable, match="another export is writing it"):
            made.export(path)
        assert part.read_bytes() == b"half"
    made.export(path)
    with BackupReader(path) as reader:
        reader.check()
