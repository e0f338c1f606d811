"""What magics and shell lines do to names."""

import pytest

from nbresume.plan.magics import (
    Magic,
    cell_magic,
    identifiers,
    line_magic,
    shell_names,
    words,
)


def reads(text, *, wild=False):
    """Return a magic that only reads."""
    return Magic(reads=frozenset(text.split()), wild=wild)


LINES = {
    ("time", "x = f()"): Magic(code="x = f()"),
    ("time", "--no-raise-error x = f()"): Magic(code="x = f()"),
    ("time", ""): Magic(code=""),
    ("timeit", "f(x)"): Magic(code="f(x)", isolated=True),
    ("timeit", "-n 10 -r3 -q f(x)"): Magic(code="f(x)", isolated=True),
    ("timeit", "-n10 -x"): Magic(code="", isolated=True),
    ("prun", "f(x)"): Magic(code="f(x)"),
    ("prun", "-q -l 10 -s cumulative -T out.txt f(x)"): Magic(code="f(x)"),
    ("matplotlib", "inline"): reads(""),
    ("pip", "install numpy=={version}"): reads("version"),
    ("set_env", "A=$a"): reads("a"),
    ("who", "str"): reads("str", wild=True),
    ("load_ext", "nbresume"): reads(""),
    ("steps", "plan"): reads(""),
    ("run", "other.py"): reads("other py", wild=True),
    ("load", "f.py"): reads("f py", wild=True),
    ("reset", "-f"): reads("f", wild=True),
    ("store", "-r x"): reads("r x", wild=True),
    ("pylab", ""): reads("", wild=True),
    ("aimport", "mod"): reads("mod", wild=True),
    ("sql", "select a from b"): reads("select a from b"),
    ("lprun", "-f f f(x)"): reads("f x"),
}


@pytest.mark.parametrize(("magic", "expected"), LINES.items())
def test_line_magic(magic, expected):
    """A line magic runs Python, is harmless, reaches all, or reads what it shows."""
    assert line_magic(*magic) == expected


CELLS = {
    ("time", "", "x = 1"): Magic(code="\nx = 1"),
    ("timeit", "-n 5 s = 1", "f(s)"): Magic(code="s = 1\nf(s)", isolated=True),
    ("prun", "-s time", "f()"): Magic(code="\nf()"),
    ("capture", "", "f()"): Magic(code="f()"),
    ("capture", "out", "f()"): Magic(code="f()", stores=frozenset({"out"})),
    ("capture", "--no-stderr out", "f()"): Magic(code="f()", stores=frozenset({"out"})),
    ("bash", "", "echo a"): reads("echo a", wild=True),
    ("R", "-i x -o y", "y <- x + z"): reads("i x o y z", wild=True),
    ("writefile", "f.txt", ""): reads("f txt", wild=True),
}


@pytest.mark.parametrize(("magic", "expected"), CELLS.items())
def test_cell_magic(magic, expected):
    """A cell magic runs its body as Python, or may change anything."""
    assert cell_magic(*magic) == expected


SHELL = {
    "ls": "",
    "ls $d": "d",
    "ls $d.x ${e}": "d e",
    "ls {d} {e.f[0] + g}": "d e f g",
    "echo $$HOME": "",
    "awk {}": "",
    "cost $5": "",
    "echo $größe": "größe",
}


@pytest.mark.parametrize(("text", "expected"), SHELL.items())
def test_shell_names(text, expected):
    """``$name`` and ``{expression}`` are IPython's; ``$$`` is the shell's."""
    assert shell_names(text) == set(expected.split())


def test_identifiers():
    """Identifiers are words that do not begin with a digit."""
    assert identifiers("a1 + 2 - _c.d 3") == {"a1", "_c", "d"}


def test_words():
    """Lists of names are written as text."""
    assert words("a b\n a") == {"a", "b"}
