"""What makes no note: computing, files, imports, workers, and the kernel itself."""

import json

import pytest
from real_kernel import LOAD, Kernel, plant, save

pytestmark = [pytest.mark.kernel, pytest.mark.long]

STARTS = """
import os, socket, subprocess
subprocess.run(["true"])
os.system("true")
def act(_):
    os.system("true")
    try:
        socket.create_connection(("127.0.0.1", 9))
    except OSError:
        pass
    return os.getpid()
"""
LAZY = "def load():\n    import starts\n"
POOL = "import multiprocessing, starts\nwith multiprocessing.get_context('{}').Pool(2) "
POOL += "as pool:\n    pids = pool.map(starts.act, [1, 2])"

QUIET = {
    "computing": "import numpy as np\nimport pandas as pd\n"
    "t = pd.DataFrame({'a': np.arange(9)})\nt.to_csv('t.csv')\n"
    "t.to_parquet('t.parquet')\nsame = pd.read_csv('t.csv')",
    "plotting": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\n"
    "plt.savefig('plot.png')\nplt.show()",
    "files": "import pathlib, shutil, tempfile\npathlib.Path('x').write_text('x')\n"
    "shutil.copy('x', 'y')\nfolder = tempfile.mkdtemp()",
    "import": "import starts",
    "import-later": "import lazy\nlazy.load()",
    "fork": POOL.format("fork"),
    "forkserver": POOL.format("forkserver"),
    "spawned": POOL.format("spawn"),
    "executor": "from concurrent.futures import ProcessPoolExecutor\nimport starts\n"
    "with ProcessPoolExecutor(2) as pool:\n    pids = list(pool.map(starts.act, [1]))",
    "loky": "from joblib import Parallel, delayed\nimport starts\n"
    "pids = Parallel(n_jobs=2)(delayed(starts.act)(n) for n in range(2))",
    "joblib-fork": "from joblib import Parallel, delayed\nimport starts\n"
    "pids = Parallel("
    "n_jobs=2, backend='multiprocessing')(delayed(starts.act)(n) for n in range(2))",
    "manager": "import multiprocessing\n"
    "with multiprocessing.get_context('fork').Manager() as manager:\n"
    "    shared = manager.dict()\n    shared['a'] = 1\n    value = shared['a']\n"
    "    del shared\ndel manager",
    "event-loops": "import asyncio, threading\nawait asyncio.sleep(0.01)\n"
    "t = threading.Thread(target=asyncio.run, args=[asyncio.sleep(0.01)])\n"
    "t.start(); t.join(); del t",
    "socket-pair": "import socket\na, b = socket.socketpair()\na.sendmsg([b'x'])\n"
    "a.close(); b.close(); del a, b",
    "database-in-memory": "import sqlite3\nc = sqlite3.connect(':memory:')\n"
    "c.execute('create table t (a)'); c.close(); del c",
    "reading-programs": "!ls\n!uname -a\nlines = !pwd\nimport platform, subprocess\n"
    "_p = subprocess.run(['git', 'rev-parse', 'HEAD'], capture_output=True)\n"
    "import ctypes.util\nlibrary = ctypes.util.find_library('m')\ndel _p",
    # the thread of IPython that opens the history's database when it starts
    "history": "import time\nfrom IPython.core.history import HistorySavingThread\n"
    "_t = HistorySavingThread(get_ipython().history_manager)\n"
    "_t.start(); time.sleep(0.5); _t.stop(); del _t",
    "progress": "from tqdm.auto import tqdm\nfor _i in tqdm(range(3)):\n    pass",
}


FAULTS = {
    "imports-count": (
        "import",
        "from nbresume.run import outside\noutside._is_importing = lambda *_: False",
    ),
    "workers-count": (
        "fork",
        "from nbresume.run import outside\noutside._FORKS_WORKERS = ''",
    ),
    "children-are-watched": (
        "fork",
        (
            "from nbresume.compose.watch import _ProcessHook\n"
            "def tell(self, name, args, frame):\n"
            "    for told, events in self._watchers:\n"
            "        if name in events:\n            told(name, args, frame)\n"
            "_ProcessHook._tell = tell"
        ),
    ),
    "worker-sockets-count": (
        "manager",
        (
            "import re\nfrom nbresume.run import outside\n"
            "outside._OWN_WORKERS = re.compile('nothing')"
        ),
    ),
    "pairs-count": (
        "socket-pair",
        (
            "from nbresume.run import outside\nreach = outside._reach\n"
            "outside._reach = lambda verb, sock, address, own: "
            "reach(verb, sock, address or '?', own)"
        ),
    ),
    "history-counts": (
        "history",
        (
            "from nbresume.run.ports import OwnCalls\n"
            "from nbresume.ui.ipython import magics\n"
            "magics._own_calls = lambda _: OwnCalls()"
        ),
    ),
    "reading-counts": (
        "reading-programs",
        "from nbresume.run import outside\noutside.READ_ONLY_PROGRAMS = {}",
    ),
}


@pytest.fixture(scope="module")
def quiet(tmp_path_factory):
    """Return a folder in which every quiet step ran in one kernel."""
    folder = tmp_path_factory.mktemp("quiet")
    (folder / "starts.py").write_text(STARTS)
    (folder / "lazy.py").write_text(LAZY)
    cells = {name: f"%%step {name}\n{body}" for name, body in QUIET.items()}
    save(folder / "main.ipynb", LOAD, *cells.items())
    # without a cache of fonts, importing matplotlib looks for them with fc-list
    with Kernel(folder, env={"MPLCONFIGDIR": str(folder / "mpl")}) as kernel:
        kernel.ok(LOAD, "c0")
        for name, cell in cells.items():
            assert kernel.run(cell, name).status == "ok", name
    return folder


def commits(folder):
    """Return the payload of each commit by the name of its step."""
    records = sorted((folder / ".nbresume").glob("journal/*/*.rec"))
    payloads = [json.loads(path.read_bytes())["payload"] for path in records]
    return {p["step"]: p for p in payloads if "commit_number" in p}


@pytest.mark.parametrize("name", QUIET)
def test_a_quiet_step_is_not_seen(quiet, name):
    """Nothing of it is evidence, so it is neither in doubt nor locked."""
    record = commits(quiet)[name]

    assert record.get("seen", []) == []
    assert record["effects"] == []


def test_there_is_no_note_at_all(quiet):
    """Not even the folder was made."""
    assert not (quiet / ".nbresume" / "seen").exists()


@pytest.mark.parametrize(("name", "fault"), FAULTS.values(), ids=list(FAULTS))
def test_a_planted_fault_is_caught(tmp_path, name, fault):
    """Without the rule that its cell is about, a quiet step makes a note."""
    (tmp_path / "starts.py").write_text(STARTS)
    cell = f"%%step {name}\n{QUIET[name]}"
    save(tmp_path / "main.ipynb", LOAD, cell)
    with Kernel(tmp_path, env=plant(tmp_path / "fault", fault)) as kernel:
        kernel.ok(LOAD, "c0")
        # how the cell ends is not asked: two children that make notes get into each
        # other's way now and then, and that is what the rule is for
        kernel.run(cell, "c1")

    assert list(tmp_path.glob(".nbresume/seen/*/*"))
