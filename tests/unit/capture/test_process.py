"""What a step changed in its process is there again in another process."""

import json
import os
import subprocess
import sys
import time
import types
import warnings

import numpy as np
import pandas as pd
import pytest

from nbresume.capture import process
from nbresume.capture.pickling import dump_atoms
from nbresume.capture.rebuild import rebuild_atoms
from nbresume.errors import CaptureError

_STEP = """
import json, sys
from nbresume.capture import pickling, process
{setup}
before, known = process.snapshot(), process.libraries()
{change}
after = process.snapshot()
made = process.changes(before, after, libraries_before=known)
open(sys.argv[1], "wb").write(pickling.dump_atoms(
    {{k: None if v is process.GONE else v for k, v in made.items()}}))
print(json.dumps([
    {{k: process.version(v) for k, v in made.items()}},
    process.not_kept(before, after, libraries_before=known), {look}]))
"""
_RESTORE = """
import json, sys
from nbresume.capture import process
from nbresume.capture.rebuild import rebuild_atoms
{setup}
made = rebuild_atoms(open(sys.argv[1], "rb").read())
for k, v in made.items():
    process.apply(k, process.GONE if v is None else v)
print(json.dumps([{{k: process.version(process.GONE if v is None else v)
    for k, v in made.items()}}, process.pending(), {look}]))
"""


def _run(code, file, seed, **variables):
    env = os.environ | variables | {"PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, "-c", code, str(file)],
        check=True,
        capture_output=True,
        text=True,
        env=env,
    )
    return json.loads(done.stdout)


def _step(file, change, look="0", setup="", **variables):
    code = _STEP.format(setup=setup, change=change, look=look)
    return _run(code, file, "1", **variables)


def _restore(file, look="0", setup="", **variables):
    return _run(_RESTORE.format(setup=setup, look=look), file, "2", **variables)


_NP = "import numpy as np"
_PD = "import pandas as pd"
_MPL = "import matplotlib as mpl"
_CASES = {
    "rng:random": ("import random", "random.seed(3); random.gauss(0, 1)", "random"),
    "rng:numpy": (_NP, "np.random.seed(3); np.random.normal()", "np.random"),
    "env:NEW": ("import os", 'os.environ["NEW"] = "ä\\udc80"', 'os.environ["NEW"]'),
    "env:TZ": (
        "import os, time",
        'os.environ["TZ"] = "Asia/Tokyo"; time.tzset()',
        "time.localtime(0).tm_hour",
    ),
    "env:HERE": ("import os", 'del os.environ["HERE"]', 'os.environ.get("HERE")'),
    "cwd": ("import os", 'os.chdir("/")', "os.getcwd()"),
    "sys.path": ("import sys", 'sys.path.insert(0, "/x"); sys.path.pop()', "sys.path"),
    "decimal": (
        "import decimal",
        "c = decimal.getcontext(); c.prec = 5; c.traps[decimal.Inexact] = True",
        "[decimal.getcontext().prec, decimal.getcontext().traps[decimal.Inexact]]",
    ),
    "warnings": (
        "import warnings, json.decoder",
        """warnings.filterwarnings('ignore', 'a.*b', FutureWarning, r'x\\.y')
warnings.simplefilter('error', ResourceWarning, append=True)""",
        "[str(f) for f in warnings.filters]",
    ),
    "numpy.print": (
        _NP,
        "np.set_printoptions(precision=3, formatter={'float': '{:.1f}'.format})",
        "str(np.arange(3.0))",
    ),
    "numpy.err": (_NP, "np.seterr(divide='raise')", "np.geterr()"),
    "pandas.options": (
        _PD,
        """pd.options.display.float_format = '{:.1f}'.format
pd.set_option('display.max_rows', 4)""",
        "str(pd.Series([1.234] * 9))",
    ),
    "matplotlib.rc": (
        _MPL,
        """import matplotlib.style; mpl.style.use('ggplot')
mpl.rcParams['font.family'].append('serif')""",
        """[str(mpl.rcParams[k]) for k in (
'axes.prop_cycle', 'font.family', 'axes.facecolor', 'lines.dash_capstyle')]""",
    ),
}
_DRAW = {
    "random": "[random.gauss(0, 1), random.random()]",
    "np.random": "list(np.random.normal(size=700))",
}


@pytest.mark.parametrize("name", _CASES)
def test_a_change_is_there_in_another_process(name, tmp_path):
    """Whatever the hash seed, the same state under the same version."""
    setup, change, look = _CASES[name]
    look = _DRAW.get(look, look)
    file = tmp_path / "states"

    versions, lost, expected = _step(file, change, look, setup, HERE="1")
    again, pending, actual = _restore(file, look, setup, HERE="1")

    assert {name} == set(versions)
    assert (lost, pending) == ({}, [])
    assert expected == actual
    assert versions == again


def test_an_unchanged_state_is_not_stored(tmp_path):
    """A step that only reads leaves nothing behind."""
    setup = "\n".join(setup for setup, _, _ in _CASES.values())
    looks = [_DRAW.get(look) or f"str({look})" for _, _, look in _CASES.values()]
    # Drawing changes a generator, looking at all others changes nothing.
    looks = ", ".join(look for look in looks if look not in _DRAW.values())

    found = _step(tmp_path / "s", f"os.environ['NEW']\n[{looks}]", "0", setup, NEW="")
    assert found[:2] == [{}, {}]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("import numpy, numpy.random", set()),
        ("import pandas as pd, matplotlib.pyplot", set()),
        ("import numpy as np; np.random.seed(0)", {"rng:numpy"}),
        ("import numpy as np; np.random.seed()", set()),
        ("import numpy as np; np.random.seed([1, 2])", {"rng:numpy"}),
        ("import numpy as np; np.random.rand()", {"rng:numpy"}),
        ("import numpy as np; np.set_printoptions(precision=2)", {"numpy.print"}),
        ("import numpy as np; np.seterr(all='ignore')", {"numpy.err"}),
        (
            "import pandas as pd; pd.set_option('display.width', 9)",
            {"pandas.options"},
        ),
        (
            "import matplotlib as m; m.rcParams['figure.figsize'] = (1, 2)",
            {"matplotlib.rc"},
        ),
        (
            "import matplotlib.pyplot as p; p.switch_backend('svg'); p.ion()",
            set(),
        ),
    ],
)
def test_defaults_that_an_import_brings_are_no_change(change, expected, tmp_path):
    """Options that the step set right after the import are one."""
    # Imports add warning filters and set variables for their own threads.
    made = set(_step(tmp_path / "s", change)[0]) - {"warnings"}
    assert expected == {name for name in made if not name.startswith("env:")}


def test_only_the_options_that_were_set_are_kept(tmp_path):
    """What a plain cell set elsewhere is not undone by a replay."""
    _step(tmp_path / "s", "pd.set_option('display.max_rows', 4)", setup=_PD)
    look = "[pd.get_option('display.max_rows'), pd.get_option('display.width')]"

    setup = _PD + "; pd.set_option('display.width', 33)"
    assert _restore(tmp_path / "s", look, setup)[2] == [4, 33]


def test_a_state_waits_until_its_library_is_loaded(tmp_path):
    """No library is imported to set five kilobytes of it."""
    change = "np.random.seed(5); np.seterr(all='raise'); pd.options.display.width = 7"
    _step(tmp_path / "s", change, setup=f"{_PD}; {_NP}")
    look = """[
        [m in sys.modules for m in ("numpy", "pandas")],
        process.apply_pending(),
        __import__("numpy").__name__,
        "numpy.random" in sys.modules,
        process.apply_pending(),
        process.pending(),
        "pandas" in sys.modules,
        __import__("numpy").geterr()["over"],
        __import__("numpy").random.rand(),
    ]"""
    _, pending, found = _restore(tmp_path / "s", look)

    assert pending == ["numpy.err", "pandas.options", "rng:numpy"]
    assert found[:3] == [[False, False], None, "numpy"]
    assert found[4:8] == [None, ["pandas.options"], False, "raise"]
    assert found[8] == pytest.approx(0.22199317)


def test_other_generators_of_numpy_come_back(tmp_path):
    """A program may have set the global stream's own kind of bits."""
    change = "np.random.set_bit_generator(np.random.{}(3)); np.random.normal()"
    for kind in ("PCG64", "Philox", "SFC64"):
        file = tmp_path / kind
        expected = _step(file, change.format(kind), "np.random.rand()", _NP)[2]

        assert expected == _restore(file, "np.random.rand()", _NP)[2]


def test_secrets_are_named_and_never_stored(tmp_path):
    """Neither a name that looks secret nor an address with a password is kept."""
    change = (
        "import os; os.environ.update(MY_API_KEY='hush', OLD_TOKEN='hush', PLAIN='1',"
        "DATABASE='postgres://me:hush@db/x')"
    )
    versions, lost, _ = _step(tmp_path / "s", change, OLD_TOKEN="before")  # noqa: S106 - no secret

    assert list(versions) == ["env:PLAIN"]
    assert {"env:MY_API_KEY", "env:OLD_TOKEN", "env:DATABASE"} == set(lost)
    assert b"hush" not in (tmp_path / "s").read_bytes()


def test_a_snapshot_holds_no_secret(monkeypatch):
    """Not even in memory: only whether it changed."""
    monkeypatch.setenv("SOME_SECRET", "hush-hush")

    assert "hush-hush" not in repr(process.snapshot())


def test_variables_of_the_terminal_and_of_jupyter_are_left_out(monkeypatch):
    """They describe this kernel, not the step."""
    before = process.snapshot()
    for name in ("COLUMNS", "PWD", "JPY_SESSION_NAME", "NBRESUME_X", "PYTEST_X"):
        monkeypatch.setenv(name, "x")

    assert before.keys() == process.snapshot().keys()


def test_functions_among_the_options_are_told(tmp_path):
    """A lambda that formats floats cannot come back; the other options do."""
    change = (
        "pd.options.display.float_format = lambda x: 'x'; pd.options.display.width = 9"
    )
    versions, lost, _ = _step(tmp_path / "s", change, setup=_PD)

    assert ["pandas.options"] == list(versions) == list(lost)
    assert "display.float_format: a value of type function" in lost["pandas.options"]


def test_a_warning_made_in_the_notebook_is_told(tmp_path):
    """Its class is the notebook's; filters with it are not kept."""
    change = (
        "import warnings\n"
        "class W(Warning): pass\n"
        "W.__module__ = '__main__'\n"
        "warnings.simplefilter('ignore', W)\n"
        "warnings.simplefilter('ignore', UserWarning)\n"
    )
    versions, lost, _ = _step(tmp_path / "s", change)
    found = _restore(
        tmp_path / "s", "[f[2].__name__ for f in __import__('warnings').filters]"
    )[2]

    assert ["warnings"] == list(versions) == list(lost)
    assert found[0] == "UserWarning"


def test_a_filter_waits_for_the_library_of_its_warning(tmp_path):
    """The library is not imported for it."""
    change = (
        "import warnings; warnings.simplefilter('ignore', np.exceptions.RankWarning)"
    )
    _step(tmp_path / "s", change, setup=_NP)
    look = (
        "['numpy' in sys.modules, __import__('numpy.exceptions') and None,"
        "process.apply_pending(), process.pending(),"
        "__import__('warnings').filters[0][2].__name__]"
    )
    _, pending, found = _restore(tmp_path / "s", look)

    assert pending == ["warnings"]
    assert found == [False, None, None, [], "RankWarning"]


def test_restored_filters_act_at_once(tmp_path):
    """Python's C part keeps a version of the filters."""
    change = "import warnings; warnings.filterwarnings('error', 'bad.*')"
    _step(tmp_path / "s", change)
    setup = (
        "import warnings\nwarnings.simplefilter('ignore')\n"
        "def tell():\n"
        "    try: warnings.warn('bad news')\n"
        "    except UserWarning: return True\n"
        "    return False\n"
        "first = tell()"
    )

    assert _restore(tmp_path / "s", "[first, tell()]", setup)[2] == [False, True]


def test_a_folder_that_is_gone_is_told(tmp_path):
    """One sentence, and the process stays where it is."""
    here = os.getcwd()  # noqa: PTH109
    with pytest.raises(CaptureError, match=r"cannot be entered.*No such file"):
        process.apply("cwd", str(tmp_path / "gone"))

    assert here == os.getcwd()  # noqa: PTH109


def test_a_state_that_cannot_be_set_is_told():
    """With its name, and what to type."""
    with pytest.raises(CaptureError, match="rng:random cannot be set"):
        process.apply("rng:random", (3, (), None))
    with pytest.raises(CaptureError, match="state future is not known"):
        process.apply("future", 1)


def test_one_option_that_is_refused_stops_no_other(monkeypatch):
    """Another release of a library may lack an option."""
    state = {"display.no_such": 1, "display.width": 44}
    with pd.option_context("display.width", 80):
        with pytest.raises(CaptureError, match=r"display\.no_such"):
            process.apply("pandas.options", state)

        assert pd.get_option("display.width") == 44


def test_what_only_this_step_made_is_put_back(tmp_path):
    """Folder, variables, options and path; never a generator."""
    change = (
        "base = process.baseline()\n"
        "import os, random, warnings, decimal\n"
        "import pandas as pd; pd.options.display.width = 5\n"
        "random.seed(1); os.chdir('/'); sys.path.insert(0, '/x'); sys.path.pop()\n"
        "os.environ['A'] = '1'; os.environ['HERE'] = '2'\n"
        "decimal.getcontext().prec = 3\n"
        "warnings.simplefilter('ignore'); np.seterr(all='raise')\n"
    )
    look = """[
        [process.apply(k, d) for k, v in made.items()
         if (d := process.restorable_default(k, base, made=v)) is not None] and 0,
        {k: v for k, v in process.changes(before, process.snapshot(),
         libraries_before=known).items()}]"""
    _, _, (_, left) = _step(tmp_path / "s", change, look, _NP, HERE="1")

    assert {"rng:random"} == set(left)


def test_a_base_puts_back_whole_lists_and_options():
    """Without the step's own state, everything is as when the base was taken."""
    base = process.baseline()
    with np.printoptions(precision=3):
        state = process.restorable_default("numpy.print", base)
    before = list(warnings.filters)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        process.apply("warnings", process.restorable_default("warnings", base))
        assert before == list(warnings.filters)

    assert state["precision"] == base["numpy.print"]["precision"]
    assert process.restorable_default("rng:random", base) is None
    assert process.restorable_default("env:NO_SUCH", base) is process.GONE
    assert process.restorable_default("sys.path", base) is None


def test_a_secret_of_the_base_is_left_alone(monkeypatch):
    """Its value was never read, so it cannot be put back."""
    monkeypatch.setenv("MY_TOKEN", "hush")

    base = process.baseline()
    assert process.restorable_default("env:MY_TOKEN", base) is None


def test_pending_states_add_up_and_can_be_forgotten(monkeypatch):
    """Deltas of several steps wait together; an unloaded library has its own way."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "matplotlib")
    process.apply("matplotlib.rc", {"a": 1, "b": 1})
    process.apply("matplotlib.rc", {"b": 2})
    rc = {}
    fake = types.ModuleType("matplotlib")
    fake.rcParams = rc

    assert process.pending() == ["matplotlib.rc"]
    assert process.restorable_default("matplotlib.rc", {}) is process.GONE
    process.apply_pending()
    assert not rc
    monkeypatch.setitem(sys.modules, "matplotlib", fake)
    process.apply_pending()
    assert (rc, process.pending()) == ({"a": 1, "b": 2}, [])

    monkeypatch.delitem(sys.modules, "matplotlib")
    process.apply("matplotlib.rc", {"a": 1})
    process.apply("matplotlib.rc", process.GONE)
    assert process.pending() == []


def test_states_that_count_although_they_are_equal(monkeypatch):
    """A step that seeds and runs again leaves the generator as it found it."""
    now = process.snapshot()
    known = process.libraries()

    assert process.changes(now, now, libraries_before=known) == {}
    made = process.changes(
        now, now, libraries_before=known, also=frozenset({"rng:random"})
    )
    assert {"rng:random": now["rng:random"]} == made


def test_half_imported_libraries_are_no_trouble(monkeypatch):
    """An import that failed leaves an empty module, one under way an unfinished."""
    empty = types.ModuleType("torch")
    monkeypatch.setitem(sys.modules, "torch", empty)

    assert "rng:torch" not in process.snapshot()
    empty.__spec__ = types.SimpleNamespace(_initializing=True)
    assert "torch" not in process.libraries()


def test_every_state_is_small_plain_data():
    """It passes through the pickle that loads nothing but atoms."""
    states = process.snapshot()

    assert states == rebuild_atoms(dump_atoms(states))
    assert {k: process.version(v) for k, v in states.items()} == {
        k: process.version(v) for k, v in rebuild_atoms(dump_atoms(states)).items()
    }


def test_a_removed_folder_is_told(tmp_path):
    """A step that deletes the folder it works in."""
    (tmp_path / "work").mkdir()
    setup = f"import os; os.chdir({str(tmp_path / 'work')!r})"
    versions, lost, _ = _step(tmp_path / "s", "os.rmdir(os.getcwd())", setup=setup)

    assert (versions, list(lost)) == ({}, ["cwd"])


def test_only_deltas_add_up():
    """Options and lists are applied step after step, the others only the last."""
    deltas = {name for name in process.snapshot() if process.is_delta(name)}

    assert {"sys.path", "warnings"} <= deltas
    assert not {"cwd", "decimal", "rng:random"} & deltas


def test_a_snapshot_is_cheap(capsys):
    """Taken before and after each cell; the time is printed, not judged."""
    process.snapshot()
    start = time.perf_counter()
    for _ in range(200):
        process.snapshot()
    took = (time.perf_counter() - start) / 200
    with capsys.disabled():
        loaded = ", ".join(sorted(process.libraries()))
        print(f"\n  process.snapshot: {took * 1e6:.0f} us with {loaded}")  # noqa: T201
