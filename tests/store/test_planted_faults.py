"""The checks of the other tests catch what they are meant to catch.

Each test plants one fault in the store and expects one of their checks to fail.
"""

from pathlib import Path

import blake3
import pytest
from store_checks import counted, record
from test_chain import check_lost_reply
from test_counts import check_order_of_creation
from test_objects import check_every_damage_is_found

from nbresume.errors import KeyTaken
from nbresume.model import digests
from nbresume.store import chain as chain_module
from nbresume.store import chunks, disk, drafts, objects
from nbresume.store.chain import Chain
from nbresume.store.local_open import open_local

KEY = "journal/c1/0000000000.rec"


def check_a_record_is_never_replaced(backend):
    """Create a key twice; the second attempt must lose and change nothing."""
    backend.create(KEY, b"first")
    with pytest.raises(KeyTaken):
        backend.create(KEY, b"second")
    assert backend.read(KEY) == b"first"


def fails(check, *arguments):
    """Return whether the check goes red."""
    try:
        check(*arguments)
    except (AssertionError, pytest.fail.Exception):
        return True
    return False


def rename(source, path):
    """Stand for `disk.link_new` in the way that replaces what is there."""
    Path(source).replace(path)
    Path(source).touch()
    return True


def test_a_rename_in_place_of_a_link_is_caught(local, monkeypatch):
    """A store that replaces an existing record is found out."""
    assert not fails(
        check_a_record_is_never_replaced,
        open_local(local.root.with_name("other"), create=True),
    )
    monkeypatch.setattr(disk, "link_new", rename)

    assert fails(check_a_record_is_never_replaced, local)


def append_one(local, trust, monkeypatch):
    """Append a second record and return what reached the system."""
    chain = Chain(local, trust, "c1")
    prev = chain.append(record(0)).digest
    with counted(monkeypatch) as seen:
        chain.append(record(1, prev=prev))
    return seen


def test_a_missing_flush_of_the_file_is_caught(local, trust, monkeypatch):
    """A record that could be empty after a power cut is found out."""
    write_new = disk.write_new

    def unflushed(path, buffers, **options):
        write_new(path, buffers, **{**options, "lasting": False})

    monkeypatch.setattr(disk, "write_new", unflushed)

    assert fails(check_order_of_creation, append_one(local, trust, monkeypatch))


def test_a_missing_flush_of_the_folder_is_caught(local, trust, monkeypatch):
    """A record whose name could be lost with the power is found out."""
    monkeypatch.setattr(disk, "flush_folder", lambda path: None)

    assert fails(check_order_of_creation, append_one(local, trust, monkeypatch))


def test_a_flush_after_the_link_is_caught(local, trust, monkeypatch):
    """A record that appears before its bytes are safe is found out."""
    flush, link_new = disk.flush, disk.link_new

    def linked_first(source, path):
        made = link_new(source, path)
        with Path(source).open("rb") as file:
            flush(file.fileno())
        return made

    monkeypatch.setattr(disk, "link_new", linked_first)
    write_new = disk.write_new
    monkeypatch.setattr(
        disk,
        "write_new",
        lambda path, data, **how: write_new(path, data, **{**how, "lasting": False}),
    )

    assert fails(check_order_of_creation, append_one(local, trust, monkeypatch))


def test_reading_without_a_digest_is_caught(local, monkeypatch):
    """A store that hands out changed bytes is found out."""
    known: dict[int, bytes] = {}

    def trusting(data):
        # The digest of the first bytes of this length, whatever they are now.
        return known.setdefault(len(data), blake3.blake3(data).digest())

    for module in (digests, chunks):
        monkeypatch.setattr(module, "chunk_digest", trusting)
    for module in (drafts, objects):
        monkeypatch.setattr(module, "payload_digest", lambda data: trusting(data).hex())
    own_draft = objects.Objects.draft
    monkeypatch.setattr(
        objects.Objects,
        "draft",
        lambda self, group: own_draft(self, group, digest=trusting),
    )

    assert fails(check_every_damage_is_found, local)


def test_a_writer_that_does_not_read_back_is_caught(local, trust, monkeypatch):
    """A writer that takes its own record for another's is found out."""

    def blind(self, found, wanted, taken):
        raise chain_module.ConflictError(wanted.id) from taken

    def check():
        try:
            check_lost_reply(local, trust)
        except chain_module.ConflictError:
            pytest.fail("an own record was taken for another's")

    assert not fails(check)
    monkeypatch.setattr(Chain, "_own", blind)

    assert fails(check)
