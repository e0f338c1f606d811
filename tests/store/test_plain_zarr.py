"""What the store wrote is read by plain zarr, equal and without a warning."""

import json

import numpy as np
import pytest
import zarr

from nbresume.model.digests import digest_of, joined
from nbresume.model.grids import grid_of
from nbresume.settings import CHUNK_BYTES
from nbresume.store import chunks, groups
from nbresume.store.drafts import Blob
from nbresume.store.objects import Objects

RUN = "0123456789abcdef"
ROWS = np.random.default_rng(1)


def bytes_of(array):
    """Return the bytes of an array in C order, whatever its dtype."""
    return memoryview(np.ascontiguousarray(array).reshape(-1).view(np.uint8))


def blob(array, name):
    """Return an array as a payload."""
    return Blob(bytes_of(array), array.dtype.str, array.shape, name)


BIG = {
    "one": np.arange(200_000, dtype="<f8"),
    "several": ROWS.random((9_000, 150)),
    "padded": np.arange(2 * CHUNK_BYTES // 8 + 1, dtype="<i8"),
    "wide": ROWS.integers(0, 255, (3, 5_000_000), dtype="u1"),
    "deep": ROWS.random((70, 40, 30, 20)).astype("<f4"),
    "times": np.arange("2000-01-01", "2009-01-01", dtype="<M8[m]"),
    "spans": np.arange(300_000).astype("<m8[ns]"),
    "complex": ROWS.random(140_000).astype("<c16"),
    "halves": ROWS.random(700_000).astype("<f2"),
    "truths": ROWS.random(1_200_000) < 0.5,
    "zeros": np.zeros((3_000, 1_000), dtype="<i4"),
}


def test_large_payloads_are_zarr_arrays(local):
    """Every array of 1 MB and more is found under its object id, equal."""
    objects = Objects(local, RUN)
    draft = objects.draft("a1")
    for name, array in BIG.items():
        draft.add(blob(array, name))
    draft.write()
    objects.publish("a1", {"step": "load", "names": ("x", "y")})

    group = zarr.open_group(local.root / "data.zarr", mode="r")
    assert sorted(group[f"{RUN}/a1"].array_keys()) == sorted(BIG)
    assert dict(group[f"{RUN}/a1"].attrs) == {"step": "load", "names": ["x", "y"]}
    for name, array in BIG.items():
        found = group[f"{RUN}/a1/{name}"]
        assert (found.shape, found.dtype) == (array.shape, array.dtype)
        np.testing.assert_array_equal(found[...], array)


def test_a_pack_is_one_chunk_of_bytes(local):
    """Small payloads lie in a pack, where plain zarr finds them by offset."""
    objects = Objects(local, RUN)
    draft = objects.draft("a1")
    _, first = draft.add(Blob(b"one"))
    _, second = draft.add(Blob(b"three"))
    draft.write()
    objects.publish("a1", {})

    pack = zarr.open_group(local.root / "data.zarr", mode="r")[f"{RUN}/a1/pack"]
    assert pack.chunks == pack.shape == (8,)
    assert pack[first.offset : first.offset + first.length].tobytes() == b"one"
    assert pack[second.offset : second.offset + second.length].tobytes() == b"three"


def test_a_group_is_seen_once_it_is_published(local):
    """A group of which the record is not written yet is not seen by plain zarr."""
    objects = Objects(local, RUN)
    draft = objects.draft("a1")
    draft.add(Blob(b"one"))
    draft.write()

    def seen():
        run = zarr.open_group(local.root / "data.zarr", mode="r")[RUN]
        return "a1" in run

    assert not seen()
    assert not objects.is_published("a1")
    objects.publish("a1", {})
    objects.publish("a1", {"again": 1})
    assert seen()
    assert objects.is_published("a1")


@pytest.mark.parametrize(
    "array",
    [
        np.array(7.5),
        np.empty((0,), "<f8"),
        np.empty((5, 0), "<i4"),
        np.empty((0, 5), "<i4"),
        np.arange(6, dtype="u1"),
        np.arange(12, dtype="<i2").reshape(3, 4),
        np.arange(5).astype("<M8[ns]"),
        np.zeros((3, 4, 5), "<f4"),
        np.ones((17, 200_000)),
        np.ones((1, 2_000_000)),
    ],
    ids=lambda array: f"{array.dtype}-{array.shape}",
)
def test_arrays_of_every_shape_are_equal(local, array):
    """Arrays without axes, without items, with one or many are all read equal."""
    grid = grid_of(array.shape, array.itemsize)
    metadata = groups.array_metadata(array.shape, array.dtype.str, grid.chunk_shape)
    local.publish(
        {
            "data.zarr/zarr.json": groups.group_metadata({}),
            "data.zarr/x/zarr.json": metadata,
        }
    )
    written: list[str] = []
    data = bytes_of(array)
    assert chunks.write_chunks(
        local,
        "data.zarr/x",
        grid,
        chunks.Content(data, digest_of(data, grid).chunks),
        codec=None,
        known=chunks.Known(),
        written=written.append,
    )

    found = zarr.open_group(local.root / "data.zarr", mode="r")["x"]
    assert found.shape == array.shape
    assert len(written) == grid.count == found.nchunks
    np.testing.assert_array_equal(found[...], array)
    target = bytearray(array.nbytes)
    chunk = grid.chunk_bytes if grid.count > 1 else 0
    found = chunks.read_chunks(
        local, "data.zarr/x", memoryview(target), chunk=chunk, codec=""
    )
    assert joined([digest for _, digest in found]).hex == digest_of(data, grid).hex
    assert target == data
    assert chunks.are_whole(local, "data.zarr/x", array.nbytes, chunk=chunk, codec="")


@pytest.mark.parametrize(
    "dtype",
    [
        *("uint8", "|u1", "|i1", "<u2", "<i2", "<u4", "<i4", "<u8", "<i8", "|b1"),
        *("<f2", "<f4", "<f8", "<c8", "<c16", "<M8[us]", "<m8[ns]"),
    ],
)
@pytest.mark.parametrize(
    ("shape", "cut"), [((5,), (5,)), ((), ()), ((100, 3), (8, 3)), ((0, 2), (1, 2))]
)
def test_metadata_is_that_of_zarr_itself(dtype, shape, cut):
    """The document of an array is the one that zarr writes when it makes the array."""
    kept: dict = {}
    zarr.create_array(
        store=zarr.storage.MemoryStore(kept),
        shape=shape,
        chunks=cut,
        dtype=np.dtype(dtype),
        compressors=None,
        filters=None,
        chunk_key_encoding={"name": "default", "separator": "."},
    )

    expected = json.loads(kept["zarr.json"].to_bytes())

    assert expected == json.loads(groups.array_metadata(shape, dtype, cut))


def test_group_metadata_is_that_of_zarr_itself():
    """The document of a group is the one that zarr writes when it makes the group."""
    kept: dict = {}
    attributes = {"step": "load", "inputs": {"x": "v1"}}
    zarr.create_group(store=zarr.storage.MemoryStore(kept), attributes=attributes)

    assert kept["zarr.json"].to_bytes() == groups.group_metadata(attributes)


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        ("uint8", 1),
        ("<f8", 8),
        ("<M8[ns]", 8),
        ("<M8", None),
        (">f8", None),
        ("<U4", None),
        ("|S4", None),
        ("|O", None),
        ("|V8", None),
        ("<f16", None),
        ("nonsense", None),
        ("f8,i4", None),
        ("", None),
    ],
)
def test_dtypes_that_plain_zarr_cannot_hold_are_known(dtype, size):
    """Text, records, objects and foreign byte orders are kept as bytes."""
    assert groups.item_bytes(dtype) == size


@pytest.mark.parametrize(
    ("shape", "item", "cut", "count"),
    [
        ((), 8, (), 1),
        ((0,), 8, (1,), 0),
        ((5, 0), 8, (5, 1), 0),
        ((100, 10), 8, (100, 10), 1),
        ((CHUNK_BYTES * 2 - 1,), 1, (CHUNK_BYTES * 2 - 1,), 1),
        ((CHUNK_BYTES * 2,), 1, (CHUNK_BYTES,), 2),
        ((CHUNK_BYTES * 2 + 1,), 1, (CHUNK_BYTES // 4,), 9),
        ((CHUNK_BYTES * 100 + 1,), 1, (CHUNK_BYTES,), 101),
        ((3, CHUNK_BYTES * 5), 8, (1, CHUNK_BYTES * 5), 3),
        ((1_000_000, 3), 8, (131_072, 3), 8),
        ((1, 1, CHUNK_BYTES * 3), 1, (1, 1, CHUNK_BYTES), 3),
        ((1,), 8, (1,), 1),
        ((12, 200_000), 8, (1, 200_000), 12),
    ],
)
def test_arrays_are_cut_after_whole_rows(shape, item, cut, count):
    """Chunks are whole rows, a power of two of them, and waste little."""
    grid = grid_of(shape, item)

    assert (grid.chunk_shape, grid.count) == (cut, count)


def test_metadata_that_is_no_group_is_known():
    """Half-written or foreign metadata does not count as published."""
    assert groups.is_group(groups.group_metadata({}))
    for data in (b"", b"{", b"[]", b"\xff", b'{"node_type":"array"}'):
        assert not groups.is_group(data)
