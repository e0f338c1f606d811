"""The audit trail: one line for every record."""

import msgspec
from unit.run.fakes import Lab
from unit.run.samples import EFFECT_DONE, EFFECT_OPENED, RESOLUTION, changed

from nbresume.model.codec import payload_of
from nbresume.model.records import Migration
from nbresume.model.values import Ended, How
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


def test_every_record_says_who_what_and_why():
    """In the order in which it happened."""
    _, k = eventful()
    found = events(k.journal.envelopes())
    told = [(event.text, event.why) for event in found]

    assert [event.revision for event in found] == list(range(len(found)))
    for text, why in (
        ("pid 100 on host-1 claimed the run", "the run begins"),
        ("began", "new"),
        (
            "this record is damaged; what it said counts as undecided",
            "its bytes are not those that were written",
        ),
        ("failed", "it raised ValueError"),
        ("was interrupted", "Ctrl-C"),
        (
            "settled as retry",
            "policy nbresume run --retry (policy nbresume run --retry)",
        ),
        ("settled as abandon", "no more"),
        ("committed as number 2, without g", "its body ended"),
        ("commit of revision 2 is current", "its key is as it was"),
        ("commit of revision 2 is current, was a", "it was renamed"),
        ("pid 103 on host-1 took the run over", "a person chose to, from pid"),
        (
            "revision 2 is quarantined",
            "its bytes are not those that were written",
        ),
    ):
        assert any(text == t and w.startswith(why) for t, w in told), (text, told)
    assert any(", repeats attempt " in why for _, why in told)
    assert [e.kind for e in found if not (e.actor and e.why and e.at)] == ["damaged"]


def test_an_attempt_is_its_claimants():
    """Records of a kernel name nobody: the claim of their epoch does."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = 1")
    k = lab.kernel()
    k.world.liveness.name = "ann"
    k.go("a")
    k = k.restart()
    k.world.liveness.name = "bob"
    k.go("b")

    by = {(e.step, e.kind.partition(".")[2]): e.actor for e in k_events(k)}

    assert by == {
        ("", "claim"): "bob",
        ("a", "intent"): "ann",
        ("a", "committed"): "ann",
        ("b", "intent"): "bob",
        ("b", "committed"): "bob",
    }


def k_events(k):
    """Return the events of a kernel's run."""
    return events(k.journal.envelopes())


def test_a_migration_says_where_the_run_goes_on():
    """And so does the record by which it is undone."""
    _, k = eventful()
    link = k.journal.envelopes()[0]
    records = [
        Migration(
            chain="r.2",
            changes={"nbresume.committed": (1, 2)},
            actor="ann",
            because="upgraded",
        ),
        Migration(chain="r", actor="ann", because="too early"),
        Migration(chain="", actor="ann", because="too early"),
    ]
    links = [
        msgspec.structs.replace(
            link,
            envelope=msgspec.structs.replace(
                link.envelope, kind=record.KIND, payload=payload_of(record)
            ),
        )
        for record in records
    ]

    assert [(e.text, e.why, e.actor) for e in events(links)] == [
        (
            "the run goes on in chain r.2: nbresume.committed 1 to 2",
            "upgraded",
            "ann",
        ),
        ("the run goes on in chain r", "too early", "ann"),
        ("the run goes on in this chain again", "too early", "ann"),
    ]


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

    found = events([msgspec.structs.replace(link, envelope=e) for e in (newer, other)])

    assert [event.text for event in found] == [
        "a record of an unknown format: nbresume.claim version 9, by nbresume 0.1.0",
        "a record of an unknown format: nbresume.claim version 1, by nbresume 0.1.0",
    ]


def test_effects_have_sentences():
    """What was called, how it ended, who said so."""
    called = changed(EFFECT_OPENED, generation=1)
    told = [
        (called, "effect 'charge' (generation 2) is called"),
        (EFFECT_DONE, "effect 'charge' is done"),
        (
            changed(EFFECT_DONE, result=None, not_kept="a lock"),
            "effect 'charge' is done, result not kept",
        ),
        (
            changed(EFFECT_DONE, evidence=RESOLUTION.evidence),
            "effect 'charge' is done",
        ),
        (
            changed(EFFECT_DONE, how=Ended.FAILED, error_type="Declined"),
            "effect 'charge' surely failed",
        ),
        (
            changed(EFFECT_DONE, how=Ended.ABSENT),
            "effect 'charge' did not happen",
        ),
        (
            changed(RESOLUTION, effect="charge"),
            "effect 'charge' settled as evidence (receipt: mail 7)",
        ),
        (
            changed(RESOLUTION, how=How.RERUN, again=["a", "b"]),
            "settled as rerun (receipt: mail 7), again: a, b",
        ),
    ]

    assert [history._text(record) for record, _ in told] == [text for _, text in told]
