"""A file that is written as a run goes on: soon, in the end, and not too often."""

import asyncio

import pytest

from nbresume.errors import RefusedError
from nbresume.ui import saving
from nbresume.ui.saving import Saving


class Desk:
    """A run by a clock of its own; each write takes a while."""

    def __init__(self, write_s=0.0, error=None):
        self.now_s = 0.0
        self.write_s = write_s
        self.error = error
        self.cells = 0
        self.written = []
        self.saving = Saving(self.write, now_s=lambda: self.now_s)

    def write(self):
        """Write, which takes its time."""
        self.now_s += self.write_s
        if self.error is not None:
            raise self.error
        self.written.append(self.cells)

    def cell(self, took_s):
        """Run one more cell."""
        self.now_s += took_s
        self.cells += 1
        self.saving.changed()


def test_what_is_cheap_is_written_after_each_cell():
    """So is nearly every run."""
    desk = Desk(write_s=0.001)
    for _ in range(5):
        desk.cell(took_s=0.1)

    assert desk.written == [1, 2, 3, 4, 5]


def test_many_quick_cells_do_not_write_all_the_time(monkeypatch):
    """A tenth of the time goes into it, and all is there in the end."""
    monkeypatch.setattr(saving, "LATER_S", 3600)
    desk = Desk(write_s=0.2)

    async def run():
        for _ in range(1000):
            desk.cell(took_s=0.01)
        desk.saving.finish()

    asyncio.run(run())

    assert desk.written[-1] == 1000
    assert len(desk.written) * desk.write_s <= saving.FREE_S + 0.1 * desk.now_s + 0.4
    assert len(desk.written) < 20


def test_what_was_put_off_is_written_while_the_next_cell_runs(monkeypatch):
    """A long cell behind many quick ones does not hide what they showed."""
    monkeypatch.setattr(saving, "LATER_S", 0.01)
    desk = Desk(write_s=0.6)

    async def run():
        for _ in range(5):
            desk.cell(took_s=0.0)
        assert desk.written[-1] < 5
        desk.now_s += 1000.0
        for _ in range(200):
            await asyncio.sleep(0.01)
            if desk.written[-1] == 5:
                return

    asyncio.run(run())

    assert desk.written[-1] == 5


def test_a_failure_while_a_cell_runs_is_told_behind_it(monkeypatch):
    """It is not lost with the callback that met it."""
    monkeypatch.setattr(saving, "LATER_S", 0.01)
    desk = Desk(write_s=2.0)
    refused = RefusedError("not written", because="disk full", remedy="Free some.")

    async def run():
        desk.cell(took_s=0.0)
        desk.cell(took_s=0.0)
        desk.error = refused
        desk.now_s += 1000.0
        await asyncio.sleep(0.1)
        with pytest.raises(RefusedError):
            desk.cell(took_s=0.0)

    asyncio.run(run())


def test_a_failure_in_the_end_is_told():
    """Nobody takes the outputs for written."""
    desk = Desk(error=RefusedError("not written", because="gone", remedy="Look."))
    with pytest.raises(RefusedError):
        desk.cell(took_s=0.0)
    with pytest.raises(RefusedError):
        desk.saving.finish()
