"""A restore at every step gives the values of that step, and which object is which."""

import importlib.util
from pathlib import Path

import pytest
from unit.run.fakes import Lab

IMPORTS = "import numpy as np\nimport pandas as pd"
MAKE = """
def make():
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    def now():
        return n
    return up, now
"""
CASES = {
    "alias, dict, view, change in place": (
        ("a = np.arange(100.)", "a.sum() == 4950"),
        ("b = a", "b is a"),
        ("d = {'x': a}", "d['x'] is a and b is a"),
        ("v = a[10:20]", "np.shares_memory(v, a) and v[0] == 10"),
        ("a[12] = -1", "v[2] == -1 and b is a and d['x'] is a"),
        ("v[0] = 7", "a[10] == 7 and d['x'][10] == 7"),
        ("a = a.copy()", "a is not b and d['x'] is b and a[10] == 7 == v[0]"),
        ("b[10] = 8", "a[10] == 7 and v[0] == 8 and d['x'][10] == 8"),
        ("del b", "np.shares_memory(v, d['x']) and 'b' not in globals()"),
    ),
    "class and instances": (
        ("class P:\n    n = 0\n    def me(self):\n        return self", "P.n == 0"),
        ("p = P()", "type(p) is P"),
        ("q = [p, P()]", "q[0] is p and type(q[1]) is P"),
        ("class Q(P):\n    pass\nr = Q()", "isinstance(r, P) and Q.__mro__[1] is P"),
        ("P.n = 5", "p.n == 5 and r.n == 5 and q[1].n == 5"),
        ("old = P\nclass P:\n    n = 9", "P.n == 9 and type(p) is old is not P"),
        ("p.q = q", "p.q is q and q[0].q is q and p.me() is p"),
        ("s = P()", "type(s) is P and type(p) is old and Q.__mro__[1] is old"),
    ),
    "many instances": (
        (
            "class P:\n    def __init__(self, n):\n        self.n, self.t = n, [n]",
            "P(1).t == [1]",
        ),
        (
            "many = [P(i) for i in range(60)] + [{'k': [i]} for i in range(40)]",
            "type(many[7]) is P and many[7].t == [7] and many[99]['k'] == [39]",
        ),
        ("many[5].t = many[6].t", "many[5].t is many[6].t and many[6].t == [6]"),
        ("one = many[3]", "one is many[3] and type(one) is P"),
        ("pair = [many[0].t, 5]", "pair[0] is many[0].t and pair[0] == [0]"),
        (
            (
                "class S:\n    __slots__ = ('a', 'b')\n"
                "row = [S() for _ in range(64)]\n"
                "for i, s in enumerate(row):\n    s.a, s.b = i, (i, [i])"
            ),
            "type(row[9]) is S and row[9].b == (9, [9]) and s is row[63]",
        ),
        ("del s, i", "row[63].b == (63, [63]) and 's' not in globals()"),
        ("P.twice = lambda self: self.n * 2", "many[8].twice() == 16"),
        ("old = P\nclass P:\n    n = 9", "type(many[0]) is old is not P"),
        ("held = vars(many[9])", "many[9].__dict__ is held and held['n'] == 9"),
        ("many.append(many)", "many[-1] is many and type(many[0]) is old"),
        ("del one, held, old, pair, many[-1]", "many[3].n == 3 and len(many) == 100"),
        (
            (
                "from argparse import Namespace\n"
                "spaces = [Namespace(n=i) for i in range(50)]"
            ),
            "type(spaces[3]) is Namespace and spaces[3].n == 3",
        ),
    ),
    "vars of an object": (
        ("class A:\n    pass\na = A()\na.n = [1]", "a.n == [1]"),
        ("d = vars(a)", "d is a.__dict__"),
        ("d['m'] = 2", "a.m == 2 and vars(a) is d"),
        ("a.k = 3", "d['k'] == 3 and d['n'] is a.n"),
        ("both = [a, d]", "both[1] is vars(both[0]) is d"),
        ("del d", "both[1] is vars(a)"),
        ("a = 0", "both[0].__dict__ is both[1]"),
    ),
    "objects with one __dict__": (
        (
            (
                "class B:\n    kept = {}\n    def __init__(self):\n"
                "        self.__dict__ = B.kept"
            ),
            "B.kept == {}",
        ),
        ("b = B()", "vars(b) is B.kept"),
        ("c = B()\nc.n = 1", "b.n == 1 and vars(c) is vars(b) is B.kept"),
        ("b.m = [c]", "c.m[0] is c and b.m is c.m"),
        ("del b", "vars(c) is B.kept"),
    ),
    "parsed arguments": (
        ("import argparse\nargs = argparse.Namespace(n=3)", "args.n == 3"),
        ("config = vars(args)", "config is vars(args)"),
        ("config['n'] = 4", "args.n == 4"),
        ("args.m = 5", "config == {'n': 4, 'm': 5}"),
    ),
    "what reading caches": (
        (
            (
                "import functools\nclass C:\n    @functools.cached_property\n"
                "    def big(self):\n        return [0]\nc = C()"
            ),
            "'big' not in vars(c)",
        ),
        ("n = len(c.big)", "n == 1"),
        ("kept = c.big", "kept is c.big"),
        ("kept.append(1)", "c.big == [0, 1] and kept is c.big"),
        ("e = [c.big]", "e[0] is kept is c.big"),
        ("del kept", "e[0] is c.big and c.big == [0, 1]"),
    ),
    "tied arrays": (
        ("class L:\n    pass", "True"),
        ("one, two = L(), L()\none.w = np.ones(5000)", "one.w.sum() == 5000"),
        ("two.w = one.w", "two.w is one.w"),
        ("params = [one.w]", "params[0] is one.w is two.w"),
        ("params[0] *= 3", "one.w[0] == 3 and two.w is one.w is params[0]"),
        ("one.w = one.w + 1", "one.w is not two.w and two.w is params[0]"),
    ),
    "cycles between names": (
        ("a = []", "a == []"),
        ("b = [a]", "b[0] is a"),
        ("a.append(b)", "a[0] is b and b[0] is a"),
        ("c = {'a': a, 'b': b}", "c['a'][0] is c['b'] and c['a'] is a"),
        ("a.append(c)", "a[1] is c and a[1]['b'][0] is a"),
        ("a.clear()", "a == [] and b[0] is a and c['a'] is a"),
    ),
    "a node that points to itself": (
        (
            "class N:\n    def __init__(self):\n        self.me, self.all = self, []",
            "1",
        ),
        ("n = N()", "n.me is n"),
        ("m = N()\nm.all.append(n)\nn.all.append(m)", "n.all[0].all[0] is n"),
        ("n.all.append(n.all)", "n.all[1] is n.all and m.all[0] is n"),
        ("keep = m.all", "keep is m.all and keep[0] is n"),
    ),
    "shared deep in two names": (
        ("x = {'k': [0, {'deep': [1, 2]}]}", "x['k'][1]['deep'] == [1, 2]"),
        ("y = (9, [x['k'][1]['deep']])", "y[1][0] is x['k'][1]['deep']"),
        ("x['k'][1]['deep'].append(3)", "y[1][0] == [1, 2, 3]"),
        ("z = y[1]", "z is y[1] and z[0] is x['k'][1]['deep']"),
        ("y[1][0].append(4)", "x['k'][1]['deep'] == [1, 2, 3, 4] and z is y[1]"),
        ("del x", "z[0] == [1, 2, 3, 4] and y[1][0] is z[0]"),
    ),
    "views of views": (
        ("a = np.arange(60.).reshape(6, 10)", "a.shape == (6, 10)"),
        ("v = a[1:5]", "np.shares_memory(v, a)"),
        ("w = v[:, 2:8]", "np.shares_memory(w, a) and w[0, 0] == 12"),
        ("t = w.T[::-1]", "np.shares_memory(t, a) and t.shape == (6, 4)"),
        ("t[0, 0] = -5", "a[1, 7] == -5 and w[0, 5] == -5 and v[0, 7] == -5"),
        ("row = a[3]\nflat = a.ravel()", "np.shares_memory(row, flat)"),
        ("flat[33] = 77", "row[3] == 77 and a[3, 3] == 77 and w[2, 1] == 77"),
        ("a = None", "np.shares_memory(row, flat) and np.shares_memory(t, v)"),
        ("row[4] = 1", "flat[34] == 1 and w[2, 2] == 1 and t[3, 2] == 1"),
    ),
    "broadcast, reversed, a whole slice": (
        ("a = np.arange(6.)", "a[5] == 5"),
        ("z = a[:]", "np.shares_memory(z, a) and z is not a"),
        ("r = a[::-1]", "np.shares_memory(r, a) and r[0] == 5"),
        ("p = np.broadcast_to(a, (3, 6))", "np.shares_memory(p, a)"),
        ("z[0] = 9", "a[0] == 9 and r[5] == 9 and p[2, 0] == 9"),
    ),
    "frames that share a buffer": (
        ("f = pd.DataFrame({'a': np.arange(4000.), 'b': 1.})", "f.shape == (4000, 2)"),
        ("g = f", "g is f"),
        ("h = {'f': f, 'list': [f]}", "h['f'] is f and h['list'][0] is f"),
        ("f.loc[0, 'a'] = 8", "g.a[0] == 8 and h['f'] is f and g is f"),
        ("f['c'] = 2", "list(g.columns) == ['a', 'b', 'c'] and h['list'][0] is g"),
        ("f = f.copy()", "f is not g and h['f'] is g"),
        ("f.loc[1, 'b'] = 5", "g.b[1] == 1 and f.b[1] == 5"),
    ),
    "closures over one cell": (
        (MAKE, "True"),
        ("up, now = make()", "now() == 0"),
        ("first = up()", "now() == 1 and first == 1"),
        ("pair = [up, now]", "pair[0] is up"),
        ("pair[0]()", "now() == 2 and pair[1]() == 2"),
    ),
    "registries and methods": (
        ("registry = {}", "registry == {}"),
        (
            "def register(f):\n    registry[f.__name__] = f\n    return f",
            "register.__globals__ is globals()",
        ),
        ("@register\ndef one():\n    return len(registry)", "registry['one'] is one"),
        ("other = {'one': one}", "other['one'] is one and one() == 1"),
        ("registry['two'] = one", "one() == 2 and registry['two'] is one"),
        ("def one():\n    return -1", "registry['two'] is other['one'] is not one"),
    ),
    "names swapped and rebound": (
        ("a, b = [1], [2]", "a == [1] and b == [2]"),
        ("c = (a, b)", "c[0] is a and c[1] is b"),
        ("a, b = b, a", "c[0] is b and c[1] is a"),
        ("a += [3]", "c[1] == [2, 3] and c[1] is a"),
        ("a = a + [4]", "a == [2, 3, 4] and c[1] == [2, 3]"),
    ),
    "generators of numbers": (
        ("rng = np.random.default_rng(3)", "True"),
        ("same = rng\nx = rng.random()", "same is rng"),
        ("y = same.random()", "y != x and same is rng"),
        ("box = [rng]\nz = box[0].random()", "box[0] is rng"),
    ),
    "sets, frozensets and keys": (
        (
            "class K:\n    def __repr__(self):\n        return 'K'\nk = K()",
            "isinstance(k, K)",
        ),
        ("s = {k}\nd = {k: 1}", "next(iter(s)) is k and next(iter(d)) is k"),
        ("k.note = s", "next(iter(d)).note is s"),
        ("s.add('x')", "k.note is s and len(s) == 2 and k in s and d[k] == 1"),
    ),
}
"""Name → cells of one step each, and what is true after it and after each restore."""


def _load_graphs():
    path = Path(__file__).with_name("graphs.py")
    spec = importlib.util.spec_from_file_location("graphs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GRAPHS = _load_graphs()


def _is_true(check, namespace):
    try:
        return bool(eval(check, namespace))  # noqa: S307 - a case
    except Exception:  # noqa: BLE001 - a value that is not whole may raise anything
        return False


def restores(lab, count):
    """Return a kernel that came up after this many of the lab's steps."""
    kernel = lab.kernel()
    for cell in list(lab.notebook.sources)[: count + 1]:
        outcome = kernel.run(cell)
        assert outcome.how in ("plain", "replayed"), (cell, outcome)
    return kernel


def problems_of(cells, *, how="replay"):
    """Return at which steps a restore has other values or other objects.

    Each restore has the store as it was right after that step.
    """
    sources = {"p": IMPORTS}
    sources |= {f"s{n}": f"%%step s{n}\n{text}" for n, (text, _) in enumerate(cells)}
    lab = Lab(**sources)
    first, problems, kept = lab.kernel(), [], []
    first.run("p")
    for number, (_, check) in enumerate(cells):
        outcome = first.run(f"s{number}")
        assert outcome.how == "ran", (number, outcome)
        assert "without" not in outcome.text, outcome.text
        assert _is_true(check, first.namespace), f"the case itself: {check}"
        kept.append((dict(lab.backend.files), _portrait(first)))
    first.kill()
    for number, (files, wanted) in enumerate(kept):
        lab.backend.files = dict(files)
        if how == "replay":
            kernel = restores(lab, number + 1)
        else:
            kernel = lab.kernel()
            kernel.resume()
            exec(IMPORTS, kernel.namespace)  # noqa: S102 - for the check
        load_all(kernel)
        if not _is_true(cells[number][1], kernel.namespace):
            problems.append(f"after step {number}: {cells[number][1]}")
        if _portrait(kernel) != wanted:
            problems.append(f"after step {number}: another graph")
        kernel.kill()
    return problems


def load_all(kernel):
    """Have every name loaded that waits until somebody needs it."""
    for name in list(getattr(kernel.parts.live, "pending", ())):
        kernel.parts.live.load(name)


def _portrait(kernel):
    names = {n: v for n, v in kernel.namespace.items() if not n.startswith("__")}
    try:
        return GRAPHS.portrait(names)
    except Exception as error:  # noqa: BLE001 - a value that is not whole may raise
        return repr(error)


@pytest.mark.parametrize("how", ["replay", "resume"])
@pytest.mark.parametrize("case", CASES)
def test_every_step_comes_back(case, how):
    """By Run All after a restart, and by resume, with the store of that moment."""
    assert problems_of(CASES[case], how=how) == []


@pytest.mark.parametrize("case", CASES)
def test_steps_come_back_in_any_order(case):
    """In one kernel, with the finished store: down all steps, then up again."""
    cells = CASES[case]
    sources = {"p": IMPORTS}
    sources |= {f"s{n}": f"%%step s{n}\n{text}" for n, (text, _) in enumerate(cells)}
    lab = Lab(**sources)
    lab.kernel().go()
    kernel = lab.kernel()
    down = ["p", *(f"s{number}" for number in range(len(cells)))]

    for cell in [*down, *down]:
        assert kernel.run(cell).how in ("plain", "replayed"), kernel.last
        if cell != "p":
            check = cells[int(cell[1:])][1]
            load_all(kernel)
            assert _is_true(check, kernel.namespace), (cell, check)
