"""A real store whose files are cut, emptied, flipped or gone, one kind at a time.

Always a clear error or a step that runs again and says so; never a wrong value, never
a traceback of ours, never another byte changed.
"""

import os
import shutil

import pytest
from click.testing import CliRunner
from damaged_store import CELLS, VALUES, files, make
from real_kernel import hashes

from nbresume.errors import NbresumeError
from nbresume.ui.cli import cli

pytestmark = pytest.mark.kernel

DAMAGES = {
    "half": lambda data: data[: len(data) // 2],
    "empty": lambda data: b"",
    "flipped": lambda data: (
        data[: len(data) // 2]
        + bytes([data[len(data) // 2] ^ 1])
        + data[len(data) // 2 + 1 :]
    ),
    "gone": None,
}
KINDS = [
    "first-record",
    "intent",
    "commit",
    "last-record",
    "pack",
    "pack-metadata",
    "group",
    "run-group",
    "root-group",
    "array",
    "array-metadata",
    "fold-pack",
    "claim-copy",
    "store.json",
    "gitignore",
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return the folder of a run in which every kind of file stands."""
    return make(tmp_path_factory.mktemp("made"))


@pytest.fixture
def damaged(made, bare, monkeypatch):
    """Return what damages one kind of file in a copy: (path, hashes before)."""
    shutil.copytree(made, bare.folder, dirs_exist_ok=True)
    run_id = next((made / ".nbresume" / "journal").iterdir()).name
    monkeypatch.setenv("NBRESUME_RUN", run_id)

    def damage(kind, how):
        path = files(bare.store)[kind]
        before = hashes(bare.store)
        path.chmod(0o600)
        change = DAMAGES[how]
        if change is None:
            path.unlink()
        else:
            path.write_bytes(change(path.read_bytes()))
        name = str(path.relative_to(bare.store))
        return {p: digest for p, digest in before.items() if p != name}

    return damage


def check_clear(ran):
    """Assert that what was refused was refused in one of our sentences."""
    assert ran.error is None or isinstance(ran.error, NbresumeError), ran.text
    assert 'File "' not in ran.text
    assert "nbresume itself failed" not in ran.text


def check_others_unchanged(store, before):
    """Assert that every other file holds what it held; derived ones may be redone."""
    after = hashes(store)
    changed = {path for path, digest in before.items() if after.get(path) != digest}
    assert {p for p in changed if not p.endswith("zarr.json")} == set()


def assert_tells_what_to_do(error: NbresumeError) -> None:
    """Assert that a value that cannot be loaded says how to get it back."""
    assert "again" in str(error)


def all_right(bare) -> bool:
    """Say whether every name has its right value; a wrong one fails the test."""
    right = True
    for name, value in VALUES.items():
        try:
            found = repr(bare.ip.ev(name))
        except NbresumeError as error:
            right = False
            assert_tells_what_to_do(error)
        else:
            assert found == value
    return right


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_store_never_gives_a_wrong_value(bare, damaged, kind, how):
    """Loading and running everything gives the right values or a clear refusal."""
    before = damaged(kind, how)
    ran_before = (bare.folder / "ledger.txt").read_text().split()

    ran = bare.run(CELLS[0], "c0")
    check_clear(ran)
    texts = [ran.text]
    stopped = not ran.ok
    for number, code in enumerate(CELLS[1:], 1):
        if stopped:
            break
        ran = bare.run(code, f"c{number}")
        check_clear(ran)
        texts.append(ran.text)
        stopped = not ran.ok

    check_others_unchanged(bare.store, before)
    if not stopped and not all_right(bare):
        # found out when it was needed: the next Run All runs that step again
        for number, code in enumerate(CELLS):
            ran = bare.run(code, f"c{number}")
            check_clear(ran)
            texts.append(ran.text)
            stopped = stopped or not ran.ok
        assert stopped or all_right(bare)
    if not stopped:
        again = (bare.folder / "ledger.txt").read_text().split()[len(ran_before) :]
        said = "".join(texts)
        # a missing newest record leaves an interrupted step, told when it loads
        told = ("runs again", "damaged", "goes on at last")
        assert not again or any(words in said for words in told), said
        assert len(set(again)) == len(again)


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_store_can_be_looked_at(bare, damaged, kind, how):
    """Every command that looks says what it found, or refuses; it writes nothing."""
    damaged(kind, how)
    before = hashes(bare.folder)
    notebook = str(bare.folder / "main.ipynb")

    for words in (
        ["status", notebook],
        ["status", notebook, "--json"],
        ["plan", notebook],
        ["history", notebook],
        ["verify", notebook],
        ["runs", str(bare.store)],
    ):
        done = CliRunner().invoke(cli, words)
        error = done.exception
        fine = error is None or isinstance(error, (NbresumeError, SystemExit))
        assert fine, f"{words[0]}: {error!r}"
        if words[0] == "verify" and kind in ("pack", "array", "commit", "fold-pack"):
            assert done.exit_code != 0, done.output
    assert hashes(bare.folder) == before


@pytest.mark.parametrize("kind", ["intent", "last-record", "pack"])
def test_a_record_of_a_later_release_is_refused(bare, damaged, kind):
    """A format that this release does not know stops it; nothing is written."""
    damaged("gitignore", "gone")
    (bare.store / "store.json").write_text('{"format":2}')
    before = hashes(bare.store)

    ran = bare.run(CELLS[0], "c0")

    assert isinstance(ran.error, NbresumeError)
    check_clear(ran)
    assert hashes(bare.store) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root passes every permission")
def test_a_store_that_cannot_be_read_is_told(in_user):
    """A store that belongs to another user is one clear error for a kernel's user."""
    said = in_user("chown")

    assert "belongs to another user" in said
    assert 'File "' not in said


def test_a_read_only_store_is_told(in_user):
    """A store without write permission is one clear error, and stays."""
    said = in_user("chmod")

    assert "this user may not do that there" in said
    assert 'File "' not in said


def test_a_file_size_limit_makes_a_step_ran(in_user):
    """A commit that hits RLIMIT_FSIZE is RAN; after the limit is raised it commits."""
    said = in_user("limit")

    assert "RAN but is not committed" in said
    assert "a file may not grow that large here" in said
    assert "step big is committed" in said
