"""The rules of positions once more, under IPython: one real kernel for many scenarios.

Each scenario has cells of its own in one notebook; ``$x`` is its own name x.
"""

import re
import sys
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

# the runner is a script that leaves the closing of small files to the interpreter
pytestmark = [
    pytest.mark.kernel,
    pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

RUN_CASE = Path(__file__).parents[2] / "corpus" / "run_case.py"
LOG = 'open("runs.log", "a").write("{}\\n")'
REFUSED = "refused"
FAILED = "failed"


@dataclass(frozen=True)
class Do:
    """Run cells; say which step bodies start, and what is true then."""

    run: str
    """Names of cells, in this order."""
    ran: str = ""
    true: str = ""
    ends: str = "ok"
    """How the last cell ends."""
    says: str = ""
    """What an output of these cells says."""
    edit: dict[str, str] = field(default_factory=dict)
    """Cells that are edited before."""


SCENARIOS = {
    "a plain cell between stays": (
        {
            "a": "%%step $a\n$L = [1]",
            "p": "$L.append(9)",
            "b": "%%step $b\n$n = sum($L)",
        },
        Do("a p b", "a b", "$n == 10"),
        Do("a p b", "", "$L == [1, 9] and $n == 10"),
        Do("a p b", "b", "$n == 6", edit={"p": "$L.append(5)"}),
    ),
    "a plain cell above the step that sets the name is overruled": (
        {"p": "$x = 5", "a": "%%step $a\n$x = 1", "b": "%%step $b\n$y = $x"},
        Do("p a b", "a b", "$y == 1"),
        Do("p b", "", "$x == 1 and $y == 1", says="starts from its position"),
    ),
    "a plain cell that no step sets counts as input": (
        {"p": "$k = 1", "b": "%%step $b\n$y = $k"},
        Do("p b", "b", "$y == 1"),
        Do("p b", "b", "$y == 2", edit={"p": "$k = 2"}),
    ),
    "a change in place from below is refused": (
        {
            "a": "%%step $a\n$L = [1]",
            "b": "%%step $b\n$n = len($L)",
            "p": "$L.append(2)",
        },
        Do("a b p", "a b", "$n == 1"),
        Do("b", "", "$L == [1, 2]", REFUSED, "rerun $b --live"),
        Do("a b p", "", "$n == 1 and $L == [1, 2]"),
    ),
    "a value set below is refused, and rerun takes the demanded one": (
        {
            "a": "%%step $a\n$x = 1",
            "b": "%%step $b\n$y = $x",
            "p": "$x = 5",
            "r": "%steps rerun $b",
        },
        Do("a b p", "a b"),
        Do("b", "", "$x == 5", REFUSED),
        Do("r b", "b", "$x == 1 and $y == 1"),
    ),
    "rerun --live takes what is there": (
        {
            "a": "%%step $a\n$L = [1]",
            "b": "%%step $b\n$n = len($L)",
            "p": "$L.append(2)",
            "r": "%steps rerun $b --live",
        },
        Do("a b p", "a b"),
        Do("r b", "b", "$n == 2"),
    ),
    "an old step again brings its names back": (
        {
            "a": "%%step $a\n$L = [1]",
            "b": "%%step $b\n$d = {'x': $L}",
            "c": "%%step $c\n$L.append(2)",
            "e": "%%step $e\n$n = len($d['x'])",
        },
        Do("a b c e", "a b c e", "$n == 2"),
        Do("a", "", "$L == [1]"),
        Do("c", "", "$L == [1, 2] and $d['x'] is $L"),
        Do("e", "", "$n == 2"),
        Do("a b c e", "", "$d['x'] is $L"),
    ),
    "a name made below is removed": (
        {
            "a": "%%step $a\ntry:\n    $n += 1\nexcept NameError:\n    $n = 0",
            "b": "%%step $b\n$n = 7",
        },
        Do("a b", "a b", "$n == 7"),
        Do("a b", "", "$n == 7"),
        Do("a", "", "$n == 0"),
        Do("b", "", "$n == 7"),
    ),
    "an in-place step starts from the stored plain value": (
        {"p": "$c = 0", "s": "%%step $s\n$c += 1"},
        Do("p s", "s", "$c == 1"),
        Do("s", "", "$c == 1"),
        Do("s", "s", "$c == 2", edit={"s": "%%step $s\n$c += 2"}),
    ),
    "outputs of the earlier run go before the step runs again": (
        {
            "p": "$flag = True",
            "a": "%%step $a\nif $flag:\n    $y = 1\n$z = 2",
            "b": "%%step $b\n$w = '$y' in globals()",
        },
        Do("p a b", "a b", "$w"),
        Do("p a b", "a b", "not $w and '$y' not in dir()", edit={"p": "$flag = False"}),
    ),
    "a conditional store reads the former value": (
        {
            "a": "%%step $a\n$x = 1",
            "p": "$flag = True",
            "b": "%%step $b\nif $flag:\n    $x = 2",
            "c": "%%step $c\n$y = $x * 10",
        },
        Do("a p b c", "a b c", "$y == 20"),
        Do("a p b c", "b c", "$y == 10", edit={"p": "$flag = False"}),
    ),
    "what a failed attempt left is rolled back": (
        {
            "p": "$fails = True",
            "a": "%%step $a\n$L = [1]",
            "b": "%%step $b\n$L.append(2)\n$extra = 1\n"
            "if $fails:\n    raise ValueError",
        },
        Do("p a b", "a b", "$L == [1, 2] and $extra == 1", FAILED),
        Do("b", "b", "$L == [1, 2]", edit={"b": "%%step $b\n$L.append(2)"}),
        Do("b", "", "$L == [1, 2] and '$extra' not in dir()"),
    ),
    "a name deleted by a plain cell between stays deleted": (
        {
            "a": "%%step $a\n$x = 1",
            "p": "del $x",
            "b": "%%step $b --after $a\n$seen = '$x' in globals()",
        },
        Do("a p b", "a b", "$seen is False"),
        Do("a p b", "", "'$x' not in dir()"),
    ),
    "an equal output keeps its object": (
        {"a": "%%step $a\n$L = [1]", "b": "%%step $b\n$d = {'x': $L}"},
        Do("a b", "a b"),
        Do("a b", "a", "$d['x'] is $L", edit={"a": "%%step $a\n$L = list((1,))"}),
    ),
    "an edit that was undone is made current": (
        {"a": "%%step $a\n$x = 1", "b": "%%step $b\n$y = $x"},
        Do("a b", "a b"),
        Do("a b", "a b", "$y == 2", edit={"a": "%%step $a\n$x = 2"}),
        Do(
            "a b",
            "",
            "$y == 1",
            says="is current again",
            edit={"a": "%%step $a\n$x = 1"},
        ),
    ),
    "sharing is part of the key": (
        {
            "a": "%%step $a\n$q = [1, 2]",
            "b": "%%step $b\n$r = $q",
            "c": "%%step $c\n$r.append(3)",
        },
        Do("a b c", "a b c", "$q == [1, 2, 3]"),
        Do(
            "a b c",
            "b c",
            "$q == [1, 2] and $r == [1, 2, 3]",
            edit={"b": "%%step $b\n$r = list($q)"},
        ),
    ),
    "a class of a plain cell stays its instances' class": (
        {
            "p": "class $P:\n    def two(self):\n        return 2",
            "a": "%%step $a\n$o = $P()",
            "b": "%%step $b\n$ok = isinstance($o, $P)",
        },
        Do("p a b", "a b", "$ok"),
        Do("p a b", "", "type($o) is $P"),
        Do(
            "p a b",
            "a b",
            "$o.two() == 3",
            edit={"p": "class $P:\n    def two(self):\n        return 3"},
        ),
    ),
    "an always step starts from its position": (
        {"a": "%%step $a\n$L = [1]", "b": "%%step $b --always\n$L.append(2)"},
        Do("a b", "a b", "$L == [1, 2]"),
        Do("b", "b", "$L == [1, 2]"),
    ),
    "a cell with a syntax error changes nothing": (
        {"a": "%%step $a\n$L = [1]", "p": "def (", "b": "%%step $b\n$n = len($L)"},
        Do("a", "a"),
        Do("p", "", ends=FAILED),
        Do("b", "b", "$n == 1"),
    ),
}


def _own(text, tag):
    """Return the text with the scenario's own names."""
    return re.sub(r"\$(\w+)", rf"\1_{tag}", text)


class Book:
    """The notebook of all scenarios, and its kernel."""

    def __init__(self):
        spec = spec_from_file_location("run_case_for_positions", RUN_CASE)
        run_case = module_from_spec(spec)
        sys.modules[spec.name] = run_case
        spec.loader.exec_module(run_case)
        cells = [{"id": "setup", "source": "%load_ext nbresume"}]
        for tag, (sources, *_) in enumerate(SCENARIOS.values()):
            cells += [
                {"id": f"{cell}_{tag}", "source": self.text(source, cell, tag)}
                for cell, source in sources.items()
            ]
        case = {"id": "positions", "cells": cells, "scenario": []}
        self.runner = run_case.Runner(case, run_case.INSTALLED, ".nbresume")
        self.run(["setup"])

    @staticmethod
    def text(source, cell, tag):
        """Return a cell's text; a step logs that its body has started."""
        first, _, body = _own(source, tag).partition("\n")
        if not first.startswith("%%step"):
            return _own(source, tag)
        return "\n".join([first, LOG.format(f"{cell}_{tag}"), body])

    def run(self, cells):
        """Run cells; return what started, what was said and how they ended."""
        return self.runner.do_run(cells, None)

    def edit(self, cell_id, source):
        """Change a cell's text."""
        for cell in self.runner.cells():
            if cell["id"] == cell_id:
                cell["source"] = source

    def wrong(self, expression):
        """Return what is not true in the kernel."""
        return self.runner._asserts(self.runner.kern(), [expression])

    def restart(self):
        """End the kernel and start another one."""
        self.runner.stop_kernels("main.ipynb")
        self.run(["setup"])


@pytest.fixture(scope="module")
def book():
    """Return the notebook with a kernel in which nothing has run yet."""
    made = Book()
    yield made
    made.runner.done()


def play(book, name):
    """Play one scenario in the book's kernel."""
    tag = list(SCENARIOS).index(name)
    for do in SCENARIOS[name][1:]:
        for cell, source in do.edit.items():
            book.edit(f"{cell}_{tag}", book.text(source, cell, tag))
        cells = [f"{cell}_{tag}" for cell in do.run.split()]
        got = book.run(cells)

        assert got["ran"] == [f"{cell}_{tag}" for cell in do.ran.split()], got["texts"]
        ends = got["status"][cells[-1]]
        assert ends == ("ok" if do.ends == "ok" else "error"), got["texts"]
        assert _own(do.says, tag) in "\n".join(got["texts"].values())
        if do.true:
            assert book.wrong(_own(do.true, tag)) == []


@pytest.mark.parametrize("name", SCENARIOS)
def test_positions_hold_under_ipython(book, name):
    """The table's rules are those of the kernel's hooks, too."""
    play(book, name)


@pytest.mark.long
def test_they_hold_after_a_restart():
    """In a fresh kernel all cells of all scenarios replay to the same values."""
    book = Book()
    try:
        plays = [name for name in SCENARIOS if "syntax" not in name]
        for name in plays:
            play(book, name)
        book.restart()
        for name in plays:
            _play_the_end(book, name)
    finally:
        book.runner.done()


def _play_the_end(book, name):
    """Run all cells of a scenario as its last edit left them."""
    tag = list(SCENARIOS).index(name)
    cells = [f"{cell}_{tag}" for cell in SCENARIOS[name][0] if cell != "r"]
    always = [c for c in cells if "--always" in book.runner.sources()[c]]
    got = book.run(cells)

    assert got["ran"] == always, (name, got["texts"])
    assert set(got["status"].values()) == {"ok"}, (name, got["texts"])
