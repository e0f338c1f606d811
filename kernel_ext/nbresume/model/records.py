"""The records of a run's chain: decisions, never values.

The rule: names, digests, counts, times. What may be private (values, displays,
sources, tracebacks) is payload and lies in a pack that a record only names.
One class per kind; ``model.codec`` maps kind and schema version to the class.
"""

from datetime import datetime
from typing import ClassVar

import msgspec

from nbresume.model.values import (
    Ambient,
    Ended,
    Erased,
    Evidence,
    FileState,
    FoldRef,
    How,
    ManifestRef,
    Options,
    Origin,
    Output,
    ProcessChange,
    Reported,
    Sighting,
    Writer,
)


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


class Forked(Claim, frozen=True, kw_only=True):
    """The first claim of a run that shares commits of another one."""

    KIND: ClassVar[str] = "nbresume.forked"
    origin: Origin

    def as_claim(self) -> Claim:
        """Return the claim alone."""
        return Claim(**{name: getattr(self, name) for name in Claim.__struct_fields__})


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
    reported: Reported | None = None


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
    files: dict[str, FileState] = {}
    """Files, folders and sources of local modules that the result depends on."""
    made: dict[str, FileState] = {}
    """Files and folders as the step left them that it made, moved or removed."""
    appended: list[str] = []
    """Files that it added to: neither read nor made."""
    imports: list[str]
    """Modules to import again on replay: an import acts on the process."""
    libraries: dict[str, str] = {}
    """Libraries that the step used, and Python → version."""
    effects: list[str]
    """How it is known to touch the outside; empty if it is not."""
    seen: list[Sighting] = []
    """What it was seen doing outside; in `effects` too if that is held against it."""
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
    reported: Reported | None = None


class Failed(Record, frozen=True, kw_only=True):
    """The body raised, or was interrupted, and the kernel lived to say so."""

    KIND: ClassVar[str] = "nbresume.failed"
    step: str
    attempt: str
    error_type: str
    """Class of the exception; its text is private and not kept here."""
    interrupted: bool = False
    seen: list[Sighting] = []
    started_at: datetime
    duration_s: float
    cpu_s: float = 0.0
    reported: Reported | None = None


class Progress(Record, frozen=True, kw_only=True):
    """A loop of a running attempt has come so far; its payloads are durable before."""

    KIND: ClassVar[str] = "nbresume.progress"
    step: str
    attempt: str
    number: int
    """Counts the attempt's progress records; their group ends with it."""
    loop: str
    """Which loop of the cell's text: ``0`` is the first one, ``0.2`` that, entered for
    the third time, ``0@4/1`` the second one in item 4 of the first."""
    position: int
    """So many items are done."""
    total: int = -1
    """How many there are; -1 if that is not known."""
    finished: bool = False
    """The loop has come to its end."""
    began: int = 0
    """The position at which this attempt entered the loop."""
    item: int = -1
    """An item that is done and whose digest is known; -1 if none is."""
    item_digest: str = ""
    names: list[str]
    """Names whose values are kept."""
    whole: bool = True
    """They are all that the step had set or changed; False: the author chose."""
    deleted: list[str] = []
    """Names that stood before the step and that it had deleted."""
    in_place: list[str] = []
    """Names that stood before the step and whose value it had changed in place."""
    not_kept: dict[str, str] = {}
    """Name → reason: the cell's lines above the loop make it anew."""
    process: dict[str, ProcessChange] = {}
    effects: list[str] = []
    """Keys of the effects that what is done asked for, by whichever attempt."""
    seen: list[Sighting] = []
    """What was seen of it outside."""
    manifest: ManifestRef
    payload_bytes: int = 0
    """Written for this record: what is durable already is only referred to."""
    next_object: int = 0
    reported: Reported | None = None


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
    again: list[str] = []
    """Effects that a rerun may make anew: their keys."""
    effect: str = ""
    """Key of the effect that evidence settles; empty if it settles the step."""
    result: ManifestRef | None = None
    """The result that the person gave for that effect; None if that is None."""
    gave_result: bool = False
    outputs: dict[str, Output] = {}
    """Names that evidence gave a value."""
    manifest: ManifestRef | None = None
    """Where those values lie."""
    next_object: int = 0


class EffectOpened(Record, frozen=True, kw_only=True):
    """An effect is about to be called: durable before the call."""

    KIND: ClassVar[str] = "nbresume.effect_opened"
    step: str
    attempt: str
    number: int
    """Counts the effect records of the attempt; the result's group ends with it."""
    key: str
    generation: int = 0
    """Raised by ``%steps rerun --again``; part of the identity."""
    function: str
    """Name of what is called."""
    arguments_digest: str
    idempotency_key: str
    idempotent: bool = False
    """The author's word: the remote does equal calls with one key once."""
    ttl_s: float | None = None
    """For so long the remote remembers the key; None for ever."""
    lookup: bool = False
    """The outside can be asked whether it happened."""
    repeats: str = ""
    """The attempt whose open call this one repeats."""
    reported: Reported | None = None


class EffectDone(Record, frozen=True, kw_only=True):
    """The outcome of an effect is known."""

    KIND: ClassVar[str] = "nbresume.effect_done"
    step: str
    attempt: str
    number: int
    key: str
    generation: int = 0
    how: Ended
    error_type: str = ""
    """Class of a definite exception; its text is private and not kept here."""
    result: ManifestRef | None = None
    """Where the result lies; None if it is None, or not kept."""
    not_kept: str = ""
    """Why the result could not be kept."""
    awaited: bool = False
    """The result is that of an awaitable which the call gave back."""
    duration_s: float = 0.0
    evidence: Evidence | None = None
    """What the lookup found, or a person."""
    reported: Reported | None = None


class MadeCurrent(Record, frozen=True, kw_only=True):
    """An older commit has exactly today's key and counts again."""

    KIND: ClassVar[str] = "nbresume.made_current"
    step: str
    commit: int
    """Revision of the commit."""
    renamed_from: str = ""
    """The same work under its former name."""
    actor: str = ""


class Branch(Record, frozen=True, kw_only=True):
    """It was decided whether a step with a condition is taken."""

    KIND: ClassVar[str] = "nbresume.branch"
    step: str
    cell_id: str = ""
    condition: str = ""
    """Digest of what the expression means; empty: it has no condition any more."""
    inputs: dict[str, str] = {}
    """Name → version that the expression found; ``file NAME`` → version."""
    cells: list[tuple[str, str]] = []
    """(cell id, digest of its text) of the plain cells that made what it reads."""
    taken: bool
    actor: str = ""


class Quarantined(Record, frozen=True, kw_only=True):
    """A record is damaged; what it may have decided counts as undecided."""

    KIND: ClassVar[str] = "nbresume.quarantined"
    revision: int
    found_digest: str
    """Digest of the bytes that were found."""


class Migration(Record, frozen=True, kw_only=True):
    """The run goes on in another chain, or in this one again: nothing follows else."""

    KIND: ClassVar[str] = "nbresume.migration"
    chain: str
    """Checkpoint id of the chain in which the run goes on; empty: in this one again."""
    revision: int = -1
    """The newest revision there at that moment."""
    digest: str = ""
    """Digest of that record, and so of everything that it hangs on."""
    changes: dict[str, tuple[int, int]] = {}
    """Kind → its oldest schema version here, and the one that it has there."""
    actor: str
    because: str


class Tombstone(Record, frozen=True, kw_only=True):
    """Payloads count no more: durable before the first byte of them is taken away."""

    KIND: ClassVar[str] = "nbresume.tombstone"
    erasure: str
    """One id for the tombstones of one erasure: each run concerned has its own."""
    what: Erased
    run: str = ""
    """The run that was named: its groups, or those of a step or a name of it."""
    step: str = ""
    name: str = ""
    """The step, or the name of a value, that was named."""
    groups: dict[str, list[str]]
    """Run → its groups that are erased; "" is this run."""
    commits: list[int] = []
    """Revisions in this chain of the commits that lie there."""
    actor: str
    because: str
    policy: str = ""
    """The rule by which it goes, if no person named it."""

    def named(self, run: str = "") -> set[tuple[str, str]]:
        """Return (run, group) of all that it names; `run` stands for this run."""
        owned = self.groups.items()
        return {(owner or run, group) for owner, groups in owned for group in groups}


CLAIMS = (Claim.KIND, Forked.KIND)
"""The kinds of records that make a kernel the writer of a run."""


OfStep = (
    Intent
    | EffectOpened
    | EffectDone
    | Progress
    | Committed
    | Failed
    | Resolution
    | MadeCurrent
    | Branch
)
"""The records that say something about one step."""


RunRecord = Claim | Forked | OfStep | Quarantined | Migration | Tombstone
