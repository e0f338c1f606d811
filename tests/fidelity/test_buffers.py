"""Arrays, frames and what stands on them come back with value, type and sharing."""

import importlib.util
from pathlib import Path

import pytest

NP = "import numpy\nimport numpy as np\n"
PD = NP + "import pandas\nimport pandas as pd\n"
PA = "import pyarrow\nimport pyarrow as pa\n"
POLARS = "import polars\nimport polars as pl\n"
TORCH = "import torch\n"

CASES = {
    "float array": (
        NP + "a = np.arange(1e5).reshape(100, 1000)",
        [
            "a.shape == (100, 1000) and a[3, 4] == 3004",
            "a.flags.writeable",
            "sizes['a'] < 500",
            "shown['a'] == [('<f8', (100, 1000))]",
        ],
    ),
    "Fortran order": (
        NP + "a = np.asfortranarray(np.arange(6.).reshape(2, 3))",
        ["a.flags.f_contiguous", "a.tolist() == [[0, 1, 2], [3, 4, 5]]"],
    ),
    "strided view of nothing named": (
        NP + "a = np.arange(100000)[::2]",
        ["a[:3].tolist() == [0, 2, 4]", "shown['a'] == [('<i8', (50000,))]"],
    ),
    "dates": (
        NP + "a = np.array(['2020-01-01', 'NaT'], 'M8[ns]')\nb = a - a[0]",
        [
            "a.dtype == 'M8[ns]' and str(a[0])[:10] == '2020-01-01'",
            "shown['a'] == [('<M8[ns]', (2,))]",
            "shown['b'] == [('<m8[ns]', (2,))]",
            "a.flags.writeable",
        ],
    ),
    "masked": (
        NP + "a = np.ma.masked_array(np.arange(2000.), np.arange(2000) % 2, "
        "fill_value=-1)",
        [
            "a.fill_value == -1 and a.count() == 1000",
            "type(a) is np.ma.MaskedArray",
            "sizes['a'] < 500",
        ],
    ),
    "hard mask and no mask": (
        NP + "a = np.ma.masked_array([1, 2], [1, 0], hard_mask=True)\n"
        "b = np.ma.masked_array([1, 2])",
        ["a.hardmask", "b.mask is np.ma.nomask"],
    ),
    "objects": (
        NP + "a = np.array([1, 'a', None, [2]], object)",
        ["a.tolist() == [1, 'a', None, [2]]"],
    ),
    "texts of variable length": (
        NP + "a = np.array(['a', 'b' * 100], np.dtypes.StringDType())",
        ["a.tolist() == ['a', 'b' * 100]", "a.dtype == np.dtypes.StringDType()"],
    ),
    "texts, bytes, bools, complex, halves": (
        NP + "a = [np.array(['a', 'bb']), np.array([b'x']), np.array([True]), "
        "np.array([1j]), np.array([1], 'f2')]",
        ["[x.dtype.str for x in a] == ['<U2', '|S1', '|b1', '<c16', '<f2']"],
    ),
    "structured and record arrays": (
        NP + "a = np.array([(1, 2.)], [('x', 'i4'), ('y', 'f8')])\n"
        "r = a.view(np.recarray)\nd = np.array([('2020', 1)], [('t', 'M8[s]'), "
        "('n', 'i8')])",
        ["a['y'][0] == 2", "r.x[0] == 1 and type(r) is np.recarray", "d['n'][0] == 1"],
    ),
    "big-endian": (NP + "a = np.array([1, 2], '>i4')", ["a.dtype.str == '>i4'"]),
    "no dimension and no element": (
        NP + "a = np.array(3.); b = np.zeros((0, 3)); c = np.float64(2)",
        ["a.shape == () and a == 3", "b.shape == (0, 3)", "type(c) is np.float64"],
    ),
    "matrix": (NP + "a = np.array([[1, 2]]).view(np.matrix)", ["type(a) is np.matrix"]),
    "read-only stays read-only": (
        NP + "a = np.arange(3.); a.flags.writeable = False",
        ["not a.flags.writeable"],
    ),
    "two names of one array": (
        NP + "a = np.zeros(3); b = a; d = {'x': a}",
        ["a is b", "d['x'] is a"],
    ),
    "views write through": (
        NP + "x = np.arange(10.)\nz = x[:]; part = x[2:5]; back = x[::-1]\n"
        "two = x.reshape(2, 5); t = two.T",
        [
            "all(np.shares_memory(x, v) for v in (z, part, back, two, t))",
            "back.tolist() == x[::-1].tolist()",
            "t.strides == (8, 40)",
            "z.__setitem__(2, 77.) or part[0] == 77. and back[7] == 77.",
        ],
    ),
    "row of a matrix, in a list": (
        NP + "m = np.arange(6.).reshape(2, 3)\nrows = [m[0], m[1]]",
        ["rows[1].__setitem__(0, 9.) or m[1, 0] == 9."],
    ),
    "views of a Fortran owner": (
        NP + "m = np.asfortranarray(np.arange(6.).reshape(2, 3))\nv = m[:, 1:]",
        ["np.shares_memory(m, v)", "v.tolist() == [[1, 2], [4, 5]]"],
    ),
    "views of dates and records": (
        NP + "d = np.array(['2020', '2021'], 'M8[s]'); v = d[1:]\n"
        "s = np.array([(1, 2.)], [('x', 'i4'), ('y', 'f8')]); y = s['y']",
        ["np.shares_memory(d, v) and v.dtype == d.dtype", "np.shares_memory(s, y)"],
    ),
    "two views of an owner without a name": (
        NP + "p = np.arange(10.)[2:]\nq = p.base[:5]",
        ["p.__setitem__(0, 99.) or q[2] == 99."],
    ),
    "broadcast arrays": (
        NP + "x = np.arange(3.)\nb = np.broadcast_to(x, (2, 3))",
        ["b.strides == (0, 8)", "not b.flags.writeable", "np.shares_memory(x, b)"],
    ),
    "one row of a large owner stores one row": (
        NP + "a = np.zeros((1000, 1000))[3]",
        ["shown['a'] == [('<f8', (1000,))]", "a.base is None or a.base.nbytes < 9000"],
    ),
    "random generators": (
        NP + "import random\ng = np.random.default_rng(1); g.random()\n"
        "h = np.random.default_rng(1); r = random.Random(2)",
        ["h.random() is not None and g.random() == h.random()", "r.random() < 1"],
    ),
    "frame of floats": (
        PD + "df = pd.DataFrame(np.ones((1000, 3)), columns=list('abc'))",
        [
            "df.shape == (1000, 3) and (df == 1).all().all()",
            "sizes['df'] < 2000",
            "df.__setitem__('a', 5.) or df['a'][0] == 5",
            "df.iloc.__setitem__((0, 1), 7.) or df.iloc[0, 1] == 7",
        ],
    ),
    "frame of every kind of column": (
        PD + "df = pd.DataFrame({'f': [1., 2], 's': ['x', None], "
        "'c': pd.Categorical(['u', 'v'], ordered=True), "
        "'t': pd.date_range('2020', periods=2, tz='Europe/Berlin'), "
        "'d': pd.to_timedelta([1, 2], unit='s'), 'i': pd.array([1, None], 'Int64'), "
        "'b': pd.array([True, None], 'boolean'), 'o': [dict, [1]], "
        "'p': pd.period_range('2020', periods=2, freq='D'), "
        "'a': pd.array([1, None], 'int64[pyarrow]'), "
        "'v': pd.interval_range(0, 2), 'sp': pd.arrays.SparseArray([0, 1]), "
        "'str': pd.array(['a', None], 'string[python]')})\nkinds = df.dtypes.map(str)",
        [
            "df.dtypes.map(str).equals(kinds)",
            "df['i'].isna().tolist() == [False, True]",
        ],
    ),
    "frame with a many-level index, attributes and flags": (
        PD + "df = pd.DataFrame({'x': [1, 2]}, index=pd.MultiIndex.from_tuples("
        "[(1, 'a'), (2, 'b')], names=['p', 'q']))\ndf.attrs['unit'] = 'm'",
        ["df.index.names == ['p', 'q']", "df.attrs == {'unit': 'm'}"],
    ),
    "series and indexes": (
        PD + "s = pd.Series([1, 2], index=pd.date_range('2020', periods=2, tz='UTC'), "
        "name='n')\ni = pd.Index(['a', 'b'], name='k'); r = pd.RangeIndex(2, 9, 3)",
        ["s.name == 'n' and s.index.freq is not None", "list(r) == [2, 5, 8]"],
    ),
    "slice of a frame stores no parent": (
        PD + "df = pd.DataFrame({'s': ['text'] * 100000, 'f': 1.}).iloc[5:15]",
        [
            "sum(np.prod(shape) for _, shape in shown['df']) < 20000",
            "df.index.tolist() == list(range(5, 15)) and set(df['s']) == {'text'}",
        ],
    ),
    "two frames that shared blocks copy on write": (
        PD + "df = pd.DataFrame({'a': [1., 2.]})\ncopy = df.copy(deep=False)\n"
        "part = df[['a']]",
        [
            "df.iloc.__setitem__((0, 0), 9.) or copy.iloc[0, 0] == 1.",
            "part.iloc[0, 0] == 1.",
        ],
    ),
    "column taken from a frame": (
        PD + "df = pd.DataFrame({'a': [1., 2.]})\ns = df['a']\nn = df['a'].to_numpy()",
        ["s.tolist() == [1, 2]", "not n.flags.writeable"],
    ),
    "group-by": (
        PD + "df = pd.DataFrame({'k': [1, 1, 2], 'v': [1., 2, 3]})\n"
        "g = df.groupby('k')",
        ["g.sum()['v'].tolist() == [3, 3]"],
    ),
    "arrow tables": (
        PA + "t = pa.table({'n': [1, None, 3], 's': ['x', 'y', None]})\n"
        "c = pa.chunked_array([[1], [2]]); s = pa.scalar(3); k = t.schema",
        ["t.to_pydict()['n'] == [1, None, 3]", "c.to_pylist() == [1, 2]"],
    ),
    "slice of an arrow table stores no parent": (
        PA + "t = pa.table({'n': range(100000), 's': ['text'] * 100000}).slice(7, 10)",
        [
            "sum(shape[0] for _, shape in shown['t']) < 5000",
            "t['n'].to_pylist() == list(range(7, 17))",
        ],
    ),
    "nested and dictionary arrow arrays": (
        PA + "a = pa.array([[1], [2, 3]] * 9000).slice(1, 2)\n"
        "d = pa.array(['x', 'y', 'x']).dictionary_encode()",
        ["a.to_pylist() == [[2, 3], [1]]", "d.to_pylist() == ['x', 'y', 'x']"],
    ),
    "sparse matrix": (
        NP + "import scipy.sparse\nm = scipy.sparse.eye(1000, format='csr')",
        ["m.sum() == 1000", "sizes['m'] < 1000"],
    ),
    "fitted estimators": (
        NP + "import sklearn.linear_model\nimport sklearn.ensemble\n"
        "import sklearn.pipeline\nimport sklearn.preprocessing\n"
        "x = np.arange(20.).reshape(10, 2); y = x[:, 0] > 8\n"
        "lin = sklearn.linear_model.LinearRegression().fit(x, y)\n"
        "rf = sklearn.ensemble.RandomForestClassifier(5, random_state=0).fit(x, y)\n"
        "pipe = sklearn.pipeline.make_pipeline(sklearn.preprocessing."
        "FunctionTransformer(lambda v: v + 1), sklearn.linear_model."
        "LogisticRegression()).fit(x, y)\nwant = rf.predict(x).tolist()",
        [
            "rf.predict(x).tolist() == want",
            "lin.predict(x).shape == (10,)",
            "pipe.predict(x).shape == (10,)",
        ],
    ),
    "polars frames": (
        POLARS + "df = pl.DataFrame({'n': [1, None], 's': ['x', 'y']})\n"
        "s = pl.Series('k', [1., 2.])\nlazy = df.lazy().filter(pl.col('n') > 0)",
        [
            "df.to_dict(as_series=False) == {'n': [1, None], 's': ['x', 'y']}",
            "s.name == 'k' and s.to_list() == [1, 2]",
            "lazy.collect().height == 1",
        ],
    ),
    "tensors": (
        TORCH + "t = torch.arange(6.).reshape(2, 3); v = t[1]\n"
        "b = torch.ones(3, dtype=torch.bfloat16)\nnet = torch.nn.Linear(2, 1)\n"
        "w = net.weight",
        ["t[1, 2] == 5", "v.__setitem__(0, 9.) or t[1, 0] == 9", "net.weight is w"],
    ),
    "bytes and texts": (
        "b = b'x' * 100000; a = bytearray(b'y' * 100000); s = 'z' * 100000",
        ["len(b) == len(a) == len(s) == 100000", "type(a) is bytearray"],
    ),
}
NEEDS = {"polars frames": "polars", "tensors": "torch"}


def _available():
    return {
        name: case
        for name, case in CASES.items()
        if importlib.util.find_spec(NEEDS.get(name, "numpy"))
    }


def _load_roundtrip():
    path = Path(__file__).with_name("roundtrip.py")
    spec = importlib.util.spec_from_file_location("roundtrip", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


ROUNDTRIP = _load_roundtrip()


@pytest.fixture(scope="module", params=ROUNDTRIP.routes(), ids="-to-".join)
def route(request):
    """Return which Python writes and which one reads."""
    return request.param


@pytest.fixture(scope="module")
def wrong(route, tmp_path_factory):
    """Return what went wrong, by case; all cases of a route share two processes."""
    folder = tmp_path_factory.mktemp("buffers")
    return ROUNDTRIP.round_trip(_available(), folder, route)


@pytest.mark.parametrize("case", _available())
def test_buffer_comes_back(wrong, route, case):
    """An array or a frame has its values, types and sharing after a restart."""
    told = wrong.get(case)
    if case == "polars frames" and route[0] != route[1]:
        # polars writes the version of Python into a lazy frame
        assert told in (None, ["another digest: lazy"])
        return

    assert told is None, told if told is None else "\n".join(told)
