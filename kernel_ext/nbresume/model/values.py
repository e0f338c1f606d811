"""The parts of records: names, digests, counts and times.

The rule: no part holds a value of the user's, a source or a traceback.
"""

from datetime import datetime
from enum import StrEnum

import msgspec


class Value(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """A part of a record."""


class ManifestRef(Value, frozen=True, kw_only=True):
    """Where the manifest of a group lies: a slice of the group's pack."""

    group: str
    """``<attempt>``, ``<attempt>-ambient``: the group in the run's folder."""
    offset: int
    length: int
    digest: str
    run: str = ""
    """The run that stored it, if it is another one: a fork shares it."""


class FoldRef(Value, frozen=True, kw_only=True):
    """A folded state that lies in the pack of the record that made it."""

    revision: int
    """The newest revision that is folded in."""
    group: str
    offset: int
    length: int
    digest: str


class Origin(Value, frozen=True, kw_only=True):
    """Where a fork comes from, and what it shares."""

    run: str
    chain: str
    """Chain of that run in which it went on, after migrations."""
    revision: int
    """The newest record of the origin that counts for the fork …"""
    digest: str
    """… and its digest: with it, all that it hangs on."""
    at: str
    """The step behind which the fork begins."""
    steps: list[str]
    """The steps that are shared, in the order in which their commits began to count."""
    fold: FoldRef
    """The folded state of what is shared, in a group of the fork."""


class Writer(Value, frozen=True, kw_only=True):
    """A kernel process, so that its liveness can be asked for."""

    nonce: str
    host: str
    boot_id: str
    pid: int
    started: float
    """Start of the process in seconds: since the boot on Linux, or the epoch."""
    python: str
    product: str


class Usage(Value, frozen=True, kw_only=True, omit_defaults=False):
    """What the run has cost; no counter ever decreases."""

    attempts: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    bytes: int = 0
    """Payload bytes committed."""
    tokens: int = 0
    """Reported by the user's code, as is the cost."""
    cost: float = 0.0


class Reported(Value, frozen=True, kw_only=True):
    """What the user's code reported since the record before: ``nbresume.usage``."""

    tokens: int = 0
    cost: float = 0.0


class Options(Value, frozen=True, kw_only=True):
    """What the header declared; part of the intent, so that an edit cannot relabel."""

    effects: bool = False
    pure: bool = False
    always: bool = False
    auto: bool = False
    """Nobody marked the cell: every cell of the notebook is a step."""
    retry: bool = False
    reads: list[str] = []
    after: list[str] = []


class Ambient(Value, frozen=True, kw_only=True):
    """A value that plain cells made or changed, as the intent stored it."""

    version: str
    base: str
    """Version that it was changed on; empty if plain cells made it."""
    cells: list[tuple[str, str]]
    """(cell id, digest of its text) of the plain cells that made or changed it."""
    manifest: int
    """Index into ``Intent.ambient_manifests``; -1 when the value was not kept."""


class Output(Value, frozen=True, kw_only=True):
    """A name that the step left, as the commit knows it without its payload."""

    version: str
    object: str = ""
    """Object id; empty for small immutable values, modules and imports."""
    data: list[str] = []
    """Object ids of the data that its value is made of: equal ids are aliases."""
    calls: list[str] = []
    """Global names that functions reached by its value may use."""


class ProcessChange(Value, frozen=True, kw_only=True):
    """A process state that a step changed (`capture.process` names them)."""

    version: str
    gone: bool = False
    """It was removed: a variable of the environment."""


class FileState(Value, frozen=True, kw_only=True):
    """A file or a folder as a step found or left it; its name is the key beside it."""

    kind: str = "file"
    """``file``; ``folder``: its entries; ``tree``: the files of a pattern; ``absent``;
    ``unknown``: it cannot be compared."""
    digest: str = ""
    """Of its content, or of the names of its entries."""
    size: int = 0
    stamp: str = ""
    """Its place on the disk, size and times; empty if they cannot be relied on."""
    base: str = ""
    """What the nearest step above had left there."""
    module: str = ""
    """The local module whose source it is."""
    why: str = ""
    """Why it cannot be compared."""


class Sighting(Value, frozen=True, kw_only=True):
    """Outside calls of one kind that a step made, seen before the first went out."""

    what: str
    """``starting the program curl``, ``connecting to example.org:443``."""
    at: datetime
    """When the first of them was seen."""
    calls: int = 1


class How(StrEnum):
    """The ways to settle a step."""

    RETRY = "retry"
    EVIDENCE = "evidence"
    ABANDON = "abandon"
    RERUN = "rerun"


class Erased(StrEnum):
    """What an erasure was asked to take away."""

    RUN = "run"
    STEP = "step"
    NAME = "name"
    RETENTION = "retention"
    """What no step needs any more, by a rule."""


EVIDENCE_KINDS = ("receipt", "query", "statement")


class Evidence(Value, frozen=True, kw_only=True):
    """A typed proof, given by a person, that the step's outside work did happen."""

    kind: str
    """One of `EVIDENCE_KINDS`."""
    reference: str
    observed_at: datetime
    names_not_kept: list[str]
    """Names that the cell would have set and that have no value now."""


class Ended(StrEnum):
    """What is known of a call that was opened."""

    DONE = "done"
    FAILED = "failed"
    """It raised an exception that its author declared definite: nothing happened."""
    ABSENT = "absent"
    """The lookup says that it did not happen."""
