"""What workers write is whole or not there, and is checked chunk by chunk."""

import pickle

import numpy as np
import pytest
import zarr

from nbresume.errors import CaptureError, Damaged, Unavailable
from nbresume.model.digests import chunk_digest
from nbresume.store.objects import Objects
from nbresume.store.pieces import piece_names

RUN = "0123456789abcdef"
ARRAY = np.arange(24.0).reshape(4, 6)


@pytest.fixture(params=["memory", "local"])
def backend(request):
    """Return a store."""
    return request.getfixturevalue(request.param)


def blocks():
    """Yield number and bytes of each block of the array."""
    for i in range(2):
        for j in range(2):
            block = np.ascontiguousarray(ARRAY[2 * i : 2 * i + 2, 3 * j : 3 * j + 3])
            yield (i, j), block.reshape(-1).view("u1").data


def written(backend, *, group="a1"):
    """Write the array as workers do; return the run's payloads, digest and place."""
    objects = Objects(backend, RUN)
    draft = objects.draft(group)
    shelf = draft.shelf()
    sink = shelf.array("o1", "<f8", (4, 6), (2, 3))
    digests = [sink.keep(index, data) for index, data in blocks()]
    digest = shelf.adopt(sink, digests, (2, 2), 48)
    draft.add_to_pack(b"x")
    draft.write()
    return objects, digest, shelf.places[digest]


def test_chunks_are_read_one_by_one(backend):
    """Each comes back by its number, and the whole by its digest."""
    objects, digest, place = written(backend)

    pieces = objects.buffer(place, digest)

    for index, data in blocks():
        assert bytes(pieces.read(index, chunk_digest(data))) == bytes(data)
    assert not objects.missing([place])
    objects.check(place, digest)


def test_plain_zarr_reads_the_array(local):
    """It has the shape and the values of what was computed."""
    objects, _, place = written(local)
    objects.publish(place.group, {})

    group = zarr.open_group(local.root / "data.zarr" / RUN / place.group, mode="r")

    assert np.array_equal(group["o1"][...], ARRAY)


def test_a_changed_chunk_is_damaged_and_the_others_are_not(backend):
    """Only who reads it is refused; `verify` finds it."""
    objects, digest, place = written(backend)
    key = f"data.zarr/{RUN}/{place.group}/o1/c.1.0"
    data = bytearray(backend.read(key))
    data[5] ^= 1
    backend.delete(key)
    backend.create(key, bytes(data))
    pieces = objects.buffer(place, digest)
    found = dict(blocks())

    with pytest.raises(Damaged, match=r"c\.1\.0"):
        pieces.read((1, 0), chunk_digest(found[1, 0]))
    with pytest.raises(Damaged):
        objects.check(place, digest)
    assert bytes(pieces.read((1, 1), chunk_digest(found[1, 1]))) == bytes(found[1, 1])


def test_a_missing_or_short_chunk_is_missed_before_anything_is_read(backend):
    """A replay asks for that."""
    objects, digest, place = written(backend)
    key = f"data.zarr/{RUN}/{place.group}/o1/c.0.1"
    backend.delete(key)

    assert objects.missing([place]) == [place]
    backend.create(key, b"short")
    assert objects.missing([place]) == [place]
    with pytest.raises(Damaged, match="missing"):
        objects.check(place, digest)


def test_the_first_writer_of_a_chunk_stands(backend):
    """A worker that died after it wrote has its work done again, perhaps otherwise."""
    shelf = Objects(backend, RUN).draft("a1").shelf()
    sink = shelf.array("o1", "<f8", (2,), (2,))
    first = sink.keep((0,), bytes(16))

    assert sink.keep((0,), bytes(15) + b"x") == first == chunk_digest(bytes(16))


def test_a_worker_that_does_not_see_the_store_is_refused(backend):
    """It would write to another folder of the same name."""
    draft = Objects(backend, RUN).draft("a1")
    sink = draft.shelf().array("o1", "<f8", (2,), (2,))
    backend.delete(sink.token)

    with pytest.raises(Unavailable, match="does not see the store"):
        sink.keep((0,), bytes(16))


def test_chunks_that_the_kernel_does_not_find_are_refused(backend):
    """Whatever a worker says that it has written."""
    shelf = Objects(backend, RUN).draft("a1").shelf()
    sink = shelf.array("o1", "<f8", (4,), (2,))
    digest = sink.keep((0,), bytes(16))

    with pytest.raises(Unavailable, match="does not find"):
        shelf.adopt(sink, [digest, digest], (2,), 16)


def test_nothing_stays_when_the_capture_fails(backend):
    """Neither chunks, nor parts that nobody took, nor what a worker looks for."""
    draft = Objects(backend, RUN).draft("a1")
    shelf = draft.shelf()
    shelf.array("o1", "<f8", (2,), (2,)).keep((0,), bytes(16))
    shelf.table("o2").keep_part(0, b"arrow")

    draft.discard()

    assert not backend.names(f"data.zarr/{RUN}/a1")
    assert not backend.names("tmp")


def test_parts_of_a_table_are_arrays_of_bytes(local):
    """Each is a payload of its own, which plain zarr reads."""
    objects = Objects(local, RUN)
    draft = objects.draft("a1")
    shelf = draft.shelf()
    sink = shelf.table("o2")
    digest, length = sink.keep_part(3, b"arrow")
    payload = shelf.adopt_part(sink, 3, digest, length)
    draft.write()
    objects.publish("a1", {})
    place = shelf.places[payload]

    group = zarr.open_group(local.root / "data.zarr" / RUN / "a1", mode="r")

    assert bytes(group["o2-3"][...]) == b"arrow"
    assert bytes(objects.buffer(place, payload).read((0,), digest)) == b"arrow"
    objects.check(place, payload)


def test_an_equal_payload_is_not_kept_twice(backend):
    """What stood before stays; the new files go."""
    shelf = Objects(backend, RUN).draft("a1").shelf()
    sink = shelf.array("o1", "<f8", (2,), (2,))
    digest = shelf.adopt(sink, [sink.keep((0,), bytes(16))], (1,), 16)

    shelf.drop(digest)

    assert not shelf.places
    assert not backend.names(f"data.zarr/{RUN}/a1/o1")


def test_what_is_too_large_is_refused_before_it_is_written(backend):
    """By the limit of a step."""
    shelf = Objects(backend, RUN).draft("a1").shelf(limit_bytes=15)

    with pytest.raises(CaptureError, match="too large"):
        shelf.array("o1", "<f8", (2,), (2,))


def test_what_the_disk_has_no_room_for_is_refused_before_it_is_written(memory):
    """It is known how large an array becomes."""
    memory.free = 10

    with pytest.raises(Unavailable, match="16 bytes"):
        Objects(memory, RUN).draft("a1").shelf().array("o1", "<f8", (2,), (2,))


def test_a_worker_opens_the_same_folder(local):
    """What is sent to it is where the folder is."""
    objects, digest, place = written(local)
    (index, data), *_ = blocks()

    sent = pickle.loads(pickle.dumps(objects.buffer(place, digest)))  # noqa: S301

    assert sent.backend is not local
    assert sent.backend.root == local.root
    assert bytes(sent.read(index, chunk_digest(data))) == bytes(data)


def test_workers_leave_files_that_can_only_be_read(local):
    """As the kernel does."""
    _, _, place = written(local)
    folder = local.root / "data.zarr" / RUN / place.group / place.array

    modes = {file.stat().st_mode & 0o777 for file in folder.iterdir()}

    assert modes == {0o400}
    assert {file.name for file in folder.iterdir()} == {
        "zarr.json",
        *piece_names((2, 2)),
    }
