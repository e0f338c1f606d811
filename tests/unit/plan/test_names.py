"""What a cell reads, sets and deletes, as a table; and against Python itself."""

import ast
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nbresume.plan.names import Names, may_store, names_in_strings, names_of


def of(code):
    """Return the names of a text."""
    return names_of(ast.parse(textwrap.dedent(code)))


READS = {
    # straight lines
    "x = 1; y = x": "",
    "y = x; x = 1": "x",
    "x += 1": "x",
    "x.n += 1": "x",
    "x[k] = v": "x k v",
    "x: int = 1": "int",
    "x: T": "T",
    "x.y: T": "x T",
    "a, *b = c; print(b)": "c print",
    "for x in xs: y = x": "xs",
    "(y := 1); y": "",
    "del x": "x",
    "x = 1; del x; x": "x",
    "import os.path as p, sys; p, sys": "",
    "from a import b, c as d; b, d": "",
    "from a import *; b": "b",
    "'text'": "",
    "x = {k: (k := 1)}": "k",
    "x = {(k := 1): k, **m}": "m",
    "get_ipython()": "",
    # one way or the other
    "if c: x = 1\nx": "c x",
    "if c: x = 1\nelse: x = 2\nx": "c",
    "if c: x = 1\nelse: raise E\nx": "c E",
    "if c: raise E\nelse: raise F\nx = 1\nx": "c E F",
    "c and (x := 1); x": "c x",
    "(x := c) and x": "c",
    "a < (x := 1); x": "a",
    "a < b < (x := 1); x": "a b x",
    "(x := 1) if c else (x := 2); x": "c",
    "1 if c else (x := 2); x": "c x",
    "assert c, (x := 1)\nx": "c x",
    "assert (x := c)\nx": "c",
    # loops
    "for x in xs: pass\nx": "xs x",
    "for x in xs: y = 1\nelse: y = 2\ny": "xs",
    "for i in x: pass\nelse: y = 1\nif c: z = y": "x c",
    "x = 1\nfor i in x:\n  del x": "x",
    "x = 1\nfor i in r:\n  x\n  if i: del x": "r x",
    "while c: x = 1\nx": "c x",
    "while (x := c): pass\nx": "c",
    "while True:\n  x = 1\n  break\nx": "",
    "while True:\n  if c: break\n  x = 1\nx": "c x",
    "while True:\n  try:\n    x = f()\n    break\n  except E: continue\nx": "f E",
    "for i in r:\n  x = 1\n  break\nelse: x = 2\nx": "r",
    "while 1:\n  raise E\n  break\nx": "E x",
    "while 1:\n  x = 1\n  try: break\n  finally: del x\nx": "x",
    "while 1:\n  try: f()\n  except E as x: break\n  x = 1\n  break\nx": "f E x",
    # errors
    "try: x = f()\nexcept E: pass\nx": "f E x",
    "try: x = f()\nexcept E: x = 1\nx": "f E",
    "try: x = f()\nexcept E: raise\nx": "f E",
    "try: f()\nexcept E: raise\nelse: x = 1\nx": "f E",
    "try: x = f()\nfinally: x": "f x",
    "try: x = f()\nfinally: y = 1\nx, y": "f",
    "x = 1\ntry: f()\nfinally: del x\nx": "f x",
    "try: x = f()\nexcept E: raise\nfinally: g()\nx": "f E g",
    "x = 1\ntry:\n  del x\n  x = 2\nexcept E: x\n": "E x",
    "try: f()\nexcept E as e: e\ne": "f E e",
    "try: f()\nexcept* E as e: e": "f E",
    # with
    "with open(p) as f: x = f\nx, f": "p open",
    "with a, b as c: x = c\nx, c": "a b x",
    "with suppress(E): x = 1\nx": "suppress E x",
    "with z.open(p) as (f, g): x = f\nx": "z p",
    "with open(p), q(): x = 1\nx": "open p q x",
    # match
    "match x:\n  case [a, *b]: a, b\n  case {'k': v, **r}: v, r": "x",
    "match x:\n  case C(n=1) as y if y: z = 1\n  case _: z = 2\nz": "x C",
    "match x:\n  case 1: z = 1\n  case 2 | _: z = 2\nz": "x",
    "match x:\n  case 1: z = 1\nz": "x z",
    "match x:\n  case m.N: pass\n  case _ if g: z = 1\nz": "x m g z",
    # comprehensions
    "[x for x in xs if x]": "xs",
    "[y for x in xs for y in x + z]": "xs z",
    "[x for x in xs]; x": "xs x",
    "{k: v for k, v in d}; {i for i in s}": "d s",
    "[y for x in xs if (y := x)]; y": "xs y",
    "(x + z for x in xs)": "xs z",
    "z = 1; [x + z for x in xs]": "xs",
    "[[j for j in i] for i in j]": "j",
    # functions
    "def f(): return x": "",
    "def f(): return x\nf()": "x",
    "def f(): return x\nx = 1\nf()": "",
    "def f(): return x\ng = f\nx = 1": "x",
    "def f(): return g()\ndef g(): return x\nf()": "x",
    "def f(): return g()\nregister(f)\ndef g(): return x": "register g x",
    "def f(): return f()\nf()": "",
    "if c:\n  def f(): return x\nelse:\n  def f(): return y\nf()": "c x y",
    "def f(a, /, b, *c, d, **e): return a, b, c, d, e\nf()": "",
    "def f(a=x, *, b=y, c): pass": "x y",
    "def f(a: T, *b: U, **c: V) -> W: pass": "T U V W",
    "@cache\ndef f(): return x": "cache",
    "@lru_cache(maxsize=n)\ndef f(): return x": "lru_cache n",
    "@app.get('/')\ndef f(): return x, f": "app x",
    "@a[0]\ndef f(): return x": "a x",
    "def f():\n  y = x\n  return y\nf()": "x",
    "def f():\n  x = x\nf()": "",
    "def f():\n  global x\n  x = 1\n  return x\nf()": "",
    "def f():\n  global x\n  if c: x = 1\n  return x\nf()": "c x",
    "def f():\n  def g(): return y\n  y = 1\n  return g\nf()": "",
    "def f():\n  y = 1\n  def g():\n    nonlocal y\n    y = z\nf()": "z",
    "def f():\n  global g\n  def g(): return x\n  g()\nf()": "x",
    "def f():\n  class C:\n    def m(self): return x\n  return C\nf()": "x",
    "def f():\n  import q, r.s\n  from t import u\n  return q, r, u\nf()": "",
    "def f():\n  return [i for i in r if (j := i)], j\nf()": "r",
    "def f():\n  with o() as p: p\n  for q in p: q\n  del q\nf()": "o",
    "def f():\n  try: pass\n  except E as e: e\nf()": "E",
    "def f():\n  @d\n  def g(a=b): pass\nf()": "d b",
    "def f():\n  class C(B, k=v): pass\nf()": "B v",
    "def f(): yield x\nasync def g():\n  async with x: await y\ng()": "x y",
    "async def f():\n  async for i in r: i\n  return [j async for j in s]\nf()": "r s",
    "x = 1\ndef f():\n  global x\n  del x\nf()\nx": "x",
    "f = lambda a, b=c: a + b + d": "c d",
    "f = lambda: g()\ndef g(): return x": "g x",
    "def f():\n  h = lambda i, j=k: i + l\n  return h\nf()": "k l",
    # classes
    "class A(B, metaclass=M): pass\nA": "B M",
    "class A:\n  x = x\n  y = x": "x",
    "class A:\n  x = 1\n  y = x\nx": "x",
    "class A:\n  x = 1\n  def m(self): return x\nA": "x",
    "class A:\n  def m(self): return x": "",
    "class A(B):\n  def m(self): return x, A": "B x",
    "class A:\n  def m(): return x\n  n = m()": "x",
    "class A:\n  class B:\n    def m(self): return x\nA": "x",
    "class A:\n  global x\n  x = 1\nx": "",
    "class A:\n  x = 1\n  y = [x for _ in x]": "x",
    "class A:\n  x = 1\n  class B: y = x": "x",
    "@dataclass\nclass A:\n  n: T = 0": "dataclass T",
    "@register\nclass A:\n  def m(self): return x": "register x",
    "class A:\n  if c: x = 1\n  y = x": "c x",
    # a class body passes the locals of a function around it over
    "def f():\n  x = 1\n  class A: x = x\nf()": "x",
    "def f():\n  x = 1\n  class A: y = x\nf()": "",
    "class A:\n  @property\n  def m(self): return x": "property",
    # f-strings
    "f'{x!r:>{w}}'": "x w",
    # IPython
    "get_ipython().run_line_magic('time', 'y = f(x)'); y": "f x",
    "get_ipython().run_line_magic('timeit', '-n 10 -r3 y = f(x)'); y": "f x y",
    "get_ipython().run_line_magic('timeit', 'del x')": "x",
    "get_ipython().run_line_magic('prun', '-l 5 -s cumulative f(x)')": "f x",
    "get_ipython().run_line_magic('matplotlib', 'inline')": "",
    "get_ipython().run_line_magic('set_env', 'A={x.y} $z $$w')": "x y z",
    "get_ipython().run_line_magic('sql', 'select a from b')": "select a from b",
    "get_ipython().run_cell_magic('time', '', 'y = x')\ny": "x",
    "get_ipython().run_cell_magic('timeit', 's = t', 'x = s')\nx": "t x",
    "get_ipython().run_cell_magic('capture', '--no-stderr o', 'x = y')\no, x": "y",
    "get_ipython().run_cell_magic('capture', '', 'x')": "x",
    "get_ipython().run_cell_magic('bash', '-s a', 'echo b')": "s a echo b",
    "get_ipython().run_cell_magic('time', '', '%who x')": "who x",
    "get_ipython().system('ls $d {e + f}')": "d e f",
    "files = get_ipython().getoutput('ls $d')": "d",
    "shell.system('ls $d')": "shell",
    "get_ipython().run_line_magic(m, 'x')": "m",
}


@pytest.mark.parametrize(("code", "expected"), READS.items())
def test_reads(code, expected):
    """A name is an input unless every way to its use assigns it first."""
    assert of(code).reads == set(expected.split())


SURELY = {
    "x = y = 1": "x y",
    "x = 1; del x": "",
    "if c: x = 1": "",
    "if c: x = 1\nelse: x = 2": "x",
    "for x in xs: pass": "",
    "with open(p) as f: x = 1": "f x",
    "with a as f: x = 1": "f",
    "try: x = 1\nexcept E as e: x = 2": "x",
    "def f(): x = 1\nclass C: y = 1": "f C",
    "import a.b, c as d\nfrom e import f as g": "a d g",
    "x: int\ny: int = 1": "y",
    "get_ipython().run_cell_magic('capture', 'o', 'x = 1')": "o x",
}


@pytest.mark.parametrize(("code", "expected"), SURELY.items())
def test_surely_stores(code, expected):
    """What is surely set is what is assigned whichever way the cell takes."""
    assert of(code).surely_stores == set(expected.split())


STORES = {
    "if c: x = 1": "x",
    "for x, (y, *z) in xs: pass": "x y z",
    "with a as (b, c): pass": "b c",
    "match x:\n  case [a, *b]: pass\n  case {**r}: pass": "a b r",
    "match x:\n  case D() as d: pass": "d",
    "[(y := x) for x in xs]": "y",
    "try: pass\nexcept E as e: pass": "e",
    "def f():\n  global x\n  x = 1": "f",
    "def f():\n  global x\n  x = 1\nf()": "f x",
    "lambda: (y := 1)": "",
    "((y := x) for x in xs)": "y",
    "class A:\n  x = 1\n  global y\n  y = 2": "A y",
    "x.a = 1; x[0] = 1": "",
}


@pytest.mark.parametrize(("code", "expected"), STORES.items())
def test_stores(code, expected):
    """What may be set counts, in whatever statement, but no local of a scope."""
    assert of(code).stores == set(expected.split())


DELETES = {
    "del x, y": "x y",
    "try: pass\nexcept E as e: pass": "e",
    "def f():\n  global x\n  del x\nf()": "x",
    "def f():\n  x = 1\n  del x\nf()": "",
    "class A:\n  x = 1\n  del x": "",
    "del x.a, x[0]": "",
}


@pytest.mark.parametrize(("code", "expected"), DELETES.items())
def test_deletes(code, expected):
    """A ``del`` counts, and so does the end of an ``except … as``."""
    assert of(code).deletes == set(expected.split())


WILD = [
    "eval('x')",
    "exec(code)",
    "globals()['x'] = 1",
    "def f(): return locals()\nf()",
    "get_ipython().user_ns['x']",
    "ip.user_ns",
    "get_ipython().push({})",
    "get_ipython().run_line_magic('run', 'other.py')",
    "get_ipython().run_line_magic('reset', '-f')",
    "get_ipython().run_line_magic('pylab', '')",
    "get_ipython().run_line_magic(name, '')",
    "get_ipython().run_cell_magic('javascript', '', '1')",
    "get_ipython().run_cell_magic('time', '', 'no python')",
    f"get_ipython().run_line_magic('time', '{'x.y' + '.z' * 60}')",
    "x = " + " + ".join(["a"] * 200),
]


@pytest.mark.parametrize("code", WILD)
def test_wild(code):
    """A cell whose names its code does not show is wild."""
    assert of(code).wild


TAME = [
    "x = 1",
    "from a import *",
    "def f(): return eval('x')",
    "vars = [1]\nvars",
    "df.eval('x + y')",
    "queue.push(1)",
    "get_ipython().config",
    "get_ipython().run_line_magic('unknown', 'x')",
    "get_ipython().run_cell_magic('timeit', '', 'x')",
]


@pytest.mark.parametrize("code", TAME)
def test_tame(code):
    """A cell is not wild for a name that only looks like eval, or is not used."""
    assert not of(code).wild


def test_imports_are_modules():
    """Modules are noted as they are written, relative ones with their dots."""
    names = of(
        "import a.b, c as d\nfrom e.f import g\nfrom . import h\nfrom .i import *"
    )

    assert names.imports == {"a.b", "c", "e.f", ".", ".i"}


def test_patches_are_set_below_globals():
    """What is set below a global name is a patch; below a local name it is none."""
    names = of(
        """
        m.a = 1
        m.b += 1
        del m.c
        setattr(m, "d", 1)
        setattr(m, "e", "text")
        setattr(m.n, "g", 1)
        delattr(m.n, "h")
        m.n.o.i = 1
        m.t["k"] = 1
        del m.n.t["k"]
        m["k"] = m().x = m.read["k"]
        def f(o, *, p=1):
            m.f = o.x = p.x = 1
            setattr(o, "x", 1)
        """
    )

    below = {"n.g", "n.h", "n.o.i", "t[]", "n.t[]"}
    assert names.patches == {("m", path) for path in {*"abcdef", *below}}


def test_strings_without_documentation():
    """Texts are kept, f-strings in one piece; docstrings and comments are not."""
    names = of(
        '''
        """About the cell."""
        def f():
            """About the function."""
            return open("a.csv")
        f"select {x} from tab"
        y = 1, b"bytes"
        get_ipython().system("cat b.csv")
        '''
    )

    assert names.strings == {"a.csv", "select {} from tab", "cat b.csv"}


def test_a_tree_too_deep_counts_all_it_names():
    """A generated expression deeper than the walk may go is wild and reads all."""
    chain = " + ".join(["a", "get_ipython", "'t u'"] + ["b"] * 2000)
    names = of(f"x = {chain}")

    assert names == Names(
        reads=frozenset({"a", "b"}),
        stores=frozenset({"x"}),
        deletes=frozenset({"x"}),
        strings=frozenset({"t u"}),
        wild=True,
    )


@pytest.mark.parametrize("depth", [1, 50, 110])
def test_a_deep_tree_is_walked(depth):
    """A hundred levels are within what the walk can do."""
    code = "x = " + "(" * depth + "a" + ").b" * depth

    assert of(code) == Names(
        reads=frozenset({"a"}),
        stores=frozenset({"x"}),
        surely_stores=frozenset({"x"}),
    )


def test_type_parameters_are_no_globals():
    """The names in ``def f[T: B](x: T)`` are the function's own (Python 3.12)."""
    tree = ast.parse("def f(x: T): return T, y\nclass C(G[T]): t = T\nf()")
    for node in tree.body[:2]:
        node.type_params = [ast.MatchAs(name="T")]

    assert names_of(tree).reads == {"y", "G"}


def test_may_store_is_what_is_set_or_deleted():
    """A name may be another one, or gone, after the cell."""
    names = Names(stores=frozenset("ab"), deletes=frozenset("bc"))

    assert may_store(names) == {"a", "b", "c"}


QUERIES = {
    "x > @limit": "x limit",
    "select a\nfrom tab": "select a tab",
    "a+b": "a b",
    "c=d*2": "c d",
    "tab": "",
    "  tab  ": "",
    "data/orders-2026.csv": "",
    "https://host/?limit=5": "",
    "%Y-%m-%d": "",
    "": "",
    "größe > 1": "größe",
}


@pytest.mark.parametrize(("text", "expected"), QUERIES.items())
def test_names_in_strings(text, expected):
    """A text counts as a query when it is more than one bare word, path or address."""
    assert names_in_strings([text]) == set(expected.split())


# Python as the judge: a cell that fails for want of a name reads that name.

_NAMES = ("a", "b", "f")
_SIMPLE = st.sampled_from(
    [
        # mostly assignments: a program that reads at once proves little
        *["{n} = V", "{n} = lambda: V", "pass"] * 4,
        "{n} = {m}",
        "{n} += {m}",
        "{n}",
        "del {n}",
        "{n} = [{m} for {m} in T({n})]",
        "coin() and ({n} := {m})",
        "{n} = lambda: {m}",
        "{n}()",
        "raise ValueError",
        "for {n} in T({m}): {m}",
        "({n} := {m}) if coin() else {m}",
        "import sys as {n}",
        "def {n}(): return {m}",
        "def {n}(): return {m}()",
        "def {n}({m}=1): return {m}",
        "class {n}: {m} = {m}",
    ]
)
_LONG = st.sampled_from(
    [
        "if coin():\n{x}\nelse:\n{y}",
        "for {n} in T({m}):\n{x}\nelse:\n{y}",
        "while coin():\n{x}\n    if coin(): break\nelse:\n{y}",
        "while True:\n    if coin(): break\n{x}\n    if coin(): continue\n{y}",
        "while True:\n{x}\n    break",
        "try:\n{x}\nexcept ValueError:\n{y}",
        "try:\n{x}\nexcept ValueError as {n}:\n{y}\nfinally:\n    {m}",
        "try:\n{x}\nfinally:\n{y}",
        "with suppress(ValueError):\n{x}",
        "def {n}():\n    global {m}\n{x}",
        "def {n}():\n{x}\n    return lambda: {m}",
        "match coin():\n  case True as {n}:\n{x}\n  case _:\n{y}",
        "class {n}:\n{x}\n    def m(self): return {m}\n{m}",
    ]
)


@st.composite
def _block(draw, depth=3):
    lines = []
    for _ in range(draw(st.integers(1, 4))):
        form = draw(_LONG if depth and draw(st.booleans()) else _SIMPLE)
        inner = [draw(_block(depth - 1)) if "{" + k in form else "" for k in "xy"]
        x, y = (textwrap.indent(text, "    ") for text in inner)
        n, m = (draw(st.sampled_from(_NAMES)) for _ in range(2))
        lines.append(form.format(n=n, m=m, x=x, y=y))
    return "\n".join(lines)


_COINS = st.lists(st.booleans(), min_size=10, max_size=30)


class _Stop(BaseException):
    """The coins are used up."""


class _Value:
    """A value that every generated program can use."""

    def __call__(self, *_):
        return self

    def __add__(self, other):
        return self

    __iadd__ = __radd__ = __add__


def _run(code, coins, missing):
    left = iter(coins)

    def coin():
        try:
            return next(left)
        except StopIteration:
            raise _Stop from None

    names = {name: _Value() for name in _NAMES if name != missing}
    names |= {"coin": coin, "V": _Value(), "T": lambda _: (_Value(),) * sum(coins[:2])}
    names["suppress"] = __import__("contextlib").suppress
    try:
        exec(compile(code, "cell", "exec"), names)  # noqa: S102 - the judge is Python
    except NameError as error:
        return names, error.name
    except (_Stop, Exception) as error:  # noqa: BLE001 - the program may end anyhow
        return names, repr(error)
    return names, None


def _compiles(code):
    try:
        compile(code, "cell", "exec")
    except SyntaxError:
        return False
    return True


@settings(max_examples=200, deadline=None)
@given(
    code=_block().filter(_compiles),
    runs=st.lists(_COINS, min_size=4, max_size=4),
)
def test_python_misses_no_name_that_is_no_read(code, runs):
    """Without a name, a cell fails for it only if the name is one of its reads."""
    names = of(code)
    missed = {
        missing
        for coins in runs
        for missing in _NAMES
        # a cell that fails for the name although it is there, has deleted it itself
        if _run(code, coins, missing)[1] == missing != _run(code, coins, None)[1]
    }

    assert missed <= names.reads, code


@settings(max_examples=200, deadline=None)
@given(code=_block().filter(_compiles), coins=_COINS)
def test_python_keeps_what_is_surely_stored(code, coins):
    """A cell that comes to its end has set what it surely sets, and only its stores."""
    names = of(code)
    before = _run("pass", coins, None)[0]
    after, error = _run(code, coins, None)

    assert error is not None or names.surely_stores <= after.keys(), code
    kept = {n for n in _NAMES if n in after and type(after[n]) is _Value}
    changed = set(before) & set(_NAMES) - kept
    assert changed <= may_store(names), code
