# ruff: noqa: S102, S301 - cells of a notebook; pickles of its own other half
"""Random notebooks, and a process that rebuilds what they left (no test itself).

A `Notebook` runs one-line cells that make and change values, and captures after each;
`Elsewhere` is another interpreter that binds the captured names anew. Both describe
their names with `portrait`: values, and which object is which. ``python graphs.py`` is
that other interpreter.
"""

import itertools
import os
import pickle
import subprocess
import sys
import types

from nbresume.capture.atoms import importable, is_atom
from nbresume.capture.canonical import look
from nbresume.capture.entries import Entry, Made
from nbresume.capture.live import Live
from nbresume.capture.pickling import dump, dump_atoms
from nbresume.capture.rebuild import rebuild, rebuild_atoms
from nbresume.capture.sharing import view_owners
from nbresume.capture.snapshot import Snapshot
from nbresume.capture.units import circles
from nbresume.model.digests import payload_digest
from nbresume.model.manifest import Binding, Source, Unit

SETUP = """
import numpy as np
import pandas as pd
class Plain:
    shared = []
    def __init__(self, x=None): self.x = x
    def get(self): return self.x
class Slots:
    __slots__ = ('x', 'y')
    def __init__(self, x=None): self.x = x
def closure(value, default):
    def read(x=default): return value, x
    def write(new):
        nonlocal value
        value = new
    return read, write
"""
# Tuples and bound methods stay out of circles: they may come back twice, and then the
# circle is entered elsewhere and has another digest.
MAKE = (
    "{n} = [{a}, {i}, {b}]",
    "{n} = {{'k': {a}, {i}: [{b}]}}",
    "{n} = ({i}, [{i}], 'x')",
    "{n} = {{{i}, 'x', (1, {i})}}",
    "{n} = Plain({a})",
    "{n} = Slots({a})",
    "{n}, {m} = closure({a}, {b})",
    "{n} = lambda v={a}: (v, {i})",
    "class {n}(Plain): own = {a}",
    "{n} = np.arange({i}. + 3)",
    "{n} = np.arange({i}. + 9)[2:]; {m} = {n}.base[:4]",
    "{n} = pd.DataFrame({{'a': [1., {i}.], 'b': ['x', 'y']}})",
    "{n} = {a}",
    "{n} = {i}",
    "{n} = Plain([{a}]); {n}.me = {n}",
    "{n} = Plain({i}).get",
)
CHANGE = {
    list: ("{a}.append({b})", "{a}.append({a})", "del {a}[:1]", "{a}.insert(0, [{i}])"),
    dict: ("{a}[{i}] = {b}", "{a}.pop('k', 0)", "{a}['k'] = [{b}]"),
    set: ("{a}.add({i})", "{a}.discard({i})"),
    tuple: ("{a}[1].append({i})",),
    type: ("{a}.own = {b}", "{a}.shared = [{b}]", "{n} = {a}({b})"),
    types.FunctionType: ("{a}.note = {b}", "{a}.__defaults__ = ({b},)"),
    "writer": ("{a}({b})",),
    "instance": (
        *("{a}.x = {b}", "{a}.x = [{a}]", "{n} = {a}.x"),
        "{n} = vars({a}) if hasattr({a}, '__dict__') else [{i}]",
    ),
    "ndarray": (
        *("{a}[:1] = {i}", "{n} = {a}[1:]", "{n} = {a}[::-1]", "{n} = {a}[:]"),
        *("{a} += 1", "{n} = {a}.reshape(1, -1).T", "{n} = {a}[::2]"),
    ),
    "DataFrame": ("{a}['c'] = {i}", "{a}.loc[0, 'a'] = {i}.", "{n} = {a}.copy()"),
}
NAMES = [f"n{at}" for at in range(6)]
IGNORED = {"np", "pd", "__builtins__", "__name__"}


def _kind(value):
    kind = type(value)
    if kind is types.FunctionType:
        return "writer" if value.__name__ == "write" else kind
    if kind.__name__ in ("Plain", "Slots") or "own" in vars(kind):
        return "instance"
    return kind if kind in CHANGE else kind.__name__


class Notebook:
    """One notebook: its namespace, and everything that it stored."""

    def __init__(self):
        self.namespace = {"__name__": "__main__"}
        nonces = itertools.count()
        self.live = Live(self.namespace, new_nonce=lambda: f"{next(nonces)}")
        self.snapshot = Snapshot(self.live, is_stored=lambda digest: digest in self.old)
        self.old = {}
        """Digest → bytes, of all that was ever stored."""
        self.cells = []

    def cell(self, choice):
        """Return the text of a cell: four numbers say which one."""
        what, which, other, number = choice
        made = [name for name in NAMES if name in self.namespace]
        fresh = {"n": NAMES[number % 6], "m": NAMES[(number + 1) % 6], "i": number % 5}
        if not made:
            return MAKE[what % len(MAKE)].format(a="[0]", b="[1]", **fresh)
        a, b = made[which % len(made)], made[other % len(made)]
        if what % 13 == 12:
            return f"del {a}"
        changes = CHANGE.get(_kind(self.namespace[a]), ())
        if what % 2 and changes:
            return changes[what // 2 % len(changes)].format(a=a, b=b, **fresh)
        return MAKE[what // 2 % len(MAKE)].format(a=a, b=b, **fresh)

    def run(self, text):
        """Run a cell as a step, and return what its commit holds."""
        self.cells.append(text)
        live = self.live
        live.mark()
        exec(compile(text, "<cell>", "exec"), self.namespace)
        moved = live.moved()
        users = live.names.users
        written = live.changed(users) | moved.bound
        for name in written:
            live.mark_attempt(name, "s")
        captured = self.snapshot.take(written)
        assert not captured.not_kept, (self.cells, captured.not_kept)
        parts = {d: bytes(part.data) for d, part in captured.parts.items()}
        self.old |= parts
        for name, output in captured.outputs.items():
            entry = live.entry(name)
            settled = Entry(entry.value, Made.COMMITTED, step="s", seen=entry.seen)
            settled.version, settled.calls = output.version, frozenset(output.calls)
            live.set(name, settled)
        return parts, (captured.bindings, captured.units, captured.atoms), set(users)


class Whole(Notebook):
    """A notebook that stores all of its names after each cell, and no versions."""

    def run(self, text):
        """Run a cell, and return what a commit of everything holds."""
        self.cells.append(text)
        exec(compile(text, "<cell>", "exec"), self.namespace)
        users = {n: v for n, v in self.namespace.items() if n not in IGNORED}
        atoms = {n: v for n, v in users.items() if is_atom(v)}
        compound = {
            n: v for n, v in users.items() if n not in atoms and not importable(v)
        }
        ids, objects = self._units(compound)
        parts, units = self._dump(ids, objects)
        stream = dump_atoms(atoms)
        parts[payload_digest(stream)] = stream
        bindings = {
            name: Binding(
                source=Source.ATOM if name in atoms else Source.UNIT,
                target=ids.get(id(value), ""),
                version="",
                type="",
            )
            for name, value in users.items()
            if name in atoms or name in compound
        }
        return parts, (bindings, units, payload_digest(stream)), set(users)

    def _units(self, compound):
        found = {id(value): value for value in compound.values()}
        seen = {}
        for key, value in list(found.items()):
            found_in = look(value, self.namespace)
            reach, owners = found_in.reach, view_owners(found_in.own)
            found |= {i: o for i, o in owners.items() if i not in found}
            for inner, part in reach.items():
                if seen.setdefault(inner, key) != key and not importable(part):
                    found.setdefault(inner, part)
        ids = {key: f"o{at}" for at, key in enumerate(found)}
        return ids, {ids[key]: value for key, value in found.items()}

    def _dump(self, ids, objects):
        def dumped(*group):
            values = [objects[one] for one in group]
            return dump(values, units=ids, namespace=self.namespace)

        made = {one: dumped(one) for one in objects}
        members = {}
        for group in circles({one: sorted(d.refs) for one, d in made.items()}):
            made |= dict.fromkeys(group, dumped(*group))
            members |= dict.fromkeys(group, group)
        parts, units = {}, {}
        for one, result in made.items():
            pieces = [result.stream, *(bytes(b.data) for b in result.buffers)]
            digests = [payload_digest(piece) for piece in pieces]
            parts |= dict(zip(digests, pieces, strict=True))
            units[one] = Unit(
                stream=digests[0],
                buffers=digests[1:],
                refs=sorted(result.refs),
                members=members.get(one, []),
                deep="",
            )
        return parts, units


class Rebuilt:
    """A namespace that is bound from what commits hold, as a new kernel does it."""

    def __init__(self):
        self.parts = {}
        self.manifests = {}
        """Name → (bindings, units, atoms) of the commit that its value is from."""

    def take(self, step):
        """Learn what one commit holds."""
        parts, manifest, names = step
        self.parts |= parts
        self.manifests |= dict.fromkeys(manifest[0], manifest)
        for gone in self.manifests.keys() - names:
            del self.manifests[gone]

    def namespace(self):
        """Return all names, bound anew."""
        self._bound = {"__name__": "__main__"}
        exec("import numpy as np\nimport pandas as pd", self._bound)
        self._got = {}
        for name, manifest in self.manifests.items():
            bindings, units, atoms = manifest
            binding = bindings[name]
            if binding.source is Source.UNIT:
                self._bound[name] = self._object(binding.target, units)
            elif binding.source is Source.ATOM:
                self._bound[name] = rebuild_atoms(self.parts[atoms])[name]
        return self._bound

    def _object(self, object_id, units):
        unit = units[object_id]
        key = (object_id, unit.deep)
        if key not in self._got:
            value = rebuild(
                self.parts[unit.stream],
                [memoryview(bytearray(self.parts[digest])) for digest in unit.buffers],
                resolve=lambda ref: self._object(ref, units),
                namespace=self._bound,
            )
            members = unit.members or [object_id]
            values = value if unit.members else [value]
            for member, one in zip(members, values, strict=True):
                self._got[member, units[member].deep] = one
        return self._got[key]


def portrait(namespace):
    """Return the digest of each name, and which of the objects are one and the same.

    Objects are numbered as they are met on the way through the sorted names, so two
    portraits are equal exactly if the graphs are isomorphic.
    """
    drawn = _Portrait()
    rows = {}
    for name in sorted(namespace.keys() - IGNORED):
        rows[name] = drawn.number(namespace[name])
    digests = {name: look(namespace[name], namespace).digest for name in rows}
    return digests, rows, drawn.edges()


def _is_text(name):
    return isinstance(name, str)


class _Portrait:
    def __init__(self):
        self._numbers, self._objects, self._arrays = {}, [], []

    def number(self, value):
        """Return the number of an object; an immutable value stands for itself.

        A small tuple and a bound method do too: nobody relies on their identity.
        """
        if value is None or isinstance(value, int | float | str):
            return repr(value)
        if isinstance(value, tuple):
            return tuple(self.number(item) for item in value)
        if isinstance(value, types.MethodType):
            return self.number(value.__self__), self.number(value.__func__)
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self._objects)
            self._objects.append(value)
        return self._numbers[id(value)]

    def edges(self):
        """Return what each object refers to."""
        rows, at = [], 0
        while at < len(self._objects):
            rows.append([type(self._objects[at]).__name__, *self._row(at)])
            at += 1
        return rows

    def _row(self, at):
        value = self._objects[at]
        if isinstance(value, list):
            return [self.number(item) for item in value]
        if isinstance(value, dict):
            return [(repr(key), self.number(item)) for key, item in value.items()]
        if type(value).__name__ == "ndarray":
            return self._memory(value)
        if isinstance(value, types.FunctionType):
            cells = [cell.cell_contents for cell in value.__closure__ or ()]
            parts = [value.__defaults__, value.__dict__, value.__closure__, *cells]
            return [self.number(part) for part in parts if part is not None]
        if isinstance(value, type):
            own = {n: v for n, v in vars(value).items() if not n.startswith("__")}
            bases = [
                self.number(base) for base in value.__bases__ if base is not object
            ]
            return [(n, self.number(own[n])) for n in sorted(own)] + bases
        return self._instance(value)

    def _instance(self, value):
        if type(value).__name__ not in ("Plain", "Slots") and "own" not in vars(
            type(value)
        ):
            return []
        names = sorted({*filter(_is_text, getattr(value, "__dict__", {})), "x"})
        kept = [(n, self.number(getattr(value, n))) for n in names if hasattr(value, n)]
        attributes = getattr(value, "__dict__", None)
        return [self.number(type(value)), self.number(attributes), *kept]

    def _memory(self, array):
        """Return which earlier array shares memory, and where this one begins in it."""
        import numpy as np

        here = array.__array_interface__["data"][0]
        for at, other in enumerate(self._arrays):
            if np.may_share_memory(array, other):
                return [at, here - other.__array_interface__["data"][0], array.strides]
        self._arrays.append(array)
        return []


class Elsewhere:
    """Another interpreter, with another hash seed, that serves many notebooks."""

    def __init__(self):
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONHASHSEED": "77",
        }
        self._process = subprocess.Popen(
            [sys.executable, __file__],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def portraits(self, steps):
        """Return the portrait of a notebook's names after each of its steps."""
        pickle.dump(steps, self._process.stdin)
        self._process.stdin.flush()
        return pickle.load(self._process.stdout)

    def close(self):
        """End the interpreter."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def main():
    """Serve notebooks until there are no more."""
    main_module = sys.modules["__main__"]
    while True:
        try:
            steps = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        rebuilt, answers = Rebuilt(), []
        for step in steps:
            rebuilt.take(step)
            try:
                answers.append(portrait(rebuilt.namespace()))
            except Exception as error:  # noqa: BLE001 - told to the test
                answers.append(f"{type(error).__name__}: {error}")
        assert main_module is sys.modules["__main__"]
        pickle.dump(answers, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
