"""Equal meaning is an equal code version, on every supported Python."""

import ast
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import nbresume
from nbresume.model.printing import parse, printed
from nbresume.plan.code_version import code_version


def version(code):
    """Return the code version of a text."""
    tree = parse(code)
    assert tree is not None
    return code_version(tree)


SAME = [
    ("x=1", "x = 1  # one\n\n"),
    ("x = (1 + 2)", "x = 1 + 2"),
    ("x = 'a'", 'x = """a"""'),
    ("x = 'a' 'b'", "x = u'ab'"),
    ("x = f'a' 'b' f'{y}'", "x = f'ab{y}'"),
    ("f'{x:}'", "f'{x}'"),
    ("f(a,\n  b,)", "f(a, b)"),
    ("x = 0x10", "x = 16"),
    ("x = 1_000.0", "x = 1e3"),
    ("if a:\n  b", "if a: b"),
    ("if a: b\nelif c: d", "if a: b\nelse:\n    if c: d"),
    ("x = 1; y = 2", "x = 1\ny = 2"),
    ("x = []  # type: list[int]", "x = []"),
    ("'\\x41'", "'A'"),
    ("x = 1, 2", "x = (1, 2)"),
    ("with (a as b): pass", "with a as b: pass"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_same(one, other):
    """Comments, blanks, parentheses and quotes are no change."""
    assert version(one) == version(other)


DIFFERENT = [
    "x = 8",
    "x = 8.0",
    "x = 8j",
    "x = '8'",
    "x = b'8'",
    "x = True",
    "x = 1",
    "x = None",
    "x = 'None'",
    "x = ...",
    "x = f'8'",
    "x = f'{8}'",
    "x = f'{8!r}'",
    "x = f'{8!s}'",
    "x = f'{8:>{w}}'",
    "x = f'{8:>w}'",
    "x = f'{8=}'",
    "x = f'{8=:}'",
    "x = f''",
    "x = ''",
    "f'{8}'",
    "f'{f\"{8}\"}'",
    "f'{f\"{8:}\"}{8}'",
    "f'{f\"\"}'",
    "f'{\"\"}'",
    "x = []",
    "x = ()",
    "x = [None]",
    "x = {}",
    "x = {**{}}",
    "x = {None: {}}",
    "x, = 8",
    "x: int = 8",
    "(x): int = 8",
    "x: int",
    "def f(): pass",
    "def f(): return",
    "def f(): return None",
    "def f(): 'doc'",
    "def f(a=None): pass",
    "def f(*, a): pass",
    "def f(*, a=None): pass",
    "def f(a, /): pass",
    "def f(a): pass",
    "async def f(): pass",
    "f = lambda: 8",
    "@d\ndef f(): pass",
    "import a",
    "import a as b",
    "from a import b",
    "from .a import b",
    "from . import a",
    "del x",
    "x",
    "match x:\n case None: pass",
    "match x:\n case True: pass",
    "match x:\n case _: pass",
    "match x:\n case y: pass",
    "match x:\n case [*_]: pass",
    "match x:\n case []: pass",
    "match x:\n case {**y}: pass",
    "try: pass\nexcept E: pass",
    "try: pass\nexcept* E: pass",
    "try: pass\nexcept E as e: pass",
    "x = '\\ud800'",
    "x = '\\udfff'",
    "x = a.b(*c, **d)",
    "x = a[1:2]",
    "x = a[1:2,]",
    "x = a[1:2:None]",
    "x = -1",
    "x = not a < b",
    "x = a < b < c",
    "x = (a < b) < c",
    "x = a + b + c",
    "x = a + (b + c)",
    "",
]


def test_all_different():
    """A change of meaning is a change, however small."""
    versions = {code: version(code) for code in DIFFERENT}

    assert len(set(versions.values())) == len(DIFFERENT)


def test_printed_form_is_fixed():
    """The printed form is stored as digests: it must stay as it is."""
    assert printed(ast.parse("x = f'{y:>{w}}' + 'é'")) == (
        "Module(body=[Assign(targets=[Name(id=str:'x';),];value=BinOp("
        "left=JoinedStr(values=[FormattedValue(value=Name(id=str:'y';);"
        "conversion=int:-1;format_spec=JoinedStr(values=[Constant(value=str:'>';),"
        "FormattedValue(value=Name(id=str:'w';);conversion=int:-1;),];);),];);"
        "op=Add();right=Constant(value=str:'\\xe9';););),];)"
    )


def test_texts_in_an_f_string_are_merged():
    """Empty and adjacent texts, which Python 3.12 leaves in f-strings, do not count."""
    pieces = [ast.Constant(text) for text in ("", "a", "", "b")]
    split = ast.JoinedStr([*pieces, ast.parse("f'{x}'").body[0].value.values[0]])

    assert printed(split) == printed(ast.parse("f'ab{x}'").body[0].value)
    assert printed(ast.JoinedStr(pieces[:1])) == printed(ast.JoinedStr([]))


def test_depth_is_no_limit():
    """A sum of hundreds of terms, each a level deeper, has a version."""
    many = " + ".join(["a"] * 800)

    assert version(many) != version(many + " + a")


def test_huge_integers():
    """An integer that Python refuses to write in decimals has a version."""
    assert version(f"x = 0x{'f' * 9000}") != version(f"x = 0x{'f' * 9001}")


@given(st.text() | st.binary() | st.integers() | st.floats(allow_nan=False))
def test_constants_of_unequal_text_differ(value):
    """A constant's version is equal exactly when Python writes it equally."""
    one = printed(ast.Constant(value))

    assert one.isascii()
    assert one == printed(ast.Constant(value))
    assert one != printed(ast.Constant(str(value) + "x"))


@pytest.mark.parametrize("text", ["x =", "!ls", "\0", "(" * 300, "x = '\ud800'"])
def test_what_is_no_python_has_no_tree(text):
    """Text that is no plain Python gives None, whatever is wrong with it."""
    assert parse(text) is None


def test_parse_is_silent():
    """A warning about the code is for the author when it runs, not for us."""
    assert parse(r"x = '\d'") is not None


OTHERS = sorted(
    path
    for path in (Path.home() / ".pyenv" / "versions").glob("3.*/bin/python")
    if tuple(map(int, path.parts[-3].split(".")[:2])) >= (3, 11)
)
# the other Pythons have the standard library only; blake3 is not used for cues
PRINT_VERSIONS = """
import ast, sys, types
sys.modules["blake3"] = types.ModuleType("blake3")
from nbresume.plan.code_version import code_version
codes = ast.literal_eval(sys.stdin.read())
print([code_version(ast.parse(code)) for code in codes])
"""
CORPUS = [
    *DIFFERENT,
    *(code for pair in SAME for code in pair),
    "f'{x:{w}.{p}}' f'{{}}{y!a}'",
    "f'{x:{{}}}'",
    "f'''{\nx\n}'''",
    "f'{ x = !r:^20}'",
    "rf'{x:\\d}\\d'",
    "f'{x:\\n}\\n'",
    "f'{x:{y!r}}{z:{\"a\"}}'",
    "f'{x:%Y-%m}{(lambda y: 1)}{a[\"b\"]}{*c,}'",
    "'a' f'{x}' 'b' f'{f\"{y}\"}' ''",
    "f'\\N{BULLET}{x}'",
    (
        "async def f(a: int, /, *b, c=1, **d) -> None:\n"
        "  async with a as b, c: await d\n"
        "  async for e in f: yield e\n"
        "  return [g async for g in h if (i := g)]"
    ),
    "class A(B, metaclass=C):\n  '''doc\n     more'''\n  global z\n  x: int = 1",
    "def f():\n  '''doc\n     more'''\n  nonlocal_ = 1\n  raise E from None",
    "match x:\n case {'a': 1, **r} | C(d, e=2) as g if g: pass\n case -1j | 'x': pass",
    "try:\n pass\nexcept* (A, B) as e:\n pass\nelse:\n pass\nfinally:\n pass",
    "while (x := f()) and not y: x @= 1\nelse: assert x, 'm'",
    "a, *b = *c, d; x[..., 1:2, *e] = lambda *g, h=1: {**i, 'j': {*k}}",
    "x = 1e999, -0.0, 1e-7, 123456789012345678901234567890, 0.1 + 2j",
    "x = '\\\\\\'\"\\n\\x00\\xa0\\u2028\\U0001f600 é', b'\\x00\\xff\\'\"'",
    "x = if_ if y else z; print(*a, sep='', **b); del c, d.e, f[0]",
]


@pytest.mark.parametrize("python", OTHERS, ids=lambda path: path.parts[-3])
def test_equal_on_all_pythons(python):
    """The code version of a corpus is the same on each Python that is installed."""
    package = Path(nbresume.__file__).parents[1]
    done = subprocess.run(
        [python, "-W", "ignore", "-X", "utf8", "-c", PRINT_VERSIONS],
        input=repr(CORPUS),
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={"PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"},
    )

    assert done.stderr == ""
    assert ast.literal_eval(done.stdout) == [version(code) for code in CORPUS]
