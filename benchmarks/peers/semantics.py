"""Small cells whose meaning is easily lost: identity, live globals, generators.

The rule: each probe is one expression that is true in the kernel that ran the cells.
"""

from peers.workloads import Cell, Workload

PREAMBLE = """\
import numpy as np, pandas as pd
from dataclasses import dataclass

@dataclass
class Tag:
    name: str
    n: int = 0

class Sub(dict):
    def twice(self):
        return super().__len__() * 2

def live():
    return knob

def counter():
    n = 0
    def more():
        nonlocal n
        n += 1
        return n
    return more
"""
CELLS = (
    Cell("knob", "knob = 1", (), ("knob",)),
    Cell("objects", "tag = Tag('a', 3)\nsub = Sub(x=1)", (), ("tag", "sub")),
    Cell("alias", "a = [1]\nb = a", (), ("a", "b")),
    Cell("holder", "c = {'a': a}", ("a",), ("c",)),
    Cell("mutate", "a.append(2)", ("a",), ("a",)),
    Cell("view", "base = np.arange(100.0)\nview = base[10:20]", (), ("base", "view")),
    Cell("closure", "more = counter()\nmore()\nmore()", (), ("more",)),
    Cell("lambda", "double = lambda x: x * 2 + knob", (), ("double",)),
    Cell("rng", "rng = np.random.default_rng(0)\nrng.random(5)", (), ("rng",)),
    Cell(
        "frame",
        "df = pd.DataFrame({'x': np.arange(5)})\ndf['y'] = df['x'] * 2",
        (),
        ("df",),
    ),
    Cell("private", "_kept = 5", (), ("_kept",)),
    Cell("tmp", "tmp = 5", (), ("tmp",)),
    Cell("gone", "del tmp"),
    Cell(
        "effect",
        "with open('effects.log', 'a') as log:\n    log.write('sent\\n')\n"
        "del log\nreceipt = 'r-1'",
        (),
        ("receipt",),
    ),
)
_LOG = "__import__('pathlib').Path('effects.log').read_text()"
PROBES = {
    "alias of one cell": "a is b",
    "alias of two cells": "c['a'] is a and a == [1, 2]",
    "own class": "type(tag) is Tag and tag == Tag('a', 3)",
    "super() of own class": "sub.twice() == 2",
    "live globals": "(globals().__setitem__('knob', 41), live())[1] == 41",
    "lambda, live globals": "(globals().__setitem__('knob', 41), double(1))[1] == 43",
    "view shares memory": "bool(np.shares_memory(base, view))",
    "closure's state": "more() == 3",
    "random generator": "rng.random() == np.random.default_rng(0).random(6)[5]",
    "private name": "_kept == 5",
    "deleted name": "'tmp' not in globals()",
    "effect made once": f"{_LOG} == 'sent\\n'",
}


def semantics(scale: float) -> Workload:
    """Return the cells and probes; their number does not depend on the scale."""
    del scale
    values = ("knob", "tag.n", "sub['x']", "a", "df", "base", "receipt")
    return Workload(
        "semantics",
        "meaning after a restore",
        PREAMBLE,
        CELLS,
        values,
        "after = knob",
        probes=PROBES,
    )


def unkept(scale: float) -> Workload:
    """Return three names, of which the second cannot be kept by anybody."""
    del scale
    cells = (
        Cell("first", "first = 1", (), ("first",)),
        Cell("numbers", "numbers = (i for i in range(3))", (), ("numbers",)),
        Cell("last", "last = 2", (), ("last",)),
    )
    return Workload(
        "unkept",
        "one generator among names that can be kept",
        "pass",
        cells,
        ("first", "last"),
        "after = first",
    )
