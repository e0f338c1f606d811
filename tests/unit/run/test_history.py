"""The audit trail: one line for every record."""

from dataclasses import replace

import msgspec
from unit.run.fakes import Lab
from unit.run.samples import EFFECT_DONE, EFFECT_OPENED, RESOLUTION, changed

from nbresume.model.records import Ended, How
from nbresume.run import history
from nbresume.run.history import events
from nbresume.run.recovery import Answer


def eventful():
    """Return a lab in whose run something of every kind has happened."""
    lab = Lab(
        a="%%step a\nx = 1",
        b="%%step b\nraise ValueError",
        c="%%step c\nraise KeyboardInterrupt",
        m="%%step m --effects\ndie()",
    )
    k = lab.kernel()
    k.go("a", "b")
    k.go("c")
    k.go("m")
    k = lab.kernel(retry=True)
    k.go("m")
    k = lab.kernel()
    k.parts.recovery.resolve("m", Answer(How.ABANDON, "no more"))
    lab.edit(a="%%step a\nx = 2\ng = (v for v in [1])")
    k.go("a")
    lab.edit(a="%%step a\nx = 1")
    k.go("a")
    k.parts.recovery.rename("a", "first")
    lab.backend.files[f"journal/{k.run_id}/{2:010d}.rec"] = b"{"
    k = lab.kernel()
    k.parts.claims.ensure(k.session.order(), take_over=True)
    return lab, k


def test_every_record_has_a_sentence():
    """Who, what, why; in the order in which it happened."""
    _, k = eventful()
    found = events(k.journal.envelopes())
    texts = [event.text for event in found]

    assert [event.revision for event in found] == list(range(len(found)))
    for part in (
        "pid 100 on host-1 claimed the run",
        "began: new",
        "this record is damaged; what it said counts as undecided",
        "raised ValueError",
        "interrupted",
        "settled as retry (policy nbresume run --retry): policy nbresume run --retry",
        "settled as abandon: no more",
        "committed as number 2, without g",
        "commit of revision 2 is current",
        "commit of revision 2 is current, was a",
        "took the run over",
        "revision 2 is quarantined",
    ):
        assert any(part in text for text in texts), part
    assert any(", repeats attempt " in text for text in texts)


def test_the_events_of_one_step_are_chosen():
    """Only what names the step."""
    _, k = eventful()
    found = events(k.journal.envelopes(), step="b")

    assert [event.kind for event in found] == ["nbresume.intent", "nbresume.failed"]
    assert found[1].duration_s == 0.0
    assert found[0].attempt == found[1].attempt


def test_a_record_of_an_unknown_format_is_listed():
    """A newer release's record has its place in the list."""
    _, k = eventful()
    link = k.journal.envelopes()[0]
    newer = msgspec.structs.replace(link.envelope, schema_version=9)
    other = msgspec.structs.replace(link.envelope, payload={})

    found = events([replace(link, envelope=e) for e in (newer, other)])

    assert [event.text for event in found] == ["a record of an unknown format"] * 2


def test_effects_have_sentences():
    """What was called, how it ended, who said so."""
    called = changed(EFFECT_OPENED, generation=1)
    told = [
        (called, "effect 'charge' (generation 2) is called, repeats attempt a-0"),
        (EFFECT_DONE, "effect 'charge' is done"),
        (
            changed(EFFECT_DONE, result=None, not_kept="a lock"),
            "effect 'charge' is done, result not kept",
        ),
        (
            changed(EFFECT_DONE, evidence=RESOLUTION.evidence),
            "effect 'charge' is done by receipt mail 7",
        ),
        (
            changed(EFFECT_DONE, how=Ended.FAILED, error_type="Declined"),
            "effect 'charge' surely failed: Declined",
        ),
        (
            changed(EFFECT_DONE, how=Ended.ABSENT),
            "effect 'charge' did not happen, by lookup",
        ),
        (
            changed(RESOLUTION, effect="charge"),
            "effect 'charge' settled as evidence: the mail is in the outbox",
        ),
        (
            changed(RESOLUTION, how=How.RERUN, again=["a", "b"]),
            "settled as rerun: the mail is in the outbox, again: a, b",
        ),
    ]

    assert [history._text(record) for record, _ in told] == [text for _, text in told]
