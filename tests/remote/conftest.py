"""Fixtures: object stores on the loopback interface, and a store in a bucket of one.

Run by `make test-remote`, in an environment that has obstore, moto, Azurite and an
emulator of Google's. A test has S3 unless `EVERYWHERE` or `NOT_S3` stands above it.
"""

import sys
import uuid
from contextlib import ExitStack
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path[:0] = map(
    str, (HERE.parent / "store", HERE.parent / "kernel" / "durability", HERE)
)

from proxy import Proxy  # noqa: E402 - found through the lines above
from services import SERVICES  # noqa: E402


@pytest.fixture(scope="session")
def services():
    """Return what starts each service, once; they end with the tests."""
    with ExitStack() as stack:
        running = {}

        def start(scheme):
            if scheme not in running:
                running[scheme] = stack.enter_context(SERVICES[scheme]())
            return running[scheme]

        yield start


@pytest.fixture
def service(services, request, monkeypatch):
    """Return a service; the environment says how it is reached."""
    found = services(getattr(request, "param", "s3"))
    for name, value in found.env().items():
        monkeypatch.setenv(name, value)
    return found


@pytest.fixture
def bucket(service):
    """Return the URL of a store in a new bucket."""
    name = f"b{uuid.uuid4().hex}"
    service.make_bucket(name)
    return f"{service.scheme}://{name}/stores/one"


@pytest.fixture
def proxy(service, bucket, monkeypatch):
    """Return a proxy through which the bucket is reached."""
    found = Proxy(service.address)
    for name, value in service.endpoint(found.url).items():
        monkeypatch.setenv(name, value)
    yield found
    found.close()
