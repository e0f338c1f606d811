"""The ladder: every crash point, what is done there, and what must stand afterwards.

One table. A row is played in three situations: at the first attempt, in a recovery,
and in the recovery of a recovery; and with a plain step and one that declares effects.
"""

from dataclasses import dataclass, replace

from faults import Fault

BODY = "note('work')\nrows.append(4)\ntotal = sum(rows) * factor"
"""What the step does: it acts on the outside, changes a value and makes one."""
BEFORE = "as before"
CUT = "cut off"
COMMITTED = "committed"
FAILED = "failed"

STAGED = "/tmp/"  # noqa: S108 - below the store
"""In the path of a file that has no name of its own yet."""
RECORD = "/journal/"
"""In the path of a record, and of its folder."""
NOWHERE = Fault("none")
"""No boundary: it happens inside the body."""


@dataclass(frozen=True)
class Row:
    """One boundary at which something happens to the kernel that runs the step."""

    point: int
    """Number of the crash point."""
    title: str
    fault: Fault
    after: str
    """What the step is afterwards: as before, cut off, committed or failed."""
    marks: int = 0
    """How often the body has acted in this attempt."""
    body: str = "done"
    """What happens to the body when it has acted."""
    only: str = ""
    """The one situation in which the kernel comes there."""
    is_large: bool = False
    """The step makes a table of many chunks."""
    code: str = BODY
    """What the body does; it leaves ``rows`` and ``total``."""

    @property
    def name(self) -> str:
        """The row as a test names it."""
        return f"{self.point:02}-{self.title}".replace(" ", "-")


def _record(kind: str) -> list[tuple[str, Fault]]:
    """Return the boundaries at which a record is not there yet."""
    parts = {"no byte": 0.0, "one byte": 1, "half": 0.5, "all but one byte": -1}
    torn = [
        (
            f"{kind} torn, {part}",
            Fault("write", kind, STAGED, action="torn", part=size),
        )
        for part, size in parts.items()
    ]
    return [
        *torn,
        (f"{kind} written, not flushed", Fault("flush", kind, STAGED)),
        (f"{kind} flushed, not visible", Fault("link", kind, RECORD)),
    ]


def _visible(kind: str) -> list[tuple[str, Fault]]:
    """Return the boundaries at which a record is there and its writer knows nothing."""
    return [
        (f"{kind} visible, folder not flushed", Fault("linked", kind, RECORD)),
        (f"{kind} folder about to be flushed", Fault("flush", kind, RECORD)),
        (f"{kind} durable, nobody told", Fault("created", kind)),
    ]


CHUNK_WRITES = 13
"""Writes by the commit of the large table: metadata, nine chunks, padding, pack."""
PAYLOAD_WRITES = 4
"""Writes by the commit of the small one: metadata and bytes of an array and a pack."""
PAYLOAD_FLUSHES = 8
"""As many files, then the folders of both, of the group and of the run."""


def _payload(event: str, nth: int, **changes: str) -> Fault:
    return Fault(event, "", "/data.zarr/", since="intent", nth=nth, **changes)


KILLS = (
    Row(1, "before the claim", Fault("append", "claim"), BEFORE),
    *(Row(1, title, fault, BEFORE) for title, fault in _record("claim")),
    *(Row(2, title, fault, BEFORE) for title, fault in _visible("claim")),
    Row(2, "claim not repeated", Fault("write", "", STAGED, since="claim"), BEFORE),
    Row(2, "its repetition not visible", Fault("publish", "", "runs/"), BEFORE),
    *(
        Row(
            3,
            f"ambient payload {n} torn",
            Fault("write", "", "-ambient/", nth=n, action="torn"),
            BEFORE,
            only="first",
        )
        for n in (1, 2)
    ),
    *(
        Row(
            3,
            f"ambient flush {n}",
            Fault("flush", "", "-ambient", nth=n),
            BEFORE,
            only="first",
        )
        for n in range(1, 5)
    ),
    Row(3, "before the intent", Fault("append", "intent"), BEFORE),
    *(Row(3, title, fault, BEFORE) for title, fault in _record("intent")[:4]),
    *(Row(4, title, fault, BEFORE) for title, fault in _record("intent")[4:]),
    *(Row(5, title, fault, CUT) for title, fault in _visible("intent")),
    Row(
        5,
        "ambient group not published",
        Fault("publish", since="intent"),
        CUT,
        only="first",
    ),
    Row(5, "before the body", Fault("body"), CUT),
    Row(6, "in the body", NOWHERE, CUT, 1, "kill"),
    Row(15, "body raised, before the record", Fault("append", "failed"), CUT, 1, "no"),
    *(Row(15, title, fault, CUT, 1, "no") for title, fault in _record("failed")),
    *(Row(15, title, fault, FAILED, 1, "no") for title, fault in _visible("failed")),
    Row(16, "body ended, before the capture", Fault("ended"), CUT, 1),
    *(
        Row(17, f"in the capture of object {n}", Fault("capture", nth=n), CUT, 1)
        for n in (1, 2)
    ),
    *(
        Row(
            18,
            f"write {n} of a large payload torn",
            _payload("write", n, action="torn"),
            CUT,
            1,
            is_large=True,
        )
        for n in range(1, CHUNK_WRITES + 1)
    ),
    *(
        Row(
            20 if n > PAYLOAD_WRITES else 19,
            f"flush {n} of the payloads",
            _payload("flush", n),
            CUT,
            1,
        )
        for n in range(1, PAYLOAD_FLUSHES + 1)
    ),
    Row(21, "payloads durable, no record", Fault("append", "committed"), CUT, 1),
    *(Row(21, title, fault, CUT, 1) for title, fault in _record("committed")),
    *(Row(22, title, fault, COMMITTED, 1) for title, fault in _visible("committed")),
    Row(23, "not published", Fault("publish", since="committed"), COMMITTED, 1),
    Row(23, "before the reply", Fault("reply"), COMMITTED, 1),
    Row(36, "os._exit in the body", NOWHERE, CUT, 1, "exit"),
    Row(36, "segmentation fault in the body", NOWHERE, CUT, 1, "crash"),
    Row(36, "os._exit in the capture", Fault("capture", action="exit"), CUT, 1),
)
"""The kernel ends there."""

_ERRORS = ("ENOSPC", "EIO", "EROFS")
_DEVICE = (
    *(
        (f"{kind} {what}", Fault(event, kind, where), int(kind == "committed"))
        for kind in ("claim", "intent", "committed")
        for what, event, where in (
            ("written", "write", STAGED),
            ("flushed", "flush", STAGED),
            ("linked", "link", RECORD),
            ("folder flushed", "flush", RECORD),
        )
    ),
    *(
        (f"payload write {n}", _payload("write", n), 1)
        for n in range(1, PAYLOAD_WRITES + 1)
    ),
    *(
        (f"payload flush {n}", _payload("flush", n), 1)
        for n in range(1, PAYLOAD_FLUSHES + 1)
    ),
)

FAILURES = tuple(
    Row(33, f"{error} {title}", replace(fault, action=error), CUT, marks)
    for title, fault, marks in _DEVICE
    for error in _ERRORS
)
"""The device fails there, and the kernel lives."""

LOST_REPLIES = tuple(
    Row(34, f"{what} of {kind}", fault, COMMITTED, 1)
    for kind in ("claim", "intent", "committed")
    for what, fault in (
        ("taken, said the store", Fault("created", kind, action="taken")),
        (
            "exists, said the file server",
            Fault("linked", kind, RECORD, action="EEXIST"),
        ),
        ("error, said the file server", Fault("linked", kind, RECORD, action="EIO")),
    )
)
"""The store did it and says that it did not."""

STOPS = tuple(
    row for row in KILLS if 3 <= row.point <= 23 and row.fault.action == "kill"
)
"""Point 28: the kernel stands still there while another one takes the run over."""

RESOLVING = (
    *((title, fault, "AMBIGUOUS") for title, fault in _record("resolution")),
    *((title, fault, "NEW") for title, fault in _visible("resolution")),
)
"""Points 26 and 27: (title, fault, state afterwards) while a retry is recorded."""

WAITING = {
    7: (
        "the note of what was seen, before the call proceeds",
        "AMBIGUOUS, ledger 0; needs the audit hook",
    ),
    8: ("effect opened, torn", "the effect is absent, ledger 0; needs effect()"),
    9: ("effect opened, before the call", "AMBIGUOUS, ledger 0; needs effect()"),
    10: (
        "after the remote acted, before its reply",
        "AMBIGUOUS, ledger 1; 1 again after a retry at an idempotent remote",
    ),
    11: ("reply there, before the result is written", "AMBIGUOUS, ledger 1"),
    12: ("result torn, or flushed and not visible", "AMBIGUOUS"),
    13: ("result durable, before the next line", "a rerun replays it, ledger 1"),
    14: ("between two effects of a cell", "the first replays, the second runs once"),
    30: (
        "in a migration, at every record",
        "the old store is readable, migrating again goes on; needs nbresume migrate",
    ),
    31: ("in retention or erasure, at every delete", "a later part of the product"),
    32: ("in a rotation of keys", "a later part of the product"),
    35: ("server or browser, not the kernel", "a later part of the product"),
}
"""Points that are not run yet: (where, what must hold there)."""
