"""The store that tests use keeps the promises of the others."""

import pytest
from conformance import BackendTests

from nbresume.errors import KeyMissing, Unavailable
from nbresume.store.memory import MemoryBackend


class TestMemory(BackendTests):
    """The conformance suite."""

    @pytest.fixture
    def backend(self):
        """Return an empty store."""
        return MemoryBackend()


def test_power_loss_takes_what_was_not_sealed(memory):
    """Only created keys and sealed files outlive a power cut."""
    memory.create("a", b"1")
    memory.write("g/b", [b"2"])
    memory.write("h/c", [b"3"])
    memory.publish({"g/d": b"4"})
    memory.seal(["g"])
    memory.publish({"g/e": b"5"})

    memory.lose_power()

    assert memory.read("a") == b"1"
    assert memory.read("g/b") == b"2"
    with pytest.raises(KeyMissing):
        memory.read("h/c")
    with pytest.raises(KeyMissing):
        memory.read("g/e")


def test_it_fails_where_it_is_told_to(memory):
    """The nth call from now on fails, before or after its work."""
    memory.create("a", b"")
    memory.fail_at("create", 2, Unavailable("no"))
    memory.fail_at("create", 3, Unavailable("no"), late=True)
    memory.create("b", b"")

    with pytest.raises(Unavailable):
        memory.create("c", b"")
    with pytest.raises(Unavailable):
        memory.create("d", b"")

    assert set(memory.files) == {"a", "b", "d"}


def test_something_can_happen_inside_a_call(memory):
    """Another writer can come in between, before or after the work of a call."""
    seen = []
    memory.act_at("create", 1, lambda: seen.append(set(memory.files)))
    memory.act_at("create", 1, lambda: seen.append(set(memory.files)), late=True)

    memory.create("a", b"")
    memory.create("b", b"")

    assert seen == [set(), {"a"}]


def test_it_says_what_was_done(memory):
    """Every call is noted with its key."""
    memory.create("a", b"")
    memory.read("a")

    assert memory.operations == [("create", "a"), ("read", "a")]


def test_a_begun_file_needs_its_own_flush(memory):
    """Sealing the folder keeps the name of a file, not bytes that nobody flushed."""
    one, two = memory.begin("g/a", [b"one"]), memory.begin("g/b", [b"two"])
    two.flush()
    for file in (one, two):
        file.close()
    memory.seal(["g"])

    memory.lose_power()

    assert memory.files == {"g/b": b"two"}
