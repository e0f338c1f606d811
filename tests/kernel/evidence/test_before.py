"""The note is durable before the call proceeds: seen from outside of the kernel."""

import re
import shutil
import socket
import sys
import threading

import pytest
from real_kernel import LOAD, Kernel, plant, save
from traced import Trace, parse, red

pytestmark = pytest.mark.kernel

CALLS = "link,linkat,fsync,openat,connect,execve"
CONNECT = (
    "%%step call\nimport contextlib, socket\nwith contextlib.suppress(OSError):\n"
    "    socket.create_connection(('127.0.0.1', 9))"
)
START = "%%step start\nimport subprocess\n_ = subprocess.run(['/bin/true', 'x'])\ndel _"

NOTED_LATER = """
import threading
from nbresume.run.journal import Journal
note = Journal.note
def later(self, *args):
    threading.Timer(0.3, note, (self, *args)).start()
Journal.note = later
"""
NO_FOLDER_FLUSH = """
from nbresume.store import disk
flush_folder = disk.flush_folder
def forgotten(path):
    if "/seen/" not in path:
        flush_folder(path)
disk.flush_folder = forgotten
"""
NO_FLUSH = """
from nbresume.store import disk
write_new = disk.write_new
def forgotten(path, buffers, **options):
    buffers = list(buffers)
    note = any(b'"what"' in bytes(b) for b in buffers)
    write_new(path, buffers, **{**options, "lasting": not note})
disk.write_new = forgotten
"""


def trace(folder, env=None):
    """Run a step that connects and one that starts a program; return the calls."""
    if shutil.which("strace") is None:
        pytest.fail("strace is missing: sudo apt-get install -y strace")
    log = folder / "trace.txt"
    save(folder / "main.ipynb", LOAD, CONNECT, START)
    under = ["strace", "-f", "--seccomp-bpf", "-yy", "-qq", "-s", "200"]
    under += ["-e", f"trace={CALLS}", "-e", "signal=none", "-o", str(log)]
    kernel = Kernel(folder, under=under, env=env or {}, ports=True)
    try:
        kernel.ok(LOAD, "c0")
        kernel.ok(CONNECT, "c1")
        kernel.ok(START, "c2")
    finally:
        kernel.shut_down()
    return Trace(parse(log.read_text(errors="replace")), kernel.shell_port)


def check_before(found, number, is_call):
    """Assert that the note of the nth step is durable before its call begins."""
    call = next(c for c in found.calls if is_call(c))
    links = [
        c
        for c in found.calls
        if c.name in ("link", "linkat")
        and re.search(r"/seen/[0-9a-f]{16}/[0-9a-f]{12}\"", c.text)
    ]
    assert len(links) > number, "no note was made"
    link = links[number]
    staged = re.search(r'"([^"]+)"', link.text)[1]
    flushed = [c for c in found.calls if c.name == "fsync"]
    file = [c for c in flushed if staged in c.text and c.returned < link.begun]
    folder = [
        c
        for c in flushed
        if re.search(r"/seen/[0-9a-f]{16}>", c.text) and c.begun > link.returned
    ]
    assert file, "the note was not flushed before it got its name"
    assert folder, "its folder was never flushed"
    assert folder[0].returned < call.begun


def check_connect(found):
    """Assert it of the connection."""
    check_before(
        found, 0, lambda c: c.name == "connect" and "sin_port=htons(9)" in c.text
    )


def check_start(found):
    """Assert it of the program."""
    check_before(found, 1, lambda c: c.name == "execve" and '"/bin/true"' in c.text)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory):
    """Return the trace of a kernel as it is."""
    return trace(tmp_path_factory.mktemp("healthy"))


@pytest.mark.parametrize("check", [check_connect, check_start])
def test_the_note_is_durable_before_the_call(healthy, check):
    """File flushed, linked, folder flushed; only then the system call."""
    check(healthy)


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(NOTED_LATER, id="noted-later"),
        pytest.param(NO_FOLDER_FLUSH, id="folder-not-flushed"),
        pytest.param(NO_FLUSH, id="note-not-flushed"),
    ],
)
def test_a_planted_fault_is_caught(tmp_path, fault, healthy):
    """Each fault in the writing of the note turns the check red."""
    (tmp_path / "run").mkdir()
    broken = trace(tmp_path / "run", plant(tmp_path / "fault", fault))

    assert not red(check_start, healthy)
    assert red(check_start, broken)


def test_the_program_that_is_called_finds_the_note(tmp_path):
    """It is the outside that looks: whoever is called, the note was there before."""
    look = "import os; print(sum(len(f) for _, _, f in os.walk('.nbresume/seen')))"
    step = (
        "%%step call\nimport subprocess, sys\nfound = subprocess.run("
        f"[{sys.executable!r}, '-c', {look!r}], capture_output=True, text=True).stdout"
    )
    save(tmp_path / "main.ipynb", LOAD, step)
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(step, "c1")

        assert kernel.evaluate("found.strip()") == "'1'"


def test_the_server_that_is_connected_to_finds_the_note(tmp_path):
    """When the connection arrives, the note lies in the store."""
    found = []
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = server.accept()
        found.append(len(list(tmp_path.glob(".nbresume/seen/*/*"))))
        connection.close()

    thread = threading.Thread(target=serve)
    thread.start()
    port = server.getsockname()[1]
    step = (
        "%%step call\nimport socket\ns = socket.create_connection(('127.0.0.1', "
        f"{port}))\ns.recv(1)\ns.close()\ndel s"
    )
    save(tmp_path / "main.ipynb", LOAD, step)
    with Kernel(tmp_path) as kernel:
        kernel.ok(LOAD, "c0")
        kernel.ok(step, "c1")
    thread.join(10)
    server.close()

    assert found == [1]
