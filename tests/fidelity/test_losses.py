"""Every loss of the table in ``docs/losses.md`` is named when its step is committed."""

import re
import warnings
from pathlib import Path

import pytest
from unit.run.fakes import Lab

PAGE = Path(__file__).parents[2] / "docs" / "losses.md"
REMEDY = "a step marked --always makes such values anew"
THREADS = "import threading"
POOLS = "import concurrent.futures as cf"
CLUSTER = "x = type('{1}', (), {{'__module__': 'distributed.{0}'}})()\n"
SHELL = """
from IPython.core.interactiveshell import InteractiveShell
S = type('Shell', (InteractiveShell,), {'__init__': lambda self: None})
""".strip()
CASES = {
    "open files": {
        "to write": ("x = open(folder + '/w', 'w')", "x.close()"),
        "to read": ("open(folder + '/r', 'w').close(); x = open(folder + '/r')", ""),
        "zip": ("import zipfile\nx = zipfile.ZipFile(folder + '/z', 'w')", "x.close()"),
        "tar": ("import tarfile\nx = tarfile.open(folder + '/t', 'w')", "x.close()"),
        "temporary": ("import tempfile\nx = tempfile.TemporaryFile()", "x.close()"),
    },
    "mapped memory": {
        "mmap": ("import mmap\nx = mmap.mmap(-1, 9)", "x.close()"),
        "memmap": (
            "import numpy as np\nx = np.memmap(folder + '/m', 'f8', 'w+', shape=3)",
            "",
        ),
    },
    "temporary folders": {
        "folder": ("import tempfile\nx = tempfile.TemporaryDirectory()", "x.cleanup()"),
    },
    "threads": {
        "thread": (f"{THREADS}\nx = threading.Thread(target=print)", ""),
        "local": (f"{THREADS}\nx = threading.local()", ""),
    },
    "processes": {
        "Popen": (
            "import subprocess, sys\nx = subprocess.Popen([sys.executable, '-c', ''])",
            "x.wait()",
        ),
        "process": ("import multiprocessing as m\nx = m.Process(target=print)", ""),
        "queue": ("import multiprocessing as m\nx = m.SimpleQueue()", "x.close()"),
        "connection": (
            "import multiprocessing as m\nx = m.Pipe()",
            "[one.close() for one in x]",
        ),
        "manager": (
            "import multiprocessing.managers as m\nx = m.SyncManager()",
            "",
        ),
    },
    # stand-ins of the names by which the classes are known
    "memory of a cluster": {
        "future": (CLUSTER.format("client", "Future"), ""),
        "collection": (
            CLUSTER.format("client", "Future")
            + "import dask.array as da\n"
            + "x = da.Array({('x', 0): x}, 'x', ((2,),), float)",
            "",
        ),
        "client": (CLUSTER.format("client", "Client"), ""),
        "actor": (CLUSTER.format("actor", "Actor"), ""),
        "cluster": (CLUSTER.format("deploy.cluster", "Cluster"), ""),
    },
    "work that is waited for": {
        "future": (f"{POOLS}\nx = cf.Future()", ""),
        "executor": (f"{POOLS}\nx = cf.ThreadPoolExecutor(1)", "x.shutdown()"),
        "event loop": ("import asyncio\nx = asyncio.new_event_loop()", "x.close()"),
        "joblib": ("import joblib\nx = joblib.Parallel()", ""),
    },
    "connections": {
        "socket": ("import socket\nx = socket.socket()", "x.close()"),
        "selector": (
            "import selectors\nx = selectors.DefaultSelector()",
            "x.close()",
        ),
        "ZeroMQ": ("import zmq\nx = zmq.Context()", "x.term()"),
    },
    "databases": {
        "sqlite3": ("import sqlite3\nx = sqlite3.connect(':memory:')", "x.close()"),
    },
    "code that is half-way through": {
        "generator": ("x = (n for n in [1, 2])", ""),
        "coroutine": ("async def c():\n    pass\nx = c()", "x.close()"),
        "frame": ("import sys\nx = sys._getframe()", ""),
        "traceback": (
            "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    x = e.__traceback__",
            "",
        ),
    },
    "weak references": {
        "ref": ("import weakref\nclass K:\n    pass\nk = K()\nx = weakref.ref(k)", ""),
        "proxy": (
            "import weakref\nclass K:\n    pass\nk = K()\nx = weakref.proxy(k)",
            "",
        ),
    },
    "held locks": {
        "lock": (f"{THREADS}\nx = threading.Lock()\nx.acquire()", "x.release()"),
        "re-entrant": (f"{THREADS}\nx = threading.RLock()\nx.acquire()", "x.release()"),
    },
    "log handlers": {
        "handler": ("import logging\nx = logging.StreamHandler()", ""),
    },
    "progress bars": {
        "bar": ("import tqdm, io\nx = tqdm.tqdm(total=3, file=io.StringIO())", ""),
    },
    "widgets": {"slider": ("import ipywidgets\nx = ipywidgets.IntSlider()", "")},
    "the kernel": {
        "shell": (f"{SHELL}\nx = S.__new__(S)", ""),
    },
}
"""Kind, as the page calls it → {what: (a step that binds x, what lets go of it)}."""
OPTIONAL = {"torch tensors with a graph": "torch"}
"""Kinds whose library the project does not install: not run here."""
FLAT = [(kind, what) for kind, whats in CASES.items() for what in whats]


def rows(heading):
    """Return the first cells of the table below a heading of the page."""
    part = PAGE.read_text().split(f"## {heading}")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (.+?) \|", part, re.MULTILINE)
    return [cell for cell in cells if cell != "kind"]


def committed(tmp_path, *steps, **settings):
    """Return a lab and a kernel that ran these steps, named s0, s1 …."""
    cells = {f"s{n}": f"%%step s{n}\n{text}" for n, text in enumerate(steps)}
    lab = Lab(**cells)
    lab.tools["folder"] = str(tmp_path)
    kernel = lab.kernel(**settings)
    return lab, kernel


def release(kernel, text):
    """Let go of what a case holds, without a warning of the interpreter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(text or "pass", kernel.namespace)  # noqa: S102 - the case
        value = kernel.namespace.pop("x", None)
        if not text and hasattr(value, "close"):
            value.close()


def test_the_page_and_the_cases_agree():
    """Every row of the table is a case, and every case is a row."""
    kinds = rows("Values that are refused while they are captured")

    assert set(kinds) == CASES.keys() | OPTIONAL.keys()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(("kind", "what"), FLAT)
def test_it_is_named(tmp_path, kind, what):
    """At commit with the remedy, in the table, at a replay, and to who reads it."""
    make, let_go = CASES[kind][what]
    _, kernel = committed(tmp_path, make, "y = 5", "z = x")
    first = kernel.run("s0")
    kernel.run("s1")
    reason = kernel.commits("s0").not_kept["x"]
    table = kernel.step("s0")
    release(kernel, let_go)

    assert first.how == "ran"
    assert f"committed without x ({reason})" in first.text.replace("\n", " ")
    assert REMEDY in first.text
    assert table.not_kept == {"x": reason}
    again = kernel.restart()
    replayed = again.run("s0")
    assert replayed.how == "replayed"
    assert "x" not in again
    assert f"x ({reason})" in replayed.text
    assert again.run("s1").how == "replayed"
    refused = again.run("s2")
    assert refused.how == "refused"
    assert "s0" in refused.text
    assert "--always" in refused.text


@pytest.mark.parametrize(
    "holder", ["y = [0, {'deep': x}]", "class H:\n    pass\ny = H()\ny.deep = x"]
)
def test_it_is_named_deep_inside(tmp_path, holder):
    """What holds it is not kept either; all else is."""
    _, kernel = committed(tmp_path, f"x = (n for n in [1])\n{holder}\nz = [1]")
    said = kernel.run("s0").text

    assert re.search(r"without .*\bx \(", said)
    assert re.search(r"without .*\by \(", said)
    assert REMEDY in said
    assert kernel.restart().run("s0").how == "replayed"
    assert kernel.commits("s0").outputs.keys() >= {"z"}


def test_a_closed_file_is_named_by_who_asks(tmp_path):
    """Nobody misses it, so the commit says nothing; the record and resume do."""
    text = "with open(folder + '/f', 'w') as x:\n    pass"
    _, kernel = committed(tmp_path, text)
    said = kernel.run("s0").text

    assert "without" not in said
    assert kernel.commits("s0").not_kept == {"x": "a closed file"}
    again = kernel.restart()
    assert "x" in str(again.resume())
    assert "x" not in again


def test_a_value_that_cannot_be_pickled_is_named(tmp_path):
    """With the error of its own code as the reason."""
    text = (
        "class Bad:\n    def __reduce__(self):\n        raise OSError('no luck')\n"
        "x = Bad()\nz = 3"
    )
    _, kernel = committed(tmp_path, text)
    said = kernel.run("s0").text

    assert "without x (" in said
    assert "OSError: no luck" in said
    assert REMEDY in said


def test_a_value_that_pickling_changes_is_named(tmp_path):
    """It is as it was again, and not kept."""
    text = (
        "class Bad:\n    def __init__(self):\n        self.f = 1\n"
        "    def __getstate__(self):\n        self.f = None\n"
        "        return dict(self.__dict__)\nx = Bad()"
    )
    _, kernel = committed(tmp_path, text)
    said = kernel.run("s0").text

    assert "without x (pickling it changes its f)" in said
    assert kernel["x"].f == 1


def test_a_property_that_hides_a_slot_is_no_change(tmp_path):
    """Paths of Python 3.13 have one, and it returns another object each time."""
    text = (
        "class Base:\n    __slots__ = ('raw', 'n')\nclass Kept(Base):\n"
        "    __slots__ = ()\n    raw = property(lambda self: str([self.n]))\n"
        "    def __reduce__(self):\n        return Kept, (), (None, {'n': self.n})\n"
        "from pathlib import Path\nx = Kept()\nx.n = 5\ny = Path('a') / 'b'"
    )
    _, kernel = committed(tmp_path, text)
    said = kernel.run("s0").text

    assert "without" not in said
    again = kernel.restart()
    again.run("s0")
    assert again["x"].raw == "[5]"
    assert again["y"] == Path("a/b")


def test_an_always_step_brings_it_back(tmp_path):
    """The remedy that is named works."""
    lab, kernel = committed(tmp_path, "x = (n for n in [4, 5])", "y = next(x)")
    lab.edit(s0="%%step s0 --always\nx = (n for n in [4, 5])")
    kernel.go()
    again = kernel.restart()
    lab.edit(s1="%%step s1\ny = next(x) + next(x)")

    assert again.go() == ["s0", "s1"]
    assert again["y"] == 9


def test_deleting_the_name_leaves_nothing_to_lose(tmp_path):
    """The other remedy that the page names."""
    _, kernel = committed(tmp_path, "x = (n for n in [4])\ny = next(x)\ndel x")
    said = kernel.run("s0").text

    assert "without" not in said
    again = kernel.restart()
    again.run("s0")
    assert again["y"] == 4


PARTS = {
    "exceptions": (
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    x = e",
        "x.args == ('division by zero',) and x.__traceback__ is None",
    ),
    "`functools.lru_cache`": (
        "import functools\n@functools.lru_cache\ndef x(n):\n    return n\nx(1)",
        "x.cache_info().currsize == 0 and x(1) == 1",
    ),
    "a slice of a large Arrow array": (
        "import pyarrow as pa\nx = pa.array(range(100000))[10:20]",
        "x.to_pylist() == list(range(10, 20)) and x.nbytes < 1000",
    ),
    "`vars(x)` of an object with pickling code of its own": (
        (
            "class A:\n    def __getstate__(self):\n        return dict(vars(self))\n"
            "a = A()\na.n = 1\nx = [a, vars(a)]"
        ),
        "x[1] == {'n': 1} and x[0].n == 1 and x[1] is not vars(x[0])",
    ),
    "arrays": (
        "import numpy as np\nx = np.arange(5)",
        "not x.flags.owndata and x.flags.writeable and x.sum() == 10",
    ),
}
ELSEWHERE = {
    "a step that was settled by evidence",
    "`_`, `Out[n]`",
    "the recorded result of an effect",
}
"""Rows that are no value: tested with recovery and in real kernels."""


def test_the_page_names_every_part():
    """Every row of the second table is a case here or elsewhere."""
    assert set(rows("Values that come back without a part")) == PARTS.keys() | ELSEWHERE


@pytest.mark.parametrize("kind", PARTS)
def test_a_part_is_gone_and_nothing_else(tmp_path, kind):
    """As the page says it."""
    text, check = PARTS[kind]
    _, kernel = committed(tmp_path, text)
    assert kernel.run("s0").how == "ran"
    again = kernel.restart()
    again.run("s0")
    assert again["x"] is not None

    assert eval(check, again.namespace)  # noqa: S307 - the case


def test_values_beyond_the_ambient_limit_are_named(tmp_path):
    """What plain cells made and no step reads is kept up to a limit."""
    lab = Lab(p="big = bytes(3000)\nsmall = 1", a="%%step a\ny = small")
    kernel = lab.kernel(ambient_limit_bytes=1000)
    kernel.run("p")
    said = kernel.run("a").text

    assert "big" in said
    assert "not kept" in said or "without" in said


def test_an_edited_plain_cell_is_named_by_resume(tmp_path):
    """Its value is not brought back, and resume says so."""
    lab = Lab(p="k = [1]", a="%%step a\ny = 2")
    kernel = lab.kernel()
    kernel.go()
    again = kernel.restart()
    lab.edit(p="k = [2]")
    told = again.resume()

    assert "k" not in again
    assert "k" in str(told) + " ".join(again.screen.said)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("import os\nos.environ['MY_API_TOKEN'] = 'hu' + 'sh'", "MY_API_TOKEN"),
        ("import os\nos.environ['DB'] = 'x://me:' + 'pw@host/'", "DB"),
    ],
)
def test_process_state_that_is_not_kept_is_named(tmp_path, monkeypatch, text, named):
    """A secret of the environment, by its name and never by its value."""
    monkeypatch.delenv(named, raising=False)
    lab, kernel = committed(tmp_path, text)
    said = kernel.run("s0").text
    monkeypatch.delenv(named, raising=False)

    assert named in said
    stored = b"".join(lab.backend.files.values())
    assert b"hush" not in stored
    assert b"me:pw@host" not in stored
