"""Whose records count, and who may read the key."""

import os
import secrets

import pytest
from msgspec.structs import replace
from store_checks import filled, record

from nbresume.errors import Damaged, NotTrusted
from nbresume.model.codec import encode_envelope
from nbresume.model.digests import record_digest
from nbresume.store import disk
from nbresume.store.chain import Chain
from nbresume.store.trust import Link, Trust, load_keys, load_pins, save_pin

OTHER = Trust(b"o" * 32)


def link_of(envelope):
    """Return the envelope as it would be found."""
    data = encode_envelope(envelope)
    return Link(envelope.revision, record_digest(data), len(data), envelope)


def chain_of(*signers):
    """Return consecutive links, each signed by its signer."""
    links = []
    for revision, signer in enumerate(signers):
        prev = links[-1].digest if links else ""
        links.append(link_of(signer.sign(record(revision, prev=prev))))
    return links


def sound(links):
    """Return the revisions that kept their envelope."""
    return [link.revision for link in links if link.envelope is not None]


def test_the_key_has_a_public_name_that_is_not_the_key(trust):
    """A key is told apart from others without being shown."""
    assert len(trust.key_id) == 16
    assert trust.key_id == Trust(b"k" * 32).key_id
    assert trust.key_id != OTHER.key_id
    assert trust.key_id not in (b"k" * 32).hex()


def test_own_records_are_vouched_for(trust):
    """What this user wrote is used."""
    links = chain_of(trust, trust, trust)

    assert trust.vouch(links) == links
    assert trust.vouch([]) == []


def test_foreign_records_are_refused_with_a_way_out(trust):
    """A store that somebody else wrote is not loaded before it is trusted."""
    with pytest.raises(NotTrusted, match="Type nbresume trust"):
        trust.vouch(chain_of(OTHER))
    with pytest.raises(NotTrusted):
        trust.vouch([link_of(record(0))])


@pytest.mark.parametrize("mac", ["", "0" * 64, "é", "0" * 63 + "\N{BULLET}"])
def test_a_signature_that_is_none_is_damage(trust, mac):
    """Whatever text stands there."""
    (link,) = chain_of(trust)
    other = link_of(replace(link.envelope, mac=mac))

    assert sound(trust.vouch([other])) == []


def test_a_record_that_we_wrote_vouches_for_the_one_before(trust):
    """Records of another key that our own record hangs on are used."""
    links = chain_of(OTHER, OTHER, trust)

    assert trust.vouch(links) == links


def test_a_foreign_head_is_refused_whoever_wrote_below(trust):
    """A record that somebody else appended after ours is refused."""
    with pytest.raises(NotTrusted):
        trust.vouch(chain_of(trust, trust, OTHER))


def test_a_pinned_record_vouches_for_all_before_it(trust):
    """Trusting a store once is enough for everything that its head hangs on."""
    links = chain_of(OTHER, OTHER, OTHER)
    pinned = Trust(b"k" * 32, pins={("c1", 2): links[2].digest})

    assert pinned.vouch(links) == links
    assert pinned.vouch(links[:3]) == links
    with pytest.raises(NotTrusted):
        pinned.vouch(links[:2])


def test_a_pin_holds_for_one_digest(trust):
    """A record that was replaced after it was trusted is refused."""
    pinned = Trust(b"k" * 32, pins={("c1", 0): "0" * 64})

    with pytest.raises(NotTrusted):
        pinned.vouch(chain_of(OTHER))


def test_a_wrong_signature_of_our_own_key_is_damage(trust):
    """A record whose text was changed is damaged."""
    links = chain_of(trust, trust)
    forged = link_of(replace(links[1].envelope, payload={"n": 99}))

    assert sound(trust.vouch([links[0], forged])) == [0]


def test_a_damaged_record_stays_damaged_when_its_quarantine_names_it(trust):
    """The record that quarantines damaged bytes does not bring them back."""
    good = chain_of(trust, trust)
    broken = trust.sign(record(1, prev=good[0].digest))
    broken = link_of(replace(broken, mac="0" * 64))
    after = link_of(trust.sign(record(2, prev=broken.digest)))

    assert sound(trust.vouch([good[0], broken, after])) == [0, 2]


def test_a_record_that_the_next_one_does_not_name_is_damaged(trust):
    """A record put in the place of another is not used, whoever signed it."""
    links = chain_of(trust, trust, trust)
    for signer in (trust, OTHER):
        other = link_of(signer.sign(record(1, nonce="other", prev=links[0].digest)))

        assert sound(trust.vouch([links[0], other, links[2]])) == [0, 2]


def test_damage_in_the_middle_leaves_own_records_below(trust):
    """One damaged record does not take the ones before it along."""
    links = chain_of(trust, trust, trust)
    links[1] = Link(1, "0" * 64, 3, None)

    assert sound(trust.vouch(links)) == [0, 2]


def test_records_of_a_former_key_count_and_new_ones_are_signed_by_the_new_one(trust):
    """After a rotation old records are own records, also at the head of a chain."""
    rotated = Trust(b"n" * 32, former=[b"x" * 32, b"k" * 32])
    links = chain_of(trust, trust)

    assert rotated.vouch(links) == links
    assert rotated.sign(record(2)).key_id == Trust(b"n" * 32).key_id
    assert rotated.key_ids[0] == rotated.key_id
    assert set(rotated.key_ids[1:]) == {trust.key_id, Trust(b"x" * 32).key_id}


def test_a_wrong_signature_of_a_former_key_is_damage(trust):
    """A former key is no way around the signature."""
    rotated = Trust(b"n" * 32, former=[b"k" * 32])
    links = chain_of(trust, trust)
    forged = link_of(replace(links[1].envelope, payload={"n": 99}))

    assert sound(rotated.vouch([links[0], forged])) == [0]


def test_all_keys_know_a_mark_and_the_first_makes_it():
    """A backup that was signed before a key was changed stays one's own."""
    was = Trust(b"former" + bytes(26)).mark(b"a table of contents")
    now = Trust(b"new" + bytes(29), former=[b"former" + bytes(26)])

    assert now.knows(b"a table of contents", was)
    assert not now.knows(b"another table", was)
    assert not Trust(b"new" + bytes(29)).knows(b"a table of contents", was)
    assert now.mark(b"x") == Trust(b"new" + bytes(29)).mark(b"x")


def test_who_accepts_more_records_keeps_all_keys():
    """Those of a former key count as before, and its order stays."""
    former = [b"one" + bytes(29), b"two" + bytes(29)]
    now = Trust(b"new" + bytes(29), former=former)

    more = now.accepting({("run1", 0): "digest"})

    assert more.key_ids == now.key_ids
    assert more.mark(b"x") == now.mark(b"x")
    links = chain_of(OTHER)
    pin = {(links[0].envelope.id, 0): links[0].digest}
    assert more.accepting(pin).vouch(links) == links


def test_a_chain_in_the_journal_is_vouched_for(memory, trust):
    """What was appended is vouched for when it is read again."""
    chain = Chain(memory, trust, "c1")
    links = filled(chain, 4)

    assert trust.vouch(chain.follow(-1)) == links


def test_the_key_is_made_once_and_private(tmp_path):
    """The key is made at first use, and only its user may read it."""
    path = tmp_path / "jupyter" / "nbresume" / "key"

    made = load_keys(path, create=lambda: secrets.token_bytes(32))

    assert [len(key) for key in made] == [32]
    assert load_keys(path, create=lambda: b"x" * 32) == made
    assert load_keys(path, create=None) == made
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert os.listdir(path.parent) == ["key"]  # noqa: PTH208


def test_of_two_makers_one_key_is_used_by_both(tmp_path):
    """Two kernels that start at once use one key."""
    path = tmp_path / "key"

    def second():
        load_keys(path, create=lambda: b"b" * 32)
        return b"a" * 32

    assert load_keys(path, create=second) == (b"b" * 32,)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o644])
def test_a_key_that_others_can_read_is_refused(tmp_path, mode):
    """A key that is no secret any more signs nothing."""
    path = tmp_path / "key"
    load_keys(path, create=lambda: b"a" * 32)
    path.chmod(mode)

    with pytest.raises(NotTrusted, match="chmod 600"):
        load_keys(path, create=None)


@pytest.mark.parametrize("text", ["", "zz" * 32, "aa" * 31, "ä" * 32])
def test_a_damaged_key_is_refused(tmp_path, text):
    """A key file with something else in it is not replaced by a new key."""
    path = tmp_path / "key"
    path.write_text(text)
    path.chmod(0o600)

    with pytest.raises(NotTrusted, match="64 hexadecimal"):
        load_keys(path, create=lambda: b"a" * 32)

    assert path.read_text() == text


def folders_flushed(monkeypatch):
    """Return the list to which each folder is added that is flushed from now on."""
    flushed = []
    flush_folder = disk.flush_folder

    def noted(path):
        flushed.append(path)
        flush_folder(path)

    monkeypatch.setattr(disk, "flush_folder", noted)
    return flushed


def test_the_folders_of_a_new_key_survive_power_loss(tmp_path, monkeypatch):
    """Every name on the way to it is flushed: all records hang on it."""
    flushed = folders_flushed(monkeypatch)

    load_keys(tmp_path / "new" / "nbresume" / "key", create=lambda: b"a" * 32)

    expected = [tmp_path, tmp_path / "new", tmp_path / "new" / "nbresume"]
    assert {str(path) for path in expected} <= set(flushed)


def test_a_key_made_by_a_killed_process_survives_power_loss(tmp_path, monkeypatch):
    """Its maker may have ended before the folders were flushed."""
    path = tmp_path / "nbresume" / "key"
    load_keys(path, create=lambda: b"a" * 32)
    flushed = folders_flushed(monkeypatch)

    load_keys(path, create=None)
    assert flushed == []
    load_keys(path, create=lambda: b"b" * 32)

    assert set(flushed) == {str(tmp_path), str(tmp_path / "nbresume")}


def test_former_keys_stand_below_the_first(tmp_path):
    """After a rotation the file holds more than one key, the newest first."""
    path = tmp_path / "key"
    path.write_text("ab" * 32 + "\n" + "cd" * 32 + "\n")
    path.chmod(0o600)

    assert load_keys(path, create=None) == (b"\xab" * 32, b"\xcd" * 32)


def test_no_key_is_made_by_reading(tmp_path):
    """A command that only looks makes no key."""
    with pytest.raises(NotTrusted, match="does not exist"):
        load_keys(tmp_path / "key", create=None)

    assert list(tmp_path.iterdir()) == []


def test_pins_are_kept(tmp_path):
    """What was trusted once stays trusted."""
    path = tmp_path / "pins" / "store.json"

    assert load_pins(path) == {}
    save_pin(path, "c1", 3, "aa")
    save_pin(path, "c2", 0, "bb")
    save_pin(path, "c1", 3, "cc")

    assert load_pins(path) == {("c1", 3): "cc", ("c2", 0): "bb"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["store.json"]


def test_damaged_pins_are_told(tmp_path):
    """A damaged list of trusted records is not taken for an empty one."""
    path = tmp_path / "pins"
    path.write_bytes(b"[{")

    with pytest.raises(Damaged):
        save_pin(path, "c1", 0, "aa")

    assert path.read_bytes() == b"[{"
