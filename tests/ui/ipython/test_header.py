"""The `%%step` line in a shell: what is accepted, and what is refused."""

import json

import pytest

from nbresume.errors import (
    BadName,
    DuplicateName,
    NbresumeError,
    RefusedError,
    UsageError,
)

BODY = "\nran = True"


def intents(shell):
    """Return the payloads of the intents, in order."""
    found = [json.loads(p.read_bytes()) for p in shell.store.glob("journal/*/*.rec")]
    found.sort(key=lambda record: record["revision"])
    return [r["payload"] for r in found if r["kind"] == "nbresume.intent"]


def check_told(ran, kind):
    """Assert that one clear error was shown: what, why and what to type."""
    error = ran.error
    assert isinstance(error, kind), ran.text
    assert error.refused
    assert error.because
    assert error.remedy
    assert ran.text.count(error.because) == 1
    assert "Traceback" not in ran.text
    assert 'File "' not in ran.text


@pytest.mark.parametrize(
    "above",
    ["# a comment\n", "\n\n", "# one\n# two\n\n", "   # indented\n", "#%%step other\n"],
)
def test_comments_and_blanks_may_stand_above(shell, above):
    """A step is a step whatever comments stand above its header."""
    ran = shell.run(f"{above}%%step a{BODY}", "c1")

    assert ran.ok, ran.text
    assert shell.kinds() == ["claim", "intent", "committed"]


def test_the_line_numbers_of_a_body_stay(shell):
    """A traceback of a step names the line that the author sees."""
    ran = shell.run("# comment\n%%step a\nx = 1\n1 / 0", "c1")

    assert isinstance(ran.error, ZeroDivisionError)
    assert "line 4" in ran.text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--effects", {"effects": True}),
        ("--pure", {"pure": True}),
        ("--always", {"always": True}),
        ("--retry", {"retry": True}),
        ("--reads data.csv --reads 'my files/*.csv'", {"reads": 2}),
        ("--after first", {"after": ["first"]}),
        ("--after first,second", {"after": ["first", "second"]}),
        ("--pure --always --retry", {"pure": True, "always": True, "retry": True}),
    ],
)
def test_every_option_reaches_the_record(shell, options, expected):
    """What an author declares stands in the intent of the attempt."""
    for name in ("first", "second"):
        assert shell.run(f"%%step {name}\npass", name).ok
    ran = shell.run(f"%%step a {options}{BODY}", "c1")

    assert ran.ok, ran.text
    found = dict(intents(shell)[-1].get("options", {}))
    if "reads" in found and isinstance(expected.get("reads"), int):
        found["reads"] = len(found["reads"])
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("%%step", BadName),
        ("%%step   ", BadName),
        ("%%step --pure", BadName),
        ("%%step bad/name", BadName),
        ("%%step .hidden", BadName),
        ("%%step -a", UsageError),
        (f"%%step {'n' * 65}", BadName),
        ("%%step é", BadName),
        ("%%step two names", UsageError),
        ("%%step a --nope", UsageError),
        ("%%step a --effect", UsageError),
        ("%%step a --effects --pure", UsageError),
        ("%%step a --effects --always", UsageError),
        ("%%step a --after", UsageError),
        ("%%step a --after a", UsageError),
        ("%%step a --after b/c", BadName),
        ("%%step a --reads ''", UsageError),
        ('%%step a "open', UsageError),
        ("%%step a --help", UsageError),
        ("%%step a --pure=yes", UsageError),
    ],
)
def test_a_header_that_makes_no_sense_is_refused(shell, header, kind):
    """A wrong header is one clear error; nothing runs and nothing is written."""
    before = shell.hashes()

    ran = shell.run(f"{header}{BODY}", "c1")

    check_told(ran, kind)
    assert "ran" not in shell.ip.user_ns
    assert shell.hashes() == before
    assert shell.run(f"%%step good{BODY}", "c2").ok
    assert shell.kinds() == ["claim", "intent", "committed"]


def test_a_missing_name_comes_with_a_proposal(shell):
    """Without a NAME the error says what to type."""
    ran = shell.run(f"%%step{BODY}", "c1")

    assert "%%step NAME" in ran.error.remedy


@pytest.mark.parametrize("twin", ["a", "A"])
def test_a_name_used_twice_is_refused(bare, twin):
    """The second cell with a name, whatever its case, is refused and does not run."""
    bare.save(("c1", f"%%step a{BODY}"), ("c2", f"%%step {twin}\nother = 1"))
    bare.load()
    assert bare.run(f"%%step a{BODY}", "c1").ok
    before = bare.hashes()

    ran = bare.run(f"%%step {twin}\nother = 1", "c2")

    check_told(ran, DuplicateName)
    assert "another cell (code cell 1 of the notebook)" in ran.text
    assert "other" not in bare.ip.user_ns
    assert bare.hashes() == before


def test_a_name_used_twice_is_refused_before_the_first_ran(bare):
    """Of two new cells with one name, the lower one is refused even if run first."""
    bare.save(("c1", f"%%step a{BODY}"), ("c2", "%%step a\nother = 1"))
    bare.load()

    ran = bare.run("%%step a\nother = 1", "c2")

    check_told(ran, DuplicateName)
    assert "other" not in bare.ip.user_ns


def test_an_unknown_step_in_after_is_told(shell):
    """`--after` a step that does not exist is one clear error."""
    before = shell.hashes()

    ran = shell.run(f"%%step a --after nowhere{BODY}", "c1")

    check_told(ran, RefusedError)
    assert shell.hashes() == before


def test_a_syntax_error_in_a_step_runs_nothing(shell):
    """A step that is no Python is IPython's own error; nothing is written."""
    before = shell.hashes()

    ran = shell.run("%%step a\nx = (", "c1")

    assert isinstance(ran.error, SyntaxError)
    assert shell.hashes() == before
    assert shell.run("%%step a\nx = 1", "c1").ok


def test_return_outside_a_function_leaves_nothing_open(shell):
    """A body that parses but does not compile does not stay an open attempt."""
    ran = shell.run("%%step a\nx = 1\nreturn x", "c1")

    assert isinstance(ran.error, SyntaxError)
    again = shell.run("%%step a\nx = 1", "c1")
    assert again.ok, again.text


def test_an_empty_body_is_a_step(shell):
    """A step that holds nothing commits and replays."""
    assert shell.run("%%step a", "c1").ok
    assert shell.run("%%step a\n", "c1").text.startswith("nbresume: [restored]")


def test_every_refusal_is_an_nbresume_error(shell):
    """A script may catch what the magic raises by its root."""
    ran = shell.run(f"%%step{BODY}", "c1")

    assert isinstance(ran.error, NbresumeError)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("%%step a", "incomplete"),
        ("%%step a\nx = 1", "incomplete"),
        ("%%step a\nx = 1\n\n", "complete"),
        ("x = 1", "complete"),
    ],
)
def test_a_console_waits_for_the_body_of_a_step(shell, typed, expected):
    """It asks after each line; as below every cell magic, a blank line ends it."""
    manager = shell.ip.input_transformer_manager

    assert manager.check_complete(typed)[0] == expected
