"""The walk over expressions."""

import ast

import pytest

from nbresume.plan.expressions import EXPRESSIONS, called, depth_of, last_name
from nbresume.plan.reading import Reading


def expression(code):
    """Return the tree of an expression."""
    return ast.parse(code, mode="eval").body


def uses(code):
    """Return the uses of a text."""
    return Reading(ast.parse(code)).flow.uses


CALLED = {
    "f()": "f",
    "a.b.f(x)": "f",
    "f": "",
    "f()()": "",
    "a[0]()": "",
}


@pytest.mark.parametrize(("code", "expected"), CALLED.items())
def test_called(code, expected):
    """What is called is known by its last name."""
    assert called(expression(code)) == expected


@pytest.mark.parametrize(
    ("code", "expected"), [("a", "a"), ("a.b", "b"), ("a().b", "b"), ("a[0]", "")]
)
def test_last_name(code, expected):
    """Names and attributes have a last name, other expressions have none."""
    assert last_name(expression(code)) == expected


@pytest.mark.parametrize(("code", "expected"), [("", 1), ("x", 4), ("x = a.b.c", 6)])
def test_depth_of(code, expected):
    """The depth counts each level of the tree, the module and contexts included."""
    assert depth_of(ast.parse(code)) == expected


def test_depth_of_a_deep_tree_needs_no_stack():
    """A tree that no recursion could walk has a depth."""
    assert depth_of(ast.parse(" + ".join(["a"] * 900))) > 900


# the order in which Python evaluates: the left name is assigned where the right is read
ORDERED = [
    "(x := 1) + x",
    "f((x := 1), x)",
    "f((x := 1), k=x)",
    "[(x := 1), x]",
    "{(x := 1): x}",
    "{1: (x := 1), x: 2}",
    "(x := 1) < x",
    "a[(x := 1)][x]",
    "(x := 1) if False else 2; y",
    "(x := 1) and x",
    "x if (x := 1) else x",
    "f'{(x := 1)}{x}'",
    "f'{(x := 1):{x}}'",
    "[x for _ in (x := a)]",
    "lambda y=(x := 1): x",
    "{(x := 1): y for y in x}",
]


@pytest.mark.parametrize("code", ORDERED)
def test_evaluated_in_order(code):
    """A walrus counts for all that Python evaluates after it."""
    expected = {"x"} if code in UNORDERED else set()

    assert uses(code).reads & {"x"} == expected


UNORDERED = {
    # the source of a comprehension is evaluated before its element
    "{(x := 1): y for y in x}",
}


@pytest.mark.parametrize("kind", EXPRESSIONS)
def test_every_handler_is_for_an_expression(kind):
    """Statements have their handlers elsewhere."""
    assert issubclass(kind, ast.expr)
