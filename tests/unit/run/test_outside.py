"""What an audit event does outside: named without arguments, or no evidence."""

import socket
import sys
import types
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbresume.run.outside import EVENTS, outside_call
from nbresume.run.ports import OwnCalls

OWN = OwnCalls(
    ports=frozenset({5555}), modules=frozenset({"history"}), runner="the_runner"
)
ARGUMENT = "--token=tok-123"


def frame_in(module, function="call", above=None, filename="x.py", **local):
    """Return a frame of a function of a module, called by another such frame."""
    setting = "".join(f"    {name} = {value!r}\n" for name, value in local.items())
    source = f"def {function}(go):\n{setting}    return go()\n"
    namespace = {"__name__": module}
    exec(compile(source, filename, "exec"), namespace)  # noqa: S102 - makes a frame
    if above is None:
        return namespace[function](lambda: sys._getframe(1))
    return above(lambda: namespace[function](lambda: sys._getframe(1)))


def said(event, *args, frame=None):
    """Return what is said of an event that a cell's own code caused."""
    return outside_call(event, args, frame or frame_in("__main__"), OWN)


# -- programs --------------------------------------------------------------------

CURL = "starting the program curl"
SHELL_LINE = "starting a shell line"


def test_a_program_that_subprocess_starts_is_counted_once():
    """Newer Pythons fire `os.posix_spawn` too, after ``subprocess.Popen``."""
    spawned = ("/bin/curl", ["curl", ARGUMENT], {})
    assert said("os.posix_spawn", *spawned, frame=frame_in("subprocess")) == ""
    assert said("os.posix_spawn", *spawned) == CURL


@pytest.mark.parametrize(
    ("event", "args", "expected"),
    [
        ("subprocess.Popen", ("curl", ["curl", ARGUMENT], None, None), CURL),
        ("subprocess.Popen", (None, ["/usr/bin/curl", ARGUMENT], None, None), CURL),
        ("subprocess.Popen", (b"/usr/bin/curl", [b"curl"], None, None), CURL),
        ("subprocess.Popen", (Path("/bin/curl"), ["uname"], None, None), CURL),
        (
            "subprocess.Popen",
            ("/bin/sh", ["/bin/sh", "-c", f"curl {ARGUMENT}"], 0, 0),
            CURL,
        ),
        (
            "subprocess.Popen",
            ("bash", ["bash"], None, None),
            "starting the program bash",
        ),
        ("os.system", (f"curl {ARGUMENT}".encode(),), CURL),
        ("os.system", (f"TOKEN={ARGUMENT} curl x",), CURL),
        ("os.system", ("curl 'not closed",), SHELL_LINE),
        ("os.system", (f"(TOKEN={ARGUMENT} curl x)",), SHELL_LINE),
        ("os.system", (f'"TOKEN={ARGUMENT} curl x',), SHELL_LINE),
        ("os.system", (f"# {ARGUMENT}\ncurl x",), SHELL_LINE),
        (
            "os.system",
            (f"cd /data && curl {ARGUMENT}",),
            "starting a shell line that begins with cd",
        ),
        (
            "os.system",
            ("ls > listing.txt",),
            "starting a shell line that begins with ls",
        ),
        ("os.system", ("A=1",), SHELL_LINE),
        ("os.posix_spawn", ("/bin/curl", ["curl", ARGUMENT], {}), CURL),
        ("os.spawn", (0, "/bin/curl", ["curl", ARGUMENT], None), CURL),
        ("pty.spawn", (["curl", ARGUMENT],), CURL),
        (
            "os.exec",
            ("/bin/curl", ["curl", ARGUMENT], None),
            "replacing the kernel by the program curl",
        ),
        ("os.fork", (), "forking the kernel"),
        ("os.forkpty", (), "forking the kernel into a terminal"),
    ],
)
def test_a_program_is_named_without_its_arguments(event, args, expected):
    """Base name only: an argument may be a password."""
    assert said(event, *args) == expected


@settings(max_examples=200, deadline=None)
@given(
    st.text("ab =;&|()<>$\"'\\`\n#-./~{}!*", max_size=12),
    st.text("ab =;&|()<>$\"'\\`\n#-./~{}!*", max_size=12),
)
def test_no_shell_line_gives_an_argument_away(before, after):
    """Whatever its syntax: only a plain first word is named."""
    text = f"{before}TOKEN=tok123{after}"

    assert "tok123" not in said("os.system", text)
    # two words before it: the first may become the end of an assignment (`a=\\ x`)
    assert "tok123" not in said("os.system", f"{before} x x tok123{after}")


@pytest.mark.parametrize(
    "argv",
    [
        ["uname", "-p"],
        ["/usr/bin/lscpu", "--parse=core"],
        ["/sbin/ldconfig", "-p"],
        ["git", "rev-parse", "HEAD"],
        ["/bin/sh", "-c", "git status --short"],
        ["bash", "-c", "ls -l 'my data'"],
    ],
)
def test_a_program_that_only_reads_is_no_evidence(argv):
    """The short table of settings, also through a shell."""
    assert said("subprocess.Popen", argv[0], argv, None, None) == ""
    assert said("os.posix_spawn", argv[0], argv, {}) == ""


@pytest.mark.parametrize(
    "argv",
    [
        ["git", "push"],
        ["git"],
        ["git", "-C", "x", "push"],
        ["ldconfig"],
        ["sh", "-c", "ls; curl x"],
        ["sh", "-c", "ls `curl x`"],
        ["sh", "-c", "ls $(curl x)"],
        ["sh", "-c", "ls\ncurl x"],
        ["sh", "script"],
    ],
)
def test_what_may_write_is_evidence(argv):
    """Another first argument, or a shell's own syntax, is more than reading."""
    assert said("subprocess.Popen", argv[0], argv, None, None)


@pytest.mark.parametrize(
    ("module", "function", "local"),
    [
        ("ptyprocess.ptyprocess", "spawn", "argv"),
        ("pty", "spawn", "argv"),
        ("os", "_spawnvef", "args"),
    ],
)
@pytest.mark.parametrize("event", ["os.fork", "os.forkpty"])
def test_a_fork_is_named_by_the_program_that_its_caller_starts(
    event, module, function, local
):
    """IPython's ``!cmd`` fires nothing but ``os.forkpty``."""
    line = ["/bin/bash", "-c", f"curl {ARGUMENT}"]
    reads = ["/bin/bash", "-c", "ls"]

    assert said(event, frame=frame_in(module, function, **{local: line})) == CURL
    assert said(event, frame=frame_in(module, function, **{local: reads})) == ""


def test_forked_workers_are_no_evidence():
    """`multiprocessing` forks processes that compute."""
    assert said("os.fork", frame=frame_in("multiprocessing.popen_fork")) == ""


def test_a_name_cannot_carry_anything_else():
    """What is no plain name is masked and short."""
    odd = said("subprocess.Popen", "a\x1b[2J;b" + "x" * 99, ["a"], None, None)

    assert odd == f"starting the program a??2J?b{'x' * 57}"


# -- sockets ---------------------------------------------------------------------


def sock(family=socket.AF_INET, peer=None):
    """Return what a socket looks like to the hook."""

    def getpeername():
        if peer is None:
            raise OSError
        return peer

    return types.SimpleNamespace(family=family, getpeername=getpeername)


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (("example.org", 443), "connecting to example.org:443"),
        (("127.0.0.1", 8080), "connecting to 127.0.0.1:8080"),
        (("127.0.0.1", 5555), ""),
        (("example.org", 5555), "connecting to example.org:5555"),
        (("2001:db8::1", 443, 0, 0), "connecting to [2001:db8::1]:443"),
        (("::1", 5555, 0, 0), ""),
        (("a\nb", 1), "connecting to a?b:1"),
        ("/var/run/docker.sock", "connecting to the socket docker.sock"),
        (b"\0abstract", "connecting to the socket ?abstract"),
        ("/t/pymp-12ab/listener-x", ""),
        ("", ""),
    ],
)
def test_a_connection_is_named_by_host_and_port(address, expected):
    """The kernel's own ports and a process' own workers are no evidence."""
    assert said("socket.connect", sock(), address) == expected


def test_a_datagram_is_named_by_where_it_goes():
    """With an address, or where the socket is connected to."""
    udp = sock(peer=("example.org", 53))

    assert said("socket.sendto", sock(), ("h", 1)) == "sending to h:1"
    assert said("socket.sendmsg", sock(), ("h", 1)) == "sending to h:1"
    assert said("socket.sendmsg", udp, None) == "sending to example.org:53"


def test_a_message_to_nobody_or_to_a_socket_pair_is_no_evidence():
    """Event loops and workers talk through pairs."""
    assert said("socket.sendmsg", sock(), None) == ""
    assert said("socket.sendmsg", sock(socket.AF_UNIX, peer=""), None) == ""
    assert (
        said("socket.sendmsg", sock(socket.AF_UNIX, peer="/t/pymp-1/listener-2"), None)
        == ""
    )


def test_a_socket_to_the_operating_system_is_no_evidence():
    """A netlink address is no place outside of this machine."""
    family = types.SimpleNamespace(name="AF_NETLINK")

    assert said("socket.sendto", sock(family), (0, 0)) == ""


# -- databases -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("database", "expected"),
    [
        ("/data/orders.db", "opening the database orders.db"),
        (b"orders.db", "opening the database orders.db"),
        (Path("orders.db"), "opening the database orders.db"),
        ("file:orders.db?mode=rw&key=tok-123", "opening the database orders.db"),
        ("orders.db?mode=ro", "opening the database orders.db"),
        (":memory:", ""),
        ("", ""),
        ("file::memory:?cache=shared", ""),
        ("file:x?mode=memory", ""),
        ("file:orders.db?mode=ro", ""),
        ("file:orders.db?immutable=1&x=y", ""),
    ],
)
def test_a_database_is_named_by_its_file(database, expected):
    """One in memory, or opened for reading, is no evidence."""
    assert said("sqlite3.connect", database) == expected


# -- whose call it is ------------------------------------------------------------


def bootstrap(go):
    """Call something from inside the import system, as `import` does."""
    source = "def _find_and_load(go):\n    return go()\n"
    namespace = {"__name__": "importlib._bootstrap"}
    exec(compile(source, "<frozen importlib._bootstrap>", "exec"), namespace)  # noqa: S102 - makes a frame
    return namespace["_find_and_load"](go)


def test_what_an_import_does_is_no_evidence():
    """A library may look around while it is loaded."""
    frame = frame_in("library", above=bootstrap)

    assert said("os.system", "curl x", frame=frame) == ""


def test_an_import_above_the_cell_is_none_of_the_step():
    """A kernel that was started by an import is watched like any other."""

    def runner(go):
        namespace = {"__name__": "the_runner"}
        exec("def run(go):\n    return go()\n", namespace)  # noqa: S102 - makes a frame
        return bootstrap(lambda: namespace["run"](go))

    assert said("os.system", "curl x", frame=frame_in("__main__", above=runner))


def test_the_kernels_own_modules_are_no_evidence():
    """IPython's history opens its database whenever it comes to it."""
    frame = frame_in("history")

    assert said("sqlite3.connect", "history.sqlite", frame=frame) == ""


def test_every_event_is_one_that_python_has():
    """The names are those of the documentation of CPython."""
    assert {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "pty.spawn",
        "socket.connect",
        "socket.sendmsg",
        "socket.sendto",
        "sqlite3.connect",
        "subprocess.Popen",
    } == EVENTS
