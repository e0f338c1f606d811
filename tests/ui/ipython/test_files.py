"""Files of a real disk, read and made by the libraries that people use."""

import json
import os
import sys

import pytest


def records(shell):
    """Return step → its newest committed record."""
    found = {}
    for path in sorted(shell.store.glob("journal/*/*.rec")):
        envelope = json.loads(path.read_text())
        if envelope["kind"] == "nbresume.committed":
            found[envelope["payload"]["step"]] = envelope["payload"]
    return found


@pytest.fixture
def folder(shell, monkeypatch, tmp_path):
    """Return the notebook's folder as the working folder."""
    monkeypatch.chdir(shell.store.parent)
    return shell.store.parent


CSV = "a,b\n1,2\n3,4\n"
READERS = {
    "open": "with open('d.csv') as f:\n    x = f.read()",
    "path": "from pathlib import Path\nx = Path('d.csv').read_text()",
    "csv": "import csv\nwith open('d.csv') as f:\n    x = list(csv.reader(f))",
    "pandas": "import pandas as pd\nx = pd.read_csv('d.csv')",
    "by arrow": "import pandas as pd\nx = pd.read_csv('d.csv', engine='pyarrow')",
    "numpy": "import numpy as np\nx = np.loadtxt('d.csv', delimiter=',', skiprows=1)",
    "polars": "import polars as pl\nx = pl.read_csv('d.csv')",
    "lazily": "import polars as pl\nx = pl.scan_csv('d.csv').collect()",
    "a glob": "import polars as pl\nx = pl.scan_csv('./d*.csv').collect()",
    "arrow": "import pyarrow.csv as pc\nx = pc.read_csv('d.csv')",
    "the shell": "x = get_ipython().getoutput('cat d.csv')",
}


@pytest.mark.parametrize("how", READERS)
def test_a_file_is_an_input_however_it_is_read(shell, folder, how):
    """Seen by the audit hook, or by its name in the code."""
    (folder / "d.csv").write_text(CSV)
    assert shell.run(f"%%step load --pure\n{READERS[how]}", "load").ok
    name = "d*.csv" if "glob" in how else "d.csv"
    assert name in records(shell)["load"]["files"]
    (folder / "d.csv").write_text(CSV.replace("4", "5"))
    again = shell.run(f"%%step load --pure\n{READERS[how]}", "load")

    assert f"step load runs again: {name} changed" in again.text
    assert (
        "runs again"
        not in shell.run(f"%%step load --pure\n{READERS[how]}", "load").text
    )


WRITERS = {
    "open": "open('out.bin', 'w').write('1')",
    "pandas": "import pandas as pd\npd.DataFrame({'a': [1]}).to_csv('out.bin')",
    "numpy": "import numpy as np\nnp.save(open('out.bin', 'wb'), np.arange(3))",
    "polars": "import polars as pl\npl.DataFrame({'a': [1]}).write_csv('out.bin')",
    "moved": "import os\nopen('t', 'w').write('1')\nos.replace('t', 'out.bin')",
    "copied": "import shutil\nopen('t', 'w').close()\nshutil.copy('t', 'out.bin')",
}


@pytest.mark.parametrize("how", WRITERS)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_file_is_missed_however_it_was_made(shell, folder, how):
    """A step whose file is gone makes it again."""
    assert shell.run(f"%%step make\n{WRITERS[how]}", "make").ok
    assert "out.bin" in records(shell)["make"]["made"]
    (folder / "out.bin").unlink()
    again = shell.run(f"%%step make\n{WRITERS[how]}", "make")

    assert "out.bin is gone" in again.text
    assert (folder / "out.bin").exists()


def test_a_lazy_frame_counts_its_files_where_it_is_used(shell, folder):
    """Its plan is equal whatever the files say."""
    (folder / "d.csv").write_text(CSV)
    cells = {
        "scan": "%%step scan\nimport polars as pl\nlf = pl.scan_csv('d.csv')",
        "use": "%%step use\nn = lf.collect()['b'].sum()",
    }
    for name, code in cells.items():
        assert shell.run(code, name).ok
    (folder / "d.csv").write_text(CSV.replace("4", "5"))
    for name, code in cells.items():
        assert shell.run(code, name).ok

    assert shell.ip.user_ns["n"] == 7


def test_walking_and_listing_are_inputs(shell, folder):
    """A file that is put into a folder below is seen."""
    (folder / "d" / "e").mkdir(parents=True)
    code = "%%step look\nimport os\nfound = [f for *_, fs in os.walk('d') for f in fs]"
    assert shell.run(code, "look").ok
    (folder / "d" / "e" / "new").write_text("1")
    assert shell.run(code, "look").ok

    assert shell.ip.user_ns["found"] == ["new"]


def test_a_script_that_is_run_is_an_input(shell, folder):
    """``%run FILE`` counts the file."""
    (folder / "script.py").write_text("y = 1")
    code = "%%step run\n%run script.py"
    assert shell.run(code, "run").ok
    (folder / "script.py").write_text("y = 22")

    assert "script.py changed" in shell.run(code, "run").text
    assert shell.ip.user_ns["y"] == 22


def test_imports_and_packages_are_no_files_of_a_step(shell, folder):
    """A step that imports pandas for the first time reads some thousand files."""
    assert shell.run("%%step a\nimport json.tool, pandas.io.sas\nx = 1", "a").ok

    assert "files" not in records(shell)["a"]
    assert "made" not in records(shell)["a"]


@pytest.fixture
def module(folder, monkeypatch):
    """Return what writes a local module; it is forgotten afterwards."""
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)

    def write(name, text):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        os.utime(path, ns=(1, 1 + len(text)))

    yield write
    for name in set(sys.modules) - before:
        if name.partition(".")[0] in ("helpers_a", "helpers_b", "helpers_p"):
            del sys.modules[name]


def forget(*names):
    """Let this process be as a new kernel: without these modules."""
    for name in names:
        sys.modules.pop(name, None)


def test_a_local_module_counts_by_content(shell, module):
    """Also one that a local module imports, and one that a plain cell imported."""
    module("helpers_b.py", "K = 2\n")
    module("helpers_a.py", "import helpers_b\ndef f(): return helpers_b.K\n")
    plain, code = "import helpers_a", "%%step use\ny = helpers_a.f()"
    assert shell.run(plain, "p").ok
    assert shell.run(code, "use").ok
    assert set(records(shell)["use"]["files"]) == {"helpers_a.py", "helpers_b.py"}
    module("helpers_b.py", "K = 30\n")
    refused = shell.run(code, "use")
    assert not refused.ok
    assert "helpers_b.py was edited since this kernel imported it" in refused.text

    forget("helpers_a", "helpers_b")
    assert shell.run(plain, "p").ok
    again = shell.run(code, "use")
    assert "helpers_b.py changed" in again.text
    assert shell.ip.user_ns["y"] == 30


def test_a_module_that_was_reloaded_may_be_used(shell, module):
    """The refusal says how; the reload is seen."""
    module("helpers_a.py", "def f(): return 1\n")
    code = "%%step use\nimport helpers_a\ny = helpers_a.f()"
    assert shell.run(code, "use").ok
    module("helpers_a.py", "def f(): return 22\n")
    assert not shell.run(code, "use").ok
    assert shell.run("import importlib, helpers_a\nimportlib.reload(helpers_a)", "p").ok

    assert shell.run(code, "use").ok
    assert shell.ip.user_ns["y"] == 22


def test_a_function_and_an_object_of_a_local_module_bring_it_along(shell, module):
    """The step names neither the module nor the class."""
    module("helpers_p/__init__.py", "")
    module("helpers_p/part.py", "class C:\n    k = 1\n\ndef f(): return 1\n")
    plain = "from helpers_p.part import C, f\nboxes = [C()]"
    assert shell.run(plain, "p").ok
    assert shell.run("%%step a\nx = f()", "a").ok
    assert shell.run("%%step b\ny = boxes[0].k", "b").ok

    assert "helpers_p/part.py" in records(shell)["a"]["files"]
    assert "helpers_p/part.py" in records(shell)["b"]["files"]
