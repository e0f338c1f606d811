"""Records ⇄ canonical JSON bytes; unknown kinds and schemas are refused.

The rule: equal values have equal bytes (sorted keys, one line, UTF-8), and a record
of a kind or schema version that is not in ``SCHEMAS`` is never guessed at.
"""

from collections.abc import Mapping
from typing import Any, TypeVar, cast, get_args

import msgspec

from nbresume.errors import Damaged, SchemaError
from nbresume.model.envelope import Envelope
from nbresume.model.records import Record, RunRecord

T = TypeVar("T")

Schemas = Mapping[str, Mapping[int, type[Record]]]
"""kind → schema version → class."""

SCHEMAS: Schemas = {cls.KIND: {cls.SCHEMA: cls} for cls in get_args(RunRecord)}
"""What this release reads. A new version is a new entry, never a change."""


def canonical(value: Any) -> bytes:
    """Return the one JSON encoding of a value: sorted keys, no spaces."""
    return msgspec.json.encode(value, order="sorted")


def encode_envelope(envelope: Envelope) -> bytes:
    """Return the bytes of a record as they are stored: one line."""
    return canonical(envelope) + b"\n"


def decode_envelope(data: bytes, *, name: str) -> Envelope:
    """Return the envelope in `data`; the payload is still plain JSON.

    Raises
    ------
    Damaged
        The bytes are not a whole envelope.
    """
    return decode(data, Envelope, name=name)


def decode(data: bytes, kind: type[T], *, name: str) -> T:
    """Return the value in `data`, checked field by field.

    Raises
    ------
    Damaged
        The bytes are not JSON of this shape.
    """
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Damaged(
            f"{name} cannot be read",
            because=f"its bytes are damaged or incomplete ({error})",
            remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
            name=name,
        ) from error


def payload_of(record: Record) -> dict[str, Any]:
    """Return the record as the payload of an envelope."""
    payload: dict[str, Any] = msgspec.to_builtins(record)
    return payload


def record_of(envelope: Envelope, schemas: Schemas = SCHEMAS) -> RunRecord:
    """Return the record that an envelope of a run's chain holds.

    Raises
    ------
    SchemaError
        The kind or its schema version is unknown here.
    Damaged
        The payload does not have the shape of its schema.
    """
    versions = schemas.get(envelope.kind, {})
    cls = versions.get(envelope.schema_version)
    if cls is None:
        raise _unknown(envelope, versions)
    try:
        record = msgspec.convert(envelope.payload, type=cls)
    except msgspec.ValidationError as error:
        raise Damaged(
            f"revision {envelope.revision} of {envelope.id} cannot be read",
            because=f"its payload is no {envelope.kind} ({error})",
            remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
            revision=envelope.revision,
        ) from error
    return cast("RunRecord", record)


def _unknown(envelope: Envelope, versions: Mapping[int, object]) -> SchemaError:
    supported = sorted(versions)
    is_old = bool(supported) and envelope.schema_version < supported[0]
    remedy = (
        "Type nbresume migrate FOLDER, or use the release that wrote it."
        if is_old
        else "Use the release that wrote it, or a newer one: pip install -U nbresume."
    )
    return SchemaError(
        f"revision {envelope.revision} of {envelope.id} was not read",
        because=f"it holds {envelope.kind} version {envelope.schema_version}, "
        f"written by {envelope.writer or 'an unnamed release'}; this release "
        f"reads {_say(envelope.kind, supported)}. Nothing was written",
        remedy=remedy,
        kind=envelope.kind,
        found=envelope.schema_version,
        supported=supported,
        writer=envelope.writer,
    )


def _say(kind: str, supported: list[int]) -> str:
    if not supported:
        return f"no {kind}"
    return f"{kind} version " + ", ".join(str(v) for v in supported)
