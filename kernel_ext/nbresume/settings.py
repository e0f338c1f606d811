"""The settings of one kernel or command, resolved once and frozen.

The rule: nothing here reads the environment; ``compose`` does and passes the result.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

__version__ = "0.1.0"

MIB = 1 << 20


class Undeclared(StrEnum):
    """Policy for steps that were cut off and declared nothing about the outside."""

    EVIDENCE = "evidence"
    """In doubt if they were seen reaching out (the default)."""
    REFUSE = "refuse"
    """Always in doubt; a failure is not, since how it ended is known."""
    RERUN = "rerun"
    """Never in doubt: what was seen is shown, and locks no commit."""


READ_ONLY_PROGRAMS: Final[Mapping[str, frozenset[str]]] = {
    "cat": frozenset(),
    "df": frozenset(),
    "git": frozenset({"describe", "log", "rev-parse", "status"}),
    "head": frozenset(),
    "ldconfig": frozenset({"-p"}),
    "ls": frozenset(),
    "lscpu": frozenset(),
    "nproc": frozenset(),
    "pwd": frozenset(),
    "uname": frozenset(),
    "wc": frozenset(),
    "which": frozenset(),
}
"""Programs whose start is no evidence → first arguments with which they only read.

An empty set stands for any. Short on purpose: what is missing costs a `--pure`, what is
wrongly here costs a doubt that nobody hears of.
"""


@dataclass(frozen=True, slots=True)
class Settings:
    """What may be chosen; every field has a default that is safe."""

    store: str = ".nbresume"
    """Folder of the store, relative to the notebook's folder or absolute; or the URL of
    an object store (``s3://bucket/prefix``)."""
    encrypt: bool = False
    """Values are encrypted where a new store is made, and a store that keeps them in
    the clear is refused. Any text in the variable says yes."""
    run: str = ""
    """The run to use, whatever the notebook's path says: a run id (16 hexadecimal
    digits) or any name. Needed where the front end tells no notebook path."""
    attended: bool = True
    """Somebody is there who has seen a traceback. Any text in the variable says no, as
    `nbresume run` does: a failed step with effects is ambiguous then."""
    retry: bool = False
    """Policy: ambiguous steps are run again, on record. Any text in the variable says
    yes; `nbresume run --retry` sets it."""
    take_over: bool = False
    """Whoever holds the run when it is opened counts as gone, and is fenced if it is
    not; who takes it later is not affected. On record. Any text in the variable says
    yes; `nbresume run --take-over` sets it."""
    undeclared: Undeclared = Undeclared.EVIDENCE
    """Policy for steps that were cut off and declared neither `--effects`, `--pure` nor
    `--always`. Commands read it too: set it for both."""
    ambient_limit_bytes: int = 256 * MIB
    """Values of plain cells that no step reads are kept up to so much; beyond, they are
    named as not kept. What a step reads is always kept."""
    max_step_bytes: int = 64 * 1024 * MIB
    """A step whose payloads weigh more is not committed (state RAN)."""
    unattended_limit: int = 3
    """So many interrupted attempts in a row are rerun with nobody there."""


PACK_LIMIT_BYTES = MIB
"""Payloads below this lie in the record's pack, others are zarr arrays."""

CIPHER: Final = "aes-256-gcm"
"""What ``store.json`` calls the encryption of `store.sealing`; another form of it gets
another name."""

CHUNK_BYTES = 4 * MIB
"""Aim for the size of one chunk of an array."""
