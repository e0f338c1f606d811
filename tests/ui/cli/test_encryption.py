"""Encryption in real processes: a canary, a lost key, tenants."""

import base64
import json
import os
import secrets
import subprocess
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernel" / "durability"))

from real_kernel import LOAD, hashes, save

pytestmark = pytest.mark.kernel

ON = {"NBRESUME_ENCRYPT": "1"}
LOG = "import logging\nlogging.basicConfig(filename='log.txt', level=0)"
# the canary is read from a file, backwards: it stands in no cell and no variable
READ = "secret = open('seed.txt').read()[::-1]"
WRITTEN = "written-in-a-cell"
ABOUT = "written-into-metadata"
CELLS = [
    LOAD,
    f"{LOG}\n{READ}",
    f"""%%step values
name = '{WRITTEN}'
small = {{'k': [secret]}}
class Holder:
    pass
held = Holder()
held.text = secret * 3
big = [secret + str(n) for n in range(60_000)]""",
    """%%step arrays
import numpy as np
array = np.random.default_rng(1).integers(0, 255, 4_000_000, dtype='u1')
array[:len(secret)] = list(secret.encode())
array[3_000_000:3_000_000 + len(secret)] = list(secret.encode())""",
    """%%step frame
import pandas as pd
table = pd.DataFrame({'t': [secret] * 5})""",
    """%%step lazy
import dask.array, dask.dataframe
cloud = dask.array.from_array(array, chunks=1_500_000)
sheet = dask.dataframe.from_pandas(table, npartitions=1)""",
    """%%step shown
from IPython.display import HTML, display
display(HTML('<b>' + secret + '</b>'), metadata={'about': secret})
print(secret)""",
    """%%step call --effects
import nbresume
got = nbresume.effect('k1', lambda text: text + '!', secret)""",
    """%%step loop
import nbresume
parts = []
for n in nbresume.resumable(range(3), every=1):
    parts.append(secret + str(n))""",
    """%%step failing
if True:
    raise ValueError('it was ' + secret)""",
]


def forms(text):
    """Return how a text may be written down."""
    data = text.encode()
    whole = base64.b64encode(data * 3)
    return [data, text.encode("utf-16-le"), data.hex().encode(), whole[4:30]]


def found_in(path, text):
    """Say whether a file holds a text; a file that goes meanwhile does not."""
    try:
        data = path.read_bytes()
    except OSError:
        return False
    return any(form in data for form in forms(text))


def files_below(folder):
    """Return the files below a folder; folders may go meanwhile (rglob fails then)."""
    return [Path(at, name) for at, _, names in os.walk(folder) for name in names]


class Watch(threading.Thread):
    """Looks at every file below some folders again and again: none is kept long."""

    def __init__(self, text, *folders):
        super().__init__()
        self._text, self._folders = text, folders
        self._ended = threading.Event()
        self.found = set()
        self.looks = 0

    def run(self):
        """Look until it is enough."""
        while not self._ended.is_set():
            self.look()

    def look(self):
        """Note the files that hold the text now."""
        self.looks += 1
        paths = [path for folder in self._folders for path in files_below(folder)]
        self.found |= {path for path in paths if found_in(path, self._text)}

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        self.join()
        self.look()


@pytest.fixture
def folder(tmp_path):
    """Return a folder for a notebook, beside one for data and one for temporary files.

    The user's data folder holds what kernels and Jupyter write for themselves, too.
    """
    for name in ("work", "data", "tmp"):
        (tmp_path / name).mkdir()
    return tmp_path / "work"


def run(folder, *words, **env):
    """Run a command as a process of its own; return its code and all it printed."""
    own = {
        "JUPYTER_DATA_DIR": str(folder.parent / "data"),
        "JUPYTER_RUNTIME_DIR": str(folder.parent / "data" / "runtime"),
        "IPYTHONDIR": str(folder.parent / "data" / "ipython"),
        "TMPDIR": str(folder.parent / "tmp"),
    }
    done = subprocess.run(
        [sys.executable, "-m", "nbresume", *words],
        cwd=folder,
        env={**os.environ, **own, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=180,
    )
    assert "Traceback (most recent call last)" not in done.stdout, done.stdout
    return done.returncode, done.stdout


def with_canary(folder):
    """Save a notebook whose values hold a canary; return the canary."""
    canary = f"canary-{secrets.token_hex(20)}"
    (folder / "seed.txt").write_text(canary[::-1])
    save(folder / "main.ipynb", *CELLS)
    notebook = json.loads((folder / "main.ipynb").read_text())
    notebook["metadata"]["about"] = ABOUT
    notebook["cells"][2]["metadata"]["about"] = ABOUT
    (folder / "main.ipynb").write_text(json.dumps(notebook))
    return canary


def looked_at(folder):
    """Look at values, take backups, take values away, as people do; all of it works."""
    for words in (
        ["inspect", "main.ipynb", "values"],
        ["inspect", "main.ipynb", "shown"],
        ["history", "main.ipynb", "--access"],
        ["explain", "main.ipynb", "arrays"],
        ["verify", "main.ipynb"],
        ["export", "main.ipynb", "run.zip"],
        ["import", "run.zip", "copied"],
        ["erase", "main.ipynb", "frame", "--yes", "--because", "a test"],
        ["gc", "--yes", "--grace", "0"],
        ["run", "main.ipynb"],
    ):
        code, said = run(folder, *words)
        assert code == (words[0] == "run"), said


@pytest.mark.long
def test_a_canary_is_found_nowhere(folder):
    """Not in the store, a backup, temporary files, logs or the notebook's metadata."""
    canary = with_canary(folder)
    places = [folder / ".nbresume", folder / "copied", folder.parent / "tmp"]
    with Watch(canary, *places, folder.parent / "data") as watch:
        code, said = run(folder, "run", "main.ipynb", **ON)
        assert code == 1, said
        looked_at(folder)
    texts = {text: Watch(text, *places) for text in (WRITTEN, ABOUT)}
    for one in texts.values():
        one.look()

    assert "ValueError" in said
    assert watch.looks > 10
    # IPython keeps a history of what was typed, and that is not ours
    assert {p for p in watch.found if "ipython" not in p.parts} == set()
    assert [one.found for one in texts.values()] == [set(), set()]
    for kept in (folder / "log.txt", folder / "run.zip"):
        assert not any(found_in(kept, text) for text in (canary, WRITTEN, ABOUT))
    notebook = json.loads((folder / "main.ipynb").read_text())
    cells = [cell["metadata"] for cell in notebook["cells"]]
    assert canary not in json.dumps([notebook["metadata"], cells])
    packs = [path for path in places[0].rglob("c.*") if path.is_file()]
    assert len(packs) > 8
    assert (folder.parent / "data" / "nbresume" / "access").is_dir()
    assert (folder / "copied" / "keys").is_dir()
    assert run(folder, "status", "main.ipynb")[1].count("committed") >= 7


@pytest.mark.long
def test_the_canary_would_be_found(folder):
    """In a store in the clear the same look finds it: it looks in the right places."""
    canary = with_canary(folder)
    run(folder, "run", "main.ipynb")
    assert run(folder, "export", "main.ipynb", "run.zip")[0] == 0

    found = {}
    for text in (canary, WRITTEN):
        watch = Watch(text, folder / ".nbresume")
        watch.look()
        # the groups of attempts
        found[text] = {path.relative_to(folder).parts[3] for path in watch.found}
    # of all nine: values, an array, a frame, lazy ones, a display, a result, progress
    assert len(found[canary]) >= 7
    assert any("-progress-" in group for group in found[canary])
    assert any("-effect-" in group for group in found[canary])
    assert found[WRITTEN]
    assert found_in(folder / "run.zip", canary)


STEPS = [LOAD, "%%step a\nx = [1, 2]", "%%step b\ny = x + [3]\nprint(y)"]


def restored(folder):
    """Return how many cells show what was restored."""
    return (folder / "main.ipynb").read_text().count("[restored]")


def test_an_encrypted_run_resumes(folder):
    """With the key everything is as it is without encryption; a copy is advised."""
    save(folder / "main.ipynb", *STEPS)
    code, said = run(folder, "run", "main.ipynb", **ON)
    first = (folder / "main.ipynb").read_text()
    again, _ = run(folder, "run", "main.ipynb")

    assert (code, again) == (0, 0), said
    assert "nbresume key export" in first
    assert restored(folder) == 2
    assert run(folder, "verify", "main.ipynb")[0] == 0
    assert "[1, 2]" in run(folder, "inspect", "main.ipynb", "a")[1]


@pytest.mark.long
def test_lost_key_drill(folder):
    """The store lists, decisions can be read, nothing loads, and it is said why.

    No key is made in place of the lost one; when it is back, all is as it was.
    """
    save(folder / "main.ipynb", *STEPS)
    assert run(folder, "run", "main.ipynb", **ON)[0] == 0
    key = folder.parent / "data" / "nbresume" / "key"
    text = key.read_text()
    key.unlink()
    before = hashes(folder / ".nbresume")

    for words in (
        ["runs"],
        *([c, "main.ipynb"] for c in ("status", "history", "plan")),
    ):
        code, said = run(folder, *words)
        assert code == 0, said
        assert "Lost without it are the values" in said
    assert "a     committed" in run(folder, "status", "main.ipynb")[1]
    assert "committed as number 1" in run(folder, "history", "main.ipynb")[1]
    for words in (["run", "main.ipynb"], ["inspect", "main.ipynb", "a"]):
        code, said = run(folder, *words, **ON)
        assert code == 2, said
        assert "Lost without it are the values" in said
        assert "[1, 2" not in said
    assert run(folder, "verify", "main.ipynb")[0] != 0
    assert hashes(folder / ".nbresume") == before
    assert not key.exists()

    key.write_text(text)
    key.chmod(0o600)
    code, said = run(folder, "run", "main.ipynb")
    assert code == 0, said
    assert restored(folder) == 2


@pytest.mark.long
def test_trusting_the_records_brings_no_value_back(folder):
    """Without the key `trust` accepts what was decided; values stay lost."""
    save(folder / "main.ipynb", *STEPS)
    assert run(folder, "run", "main.ipynb", **ON)[0] == 0
    (folder.parent / "data" / "nbresume" / "key").unlink()

    assert run(folder, "trust", ".nbresume")[0] == 0
    code, said = run(folder, "run", "main.ipynb")

    assert code == 2
    assert "SealedError" in said
    assert "not trusted" not in run(folder, "status", "main.ipynb")[1]


@pytest.mark.long
def test_a_wrong_key_is_told(folder):
    """Which key it takes, and which one was given."""
    save(folder / "main.ipynb", *STEPS)
    right, wrong = secrets.token_hex(32), secrets.token_hex(32)
    assert run(folder, "run", "main.ipynb", NBRESUME_KEY=right, **ON)[0] == 0

    code, said = run(folder, "run", "main.ipynb", NBRESUME_KEY=wrong)

    assert code == 2
    assert "they take the key" in said
    assert "(NBRESUME_KEY)" in said
    assert not any(key in said for key in (right, wrong))
    assert run(folder, "run", "main.ipynb", NBRESUME_KEY=right)[0] == 0
    assert restored(folder) == 2


@pytest.mark.long
def test_each_tenant_reads_with_its_own_key_alone(folder):
    """Two stores with two keys: neither key opens the other's."""
    keys = {name: secrets.token_hex(32) for name in ("one", "two")}
    for name, key in keys.items():
        save(folder / f"{name}.ipynb", *STEPS)
        env = {"NBRESUME_KEY": key, "NBRESUME_STORE": f"store-{name}"}
        code, said = run(folder, "run", f"{name}.ipynb", **ON, **env)
        assert code == 0, said

    for mine, other in (("one", "two"), ("two", "one")):
        env = {"NBRESUME_KEY": keys[mine], "NBRESUME_STORE": f"store-{other}"}
        code, said = run(folder, "inspect", f"{other}.ipynb", "a", **env)
        assert code == 2
        assert "they take the key" in said


def test_a_store_in_the_clear_is_refused_when_it_has_to_be_encrypted(folder):
    """Turning it on does not leave a store as it is without a word."""
    save(folder / "main.ipynb", *STEPS)
    assert run(folder, "run", "main.ipynb")[0] == 0
    before = hashes(folder / ".nbresume")

    code, said = run(folder, "run", "main.ipynb", **ON)

    assert code == 2
    assert "it keeps values in the clear" in said
    assert hashes(folder / ".nbresume") == before


@pytest.mark.long
def test_without_the_package_it_is_said_what_to_install(folder):
    """Listing goes on; nothing is written in the clear instead."""
    save(folder / "main.ipynb", *STEPS)
    assert run(folder, "run", "main.ipynb", **ON)[0] == 0
    (folder.parent / "hidden").mkdir()
    (folder.parent / "hidden" / "cryptography.py").write_text("raise ImportError")
    path = os.pathsep.join([str(folder.parent / "hidden"), *filter(None, sys.path)])

    listed, said = run(folder, "status", "main.ipynb", PYTHONPATH=path)
    code, refused = run(folder, "run", "main.ipynb", PYTHONPATH=path)
    new = {"NBRESUME_STORE": "another", "PYTHONPATH": path}
    made, unmade = run(folder, "run", "main.ipynb", **ON, **new)

    assert (listed, code, made) == (0, 2, 2)
    for text in (said, refused, unmade):
        assert "nbresume[encryption]" in text
    assert not list((folder / "another").glob("data.zarr"))
