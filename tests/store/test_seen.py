"""Notes of attempts that were seen reaching out: durable, and the first one stays."""

import errno

import pytest

from nbresume.errors import Unavailable, UsageError
from nbresume.store import disk
from nbresume.store.local_open import open_local
from nbresume.store.memory import MemoryBackend
from nbresume.store.seen import Seen


@pytest.fixture(params=["memory", "local"])
def backend(request, tmp_path):
    """Return an empty store of each kind."""
    if request.param == "memory":
        return MemoryBackend()
    return open_local(tmp_path / "store", create=True)


def test_a_note_is_found(backend):
    """By its run and attempt, and only there."""
    Seen(backend, "run-1").create("a-1", b"note")

    assert Seen(backend, "run-1").find("a-1") == b"note"
    assert Seen(backend, "run-1").find("a-2") is None
    assert Seen(backend, "run-2").find("a-1") is None


def test_the_first_note_stays(backend):
    """A second one of the same attempt changes nothing and is no error."""
    seen = Seen(backend, "run-1")
    seen.create("a-1", b"first")
    seen.create("a-1", b"second")

    assert seen.find("a-1") == b"first"


def test_a_note_survives_power_loss():
    """It is durable once `create` returns."""
    backend = MemoryBackend()
    Seen(backend, "run-1").create("a-1", b"note")
    backend.lose_power()

    assert Seen(backend, "run-1").find("a-1") == b"note"


def test_a_note_that_cannot_be_written_is_told():
    """The caller decides what that means."""
    backend = MemoryBackend()
    full = disk.told(OSError(errno.ENOSPC, ""), "the note was not written")
    backend.fail_at("create", 1, full)

    with pytest.raises(Unavailable, match="the disk is full"):
        Seen(backend, "run-1").create("a-1", b"note")


def test_an_attempt_that_leads_out_of_the_store_is_refused(backend):
    """Keys are checked as everywhere."""
    with pytest.raises(UsageError):
        Seen(backend, "run-1").create("../a-1", b"note")


def test_finding_writes_nothing(backend):
    """Reading makes no folder."""
    Seen(backend, "run-1").find("a-1")

    assert backend.names("seen") == []
