"""An encrypted store: what is in its files, what opens them, what is refused."""

import json
import pickle
import secrets
import threading

import numpy as np
import pytest
from conformance import BackendTests
from conformance_sealed import KEYS, STORE, Below, PayloadTests, sealed
from store_checks import flip
from test_plain_zarr import BIG, RUN, blob

from nbresume.errors import Damaged, KeyMissing, SealedError, Unavailable
from nbresume.model.digests import chunk_digest
from nbresume.store import sealing
from nbresume.store.datakeys import DataKeys
from nbresume.store.drafts import Blob
from nbresume.store.memory import MemoryBackend
from nbresume.store.objects import Objects
from nbresume.store.sealed import CODEC, SealedBackend
from nbresume.store.sealing import HEADER_BYTES, SEGMENT_BYTES, plain_bytes

CANARY = b"a canary that nobody else writes"
PACK = f"data.zarr/{RUN}/a1/pack/c.0"
SIZES = [
    *(0, 1, 1000),
    *(SEGMENT_BYTES + n for n in (-1, 0, 1)),
    *(9 * SEGMENT_BYTES + n for n in (0, 77)),
]


def reader(backend, keys, store=STORE):
    """Return the same for somebody who only reads, whatever his keys are."""
    return SealedBackend(backend, DataKeys(backend, store, keys, source="x"), store)


class TestRecords(BackendTests):
    """The conformance suite: what is no payload passes through."""

    @pytest.fixture
    def backend(self, memory):
        """Return an empty store."""
        return sealed(memory)


class TestPayloads(PayloadTests):
    """The conformance suite, every file of it encrypted, in memory."""

    @pytest.fixture
    def backend(self, memory):
        """Return an empty store."""
        return Below(sealed(memory))


class TestRecordsInAFolder(BackendTests):
    """The conformance suite: what is no payload passes through to a folder."""

    @pytest.fixture
    def backend(self, local):
        """Return an empty store."""
        return sealed(local)


class TestPayloadsInAFolder(PayloadTests):
    """The conformance suite, every file of it encrypted, in a folder."""

    @pytest.fixture
    def backend(self, local):
        """Return an empty store."""
        return Below(sealed(local))


@pytest.mark.parametrize("size", SIZES)
def test_any_size_comes_back(memory, size):
    """Whole, in slices, and with a size that is that of the plain bytes."""
    store, data = sealed(memory), secrets.token_bytes(size)
    store.write(PACK, [data])

    assert store.read(PACK) == data
    assert store.size(PACK) == size
    assert plain_bytes(len(memory.files[PACK])) == size
    assert sealing.stored_bytes(size) == len(memory.files[PACK])
    for offset in {0, size // 2, max(size - 1, 0), min(SEGMENT_BYTES, size)}:
        for length in {0, 1, 20, 3 * SEGMENT_BYTES, size}:
            part = data[offset : offset + length]
            target = bytearray(len(part))
            store.read_into(PACK, memoryview(target), offset=offset)
            assert target == part


@pytest.mark.parametrize("cut", [1, 7, SEGMENT_BYTES - 1, SEGMENT_BYTES, 2_500_000])
def test_how_it_was_cut_when_it_was_written_makes_no_difference(memory, cut):
    """Many buffers are one file."""
    store, data = sealed(memory), secrets.token_bytes(3_000_001)
    few = data if cut > 100 else data[:500]
    store.write(PACK, [few[at : at + cut] for at in range(0, len(few), cut)])

    assert store.read(PACK) == few


def test_nothing_of_it_is_found_in_the_files(memory):
    """Payloads of a pack and of an array, whatever is written them with."""
    store = sealed(memory)
    store.write(PACK, [b"before ", CANARY, b" after"])
    store.begin(f"data.zarr/{RUN}/a1/o1/c.0", [CANARY * 100_000]).close()
    store.create(f"data.zarr/{RUN}/a1/o1/c.1", CANARY)
    store.publish({f"data.zarr/{RUN}/a1/o1/c.2": CANARY})

    assert len(memory.files) == 5
    for data in memory.files.values():
        assert CANARY not in data
        assert CANARY[:8] not in data


def test_equal_bytes_are_not_seen_to_be_equal(memory):
    """No two files have a salt, or sixteen bytes in a row, in common."""
    store = sealed(memory)
    for number in range(300):
        store.write(f"data.zarr/{RUN}/a1/o1/c.{number}", [bytes(64)])
    files = [data for key, data in memory.files.items() if key.startswith("data")]

    salts = {data[16:48] for data in files}
    assert len(salts) == len({data[HEADER_BYTES:] for data in files}) == 300


def test_a_file_key_meets_a_nonce_once(monkeypatch, memory):
    """Every segment of every file has a (key, nonce) of its own."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    seen = []

    class Watched:
        def __init__(self, key):
            self._key, self._aead = key, AESGCM(key)

        def encrypt_into(self, nonce, *rest):
            seen.append((self._key, nonce))
            return self._aead.encrypt_into(nonce, *rest)

    store = sealed(memory)
    monkeypatch.setattr(sealing, "aead_of", Watched)
    for number in range(20):
        store.write(f"data.zarr/{RUN}/a1/o1/c.{number}", [bytes(3 * SEGMENT_BYTES)])

    assert len(seen) == len(set(seen)) == 80
    assert len({key for key, _ in seen}) == 20


def test_a_changed_byte_anywhere_is_damage(memory):
    """Every byte of the header and of the last segment, and some of the others."""
    sealed(memory).write(PACK, [secrets.token_bytes(SEGMENT_BYTES + 30)])
    good = memory.files[PACK]
    places = [*range(HEADER_BYTES), *range(HEADER_BYTES, len(good), 99_991)]
    for at in [*places, *range(len(good) - 50, len(good))]:
        memory.files[PACK] = flip(at)(good)
        store = reader(memory, KEYS)
        with pytest.raises((Damaged, SealedError)):
            store.read(PACK)
        with pytest.raises((Damaged, SealedError)):
            store.read_into(PACK, memoryview(bytearray(SEGMENT_BYTES + 30)))


@pytest.mark.parametrize("left", [0, 1, HEADER_BYTES, HEADER_BYTES + 15, -1, -47, -48])
def test_a_file_that_is_cut_off_is_damage(memory, left):
    """Also if it ends exactly where a segment does."""
    sealed(memory).write(PACK, [secrets.token_bytes(SEGMENT_BYTES + 31)])
    good = memory.files[PACK]
    memory.files[PACK] = good[:left]
    store = reader(memory, KEYS)

    with pytest.raises(Damaged):
        store.read(PACK)
    with pytest.raises(Damaged):
        store.read_into(PACK, memoryview(bytearray(31)), offset=SEGMENT_BYTES)


def test_a_file_that_was_opened_before_is_checked_again(memory):
    """What is remembered of a file opens no other one in its place."""
    store = sealed(memory)
    store.write(PACK, [b"one"])
    room = memoryview(bytearray(3))
    store.read_into(PACK, room)
    memory.files[PACK] = flip(HEADER_BYTES)(memory.files[PACK])

    with pytest.raises(Damaged):
        store.read_into(PACK, room)
    del memory.files[PACK]
    with pytest.raises(KeyMissing):
        store.read_into(PACK, room)


@pytest.mark.parametrize("size", [100_000, SEGMENT_BYTES, 4 * SEGMENT_BYTES + 5])
def test_a_chunk_is_read_at_once(memory, size):
    """In a bucket each reading is a round trip; a part of it comes as it did."""
    sealed(memory).write(PACK, [secrets.token_bytes(size)])
    store = reader(memory, KEYS)
    store.read_into(PACK, memoryview(bytearray(size)))
    whole, part = bytearray(size), bytearray(size - 7)
    before = len(memory.operations)

    store.read_into(PACK, memoryview(whole))

    assert [name for name, _ in memory.operations[before:]] == ["read_into"]
    store.read_into(PACK, memoryview(part))
    assert bytes(whole) == store.read(PACK)
    assert part == whole[:-7]


def test_segments_that_change_places_are_damage(memory):
    """Each is bound to its number."""
    sealed(memory).write(PACK, [bytes(2 * SEGMENT_BYTES)])
    good = memory.files[PACK]
    size = SEGMENT_BYTES + 16
    head, one, two = good[:HEADER_BYTES], HEADER_BYTES, HEADER_BYTES + size
    parts = good[two : two + size] + good[one:two] + good[two + size :]
    memory.files[PACK] = head + parts

    with pytest.raises(Damaged):
        reader(memory, KEYS).read(PACK)


@pytest.mark.parametrize(
    "place",
    [
        f"data.zarr/{RUN}/a1/pack/c.1",
        f"data.zarr/{RUN}/a2/pack/c.0",
        f"data.zarr/{'f' * 16}/a1/pack/c.0",
    ],
)
def test_a_file_opens_in_its_own_place_alone(memory, place):
    """A payload of another record is no payload of this one."""
    sealed(memory).write(PACK, [CANARY])
    memory.files[place] = memory.files[PACK]

    with pytest.raises(Damaged, match="belongs to another place"):
        reader(memory, KEYS).read(place)


def test_a_file_of_another_store_does_not_open(memory):
    """Not even under the same data key: the store's id is part of each file's key."""
    sealed(memory).write(PACK, [CANARY])
    found = DataKeys(memory, STORE, KEYS).current()
    spot = sealing.Spot("6" * 32, f"{RUN}/a1/pack", "c.0")

    with pytest.raises(Damaged):
        sealing.decrypted(memory.files[PACK], lambda _: found, spot)


def test_plain_bytes_in_an_encrypted_store_are_refused(memory):
    """Whoever can write a file there cannot have it read."""
    store = sealed(memory)
    memory.files[PACK] = CANARY * 10

    with pytest.raises(Damaged, match="it is not encrypted"):
        store.read(PACK)


def test_another_key_reads_nothing_and_is_told_which_one_is_missing(memory):
    """Sizes and names are there; the message says what is lost without the key."""
    sealed(memory).write(PACK, [CANARY])
    other = reader(memory, {"b" * 16: b"o" * 32})

    assert other.size(PACK) == len(CANARY)
    assert other.names(f"data.zarr/{RUN}/a1") == ["pack"]
    for act in (
        lambda: other.read(PACK),
        lambda: other.read_into(PACK, memoryview(bytearray(3))),
        lambda: other.write(f"data.zarr/{RUN}/a2/pack/c.0", [CANARY]),
    ):
        with pytest.raises(SealedError, match=f"the key {'a' * 16}, and yours") as no:
            act()
        assert "Lost without it are the values" in str(no.value)
        assert "can still be read" in str(no.value)
    assert not [key for key in memory.files if "/a2/" in key]


def test_a_wrong_key_of_the_right_name_opens_nothing(memory):
    """The name is public, and no proof."""
    sealed(memory).write(PACK, [CANARY])
    other = reader(memory, {"a" * 16: b"o" * 32})

    with pytest.raises(SealedError, match="is damaged"):
        other.read(PACK)


def test_a_changed_wrap_opens_nothing(memory):
    """A data key comes back as it was made, or not at all."""
    sealed(memory).write(PACK, [CANARY])
    [key] = [key for key in memory.files if key.startswith("keys/")]
    good = memory.files[key]
    for at in range(len(good)):
        memory.files[key] = flip(at)(good)
        with pytest.raises(SealedError):
            reader(memory, KEYS).read(PACK)


def test_data_keys_that_are_gone_are_told_and_not_made_anew(memory):
    """New ones would only hide that the old ones are lost."""
    store = sealed(memory)
    store.write(PACK, [CANARY])
    store.create("journal/c1/0000000000.rec", b"record")
    for key in [key for key in memory.files if key.startswith("keys/")]:
        del memory.files[key]

    with pytest.raises(SealedError, match="are gone"):
        sealed(memory)
    with pytest.raises(SealedError, match="is gone"):
        reader(memory, KEYS).read(PACK)


def test_a_folder_of_a_data_key_that_was_not_made_is_none(local):
    """Its maker was killed between the folder and the file in it."""
    (local.root / "keys" / ("0" * 16)).mkdir(parents=True)
    store = sealed(local)
    (local.root / "keys" / ("f" * 16)).mkdir()
    store.write(PACK, [CANARY])

    assert reader(local, KEYS).read(PACK) == CANARY
    assert sealed(local).read(PACK) == CANARY


def test_without_a_key_no_data_key_is_made(memory):
    """It would be wrapped under a key that nobody has."""
    with pytest.raises(SealedError, match="are gone"):
        DataKeys(memory, STORE, KEYS).ensure()

    assert memory.files == {}


def test_a_store_whose_maker_was_killed_gets_its_data_key_later(memory):
    """Between ``store.json`` and the first data key nothing was stored."""
    memory.fail_at("create", 1, Unavailable("killed"))
    with pytest.raises(Unavailable):
        sealed(memory)
    assert memory.files == {}

    sealed(memory).write(PACK, [CANARY])

    assert reader(memory, KEYS).read(PACK) == CANARY


def test_of_two_that_make_a_store_at_once_each_reads_the_other(memory):
    """Both data keys stay, and a file names its own."""
    late = DataKeys(memory, STORE, KEYS, source="a test")
    first = sealed(memory)
    hidden = {key: memory.files.pop(key) for key in list(memory.files)}
    late.ensure()
    memory.files |= hidden
    second = SealedBackend(memory, late, STORE)
    first.write(PACK, [b"one"])
    second.write(f"data.zarr/{RUN}/a2/pack/c.0", [b"two"])

    assert len([key for key in memory.files if key.startswith("keys/")]) == 2
    assert second.read(PACK) == b"one"
    assert first.read(f"data.zarr/{RUN}/a2/pack/c.0") == b"two"


def test_threads_read_one_file_at_once(memory):
    """A head that is remembered serves several threads."""
    store, data = sealed(memory), secrets.token_bytes(5 * SEGMENT_BYTES + 9)
    store.write(PACK, [data])
    wrong = []

    def read(offset):
        for _ in range(20):
            target = bytearray(SEGMENT_BYTES + 7)
            store.read_into(PACK, memoryview(target), offset=offset)
            if target != data[offset : offset + len(target)]:
                wrong.append(offset)

    threads = [threading.Thread(target=read, args=(n * 999_999,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


# -- payloads, and plain zarr ------------------------------------------------------


def written(local):
    """Write arrays and a pack into an encrypted store; return its payloads."""
    store = sealed(local)
    objects = Objects(store, RUN)
    draft = objects.draft("a1")
    places = {name: draft.add(blob(array, name)) for name, array in BIG.items()}
    places["small"] = draft.add(Blob(CANARY))
    draft.write()
    objects.publish("a1", {"step": "load"})
    return objects, places


def test_payloads_come_back(local):
    """Every kind of array, compressed or not, and what lies in the pack."""
    _, places = written(local)
    objects = Objects(reader(local, KEYS), RUN)

    for name, array in BIG.items():
        digest, place = places[name]
        assert bytes(objects.read(place, digest)) == array.tobytes()
    digest, place = places["small"]
    assert bytes(objects.read(place, digest)) == CANARY
    assert objects.missing(place for _, place in places.values()) == []
    for path in local.root.rglob("c.*"):
        assert CANARY not in path.read_bytes()


def test_an_unchanged_chunk_is_written_again_and_not_linked(local):
    """Two files with the same inode would be seen to be equal."""
    objects, _ = written(local)
    draft = objects.draft("a2")
    array = BIG["several"].copy()
    array[0] = 1
    digest, place = draft.add(blob(array, "several"))
    draft.write()

    assert bytes(objects.read(place, digest)) == array.tobytes()
    assert {path.stat().st_nlink for path in local.root.rglob("c.*")} == {1}


def test_no_key_is_shown_by_what_holds_it(memory):
    """Logs and tracebacks print values: keys are none of them."""
    store = sealed(memory)
    found = DataKeys(memory, STORE, KEYS).current()

    assert repr(found.secret) not in repr(found)
    assert found.secret.hex() not in repr(found)
    assert found.id.hex() in repr(found)
    assert "kkkk" not in repr(vars(store))


# -- workers -----------------------------------------------------------------------


def at_a_worker(value):
    """Return what a worker makes of a value."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


def test_a_worker_gets_data_keys_and_not_the_key_of_the_user(local):
    """It reads and writes values; it could sign no record, and wrap no data key."""
    store = sealed(local)
    store.write(PACK, [CANARY])

    there, data = at_a_worker(store), pickle.dumps(store)
    there.create(f"data.zarr/{RUN}/a1/o1/c.0", memoryview(CANARY))

    assert there.read(PACK) == CANARY
    assert store.read(f"data.zarr/{RUN}/a1/o1/c.0") == CANARY
    assert KEYS["a" * 16] not in data
    assert CANARY not in (local.root / f"data.zarr/{RUN}/a1/o1/c.0").read_bytes()
    secret = DataKeys(local, STORE, KEYS).current().secret
    assert repr(secret) not in repr(vars(there))
    assert at_a_worker(there).read(PACK) == CANARY


def test_without_a_key_nothing_is_sent_to_workers(local):
    """They could not write: that is said before they are asked."""
    sealed(local).write(PACK, [CANARY])

    with pytest.raises(SealedError, match="the key"):
        pickle.dumps(reader(local, {"b" * 16: b"o" * 32}))


def test_a_worker_without_the_data_key_of_a_file_says_so(local):
    """One that was made after it was sent to it."""
    there = at_a_worker(sealed(local))
    other = sealed(MemoryBackend())
    other.write(PACK, [CANARY])
    there.write(PACK, [b""])
    path = local.root / PACK
    path.chmod(0o600)
    path.write_bytes(other._backend.files[PACK])

    with pytest.raises(SealedError, match="was not sent"):
        there.read(PACK)


def test_what_workers_write_is_encrypted_and_zarr_is_told(local):
    """Chunks of an array, parts of a table; the second writer of one finds it."""
    store = sealed(local)
    draft = Objects(store, RUN).draft("a1")
    shelf = draft.shelf()
    sink = at_a_worker(shelf.array("o1", "<i8", (6,), (3,)))
    chunks = [np.arange(3), np.arange(3, 6)]
    digests = [sink.keep((n,), c.view("u1").data) for n, c in enumerate(chunks)]
    again = sink.keep((0,), chunks[0].view("u1").data)
    table = at_a_worker(shelf.table("o2"))
    part, length = table.keep_part(0, CANARY)
    shelf.adopt(sink, digests, (2,), 24)
    shelf.adopt_part(table, 0, part, length)
    draft.write()

    assert again == digests[0] == chunk_digest(chunks[0].tobytes())
    assert (part, length) == (chunk_digest(CANARY), len(CANARY))
    assert store.read(f"data.zarr/{RUN}/a1/o1/c.1") == chunks[1].tobytes()
    folder = local.root / f"data.zarr/{RUN}/a1"
    for name in ("o1", "o2-0"):
        document = json.loads((folder / name / "zarr.json").read_bytes())
        assert document["codecs"][-1]["name"] == CODEC
    for path in folder.rglob("c.*"):
        assert path.read_bytes().startswith(b"nbseal1")
