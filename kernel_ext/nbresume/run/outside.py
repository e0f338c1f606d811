"""What an audit event does outside of the process: in words, without its arguments.

The rule: it names a program, a host and port, or a database file, and nothing that
could be a secret; "" says that the event is no evidence. What cannot be read counts.
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any, Final

from nbresume.run.ports import OwnCalls
from nbresume.settings import READ_ONLY_PROGRAMS

Args = tuple[Any, ...]

_SHELLS = {"sh", "bash", "dash", "ksh", "zsh"}
_SHELL_SYNTAX = re.compile(r"[;&|<>`$()\n\\]")
_PROGRAM = re.compile(r"[\w./+@-]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_LOOPBACK = {"127.0.0.1", "::1", "localhost"}
_KERNEL_FAMILIES = {"AF_NETLINK", "AF_ALG"}
"""Sockets whose other end is the operating system of this machine."""
_OWN_WORKERS = re.compile(r"(.*/)?pymp-[^/]+/[^/]+")
"""Sockets in the private folder of `multiprocessing`: a process and its workers."""
_FORKS_WORKERS = "multiprocessing.popen_fork"
_ARGUMENTS_IN: Final = {
    # a fork says nothing about the program: the caller does, who starts it in the child
    ("ptyprocess.ptyprocess", "spawn"): "argv",
    ("pty", "spawn"): "argv",
    ("os", "_spawnvef"): "args",
}
_IMPORTING = {"_find_and_load", "_exec"}
_NEAR = 4
"""So many frames above a fork its program is looked for."""


def outside_call(event: str, args: Args, frame: FrameType, own: OwnCalls) -> str:
    """Return what the event does outside as a clause; "" if it is no evidence.

    Parameters
    ----------
    event, args
        As Python's audit hooks get them.
    frame
        The frame that caused the event.
    own
        What the kernel does for itself.
    """
    if _module_of(frame) in own.modules:
        return ""
    what = _READERS[event](args, frame, own)
    return "" if what and _is_importing(frame, own) else what


# -- programs --------------------------------------------------------------------


def _popen(args: Args, _frame: FrameType, _own: OwnCalls) -> str:
    executable, argv = args[0], _words(args[1])
    return _program([*_words(executable or argv[:1]), *argv[1:]])


def _spawn(args: Args, frame: FrameType, _own: OwnCalls) -> str:
    if _module_of(frame) == "subprocess":
        return ""  # from Python 3.13 on it starts programs so, and has said it before
    return _program([*_words(args[0]), *_words(args[1])[1:]])


def _spawn_in_mode(args: Args, _frame: FrameType, _own: OwnCalls) -> str:
    return _program([*_words(args[1]), *_words(args[2])[1:]])


def _exec(args: Args, _frame: FrameType, _own: OwnCalls) -> str:
    name = _name(_words(args[0])[0])
    return f"replacing the kernel by the program {name}"


def _system(args: Args, _frame: FrameType, _own: OwnCalls) -> str:
    return _command(_words(args[0])[0])


def _pty(args: Args, _frame: FrameType, _own: OwnCalls) -> str:
    return _program(_words(args[0]))


def _fork(_args: Args, frame: FrameType, _own: OwnCalls) -> str:
    if _module_of(frame) == _FORKS_WORKERS:
        return ""
    argv = _argv_near(frame)
    return _program(argv) if argv else "forking the kernel"


def _forkpty(_args: Args, frame: FrameType, _own: OwnCalls) -> str:
    argv = _argv_near(frame)
    return _program(argv) if argv else "forking the kernel into a terminal"


def _argv_near(frame: FrameType) -> list[str]:
    for number, above in enumerate(_stack(frame)):
        name = _ARGUMENTS_IN.get((_module_of(above), above.f_code.co_name))
        if name is not None:
            return _words(above.f_locals[name])
        if number == _NEAR:
            break
    return []


def _program(argv: Sequence[str]) -> str:
    """Return the start of a program in words; "" if it only reads."""
    if _name(argv[0]) in _SHELLS and argv[1:2] == ["-c"] and argv[2:]:
        return _command(argv[2])
    return "" if _only_reads(argv) else f"starting the program {_name(argv[0])}"


def _command(text: str) -> str:
    """Return the start of a shell's command line in words; "" if it only reads."""
    try:
        words = shlex.split(text)
    except ValueError:
        words = []
    while words and _ASSIGNMENT.match(words[0]):
        del words[0]
    if not words or not _PROGRAM.fullmatch(words[0]):
        # what is no plain name may be anything, also a secret
        return "starting a shell line"
    if _SHELL_SYNTAX.search(text):
        return f"starting a shell line that begins with {_name(words[0])}"
    return "" if _only_reads(words) else f"starting the program {_name(words[0])}"


def _only_reads(words: Sequence[str]) -> bool:
    first = READ_ONLY_PROGRAMS.get(_name(words[0]))
    return first is not None and (not first or words[1:2] in [[word] for word in first])


def _name(path: str) -> str:
    """Return the base name of a program or file, fit to be shown."""
    base = path.rstrip("/").rpartition("/")[2]
    return re.sub(r"[^\w.+@-]", "?", base)[:64] or "?"


def _words(value: Any) -> list[str]:
    if isinstance(value, str | bytes | os.PathLike):
        return [os.fsdecode(value)]
    return [os.fsdecode(word) for word in value]


# -- sockets ---------------------------------------------------------------------


def _connect(args: Args, _frame: FrameType, own: OwnCalls) -> str:
    return _reach("connecting", args[0], args[1], own)


def _send(args: Args, _frame: FrameType, own: OwnCalls) -> str:
    """Read a send; one without an address goes where the socket is connected to."""
    sock, address = args[0], args[1]
    if address is None:
        try:
            address = sock.getpeername()
        except OSError:
            return ""  # nobody is there: the call fails
    return _reach("sending", sock, address, own)


def _reach(verb: str, sock: Any, address: Any, own: OwnCalls) -> str:
    if getattr(sock.family, "name", "") in _KERNEL_FAMILIES:
        return ""
    if isinstance(address, str | bytes):
        path = os.fsdecode(address)
        # a socket pair has no name
        private = not path or _OWN_WORKERS.fullmatch(path)
        return "" if private else f"{verb} to the socket {_name(path)}"
    host, port = str(address[0]), address[1]
    if host in _LOOPBACK and port in own.ports:
        return ""
    shown = re.sub(r"[^\w.:%-]", "?", host)[:128]
    return f"{verb} to {f'[{shown}]' if ':' in shown else shown}:{port}"


# -- databases -------------------------------------------------------------------


def _database(args: Args, _frame: FrameType, _own: OwnCalls) -> str:
    name = _words(args[0])[0]
    path, _, query = name.removeprefix("file:").partition("?")
    if path in ("", ":memory:"):
        return ""
    options = query.split("&") if name.startswith("file:") else []
    if {"mode=memory", "mode=ro", "immutable=1"} & set(options):
        return ""
    return f"opening the database {_name(path)}"


# -- the stack -------------------------------------------------------------------


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back


def _module_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_importing(frame: FrameType, own: OwnCalls) -> bool:
    """Say whether the call belongs to an import that the step's code makes."""
    for above in _stack(frame):
        code = above.f_code
        if code.co_filename == "<frozen importlib._bootstrap>":
            if code.co_name in _IMPORTING:
                return True
        elif own.runner and _module_of(above) == own.runner:
            return False
    return False


_READERS: Final[Mapping[str, Callable[[Args, FrameType, OwnCalls], str]]] = {
    "os.exec": _exec,
    "os.fork": _fork,
    "os.forkpty": _forkpty,
    "os.posix_spawn": _spawn,
    "os.spawn": _spawn_in_mode,
    "os.system": _system,
    "pty.spawn": _pty,
    "socket.connect": _connect,
    "socket.sendmsg": _send,
    "socket.sendto": _send,
    "sqlite3.connect": _database,
    "subprocess.Popen": _popen,
}

EVENTS: Final = frozenset(_READERS)
"""Audit events that can be evidence."""
