"""What every backend must do; a test class inherits it and gives a `backend`."""

import threading
from datetime import UTC, datetime

import pytest

from nbresume.errors import Damaged, KeyMissing, KeyTaken, Unavailable, UsageError

KEY = "journal/c1/0000000000.rec"


class BackendTests:
    """The promises of `nbresume.store.port.Backend`."""

    def test_what_was_created_is_read(self, backend):
        """A created key holds its bytes."""
        backend.create(KEY, b"one")

        assert backend.read(KEY) == b"one"
        assert backend.size(KEY) == 3

    def test_a_key_is_created_once(self, backend):
        """The second creator of a key loses, and the first one's bytes stay."""
        backend.create(KEY, b"one")

        with pytest.raises(KeyTaken):
            backend.create(KEY, b"one")

        assert backend.read(KEY) == b"one"

    def test_a_key_appears_after_what_has_to_be_over(self, backend):
        """When that is asked for, the key cannot be seen yet."""
        seen = []

        backend.create(KEY, b"one", after=lambda: seen.append(backend.size(KEY)))

        assert seen == [None]
        assert backend.read(KEY) == b"one"

    def test_a_key_does_not_appear_if_that_fails(self, backend):
        """Its error is raised as it is, and the key can be created later."""

        def fail():
            raise Unavailable("the payloads were not written")

        with pytest.raises(Unavailable, match="the payloads"):
            backend.create(KEY, b"one", after=fail)

        assert backend.size(KEY) is None
        backend.create(KEY, b"two")
        assert backend.read(KEY) == b"two"

    def test_staged_metadata_is_seen_when_it_is_shown(self, backend):
        """Before that nothing is under its keys; it replaces what was there."""
        backend.publish({"g/zarr.json": b"{}"})
        staged = backend.stage({"g/zarr.json": b'{"a":1}', "h/zarr.json": b"[]"})

        assert backend.read("g/zarr.json") == b"{}"
        assert backend.size("h/zarr.json") is None
        staged.show()

        assert backend.read("g/zarr.json") == b'{"a":1}'
        assert backend.read("h/zarr.json") == b"[]"

    def test_discarded_metadata_leaves_nothing(self, backend):
        """As if it had never been prepared."""
        backend.publish({"g/zarr.json": b"{}"})
        before = backend.names("tmp")

        backend.stage({"g/zarr.json": b"[]"}).discard()

        assert backend.read("g/zarr.json") == b"{}"
        assert backend.names("tmp") == before

    def test_one_of_many_threads_wins(self, backend):
        """Of several writers of a key exactly one wins, and its bytes are there."""
        won, barrier = [], threading.Barrier(8)

        def race(number):
            barrier.wait()
            try:
                backend.create(KEY, b"%d" % number)
            except KeyTaken:
                return
            won.append(number)

        threads = [threading.Thread(target=race, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert [b"%d" % number for number in won] == [backend.read(KEY)]

    def test_a_written_file_is_whole_and_read(self, backend):
        """A file of a group is made of all the buffers that were given."""
        backend.write("g/a", [b"one", bytearray(b"two"), memoryview(b"six"), b""])
        backend.seal(["g"])

        assert backend.read("g/a") == b"onetwosix"

    def test_a_begun_file_is_whole_and_flushed_later(self, backend):
        """A file whose flush is left for later is read like any other."""
        file = backend.begin("g/a", [b"one", memoryview(b"two")])
        try:
            with pytest.raises(KeyTaken):
                backend.begin("g/a", [b"two"])
            file.flush()
        finally:
            file.close()
        backend.seal(["g"])

        assert backend.read("g/a") == b"onetwo"

    def test_a_file_is_written_once(self, backend):
        """A file of a group is not replaced."""
        backend.write("g/a", [b"one"])

        with pytest.raises(KeyTaken):
            backend.write("g/a", [b"two"])

        assert backend.read("g/a") == b"one"

    def test_derived_metadata_is_replaced(self, backend):
        """Publishing again leaves the newer text."""
        backend.publish({"g/zarr.json": b"{}", "g/a/zarr.json": b"[]"})
        backend.publish({"g/zarr.json": b'{"a":1}'})

        assert backend.read("g/zarr.json") == b'{"a":1}'
        assert backend.read("g/a/zarr.json") == b"[]"

    def test_a_link_holds_the_same_bytes(self, backend):
        """A linked file has the bytes of its source, and a name of its own."""
        backend.write("g/a", [b"one"])
        backend.link("g/a", "h/b")
        backend.seal(["h"])
        backend.delete("g/a")

        assert backend.read("h/b") == b"one"
        assert backend.size("g/a") is None

    def test_a_link_replaces_nothing(self, backend):
        """Linking to a name that is taken is refused."""
        backend.write("g/a", [b"one"])
        backend.write("g/b", [b"two"])

        with pytest.raises(KeyTaken):
            backend.link("g/a", "g/b")
        with pytest.raises(KeyMissing):
            backend.link("g/z", "g/c")

        assert backend.read("g/b") == b"two"

    def test_keys_that_share_their_bytes_are_known(self, backend):
        """They say the same, or nothing where the bytes were copied."""
        backend.write("g/a", [b"one"])
        backend.write("g/b", [b"one"])
        backend.link("g/a", "h/c")

        assert backend.shared_as("g/a") == backend.shared_as("h/c")
        assert backend.shared_as("g/b") == ""
        backend.delete("g/a")
        assert backend.shared_as("h/c") == ""
        assert backend.shared_as("g/a") == ""

    def test_a_key_says_when_it_was_written(self, backend):
        """Within what clocks may differ."""
        backend.write("g/a", [b"one"])

        written_at = backend.written_at("g/a")
        assert abs((datetime.now(UTC) - written_at).total_seconds()) < 3600
        assert backend.written_at("g/b") is None

    def test_only_an_empty_folder_is_pruned(self, backend):
        """Nothing happens to another one, or to one that is not there."""
        backend.write("g/a/c.0", [b"one"])
        backend.write("g/b", [b"two"])

        backend.prune("g")
        backend.prune("nowhere/at/all")
        assert backend.read("g/b") == b"two"
        backend.delete("g/a/c.0")
        backend.prune("g/a")

        assert backend.names("g") == ["b"]
        backend.write("g/a/c.0", [b"new"])
        assert backend.read("g/a/c.0") == b"new"

    def test_deleting_what_is_not_there_is_no_error(self, backend):
        """A file that is gone already needs no second deletion."""
        backend.delete("g/a")

        assert backend.size("g/a") is None

    def test_a_missing_key_is_said_to_be_missing(self, backend):
        """Nothing is made up for a key that does not exist."""
        with pytest.raises(KeyMissing):
            backend.read("g/a")
        with pytest.raises(KeyMissing):
            backend.read_into("g/a", memoryview(bytearray(1)))

        assert backend.size("g/a") is None
        assert backend.names("g") == []

    def test_a_slice_is_read_into_memory_that_is_there(self, backend):
        """Part of a file is read without the rest."""
        backend.write("g/a", [b"abcdef"])
        target = bytearray(3)

        backend.read_into("g/a", memoryview(target), offset=2)

        assert target == b"cde"

    @pytest.mark.parametrize("offset", [0, 4, 100])
    def test_too_few_bytes_are_damage(self, backend, offset):
        """A file that ends too early is damaged, never filled up with zeros."""
        backend.write("g/a", [b"abcdef"])

        with pytest.raises(Damaged, match="too early"):
            backend.read_into("g/a", memoryview(bytearray(7)), offset=offset)

    def test_names_are_those_directly_below(self, backend):
        """A listing shows files and folders, one level deep."""
        backend.create("j/a", b"")
        backend.create("j/b/c", b"")
        backend.create("other", b"")

        assert sorted(backend.names("j")) == ["a", "b"]
        assert {"j", "other"} <= set(backend.names(""))

    @pytest.mark.parametrize(
        "key", ["", "/a", "a/", "a//b", "../a", "a/../b", ".", "a/.", "a\n", "ä", "a b"]
    )
    def test_a_key_cannot_lead_out_of_the_store(self, backend, key):
        """An id that would name a file elsewhere is refused."""
        with pytest.raises(UsageError):
            backend.create(key, b"")
        with pytest.raises(UsageError):
            backend.write(key, [b""])
        with pytest.raises(UsageError):
            backend.read(key)
