"""What Python binds where."""

import ast

import pytest

from nbresume.plan.scopes import (
    Kind,
    Scope,
    class_scope,
    comprehension_scope,
    deleted_by_functions,
    deleted_in,
    function_scope,
    names_bound_by,
    type_parameters,
)


def first(code):
    """Return the first statement of a text."""
    return ast.parse(code).body[0]


def scope(kind, bound="", declared=""):
    """Return a scope from words."""
    return Scope(kind, frozenset(bound.split()), frozenset(declared.split()))


FUNCTIONS = {
    "def f(a, /, b, *c, d, **e): pass": ("a b c d e", ""),
    "def f(a=(b := 1)): pass": ("a", ""),
    "def f():\n  x = y": ("x", ""),
    "def f():\n  x: int": ("x", ""),
    "def f():\n  x += 1": ("x", ""),
    "def f():\n  del x": ("x", ""),
    "def f():\n  x.a = y[0] = 1": ("", ""),
    "def f():\n  for x, *y in z: pass": ("x y", ""),
    "def f():\n  with a as b: c = 1": ("b c", ""),
    "def f():\n  import a.b, c as d\n  from e import g as h": ("a d h", ""),
    "def f():\n  try: pass\n  except E as e: x = 1": ("e x", ""),
    "def f():\n  match s:\n    case [a, *b, {**c}] as d: pass": ("a b c d", ""),
    "def f():\n  match s:\n    case [_, *_]: pass": ("", ""),
    "def f():\n  global x\n  x = y = 1": ("y", "x"),
    "def f():\n  nonlocal x\n  x = y = 1": ("y", ""),
    "def f():\n  def g(a=(x := 1), *, b=(y := 2), c): z = 1": ("g x y", ""),
    "def f():\n  @(x := d)\n  def g(): pass": ("g x", ""),
    "def f():\n  async def g(): z = 1": ("g", ""),
    "def f():\n  class C((x := B), k=(y := 1)): z = 1": ("C x y", ""),
    "def f():\n  lambda a=(x := 1): (z := a)": ("x", ""),
    "def f():\n  [(y := x) for x in z if (w := x)]": ("y w", ""),
    "def f():\n  [x for x in z for y in x]": ("", ""),
    "def f():\n  {k: v for k, v in z}": ("", ""),
    "def f():\n  return (x := 1)": ("x", ""),
}


@pytest.mark.parametrize(("code", "expected"), FUNCTIONS.items())
def test_function_scope(code, expected):
    """A function keeps what it binds, but not what inner scopes bind for themselves."""
    assert function_scope(first(code)) == scope(Kind.FUNCTION, *expected)


def test_lambda_scope():
    """A lambda keeps its arguments and what it binds by ``:=``."""
    node = first("lambda a, *b: (c := a)").value

    assert function_scope(node) == scope(Kind.FUNCTION, "a b c")


def test_class_scope():
    """A class body keeps what it binds, methods and inner classes included."""
    node = first(
        "class A:\n  x = 1\n  def m(self): y = 1\n  class B: z = 1\n  global g"
    )

    assert class_scope(node) == scope(Kind.CLASS, "x m B", "g")


@pytest.mark.parametrize(
    "code",
    ["[x for x, y in z]", "{x for x in z for y in x}", "(x for x in y for y in z)"],
)
def test_comprehension_scope(code):
    """A comprehension keeps its loop variables."""
    assert comprehension_scope(first(code).value) == scope(Kind.COMPREHENSION, "x y")


def test_loop_variable_behind_an_element_of_another():
    """A target that only sets into something else binds nothing."""
    node = first("[0 for x[0] in y]").value

    assert comprehension_scope(node) == scope(Kind.COMPREHENSION)


def test_type_parameters():
    """Definitions have no type parameters before Python 3.12, and some after."""
    node = first("def f(): pass")
    assert type_parameters(node) == []

    node.type_params = [ast.alias(name="T"), ast.alias(name="U")]
    assert type_parameters(node) == ["T", "U"]
    assert function_scope(node) == scope(Kind.FUNCTION, "T U")


BOUND = {
    "x": (),
    "x = 1": (),
    "def f(): pass": ("f",),
    "async def f(): pass": ("f",),
    "class C: pass": ("C",),
    "import a.b, c.d as e, f": ("a", "e", "f"),
    "from a import b, c as d": ("b", "d"),
    "from a import *": (),
}


@pytest.mark.parametrize(("code", "expected"), BOUND.items())
def test_names_bound_by_a_statement(code, expected):
    """A node binds its own names; what its children bind is theirs."""
    assert names_bound_by(first(code)) == expected


@pytest.mark.parametrize(
    ("context", "expected"),
    [(ast.Store(), ("x",)), (ast.Del(), ("x",)), (ast.Load(), ())],
)
def test_names_bound_by_a_name(context, expected):
    """A name binds where it is assigned or deleted."""
    assert names_bound_by(ast.Name("x", context)) == expected


def test_deleted_in():
    """What a block deletes is found at any depth, the names of handlers too."""
    tree = ast.parse(
        "if c:\n  del x, (y, z[0])\ntry: pass\nexcept E as e: pass\nexcept F: w = 1"
    )

    assert deleted_in(tree.body) == {"x", "y", "e"}


def test_deleted_by_functions():
    """Only a ``del`` of a declared global in a function counts."""
    tree = ast.parse(
        "def f():\n  global x, y\n  del x, z\n  y = 1\n"
        "async def g():\n  global w\n  del w\ndel v"
    )

    assert deleted_by_functions(tree) == {"x", "w"}
