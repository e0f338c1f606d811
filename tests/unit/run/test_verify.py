"""The proof that a step is committed, and the walk over a run."""

import msgspec
import pytest
from unit.run.fakes import Lab
from unit.run.samples import MADE_CURRENT, changed

from nbresume.errors import Damaged, ErrorKind, NotCommitted
from nbresume.model.digests import record_digest
from nbresume.model.values import How
from nbresume.run.recovery import Answer
from nbresume.run.verify import prove, verify


def done():
    """Return a lab with two committed steps, and its kernel."""
    lab = Lab(p="k = [1]", a="%%step a\nx = k + [2]\nprint(x)", b="%%step b\ny = 1")
    k = lab.kernel()
    k.go()
    return lab, k


def packs(lab, group):
    """Return the keys of a group's pack."""
    return [key for key in lab.backend.files if f"/{group}/pack/c" in key]


def test_a_commit_is_proved_down_to_its_payloads():
    """Record, digest, key, who, when, and how many bytes were checked."""
    lab, k = done()
    proof = prove(k.journal, "a")
    data = lab.backend.files[f"journal/{k.run_id}/{proof.revision:010d}.rec"]

    assert proof.digest == record_digest(data)
    assert proof.key_id == lab.trust.key_id
    assert proof.at == "2026-11-05T12:00:00+00:00"
    assert proof.writer.startswith("nbresume ")
    assert proof.payloads > 0
    assert proof.payload_bytes > 0


def test_verifying_changes_no_byte():
    """Neither the proof nor the walk writes."""
    lab, k = done()
    before = dict(lab.backend.files)
    prove(k.journal, "a")
    report = verify(k.journal)

    assert lab.backend.files == before
    assert report.records == 5
    assert report.problems == []
    assert report.payloads > 3


def test_a_step_without_a_commit_is_not_proved():
    """The remedy is to run it."""
    _, k = done()

    with pytest.raises(NotCommitted, match="has no commit"):
        prove(k.journal, "c")


def test_a_damaged_record_proves_nothing():
    """The revision is named."""
    lab, k = done()
    revision = k.journal.state.step("a").current
    lab.backend.files[f"journal/{k.run_id}/{revision:010d}.rec"] = b"{"

    with pytest.raises(NotCommitted, match=f"revision {revision}"):
        prove(k.journal, "a")
    assert f"record {revision} is damaged" in verify(k.journal).problems


def test_a_damaged_payload_proves_nothing():
    """A flipped bit is found by the proof and told by the walk."""
    lab, k = done()
    group = k.commits("a").manifest.group
    for key in packs(lab, group):
        data = lab.backend.files[key]
        lab.backend.files[key] = bytes([data[0] ^ 1]) + data[1:]

    with pytest.raises(Damaged) as caught:
        prove(k.journal, "a")
    assert caught.value.kind is ErrorKind.DAMAGED
    assert any(problem.startswith(group) for problem in verify(k.journal).problems)


def test_ambient_values_are_walked_too():
    """A plain cell's value that was stored is checked as well."""
    lab, k = done()
    group = k.journal.state.ambient["k"].manifest.group
    for key in packs(lab, group):
        lab.backend.files[key] = b""

    assert any(problem.startswith(group) for problem in verify(k.journal).problems)


def test_a_step_settled_by_evidence_has_no_payload():
    """Its record is the proof."""
    lab = Lab(m="%%step m --effects\ndie()")
    lab.kernel().go()
    k = lab.kernel()
    k.parts.recovery.resolve("m", Answer(How.EVIDENCE, "seen"))

    proof = prove(k.journal, "m")

    assert (proof.payloads, proof.payload_bytes) == (0, 0)
    assert verify(k.journal).problems == []


def test_a_record_of_another_shape_is_a_problem():
    """The walk goes on behind it."""
    lab, k = done()
    record = changed(MADE_CURRENT, commit=2, renamed_from="")
    k.journal.decide(record)
    link = k.journal.envelopes()[-1]
    later = msgspec.structs.replace(
        link.envelope,
        revision=link.revision + 1,
        prev=link.digest,
        schema_version=9,
        nonce="later",
    )
    lab.store().chain(k.run_id).append(later)

    report = verify(k.journal)

    assert report.records == 7
    assert len(report.problems) == 1
    assert "version 9" in report.problems[0]


def test_an_empty_run_has_nothing_to_verify():
    """It is no problem."""
    lab = Lab(a="%%step a\nx = 1")

    assert verify(lab.kernel().journal).records == 0
