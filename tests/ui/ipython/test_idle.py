"""Idle work runs in slices on a real loop, and stops at once when a cell begins."""

import asyncio
import logging
import threading
import time
from types import SimpleNamespace

import pytest

from nbresume.ui.ipython import idle
from nbresume.ui.ipython.idle import SLICE_S, IdleWork


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Let tests not wait for a person's pauses."""
    monkeypatch.setattr(idle, "FIRST_S", 0.001)
    monkeypatch.setattr(idle, "PAUSE_S", 0.001)
    monkeypatch.setattr(idle, "LONGEST_PAUSE_S", 0.005)


class Job:
    """Work of a number of slices."""

    def __init__(self, slices: int, *, takes_s: float = 0.0) -> None:
        self.left = slices
        self.takes_s = takes_s
        self.budgets: list[float] = []
        self.threads: set[threading.Thread] = set()

    def __call__(self, budget_s: float) -> bool:
        """Do one slice."""
        self.budgets.append(budget_s)
        self.threads.add(threading.current_thread())
        time.sleep(self.takes_s)
        self.left -= 1
        return self.left <= 0


class Desk:
    """A shell, its busy flag, and its idle work."""

    def __init__(self, *jobs, shell=None) -> None:
        self.is_busy = False
        self.work = IdleWork(shell or object(), is_busy=lambda: self.is_busy)
        for job in jobs:
            self.work.every(job)


async def until(condition, *, within_s: float = 5.0) -> bool:
    """Wait until a condition holds; say whether it came to hold."""
    end_s = time.monotonic() + within_s
    while not condition() and time.monotonic() < end_s:  # noqa: ASYNC110 - what is awaited is no event
        await asyncio.sleep(0.001)
    return condition()


def test_work_is_done_in_slices_until_nothing_is_left():
    """On the main thread, each with a budget; then there is silence."""
    job = Job(5)

    async def main():
        desk = Desk(job)
        desk.work.start()
        assert not job.budgets  # the reply of the cell goes out first
        assert await until(lambda: job.left == 0)
        await asyncio.sleep(0.02)

    asyncio.run(main())
    assert len(job.budgets) == 5
    assert all(0 < budget_s <= SLICE_S for budget_s in job.budgets)
    assert {threading.main_thread()} == job.threads


def test_the_loop_gets_its_turn_between_slices():
    """A message that arrives meanwhile waits for one slice at most."""
    job = Job(10, takes_s=0.005)
    turns = []

    async def main():
        desk = Desk(job)
        desk.work.start()
        while job.left:
            turns.append(job.left)
            await asyncio.sleep(0)

    asyncio.run(main())
    assert set(range(1, 11)) == set(turns)


def test_works_share_a_slice_in_their_order():
    """The second one gets what the first one leaves."""
    first, second = Job(3, takes_s=SLICE_S), Job(2)
    order = []

    async def main():
        desk = Desk(
            lambda s: (order.append("first"), first(s))[1],
            lambda s: (order.append("second"), second(s))[1],
        )
        desk.work.start()
        assert await until(lambda: second.left == 0)

    asyncio.run(main())
    assert order[:3] == ["first"] * 3
    assert order[3:] == ["second"] * 2


def test_work_that_waits_does_not_hold_up_other_work():
    """It took no time, so the slice goes on."""
    other = Job(2)

    async def main():
        desk = Desk(lambda budget_s: False, other)
        desk.work.start()
        assert await until(lambda: other.left == 0)
        desk.work.stop()

    asyncio.run(main())


def test_nothing_is_done_once_a_cell_has_begun():
    """Stop cancels the slice that was due."""
    job = Job(1000)

    async def main():
        desk = Desk(job)
        desk.work.start()
        assert await until(lambda: len(job.budgets) > 2)
        desk.work.stop()
        done = len(job.budgets)
        await asyncio.sleep(0.02)
        assert done == len(job.budgets)

    asyncio.run(main())


def test_nothing_is_done_between_the_awaits_of_a_cell():
    """The loop runs while an async cell awaits: the busy flag says so."""
    job = Job(1000)

    async def main():
        desk = Desk(job)
        desk.work.start()
        desk.is_busy = True
        await asyncio.sleep(0.02)
        assert job.budgets == []
        desk.is_busy = False
        desk.work.start()
        assert await until(lambda: job.budgets)
        desk.work.stop()

    asyncio.run(main())


def test_a_cell_that_begins_inside_a_slice_ends_it():
    """Work may run a callback that starts a cell; no other work follows."""
    second = Job(1)

    async def main():
        desk = Desk()

        def begin_cell(budget_s):
            desk.work.stop()
            desk.is_busy = True
            return False

        desk.work.every(begin_cell)
        desk.work.every(second)
        desk.work.start()
        assert await until(lambda: desk.is_busy)
        await asyncio.sleep(0.02)

    asyncio.run(main())
    assert second.budgets == []


def test_each_idle_period_begins_anew():
    """Work that was done is asked again after the next cell."""
    job = Job(1)

    async def main():
        desk = Desk(job)
        for periods in (1, 2, 3):
            desk.work.start()
            assert await until(lambda n=periods: len(job.budgets) == n)

    asyncio.run(main())


def test_starting_twice_is_starting_once():
    """A callback that ends in an idle period does not double the slices."""
    job = Job(3)

    async def main():
        desk = Desk(job)
        desk.work.start()
        desk.work.start()
        assert await until(lambda: job.left == 0)
        await asyncio.sleep(0.02)

    asyncio.run(main())
    assert len(job.budgets) == 3


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_work_that_fails_is_dropped_for_this_period(error, caplog, capfd):
    """It is logged without its words; other work goes on, nothing is shown."""
    tries, other = [], Job(3)

    def fail(budget_s):
        tries.append(budget_s)
        raise error("secret")

    async def main():
        desk = Desk(fail, other)
        desk.work.start()
        assert await until(lambda: other.left == 0)
        desk.work.start()
        assert await until(lambda: len(tries) == 2)

    with caplog.at_level(logging.WARNING, "nbresume.ui"):
        asyncio.run(main())
    assert len(tries) == 2
    assert error.__name__ in caplog.text
    assert "secret" not in caplog.text
    assert capfd.readouterr() == ("", "")


def test_waiting_work_is_asked_less_and_less_often(monkeypatch):
    """An idle kernel does not spin."""
    monkeypatch.setattr(idle, "LONGEST_PAUSE_S", 10.0)
    asked = []

    async def main():
        desk = Desk(lambda budget_s: asked.append(budget_s) or False)
        desk.work.start()
        await asyncio.sleep(0.2)
        desk.work.stop()

    asyncio.run(main())
    assert 1 <= len(asked) <= 10


def test_a_shell_without_a_loop_does_nothing():
    """A terminal has no time between cells."""
    job = Job(1)
    desk = Desk(job)

    desk.work.start()
    desk.work.stop()
    assert job.budgets == []


def test_the_loop_of_the_kernel_is_preferred():
    """As ipykernel has it: an IOLoop around an asyncio loop."""
    job = Job(1)

    async def main():
        io_loop = SimpleNamespace(asyncio_loop=asyncio.get_running_loop())
        shell = SimpleNamespace(kernel=SimpleNamespace(io_loop=io_loop))
        desk = Desk(job, shell=shell)
        desk.work.start()
        assert await until(lambda: job.left == 0)

    asyncio.run(main())


def test_another_thread_starts_nothing():
    """A cell of a subshell ends beside the main one."""
    job = Job(1)

    async def main():
        desk = Desk(job)
        thread = threading.Thread(target=desk.work.start)
        thread.start()
        thread.join()
        await asyncio.sleep(0.02)

    asyncio.run(main())
    assert job.budgets == []
