"""Folders in which no store can be, as an ordinary user meets them."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

NOBODY = 65534

CHILD = """
import os, resource, sys, traceback
from datetime import UTC, datetime
from pathlib import Path
from nbresume.errors import NbresumeError
from nbresume.model.envelope import Envelope
from nbresume.store.chain import Chain
from nbresume.store.layout import open_layout
from nbresume.store.local_open import open_local
from nbresume.store.drafts import Blob
from nbresume.store.objects import Objects
from nbresume.store.trust import Trust
import numpy, numcodecs, zarr, zarr.core.group, zarr.core.metadata.v3

if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)

def append(backend, revision, size):
    Chain(backend, Trust(b"k" * 32), "c1").append(Envelope(
        id="c1", run_id="", revision=revision, kind="acme.x", schema_version=1,
        payload={"x": "x" * size}, updated_at=datetime.now(UTC), nonce=str(revision),
    ))

def keep(backend, size):
    draft = Objects(backend, "0" * 16).draft("a%d" % size)
    draft.add(Blob(os.urandom(size), name="o1"))
    draft.write()

def limit(size):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

root = Path(sys.argv[1])
try:
    exec(sys.argv[2])
except NbresumeError as error:
    print(f"{type(error).__name__}: {error}")
else:
    print("done")
"""


def child(root, script):
    """Run the script as a user who is not root; return what it said."""
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(root), script],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    assert done.returncode == 0
    return done.stdout.strip()


def bytes_below(root):
    """Return every file below a folder with its bytes and rights."""
    return {
        path: (path.stat().st_mode, path.is_file() and path.read_bytes())
        for path in sorted(root.rglob("*"))
    }


@pytest.fixture
def place():
    """Return a folder that every user reaches (pytest's own is private)."""
    folder = Path(tempfile.mkdtemp(prefix="nbresume-test-"))
    folder.chmod(0o777)
    yield folder
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o700)
    shutil.rmtree(folder)


@pytest.fixture
def store(place):
    """Return a store of the ordinary user with a record and a payload in it."""
    script = """
backend = open_local(root, create=True)
open_layout(backend, new_id="0" * 32)
append(backend, 0, 10)
keep(backend, 10)
"""
    assert child(place / "store", script) == "done"
    return place / "store"


OPEN = "open_local(root, create=True)"
LOOK = "print(open_local(root, create=False).names('journal'))"


def test_a_file_is_no_store(place):
    """A file where the store should be is told, and stays."""
    (place / "store").write_text("mine")

    said = child(place / "store", OPEN)

    assert said.startswith("Unfit: ")
    assert "it is a file" in said
    assert (place / "store").read_text() == "mine"


def test_a_read_only_folder_is_told(place, store):
    """A store that its user may not write is told, and can still be looked at."""
    store.chmod(0o500)
    before = bytes_below(store)

    assert child(store, LOOK).splitlines() == ["['c1']", "done"]
    said = child(store, OPEN)

    assert said.startswith("Unavailable: ")
    assert "this user may not do that there" in said
    assert bytes_below(store) == before


def test_a_folder_above_that_is_read_only_is_told(place):
    """Where no folder can be made there is no store."""
    (place / "above").mkdir()
    if os.getuid():
        (place / "above").chmod(0o500)

    said = child(place / "above" / "store", OPEN)

    assert said.startswith("Unavailable: ")
    assert list((place / "above").iterdir()) == []


def test_a_part_of_the_store_that_is_read_only_is_told(place, store):
    """A journal that cannot be written is told when something is appended."""
    (store / "journal" / "c1").chmod(0o500)
    before = bytes_below(store)

    said = child(store, "append(open_local(root, create=True), 1, 1)")

    assert said.startswith("Unavailable: journal/c1/0000000001.rec was not written")
    assert bytes_below(store) == before


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_a_store_of_another_user_is_told(place, store):
    """A store of somebody else is neither written nor, if private, read."""
    for path in (store, *store.rglob("*")):
        os.chown(path, 0, 0)
    before = bytes_below(store)

    private = child(store, LOOK)
    store.chmod(0o755)
    (store / "journal").chmod(0o755)
    looked = child(store, LOOK)
    said = child(store, OPEN)
    store.chmod(0o700)

    assert private.startswith("Unavailable: ")
    assert looked.splitlines() == ["['c1']", "done"]
    assert said.startswith("Unfit: ")
    assert "belongs to another user (uid 0)" in said
    assert {path: data for path, (_, data) in bytes_below(store).items()} == {
        path: data for path, (_, data) in before.items()
    }


@pytest.mark.parametrize(
    "action",
    [
        "append(backend, 1, 100_000)",
        "keep(backend, 100_000)",
        "keep(backend, 9_000_000)",
    ],
)
def test_a_limit_on_file_sizes_is_told(store, action):
    """A file that may not grow that large is told; all that was there is there."""
    before = bytes_below(store)

    said = child(
        store, f"backend = open_local(root, create=True); limit(9999); {action}"
    )

    assert said.startswith("Unavailable: ")
    assert "ulimit -f" in said
    after = bytes_below(store)
    assert {path: after[path] for path in before} == before
    assert [path for path in after.keys() - before.keys() if path.is_file()] == []
    assert child(store, action.replace("backend", OPEN)) == "done"


def test_a_newer_format_is_refused_unchanged(store):
    """A store of a later release is refused, and no byte of it changes."""
    (store / "store.json").write_text('{"format":2}')
    before = bytes_below(store)

    said = child(store, f"open_layout({OPEN}, new_id='1' * 32)")

    assert said.startswith("SchemaError: ")
    assert (
        "format 2, written by an unnamed release; this release reads format 1" in said
    )
    assert bytes_below(store) == before


@pytest.mark.parametrize("size", [0, 1, 20, 60])
def test_a_truncated_store_json_is_refused_unchanged(store, size):
    """A store.json that was cut off is told, and not written anew."""
    with (store / "store.json").open("r+b") as file:
        file.truncate(size)
    before = bytes_below(store)

    said = child(store, f"open_layout({OPEN}, new_id='1' * 32)")

    assert said.startswith("Damaged: ")
    assert bytes_below(store) == before
