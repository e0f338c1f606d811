"""Arrays are compressed by what suits them, and plain zarr reads them."""

import itertools
import json
import pickle

import numpy as np
import pytest
import zarr
from numcodecs import Blosc
from zarr.codecs import BloscCodec, Crc32cCodec

from nbresume.model.grids import grid_of
from nbresume.store import groups
from nbresume.store.codecs import Codec, probe
from nbresume.store.drafts import Blob
from nbresume.store.objects import Objects

RUN = "0123456789abcdef"
ROWS = 1_000_000
MADE = np.random.default_rng(1)
SHRINK = {
    "sums": np.cumsum(MADE.integers(0, 8, ROWS)),
    "decimals": np.round(np.cumsum(MADE.normal(size=ROWS)), 3),
    "prices": np.round(MADE.random(ROWS) * 100, 2),
    "ids": np.arange(ROWS),
    "truths": MADE.random(ROWS * 4) < 0.1,
    "times": np.arange(ROWS).astype("<M8[s]"),
    "zeros": np.zeros((ROWS // 100, 100), dtype="<f4"),
    "pickle": np.frombuffer(
        pickle.dumps([{"i": i, "s": str(i)} for i in range(ROWS // 5)]), "u1"
    ),
}
STAY = {
    "noise": MADE.random(ROWS),
    "normal": MADE.standard_normal(ROWS).astype("<f4"),
    "bytes": MADE.integers(0, 256, ROWS * 8, dtype="u1"),
}


def bytes_of(array):
    """Return the bytes of an array."""
    return memoryview(array.reshape(-1).view(np.uint8))


def kept(backend, array):
    """Write an array as the only payload of a group."""
    objects = Objects(backend, RUN)
    draft = objects.draft("a1")
    blob = Blob(bytes_of(array), array.dtype.str, array.shape, "o1")
    digest, place = draft.add(blob)
    draft.write()
    objects.publish("a1", {})
    return objects, digest, place


@pytest.mark.parametrize("part", [1, 2])
@pytest.mark.parametrize("array", SHRINK.values(), ids=SHRINK)
def test_what_shrinks_takes_little_more_than_the_least(local, array, part):
    """Files are within a tenth of the best of two codecs, and both readers agree."""
    array = array[: len(array) // part]
    objects, digest, place = kept(local, array)

    folder = local.root / "data.zarr" / RUN / "a1" / "o1"
    size = sum(path.stat().st_size for path in folder.glob("c*"))
    step = grid_of(array.shape, array.itemsize).rows
    parts = [array[at : at + step] for at in range(0, len(array), step)]
    ways = itertools.product(("zstd", "lz4"), (Blosc.SHUFFLE, Blosc.BITSHUFFLE))
    packers = [Blosc(name, clevel=1, shuffle=shuffle) for name, shuffle in ways]
    least = min(sum(len(p.encode(part)) for part in parts) for p in packers)
    assert place.codec == "blosc"
    assert size <= 1.1 * least + 1000
    assert objects.read(place, digest) == bytes_of(array)
    assert objects.missing([place]) == []
    found = zarr.open_group(local.root / "data.zarr", mode="r")[f"{RUN}/a1/o1"]
    np.testing.assert_array_equal(found[...], array)


@pytest.mark.parametrize("array", STAY.values(), ids=STAY)
def test_what_does_not_shrink_is_stored_as_it_is(local, array):
    """Noise is written byte for byte."""
    _, _, place = kept(local, array)

    assert place.codec == ""
    folder = local.root / "data.zarr" / RUN / "a1" / "o1"
    assert sum(path.stat().st_size for path in folder.glob("c*")) >= array.nbytes


def test_text_is_compressed_as_bytes(local):
    """What plain zarr sees as bytes is compressed by the size of its own items."""
    array = np.full(ROWS, "ä€", dtype="<U4")

    objects, digest, place = kept(local, array)

    assert place.codec == "blosc"
    assert objects.read(place, digest) == array.tobytes()


def test_items_of_any_size_are_tried():
    """Records larger than the compressor knows are tried as bytes."""
    assert probe(memoryview(bytes(3_000_000)), 1000).item_bytes == 1


@pytest.mark.parametrize("count", [10**5, 10**6, 10**7, 10**8])
@pytest.mark.parametrize("item_bytes", [1, 8])
def test_a_trial_is_a_small_part_of_the_work(count, item_bytes, monkeypatch):
    """However large the array is, and whatever it holds."""
    tried = []
    compress = Codec.compress

    def counted(self, data):
        tried.append(len(data))
        return compress(self, data)

    monkeypatch.setattr(Codec, "compress", counted)
    data = np.cumsum(MADE.integers(0, 8, count // 8)).astype("<i8")

    assert probe(bytes_of(data), item_bytes) is not None

    codecs, glance = (4 if item_bytes == 1 else 5), 3 << 15
    assert sum(tried) <= codecs * (glance + max(glance, count // 16))
    assert sum(tried) <= codecs * (glance + (3 << 18))


def test_the_metadata_is_that_of_zarr_itself():
    """The document of a compressed array is the one that zarr writes."""
    kept_here: dict = {}
    zarr.create_array(
        store=zarr.storage.MemoryStore(kept_here),
        shape=(100,),
        chunks=(50,),
        dtype="<f8",
        compressors=[
            BloscCodec(
                typesize=8, cname="zstd", clevel=1, shuffle="bitshuffle", blocksize=0
            ),
            Crc32cCodec(),
        ],
        chunk_key_encoding={"name": "default", "separator": "."},
    )
    expected = json.loads(kept_here["zarr.json"].to_bytes())

    codec = Codec("zstd", 2, 8)

    found = groups.array_metadata((100,), "<f8", (50,), codec.metadata)
    assert json.loads(found) == expected
