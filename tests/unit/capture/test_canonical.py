# ruff: noqa: S102, S311, SIM115 - definitions of a notebook are made with exec
"""Equal values have equal digests, different ones have different ones."""

import asyncio
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import itertools
import math
import queue
import random
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import types
from pathlib import Path

import pytest
from matplotlib import figure as figures

from nbresume.capture.canonical import look


def _digest(value, namespace=None):
    seen = look(value, {} if namespace is None else namespace)
    assert seen.digest is not None, seen.why
    assert seen.why == ""
    return seen.digest


def _define(source, name="f", **more):
    namespace = {"__name__": "__main__", **more}
    exec(source, namespace)
    return namespace[name]


DIFFERENT = [
    *(8, 8.0, True, 1, 1.0, 1 + 0j, "1", b"1", None, ..., NotImplemented, 0, False),
    *(0.0, -0.0, math.inf, math.nan, 2**70, -(2**70), "", b"", "x" * 5000),
    *([], (), {}, set(), frozenset(), [1], (1,), {1}, frozenset({1}), {1: 1}),
    *([[1]], [(1,)], ([1],), [1, 2], [2, 1], [1.0, 2.0], [[], []], [[[]]]),
    *({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": {"b": 1}}, {1: "a"}, {"1": "a"}),
    *(bytearray(b"x"), range(3), range(4), slice(1), slice(2)),
    *(["a", "bc"], ["ab", "c"], ["abc"], {(1, 2)}, {(1,), (2,)}, {(1, 2), (2, 1)}),
    *(collections.OrderedDict(a=1), collections.Counter("a"), collections.deque([1])),
    *(collections.deque([1], 3), collections.defaultdict(int, a=1)),
    *(decimal.Decimal("1.5"), decimal.Decimal("1.50"), dt.date(2026, 1, 1)),
    *(dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.timedelta(1)),
    *(len, max, math, random, int, list, math.sin, [].append, "x".join, str.upper),
    *(Path("a"), Path("b"), object, Exception(1), Exception(2), ValueError(1)),
    *(random.Random(1), random.Random(2), itertools.count(3), itertools.count(4)),
    functools.partial(max, 1),
    functools.partial(max, 2),
]


def test_different_values_have_different_digests():
    """No two of these many values are taken for one another."""
    digests = [_digest(value) for value in DIFFERENT]

    assert len(set(digests)) == len(DIFFERENT)


def test_nan_equals_itself():
    """A value that was not changed is not seen as changed."""
    assert _digest([math.nan]) == _digest([float("nan")])


@pytest.mark.parametrize("make", [list, tuple])
def test_sharing_does_not_matter(make):
    """A list that stands twice equals two equal lists."""
    one = [1, {"x": (2, 3)}]

    assert _digest(make([one, one])) == _digest(make([one, [1, {"x": (2, 3)}]]))


def test_interned_texts_equal_others():
    """How a text came to be says nothing."""
    made = "".join(list("abc"))

    assert _digest([made, 1]) == _digest([sys.intern("abc"), 1])


def test_sets_do_not_depend_on_the_order_of_insertion():
    """Also when the items are containers themselves."""
    items = [(at, str(at)) for at in range(50)]

    backwards = items[::-1]

    assert _digest(set(items)) == _digest(set(backwards))
    assert _digest({1, "a", None}) == _digest({None, "a", 1})


def test_digests_do_not_depend_on_the_process(tmp_path):
    """Another interpreter with another hash seed finds the same digests."""
    script = tmp_path / "digests.py"
    script.write_text(
        "import enum, random, datetime\n"
        "from nbresume.capture.canonical import look\n"
        "def f(x, y={'a', 'b', 'c'}): return x in {'p', 'q', 'r'} or (lambda: y)\n"
        "class A:\n    s = frozenset('xyz')\n    def __init__(self): self.me = self\n"
        "    def m(self): return {'u', 'v', 'w'}\n"
        "class E(enum.Enum):\n    X = 1\n"
        "class S(set): pass\n"
        "a = A(); a.all = {A() for _ in range(3)}\n"
        "for v in [{'a', 'b', 'c'}, f, A, a, E, E.X, S('abc'), {E.X, 'x'}, "
        "datetime.datetime, [object()], {A(), A()}]:\n"
        "    print(look(v, globals()).digest)\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, script],
            env={"PYTHONHASHSEED": str(seed), "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in (1, 2, 3)
    }

    assert len(seen) == 1
    assert b"None" not in seen.pop()


def test_circles_of_the_same_shape_are_equal():
    """Objects that refer to each other are compared by what they lead to."""

    def circle(number):
        a, b = [number], ["b"]
        a.append(b)
        b.append(a)
        return a

    assert _digest(circle(1)) == _digest(circle(1))
    assert _digest(circle(1)) != _digest(circle(2))
    assert _digest(circle(1)) != _digest(circle(1)[1])


def test_an_unrolled_circle_is_equal():
    """A list that holds itself leads to the same as two that hold each other."""
    one = []
    one.append(one)
    two, three = [], []
    two.append(three)
    three.append(two)

    assert _digest(one) == _digest(two)


def test_circles_in_sets_do_not_depend_on_addresses():
    """Neighbours in a set are told apart by what they lead to."""

    class Node:
        def __init__(self, label):
            self.label, self.next = label, set()

    def ring(labels):
        nodes = [Node(label) for label in labels]
        for at, node in enumerate(nodes):
            node.next |= {nodes[at - 1], nodes[(at + 1) % len(nodes)]}
        return nodes[0]

    assert len({_digest(ring("abcde")) for _ in range(10)}) == 1
    assert _digest(ring("abcde")) != _digest(ring("abced"))


def test_long_chains_and_trees_with_parents():
    """Neither a long chain nor many links back take long or recurse."""
    chain = None
    for at in range(5000):
        chain = [at, chain]
    parent = {"kids": []}
    parent["kids"] = [{"parent": parent, "at": at} for at in range(2000)]

    assert _digest(chain)
    assert _digest(parent)


def test_shared_branches_take_linear_time():
    """A value whose expansion would be astronomically large is digested at once."""
    tree = []
    for _ in range(200):
        tree = [tree, tree]

    assert _digest(tree)


def test_what_is_nested_too_deep_is_told():
    """A structure deeper than any pickle is not compared."""
    deep = []
    for _ in range(30_000):
        deep = [deep]

    assert look(deep, {}).why == "nested too deep"


def test_objects_that_make_new_parts_for_ever_are_told():
    """A value without an end is not compared, and does not hang the kernel."""

    class Endless:
        def __reduce__(self):
            return Endless, (Endless(),)

    assert look(Endless(), {}).digest is None


def test_functions_are_compared_by_what_they_do():
    """Not by where they stand, but by code, defaults and constants."""
    base = _digest(_define("def f(x): return x + 1"))

    assert base == _digest(_define("\n\n# moved\ndef f(x):\n    return x + 1  # same"))
    others = [
        "def f(x): return x + 2",
        "def f(x): return x + 1.0",
        "def f(x): return x - 1",
        "def f(x, y=1): return x + 1",
        "def f(x=1): return x + 1",
        "def f(*x): return x + 1",
        "async def f(x): return x + 1",
        "def f(x): return x in (1, 2)",
        "def f(x): return x in (1, True)",
        "def f(x): return x in {1, 2}",
        "def f(x): return lambda: 1",
        "def f(x): return lambda: 2",
        "def f(x): return g(x)",
        "def f(x): return h(x)",
        "def f(x): return 1\nf.tag = 1",
        "def f(x): return 1",
    ]

    assert len({base, *(_digest(_define(other)) for other in others)}) == 17


def test_keyword_defaults_and_cells_count():
    """Two closures of one function differ by what they hold."""
    make = _define("def f(n):\n    def g(*, k=[n]): return n\n    return g")

    assert _digest(make(1)) == _digest(make(1))
    assert _digest(make(1)) != _digest(make(2))


def test_live_globals_are_no_part_of_a_function():
    """They are inputs of their own."""
    namespace = {"__name__": "__main__", "z": 1}
    exec("def f(): return z", namespace)
    before = _digest(namespace["f"], namespace)
    namespace["z"] = 2

    assert _digest(namespace["f"], namespace) == before


def test_globals_of_its_own_are_a_part_of_a_function():
    """Nobody else looks at the dict of a function that was made with exec."""
    one = _define("def f(): return z", __name__="none", z=1)
    two = _define("def f(): return z", __name__="none", z=2)

    assert _digest(one) != _digest(two)


def test_wrapped_functions_are_compared_by_what_they_wrap():
    """A cached function that was edited is another value (it pickles as a name)."""
    source = "import functools\n@functools.lru_cache\ndef f(x): return x + {}"

    assert _digest(_define(source.format(1))) == _digest(_define(source.format(1)))
    assert _digest(_define(source.format(1))) != _digest(_define(source.format(2)))


def test_a_wraps_decorator_counts_with_what_it_wraps():
    """The wrapper's code is the same, the wrapped one is not."""
    source = (
        "import functools\ndef deco(g):\n    @functools.wraps(g)\n"
        "    def w(*a): return g(*a)\n    return w\n@deco\ndef f(x): return x + {}"
    )

    assert _digest(_define(source.format(1))) != _digest(_define(source.format(2)))


def test_calling_a_dispatcher_changes_nothing():
    """functools.singledispatch caches what it was called with."""
    f = _define(
        "import functools\n@functools.singledispatch\ndef f(x): pass\n"
        "@f.register\ndef g(x: int): pass"
    )
    before = _digest(f)
    f(1)

    assert _digest(f) == before


def test_classes_are_compared_by_body_and_bases():
    """A changed method, attribute or base makes another class."""
    sources = [
        "class f: pass",
        "class f(dict): pass",
        "class f:\n    x = 1",
        "class f:\n    x = 2",
        "class f:\n    def m(self): return 1",
        "class f:\n    def m(self): return 2",
        "class f:\n    @property\n    def m(self): return 2",
        "class f:\n    @staticmethod\n    def m(self): return 2",
        "class f:\n    @classmethod\n    def m(self): return 2",
        "class f:\n    x: int",
        "class f:\n    x: str",
        "class f:\n    __slots__ = ('x',)",
    ]

    digests = [_digest(_define(source)) for source in sources]
    again = [_digest(_define(source)) for source in sources]

    assert digests == again
    assert len(set(digests)) == len(sources)


def test_pickling_leaves_the_digest_of_a_class_alone():
    """Python notes the names of slots on the class at the first pickle."""
    kind = _define("class f:\n    def __init__(self): self.x = 1")
    before = _digest(kind)
    kind().__reduce_ex__(4)

    assert _digest(kind) == before


def test_enums_are_compared_by_members():
    """Names, values and methods count."""
    source = "import enum\nclass f(enum.Enum):\n    A = {}\n    def m(self): return {}"
    one = _define(source.format(1, 1))

    assert _digest(one) == _digest(_define(source.format(1, 1)))
    assert _digest(one) != _digest(_define(source.format(2, 1)))
    assert _digest(one) != _digest(_define(source.format(1, 2)))
    assert _digest(one.A) == _digest(_define(source.format(1, 1)).A)


def test_dataclasses_are_compared_by_fields():
    """Also those whose defaults print an address."""
    source = (
        "import dataclasses\n@dataclasses.dataclass\nclass f:\n"
        "    a: int = {}\n    b: object = dataclasses.field(default_factory=object)"
    )

    assert _digest(_define(source.format(1))) == _digest(_define(source.format(1)))
    assert _digest(_define(source.format(1))) != _digest(_define(source.format(2)))


def test_instances_are_compared_by_class_and_state():
    """Attributes, slots, items and arguments count."""
    kind = _define(
        "class f(dict):\n    __slots__ = ('a', '__dict__')\n"
        "    def __init__(self, a, b, **c): self.a, self.b = a, b; self.update(c)"
    )
    values = [kind(1, 2), kind(2, 1), kind(1, 2, x=1), kind(1, 2, x=2)]

    assert len({_digest(value) for value in values}) == 4
    assert _digest(kind(1, 2)) == _digest(kind(1, 2))


def test_cached_properties_are_ignored():
    """Reading fills them, and reading is no change."""

    class A:
        @functools.cached_property
        def p(self):
            return 5

    a = A()
    before = _digest(a)
    assert a.p == 5

    assert _digest(a) == before
    a.q = 1
    assert _digest(a) != before


def test_temporary_parts_do_not_mix_up_identities():
    """Parts made for the walk get new addresses, or two values would be mistaken."""

    class A:
        def __init__(self, n):
            self.n = n

        def __getstate__(self):
            return [self.n, [self.n]]

    one = [A(at) for at in range(500)]
    two = [*(A(at) for at in range(499)), A(77)]

    assert _digest(one) == _digest([A(at) for at in range(500)])
    assert _digest(one) != _digest(two)


def test_the_namespace_is_not_walked():
    """A value that holds globals() does not hold all the notebook's values."""
    namespace = {"x": 1}
    before = _digest([namespace], namespace)
    namespace["x"] = 2

    assert _digest([namespace], namespace) == before
    assert id(namespace) not in look([namespace], namespace).reach


def _generator():
    yield


@pytest.mark.parametrize(
    "make",
    [
        _generator,
        lambda: Path(__file__).open(),
        lambda: threading.Thread(target=print),
        socket.socket,
        lambda: sqlite3.connect(":memory:"),
        tempfile.TemporaryDirectory,
        lambda: types.ModuleType("made"),
        sys._getframe,
        lambda: memoryview(b"x"),
    ],
)
def test_what_cannot_be_compared_is_told(make):
    """Handles and running code are never guessed at."""
    value = make()
    seen = look([value], {})
    for close in ("close", "cleanup"):
        getattr(value, close, lambda: None)()

    assert seen.digest is None
    assert seen.why


def test_coroutines_cannot_be_compared():
    """Running code has no value."""

    async def f():
        await asyncio.sleep(0)

    coroutine = f()
    seen = look(coroutine, {})
    coroutine.close()

    assert "coroutine" in seen.why


def test_locks_that_nobody_holds_are_equal():
    """A queue or an event can be compared; a held lock cannot."""
    held = threading.Lock()
    held.acquire()

    assert _digest(threading.Lock()) == _digest(threading.Lock())
    assert _digest(queue.Queue()) == _digest(queue.Queue())
    assert look(held, {}).digest is None


def test_errors_of_a_value_are_told_not_raised():
    """Code of a value that fails makes it undecidable."""

    class Rude:
        def __reduce__(self):
            raise RuntimeError

    seen = look({"a": Rude()}, {})

    assert seen.digest is None
    assert "Rude" in seen.why


def test_what_pickles_as_a_name_in_main_is_undecidable():
    """The name says nothing about what it stands for."""

    class Named:
        def __reduce__(self):
            return "named"

    Named.__module__ = "__main__"

    assert look(Named(), {}).digest is None


def test_global_random_state_has_no_state_here():
    """It is referred to, so drawing from it changes no value."""
    before = _digest(random.random)
    random.random()

    assert _digest(random.random) == before


def test_reach_holds_what_has_an_identity():
    """Containers, instances, functions, classes, long texts; no numbers or dates."""

    class A:
        pass

    inner, long, a = [1], "x" * 5000, A()
    value = {"k": inner, "t": (long, a), "d": dt.date(2026, 1, 1), "e": _E.X}
    seen = look(value, {}).reach

    for part in (value, inner, long, a, A):
        assert seen[id(part)] is part
    assert id(value["t"]) not in seen
    assert id(value["d"]) not in seen
    assert id(_E.X) not in seen


class _E(enum.Enum):
    X = 1


@dataclasses.dataclass
class _D:
    x: int


def test_reach_holds_cells_and_big_tuples():
    """What two functions share, and what is too big to store twice."""

    def make():
        n = [0]

        def f():
            return n

        return f

    f, big = make(), tuple(range(5000))
    seen = look([f, big, _D(1)], {}).reach

    assert id(f.__closure__[0]) in seen
    assert id(f()) in seen
    assert id(big) in seen
    assert id(print) not in seen


def test_looking_at_a_figure_changes_nothing():
    """Its registry of callbacks counts on each time its state is asked for."""
    figure = figures.Figure()
    figure.subplots().plot([1, 2, 3])
    before = _digest(figure)

    assert _digest(figure) == before
