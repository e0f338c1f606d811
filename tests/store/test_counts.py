"""What a step costs: files, flushes and bytes, counted where they reach the system."""

import os

import numpy as np
import pytest
from store_checks import counted, filled, record

from nbresume.settings import CHUNK_BYTES
from nbresume.store.chain import Chain
from nbresume.store.drafts import Blob
from nbresume.store.local import STAGING
from nbresume.store.objects import Objects

RUN = "0123456789abcdef"
ARRAY_BYTES = 10 * CHUNK_BYTES


def of(seen, *names):
    """Return the operations with these names, in order."""
    return [what for what in seen if what[0] in names]


@pytest.fixture
def chain(local, trust):
    """Return a chain of which the folders are known."""
    chain = Chain(local, trust, "c1")
    filled(chain, 1)
    return chain


@pytest.fixture
def objects(local):
    """Return a run in which a step was kept before."""
    objects = Objects(local, RUN)
    draft = objects.draft("a0")
    draft.add(Blob(b"x"))
    draft.write()
    objects.publish("a0", {})
    return objects


def check_order_of_creation(seen):
    """Assert that a key appears after its bytes are safe, and is safe afterwards."""
    order = [name for name, _ in of(seen, "write", "fsync", "link", "unlink")]
    assert order == ["write", "fsync", "link", "unlink", "fsync"]
    assert of(seen, "fsync") == [("fsync", "file"), ("fsync", "folder")]


def test_a_record_costs_two_flushes(chain, local, monkeypatch):
    """An append writes one file once, flushes it, names it, flushes the folder."""
    prev = chain.read(0).digest
    with counted(monkeypatch) as seen:
        link = chain.append(record(1, prev=prev))

    check_order_of_creation(seen)
    assert of(seen, "link") == [("link", str(local.root / STAGING))]
    assert of(seen, "write") == [("write", link.size)]
    assert of(seen, "open") == [("open", "new"), ("open", "old")]
    assert of(seen, "mkdir", "replace") == []


def test_a_draft_with_a_pack_costs_four_flushes(objects, monkeypatch):
    """A small step writes one file; it and three folders are flushed."""
    draft = objects.draft("a1")
    draft.add(Blob(b"value"))
    draft.add_to_pack(b"manifest")
    with counted(monkeypatch) as seen:
        draft.write()

    assert of(seen, "mkdir") == [("mkdir", "a1"), ("mkdir", "pack")]
    assert of(seen, "open").count(("open", "new")) == 1
    assert [size for _, size in of(seen, "write")] == [len(b"valuemanifest")]
    assert [what for _, what in of(seen, "fsync")] == ["file"] + ["folder"] * 3
    assert of(seen, "link", "replace", "unlink") == []


def test_a_large_array_is_written_once_and_flushed_at_the_end(objects, monkeypatch):
    """Each byte is written once; every chunk is flushed, and then the folders."""
    draft = objects.draft("a1")
    data = np.random.default_rng(1).bytes(ARRAY_BYTES)
    draft.add(Blob(data, name="o1"))
    with counted(monkeypatch) as seen:
        draft.write()

    chunks = ARRAY_BYTES // CHUNK_BYTES
    metadata, *parts = (size for _, size in of(seen, "write"))
    assert parts == [CHUNK_BYTES] * chunks
    assert metadata < 700
    flushed = [what for _, what in of(seen, "fsync")]
    assert flushed == ["file"] * (1 + chunks) + ["folder"] * 3
    last_write = max(at for at, what in enumerate(seen) if what[0] == "write")
    later = [what for what in seen[last_write:] if what[0] == "fsync"]
    assert len(later) >= chunks + 3


def test_publishing_costs_no_flush(objects, monkeypatch):
    """Metadata of pack and group is put in place, each in one move, and not flushed."""
    with counted(monkeypatch) as seen:
        objects.publish("a0", {"step": "load"})

    assert of(seen, "replace") == [("replace", "zarr.json")] * 2
    assert of(seen, "open") == [("open", "new")] * 2
    assert of(seen, "fsync", "link", "mkdir", "unlink") == []


def test_a_tiny_step_costs_eight_flushes(chain, objects, monkeypatch):
    """Intent, pack, commit and publication together: five files and eight flushes.

    All four files of the commit are written before the first of them is flushed, so
    that the device has them together; and the pack is durable before its record is
    linked.
    """
    prev = chain.read(0).digest
    draft = objects.draft("a1")
    draft.add(Blob(b"value"))
    with counted(monkeypatch) as seen:
        intent = chain.append(record(1, prev=prev))
        begun = len(seen)
        draft.begin()
        staged = objects.stage("a1", {"step": "load"})
        chain.append(record(2, prev=intent.digest), after=draft.flush)
        staged.show()

    assert len(of(seen, "fsync")) == 8
    assert seen.count(("open", "new")) == 5
    order = [name for name, _ in of(seen[begun:], "write", "fsync", "link", "replace")]
    pack, record_ = ["fsync"] * 4, ["fsync", "link", "fsync"]
    assert order == ["write"] * 4 + pack + record_ + ["replace"] * 2


def test_a_pack_is_flushed_once(objects, monkeypatch):
    """An append that is tried again asks for it again, and it is there."""
    draft = objects.draft("a1")
    draft.add(Blob(b"value"))
    draft.begin()
    draft.flush()
    with counted(monkeypatch) as seen:
        draft.flush()
        draft.discard()

    assert seen == []


def test_what_is_read_writes_nothing(chain, objects, monkeypatch):
    """Loading records and payloads changes nothing on the disk."""
    with counted(monkeypatch) as seen:
        chain.follow(-1)
        chain.newest()
        objects.is_published("a0")

    assert of(seen, "fsync", "write", "link", "mkdir", "unlink", "replace") == []
    assert seen.count(("open", "new")) == 0
    assert os.fsync.__module__ == "posix"
