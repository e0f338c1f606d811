"""The ladder: every crash point, what is done there, and what must stand afterwards.

One table. A row is played in three situations: at the first attempt, in a recovery,
and in the recovery of a recovery; and with a plain step and one that declares effects.
Of boundaries that are alike (the writes or flushes in the middle of one payload, the
errors of one device) recoveries play one: see ``Row.is_like_another``.
"""

from dataclasses import dataclass, replace

from faults import Fault

BODY = "note('work')\nrows.append(4)\ntotal = sum(rows) * factor"
"""What the step does: it acts on the outside, changes a value and makes one."""
REACHING = BODY.replace("note(", "reach(")
"""The same over a connection, which the product sees; nothing is declared."""
CHARGING = BODY.replace(
    "note('work')", "receipt = effect('charge', lambda: note('work.charge') or [6])"
)
"""The same by an effect with a result."""
TWICE = CHARGING.replace(
    "\nrows", "\neffect('mail', lambda: note('work.mail'))\nrows", 1
)
"""By two effects."""
IDEMPOTENT = BODY.replace(
    "note('work')",
    "receipt = effect.using(idempotent=True)("
    "'charge', lambda: note('work.charge=' + idempotency_key()) or [6])",
)
"""By an effect whose remote does equal calls with one key once."""
LOOPING = BODY.replace(
    "rows",
    "from nbresume import resumable\ndone = []\n"
    "for n in resumable(range(3), every=1, bar=False):\n    done.append(n)\n"
    "assert done == [0, 1, 2]\nrows",
    1,
)
"""The same around a loop that saves its progress after each of its items."""
BEFORE = "as before"
CUT = "cut off"
COMMITTED = "committed"
FAILED = "failed"
DOUBT = "in doubt"

STAGED = "/tmp/"  # noqa: S108 - below the store
"""In the path of a file that has no name of its own yet."""
RECORD = "/journal/"
"""In the path of a record, and of its folder."""
ONE_CHUNK = 1_100_000
"""Bytes of a table that is an array of one chunk."""
NINE_CHUNKS = 9_000_000
"""Bytes of one of nine chunks."""
IN_THE_PACK = 1_000
"""Bytes of one that is no array: pack, record and publication are written together."""
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
    """What the step is afterwards: as before, cut off, in doubt, committed, failed."""
    marks: int = 0
    """How often the body has acted in this attempt."""
    body: str = "done"
    """What happens to the body when it has acted."""
    mark: str = "work"
    """The line of the ledger at which that happens."""
    is_like_another: bool = False
    """Another row is about a boundary of the same kind: it is played in a recovery,
    and in the recovery of that; this one at the first attempt only."""
    again: int = 1
    """How often the body acts until it is committed, if it was not."""
    only: str = ""
    """The one situation in which the kernel comes there."""
    table_bytes: int = ONE_CHUNK
    """Size of the table that the step makes."""
    code: str = BODY
    """What the body does; it leaves ``rows`` and ``total``."""

    @property
    def name(self) -> str:
        """The row as a test names it."""
        return f"{self.point:02}-{self.title}".replace(" ", "-")


def _record(
    kind: str, *, title: str = "", where: str = RECORD, since: str = ""
) -> list[tuple[str, Fault]]:
    """Return the boundaries at which a record is not there yet."""
    title = title or kind
    parts = {"no byte": 0.0, "one byte": 1, "half": 0.5, "all but one byte": -1}
    torn = [
        (
            f"{title} torn, {part}",
            Fault("write", kind, STAGED, since, action="torn", part=size),
        )
        for part, size in parts.items()
    ]
    return [
        *torn,
        (f"{title} written, not flushed", Fault("flush", kind, STAGED, since)),
        (f"{title} flushed, not visible", Fault("link", kind, where)),
    ]


def _visible(
    kind: str, *, title: str = "", where: str = RECORD
) -> list[tuple[str, Fault]]:
    """Return the boundaries at which a record is there and its writer knows nothing."""
    title = title or kind
    key = where.removeprefix("/")
    return [
        (f"{title} visible, folder not flushed", Fault("linked", kind, where)),
        (f"{title} folder about to be flushed", Fault("flush", kind, where)),
        (f"{title} durable, nobody told", Fault("created", kind, key)),
    ]


CHUNK_WRITES = 12
"""Writes by the commit of the large table: metadata, nine chunks, padding, pack."""
PAYLOAD_WRITES = 3
"""Writes by the commit of the small one: metadata and bytes of an array, a pack."""
PAYLOAD_FLUSHES = 7
"""As many files, then the folders of both, of the group and of the run."""


def _payload(event: str, nth: int, **changes: str) -> Fault:
    return Fault(event, "", "/data.zarr/", since="intent", nth=nth, **changes)


SMALL_FLUSHES = 4
"""By a commit that is only a pack: its file, its folder, that of group and of run."""


def _small(point: int, title: str, fault: Fault, after: str) -> Row:
    return Row(point, f"small, {title}", fault, after, 1, table_bytes=IN_THE_PACK)


_SMALL = (
    ("pack write", _payload("write", 1)),
    ("record write", Fault("write", "committed", STAGED)),
    *(
        (f"pack flush {n}", Fault("flush", "committed", "/data.zarr/", nth=n))
        for n in range(1, SMALL_FLUSHES + 1)
    ),
    ("record flush", Fault("flush", "committed", STAGED)),
)
"""A commit that is only a pack, in order: all is written, and then flushed."""

KILLS = (
    Row(1, "before the claim", Fault("append", "claim"), BEFORE),
    *(Row(1, title, fault, BEFORE) for title, fault in _record("claim")),
    *(Row(2, title, fault, BEFORE) for title, fault in _visible("claim")),
    Row(2, "claim not repeated", Fault("write", "", STAGED, since="claim"), BEFORE),
    Row(2, "its repetition not visible", Fault("publish", "", "runs/"), BEFORE),
    Row(
        3,
        "ambient payload torn",
        Fault("write", "", "-ambient/", action="torn"),
        BEFORE,
        only="first",
    ),
    *(
        Row(
            3,
            f"ambient flush {n}",
            Fault("flush", "", "-ambient", nth=n),
            BEFORE,
            only="first",
        )
        for n in range(1, 4)
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
            table_bytes=NINE_CHUNKS,
            is_like_another=1 < n < CHUNK_WRITES,
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
            is_like_another=n not in (1, PAYLOAD_WRITES + 1, PAYLOAD_FLUSHES),
        )
        for n in range(1, PAYLOAD_FLUSHES + 1)
    ),
    *(
        _small(19 if "write" in title else 20, f"before {title}", fault, CUT)
        for title, fault in _SMALL
    ),
    _small(18, "pack torn", _payload("write", 1, action="torn"), CUT),
    *(
        _small(19, f"publication {n} torn", fault, CUT)
        for n, fault in (
            (n, Fault("write", "", STAGED, since="body", nth=n, action="torn"))
            for n in (1, 2)
        )
    ),
    *(_small(21, title, fault, CUT) for title, fault in _record("committed")[:4]),
    _small(21, "not visible", Fault("link", "committed", RECORD), CUT),
    *(_small(22, title, fault, COMMITTED) for title, fault in _visible("committed")),
    *(
        _small(23, f"publication {n}", fault, COMMITTED)
        for n, fault in (
            (n, Fault("publish", since="committed", nth=n)) for n in (1, 2)
        )
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

NOTE = "/seen/"
"""In the path of the note of what an attempt was seen doing, and of its folder."""
RESULT_WRITES = 1
"""Writes by the result of an effect: a pack."""
RESULT_FLUSHES = 4
"""As many files, then the folders of the pack, of the group and of the run."""


_LAST_BEFORE_THE_CALL = 9


def _charging(point: int, title: str, fault: Fault, after: str, **changes) -> Row:
    acted = int(point > _LAST_BEFORE_THE_CALL)
    row = Row(point, title, fault, after, acted, code=CHARGING, mark="work.charge")
    return replace(row, **changes)


def _result(event: str, nth: int, **changes: str) -> Fault:
    return Fault(event, "", "/data.zarr/", since="effect_opened", nth=nth, **changes)


OUTSIDE = (
    *(
        Row(7, title, fault, CUT, code=REACHING)
        for title, fault in _record("", title="note", where=NOTE, since="body")
    ),
    *(
        Row(7, title, fault, DOUBT, code=REACHING)
        for title, fault in _visible("", title="note", where=NOTE)
    ),
    Row(7, "in a call that was noted", NOWHERE, DOUBT, 1, "kill", code=REACHING),
    _charging(8, "before the effect is opened", Fault("append", "effect_opened"), CUT),
    *(_charging(8, title, fault, CUT) for title, fault in _record("effect_opened")),
    *(_charging(9, title, fault, DOUBT) for title, fault in _visible("effect_opened")),
    _charging(10, "in the effect", NOWHERE, DOUBT, body="kill"),
    _charging(10, "os._exit in the effect", NOWHERE, DOUBT, body="exit"),
    _charging(
        10,
        "in an idempotent effect",
        NOWHERE,
        CUT,
        body="kill",
        code=IDEMPOTENT,
        again=0,
    ),
    _charging(11, "reply there, result not written", _result("write", 1), DOUBT),
    *(
        _charging(
            12,
            f"write {n} of a result torn",
            _result("write", n, action="torn"),
            DOUBT,
        )
        for n in range(1, RESULT_WRITES + 1)
    ),
    *(
        _charging(
            12,
            f"flush {n} of a result",
            _result("flush", n),
            DOUBT,
            is_like_another=1 < n < RESULT_FLUSHES,
        )
        for n in range(1, RESULT_FLUSHES + 1)
    ),
    _charging(12, "before the outcome", Fault("append", "effect_done"), DOUBT),
    *(_charging(12, title, fault, DOUBT) for title, fault in _record("effect_done")),
    *(
        _charging(13, title, fault, CUT, again=0)
        for title, fault in (
            *_visible("effect_done"),
            ("result not published", Fault("publish", since="effect_done")),
            ("before the next line is over", Fault("ended")),
        )
    ),
    _charging(
        14,
        "between two effects",
        Fault("append", "effect_opened", nth=2),
        CUT,
        code=TWICE,
    ),
    _charging(
        14,
        "second effect opened",
        Fault("created", "effect_opened", nth=2),
        DOUBT,
        code=TWICE,
    ),
    _charging(
        14,
        "in the second effect",
        NOWHERE,
        DOUBT,
        marks=2,
        body="kill",
        mark="work.mail",
        code=TWICE,
    ),
)
"""Points 7 to 14: the kernel ends there; the body makes effects, or was seen."""

PROGRESS_WRITES = 1
"""Writes by one progress: a pack."""
PROGRESS_FLUSHES = 4
"""As many files, then the folders of the pack, of the group and of the run."""


def _looping(point: int, title: str, fault: Fault, **changes: bool) -> Row:
    return Row(point, title, fault, CUT, 1, code=LOOPING, **changes)


def _progress(event: str, nth: int, **changes: str) -> Fault:
    return Fault(event, "", "/data.zarr/", since="intent", nth=nth, **changes)


LOOPS = (
    *(
        _looping(
            37, f"write {n} of a progress torn", _progress("write", n, action="torn")
        )
        for n in range(1, PROGRESS_WRITES + 1)
    ),
    *(
        _looping(
            37,
            f"flush {n} of a progress",
            _progress("flush", n),
            is_like_another=1 < n < PROGRESS_FLUSHES,
        )
        for n in range(1, PROGRESS_FLUSHES + 1)
    ),
    _looping(37, "before the progress", Fault("append", "progress")),
    *(_looping(37, title, fault) for title, fault in _record("progress")),
    *(_looping(38, title, fault) for title, fault in _visible("progress")),
    _looping(38, "progress not published", Fault("publish", since="progress")),
    _looping(38, "before the next progress", Fault("append", "progress", nth=2)),
    _looping(38, "next progress durable", Fault("created", "progress", nth=2)),
    _looping(38, "behind the loop", Fault("ended")),
)
"""Points 37 and 38: the kernel ends while a loop saves its progress, and after it."""

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
    Row(
        33,
        f"{error} {title}",
        replace(fault, action=error),
        CUT,
        marks,
        is_like_another=(nth + turn) % len(_ERRORS) > 0,
    )
    for nth, (title, fault, marks) in enumerate(_DEVICE)
    for turn, error in enumerate(_ERRORS)
) + tuple(
    _small(33, f"{error} {title}", replace(fault, action=error), CUT)
    for nth, (title, fault) in enumerate(_SMALL)
    for error in (_ERRORS[nth % len(_ERRORS)],)
)
"""The device fails there, and the kernel lives; the errors take turns in recoveries."""

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
    row
    for first, table in ((3, KILLS), (8, OUTSIDE))
    for row in table
    if first <= row.point <= 23 and row.fault.action == "kill" and row.body != "exit"
)
"""Point 28: the kernel stands still there while another one takes the run over."""

RESOLVING = (
    *((title, fault, "AMBIGUOUS") for title, fault in _record("resolution")),
    *((title, fault, "NEW") for title, fault in _visible("resolution")),
)
"""Points 26 and 27: (title, fault, state afterwards) while a retry is recorded."""

ELSEWHERE = {
    30: "tests/golden/test_golden.py: test_a_migration_is_killed_at_every_record",
    31: "tests/crash/test_taking_away.py: test_31_killed_while_it_is_erased",
    32: "tests/crash/test_rotating.py: test_32_killed_while_the_key_is_rotated",
    35: "tests/browser/test_crash.py: test_it_dies_at_resume",
}
"""Points that another test runs: the file and its test."""
