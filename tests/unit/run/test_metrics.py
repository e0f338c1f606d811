"""A run in numbers: derived from its records, or counted where it happens."""

import msgspec
import pytest
from unit.run.fakes import Lab
from unit.run.samples import RESOLUTION

from nbresume.errors import SchemaError, TakenRun
from nbresume.model.values import How
from nbresume.run.recovery import Answer

CELLS = {
    "a": "%%step a\nx = 1",
    "b": "%%step b\ny = x",
    "m": "%%step m --effects\ndie()",
}


def metrics(k):
    """Return the numbers that a kernel shows."""
    return k.view().metrics


def test_a_new_run_has_no_numbers():
    """Nothing ran, nothing is stored, there is no commit that has an age."""
    found = msgspec.structs.asdict(metrics(Lab(**CELLS).kernel()))

    assert found.pop("resume_age_s") is None
    assert set(found.values()) == {0}


def test_attempts_commits_and_sizes_are_those_of_the_records():
    """They are the same for every process that reads the run."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go("a", "b")
    lab.edit(a="%%step a\nx = 2")
    k.go("a", "b")
    view = k.view()

    assert (view.metrics.attempts, view.metrics.commits) == (4, 4)
    assert view.metrics.checkpoint_bytes == sum(s.payload_bytes for s in view.steps)
    assert view.metrics.written_bytes == view.usage.bytes
    assert view.metrics.written_bytes > view.metrics.checkpoint_bytes > 0
    assert metrics(lab.kernel()).commits == 4


@pytest.mark.parametrize("how", list(How)[:3])
def test_an_ambiguous_recovery_counts_for_good(how):
    """While the step is in doubt, and after it was settled; a second word adds none."""
    lab = Lab(**CELLS)
    lab.kernel().go()
    k = lab.kernel()
    assert (metrics(k).ambiguous, metrics(k).ambiguous_recoveries) == (1, 1)

    k.parts.recovery.resolve("m", Answer(how, "looked", names_not_kept=[]))

    assert (metrics(k).ambiguous, metrics(k).ambiguous_recoveries) == (0, 1)
    k = lab.kernel()
    assert metrics(k).ambiguous_recoveries == 1
    if how is How.ABANDON:
        k.parts.recovery.resolve("m", Answer(How.RETRY, "after all"))
        assert metrics(k).ambiguous_recoveries == 1


def test_a_second_doubt_is_a_second_recovery():
    """Each attempt whose end was in doubt counts."""
    lab = Lab(**CELLS)
    lab.kernel().go()
    k = lab.kernel(retry=True)
    k.go("m")

    assert metrics(lab.kernel()).ambiguous_recoveries == 2


def test_the_age_is_that_of_the_newest_commit_when_the_run_was_opened():
    """It does not grow while the kernel lives, and starts anew with the next one."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go("a")
    lab.clock.advance(60)
    k.go("b")
    assert metrics(k).resume_age_s is None
    lab.clock.advance(3600)
    k = k.restart()
    lab.clock.advance(5)
    k.go("a")

    assert metrics(k).resume_age_s == 3600
    assert metrics(lab.kernel()).resume_age_s == 3605


def test_a_lost_append_counts_in_the_process_that_lost():
    """Another process decided first."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go("a")
    slow, fast = lab.kernel(), lab.kernel()
    fast.journal.decide(RESOLUTION)
    slow.journal.decide(RESOLUTION)

    assert metrics(slow).revision_conflicts == 1
    assert metrics(fast).revision_conflicts == 0
    assert metrics(lab.kernel()).revision_conflicts == 0


def test_a_lost_claim_counts():
    """Two kernels wanted the run at the same moment."""
    lab = Lab(**CELLS)
    lab.kernel().go("a")
    lab.processes["process-100"] = False
    slow, fast = lab.kernel(), lab.kernel()
    fast.parts.claims.ensure(fast.session.order())
    with pytest.raises(TakenRun):
        slow.parts.claims.ensure(slow.session.order())

    assert metrics(slow).revision_conflicts == 1


def test_an_unreadable_record_counts():
    """Each time that a process meets it."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go("a")
    link = k.journal.envelopes()[-1]
    newer = msgspec.structs.replace(
        link.envelope, revision=link.revision + 1, prev=link.digest, schema_version=9
    )
    lab.store().chain(k.run_id).append(newer)
    for _ in range(2):
        with pytest.raises(SchemaError):
            k.journal.refresh()

    assert k.journal.counts.schema_mismatches == 2


def test_damage_counts():
    """Quarantined or not yet."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go("a")
    k.kill()
    lab.backend.files[f"journal/{k.run_id}/{2:010d}.rec"] = b"{"
    k = lab.kernel()
    assert metrics(k).damaged_records == 1
    k.go("a")

    assert metrics(k).damaged_records == 1
    assert k.journal.state.quarantined == [2]
