"""A step of a real kernel under strace: what reached the system, in which order."""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from real_kernel import LOAD, Kernel, save

CALLS = "link,linkat,rename,renameat,fsync,openat,write,writev,sendto,sendmsg"
ONE = "%%step one\na = 1"
TWO = (
    "%%step two\nimport numpy\n"
    "ledger = open('ledger.txt', 'w')\nledger.write('ran')\nledger.close()\n"
    "big = numpy.arange(300_000.0)\nb = a + 1"
)
FIRST = "%%step zero\nz = 0"
"""Makes the folders, so that a later step makes none."""

_START = re.compile(r"(\d+) +(\w+)\((.*)", re.DOTALL)
_RESUMED = re.compile(r"(\d+) +<\.\.\. (\w+) resumed>(.*)", re.DOTALL)


@dataclass(frozen=True)
class Call:
    """One system call: the lines on which it began and returned, and its text."""

    name: str
    begun: int
    returned: int
    text: str


def parse(text: str) -> list[Call]:
    """Return the calls of a trace in the order in which they began."""
    calls: list[Call] = []
    waiting: dict[tuple[str, str], tuple[int, str]] = {}
    for number, line in enumerate(text.splitlines()):
        if resumed := _RESUMED.match(line):
            thread, name, rest = resumed.groups()
            begun, head = waiting.pop((thread, name), (number, ""))
            calls.append(Call(name, begun, number, head + rest))
        elif start := _START.match(line):
            thread, name, rest = start.groups()
            if rest.endswith("<unfinished ...>"):
                waiting[thread, name] = (number, rest.removesuffix("<unfinished ...>"))
            else:
                calls.append(Call(name, number, number, rest))
    return sorted(calls, key=lambda call: call.begun)


@dataclass(frozen=True)
class Trace:
    """What a kernel did, with the port of its shell socket."""

    calls: list[Call]
    port: int

    def replies(self) -> list[Call]:
        """Return the first send of each reply to a cell."""
        return [c for c in self.sends() if '"execute_reply"' in plain(c.text)]

    def sends(self) -> list[Call]:
        """Return everything that was sent from the shell socket."""
        names = ("sendto", "sendmsg", "write", "writev")
        mine = f":{self.port}->"
        return [c for c in self.calls if c.name in names and mine in c.text[:120]]

    def link_of(self, record: str) -> Call:
        """Return the call that made a record appear."""
        names = ("link", "linkat")
        found = [
            c
            for c in self.calls
            if c.name in names and record in c.text and c.text.endswith("= 0")
        ]
        assert len(found) == 1, f"{record} was linked {len(found)} times"
        return found[0]

    def flush_after(self, call: Call) -> Call:
        """Return the flush of a journal folder that began after the call."""
        flushes = [
            c
            for c in self.calls
            if c.name == "fsync"
            and c.begun > call.returned
            and re.search(r"/journal/[0-9a-f]{16}>", c.text)
        ]
        assert flushes, "the folder of the record was never flushed"
        return flushes[0]


def plain(text: str) -> str:
    """Return what was sent without the escapes of strace."""
    return text.replace('\\"', '"')


def trace(folder: Path, env: dict[str, str] | None = None) -> Trace:
    """Run three steps in a kernel under strace; return what it did."""
    if shutil.which("strace") is None:
        pytest.fail("strace is missing: sudo apt-get install -y strace")
    log = folder / "trace.txt"
    save(folder / "main.ipynb", LOAD, FIRST, ONE, TWO)
    under = ["strace", "-f", "--seccomp-bpf", "-yy", "-qq", "-s", "600"]
    under += ["-e", f"trace={CALLS}", "-e", "signal=none", "-o", str(log)]
    kernel = Kernel(folder, under=under, env=env or {}, ports=True)
    try:
        for number, code in enumerate((LOAD, FIRST, ONE, TWO)):
            kernel.ok(code, f"c{number}")
    finally:
        kernel.shut_down()
    return Trace(parse(log.read_text(errors="replace")), kernel.shell_port)


# -- the three promises ------------------------------------------------------------


def check_commit_before_reply(found: Trace) -> None:
    """Assert that the commit of step two is durable before anything is replied."""
    before, reply = found.replies()[2:4]
    link = found.link_of("0000000006.rec")
    flush = found.flush_after(link)
    first = next(c for c in found.sends() if c.begun > before.returned)
    assert link.returned < flush.returned < first.begun
    assert first.begun <= reply.begun


def check_payloads_before_record(found: Trace) -> None:
    """Assert that all payload files of step two are flushed before its record."""
    before = found.replies()[2]
    link = found.link_of("0000000006.rec")
    made = [
        re.search(r'"([^"]+)"', c.text)[1]
        for c in found.calls
        if c.name == "openat"
        and "O_CREAT" in c.text
        and "/data.zarr/" in c.text
        and before.returned < c.begun < link.begun
    ]
    flushed = {
        re.search(r"<(.+?)>", c.text)[1]
        for c in found.calls
        if c.name == "fsync" and before.returned < c.begun and c.returned < link.begun
    }
    assert len(made) >= 3, f"the payloads were not written before the record: {made}"
    assert set(made) <= flushed
    assert {str(Path(path).parent) for path in made} <= flushed


def check_intent_before_body(found: Trace) -> None:
    """Assert that the intent of step two is durable before its body writes."""
    link = found.link_of("0000000005.rec")
    flush = found.flush_after(link)
    body = next(c for c in found.calls if c.name == "openat" and "ledger.txt" in c.text)
    assert link.returned < flush.returned < body.begun


def red(check, found: Trace) -> bool:
    """Say whether a check fails."""
    try:
        check(found)
    except AssertionError:
        return True
    return False
