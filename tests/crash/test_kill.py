"""SIGKILL of a real kernel at named points; then recovery, and recovery killed again.

Judged by the ledger that the bodies write, by ``nbresume status --json`` and by the
values that a later kernel holds.
"""

import pytest
from pauses import Crash
from real_kernel import hashes, wait_for

pytestmark = pytest.mark.kernel

WHOLE = "{'rows': [1, 2, 3, 4], 'total': 10, 'answer': 20}"
UNFINISHED = ["body", "capture", "before-committed"]


def check_recovered(crash, *, work: int):
    """Run all; assert the values, and that a second recovery changes nothing."""
    *said, values = crash.run_all()
    assert [s.status for s in said] == ["ok"] * 5, said[-1].text
    assert values == WHOLE
    ledger = crash.ledger()
    assert [ledger.count(step) for step in ("load", "work", "end")] == [1, work, 1]
    assert set(crash.states().values()) == {"COMMITTED"}
    return said


def check_second_recovery(crash):
    """Assert that another restart replays everything and moves nothing."""
    ledger, states = crash.ledger(), crash.states()
    before = hashes(crash.folder / ".nbresume")
    *said, values = crash.run_all()
    assert values == WHOLE
    assert all("[restored]" in s.text for s in said[2:])
    assert crash.ledger() == ledger
    assert crash.states() == states
    assert hashes(crash.folder / ".nbresume") == before


@pytest.mark.parametrize("point", UNFINISHED)
def test_a_plain_step_runs_again(tmp_path, point):
    """A plain step cut off before its record is interrupted, and runs again."""
    crash = Crash(tmp_path)
    crash.kill_at(point)

    assert crash.states() == {"load": "COMMITTED", "work": "INTERRUPTED", "end": "NEW"}
    assert crash.view().resume_from == "work"
    said = check_recovered(crash, work=2)
    assert "[restored] step load" in said[2].text
    assert "repeats attempt" in crash.command("history", "work")
    check_second_recovery(crash)


@pytest.mark.parametrize("point", UNFINISHED)
def test_a_step_with_effects_is_in_doubt(tmp_path, point):
    """A step with effects cut off before its record never runs again unasked."""
    crash = Crash(tmp_path, "--effects")
    crash.kill_at(point)

    assert crash.states()["work"] == "AMBIGUOUS"
    for _ in range(2):
        *said, _ = crash.run_all()
        assert [s.status for s in said] == ["ok", "ok", "ok", "error"]
        assert "ambiguous (in doubt)" in said[-1].error
        assert "%steps resolve work" in said[-1].error
        assert crash.ledger() == ["load", "work"]
        assert crash.states()["work"] == "AMBIGUOUS"
    crash.command("resolve", "work", "retry", "--because", "looked")
    check_recovered(crash, work=2)
    check_second_recovery(crash)


@pytest.mark.parametrize("point", UNFINISHED)
def test_an_always_step_runs_again(tmp_path, point):
    """A step that always runs is interrupted and runs in each kernel."""
    crash = Crash(tmp_path, "--always")
    crash.kill_at(point)

    assert crash.states()["work"] == "INTERRUPTED"
    check_recovered(crash, work=2)
    check_recovered(crash, work=3)


@pytest.mark.parametrize("options", ["", "--effects", "--pure"])
def test_a_record_that_stands_is_a_commit(tmp_path, options):
    """Cut off after its record and before publication, a step is committed."""
    crash = Crash(tmp_path, options)
    crash.kill_at("after-committed")

    assert crash.states()["work"] == "COMMITTED"
    check_recovered(crash, work=1)
    check_second_recovery(crash)
    groups = list((tmp_path / ".nbresume" / "data.zarr").glob("*/*"))
    groups = [group for group in groups if group.is_dir()]
    assert all((group / "zarr.json").exists() for group in groups)


@pytest.mark.parametrize("point", ["before-intent", "after-intent"])
def test_a_kill_around_the_intent(tmp_path, point):
    """Cut off around its intent a step has not run; afterwards it runs once."""
    crash = Crash(tmp_path)
    crash.kill_at(point)

    expected = "NEW" if point == "before-intent" else "INTERRUPTED"
    assert crash.states()["work"] == expected
    check_recovered(crash, work=1)
    check_second_recovery(crash)


@pytest.mark.parametrize("point", ["before-claim", "after-claim"])
def test_a_kill_during_the_first_claim(tmp_path, point):
    """Cut off while it claims a new run, a kernel leaves nothing that stops the next.

    The run that was claimed is found by its chain, although ``runs/`` lacks it.
    """
    crash = Crash(tmp_path)
    crash.kill_at(point, arm_before=2)

    assert crash.ledger() == []
    check_recovered(crash, work=1)
    check_second_recovery(crash)
    assert len(list((tmp_path / ".nbresume" / "journal").iterdir())) == 1


def _long(*points):
    return [pytest.param(point, marks=pytest.mark.long) for point in points]


@pytest.mark.parametrize(
    "point",
    [
        "after-claim",
        "body",
        *_long("before-claim", "after-intent", "capture", "before-committed"),
    ],
)
def test_a_recovery_that_is_killed_as_well(tmp_path, point):
    """Killing the recovery too, at any point, leaves the same states and values."""
    crash = Crash(tmp_path)
    crash.kill_at("body")
    first = crash.states()
    crash.kill_at(point)

    ran = point in UNFINISHED
    assert crash.states() == first
    check_recovered(crash, work=3 if ran else 2)
    check_second_recovery(crash)


@pytest.mark.long
def test_a_recovery_killed_after_its_record(tmp_path):
    """What the recovery committed before it was killed stays committed."""
    crash = Crash(tmp_path)
    crash.kill_at("body")
    crash.kill_at("after-committed")

    assert crash.states()["work"] == "COMMITTED"
    check_recovered(crash, work=2)
    check_second_recovery(crash)


@pytest.mark.long
def test_a_resolution_survives_a_killed_recovery(tmp_path):
    """A retry that a person allowed holds for one attempt, not for a second one."""
    crash = Crash(tmp_path, "--effects")
    crash.kill_at("body")
    crash.command("resolve", "work", "retry", "--because", "looked")
    crash.kill_at("before-intent")
    crash.kill_at("body")

    assert crash.states()["work"] == "AMBIGUOUS"
    *said, _ = crash.run_all()
    assert "ambiguous (in doubt)" in said[-1].error
    assert crash.ledger() == ["load", "work", "work"]


# -- Ctrl-C ----------------------------------------------------------------------


@pytest.fixture
def interrupted(tmp_path):
    """Return what interrupts the middle step at a point: (crash, kernel, said)."""
    kernels = []

    def at(point, options=""):
        crash = Crash(tmp_path, options)
        kernel = crash.kernel()
        kernels.append(kernel)
        for number in range(3):
            kernel.ok(crash.cells[number], f"c{number}")
        crash.arm(point)
        request = kernel.send(crash.cells[3], "c3")
        wait_for(tmp_path / f"at-{point}")
        kernel.interrupt()
        if point.startswith(("before", "after")):
            (tmp_path / "go").touch()
        said = kernel.finish(request)
        crash.disarm(point)
        (tmp_path / "go").unlink(missing_ok=True)
        return crash, kernel, said

    yield at
    for kernel in kernels:
        kernel.close()


def test_an_interrupt_in_the_body(interrupted):
    """Ctrl-C in the body fails the step; running it again goes from its position."""
    crash, kernel, said = interrupted("body")

    assert said.status == "error"
    assert said.error.startswith("KeyboardInterrupt")
    assert crash.states()["work"] == "FAILED"
    again = kernel.run(crash.cells[3], "c3")
    assert again.status == "ok", again.text
    assert kernel.evaluate("total") == "10"
    assert crash.states()["work"] == "COMMITTED"


def test_an_interrupt_during_capture(interrupted):
    """Ctrl-C during capture leaves a finished body, which can be committed."""
    crash, kernel, said = interrupted("capture")

    assert said.status == "error"
    assert "RAN" in said.error
    assert "%steps commit work" in said.error
    assert "work  ran, not committed" in kernel.ok("%steps").text.replace("▷  ", "")
    kernel.ok("%steps commit work")
    assert crash.states()["work"] == "COMMITTED"
    assert crash.ledger() == ["load", "work"]
    assert "[restored]" in kernel.ok(crash.cells[3], "c3").text


@pytest.mark.parametrize("point", ["before-committed", "after-committed"])
def test_an_interrupt_during_the_commit(interrupted, point):
    """Ctrl-C while the record is written waits until the commit is whole."""
    crash, kernel, said = interrupted(point)

    assert crash.states()["work"] == "COMMITTED"
    assert "RAN" not in said.text, said.text
    assert "ran, not committed" not in kernel.ok("%steps").text
    again = kernel.ok(crash.cells[3], "c3")
    assert "[restored]" in again.text
    end = kernel.run(crash.cells[4], "c4")
    assert end.status == "ok", end.text
    assert crash.ledger() == ["load", "work", "end"]
    *replayed, values = crash.run_all()
    assert values == WHOLE
    assert all("[restored]" in s.text for s in replayed[2:])
