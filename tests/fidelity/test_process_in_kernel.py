# ruff: noqa: S311 - the streams that notebooks draw from
"""Process state that steps change comes back, in real kernels.

In the cells, ``$x`` is a scenario's own name x.
"""

import os
import random
import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel" / "durability"))

from real_kernel import LOAD, Kernel, save, wait_for

pytestmark = pytest.mark.kernel

LOG = 'open("runs.log", "a").write("{}\\n")'
HUSHED = "correct-horse-battery"
"""Never written as one word in a cell, so it is in the store only if it was taken."""


class Book:
    """One notebook, its kernel, and a log of the step bodies that ran."""

    def __init__(self, folder):
        self.folder = folder
        self.cells = {"load": LOAD}
        self.kernel = None
        self.start()

    def start(self):
        """Start a kernel and load the extension."""
        self._save()
        if self.kernel is not None:
            self.kernel.close()
        self.kernel = Kernel(self.folder)
        self.kernel.ok(LOAD, "load")

    def _save(self):
        save(self.folder / "main.ipynb", *self.cells.items())

    def put(self, tag, **cells):
        """Add cells at the end, or change them; return their ids."""
        for cell, text in cells.items():
            head = f"{LOG.format(f'{tag}_{cell}')}\n"
            text = re.sub(r"\$(\w+)", rf"{tag}_\1", text)  # noqa: PLW2901
            step, line, body = text.partition("\n")
            is_step = step.startswith("%%step")
            source = f"{step}{line}{head}{body}" if is_step else text
            self.cells[f"{tag}_{cell}"] = source
        self._save()
        return [cell for cell in self.cells if cell.startswith(f"{tag}_")]

    def run(self, *cells):
        """Run these cells; return the steps that ran and what was said."""
        log = self.folder / "runs.log"
        before = log.read_text().split() if log.exists() else []
        said = [self.kernel.ok(self.cells[cell], cell).text for cell in cells]
        after = log.read_text().split() if log.exists() else []
        return after[len(before) :], "".join(said)

    def value(self, tag, expression):
        """Return what an expression is in the kernel, as text."""
        return self.kernel.evaluate(re.sub(r"\$(\w+)", rf"{tag}_\1", expression))


@pytest.fixture
def book(tmp_path):
    """Return a notebook in a folder of its own."""
    made = Book(tmp_path)
    # the working folder may be changed: cells log where they began
    made.kernel.ok("import os, random, sys")
    yield made
    made.kernel.close()


def after_restart(book, tag, cells, checks, *, ran=()):
    """Run the cells, run them all after a restart, and compare some expressions."""
    ids = book.put(tag, **cells)
    steps = [cell for cell in ids if book.cells[cell].startswith("%%step")]
    assert book.run(*ids)[0] == steps
    wanted = {check: book.value(tag, check) for check in checks}
    book.start()
    assert book.run(*ids)[0] == list(ran)
    got = {check: book.value(tag, check) for check in checks}
    assert got == wanted
    return wanted


IMPORTS = "import os, random, sys, decimal, warnings\nimport numpy as np"


def test_generators(book):
    """Seeds in plain cells and in steps, streams that go on, and an edit above."""
    tag = "g"
    seen = after_restart(
        book,
        tag,
        {
            "p": f"{IMPORTS}\nrandom.seed(5)\nnp.random.seed(6)",
            "a": "%%step $a\n$x = [random.random(), float(np.random.random())]",
            "b": "%%step $b\n$y = [random.random(), float(np.random.random())]",
            "s": "%%step $s\nrandom.seed(9)\nnp.random.seed(9)",
            "c": "%%step $c\n$z = [random.random(), float(np.random.random())]",
        },
        ["$x", "$y", "$z"],
    )
    stream = random.Random(5)
    assert seen["$x"].startswith(f"[{stream.random()!r}")
    assert seen["$y"].startswith(f"[{stream.random()!r}")
    assert seen["$z"].startswith(f"[{random.Random(9).random()!r}")

    # what follows a replay goes on where the step left the stream
    follows = random.Random(9)
    assert follows.random()
    drawn = repr(follows.random())
    book.put(tag, d="%%step $d\n$w = random.random()")
    assert book.run("g_d")[0] == ["g_d"]
    assert book.value(tag, "$w") == drawn
    book.start()
    ids = [cell for cell in book.cells if cell.startswith("g_")]
    assert book.run(*ids)[0] == []
    assert book.value(tag, "$w") == drawn
    assert book.value(tag, "random.random()") == repr(follows.random())

    # another seed above: all that drew from it runs again, what was seeded below stays
    book.put(tag, p=f"{IMPORTS}\nrandom.seed(55)\nnp.random.seed(6)")
    assert book.run(*ids)[0][:2] == ["g_a", "g_b"]
    stream = random.Random(55)
    assert book.value(tag, "$x[0]") == repr(stream.random())
    assert book.value(tag, "$y[0]") == repr(stream.random())
    assert book.value(tag, "$z[0]") == repr(random.Random(9).random())


@pytest.mark.long
def test_unseeded_generators_are_not_stale(book):
    """Nobody seeded: after a restart the steps replay, twice."""
    cells = {
        "p": IMPORTS,
        "a": "%%step $a\n$x = [random.random(), float(np.random.random())]",
        "b": "%%step $b\n$y = [random.random(), float(np.random.random())]",
    }
    after_restart(book, "u", cells, ["$x", "$y"])
    book.start()

    assert book.run("u_p", "u_a", "u_b")[0] == []


def test_an_edited_step_moves_the_stream(book):
    """A step that draws more gives the step below other numbers: it runs again."""
    cells = {
        "s": "%%step $s\nimport random\nrandom.seed(3)",
        "a": "%%step $a\nimport random\n$x = random.random()",
        "b": "%%step $b\nimport random\n$y = random.random()",
    }
    ids = book.put("e", **cells)
    assert book.run(*ids)[0] == ids
    book.put("e", a="%%step $a\nimport random\nrandom.random()\n$x = random.random()")

    assert book.run(*ids)[0] == ["e_a", "e_b"]
    stream = random.Random(3)
    assert stream.random()
    assert book.value("e", "[$x, $y]") == repr([stream.random(), stream.random()])


@pytest.mark.long
def test_an_interrupted_step_draws_the_same_numbers(book):
    """Rerun in the same kernel and in a new one: as if it had run once."""
    cells = {
        "s": "%%step $s\nimport random\nrandom.seed(4)",
        "a": "%%step $a\nimport os, random, time\n$x = [random.random()]\n"
        "while not os.path.exists('go'):\n    open('here', 'w').close()\n"
        "    time.sleep(0.05)\n$x.append(random.random())",
    }
    ids = book.put("i", **cells)
    for _ in range(2):
        book.run("i_s")
        _interrupt(book, "i_a")
        _interrupt(book, "i_a")
        book.start()
    (book.folder / "go").touch()

    assert book.run(*ids)[0] == ["i_a"]
    stream = random.Random(4)
    assert book.value("i", "$x") == repr([stream.random(), stream.random()])


def _interrupt(book, cell):
    """Run a cell, and send it SIGINT when it is in the middle."""
    here = book.folder / "here"
    here.unlink(missing_ok=True)
    request = book.kernel.send(book.cells[cell], cell)
    wait_for(here)
    book.kernel.interrupt()
    assert "KeyboardInterrupt" in book.kernel.finish(request).error


def test_the_environment(book):
    """Variables that steps set, changed and removed; a secret is told, never stored."""
    secret = " + ".join(f"'{part}'" for part in re.split("(-)", HUSHED))
    cells = {
        "a": "%%step $a\nimport os\nos.environ['MODE'] = 'fast'\n"
        "os.environ['OTHER'] = '1'",
        "b": "%%step $b\nimport os\ndel os.environ['OTHER']\n"
        "os.environ['MODE'] += '-er'",
        "t": f"%%step $t\nimport os\nos.environ['SERVICE_TOKEN'] = {secret}",
    }
    ids = book.put("v", **cells)
    ran, said = book.run(*ids)
    assert ran == ids
    assert "SERVICE_TOKEN" in said
    book.start()
    ran, said = book.run(*ids)

    assert ran == []
    assert book.value("v", "os.environ['MODE']") in (
        "'fast-er'",
        "NameError: name 'os'",
    )
    book.kernel.ok("import os")
    assert book.kernel.evaluate("os.environ['MODE']") == "'fast-er'"
    assert book.kernel.evaluate("'OTHER' in os.environ") == "False"
    assert book.kernel.evaluate("'SERVICE_TOKEN' in os.environ") == "False"
    stored = [p.read_bytes() for p in book.folder.rglob("*") if p.is_file()]
    assert stored
    assert not any(HUSHED.encode() in data for data in stored)


@pytest.mark.long
def test_an_edit_takes_a_variable_back(book):
    """A step above that no longer sets it leaves the step below without it."""
    cells = {
        "a": "%%step $a\nimport os\nos.environ['LEVEL'] = '3'",
        "b": "%%step $b\nimport os\n$seen = os.environ.get('LEVEL')",
    }
    ids = book.put("w", **cells)
    book.run(*ids)
    assert book.value("w", "$seen") == "'3'"
    book.start()
    book.put("w", a="%%step $a\nimport os\nos.environ['LEVEL2'] = '4'")
    book.run(*ids)

    book.kernel.ok("import os")
    assert book.kernel.evaluate("os.environ.get('LEVEL')") == "None"
    assert book.kernel.evaluate("os.environ.get('LEVEL2')") == "'4'"


def test_folder_path_decimal_warnings_and_zone(book):
    """Each is after a replay what the step left, and only that."""
    (book.folder / "inner").mkdir()
    cells = {
        "p": f"{IMPORTS}\nimport time",
        "a": "%%step $a\nsys.path.append('/extra/place')\n"
        "decimal.getcontext().prec = 9",
        "b": "%%step $b\nwarnings.filterwarnings('error', message='nobody says this')",
        "z": "%%step $z\nos.environ['TZ'] = 'Asia/Tokyo'\ntime.tzset()",
        "d": "%%step $d\nos.chdir('inner')",
    }
    checks = [
        "'/extra/place' in sys.path",
        "str(decimal.Decimal(1) / 3)",
        "[f[0] for f in warnings.filters if f[1] and 'nobody' in f[1].pattern]",
        "time.localtime(0).tm_hour",
        "os.path.basename(os.getcwd())",
    ]
    seen = after_restart(book, "f", cells, checks)

    assert list(seen.values()) == ["True", "'0.333333333'", "['error']", "9", "'inner'"]


@pytest.mark.long
def test_options_of_libraries(book):
    """What a step set of pandas, NumPy and matplotlib, and a step below sees it."""
    cells = {
        "p": f"{IMPORTS}\nimport pandas as pd\nimport matplotlib as mpl",
        "a": "%%step $a\npd.set_option('display.max_rows', 7)\n"
        "np.set_printoptions(precision=2)\nmpl.rcParams['lines.linewidth'] = 4.5",
        "b": "%%step $b\n$text = str(np.array([1 / 3]))",
    }
    checks = [
        "pd.get_option('display.max_rows')",
        "str(np.array([2 / 3]))",
        "mpl.rcParams['lines.linewidth']",
        "$text",
    ]
    seen = after_restart(book, "o", cells, checks)

    assert list(seen.values()) == ["7", "'[0.67]'", "4.5", "'[0.33]'"]
    # a step above that sets something else: what it set before goes back
    ids = [cell for cell in book.cells if cell.startswith("o_")]
    book.put("o", a="%%step $a\npd.set_option('display.max_rows', 8)")
    book.run(*ids)
    assert book.value("o", "pd.get_option('display.max_rows')") == "8"
    assert book.value("o", "mpl.rcParams['lines.linewidth']") == "1.5"


@pytest.mark.long
def test_options_of_a_library_that_is_imported_later(book):
    """The step set them; the new kernel imports the library after the replay."""
    cells = {
        "a": "%%step $a\nimport pandas\npandas.set_option('display.width', 71)",
        "p": "import pandas as pd",
    }

    assert after_restart(book, "l", cells, ["pd.get_option('display.width')"]) == {
        "pd.get_option('display.width')": "71"
    }


def test_a_generator_object_is_a_value(book):
    """It goes on where each step left it."""
    cells = {
        "a": "%%step $a\nimport numpy as np\n$rng = np.random.default_rng(2)",
        "b": "%%step $b\n$x = $rng.random()",
        "c": "%%step $c\n$y = $rng.random()",
    }
    after_restart(book, "r", cells, ["$x", "$y", "$rng.bit_generator.state"])


def test_nothing_else_of_the_environment_is_stored(book):
    """Variables that no step set are not in the store, whatever they are called."""
    marker = "a-marker-that-is-nowhere-else"
    book.kernel.close()
    book.kernel = Kernel(book.folder, env={"MARKER_OF_A_TEST": marker})
    book.kernel.ok(LOAD, "load")
    ids = book.put("n", a="%%step $a\nimport os\nos.environ['ONE'] = '1'\n$x = 1")
    assert book.run(*ids)[0] == ids

    stored = [p.read_bytes() for p in book.folder.rglob("*") if p.is_file()]
    assert not any(marker.encode() in data for data in stored)
    assert os.environ.get("MARKER_OF_A_TEST") is None
