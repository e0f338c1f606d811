"""A store in a bucket: the conformance suite, and what is refused."""

import os
from email.utils import formatdate

import pytest
from conformance import BackendTests
from conformance_sealed import Below, PayloadTests, sealed
from obstore.exceptions import GenericError
from proxy import Proxy
from services import EVERYWHERE

from nbresume.errors import KeyTaken, Unavailable, Unfit, UsageError
from nbresume.store.remote_errors import reporting
from nbresume.store.remote_open import open_remote

CONDITIONS = ("if-none-match", "x-goog-if-generation-match")


@EVERYWHERE
class TestRemote(BackendTests):
    """The conformance suite, over each service."""

    @pytest.fixture
    def backend(self, bucket):
        """Return an empty store."""
        return open_remote(bucket)


@EVERYWHERE
class TestSealedRecords(BackendTests):
    """The conformance suite: what passes through an encrypted store."""

    @pytest.fixture
    def backend(self, bucket):
        """Return an empty store."""
        return sealed(open_remote(bucket))


@EVERYWHERE
class TestSealedPayloads(PayloadTests):
    """The conformance suite, over each service, every file encrypted."""

    @pytest.fixture
    def backend(self, bucket):
        """Return an empty store."""
        return Below(sealed(open_remote(bucket)))


def test_a_lost_reply_of_an_encrypted_file_is_read_back(bucket, monkeypatch):
    """A put that fails after it was done has written it, and nothing is kept twice."""
    below = open_remote(bucket)
    backend = sealed(below)
    put = below._obstore.put

    def lost(*arguments, **options):
        put(*arguments, **options)
        raise OSError("the reply was lost")

    monkeypatch.setattr(below._obstore, "put", lost)
    backend.write("data.zarr/r/a/o/c.0", [b"one"])
    backend.create("data.zarr/r/a/o/c.1", b"two")

    assert backend.read("data.zarr/r/a/o/c.0") == b"one"
    assert backend.read("data.zarr/r/a/o/c.1") == b"two"


@EVERYWHERE
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


@EVERYWHERE
def test_a_bucket_without_conditions_is_refused(service, proxy, bucket):
    """Where a second create succeeds nothing is kept; reading is not tried out."""
    if service.scheme == "az":
        # its signature covers the condition, which cannot be left out unseen
        done = (201, [("ETag", '"1"'), ("Last-Modified", formatdate(usegmt=True))], b"")
        proxy.amend = lambda _, told: done if told[0] == 409 else told
    else:
        proxy.left_out = CONDITIONS
    backend = open_remote(bucket)
    assert backend.names("") == []
    with pytest.raises(Unfit, match="conditional writes"):
        backend.create("a", b"")

    assert backend.size("a") is None


@EVERYWHERE
def test_a_bucket_that_is_not_there_is_told(service):
    """Writing and looking where there is no bucket says so, and what to do."""
    backend = open_remote(f"{service.scheme}://nosuchbucket/x")

    with pytest.raises(Unavailable, match="no such bucket"):
        backend.create("a", b"")
    with pytest.raises(Unavailable, match="no such bucket"):
        backend.names("journal")


@EVERYWHERE
def test_a_service_that_is_not_reached_is_told(service, bucket, monkeypatch):
    """A network that is down says so, and what to do."""
    for name, value in service.endpoint("http://127.0.0.1:9").items():
        monkeypatch.setenv(name, value)

    with pytest.raises(Unavailable, match="Check the network"):
        open_remote(bucket, patience_s=0).create("a", b"")


@EVERYWHERE
def test_wrong_credentials_are_told_by_their_variables(service, bucket, monkeypatch):
    """Reading and writing are refused, with what to set for this service."""
    monkeypatch.setenv(service.secret, "d3Jvbmc=")
    if service.scheme == "s3":
        service.check_keys(on=True)
    backend = open_remote(bucket, patience_s=0)
    try:
        for refused in (lambda: backend.create("a", b""), lambda: backend.names("")):
            with pytest.raises(Unavailable, match="not accept these cred") as told:
                refused()
            assert service.secret.partition("_")[0] in told.value.remedy
    finally:
        if service.scheme == "s3":
            service.check_keys(on=False)

    assert "d3Jvbmc" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "unset", "env", "said"),
    [
        ("s3://b/x", "AWS", {"AWS_METADATA_ENDPOINT": "http://127.0.0.1:9"}, "found"),
        ("az://b/x", "AZURE", {}, "Account must be specified"),
        (
            "az://b/x",
            "AZURE",
            {
                "AZURE_STORAGE_ACCOUNT_NAME": "acme",
                "AZURE_MSI_ENDPOINT": "http://127.0.0.1:9",
            },
            "found",
        ),
        (
            "gs://b/x",
            "GOOGLE",
            {"GOOGLE_APPLICATION_CREDENTIALS": "/no/such/file"},
            "No such file",
        ),
    ],
    ids=["s3", "az", "az-account", "gs"],
)
def test_missing_credentials_are_told(monkeypatch, tmp_path, url, unset, env, said):
    """It is not called a failure of the network, and says which variables to set."""
    for name in [name for name in os.environ if name.startswith(unset)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    with pytest.raises((Unavailable, UsageError), match=said) as told:
        open_remote(url, patience_s=0).create("a", b"")

    assert f"for example {unset}_" in told.value.remedy


@pytest.mark.parametrize("status", [403, 404])
@pytest.mark.parametrize(
    ("url", "names", "path"),
    [
        ("s3://b/x", ("AWS_METADATA_ENDPOINT",), ""),
        ("az://b/x", ("AZURE_MSI_ENDPOINT", "AZURE_STORAGE_ACCOUNT_NAME"), "/token"),
    ],
    ids=["s3", "az"],
)
def test_a_machine_that_has_no_credentials_to_give(
    monkeypatch, url, names, path, status
):
    """What asks it is refused: that is neither a bucket nor what somebody has set."""
    for name in [name for name in os.environ if name.startswith(("AWS", "AZURE"))]:
        monkeypatch.delenv(name)
    machine = Proxy("http://127.0.0.1:9")
    machine.plan = lambda _: (status, False)
    for name in names:
        monkeypatch.setenv(name, machine.url + path if "ENDPOINT" in name else "acme")
    try:
        with pytest.raises(Unavailable, match=r"no credentials for .* were found"):
            open_remote(url, patience_s=0).create("a", b"")
    finally:
        machine.close()

    assert machine.seen


def test_what_gives_tokens_may_refuse_them():
    """Wrong credentials of Google and of an application are told as such."""
    said = (
        "Generic GCS error: Error performing token request: Error performing POST "
        "https://tokens.invalid in 1ms - Server returned non-2xx status code: 400 Bad "
        "Request: {}"
    )

    with (
        pytest.raises(Unavailable, match="not accept these cred") as told,
        reporting("a was not written", "gs://b/x"),
    ):
        raise GenericError(said)
    assert "GOOGLE_" in told.value.remedy


def test_an_expired_token_is_told(proxy, bucket):
    """S3 says so with a 400, and it is the credentials all the same."""
    told = (400, [], b"<Error><Code>ExpiredToken</Code></Error>")
    proxy.amend = lambda *_: told

    with pytest.raises(Unavailable, match="not accept these credentials"):
        open_remote(bucket, patience_s=0).create("a", b"")


@pytest.mark.clouds
@pytest.mark.parametrize("service", ["az"], indirect=True)
def test_a_shared_access_signature_is_enough_until_it_ends(
    service, bucket, monkeypatch
):
    """It is not shown when it is refused."""
    monkeypatch.delenv(service.secret)
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", service.token(hours=1))
    open_remote(bucket).create("a", b"one")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", service.token(hours=-1))
    late = open_remote(bucket, patience_s=0)
    for refused in (lambda: late.create("b", b""), lambda: late.names("")):
        with pytest.raises(Unavailable, match="not accept these cred") as told:
            refused()
        assert "sig=" not in str(told.value)


@pytest.mark.clouds
@pytest.mark.parametrize("service", ["az"], indirect=True)
def test_a_copy_that_may_come_later_is_not_relied_on(proxy, bucket):
    """Azure may answer 202 before the bytes are there: none is asked for."""
    backend = open_remote(bucket)
    backend.write("g/a", [b"one"])
    before = len(proxy.seen)
    backend.link("g/a", "g/b")

    assert [method for method, _ in proxy.seen[before:]] == ["HEAD", "GET", "PUT"]
    assert backend.read("g/b") == b"one"


@pytest.mark.parametrize(
    "url",
    ["memory:///", "file:///tmp/x", "s3://", "s3://me:secret@bucket/x", "s3://b/x?k=1"],
)
def test_other_urls_are_refused_and_not_repeated(url):
    """Only object stores are opened, and a password in a URL is not shown."""
    with pytest.raises(UsageError) as refused:
        open_remote(url)

    assert "secret" not in str(refused.value)
