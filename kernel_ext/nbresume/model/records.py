"""The records of a run's chain: decisions, never values.

The rule: names, digests, counts, times. What may be private (values, displays,
sources, tracebacks) is payload and lies in a pack that a record only names.
One class per kind; ``model.codec`` maps kind and schema version to the class.
"""

from datetime import datetime
from enum import StrEnum
from typing import ClassVar

import msgspec


class Record(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    """What the payload of an envelope is decoded to."""

    KIND: ClassVar[str] = ""
    SCHEMA: ClassVar[int] = 1


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


class FoldRef(Value, frozen=True, kw_only=True):
    """A folded state that lies in the pack of the record that made it."""

    revision: int
    """The newest revision that is folded in."""
    group: str
    offset: int
    length: int
    digest: str


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


class Claim(Record, frozen=True, kw_only=True):
    """A kernel became the writer of the run; all earlier writers are fenced."""

    KIND: ClassVar[str] = "nbresume.claim"
    workflow: str
    """File name of the notebook, or the name given to the run."""
    notebook: str
    """Absolute path, empty when the front end told none."""
    cells: list[str]
    """Ids of the notebook's cells: how a renamed notebook is found again."""
    definition_digest: str
    """Digest of the ordered steps and their code versions."""
    writer: Writer
    actor: str
    took_over: bool = False
    """A person chose to take over although the former writer may be alive."""


class Usage(Value, frozen=True, kw_only=True, omit_defaults=False):
    """What the run has cost; no counter ever decreases."""

    attempts: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    bytes: int = 0
    """Payload bytes committed."""


class Options(Value, frozen=True, kw_only=True):
    """What the header declared; part of the intent, so that an edit cannot relabel."""

    effects: bool = False
    pure: bool = False
    always: bool = False
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


class Intent(Record, frozen=True, kw_only=True):
    """An attempt is about to run: durable before the first statement of the body."""

    KIND: ClassVar[str] = "nbresume.intent"
    step: str
    attempt: str
    cell_id: str
    code_version: str
    inputs: dict[str, str]
    """Name → version that the body will find."""
    ambient: dict[str, Ambient]
    ambient_manifests: list[ManifestRef]
    deleted_ambient: dict[str, list[tuple[str, str]]] = {}
    """Names of commits above that plain cells had deleted: name → those cells."""
    modules: dict[str, str] = {}
    """Modules and imports that plain cells bound: name → what to import."""
    options: Options
    key: str
    """Digest of all cues of the step's key, as they stand before the body."""
    aliases: dict[str, list[str]]
    after: dict[str, str]
    idempotency_key: str
    recovers: str = ""
    """The interrupted attempt that this one repeats (audit of an automatic rerun)."""
    unattended: int = 0
    """How many attempts in a row were repeated with nobody there."""
    reason: str = ""
    """Why it runs: new, its code changed, interrupted …"""
    next_object: int = 0
    """Object ids from this number on are free."""


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


class Committed(Record, frozen=True, kw_only=True):
    """The step is done: this record is the commit."""

    KIND: ClassVar[str] = "nbresume.committed"
    step: str
    attempt: str
    cell_id: str
    commit_number: int
    code_version: str
    key: str
    """Digest of all cues; equal keys mean equal work."""
    idempotency_key: str
    inputs: dict[str, str]
    aliases: dict[str, list[str]]
    """Input → other names above that share data with it."""
    after: dict[str, str]
    """Step named by ``--after`` → key of its commit."""
    outputs: dict[str, Output]
    deleted: list[str]
    in_place: list[str]
    not_kept: dict[str, str]
    """Name → reason. Good in the kernel that made it, nowhere else."""
    process: dict[str, ProcessChange] = {}
    """Process state that the step changed: generators, variables, options."""
    process_in: dict[str, str] = {}
    """Process state that the result depends on and that something above made."""
    imports: list[str]
    """Modules to import again on replay: an import acts on the process."""
    effects: list[str]
    """How it is known to touch the outside; empty if it is not."""
    manifest: ManifestRef
    pack_bytes: int
    payload_bytes: int
    started_at: datetime
    duration_s: float
    cpu_s: float
    policy: str = ""
    next_object: int = 0
    fold: FoldRef | None = None
    """The newest folded state."""


class Failed(Record, frozen=True, kw_only=True):
    """The body raised, or was interrupted, and the kernel lived to say so."""

    KIND: ClassVar[str] = "nbresume.failed"
    step: str
    attempt: str
    error_type: str
    """Class of the exception; its text is private and not kept here."""
    interrupted: bool = False
    started_at: datetime
    duration_s: float
    cpu_s: float = 0.0


class How(StrEnum):
    """The ways to settle a step."""

    RETRY = "retry"
    EVIDENCE = "evidence"
    ABANDON = "abandon"
    RERUN = "rerun"


class Evidence(Value, frozen=True, kw_only=True):
    """A typed proof, given by a person, that the step's outside work did happen."""

    kind: str
    """receipt, query or statement."""
    reference: str
    observed_at: datetime
    names_not_kept: list[str]
    """Names that the cell would have set and that have no value now."""


class Resolution(Record, frozen=True, kw_only=True):
    """Somebody, or a declared policy, settled a step."""

    KIND: ClassVar[str] = "nbresume.resolution"
    step: str
    attempt: str
    """The attempt in question; for a rerun the newest one, else empty."""
    how: How
    actor: str
    because: str
    policy: str = ""
    """The standing choice that decided, if no person did."""
    acknowledged: list[str] = []
    """What the actor was told when deciding."""
    evidence: Evidence | None = None
    live: bool = False
    """Rerun from the values as they are now."""


class MadeCurrent(Record, frozen=True, kw_only=True):
    """An older commit has exactly today's key and counts again."""

    KIND: ClassVar[str] = "nbresume.made_current"
    step: str
    commit: int
    """Revision of the commit."""
    renamed_from: str = ""
    """The same work under its former name."""
    actor: str = ""


class Quarantined(Record, frozen=True, kw_only=True):
    """A record is damaged; what it may have decided counts as undecided."""

    KIND: ClassVar[str] = "nbresume.quarantined"
    revision: int
    found_digest: str
    """Digest of the bytes that were found."""


RunRecord = Claim | Intent | Committed | Failed | Resolution | MadeCurrent | Quarantined
