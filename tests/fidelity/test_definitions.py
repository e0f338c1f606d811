# ruff: noqa: ISC004, E501 - sources of cells are written as they stand
"""Definitions made in a notebook are the same in the next kernel."""

import importlib.util
from pathlib import Path

import pytest

CASES = {
    "function sees live globals": (
        "def f(): return z + 1\nz = 1",
        ["f() == 2", "f.__globals__ is globals()", "globals().update(z=5) or f() == 6"],
    ),
    "lambda": ("f = lambda x, *, y=2: x * y", ["f(3) == 6", "f(3, y=1) == 3"]),
    "defaults are objects with an id": (
        "a = [1]\ndef f(x=a): return x",
        ["f() is a"],
    ),
    "keyword defaults": ("def f(*, k={'x': 1}): return k", ["f() == {'x': 1}"]),
    "annotations and docstring": (
        "def f(x: int) -> str:\n    'told'\n    return ''",
        ["f.__doc__ == 'told'", "f.__annotations__ == {'x': int, 'return': str}"],
    ),
    "function attributes": ("def f(): pass\nf.a = [1]", ["f.a == [1]"]),
    "mutual recursion": (
        "def even(n): return n == 0 or odd(n - 1)\n"
        "def odd(n): return n != 0 and even(n - 1)",
        ["even(10)", "not odd(10)"],
    ),
    "closure": (
        "def make(n):\n    def f(): return n\n    return f\nf = make(3)",
        ["f() == 3"],
    ),
    "closure that calls itself": (
        "def make():\n    def f(n): return 1 if n < 2 else n * f(n - 1)\n    return f\n"
        "f = make()",
        ["f(5) == 120", "f.__closure__[0].cell_contents is f"],
    ),
    "empty cell": (
        "def make():\n    def f(): return late\n    if 0: late = 1\n    return f\n"
        "f = make()",
        ["f.__code__.co_freevars == ('late',)"],
    ),
    "two functions share a cell": (
        "def make():\n    n = 0\n    def inc():\n        nonlocal n\n        n += 1\n"
        "    def get(): return n\n    return inc, get\ninc, get = make()\ninc()",
        ["get() == 1", "inc() is None and get() == 2"],
    ),
    "decorator with wraps": (
        "import functools\ndef deco(g):\n    @functools.wraps(g)\n"
        "    def w(*a): return g(*a) + 1\n    return w\n@deco\ndef f(x): return x",
        ["f(1) == 2", "f.__wrapped__(1) == 1", "f.__name__ == 'f'"],
    ),
    "wrapper made by the standard library": (
        "import reprlib\nclass R:\n    @reprlib.recursive_repr()\n"
        "    def __repr__(self): return 'R'\nr = R()",
        ["repr(r) == 'R'"],
    ),
    "partial keeps its function": (
        "import functools\ndef f(a, b): return a + b\np = functools.partial(f, 1)",
        ["p(2) == 3", "p.func is f"],
    ),
    "bound method keeps its object": (
        "class A:\n    def m(self): return self\na = A()\nm = a.m",
        ["m() is a"],
    ),
    "isinstance across units": (
        "class A: pass\na = A()\nmany = [A(), A()]",
        ["type(a) is A", "all(type(x) is A for x in many)"],
    ),
    "subclass": (
        "class A:\n    def m(self): return 1\nclass B(A):\n"
        "    def m(self): return super().m() + 1\nb = B()",
        ["B.__bases__ == (A,)", "b.m() == 2", "isinstance(b, A)"],
    ),
    "an old instance after its class was defined anew": (
        "class A:\n    def m(self): return 'old'\na = A()\nclass A:\n"
        "    def m(self): return 'new'",
        ["a.m() == 'old'", "not isinstance(a, A)", "A().m() == 'new'"],
    ),
    "local class": (
        "def make():\n    class L:\n        x = 1\n    return L\nL = make()\no = L()",
        ["type(o) is L", "o.x == 1", "L.__qualname__ == 'make.<locals>.L'"],
    ),
    "a class attribute replaced by a local class": (
        "class A:\n    K = dict\ndef patch():\n    class K: v = 3\n    A.K = K\npatch()\n"
        "k = A.K()",
        ["type(k) is A.K", "A.K.v == 3"],
    ),
    "patched class": (
        "class A: pass\ndef m(self): return 5\nA.m = m\na = A()",
        ["a.m() == 5", "A.m is m"],
    ),
    "properties, class and static methods": (
        "class A:\n    @property\n    def p(self):\n        'doc'\n        return 1\n"
        "    @classmethod\n    def c(cls): return cls\n    @staticmethod\n"
        "    def s(): return 3\na = A()",
        ["a.p == 1", "A.c() is A", "A.s() == 3", "A.p.__doc__ == 'doc'"],
    ),
    "cached property": (
        "import functools\nclass A:\n    @functools.cached_property\n"
        "    def p(self): return [1]\na = A()\nb = A()\nb.p",
        ["a.p == [1]", "b.__dict__ == {'p': [1]}"],
    ),
    "a dict that is its own attributes": (
        "class A(dict):\n    def __init__(self, **items):\n"
        "        super().__init__(items); self.__dict__ = self\n"
        "a = A(x=[1], y=A(z=2))\na.me = a\nmany = [a.y, A(), dict(a.x and {})]",
        [
            "a.__dict__ is a",
            "a.y.__dict__ is a.y",
            "a.me is a",
            "many[0] is a.y",
            "many[1].__dict__ is many[1]",
            "a.update(w=3) or a.w == 3",
        ],
    ),
    "slots": (
        "class A:\n    __slots__ = ('x', '__y')\n    def __init__(self):\n"
        "        self.x = 1; self.__y = 2\n    def y(self): return self.__y\na = A()",
        ["a.x == 1", "a.y() == 2", "not hasattr(a, '__dict__')"],
    ),
    "abstract base class and its registry": (
        "import abc\nclass A(abc.ABC):\n    @abc.abstractmethod\n    def m(self): ...\n"
        "class B(A):\n    def m(self): return 1\nclass C: pass\nA.register(C)\nb = B()",
        ["isinstance(b, A)", "issubclass(C, A)", "A.__abstractmethods__ == {'m'}"],
    ),
    "metaclass": (
        "class M(type):\n    def hi(cls): return cls.__name__\n"
        "class A(metaclass=M): pass\na = A()",
        ["type(A) is M", "A.hi() == 'A'"],
    ),
    "registry of subclasses refers in a circle": (
        "class Base:\n    known = []\n    def __init_subclass__(cls):\n"
        "        Base.known.append(cls)\nclass One(Base): pass\nclass Two(Base): pass",
        ["Base.known == [One, Two]", "Base.known[0] is One"],
    ),
    "dataclass": (
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int\n"
        "    b: list = dataclasses.field(default_factory=list)\nd = D(1)",
        [
            "d == D(1, [])",
            "[x.name for x in dataclasses.fields(d)] == ['a', 'b']",
            "dataclasses.fields(D)[0].default is dataclasses.MISSING",
            "dataclasses.replace(d, a=2).a == 2",
        ],
    ),
    "frozen dataclass with slots": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True, slots=True)\n"
        "class D:\n    a: int = 3\nd = D(4)",
        ["d.a == 4", "type(d) is D", "hash(d) == hash(D(4))"],
    ),
    "dataclass with keyword-only fields": (
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int\n"
        "    _: dataclasses.KW_ONLY\n    b: int = 2\nd = D(1, b=3)",
        ["d == D(1, b=3)", "dataclasses.fields(D)[1].kw_only"],
    ),
    "enum": (
        "import enum\nclass E(enum.Enum):\n    A = 1\n    B = 'b'\n"
        "    def hi(self): return self.name\ne = E.A",
        ["e is E.A", "E('b') is E.B", "e.hi() == 'A'", "list(E) == [E.A, E.B]"],
    ),
    "flags and integer enums": (
        "import enum\nclass F(enum.Flag):\n    A = 1\n    B = 2\n"
        "class I(enum.IntEnum):\n    X = 4\nf = F.A | F.B\ni = [I.X]",
        ["f == F.A | F.B", "i[0] is I.X", "i[0] + 1 == 5"],
    ),
    "namedtuple": (
        "import collections\nN = collections.namedtuple('N', 'a b', defaults=[2])\n"
        "n = N(1)",
        ["n == (1, 2)", "n.a == 1", "type(n) is N"],
    ),
    "typed namedtuple with methods": (
        "import typing\nclass N(typing.NamedTuple):\n    a: int\n"
        "    def m(self): return self.a + 1\nn = N(1)",
        ["n.m() == 2", "type(n) is N", "N.__annotations__ == {'a': int}"],
    ),
    "generic class": (
        "import typing\nT = typing.TypeVar('T')\nclass G(typing.Generic[T]):\n"
        "    def m(self) -> T: return 1\ng = G[int]()\nalias = G[int]",
        ["g.m() == 1", "G.__parameters__ == (T,)", "alias.__origin__ is G"],
    ),
    "protocol and typed dict": (
        "import typing\n@typing.runtime_checkable\nclass P(typing.Protocol):\n"
        "    def m(self): ...\nclass A:\n    def m(self): ...\n"
        "class D(typing.TypedDict):\n    x: int\na = A()",
        ["isinstance(a, P)", "D.__annotations__ == {'x': int}", "D(x=1) == {'x': 1}"],
    ),
    "lru_cache": (
        "import functools\n@functools.lru_cache(maxsize=7)\ndef f(x): return x + 1\n"
        "f(1)",
        ["f(1) == 2", "f.cache_parameters()['maxsize'] == 7", "f.__wrapped__(2) == 3"],
    ),
    "local lru_cache that calls itself": (
        "import functools\ndef make():\n    @functools.lru_cache\n"
        "    def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
        "    return fib\nfib = make()",
        ["fib(30) == 832040"],
    ),
    "singledispatch": (
        "import functools\n@functools.singledispatch\ndef f(x): return 'any'\n"
        "@f.register\ndef g(x: int): return 'int'\nf(1)",
        ["f(1) == 'int'", "f('') == 'any'", "f.dispatch(int) is g"],
    ),
    "exception class": (
        "class Bad(ValueError):\n    def __init__(self, a, b):\n"
        "        super().__init__(a, b)\n        self.b = b\ne = Bad(1, 2)",
        ["type(e) is Bad", "e.args == (1, 2)", "e.b == 2"],
    ),
    "context manager and generator functions": (
        "import contextlib\n@contextlib.contextmanager\ndef cm():\n    yield 3\n"
        "def gen(n):\n    yield from range(n)",
        ["cm().__enter__() == 3", "list(gen(3)) == [0, 1, 2]"],
    ),
    "coroutine function": (
        "import asyncio\nasync def f(): return 4",
        ["asyncio.run(f()) == 4"],
    ),
    "descriptor and __set_name__": (
        "class Field:\n    def __set_name__(self, owner, name): self.name = name\n"
        "    def __get__(self, o, t): return self.name\nclass A:\n    x = Field()\na = A()",
        ["a.x == 'x'"],
    ),
    "subclasses of builtins": (
        "class L(list): pass\nclass D(dict): pass\nclass S(set): pass\n"
        "class I(int): pass\nl = L([1]); l.tag = 'x'; d = D(a=1); s = S('abc'); i = I(3)",
        [
            "type(l) is L and l == [1] and l.tag == 'x'",
            "type(d) is D and d == {'a': 1}",
            "type(s) is S and s == set('abc')",
            "type(i) is I and i == 3",
        ],
    ),
    "modules are imported by name": (
        "import json\nbox = {'m': json}\nf = json.dumps",
        ["box['m'] is json"],
    ),
    "functions with globals of their own": (
        "own = {'k': 4, '__name__': 'elsewhere'}\n"
        "exec('def f(): return g() + k\\ndef g(): return 1', own)\nf = own['f']\ndel own",
        ["f() == 5", "f.__globals__ is not globals()"],
    ),
    "a copy of the namespace stays a copy": (
        "x = [1]\ncopy = {'x': x}",
        ["copy is not globals()", "copy['x'] is x"],
    ),
    "the namespace itself": (
        "import sys\nbox = {'ns': globals(), 'main': sys.modules['__main__']}",
        ["box['ns'] is globals()", "box['main'] is sys.modules['__main__']"],
    ),
    "lists in a circle": (
        "a = [1]; b = [a]; a.append(b)",
        ["a[1] is b", "b[0] is a"],
    ),
    "an object that holds itself": ("a = []; a.append(a)", ["a[0] is a"]),
    "shared objects": (
        "class P: pass\nx = [1]\nd = {'x': x}\np, q = P(), P()\np.v = q.v = [2]",
        ["d['x'] is x", "p.v is q.v"],
    ),
    "the source of a function, its nested functions and lambdas": (
        "import inspect\n# a remark\ndef f(x):\n    # why\n    return g(lambda: x)\n"
        "def g(h): return h\nk, l = (lambda: 1), (lambda: 2)",
        [
            "inspect.getsource(f) == 'def f(x):\\n    # why\\n"
            "    return g(lambda: x)\\n'",
            "f.__code__.co_filename == g.__code__.co_filename",
            "f.__code__.co_filename.startswith('<nbresume ')",
            "f.__code__.co_firstlineno == 3",
            "(k(), l(), f(5)()) == (1, 2, 5)",
        ],
    ),
    "code without a text": (
        "exec(compile('def f(): return 3', '<elsewhere>', 'exec'))",
        ["f() == 3", "f.__code__.co_filename == '<elsewhere>'"],
    ),
    "hooks of classes are called once": (
        "seen = []\nclass M(type):\n"
        "    def __init__(cls, *rest, **more): seen.append(cls.__name__)\n"
        "class Base(metaclass=M):\n"
        "    def __init_subclass__(cls, **more): seen.append((cls, more))\n"
        "class A(Base, key=1): pass\na = A()",
        [
            "seen == ['Base', (A, {'key': 1}), 'A'] and type(a) is A",
            "M('B', (A,), {}) is seen[3][0] and seen[4] == 'B'",
        ],
    ),
    "a class that repeats an attribute of its base": (
        "class A: x = 1\nclass B(A): x = 1\nA.x = 2",
        ["B.x == 1", "A.x == 2", "'x' in vars(B)"],
    ),
    "a traceback shows the source": (
        "import traceback\ndef f():\n    return 1 / 0  # here",
        ["SHOWN(f)"],
    ),
    "the source of methods": (
        "import inspect\nclass A:\n    def m(self):\n        return 'told'\na = A()",
        ["inspect.getsource(a.m) == '    def m(self):\\n        return \\'told\\'\\n'"],
    ),
    "code in comprehensions": (
        "fs = [lambda: i for i in range(3)]\n"
        "def f(n): return [lambda x: x + j + n for j in range(2)] + [lambda x: -x]\n"
        "gs = f(1)\nclass A:\n    hs = [lambda: k for k in 'ab']\n"
        "def total(n): return sum(x for x in [y * 2 for y in range(n)])",
        [
            "[g() for g in fs] == [2, 2, 2]",
            "[g(0) for g in gs] == [2, 2, 0]",
            "[h() for h in A.hs] == ['b', 'b']",
            "total(3) == 6",
        ],
    ),
    "a future of the notebook": (
        "from __future__ import annotations\ndef f(x: unknown) -> int: return 1",
        ["f.__annotations__ == {'x': 'unknown', 'return': 'int'}", "f(0) == 1"],
    ),
    "names that are not ASCII, and private names": (
        "größe = 1\n_list = [größe]\ndef _ä(): return größe\nclass Ö: ü = _list\n"
        "__two = Ö()",
        ["_ä() == 1", "Ö.ü is _list", "_list == [1]", "type(__two) is Ö"],
    ),
    "new types and parameters of types": (
        "import typing\nId = typing.NewType('Id', int)\nP = typing.ParamSpec('P')\n"
        "Ts = typing.TypeVarTuple('Ts')\nT = typing.TypeVar('T', bound=int)\n"
        "def f(x: Id, g: typing.Callable[P, T]) -> T: return g(x)\nbox = [Id, P, Ts]",
        [
            "Id.__supertype__ is int and Id.__name__ == 'Id' and Id(3) == 3",
            "box[0] is Id and box[1] is P and box[2] is Ts",
            "f.__annotations__['x'] is Id",
            "f.__annotations__['return'] is T and T.__bound__ is int",
            "P.__module__ == '__main__' and P.__name__ == 'P'",
        ],
    ),
    "members of an enum with fields of their own": (
        "import enum\nclass E(enum.Enum):\n    A = (1, 'x')\n    B = (2, 'y')\n"
        "    def __init__(self, n, s):\n        self.n = n; self.s = [s]",
        ["E.A.n == 1 and E.B.s == ['y']", "E((1, 'x')) is E.A"],
    ),
    "dataclass of everything": (
        "import dataclasses\nimport typing\n"
        "@dataclasses.dataclass(order=True, unsafe_hash=True)\nclass B:\n    a: int\n"
        "    c: typing.ClassVar[int] = 9\n    i: dataclasses.InitVar[int] = 1\n"
        "    r: list = dataclasses.field(default_factory=list, compare=False)\n"
        "    def __post_init__(self, i): self.j = i\n"
        "@dataclasses.dataclass(order=True)\nclass C(B):\n    z: int = 4\n"
        "    def __repr__(self): return 'mine'\nb = B(1, i=7); c = C(2)",
        [
            "b.j == 7 and B(5).j == 1 and B(1) < B(2) and B(1).r == []",
            "repr(b) == 'B(a=1, r=[])' and repr(c) == 'mine'",
            "C(1) < c and c.z == 4 and hash(B(1)) == hash(B(1))",
            "B(3) != C(3) and dataclasses.asdict(c) == {'a': 2, 'r': [], 'z': 4}",
            "B.__match_args__ == ('a', 'i', 'r')",
            "dataclasses.replace(b, a=3, i=2).j == 2",
        ],
    ),
    "dataclass that is frozen, in a registry": (
        "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass F:\n"
        "    a: int\n    def change(self): self.a = 2\nknown = {F(1): F}\n"
        "@dataclasses.dataclass\nclass Base:\n    a: int = 0\n"
        "    def __init_subclass__(cls): ALL.append(cls)\nALL = []\n"
        "@dataclasses.dataclass\nclass Sub(Base):\n    b: int = 1",
        [
            "known[F(1)] is F",
            "RAISES(dataclasses.FrozenInstanceError, F(1).change)",
            "ALL == [Sub] and repr(Sub(5)) == 'Sub(a=5, b=1)'",
        ],
    ),
    "a method that dataclass wrote has a name": (
        "import dataclasses\n@dataclasses.dataclass\nclass D:\n    a: int = 1\n"
        "def patched(self): return 'p'\nclass E(D): pass\nD.__repr__ = patched",
        ["D.__repr__ is patched and repr(E()) == 'p'", "D(2) == D(2)"],
    ),
    "IPython's names and loggers go by reference": (
        "import logging\nlog = logging.getLogger('nbresume.case')\nlog.setLevel(10)\n"
        "log.addHandler(logging.NullHandler())\nbox = [log]",
        [
            "log is logging.getLogger('nbresume.case') and box[0] is log",
            "log.level == 10 and log.handlers == []",
        ],
    ),
    "global generators hide in library objects": (
        "import numpy\nimport random\nimport scipy.stats\n"
        "bits = numpy.random.mtrand._rand._bit_generator\nmix = random.shuffle\n"
        "state = numpy.random.mtrand._rand\ndist = scipy.stats.norm(1)\n"
        "dist.random_state",
        [
            "bits is numpy.random.mtrand._rand._bit_generator",
            "mix.__self__ is random._inst and state is numpy.random.mtrand._rand",
            "dist.random_state is numpy.random.mtrand._rand",
        ],
    ),
    "sentinel objects keep their identity": (
        "END = object()\nbox = [END]",
        ["box[0] is END"],
    ),
    "global random state is referred to": (
        "import random\nimport numpy\nr = random.random\nn = numpy.random.rand",
        ["r.__self__ is random._inst", "n.__self__ is numpy.random.mtrand._rand"],
    ),
    "environment and streams are referred to": (
        "import os\nimport sys\nbox = [os.environ, sys.stdout]",
        ["box[0] is os.environ", "box[1] is sys.stdout"],
    ),
    "weak containers": (
        "import weakref\nclass A: pass\na = A()\nw = weakref.WeakKeyDictionary({a: 1})",
        ["w[a] == 1"],
    ),
    "standard library values": (
        "import datetime\nimport decimal\nimport pathlib\nimport re\nimport uuid\n"
        "import collections\nimport fractions\n"
        "box = [datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc), "
        "decimal.Decimal('1.50'), pathlib.PurePath('a'), re.compile('a+', re.I), "
        "uuid.UUID(int=1), collections.deque([1], 3), collections.Counter('aab'), "
        "fractions.Fraction(1, 3), collections.OrderedDict(a=1), range(3), "
        "collections.defaultdict(list, a=[1]), slice(1, 2), bytearray(b'x')]",
        [
            "box[0].isoformat() == '2026-01-01T00:00:00+00:00'",
            "str(box[1]) == '1.50'",
            "box[3].match('AA') is not None",
            "box[5].maxlen == 3",
            "box[10]['new'] == []",
        ],
    ),
    "locks, events, queues and buffers": (
        "import asyncio\nimport io\nimport queue\nimport threading\n"
        "box = [threading.Lock(), threading.RLock(), threading.Event(), queue.Queue(), "
        "io.StringIO('x'), io.BytesIO(b'y'), asyncio.Lock()]\nbox[3].put(1)",
        [
            "box[0].acquire(timeout=0)",
            "box[1].acquire(timeout=0)",
            "not box[2].is_set()",
            "box[3].get() == 1",
            "box[4].getvalue() == 'x'",
            "box[5].getvalue() == b'y'",
        ],
    ),
}


def _load_roundtrip():
    path = Path(__file__).with_name("roundtrip.py")
    spec = importlib.util.spec_from_file_location("roundtrip", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ROUNDTRIP = _load_roundtrip()


LOST_ACROSS = {"functions with globals of their own", "code without a text"}
"""What has no text is named on another version of Python."""
OTHER_VERSION = {
    "protocol and typed dict",
    "locks, events, queues and buffers",
}
"""What the standard library makes otherwise on another version of Python: the values
work, and what was made from them is stale there."""


@pytest.fixture(scope="module", params=ROUNDTRIP.routes(), ids="-to-".join)
def route(request):
    """Return which Python writes and which one reads."""
    return request.param


@pytest.fixture(scope="module")
def wrong(route, tmp_path_factory):
    """Return what went wrong, by case; all cases of a route share two processes."""
    folder = tmp_path_factory.mktemp("definitions")
    return ROUNDTRIP.round_trip(CASES, folder, route)


@pytest.mark.parametrize("case", CASES)
def test_definition_comes_back(wrong, route, case):
    """What a notebook defines does the same after a restart, on another Python too."""
    told = wrong.get(case)
    if case in LOST_ACROSS and route[0] != route[1]:
        (text,) = told
        assert f"f is not kept on this Python (written by {route[0]})" in text
        return

    if case in OTHER_VERSION and route[0] != route[1]:
        assert all(text.startswith("another digest") for text in told or ()), told
        return

    assert told is None, told if told is None else "\n".join(told)
