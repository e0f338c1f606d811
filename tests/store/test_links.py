"""Unchanged chunks of a changed array are linked to, and written where that fails."""

import os

import numpy as np
import pytest
import zarr
from store_checks import break_file, counted, flip

from nbresume.errors import Damaged, Unavailable
from nbresume.settings import CHUNK_BYTES, MIB
from nbresume.store.drafts import Blob
from nbresume.store.objects import Objects

RUN = "0123456789abcdef"
CHUNKS = 10
FIRST = np.random.default_rng(1).random(CHUNKS * CHUNK_BYTES // 8)
SECOND = FIRST.copy()
SECOND[CHUNK_BYTES // 2 : CHUNK_BYTES // 2 + 100] += 1.0
"""One of its chunks is another one."""


def kept(objects, array, group):
    """Write an array as a group; return its digest and place."""
    draft = objects.draft(group)
    found = draft.add(Blob(array.data, array.dtype.str, array.shape, "o1"))
    draft.write()
    objects.publish(group, {})
    return found


def sizes(seen):
    """Return how many bytes each write of a chunk wrote."""
    return [size for name, size in seen if name == "write" and size >= CHUNK_BYTES]


def test_a_changed_array_costs_its_changed_chunks(local, monkeypatch):
    """Of ten chunks one is written and flushed, nine are links; both are read."""
    objects = Objects(local, RUN)
    digest, place = kept(objects, FIRST, "a1")
    with counted(monkeypatch) as seen:
        other, there = kept(objects, SECOND, "a2")

    assert sizes(seen) == [CHUNK_BYTES]
    links = [where for name, where in seen if name == "link"]
    assert links == [str(local.root / "data.zarr" / RUN / "a1" / "o1")] * (CHUNKS - 1)
    # metadata and one chunk; the group, the array and the run's folder
    assert seen.count(("fsync", "file")) == 2
    assert seen.count(("fsync", "folder")) == 3
    assert objects.read(place, digest) == FIRST.tobytes()
    assert objects.read(there, other) == SECOND.tobytes()
    group = zarr.open_group(local.root / "data.zarr", mode="r")[RUN]
    np.testing.assert_array_equal(group["a1/o1"][:], FIRST)
    np.testing.assert_array_equal(group["a2/o1"][:], SECOND)


def test_a_new_process_knows_what_it_has_read(local, monkeypatch):
    """After a restore the chunks that were read are linked to as well."""
    digest, place = kept(Objects(local, RUN), FIRST, "a1")
    objects = Objects(local, RUN)
    objects.read(place, digest)
    with counted(monkeypatch) as seen:
        kept(objects, SECOND, "a2")

    assert sizes(seen) == [CHUNK_BYTES]


def test_a_column_of_a_frame_costs_that_column(local, monkeypatch):
    """A frame lays its columns out as rows: those that stay are linked to."""
    objects, block = Objects(local, RUN), FIRST[: 12 * 200_000].reshape(12, 200_000)
    kept(objects, block, "a1")
    with counted(monkeypatch) as seen:
        digest, place = kept(objects, block[1:], "a2")

    assert [size for name, size in seen if name == "write" and size > MIB] == []
    assert [name for name, _ in seen].count("link") == 11
    assert objects.read(place, digest) == block[1:].tobytes()


def test_links_survive_a_power_cut(memory):
    """A linked chunk is as durable as a written one."""
    objects = Objects(memory, RUN)
    kept(objects, FIRST, "a1")
    digest, place = kept(objects, SECOND, "a2")

    memory.lose_power()

    assert objects.read(place, digest) == SECOND.tobytes()


@pytest.mark.parametrize("gone", ["deleted", "truncated", "no links", "too many"])
def test_what_cannot_be_linked_is_written(local, monkeypatch, gone):
    """A source that is gone, and a file system that refuses, cost bytes only."""
    objects = Objects(local, RUN)
    kept(objects, FIRST, "a1")
    for path in (local.root / "data.zarr" / RUN / "a1" / "o1").glob("c.*"):
        if gone == "deleted":
            path.unlink()
        elif gone == "truncated":
            break_file(path, lambda data: data[:-1])

    def refuse(source, target):
        raise OSError(31 if gone == "too many" else 1, "refused")

    with counted(monkeypatch) as seen, monkeypatch.context() as patch:
        if gone in ("no links", "too many"):
            patch.setattr(os, "link", refuse)
        digest, place = kept(objects, SECOND, "a2")

    assert len(sizes(seen)) == CHUNKS
    assert objects.read(place, digest) == SECOND.tobytes()


def test_a_damaged_chunk_that_was_linked_is_found_in_both(local):
    """Damage of a shared file is told wherever it is read."""
    objects = Objects(local, RUN)
    places = [kept(objects, FIRST, "a1"), kept(objects, SECOND, "a2")]
    break_file(local.root / "data.zarr" / RUN / "a1" / "o1" / "c.7", flip(100))

    for digest, place in places:
        with pytest.raises(Damaged):
            objects.read(place, digest)


def test_a_failed_write_takes_its_links_away(memory):
    """Only the group that failed is taken away, never what it linked to."""
    objects = Objects(memory, RUN)
    digest, place = kept(objects, FIRST, "a1")
    memory.fail_at("seal", 1, Unavailable("full"))
    with pytest.raises(Unavailable):
        kept(objects, SECOND, "a2")

    assert [key for key in memory.files if "/a2/" in key] == []
    assert objects.read(place, digest) == FIRST.tobytes()


def test_only_new_chunks_need_space(memory):
    """A disk that holds the changed chunks is large enough."""
    objects = Objects(memory, RUN)
    kept(objects, FIRST, "a1")
    memory.free = 2 * CHUNK_BYTES

    kept(objects, SECOND, "a2")
