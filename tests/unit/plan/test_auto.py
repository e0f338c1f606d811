"""Cells that are steps without a header: which ones, under which name and title."""

import pytest

from nbresume.model.ids import parse_step_name
from nbresume.plan.auto import auto_name, is_work, switched, title_of, with_steps
from nbresume.plan.notebook import Cell, text_digest


def _cell(cell_id: str, source: str, step: str | None = None) -> Cell:
    return Cell(cell_id, source, step, text_digest(source))


@pytest.mark.parametrize(
    "source",
    [
        "",
        "# nothing",
        "import numpy as np\nfrom os import path",
        "%matplotlib inline\nimport numpy as np",
        "!pip install numpy",
        "%%bash\nls",
        "%%html\n<b>x</b>",
        "%%writefile a.py\nx = f()",
        "%load_ext nbresume\nx = f()",
        "%nbresume auto\nx = f()",
        "%steps plan",
        "%%step a\nx = f()",
        "# about\n%%step a\nx = f()",
        "def f(x):\n    return g(x)",
        'class A:\n    """Text."""\n    n = 1\n    def f(self): return 1',
        "N = 10\nPATH = 'a.csv'\nLIMITS = {'a': [1, -2], 'b': (3,)}\nM = 2 ** 10",
        "FOLDER = Path('data')",
        "try:\n    import polars\nexcept ImportError:\n    polars = None",
        "df",
        "df.head()",
        "df.describe()\ndf['a'].head(3)",
        "print(f'{len(df)} rows', df.shape)",
        "display(df)",
        "np.random.seed(3)",
        "pd.set_option('display.width', 200)",
        "df?",
        "x = f(_)",
        "y = Out[3] + 1",
    ],
)
def test_what_is_cheap_is_no_step(source):
    """It runs again, as in every notebook."""
    assert not is_work(source)


@pytest.mark.parametrize(
    "source",
    [
        "df = pd.read_csv('a.csv')",
        "import time\ntime.sleep(1)",
        "model.fit(X)",
        "rows.append(1)",
        "x = y + 1",
        "x += 1",
        "del x",
        "for n in range(3):\n    pass",
        "if x:\n    y = 1",
        "with open('a') as f:\n    t = f.read()",
        "A['x'] = 1",
        "%%time\nx = f()",
        "%%time\nmodel.fit(X)",
        "files = !ls\nx = f(files)",
        "x = %timeit -o f()",
        "class A:\n    n = f()",
        "print(model.fit(X))",
        "x = [f() for _ in range(3)]",
        "def f(_):\n    return _\nx = f(1)",
        "for _ in range(3):\n    x = f(_)",
        "if x:\n    !ls\n",
        "this is no Python",
    ],
)
def test_what_computes_is_a_step(source):
    """Also where it cannot be told."""
    assert is_work(source)


def test_a_name_is_that_of_the_cell():
    """So that the cell may move and change."""
    assert auto_name("3f2a") == "cell-3f2a"
    assert auto_name("0b1c2d3e-4f5a") == "cell-0b1c2d3e-4f5a"


def test_every_id_makes_a_legal_name_of_its_own():
    """Names are unique without regard to case, and have at most 64 characters."""
    ids = ["aB", "ab", "AB", "x" * 64, "x" * 63 + "y", "_a", "a b", "a/b", "ä"]
    names = [auto_name(cell_id) for cell_id in ids]

    assert len({name.lower() for name in names}) == len(ids)
    assert [parse_step_name(name) for name in names] == names


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# Load the orders\ndf = f()", "Load the orders"),
        ("\n\ndf = f(1)\n", "df = f(1)"),
        ("%%time\nx = f()", "x = f()"),
        ("##   a   b", "a b"),
        ("x" * 60, "x" * 47 + "…"),
        ("", ""),
    ],
)
def test_a_title_is_the_first_words(source, title):
    """A comment, else the first line."""
    assert title_of(source) == title


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["x = 1"], False),
        (["%load_ext nbresume\n%nbresume auto"], True),
        (["%nbresume auto  # as always"], True),
        (["%nbresume auto", "%nbresume auto off"], False),
        (["# %nbresume auto"], False),
        (["print('%nbresume auto')"], False),
    ],
)
def test_a_notebook_says_it_in_its_text(texts, expected):
    """The last word counts."""
    cells = [_cell(f"c{n}", text) for n, text in enumerate(texts)]

    assert switched(cells) is expected


def test_cells_are_named_by_their_ids():
    """A header stays what it is; ids that are missing, made up or double name none."""
    cells = [
        _cell("a", "x = f()"),
        _cell("b", "%%step fit\ny = f()", "fit"),
        _cell("c", "import os"),
        _cell("text:9", "x = g()"),
        _cell("d", "x = f(1)"),
        _cell("d", "x = f(2)"),
    ]

    named = [cell.step for cell in with_steps(cells)]
    assert named == ["cell-a", "fit", None, None, None, None]
