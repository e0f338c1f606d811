"""The ``%%step`` line: what it says, and how a wrong one is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nbresume.errors import BadName, RefusedError, UsageError
from nbresume.plan.header import (
    Header,
    body_of,
    find_header,
    parse_header,
    step_name_of,
)

HEADERS = {
    "load": Header("load"),
    "  load  ": Header("load"),
    "load --effects": Header("load", effects=True),
    "--effects load": Header("load", effects=True),
    "load --pure --always --retry": Header("load", pure=True, always=True, retry=True),
    "load --after a,b": Header("load", after=("a", "b")),
    "load --after a --after 'b, a'": Header("load", after=("a", "b")),
    "--after=a load --effects": Header("load", effects=True, after=("a",)),
    "load --reads x.csv --reads 'my data/*.csv' --reads x.csv": Header(
        "load", reads=("x.csv", "my data/*.csv")
    ),
    "2.load_all-x": Header("2.load_all-x"),
    "load --when ' n > 1 and \"x\" in names'": Header(
        "load", when='n > 1 and "x" in names'
    ),
}


@pytest.mark.parametrize(("line", "expected"), HEADERS.items())
def test_header_says(line, expected):
    """Options stand before or behind the name; those with a value may be repeated."""
    assert parse_header(line) == expected


REFUSED = {
    "": (BadName, "no name", "%%step load"),
    "--effects": (BadName, "no name", "%%step load"),
    "--after a": (BadName, "no name", "%%step load"),
    "-5": (UsageError, "no option -5", "%%step NAME"),
    "load!": (BadName, "'load!'", "%%step load_data"),
    "load --after a!": (BadName, "'a!'", "%%step load_data"),
    "load --after a,": (BadName, "''", "%%step load_data"),
    "load --when 'n >'": (UsageError, "no Python expression", '--when "rows > 1000"'),
    "load --when ''": (UsageError, "no Python expression", '--when "rows > 1000"'),
    "load --when 'x = 1'": (UsageError, "no Python expression", "--when"),
    "load --when '(x := 1)'": (UsageError, "sets a name", "--when"),
    "load --after": (UsageError, "expected one argument", "%%step NAME"),
    "load --reads ''": (UsageError, "empty path", "--reads data/orders.csv"),
    "load --efects": (UsageError, "no option --efects", "%%step NAME"),
    "load --eff": (UsageError, "no option --eff", "%%step NAME"),
    "load -e": (UsageError, "no option -e", "%%step NAME"),
    "load --": (UsageError, "", "%%step NAME"),
    "load --pure=yes": (UsageError, "yes", "%%step NAME"),
    "load data": (UsageError, "2 names: load, data", "%%step load_data"),
    "load 'x": (UsageError, "no closing quotation in: load 'x", "Close the quote"),
    "load --effects --pure": (UsageError, "--effects and --pure", "Keep one"),
    "load --effects --always": (UsageError, "--effects and --always", "Keep one"),
    "load --after LOAD": (UsageError, "after itself", "Take load out"),
    "--help": (UsageError, "no command", "%%step NAME [--effects"),
    "load -h": (UsageError, "no command", "%%step NAME [--effects"),
}


@pytest.mark.parametrize(("line", "expected"), REFUSED.items())
def test_header_is_refused(line, expected, capsys):
    """A header that is not understood says why and what to type; nothing is printed."""
    kind, because, remedy = expected
    with pytest.raises(RefusedError) as caught:
        parse_header(line)

    assert type(caught.value) is kind
    assert because in str(caught.value)
    assert remedy in caught.value.remedy
    assert capsys.readouterr() == ("", "")


@given(st.text())
def test_any_header_is_understood_or_refused(line):
    """Whatever stands behind %%step, the answer is a header or a refusal."""
    try:
        outcome = parse_header(line).name in line
    except RefusedError as error:
        outcome = error.remedy

    assert outcome


FOUND = {
    "%%step a": 0,
    "  %%step a\nx": 0,
    "%%step": 0,
    "\n\n# about\n  # more\n%%step a\nx": 4,
    "# about\r\n%%step a\r\nx": 1,
    "x\n%%step a": None,
    "%%steps": None,
    "%%time\n%%step a": None,
    "%step a": None,
    "# only a comment": None,
    "": None,
}


@pytest.mark.parametrize(("text", "expected"), FOUND.items())
def test_find_header(text, expected):
    """The header is the first line that is neither blank nor a comment."""
    assert find_header(text) == expected


NAMED = {
    "%%step load": "load",
    "# c\n%%step load --effects\nx": "load",
    "%%step --after a load": "load",
    "%%step --effects": "",
    "%%step": "",
    "%%step bad!name": "bad!name",
    "%%step load 'x": "load",
    "%%step load --after": "load",
    "x = 1": None,
}


@pytest.mark.parametrize(("text", "expected"), NAMED.items())
def test_step_name_of(text, expected):
    """The name is found as written, also in a header that will be refused."""
    assert step_name_of(text) == expected


def test_body_is_what_stands_below_the_header():
    """The body keeps its line ends; a cell without a header is all body."""
    assert body_of("# c\n%%step a\nx = 1\r\ny") == "x = 1\r\ny"
    assert body_of("%%step a") == ""
    assert body_of("x = 1") == "x = 1"
