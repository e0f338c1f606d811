"""One record of each kind, for tests that change a field or two of it."""

from datetime import UTC, datetime

import msgspec

from nbresume.model.records import (
    Branch,
    Claim,
    Committed,
    EffectDone,
    EffectOpened,
    Failed,
    Forked,
    Intent,
    MadeCurrent,
    Migration,
    Progress,
    Quarantined,
    Resolution,
    Tombstone,
)
from nbresume.model.values import (
    Ambient,
    Ended,
    Erased,
    Evidence,
    FoldRef,
    How,
    ManifestRef,
    Options,
    Origin,
    Output,
    ProcessChange,
    Reported,
    Writer,
)

AT = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)
WRITER = Writer(
    nonce="process-1",
    host="host-1",
    boot_id="boot-1",
    pid=100,
    started=1.5,
    python="3.12.0",
    product="nbresume test",
)
REF = ManifestRef(group="a-1", offset=0, length=10, digest="d")

CLAIM = Claim(
    workflow="main.ipynb",
    notebook="/project/main.ipynb",
    cells=["a", "b"],
    definition_digest="dd",
    writer=WRITER,
    actor="someone",
)
FORKED = Forked(
    workflow="main.ipynb",
    notebook="/project/main.ipynb",
    cells=["a", "b"],
    definition_digest="dd",
    writer=WRITER,
    actor="someone",
    origin=Origin(
        run="f" * 16,
        chain="",
        revision=4,
        digest="d4",
        at="a",
        steps=["a"],
        fold=FoldRef(revision=4, group="g-origin", offset=0, length=3, digest="f"),
    ),
)
INTENT = Intent(
    step="a",
    attempt="a-1",
    cell_id="a",
    code_version="code",
    inputs={"x": "v:1"},
    ambient={"k": Ambient(version="v:k", base="", cells=[("p", "t")], manifest=0)},
    ambient_manifests=[REF],
    modules={"np": "numpy"},
    options=Options(),
    key="key",
    aliases={"x": ["y"]},
    after={"z": "zkey"},
    idempotency_key="once",
    reason="new",
    next_object=3,
)
COMMITTED = Committed(
    step="a",
    attempt="a-1",
    cell_id="a",
    commit_number=1,
    code_version="code",
    key="key",
    idempotency_key="once",
    inputs={"x": "v:1"},
    aliases={},
    after={},
    outputs={"y": Output(version="v:2", object="o1", data=["o1"])},
    deleted=["gone"],
    in_place=[],
    not_kept={},
    imports=["json"],
    effects=[],
    manifest=REF,
    pack_bytes=10,
    payload_bytes=20,
    started_at=AT,
    duration_s=2.0,
    cpu_s=1.0,
    next_object=5,
    fold=FoldRef(revision=1, group="a-1", offset=0, length=3, digest="f"),
)
FAILED = Failed(
    step="a",
    attempt="a-1",
    error_type="ValueError",
    started_at=AT,
    duration_s=1.0,
    cpu_s=0.5,
)
RESOLUTION = Resolution(
    step="a",
    attempt="a-1",
    how=How.EVIDENCE,
    actor="someone",
    because="the mail is in the outbox",
    acknowledged=["it declared --effects"],
    evidence=Evidence(
        kind="receipt", reference="mail 7", observed_at=AT, names_not_kept=["y"]
    ),
)
MADE_CURRENT = MadeCurrent(step="a", commit=2, renamed_from="b", actor="someone")
QUARANTINED = Quarantined(revision=1, found_digest="bad")

MIGRATION = Migration(
    chain="run-1.2",
    revision=8,
    digest="d8",
    changes={"nbresume.committed": (1, 2)},
    actor="ann",
    because="upgraded",
)
EFFECT_OPENED = EffectOpened(
    step="a",
    attempt="a-1",
    number=1,
    key="charge",
    function="pay",
    arguments_digest="args",
    idempotency_key="once-charge",
    idempotent=True,
    ttl_s=3600.0,
    repeats="a-0",
    reported=Reported(tokens=5, cost=0.25),
)
EFFECT_DONE = EffectDone(
    step="a",
    attempt="a-1",
    number=1,
    key="charge",
    how=Ended.DONE,
    result=REF,
    duration_s=0.5,
)

BRANCH = Branch(
    step="a",
    cell_id="a",
    condition="digest",
    inputs={"x": "v:1", "file flag": "absent"},
    cells=[("p", "t")],
    taken=False,
    actor="someone",
)
PROGRESS = Progress(
    step="a",
    attempt="a-1",
    number=2,
    loop="0@4/0",
    position=300,
    total=1000,
    item=299,
    item_digest="i",
    names=["model"],
    whole=False,
    in_place=["rows"],
    not_kept={"lock": "a lock"},
    process={"rng:random": ProcessChange(version="p")},
    manifest=REF,
    payload_bytes=10,
    next_object=7,
)
TOMBSTONE = Tombstone(
    erasure="e-1",
    what=Erased.STEP,
    run="run-1",
    step="a",
    groups={"": ["a-1", "a-1-ambient"], "run-0": ["b-1"]},
    commits=[2],
    actor="someone",
    because="it held a name",
)

RECORDS = [
    CLAIM,
    FORKED,
    INTENT,
    EFFECT_OPENED,
    EFFECT_DONE,
    PROGRESS,
    COMMITTED,
    FAILED,
    RESOLUTION,
    MADE_CURRENT,
    QUARANTINED,
    MIGRATION,
    BRANCH,
    TOMBSTONE,
]


def changed(record, **fields):
    """Return the record with other values in these fields."""
    return msgspec.structs.replace(record, **fields)
