"""Payloads come back with the bytes of their digest, or not at all."""

import threading

import msgspec
import numpy as np
import pytest
from store_checks import break_file, flip

from nbresume.errors import (
    CaptureError,
    Damaged,
    KeyTaken,
    Unavailable,
    UsageError,
)
from nbresume.model.digests import digest_of, payload_digest
from nbresume.model.grids import grid_of
from nbresume.model.manifest import Place
from nbresume.model.values import FoldRef, ManifestRef
from nbresume.settings import MIB, PACK_LIMIT_BYTES
from nbresume.store import chunks
from nbresume.store.drafts import Blob
from nbresume.store.objects import Objects

RUN = "0123456789abcdef"
BIG = bytes(range(256)) * (10 * MIB // 256) + b"tail"
NOISE = np.random.default_rng(1).bytes(len(BIG))
"""The same, and no codec makes it smaller."""


def digest_of_bytes(data):
    """Return the digest of a payload without a shape."""
    return digest_of(memoryview(data), grid_of((len(data),), 1)).hex


def kept(backend, *blobs, group="a1"):
    """Write the payloads as one group; return where they lie."""
    objects = Objects(backend, RUN)
    draft = objects.draft(group)
    places = [draft.add(blob) for blob in blobs]
    draft.write()
    return objects, places


@pytest.fixture(params=["memory", "local"])
def backend(request):
    """Return each kind of store in turn."""
    return request.getfixturevalue(request.param)


def test_payloads_come_back_equal_and_writable(backend):
    """What was kept can be changed in place after it was read again."""
    blobs = [Blob(b""), Blob(b"small"), Blob(BIG, name="o1"), Blob(b"x" * MIB)]

    objects, places = kept(backend, *blobs)

    for blob, (digest, place) in zip(blobs, places, strict=True):
        assert digest == digest_of_bytes(blob.data)
        found = objects.read(place, digest)
        assert found == blob.data
        assert not found.readonly
    assert [place.array for _, place in places] == ["pack", "pack", "o1", "blob"]


def test_an_array_digested_at_once_is_read(backend):
    """The digest of an array was once that of all its bytes: such places stay good."""
    objects, [(digest, place)] = kept(backend, Blob(NOISE, name="o1"))
    former = msgspec.structs.replace(place, chunk=0)

    assert objects.read(former, payload_digest(NOISE)) == NOISE
    assert objects.missing([former]) == []
    with pytest.raises(Damaged):
        objects.read(former, digest)


def test_another_run_reads_what_this_one_kept(backend):
    """A fork refers to the payloads of the run that it came from."""
    _, [(digest, place)] = kept(backend, Blob(b"small"))
    other = Objects(backend, "f" * 16)

    there = Place(
        run=RUN, group="a1", array="pack", offset=place.offset, length=place.length
    )

    assert other.read(there, digest) == b"small"
    assert other.missing([place]) == [place]


def test_slices_of_the_pack_come_back(backend):
    """A manifest and a folded state are found by offset and length."""
    objects = Objects(backend, RUN)
    draft = objects.draft("a1")
    draft.add(Blob(b"before"))
    offset, length, digest = draft.add_to_pack(b"manifest")
    draft.write()

    manifest = ManifestRef(group="a1", offset=offset, length=length, digest=digest)
    fold = FoldRef(revision=3, group="a1", offset=offset, length=length, digest=digest)
    wrong = ManifestRef(group="a1", offset=0, length=length, digest=digest)

    assert objects.read_slice(manifest) == objects.read_slice(fold) == b"manifest"
    with pytest.raises(Damaged):
        objects.read_slice(wrong)


def test_a_pack_that_is_begun_and_flushed_is_read(backend):
    """In two moves it is kept as in one."""
    objects = Objects(backend, RUN)
    draft = objects.draft("a1")
    digest, place = draft.add(Blob(b"small"))

    draft.begin()
    draft.flush()

    assert objects.read(place, digest) == b"small"


def test_a_pack_that_is_begun_and_given_up_leaves_nothing(backend):
    """No record names it, so its file goes and its descriptor is closed."""
    draft = Objects(backend, RUN).draft("a1")
    draft.add(Blob(b"small"))
    draft.begin()

    draft.discard()
    draft.flush()

    assert backend.names(f"data.zarr/{RUN}/a1/pack") == []


def test_a_begun_pack_that_cannot_be_flushed_is_taken_away(memory):
    """The error is that of the device, and nothing stays."""
    draft = Objects(memory, RUN).draft("a1")
    draft.add(Blob(b"small"))
    draft.begin()
    memory.fail_at("flush", 1, Unavailable("the device failed"))

    with pytest.raises(Unavailable, match="the device failed"):
        draft.flush()

    assert memory.names(f"data.zarr/{RUN}/a1/pack") == []


def test_equal_payloads_are_kept_once(memory):
    """The same bytes take their place once."""
    draft = Objects(memory, RUN).draft("a1")
    first = draft.add(Blob(b"same"))

    assert draft.add(Blob(b"same")) == first
    assert draft.add(Blob(BIG)) == draft.add(Blob(BIG, name="o2"))
    assert (draft.pack_bytes, draft.payload_bytes) == (4, 4 + len(BIG))


def test_array_names_are_unique_on_every_file_system(memory):
    """Two payloads of one object get names that differ by more than case."""
    draft = Objects(memory, RUN).draft("a1")
    names = ["o1", "o1", "O1", "", "pack"]
    places = [
        draft.add(Blob(bytes([n]) * PACK_LIMIT_BYTES, name=name))[1]
        for n, name in enumerate(names)
    ]

    assert [place.array for place in places] == [
        "o1",
        "o1-1",
        "O1-2",
        "blob",
        "pack-1",
    ]


def test_arrays_that_zarr_cannot_hold_are_kept_as_bytes(local):
    """Text, records and foreign byte orders come back, if not through plain zarr."""
    arrays = [
        np.full(200_000, "ä€", dtype="<U4"),
        np.arange(200_000, dtype=">f8"),
        np.zeros(100_000, dtype=[("a", "<i4"), ("b", "<f8")]),
    ]
    blobs = [
        Blob(array.view(np.uint8), array.dtype.str, array.shape) for array in arrays
    ]

    objects, places = kept(local, *blobs)
    objects.publish("a1", {})

    for array, (digest, place) in zip(arrays, places, strict=True):
        assert objects.read(place, digest) == array.tobytes()


def test_views_of_any_shape_are_taken(memory):
    """A buffer is taken by its bytes, whatever its items are."""
    table = np.arange(12.0).reshape(3, 4)

    objects, [(digest, place), (none, nowhere)] = kept(
        memory, Blob(memoryview(table)), Blob(memoryview(np.empty((0, 3))))
    )

    assert objects.read(place, digest) == table.tobytes()
    assert objects.read(nowhere, none) == b""


def test_a_shape_that_does_not_fit_is_refused(memory):
    """A payload whose shape tells other bytes than it has is not kept."""
    draft = Objects(memory, RUN).draft("a1")

    with pytest.raises(CaptureError, match="does not have"):
        draft.add(Blob(BIG, dtype="<f8", shape=(3, 3)))


def test_nothing_is_seen_before_it_is_durable(memory):
    """After write everything outlives a power cut, and nothing is published."""
    objects, places = kept(memory, Blob(b"small"), Blob(BIG, name="o1"))
    objects.publish("a1", {})

    memory.lose_power()

    assert [objects.read(place, digest) for digest, place in places] == [b"small", BIG]
    assert not objects.is_published("a1")
    assert not any(name == "create" for name, _ in memory.operations)


def test_the_groups_above_are_made_anew_after_power_loss(memory):
    """Derived metadata that was lost or cut short is written again."""
    kept(memory, Blob(b"small"))
    memory.files["data.zarr/zarr.json"] = b""
    objects = Objects(memory, RUN)

    objects.publish("a1", {})

    assert memory.files["data.zarr/zarr.json"] != b""


def test_a_full_disk_is_told_before_anything_is_written(memory):
    """A step that does not fit is refused while the disk is as it was."""
    memory.free = len(BIG)
    draft = Objects(memory, RUN).draft("a1")
    draft.add(Blob(BIG))

    with pytest.raises(Unavailable, match="the disk has"):
        draft.write()

    assert memory.files == {}
    memory.free = 3 * len(BIG)
    draft.write()


@pytest.mark.parametrize(
    ("operation", "nth"), [("write", 3), ("flush", 2), ("seal", 2)]
)
def test_a_failed_write_takes_its_files_away(memory, operation, nth):
    """A disk that fails half way gets its space back, and another try succeeds."""
    memory.fail_at(operation, nth, Unavailable("full"))
    with pytest.raises(Unavailable):
        kept(memory, Blob(b"small"), Blob(BIG))

    assert [key for key in memory.files if "/a1/" in key] == []
    kept(memory, Blob(b"small"), Blob(BIG))


@pytest.mark.parametrize("error", [Unavailable("full"), KeyboardInterrupt()])
def test_a_failed_cleaning_hides_nothing(memory, error):
    """What went wrong first is told, not that files stay which `gc` takes away."""
    memory.fail_at("write", 3, error)
    memory.fail_at("delete", 1, Unavailable("gone"))

    with pytest.raises(type(error)) as told:
        kept(memory, Blob(b"small"), Blob(BIG))

    assert told.value is error
    assert len(memory.files) > 0


def test_a_group_of_another_draft_is_left_alone(backend):
    """A second draft of a group is refused and takes nothing of the first away."""
    objects, [(digest, place)] = kept(backend, Blob(b"first"))

    with pytest.raises(KeyTaken):
        kept(backend, Blob(b"other"))

    assert objects.read(place, digest) == b"first"


def test_a_written_draft_takes_nothing_more(memory):
    """What is added after the writing would be lost, so it is refused."""
    draft = Objects(memory, RUN).draft("a1")
    draft.add(Blob(b"one"))
    draft.write()

    for late in (lambda: draft.add_to_pack(b"x"), lambda: draft.add(Blob(BIG))):
        with pytest.raises(UsageError):
            late()


def test_a_value_that_changes_meanwhile_is_not_kept(memory):
    """An array on which a thread still works is told, not stored damaged."""
    array = bytearray(BIG)
    draft = Objects(memory, RUN).draft("a1")
    draft.add(Blob(array, name="o1"))
    array[5] ^= 1

    with pytest.raises(CaptureError, match="o1 was not kept"):
        draft.write()

    assert [key for key in memory.files if "/a1/" in key] == []


def test_an_empty_draft_writes_no_files(memory):
    """A step that kept nothing leaves no files of its own."""
    objects, places = kept(memory)

    assert places == []
    assert [key for key in memory.files if "/a1/" in key] == []
    objects.publish("a1", {})
    assert objects.is_published("a1")


def check_every_damage_is_found(local, large=NOISE):
    """Keep a small and a large payload, damage their files in turn, read them."""
    objects, places = kept(local, Blob(b"small"), Blob(large, name="o1"))
    group = local.root / "data.zarr" / RUN / "a1"
    for (digest, place), name in zip(places, ["pack/c.0", "o1/c.1"], strict=True):
        good = (group / name).read_bytes()
        for change in (flip(0), flip(-1), lambda data: data[:-1], lambda _: b""):
            break_file(group / name, change)
            with pytest.raises(Damaged):
                objects.read(place, digest)
        (group / name).unlink()
        with pytest.raises(Damaged, match="missing"):
            objects.read(place, digest)
        assert objects.missing(place for _, place in places) == [place]
        (group / name).write_bytes(good)
        assert objects.read(place, digest) in (b"small", large)


@pytest.mark.parametrize("large", [NOISE, BIG], ids=["as it is", "compressed"])
def test_damaged_payloads_are_refused(local, large):
    """A flipped, truncated or missing file is told, never read as zeros."""
    check_every_damage_is_found(local, large)


def test_every_changed_byte_of_a_compressed_file_is_found(local):
    """Also one that would leave the values as they were."""
    text = b"%d" * MIB
    objects, [(digest, place)] = kept(local, Blob(text, name="o1"))
    path = local.root / "data.zarr" / RUN / "a1" / "o1" / "c.0"
    good = path.read_bytes()
    assert len(good) < 10_000

    for at in range(len(good)):
        break_file(path, flip(at))
        with pytest.raises(Damaged):
            objects.read(place, digest)
        path.write_bytes(good)

    assert objects.read(place, digest) == text


def test_missing_looks_once_at_each_file(memory):
    """Whether everything is there is found without reading, one look per file."""
    blobs = [Blob(b"%d" % n) for n in range(20)]
    objects, places = kept(memory, *blobs, Blob(b""))
    memory.operations.clear()

    assert objects.missing(place for _, place in places) == []
    assert memory.operations == [("size", f"data.zarr/{RUN}/a1/pack/c.0")]


@pytest.mark.parametrize(
    "place",
    [
        Place(group="../..", array="pack", offset=0, length=3),
        Place(group="a1", array="../pack", offset=0, length=3),
        Place(group="a1", array="pack", offset=0, length=3, run="/etc"),
        Place(group="a1", array="pack", offset=-1, length=3),
        Place(group="a1", array="pack", offset=0, length=-3),
        Place(group="a1", array="pack", offset=0, length=1 << 60),
        Place(group="a1", array="o9", offset=0, length=1 << 60),
    ],
)
def test_a_place_that_cannot_be_is_damage(local, place):
    """A manifest that names a place outside of the store is not followed."""
    objects, _ = kept(local, Blob(b"small"))

    with pytest.raises(Damaged):
        objects.read(place, payload_digest(b"small"))


def test_an_array_that_vanishes_while_it_is_read_is_damage(memory):
    """Files that go between the look and the reading are told."""
    objects, [(_, place)] = kept(memory, Blob(BIG, name="o1"))
    folder = f"data.zarr/{RUN}/a1/o1"
    assert objects.missing([place]) == []
    memory.delete(f"{folder}/c.2")

    target = memoryview(bytearray(len(BIG)))
    with pytest.raises(Damaged, match="some of its files are missing"):
        chunks.read_chunks(memory, folder, target, chunk=place.chunk, codec=place.codec)


def test_threads_of_a_failed_write_end(memory):
    """After a failure no thread of the store goes on writing."""
    before = threading.active_count()
    memory.fail_at("write", 2, Unavailable("full"))

    with pytest.raises(Unavailable):
        kept(memory, Blob(BIG))

    assert threading.active_count() == before
