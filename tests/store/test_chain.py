"""One record per revision, whoever writes, and whatever is found there."""

import json
import subprocess
import sys

import pytest
from store_checks import break_file, filled, flip, record

from nbresume.errors import ConflictError, KeyMissing, KeyTaken, Unavailable, UsageError
from nbresume.model.digests import record_digest
from nbresume.store.chain import Chain
from nbresume.store.local_open import open_local
from nbresume.store.memory import MemoryBackend
from nbresume.store.trust import Trust

RACERS = 8
REVISIONS = 100

RACER = """
import sys, json
from datetime import UTC, datetime
from pathlib import Path
from nbresume.errors import ConflictError
from nbresume.model.envelope import Envelope
from nbresume.store.chain import Chain
from nbresume.store.local_open import open_local
from nbresume.store.trust import Trust

root, name, revisions = sys.argv[1], sys.argv[2], int(sys.argv[3])
chain = Chain(open_local(Path(root), create=True), Trust(b"k" * 32), "c1")
won, prev = [], ""
print("ready", flush=True)
sys.stdin.read(1)
for revision in range(revisions):
    wanted = Envelope(
        id="c1", run_id="", revision=revision, kind="acme.race", schema_version=1,
        payload={"by": name}, updated_at=datetime.now(UTC), nonce=name, prev=prev,
    )
    try:
        link = chain.append(wanted)
        won.append(revision)
    except ConflictError:
        link = chain.read(revision)
    prev = link.digest
print(json.dumps(won))
"""


def test_an_empty_chain_has_no_newest(memory, trust):
    """Before the first record there is none."""
    chain = Chain(memory, trust, "c1")

    assert chain.newest() is None
    assert chain.follow(-1) == []
    with pytest.raises(KeyMissing):
        chain.read(0)


def test_what_was_appended_is_read(memory, trust):
    """A record comes back as it was signed and stored."""
    chain = Chain(memory, trust, "c1")
    links = filled(chain, 3)

    assert chain.newest() == 2
    assert [chain.read(revision) for revision in range(3)] == links
    assert links[1].envelope.prev == links[0].digest
    assert links[2].digest == record_digest(memory.read("journal/c1/0000000002.rec"))
    assert links[2].size == memory.size("journal/c1/0000000002.rec")


def test_what_others_appended_is_followed_without_a_listing(memory, trust):
    """A kernel sees what was appended since it looked, in as many reads."""
    chain = Chain(memory, trust, "c1")
    links = filled(chain, 4)
    memory.operations.clear()

    assert chain.follow(1) == links[2:]
    assert [name for name, _ in memory.operations] == ["read"] * 3


def test_other_files_in_the_journal_are_ignored(memory, trust):
    """Leftovers of copy programs are no records."""
    filled(Chain(memory, trust, "c1"), 2)
    for name in ("0000000009.rec~", "9.rec", "00000000009.rec", "x.partial"):
        memory.files[f"journal/c1/{name}"] = b""

    assert Chain(memory, trust, "c1").newest() == 1


def test_the_second_writer_of_a_revision_is_told(memory, trust):
    """Of two writers of the same revision one wins, and the other is told."""
    first, second = Chain(memory, trust, "c1"), Chain(memory, trust, "c1")
    link = first.append(record(0, nonce="first"))

    with pytest.raises(ConflictError, match="another writer's record") as caught:
        second.append(record(0, nonce="second"))

    assert second.read(0) == link
    assert caught.value.ids == {"id": "c1", "expected": None, "found": 0}


def test_an_id_that_leads_elsewhere_is_refused(memory, trust):
    """A checkpoint id is a name, not a path."""
    with pytest.raises(UsageError):
        Chain(memory, trust, "../c1")


def check_lost_reply(backend, trust):
    """Append, lose the reply, append again: the same record counts as won."""
    chain = Chain(backend, trust, "c1")
    first = chain.append(record(0))

    assert chain.append(record(0)) == first
    assert chain.newest() == 0


def test_a_lost_reply_is_recognized(memory, local, trust):
    """A writer that asks again after a failure learns that it had won."""
    check_lost_reply(memory, trust)
    check_lost_reply(local, trust)


def test_a_failure_after_the_write_is_recognized(memory, trust):
    """A device that fails after it stored the record does not make it lost."""
    chain = Chain(memory, trust, "c1")
    memory.fail_at("create", 1, Unavailable("no reply"), late=True)
    with pytest.raises(Unavailable):
        chain.append(record(0))

    assert chain.append(record(0)) == chain.read(0)


def test_a_failure_before_the_write_leaves_the_revision_free(memory, trust):
    """A device that stored nothing can be asked again."""
    chain = Chain(memory, trust, "c1")
    memory.fail_at("create", 1, Unavailable("full"))
    with pytest.raises(Unavailable):
        chain.append(record(0))

    assert chain.newest() is None
    assert chain.append(record(0)).revision == 0


class ForgetfulBackend(MemoryBackend):
    """Says so many times that a key is taken, and has not got it."""

    lies = 0

    def create(self, key, data, **options):
        """Lie, then create."""
        if self.lies:
            self.lies -= 1
            raise KeyTaken(key)
        super().create(key, data, **options)


@pytest.mark.parametrize(("lies", "succeeds"), [(2, True), (3, False)])
def test_a_key_that_is_taken_and_missing_is_tried_again(trust, lies, succeeds):
    """A service that contradicts itself is asked again, but not for ever."""
    backend = ForgetfulBackend()
    backend.lies = lies
    chain = Chain(backend, trust, "c1")

    if succeeds:
        chain.append(record(0))
        assert chain.newest() == 0
    else:
        with pytest.raises(Unavailable, match="says that it exists"):
            chain.append(record(0))


@pytest.mark.parametrize(
    "change",
    [
        lambda _: b"",
        lambda data: data[:-2],
        lambda data: data + b"x",
        lambda data: data.replace(b'"n":1', b'"n" :1'),
        lambda data: data.replace(b'"id":"c1"', b'"id":"c2"'),
        lambda data: data.replace(b'"revision":1', b'"revision":2'),
        lambda data: data.replace(b'"epoch"', b'"epoc"'),
        flip(0),
        flip(-1),
    ],
)
def test_a_damaged_record_keeps_its_place(local, trust, change):
    """A record that is damaged in any way is seen as damaged, and stays there."""
    chain = Chain(local, trust, "c1")
    links = filled(chain, 3)
    path = local.root / "journal" / "c1" / "0000000001.rec"
    break_file(path, change)

    found = chain.follow(-1)

    assert [link.envelope is None for link in found] == [False, True, False]
    assert found[1].digest == record_digest(path.read_bytes()) != links[1].digest
    with pytest.raises(ConflictError):
        chain.append(record(1, nonce="other"))


def test_every_flipped_bit_of_a_record_is_found(memory, trust):
    """No byte of a record can change without being noticed."""
    chain = Chain(memory, trust, "c1")
    filled(chain, 1)
    good = memory.files["journal/c1/0000000000.rec"]
    for at in range(len(good)):
        memory.files["journal/c1/0000000000.rec"] = flip(at)(good)
        link = chain.read(0)

        assert link.digest != record_digest(good)
        if link.envelope is not None and link.envelope.key_id == trust.key_id:
            assert trust.vouch([link])[0].envelope is None


def race(root):
    """Let several processes append the same revisions at once; who won which."""
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(root), f"racer-{n}", str(REVISIONS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(RACERS)
    ]
    for racer in racers:
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        racer.stdin.write("g")
        racer.stdin.flush()
    return {f"racer-{n}": json.loads(r.communicate()[0]) for n, r in enumerate(racers)}


def test_eight_processes_make_one_gapless_chain(tmp_path):
    """Of eight kernels that append at once exactly one writes each revision."""
    trust = Trust(b"k" * 32)

    won = race(tmp_path / "store")

    chain = Chain(open_local(tmp_path / "store", create=False), trust, "c1")
    links = trust.vouch(chain.follow(-1))
    by = [link.envelope.payload["by"] for link in links]
    assert len(links) == REVISIONS
    assert sorted(r for each in won.values() for r in each) == list(range(REVISIONS))
    assert all(by[revision] == name for name in won for revision in won[name])
    digests = ["", *(link.digest for link in links)]
    assert [link.envelope.prev for link in links] == digests[:-1]
