"""What a kernel does when it comes to a named point: die, stop, fail, write a part.

It runs inside the kernel, as an audit hook: the product raises the events of
``docs/reference/audit-events.md`` and knows nothing of it.
"""

import errno
import os
import signal
import sys
from dataclasses import dataclass

from nbresume.errors import KeyTaken
from nbresume.store.port import Buffer

PREFIX = "nbresume."


@dataclass(frozen=True)
class Fault:
    """Where something happens, and what."""

    event: str
    """Name of the audit event, without its prefix."""
    kind: str | None = None
    """Kind of the record that is being appended, "" for none; None for any."""
    where: str = ""
    """What the first argument of the event has to contain."""
    since: str = ""
    """Kind of the record that this process made durable last; or "body": a body
    runs, and nothing was recorded since it began."""
    nth: int = 1
    """Which of the events that match; 0 for every one."""
    action: str = "kill"
    """kill, exit, crash, stop, torn, taken, interrupt, or the name of an errno."""
    part: float = 0.5
    """How many of the bytes a torn write writes: a share, or a count, from the end
    if it is negative."""


class Faults:
    """The audit hook of one process: at most one fault at a time."""

    def __init__(self) -> None:
        self._fault: Fault | None = None
        self._kind = ""
        self._since = {""}
        self._probe = ""
        self._count = 0

    def arm(self, fault: Fault | None) -> None:
        """Let the fault happen from now on."""
        self._fault, self._count = fault, 0

    def __call__(self, event: str, args: tuple) -> None:
        """Do what the fault says, if this is its point."""
        if not event.startswith(PREFIX):
            return
        name = event.removeprefix(PREFIX)
        if name == "append":
            self._kind = args[0].removeprefix(PREFIX)
        if name == "write" and args[2] == b"probe":
            self._probe = args[0]  # the store tries its folder out: no record
        fault = self._fault
        if fault is not None and self._matches(fault, name, args):
            self._count += 1
            if fault.nth in (0, self._count):
                self._act(fault, args)
        if name == "body":
            self._since.add("body")
        if name == "created" and self._kind:
            self._kind, self._since = "", {"", self._kind}

    def _matches(self, fault: Fault, name: str, args: tuple) -> bool:
        return (
            name == fault.event
            and fault.kind in (None, self._kind)
            and fault.since in self._since
            and fault.where in str(args[0])
            and args[0] != self._probe
        )

    def _act(self, fault: Fault, args: tuple) -> None:
        if fault.nth:
            self._fault = None
        if fault.action in _SIGNALS:
            os.kill(os.getpid(), _SIGNALS[fault.action])
        elif fault.action == "interrupt":
            signal.raise_signal(signal.SIGINT)
        elif fault.action == "exit":
            os._exit(1)
        elif fault.action == "torn":
            _tear(fault, *args)
        elif fault.action == "taken":
            raise KeyTaken("it was not written", because="it exists", key=args[0])
        else:
            code = getattr(errno, fault.action)
            raise OSError(code, os.strerror(code))


_SIGNALS = {
    "kill": signal.SIGKILL,
    "crash": signal.SIGSEGV,
    "stop": signal.SIGSTOP,
}


def _tear(fault: Fault, _path: str, descriptor: int, data: Buffer) -> None:
    """Write a part of the bytes and end the process."""
    view = memoryview(data).cast("B")
    share = int(fault.part * view.nbytes)
    os.write(descriptor, view[: share if abs(fault.part) < 1 else int(fault.part)])
    os.kill(os.getpid(), signal.SIGKILL)


def install() -> Faults:
    """Return the faults of this process, which are its own from now on."""
    faults = Faults()
    sys.addaudithook(faults)
    return faults
