"""The walk over statements: what `test_names` does not show from outside."""

import ast

import pytest

from nbresume.plan.expressions import EXPRESSIONS
from nbresume.plan.reading import Reading


def reads(code):
    """Return the reads of a text."""
    return Reading(ast.parse(code)).flow.uses.reads


def test_every_kind_of_statement_that_matters_is_handled():
    """What has no handler of its own is walked as its children in order."""
    statements = {kind for kind in Reading.on if kind not in EXPRESSIONS}
    plain = {ast.Delete, ast.Global, ast.Nonlocal, ast.Pass}
    every = {kind for kind in ast.stmt.__subclasses__() if kind.__name__ != "TypeAlias"}

    assert every - statements == plain
    assert statements - every == {ast.MatchAs, ast.MatchStar, ast.MatchMapping}


@pytest.mark.parametrize(
    "manager",
    ["open(p)", "gzip.open(p)", "np.errstate()", "engine.connect()", "tqdm(xs)"],
)
def test_managers_that_let_errors_through(manager):
    """Behind a known context manager, what its block assigns is sure."""
    assert "x" not in reads(f"with {manager}: x = 1\nx")


@pytest.mark.parametrize(
    "manager", ["suppress(E)", "lock", "pytest.raises(E)", "managers[0]()", "other()"]
)
def test_managers_that_may_swallow(manager):
    """Behind any other, an error may have come before the name was assigned."""
    assert "x" in reads(f"with {manager}: x = 1\nx")


def test_managers_are_entered_in_order():
    """The name behind ``as`` is known to the next manager and to the block."""
    assert reads("with open(p) as f, g(f) as h: f, h") == {"open", "p", "g"}


@pytest.mark.parametrize(
    "decorator", ["cache", "functools.lru_cache(maxsize=1)", "x.setter", "wraps(f)"]
)
def test_decorators_that_keep_for_later(decorator):
    """A decorator known to call nothing leaves the body unread."""
    assert "y" not in reads(f"@{decorator}\ndef g(): return y")


@pytest.mark.parametrize("decorator", ["app.get('/')", "run", "d[0]", "d()()"])
def test_decorators_that_may_call(decorator):
    """Any other decorator may call the function at once."""
    assert "y" in reads(f"@{decorator}\ndef g(): return y")


def test_type_alias_reads_and_binds_in_order():
    """A node of a newer Python is walked as its children."""
    alias = type("TypeAlias", (ast.stmt,), {"_fields": ("name", "value")})
    tree = ast.parse("")
    name, value = ast.Name("X", ast.Store()), ast.Name("Y", ast.Load())
    tree.body.append(alias(name=name, value=value))
    walked = Reading(tree)

    assert walked.flow.uses.reads == {"Y"}
    assert walked.flow.assigned == {"X"}
