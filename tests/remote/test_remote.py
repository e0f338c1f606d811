"""A store in a bucket: the conformance suite, and what is refused."""

import pytest
from conformance import BackendTests

from nbresume.errors import KeyTaken, Unavailable, Unfit, UsageError
from nbresume.store.remote_open import open_remote


class TestRemote(BackendTests):
    """The conformance suite, over S3."""

    @pytest.fixture
    def backend(self, bucket):
        """Return an empty store."""
        return open_remote(bucket)


def test_a_lost_reply_of_a_file_is_read_back(bucket):
    """A file of a group that is there with the same bytes was written by us."""
    backend = open_remote(bucket)
    backend.write("g/a", [b"one"])
    backend.write("g/a", [b"o", b"ne"])

    with pytest.raises(KeyTaken):
        backend.write("g/a", [b"two"])


def test_a_lost_reply_of_a_record_is_read_back(bucket, monkeypatch):
    """A put that fails after it was done has created the key."""
    backend = open_remote(bucket)
    backend.create("first", b"")
    put = backend._obstore.put

    def lost(*arguments, **options):
        put(*arguments, **options)
        raise OSError("the reply was lost")

    monkeypatch.setattr(backend._obstore, "put", lost)
    backend.create("second", b"nonce")

    assert backend.read("second") == b"nonce"


def test_a_bucket_without_conditions_is_refused(bucket, monkeypatch):
    """Where a second create succeeds nothing is kept; reading is not tried out."""
    backend = open_remote(bucket)
    put = backend._obstore.put

    def careless(store, key, data, *, mode="overwrite", **options):
        return put(store, key, data, **options)

    monkeypatch.setattr(backend._obstore, "put", careless)
    assert backend.names("") == []
    with pytest.raises(Unfit, match="conditional writes"):
        backend.create("a", b"")

    assert backend.size("a") is None


def test_a_bucket_that_is_not_there_is_told(bucket):
    """Writing where there is no bucket says so, and what to do."""
    with pytest.raises(Unavailable, match="no such bucket"):
        open_remote("s3://nosuchbucket/x").create("a", b"")


def test_a_service_that_is_not_reached_is_told(bucket, monkeypatch):
    """A network that is down says so, and what to do."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")

    with pytest.raises(Unavailable, match="Check the network"):
        open_remote(bucket, patience_s=0).create("a", b"")


@pytest.mark.parametrize(
    "url",
    ["memory:///", "file:///tmp/x", "s3://", "s3://me:secret@bucket/x", "s3://b/x?k=1"],
)
def test_other_urls_are_refused_and_not_repeated(url):
    """Only object stores are opened, and a password in a URL is not shown."""
    with pytest.raises(UsageError) as refused:
        open_remote(url)

    assert "secret" not in str(refused.value)
