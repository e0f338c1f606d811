"""Records ⇄ canonical bytes, and the refusal of what is not known."""

from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.run.samples import AT, CLAIM, COMMITTED, RECORDS

from nbresume.errors import Damaged, ErrorKind, SchemaError
from nbresume.model.codec import (
    SCHEMAS,
    canonical,
    decode,
    decode_envelope,
    encode_envelope,
    payload_of,
    record_of,
)
from nbresume.model.digests import cue_digest, payload_digest, record_digest
from nbresume.model.envelope import Envelope
from nbresume.model.folded import RunState
from nbresume.model.records import (
    Committed,
    Failed,
    MadeCurrent,
    Quarantined,
    RunRecord,
)


def envelope_of(record, **fields):
    """Return an envelope that holds the record."""
    made = Envelope(
        id="r1",
        run_id="r1",
        revision=4,
        kind=record.KIND,
        schema_version=record.SCHEMA,
        payload=payload_of(record),
        updated_at=AT,
        nonce="n",
        writer="nbresume 9.9",
    )
    return msgspec.structs.replace(made, **fields)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(JSON)
def test_equal_values_have_equal_bytes(value):
    """Neither the order of keys nor a round trip changes the bytes."""
    data = canonical(value)

    assert canonical(msgspec.json.decode(data)) == data
    assert b"\n" not in data


def test_the_order_of_keys_does_not_count():
    """A dictionary filled in another order has the same bytes."""
    assert canonical({"b": 1, "a": [2]}) == canonical({"a": [2], "b": 1})
    assert canonical({"b": 1, "a": [2]}) == b'{"a":[2],"b":1}'


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.KIND)
def test_every_kind_survives_the_round_trip(record):
    """What was written is read, field by field, in one line of bytes."""
    data = encode_envelope(envelope_of(record))

    assert data.endswith(b"\n")
    assert data.count(b"\n") == 1
    assert encode_envelope(decode_envelope(data, name="r")) == data
    assert record_of(decode_envelope(data, name="r")) == record


def test_there_is_a_sample_of_every_kind():
    """No kind of record is without a schema or a test."""
    kinds = {cls.KIND for cls in get_args(RunRecord)}

    assert kinds == {record.KIND for record in RECORDS} == set(SCHEMAS)


TEXT = st.text(max_size=20)
NUMBERS = st.floats(0, 1e6, allow_nan=False)


@given(
    st.builds(
        Failed,
        step=TEXT,
        attempt=TEXT,
        error_type=TEXT,
        interrupted=st.booleans(),
        started_at=st.just(AT),
        duration_s=NUMBERS,
        cpu_s=NUMBERS,
    )
    | st.builds(
        MadeCurrent,
        step=TEXT,
        commit=st.integers(0, 2**40),
        renamed_from=TEXT,
        actor=TEXT,
    )
    | st.builds(Quarantined, revision=st.integers(0, 2**40), found_digest=TEXT)
)
def test_any_text_and_number_survives(record):
    """Names and reasons of any language come back as they were."""
    data = encode_envelope(envelope_of(record))

    assert record_of(decode_envelope(data, name="r")) == record


@pytest.mark.parametrize(
    ("fields", "supported"),
    [
        ({"kind": "nbresume.teleported"}, "reads no nbresume.teleported"),
        ({"schema_version": 2}, "reads nbresume.claim version 1"),
        ({"schema_version": 0, "writer": ""}, "an unnamed release"),
    ],
)
def test_an_unknown_schema_is_refused(fields, supported):
    """The refusal says what was found, what is supported and who wrote it."""
    envelope = envelope_of(CLAIM, **fields)

    with pytest.raises(SchemaError, match=supported) as caught:
        record_of(envelope)

    assert caught.value.kind is ErrorKind.UNKNOWN_SCHEMA
    assert caught.value.ids["found"] == envelope.schema_version
    assert envelope.kind in str(caught.value)
    assert (envelope.writer or "an unnamed release") in str(caught.value)
    assert "Nothing was written" in str(caught.value)


@pytest.mark.parametrize(
    ("version", "remedy"), [(1, "nbresume migrate"), (3, "pip install -U nbresume")]
)
def test_the_remedy_for_an_old_schema_is_to_migrate(version, remedy):
    """What is older than this release reads is migrated, what is newer is not."""
    envelope = envelope_of(CLAIM, schema_version=version)

    with pytest.raises(SchemaError, match=remedy):
        record_of(envelope, {CLAIM.KIND: {2: type(CLAIM)}})


@pytest.mark.parametrize(
    "change",
    [
        {"step": 7},
        {"surprise": 1},
        {"started_at": "yesterday"},
        {"outputs": {"y": {}}},
    ],
)
def test_a_payload_of_another_shape_is_damage(change):
    """A field of another type, or one too many, is never guessed at."""
    payload = payload_of(COMMITTED) | change

    with pytest.raises(Damaged, match="its payload is no"):
        record_of(envelope_of(COMMITTED, payload=payload))


def test_a_missing_field_is_damage():
    """A record that lacks something decides nothing."""
    payload = payload_of(COMMITTED)
    del payload["key"]

    with pytest.raises(Damaged):
        record_of(envelope_of(COMMITTED, payload=payload))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b"null",
        encode_envelope(envelope_of(CLAIM))[:-9],
        b'{"payload":' * 20_000,
    ],
    ids=range(8),
)
def test_bytes_that_are_no_envelope_are_damage(data):
    """Truncated, empty, deep or foreign bytes are reported with what to type."""
    with pytest.raises(Damaged, match="nbresume verify"):
        decode_envelope(data, name="record 3")


def test_the_folded_state_survives_the_round_trip():
    """A state that was written as a fold is read as it was."""
    state = RunState()
    for revision, record in enumerate(RECORDS):
        state.apply(record, revision=revision, digest="d", epoch=1, at=AT)
    data = canonical(msgspec.to_builtins(state, str_keys=True))

    assert decode(data, RunState, name="fold") == state


def test_the_class_of_a_kind_is_found_by_its_version():
    """A schema version maps to one class."""
    assert SCHEMAS["nbresume.committed"][1] is Committed


def test_digests_are_of_a_fixed_length():
    """The three uses have their own algorithm, so that none is taken for another."""
    digests = record_digest(b"x"), payload_digest(b"x"), cue_digest(b"x")

    assert [len(digest) for digest in digests] == [64, 64, 24]
    assert len(set(digests)) == 3
    assert payload_digest(memoryview(b"x")) == payload_digest(bytearray(b"x"))
