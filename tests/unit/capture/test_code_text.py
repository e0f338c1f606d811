# ruff: noqa: S102 - functions of a notebook are made with exec
"""What code does is told by its text, equal on all Pythons; else by its byte code."""

import linecache

import pytest

from nbresume.capture.canonical import look
from nbresume.capture.code_text import code_bits, code_token
from nbresume.capture.sources import remember

BASE = "def f(x, *, y=1):\n    z = x + y\n    return [z for _ in x]\n"
SAME = (
    "# a remark\ndef f(x, *, y=1):\n    z = (x + y)  # more\n\n"
    "    return [z for _ in x]\n"
)


def indented(text):
    """Return a text as the body of something."""
    return "".join(f"    {line}" for line in text.splitlines(keepends=True))


def made(text, *, known=True):
    """Run a cell; return its function f."""
    name = remember(text) if known else "<forgotten>"
    namespace = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), namespace)
    return namespace["f"]


def token(text):
    """Return the token of the function f of a cell."""
    return code_token(made(text).__code__)


@pytest.mark.parametrize(
    "other",
    [
        BASE.replace("x + y", "x - y"),
        BASE.replace("x + y", "x + 8"),
        BASE.replace("*, y=1", "y=1"),
        BASE.replace("*, y", "*y, w"),
        BASE.replace("def f(x, *, y=1):", "def f(x, /, *, y=1):"),
        BASE.replace("z", "v"),
        BASE.replace("def", "async def"),
        "class A:\n"
        + BASE.replace("def", "  def").replace("\n    ", "\n      ")
        + "f = A.f",
        "from __future__ import annotations\n" + BASE,
        "def g(z):\n" + indented(BASE) + "    return f\nf = g(1)",
    ],
)
def test_other_code_has_another_token(other):
    """Whatever its text says otherwise, or the place that it stands in."""
    assert token(other) != token(BASE)


def test_remarks_and_parentheses_are_no_part():
    """They do nothing."""
    assert token(SAME) == token(BASE)


def test_defaults_and_decorators_are_values_of_their_own():
    """The code is the same; the functions differ by their defaults."""
    other = BASE.replace("y=1", "y=2")
    decorated = "def same(f):\n    return f\n@same\n" + BASE
    assert token(other) == token(BASE) == token(decorated)
    assert look(made(other), {}).digest != look(made(BASE), {}).digest
    assert look(made(decorated), {}).digest == look(made(BASE), {}).digest


def test_each_of_several_functions_in_a_line_has_its_own():
    """They are told apart by where they end."""
    text = "f, g, h = lambda x: x + 1, lambda x: x + 2, lambda x: x + 1"
    namespace = {}
    exec(compile(text, remember(text), "exec"), namespace)
    f, g, h = (code_token(namespace[name].__code__) for name in "fgh")
    assert f == h != g


def test_code_that_its_text_does_not_give_is_known_by_its_bytes():
    """A transformer of the notebook, or a forgotten text."""
    forgotten = made(BASE, known=False).__code__
    assert code_token(forgotten) == code_bits(forgotten)
    changed = made(BASE).__code__.replace(co_consts=(None, 5))
    assert code_token(changed) == code_bits(changed)


def test_what_was_found_out_holds_when_the_text_is_gone():
    """Otherwise a cleared cache would look like a change."""
    function = made(BASE + "# once\n")
    before = look(function, {}).digest
    linecache.clearcache()
    assert look(function, {}).digest == before
