"""What a tiny step costs does not grow with the run: counted, not timed."""

import os
import sys
from collections import Counter
from statistics import median

import pytest
from store.store_checks import counted as counting

from nbresume.capture.names import NameTable

CELLS = [f"%%step s{i}\nv{i} = {i} + k" for i in range(220)]
MOST_CALLS = 3000
"""Python calls of one tiny step: 2,000, and some for each library that has state."""
EARLY, LATE = range(10, 20), range(210, 220)


@pytest.fixture
def counted(monkeypatch):
    """Return what runs something and counts Python calls, flushes and file names."""

    def count(action) -> Counter:
        found = Counter()
        flush = os.fsync

        def flushed(handle):
            found["fsync"] += 1
            flush(handle)

        def seen(_frame, event, _argument):
            found["call"] += event == "call"

        monkeypatch.setattr(os, "fsync", flushed)
        before = sys.getprofile()
        sys.setprofile(seen)
        try:
            action()
        finally:
            sys.setprofile(before)
            monkeypatch.undo()
        return found

    return count


def test_what_plain_cells_left_costs_a_step_nothing(shell, counted):
    """Once an intent has stored them, three hundred names more make no call more."""
    shell.save(*CELLS)
    assert shell.run("k = 1", "k").ok
    names = "\n".join(f"p{n} = [{n}]" for n in range(300))

    def calls(number):
        run = counted(lambda: shell.run(CELLS[number], f"c{number}"))
        return run["call"]

    few = median([calls(number) for number in range(5)][1:])
    assert shell.run(f"import json\n{names}", "names").ok
    many = median([calls(number) for number in range(5, 11)][2:])

    assert many == pytest.approx(few, rel=0.1)
    assert few < MOST_CALLS


def test_a_late_step_costs_what_an_early_one_does(shell, counted):
    """With two hundred steps more a step makes the same calls and flushes.

    The median of ten, because now and then a step also writes a fold.
    """
    shell.save(*CELLS)
    assert shell.run("k = 1", "k").ok
    costs = {}
    for number, code in enumerate(CELLS):
        costs[number] = counted(lambda n=number, c=code: shell.run(c, f"c{n}"))

    def of(steps, what):
        return median(costs[step][what] for step in steps)

    assert of(LATE, "fsync") == of(EARLY, "fsync") > 0
    assert of(LATE, "call") == pytest.approx(of(EARLY, "call"), rel=0.02)


@pytest.mark.parametrize("is_saved", [True, False])
def test_a_late_step_executes_what_an_early_one_does(shell, is_saved):
    """Instructions of Python are counted: a loop over all steps would be seen."""
    if is_saved:
        shell.save(*CELLS)
    assert shell.run("k = 1", "k").ok

    def instructions(number):
        found = Counter()

        def seen(frame, event, _argument):
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            found[event] += 1
            return seen

        before = sys.gettrace()
        sys.settrace(seen)
        try:
            assert shell.run(CELLS[number], f"c{number}").ok
        finally:
            sys.settrace(before)
        return found["opcode"]

    costs = [
        instructions(number)
        if number in {*EARLY, *LATE}
        else shell.run(code, f"c{number}")
        for number, code in enumerate(CELLS)
    ]
    early, late = (median(costs[n] for n in steps) for steps in (EARLY, LATE))

    assert early > 0
    assert late == pytest.approx(early, rel=0.02)


def test_a_step_goes_through_all_names_three_times(shell, monkeypatch):
    """Before its cell, before its body and after it: with many names that is dear."""
    shell.save(*CELLS)
    passes = []
    refresh = NameTable.refresh

    def counted(self):
        passes.append(self)
        return refresh(self)

    assert shell.run("k = 1", "k").ok
    for number, code in enumerate(CELLS[:3]):
        assert shell.run(code, f"c{number}").ok
    monkeypatch.setattr(NameTable, "refresh", counted)

    assert shell.run(CELLS[3], "c3").ok

    assert len(passes) == 3


ASKED = {
    ("open", "new"): 5,  # intent, pack, record; metadata of pack and group
    ("write", ""): 5,
    ("fsync", "file"): 3,
    ("fsync", "folder"): 5,  # the journal's twice; of the pack, the group, the run
    ("open", "old"): 5,  # those folders
    ("link", ""): 2,
    ("unlink", ""): 2,
    ("mkdir", ""): 2,
    ("replace", ""): 2,
}
"""What one tiny step asks of the file system, by kind."""
MORE_BYTES = 1.06
"""Names and numbers get longer, and a commit names the newest folded state."""


def test_what_a_tiny_step_asks_of_the_system_is_the_same_for_each(shell, monkeypatch):
    """The same calls by kind in each step, and bytes that do not grow.

    Now and then a step also writes a fold, into its pack: no call more, and more bytes.
    """
    shell.save(*CELLS)
    assert shell.run("k = 1", "k").ok
    sizes = {}
    for number, code in enumerate(CELLS):
        if number not in {*EARLY, *LATE}:
            assert shell.run(code, f"c{number}").ok
            continue
        with counting(monkeypatch) as seen:
            assert shell.run(code, f"c{number}").ok
        kinds = Counter(
            (name, what if name in ("open", "fsync") else "") for name, what in seen
        )
        assert kinds == ASKED, number
        sizes[number] = sum(size for name, size in seen if name == "write")

    early, late = (median(sizes[n] for n in steps) for steps in (EARLY, LATE))
    assert late <= MORE_BYTES * early
