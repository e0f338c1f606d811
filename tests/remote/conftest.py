"""Fixtures: an S3 server on the loopback interface, and a store in a bucket of it.

Run by `make test-remote`, in an environment that has obstore and moto.
"""

import http.client
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).parents[1] / "store"), str(Path(__file__).parent)]


def free_port():
    """Return a port that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="session")
def s3():
    """Return the address of an S3 server; it ends with the tests."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + 60
    try:
        while server.poll() is None and time.monotonic() < deadline:
            with socket.socket() as tried:
                if tried.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def bucket(s3, monkeypatch):
    """Return the URL of a new bucket; the environment says how it is reached."""
    name = f"b{uuid.uuid4().hex}"
    asked = http.client.HTTPConnection(s3.removeprefix("http://"), timeout=30)
    asked.request("PUT", f"/{name}")
    assert asked.getresponse().status == 200
    asked.close()
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3)
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    return f"s3://{name}/stores/one"
