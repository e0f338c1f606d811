"""Two more ways to die: the clock jumps for hours, and a container starts again.

Nothing is decided by time, and a process is known by more than its pid.
"""

import os
from datetime import timedelta

import msgspec
import psutil
import pytest
from unit.run.fakes import BEGAN, FakeLiveness, Killed, Lab

from nbresume.compose.system import ProcessLiveness
from nbresume.errors import ErrorKind
from nbresume.model.states import State
from nbresume.run.claims import Offer

RUN = "f" * 16
HOURS = pytest.mark.parametrize("hours", [-30, -1, 1, 30])


# -- the clock ---------------------------------------------------------------------


@HOURS
@pytest.mark.parametrize("operation", [1, 2, 3])
def test_the_clock_jumps_between_claim_and_commit(hours, operation):
    """A machine that slept, or was set back, goes on as if nothing had happened."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = x")
    k, other = lab.kernel(), lab.kernel()
    lab.backend.act_at("create", operation, lambda: lab.clock.jump(hours * 3600))

    assert k.go() == ["a", "b"]
    assert lab.records(k.run_id) == ["claim", *["intent", "committed"] * 2]
    assert other.go() == []
    assert k.go() == []


@HOURS
def test_a_running_step_stays_another_kernels_however_late_it_is(hours):
    """A claim does not expire: only its kernel's end, or a person, ends it."""
    lab = Lab(a="%%step a\nduring()\nx = 1")
    seen = []

    def during():
        lab.clock.jump(hours * 3600)
        other = lab.kernel()
        seen.append(other.state("a"))
        seen.append(other.run("a").error.kind)

    lab.tools["during"] = during
    k = lab.kernel()

    assert k.run("a").how == "ran"
    assert seen == [State.RUNNING, ErrorKind.TAKEN_RUN]


@HOURS
def test_a_kernel_that_ended_is_recovered_whatever_the_time_is(hours):
    """An interrupted step runs again, and the newest commit counts."""
    lab = Lab(a="%%step a\nonce()\nx = 1")
    deaths = [Killed()]

    def once():
        if deaths:
            raise deaths.pop()

    lab.tools["once"] = once
    k = lab.kernel()
    k.run("a")
    lab.clock.jump(hours * 3600)
    fresh = lab.kernel()

    assert fresh.state("a") is State.INTERRUPTED
    assert fresh.go() == ["a"]
    lab.clock.jump(-2 * hours * 3600)
    lab.edit(a="%%step a\nonce()\nx = 2")
    assert fresh.go() == ["a"]
    last = lab.kernel()
    assert last.go() == []
    assert last["x"] == 2
    assert lab.clock.now() == BEGAN + timedelta(hours=-hours)


def test_a_process_is_known_although_the_clock_was_set(monkeypatch):
    """Its start is not told in a time that moves when the clock is set."""
    writer = ProcessLiveness().me()
    boot_time = psutil.boot_time()
    # what the system says the time of the boot was follows the clock
    monkeypatch.setattr(psutil._psplatform, "boot_time", lambda: boot_time + 7200)

    assert ProcessLiveness().is_alive(writer) is True


# -- the container -------------------------------------------------------------------


class Machine(Lab):
    """A lab whose next kernel is told who it is, or is this very process."""

    def __init__(self, **cells: str) -> None:
        super().__init__(**cells)
        self.liveness = None

    def world(self, **options):
        """Return the ports of a fresh process."""
        world = super().world(**options)
        if self.liveness is None:
            return world
        return msgspec.structs.replace(world, liveness=self.liveness)


def writer(**changes):
    """Return this process as a claim names it, or another one that looks like it."""
    return msgspec.structs.replace(ProcessLiveness().me(), **{"nonce": "n"} | changes)


RESTARTS = {
    "same pid, other boot": {"boot_id": "the boot before"},
    "same boot, reused pid": {"started": 1.0},
    "same boot, pid of nobody": {"pid": 2**22 + 1},
}


def check_a_restart_is_seen(changes, liveness):
    """Assert that the kernel before a restart counts as ended, with its step."""
    lab = Machine(a="%%step a\ndie()", b="%%step b\ny = 1")
    lab.liveness = FakeLiveness(writer(**changes), {})
    lab.kernel(run_id=RUN).run("a")
    lab.liveness = liveness
    k = lab.kernel(run_id=RUN)

    assert k.state("a") is State.INTERRUPTED
    assert k.parts.claims.offer() is Offer.FREE
    lab.edit(a="%%step a\nx = 1")
    assert k.go() == ["a", "b"]


@pytest.mark.parametrize("changes", list(RESTARTS.values()), ids=list(RESTARTS))
def test_a_container_that_starts_again(changes):
    """The process of the claim is gone, though one with its pid is there."""
    check_a_restart_is_seen(changes, ProcessLiveness())


def test_a_process_that_is_there_keeps_its_step():
    """The same pid, boot and start: it is running, and nobody else runs its step."""
    lab = Machine(a="%%step a\ndie()")
    lab.liveness = FakeLiveness(writer(), {})
    lab.kernel(run_id=RUN).run("a")
    lab.liveness = ProcessLiveness()
    k = lab.kernel(run_id=RUN)

    assert k.state("a") is State.RUNNING
    assert k.run("a").error.kind is ErrorKind.TAKEN_RUN


def test_a_process_of_another_host_cannot_be_asked():
    """Nobody knows whether it runs, so a person has to take over."""
    lab = Machine(a="%%step a\ndie()")
    lab.liveness = FakeLiveness(writer(host="another"), {})
    lab.kernel(run_id=RUN).run("a")
    lab.liveness = ProcessLiveness()
    k = lab.kernel(run_id=RUN)

    assert k.parts.claims.offer() is Offer.UNKNOWN
    assert k.run("a").error.kind is ErrorKind.TAKEN_RUN


class _ByPid(ProcessLiveness):
    """The planted fault: a process is known by its pid alone."""

    def is_alive(self, writer):
        """Say whether any process has that pid."""
        return psutil.pid_exists(writer.pid)


@pytest.mark.parametrize("name", list(RESTARTS)[:2])
def test_a_claim_by_pid_alone_is_caught(name):
    """A liveness that looks at the pid only is found out."""
    assert psutil.pid_exists(os.getpid())

    with pytest.raises(AssertionError):
        check_a_restart_is_seen(RESTARTS[name], _ByPid())
