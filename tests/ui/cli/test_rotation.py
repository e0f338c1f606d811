"""A key is changed: at every moment who has the old one, or both, reads everything."""

import json
import secrets
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nbresume.compose.rotating import rotate
from nbresume.compose.stores import Place, open_store
from nbresume.errors import NotTrusted, SealedError
from nbresume.model.envelope import Envelope
from nbresume.store import datakeys

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernel" / "durability"))

from real_kernel import LOAD, hashes, save

OLD, NEW, OTHER = (secrets.token_hex(32) for _ in range(3))
BOTH = f"{NEW},{OLD}"
PAYLOAD = "data.zarr/0123456789abcdef/a1/pack/c.0"
VALUE = b"a value that must not be lost"
CHAINS = ("c1", "c2")


@pytest.fixture
def as_key(monkeypatch):
    """Return what opens a store as somebody with these keys does."""

    def opened(folder, keys, *, create=False):
        monkeypatch.setenv("NBRESUME_KEY", keys)
        place = Place(folder, folder.parent / "data", encrypt=True)
        return open_store(place, create=create)

    return opened


@pytest.fixture
def folder(tmp_path, as_key):
    """Return an encrypted store with a payload and two chains, under the old key."""
    store = as_key(tmp_path / "store", OLD, create=True)
    store.backend.write(PAYLOAD, [VALUE])
    store.backend.seal([PAYLOAD.rpartition("/")[0]])
    for name in CHAINS:
        for revision in range(2):
            append(store, name, revision)
    return tmp_path / "store"


def append(store, name, revision):
    """Append a record under the first key."""
    chain = store.chain(name)
    prev = chain.read(revision - 1).digest if revision else ""
    chain.append(
        Envelope(
            id=name,
            run_id="",
            revision=revision,
            kind="acme.order",
            schema_version=1,
            payload={},
            updated_at=datetime(2026, 11, 5, tzinfo=UTC),
            nonce=secrets.token_hex(8),
            prev=prev,
        )
    )


def reads(store):
    """Say whether value and records of a store are readable, and vouched for."""
    try:
        assert store.backend.read(PAYLOAD) == VALUE
        for name in CHAINS:
            links = store.trust.vouch(store.read_chain(name))
            assert all(link.envelope for link in links)
    except (SealedError, NotTrusted):
        return False
    return True


def payloads(folder):
    """Return the digests of everything but data keys and what is vouched for."""
    ours = ("keys/", "vouched/", "tmp/")
    return {k: v for k, v in hashes(folder).items() if not k.startswith(ours)}


def test_rotation_rewrites_nothing_and_the_new_key_is_enough(folder, as_key):
    """Afterwards another machine with the new key alone reads all of it."""
    before = payloads(folder)
    assert [reads(as_key(folder, k)) for k in (OLD, NEW, BOTH)] == [True, False, True]

    done = rotate(as_key(folder, BOTH), finish=False)

    assert (done.wrapped, done.vouched, done.foreign, done.retired) == (1, 2, [], [])
    assert done.waiting == as_key(folder, OLD).trust.key_ids
    assert [reads(as_key(folder, k)) for k in (OLD, NEW, BOTH)] == [True, True, True]

    done = rotate(as_key(folder, BOTH), finish=True)

    assert done.retired == as_key(folder, OLD).trust.key_ids
    assert done.waiting == []
    assert [reads(as_key(folder, k)) for k in (OLD, NEW, BOTH)] == [False, True, True]
    assert payloads(folder) == before


def test_rotating_twice_changes_nothing(folder, as_key):
    """It may be typed again, and by two at once."""
    rotate(as_key(folder, BOTH), finish=False)
    before = hashes(folder)

    done = rotate(as_key(folder, BOTH), finish=False)

    assert done.wrapped == 0
    assert hashes(folder) == before


def test_what_old_kernels_append_meanwhile_is_vouched_for_by_the_next_one(
    folder, as_key
):
    """A kernel that was started before has the old key until it ends."""
    rotate(as_key(folder, BOTH), finish=False)
    append(as_key(folder, OLD), "c1", 2)
    assert not reads(as_key(folder, NEW))
    assert reads(as_key(folder, BOTH))

    rotate(as_key(folder, BOTH), finish=True)

    assert reads(as_key(folder, NEW))


def test_a_stranger_s_chain_is_not_vouched_for(folder, as_key):
    """Rotating is no way to trust what nobody trusts."""
    stranger = as_key(folder, OTHER)
    append(stranger, "c3", 0)

    done = rotate(as_key(folder, BOTH), finish=True)

    assert done.foreign == ["c3"]
    new = as_key(folder, NEW)
    with pytest.raises(NotTrusted):
        new.trust.vouch(new.read_chain("c3"))


def test_a_new_key_that_does_not_open_everything_retires_nothing(folder, as_key):
    """The old key stays as long as it is needed."""
    rotate(as_key(folder, BOTH), finish=False)
    new_id = as_key(folder, NEW).trust.key_id
    [wrap] = folder.glob(f"keys/*/{new_id}")
    wrap.chmod(0o600)
    wrap.write_bytes(wrap.read_bytes().replace(b"a", b"b").replace(b"1", b"2"))

    with pytest.raises(SealedError, match="the new key does not open everything"):
        rotate(as_key(folder, BOTH), finish=True)

    assert reads(as_key(folder, OLD))


OTHER_PAYLOAD = PAYLOAD.replace("a1", "a2")


def test_who_kept_the_data_keys_reads_nothing_that_is_written_afterwards(
    folder, as_key
):
    """A colleague who has left had the former key, and a copy of what it opened."""
    kept = as_key(folder, OLD)
    assert kept.backend.read(PAYLOAD) == VALUE
    rotate(as_key(folder, BOTH), finish=False)
    as_key(folder, BOTH).backend.write(OTHER_PAYLOAD, [VALUE])
    assert kept.backend.read(OTHER_PAYLOAD) == VALUE

    rotate(as_key(folder, BOTH), finish=True)
    new = as_key(folder, NEW)
    new.backend.write(PAYLOAD.replace("a1", "a3"), [VALUE])

    assert kept.backend.read(PAYLOAD) == VALUE
    with pytest.raises(SealedError):
        kept.backend.read(PAYLOAD.replace("a1", "a3"))
    for keys in (NEW, BOTH):
        store = as_key(folder, keys)
        assert store.backend.read(PAYLOAD.replace("a1", "a3")) == VALUE
        assert store.backend.read(OTHER_PAYLOAD) == VALUE


def test_a_kernel_that_began_before_goes_on_and_is_read(folder, as_key):
    """It writes under the data key that it has, until it ends."""
    kernel = as_key(folder, BOTH, create=True)
    rotate(as_key(folder, BOTH), finish=True)
    as_key(folder, NEW).backend.write(PAYLOAD.replace("a1", "a3"), [VALUE])

    kernel.backend.write(OTHER_PAYLOAD, [VALUE])

    assert as_key(folder, NEW).backend.read(OTHER_PAYLOAD) == VALUE
    assert kernel.backend.read(PAYLOAD.replace("a1", "a3")) == VALUE


def test_a_data_key_under_a_former_key_is_not_written_under(folder, as_key):
    """Who has the former key alone cannot choose what comes from now on."""
    rotate(as_key(folder, BOTH), finish=True)
    other = folder.parent / "other"
    shutil.copytree(folder, other)
    for path in other.glob("keys/*"):
        shutil.rmtree(path)
    planted = as_key(other, OLD)
    planted.data_keys._wrap(datakeys._fresh(), number=10**6)
    [path] = other.glob("keys/*")
    shutil.copytree(path, folder / "keys" / path.name)

    store = as_key(folder, BOTH)
    store.backend.write(OTHER_PAYLOAD, [VALUE])

    assert store.data_keys.current().id.hex() != path.name
    assert as_key(folder, NEW).backend.read(OTHER_PAYLOAD) == VALUE


def test_finishing_again_makes_nothing_new(folder, as_key):
    """One data key for what comes, however often it is typed."""
    for _ in range(3):
        rotate(as_key(folder, BOTH), finish=True)

    assert len(list(folder.glob("keys/*"))) == 2
    assert len(list(folder.glob("keys/*/*"))) == 2


def test_what_a_store_says_that_a_key_vouches_for_is_signed(folder, as_key):
    """Who can write files there cannot have a record of his own be trusted."""
    rotate(as_key(folder, BOTH), finish=True)
    stranger = as_key(folder, OTHER)
    append(stranger, "c3", 0)
    [pins] = folder.glob("vouched/*/*")
    forged = json.loads(pins.read_bytes())
    digest = stranger.chain("c3").read(0).digest
    forged["pins"].append({"id": "c3", "revision": 0, "digest": digest})
    (pins.parent / "more").write_text(json.dumps(forged))
    (pins.parent / "damaged").write_bytes(b"{")
    (pins.parent / "odd").write_text(json.dumps(forged | {"mac": "ä"}))

    new = as_key(folder, NEW)
    assert reads(new)
    with pytest.raises(NotTrusted):
        new.trust.vouch(new.read_chain("c3"))


def test_a_store_in_the_clear_is_rotated_too(tmp_path, as_key, monkeypatch):
    """There are no data keys, and records are signed all the same."""
    monkeypatch.setenv("NBRESUME_KEY", OLD)
    place = Place(tmp_path / "clear", tmp_path / "data")
    append(open_store(place, create=True), "c1", 0)
    monkeypatch.setenv("NBRESUME_KEY", BOTH)
    done = rotate(open_store(place, create=False), finish=True)
    monkeypatch.setenv("NBRESUME_KEY", NEW)
    new = open_store(place, create=False)

    assert (done.wrapped, done.vouched, done.waiting) == (0, 1, [])
    assert new.trust.vouch(new.read_chain("c1"))[0].envelope


# -- the command ------------------------------------------------------------------

STEPS = [LOAD, "%%step a\nx = [1, 2]", "%%step b\ny = x + [3]\nprint(y)"]


@pytest.mark.kernel
def test_a_team_changes_its_key(tmp_path, in_child):
    """Both keys everywhere, rotate, restart, finish: nobody ever is without values."""
    save(tmp_path / "main.ipynb", *STEPS)

    def run(keys, *words, **env):
        own = {"NBRESUME_KEY": keys, "JUPYTER_DATA_DIR": str(tmp_path / "data")}
        return in_child(*words, env=own | env, cwd=tmp_path)

    assert run(OLD, "run", "main.ipynb", NBRESUME_ENCRYPT="1").code == 0
    first = run(BOTH, "key", "rotate")
    old = run(OLD, "verify", "main.ipynb")
    new = run(NEW, "verify", "main.ipynb")
    last = run(BOTH, "key", "rotate", "--finish")
    resumed = run(NEW, "run", "main.ipynb")
    late = run(OLD, "inspect", "main.ipynb", "a")

    assert first.out.splitlines()[0].startswith("data keys wrapped under ")
    assert first.out.splitlines()[0].endswith(": 1")
    assert "--finish" in first.out
    assert (old.code, new.code) == (0, 0)
    assert "opens nothing here any more" in last.out
    assert resumed.code == 0
    assert (tmp_path / "main.ipynb").read_text().count("[restored]") == 2
    assert late.code == 2
    assert "they take the key" in late.err
    said = first.said + last.said + late.said
    assert not any(key in said for key in (OLD, NEW))


def test_a_key_file_is_renewed(tmp_path, as_key, nbresume, monkeypatch):
    """A fresh key comes first and the former one stays below; nothing gets foreign."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    place = Place(tmp_path / "store", tmp_path / "data" / "nbresume", encrypt=True)
    store = open_store(place, create=True)
    store.backend.write(PAYLOAD, [VALUE])
    for name in CHAINS:
        append(store, name, 0)
    file = tmp_path / "data" / "nbresume" / "key"
    former = file.read_text()

    done = nbresume("key", "renew")

    assert done.code == 0
    assert former.strip() not in done.said
    assert file.read_text().split()[1:] == former.split()
    assert file.stat().st_mode & 0o777 == 0o600
    assert nbresume("key", "rotate", tmp_path / "store", "--finish").code == 0
    file.write_text(file.read_text().split()[0])
    assert reads(open_store(place, create=False))
    as_key(tmp_path / "store", OLD)
    refused = nbresume("key", "renew")
    assert refused.code == 3
    assert "nbresume key new" in refused.err


def test_without_a_key_nothing_is_rotated(tmp_path, folder, nbresume, monkeypatch):
    """Somebody who only looks has none."""
    monkeypatch.delenv("NBRESUME_KEY")
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "nobody"))
    before = hashes(folder)

    for words in (["renew"], ["rotate", folder]):
        assert nbresume("key", *words).code == 2
    assert hashes(folder) == before
