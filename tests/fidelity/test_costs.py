"""What a step writes and pickles follows what it changed: counted, never timed."""

import pytest
from unit.run.fakes import Lab

from nbresume.capture import snapshot

NUMPY = "import numpy as np"
BIG = 400_000
"""Bytes of an array that counts as big here; 50,000 floats."""
OVERHEAD = 4_500
"""A commit's own bytes: record, manifest, text of the cell, previews."""


class Counted:
    """One notebook whose steps are run one by one; what each cost."""

    def __init__(self, monkeypatch, imports=NUMPY, **steps):
        cells = {name: f"%%step {name}\n{text}" for name, text in steps.items()}
        self.lab = Lab(imports=imports, **cells)
        self.kernel = self.lab.kernel()
        self.kernel.run("imports")
        self.dumps = []
        """Numbers of objects that were pickled, of each call."""
        self.folds = []
        """Bytes of the folds of the journal that steps wrote."""
        dump = snapshot.dump

        def count(values, **options):
            self.dumps.append(len(values))
            return dump(values, **options)

        monkeypatch.setattr(snapshot, "dump", count)

    def run(self, step, text=""):
        """Run a step; return (objects pickled, units, bytes written) of it.

        A fold of the journal, which comes seldom, is not among the bytes.
        """
        if text:
            self.lab.edit(**{step: f"%%step {step}\n{text}"})
        self.dumps.clear()
        before = dict(self.lab.backend.files)
        outcome = self.kernel.run(step)
        assert outcome.how == "ran", outcome
        files = self.lab.backend.files
        new = [data for key, data in files.items() if before.get(key) is not data]
        record = self.kernel.commits(step)
        units = self.kernel.parts.commits._restorer.manifest(record.manifest).units
        fold = record.fold
        is_new = fold is not None and fold.group == record.manifest.group
        written = sum(map(len, new)) - (fold.length if is_new else 0)
        self.folds.append(fold.length if is_new else 0)
        return sum(self.dumps), len(units), written


def cost_of_touching(monkeypatch, count, value, change):
    """Return the costs of changing one of so many names: first commit, later commit."""
    many = "\n".join(f"n{at} = {value.format(at=at)}" for at in range(count))
    counted = Counted(monkeypatch, many=many, touch=change.format(1))
    counted.run("many")
    first = counted.run("touch")
    return first, counted.run("touch", change.format(2))


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "change"),
    [
        ("[{at}, 'x']", "n7.append({0})"),
        ("{{'k': [{at}]}}", "n7['k'] = {0}"),
        ("np.arange({at}., {at} + 50.)", "n7[3] = {0} * 1000"),
        ("[{at}]", "n7 = [{0}, 'new']"),
        ("(lambda x=[{at}]: x)", "n7.__defaults__ = ([{0}],)"),
    ],
)
def test_touching_one_of_a_thousand_names(monkeypatch, value, change):
    """The same objects, payloads and bytes as one of ten, in each commit."""
    few = cost_of_touching(monkeypatch, 10, value, change)
    many = cost_of_touching(monkeypatch, 1000, value, change)
    print(f"{value}: of 10 names {few}, of 1,000 names {many}")  # noqa: T201 - counts

    for small, large in zip(few, many, strict=True):
        assert large[:2] == small[:2]
        assert large[0] <= 2
        # numbers of more digits, and the place of a fold
        assert large[2] <= small[2] + 400


def test_folds_of_the_journal_are_seldom(monkeypatch):
    """Of a thousand names too: what they weigh is spread over many commits."""
    many = "\n".join(f"n{at} = [{at}]" for at in range(1000))
    counted = Counted(monkeypatch, many=many, touch="n7.append(0)")
    whole = counted.run("many")[2]
    for at in range(20):
        counted.run("touch", f"n7.append({at})")

    assert sum(counted.folds) < whole


def test_a_new_name_beside_a_thousand(monkeypatch):
    """A step that makes a value pickles that value."""
    many = "\n".join(f"n{at} = [{at}]" for at in range(1000))
    counted = Counted(monkeypatch, many=many, new="fresh = [1, 2]")
    assert counted.run("many")[0] == 1000

    pickled, units, _ = counted.run("new")
    assert (pickled, units) == (1, 1)


def test_reading_a_big_array_writes_none_of_it(monkeypatch):
    """Only the result of the reading step is written."""
    counted = Counted(
        monkeypatch, make=f"a = np.arange({BIG // 8}.)", read="total = float(a.sum())"
    )
    assert counted.run("make")[2] >= BIG

    pickled, units, written = counted.run("read")
    assert (pickled, units) == (0, 0)
    assert written < OVERHEAD


def test_reading_through_a_function_writes_none_of_it(monkeypatch):
    """Also where a function reaches the array."""
    counted = Counted(
        monkeypatch,
        make=f"a = np.arange({BIG // 8}.)\ndef total():\n    return float(a.sum())",
        read="found = total()",
    )
    counted.run("make")

    assert counted.run("read")[2] < OVERHEAD


def test_an_array_changed_in_place_is_the_only_one_written(monkeypatch):
    """Its neighbours are not, nor what holds them."""
    counted = Counted(
        monkeypatch,
        make="\n".join(f"a{at} = np.full({BIG // 8}, {at}.)" for at in range(5)),
        hold="d = {'a': [a0, a1, a2, a3, a4]}",
        change="a2[5] = 77",
    )
    counted.run("make")
    assert counted.run("hold")[2] < 2 * OVERHEAD

    written = counted.run("change")[2]
    assert BIG <= written < BIG + 3 * OVERHEAD


WRAPPERS = {
    "second name": "b = a",
    "dict": "b = {'x': a}",
    "list of lists": "b = [[a], a]",
    "instance": "class P:\n    pass\nb = P()\nb.a = a",
    "default argument": "def b(x=a):\n    return x",
    "closure": "def make(x):\n    return lambda: x\nb = make(a)",
    "slice": "b = a[10:20]",
    "nearly all": "b = a[1:]",
    "reversed": "b = a[::-1]",
    "reshape": "b = a.reshape(100, -1)",
    "transpose": "b = a.reshape(100, -1).T",
    "series": "b = pd.Series(a, copy=False)",
    "frame": "b = pd.DataFrame({'a': a}, copy=False)",
    "arrow array": "b = pa.array(a)",
    "arrow table": "b = pa.table({'a': a})",
    "masked array": "b = np.ma.masked_array(a)",
    "data array": "b = xr.DataArray(a)",
    "polars frame": "b = pl.DataFrame({'a': a})",
    "partial": "import functools\nb = functools.partial(np.sum, a)",
}
LIBRARIES = {"xr.": "import xarray as xr", "pl.": "import polars as pl"}


def _imports(text):
    more = [line for mark, line in LIBRARIES.items() if mark in text]
    return "\n".join([NUMPY, "import pandas as pd", "import pyarrow as pa", *more])


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_one_buffer_under_many_wrappers_is_stored_once(monkeypatch, wrapper):
    """The step that wraps it writes the wrapper."""
    text = WRAPPERS[wrapper]
    counted = Counted(
        monkeypatch, _imports(text), make=f"a = np.arange({BIG // 8}.)", wrap=text
    )
    counted.run("make")

    assert counted.run("wrap")[2] < 2 * OVERHEAD


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_all_in_one_step_is_stored_once(monkeypatch, wrapper):
    """The same where array and wrapper are made by one step."""
    text = WRAPPERS[wrapper]
    make = f"a = np.arange({BIG // 8}.)\n{text}"
    counted = Counted(monkeypatch, _imports(text), make=make)

    assert counted.run("make")[2] < BIG + 2 * OVERHEAD


SLICES = {
    "array": f"s = np.arange({BIG // 8}.)[10:20].copy()",
    "view of an unnamed array": f"s = np.arange({BIG // 8}.)[10:20]",
    "frame": f"s = pd.DataFrame({{'a': np.arange({BIG // 8}.)}}).iloc[10:20]",
    "series": f"s = pd.Series(np.arange({BIG // 8}.))[10:20]",
    "texts": f"s = pd.Series(['x' * 40] * {BIG // 40})[10:20]",
    "arrow array": f"s = pa.array(np.arange({BIG // 8}.))[10:20]",
    "arrow table": f"s = pa.table({{'a': np.arange({BIG // 8}.)}}).slice(10, 10)",
    "arrow texts": f"s = pa.array(['x' * 40] * {BIG // 40})[10:20]",
    "polars frame": f"s = pl.DataFrame({{'a': np.arange({BIG // 8}.)}})[10:20]",
    "data array": f"s = xr.DataArray(np.arange({BIG // 8}.))[10:20]",
}


@pytest.mark.parametrize("kind", SLICES)
def test_a_slice_stores_no_parent(monkeypatch, kind):
    """The parent has no name: what nobody can reach is not kept."""
    counted = Counted(monkeypatch, _imports(SLICES[kind]), cut=SLICES[kind])

    assert counted.run("cut")[2] < 2 * OVERHEAD


N = 100_000
KINDS = {
    "floats": (f"x = np.arange({N}.)", 8 * N),
    "Fortran order": (f"x = np.asfortranarray(np.ones(({N // 10}, 10)))", 8 * N),
    "strided": (f"x = np.arange({2 * N}.)[::2]", 8 * N),
    "dates": (f"x = np.arange({N}).astype('M8[s]')", 8 * N),
    "structured": (f"x = np.zeros({N}, [('a', 'i4'), ('b', 'f8')])", 12 * N),
    "fixed texts": (f"x = np.array(['abcd'] * {N})", 16 * N),
    "masked": (f"x = np.ma.masked_greater(np.arange({N}.), 5)", 9 * N),
    "float frame": (f"x = pd.DataFrame(np.ones(({N // 10}, 10)))", 8 * N),
    "mixed frame": (
        f"x = pd.DataFrame({{'a': np.arange({N}.), 'b': np.arange({N})}})",
        16 * N,
    ),
    "nullable": (f"x = pd.Series(np.arange({N}), dtype='Int64')", 9 * N),
    "category": (
        f"x = pd.Series(pd.Categorical.from_codes(np.arange({N}) % 3, list('abc')))",
        N,
    ),
    "time zone": (
        f"x = pd.Series(pd.date_range('2020', periods={N}, freq='h', tz='UTC'))",
        8 * N,
    ),
    "arrow-backed": (
        f"x = pd.Series(np.arange({N}.), dtype='float64[pyarrow]')",
        8 * N,
    ),
    "arrow table": (f"x = pa.table({{'a': np.arange({N}.)}})", 8 * N),
    "arrow texts": (f"x = pa.array(['abcdefgh'] * {N})", 12 * N),
    "polars floats": (f"x = pl.DataFrame({{'a': np.arange({N}.)}})", 8 * N),
    "sparse": (f"x = sparse.random(1000, {N // 100}, 0.5, 'csr', rng=1)", 6 * 10 * N),
    "data array": (f"x = xr.DataArray(np.ones(({N // 10}, 10)))", 8 * N),
    "bytes": (f"x = bytes(range(250)) * {N // 250}", N),
    "bytearray": (f"x = bytearray(range(250)) * {N // 250}", N),
    "text": (f"x = 'abcde' * {N}", 5 * N),
}
LIBRARIES["sparse."] = "from scipy import sparse"


@pytest.mark.parametrize("kind", KINDS)
def test_stored_bytes_are_those_of_the_buffers(monkeypatch, kind):
    """At most a twentieth more, with everything that a commit writes."""
    text, size = KINDS[kind]
    counted = Counted(monkeypatch, _imports(text), make=text)
    written = counted.run("make")[2]
    print(f"{kind}: {written / size:.3f} of {size} bytes")  # noqa: T201 - counts

    assert written <= 1.05 * size + OVERHEAD


@pytest.mark.long
def test_a_hundred_thousand_names_come_back():
    """By one step that binds them all, beside steps that touch one of them."""
    count = 100_000
    lab = Lab(
        many=f"%%step many\nglobals().update({{f'n{{i}}': i for i in range({count})}})",
        one="%%step one\nn5 = n7 + 1\nété_ = _x = [n1]",
    )
    kernel = lab.kernel()
    assert kernel.go() == ["many", "one"]
    assert len(kernel.commits("many").outputs) == count
    assert kernel.commits("one").outputs.keys() == {"n5", "été_", "_x"}

    again = kernel.restart()
    assert [again.run(cell).how for cell in ("many", "one")] == ["replayed"] * 2
    again.parts.live.load_all(again.parts.live.pending)
    wanted = {f"n{i}": i for i in range(count)} | {"n5": 8}
    assert {name: again[name] for name in wanted} == wanted
    assert again["_x"] is again["été_"] == [1]
