"""The idle audit finds what no cell named, says who did it, and is silent otherwise."""

import gc
import random
import sys
import threading
import types

import pytest
from unit.run.fakes import Lab

from nbresume.capture.entries import Made
from nbresume.plan.notebook import text_digest
from nbresume.run.audit import PATIENCE, Audit, Finding

LONG = 60.0
MAKE = "%%step a\nimport shelf\nx = [1]\nshelf.ITEMS.append(x)"
READ = "%%step c\ntotal = sum(x)"


@pytest.fixture
def shelf(monkeypatch):
    """Return a module that the notebook imports, in which objects are parked."""
    module = types.ModuleType("shelf")
    module.ITEMS = []
    monkeypatch.setitem(sys.modules, "shelf", module)
    return module


class Bench:
    """A kernel whose cells are audited when they end."""

    def __init__(self, **cells: str) -> None:
        self.lab = Lab(**cells)
        self.begin(self.lab.kernel())

    def begin(self, kernel) -> None:
        """Work in this kernel from now on."""
        self.kernel = kernel
        self.live = kernel.parts.live
        self.audit = Audit(self.live, clock=self.lab.clock)

    def run(self, *cells: str, named=()) -> list[Finding]:
        """Run cells, start the audit at the end of each one; return its findings."""
        found = []
        for cell_id in cells:
            found += self.stop()
            assert self.kernel.run(cell_id).how in ("plain", "ran", "replayed")
            self.start(cell_id, named=named)
            assert self.audit.slice(LONG)
        return found + self.audit.findings()

    def start(self, cell_id: str, named=()) -> None:
        """Start the audit after a cell."""
        source = self.lab.notebook.sources[cell_id]
        is_step = source.startswith("%%step")
        step = source.split()[1] if is_step and self.kernel.last.how == "ran" else ""
        self.audit.start((cell_id, text_digest(source)), step=step, named=named)

    def stop(self) -> list[Finding]:
        """Begin another cell."""
        self.audit.stop()
        return self.audit.findings()


def check_found(bench: Bench, name: str, *, cell: str, step: str) -> None:
    """Check that a committed value of step a was changed by a step or cell."""
    entry = bench.live.entry(name)
    assert (Made.AMBIENT, cell) == (entry.made, entry.cell)
    assert entry.base_step == "a"
    assert bench.kernel.commits("a").outputs[name].version == entry.base_version


# -- the five ways of the evidence ----------------------------------------------------


def test_an_alias_parked_in_a_module_is_found(shelf):
    """The step changed a list that it never named."""
    bench = Bench(a=MAKE, b="%%step b\nimport shelf\nshelf.ITEMS[-1].append(2)")

    assert bench.run("a") == []
    assert [Finding("x", "b", "b")] == bench.run("b")
    check_found(bench, "x", cell="b", step="b")


def test_a_thread_is_found(shelf):
    """It was started long ago and works when another step lets it."""
    bench = Bench(
        a="%%step a\nimport shelf\nx = [1]\nshelf.work(x)",
        b="%%step b\nimport shelf\nshelf.go()",
    )
    go = threading.Event()
    threads = []

    def work(items):
        def wait():
            assert go.wait(10)
            items.append(2)

        threads.append(threading.Thread(target=wait))
        threads[0].start()

    shelf.work = work
    shelf.go = lambda: (go.set(), threads[0].join())

    assert bench.run("a") == []
    assert [Finding("x", "b", "b")] == bench.run("b")
    check_found(bench, "x", cell="b", step="b")


def test_a_resumed_generator_is_found():
    """Its frame holds the list; the cell names only the generator."""
    bench = Bench(
        a="%%step a\nx = [1]\n"
        "def make(items):\n    while True:\n        items.append(2)\n        yield\n",
        p="g = make(x)",
        b="%%step b\nnext(g)",
    )

    assert bench.run("a", "p") == []
    assert [Finding("x", "b", "b")] == bench.run("b")
    check_found(bench, "x", cell="b", step="b")


def test_the_main_module_by_its_name_is_found(monkeypatch):
    """``getattr(__import__("__main__"), "x")`` names nothing."""
    main = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", main)
    bench = Bench(
        a="%%step a\nx = [1]",
        b='%%step b\ngetattr(__import__("__" + "main__"), "x").append(2)',
    )

    assert bench.run("a") == []
    main.x = bench.kernel["x"]
    assert [Finding("x", "b", "b")] == bench.run("b")
    check_found(bench, "x", cell="b", step="b")


def test_a_finalizer_is_found(shelf):
    """It runs when the last reference goes, in the middle of a step."""
    bench = Bench(
        a="%%step a\nimport shelf, weakref\nx = [1]\n"
        "shelf.ITEMS.append(shelf.Token())\n"
        "weakref.finalize(shelf.ITEMS[0], x.append, 2)",
        b="%%step b\nimport shelf\nshelf.ITEMS.clear()",
    )
    shelf.Token = type("Token", (), {"__module__": "shelf"})

    assert bench.run("a") == []
    assert [Finding("x", "b", "b")] == bench.run("b")
    gc.collect()
    check_found(bench, "x", cell="b", step="b")


# -- what follows ---------------------------------------------------------------------


def test_a_step_below_reads_the_value_as_it_is(shelf):
    """Its input is ambient, and a new kernel gives it the same one again."""
    bench = Bench(a=MAKE, b="%%step b\nimport shelf\nshelf.ITEMS[-1].append(2)", c=READ)
    bench.run("a", "b", "c")

    assert bench.kernel["total"] == 3
    seen = bench.kernel.commits("c").inputs["x"]
    assert bench.kernel.commits("a").outputs["x"].version != seen
    shelf.ITEMS.clear()
    bench.begin(bench.kernel.restart())
    assert bench.kernel.go() == []
    assert bench.kernel["total"] == 3


def test_without_the_audit_the_next_step_would_be_blamed(shelf):
    """The change is older than the step that reads: no step below answers for it."""
    bench = Bench(a=MAKE, b="%%step b\nimport shelf\nshelf.ITEMS[-1].append(2)", c=READ)
    bench.run("a", "b", "c")

    assert bench.kernel.commits("c").in_place == []
    assert sorted(bench.kernel.commits("c").outputs) == ["total"]


def test_every_name_that_reaches_the_value_is_found(shelf):
    """A dict that holds the list changed with it, an equal list did not."""
    bench = Bench(
        a=MAKE + "\nd = {'x': x}\nother = [1]",
        b="%%step b\nimport shelf\nshelf.ITEMS[-1].append(2)",
    )
    bench.run("a")

    assert {"x", "d"} == {finding.name for finding in bench.run("b")}


def test_identities_of_unchanged_parts_stay(shelf):
    """Only what changed is void: a part with a name of its own keeps its object."""
    bench = Bench(
        a="%%step a\nimport shelf\npart = [1]\nd = {'part': part}\n"
        "shelf.ITEMS.append(d)",
        b="%%step b\nimport shelf\nshelf.ITEMS[-1]['n'] = 2",
    )
    bench.run("a")
    units = bench.kernel.parts.restorer.manifests()[-1].units
    outputs = bench.kernel.commits("a").outputs
    part, whole = outputs["part"].object, outputs["d"].object

    assert [finding.name for finding in bench.run("b")] == ["d"]
    identities = bench.live.identities
    assert bench.kernel["part"] is identities.find(part, units[part].deep)
    assert identities.find(whole, units[whole].deep) is None


def test_a_plain_cell_is_told_apart_from_a_step(shelf):
    """No step did it, so there is none in which to name it."""
    bench = Bench(a=MAKE, p="import shelf\nshelf.ITEMS[-1].append(2)")
    bench.run("a")

    (found,) = bench.run("p")
    assert Finding("x", "p", "") == found
    assert "after cell p" in found.sentence
    check_found(bench, "x", cell="p", step="")


def test_the_sentence_says_what_to_do():
    """Who, what it means, what to type."""
    told = Finding("x", "cell-1", "fit").sentence

    expected = (
        "x was changed by step fit (or something that it started) without naming it, "
        "so its commit does not hold that; name x in that step"
    )
    assert expected == told


def test_a_value_that_plain_cells_made_is_no_finding_after_a_plain_cell(shelf):
    """No commit has held it; only who changed it last is noted."""
    bench = Bench(
        p="import shelf\nx = [1]\nshelf.ITEMS.append(x)",
        a="%%step a\ny = len(x)",
        q="import shelf\nshelf.ITEMS[-1].append(2)",
    )

    assert bench.run("p", "a", "q") == []
    assert bench.live.entry("x").cell == "q"


def test_a_value_that_plain_cells_made_is_found_after_a_step(shelf):
    """The step's commit lacks what it did to it."""
    bench = Bench(
        p="import shelf\nx = [1]\nshelf.ITEMS.append(x)",
        b="%%step b\nimport shelf\nshelf.ITEMS[-1].append(2)",
    )

    assert [Finding("x", "b", "b")] == bench.run("p", "b")


# -- after the cell -------------------------------------------------------------------


def test_a_change_after_the_step_that_made_the_value_is_late(shelf):
    """That step did name it: its thread went on."""
    bench = Bench(a=MAKE)
    bench.kernel.run("a")
    shelf.ITEMS[-1].append(2)
    bench.start("a")

    assert bench.audit.slice(LONG)
    (found,) = bench.audit.findings()
    assert Finding("x", "a", "a", late=True) == found
    assert "after step a" in found.sentence


def test_a_change_after_a_step_that_read_the_value_is_late(shelf):
    """It looked at the value when it ended."""
    bench = Bench(a=MAKE, c=READ)
    bench.run("a")
    bench.kernel.run("c")
    shelf.ITEMS[-1].append(2)
    bench.start("c", named={"x"})

    assert bench.audit.slice(LONG)
    assert [Finding("x", "c", "c", late=True)] == bench.audit.findings()


def test_a_name_bound_anew_by_a_thread_is_found():
    """Until the next cell begins, however long ago the pass has ended."""
    bench = Bench(a="%%step a\nn = 1")
    bench.run("a")
    bench.kernel.namespace["n"] = 2

    assert [Finding("n", "a", "a", late=True)] == bench.stop()
    entry = bench.live.entry("n")
    assert (entry.made, entry.cells) == (Made.AMBIENT, ())


def test_a_name_restored_meanwhile_is_no_finding():
    """Loading pending names is idle work too."""
    bench = Bench(a="%%step a\nn = [1]")
    bench.run("a")
    restorer = bench.kernel.parts.restorer
    bench.live.unset("n")
    restorer.bind("n", bench.kernel.journal.state.commit("a"))

    assert bench.stop() == []


# -- slices ---------------------------------------------------------------------------


SLOW = """%%step a
class Slow:
    def __init__(self, cost):
        self.cost = cost
    def __getstate__(self):
        tick(self.cost)
        return {"cost": self.cost}
"""


def slow_bench(body: str) -> tuple[Bench, list[float]]:
    """Return a bench with values whose looks take time, and the times taken."""
    lab = Lab()
    taken = []

    def tick(cost):
        # the walk asks twice: once to see whether asking changes the value
        lab.clock.advance(cost / 2)
        taken.append(cost)

    lab.tools["tick"] = tick
    lab.edit(a=SLOW + body)
    bench = Bench.__new__(Bench)
    bench.lab = lab
    bench.begin(lab.kernel())
    bench.kernel.run("a")
    bench.start("a")
    taken.clear()
    return bench, taken


def test_a_slice_keeps_to_its_budget():
    """It ends before a look that would not fit, except the first one."""
    bench, _ = slow_bench(
        "many = [Slow(0.004)]\n" + "".join(f"v{i} = Slow(0.004)\n" for i in range(12))
    )
    assert bench.audit.slice(LONG)  # now the costs are known
    bench.start("a")
    slices = []
    for _ in range(50):
        begun_s = bench.lab.clock.monotonic_s()
        done = bench.audit.slice(0.02)
        slices.append(bench.lab.clock.monotonic_s() - begun_s)
        if done:
            break

    assert done
    assert len(slices) >= 3
    assert max(slices) <= 0.02 + 1e-9


def test_unknown_costs_exceed_the_budget_by_one_value_at_most():
    """What was never measured is found out once."""
    bench, _ = slow_bench("big = Slow(0.5)\nu = Slow(0.01)\nv = Slow(0.01)\n")
    before_s = bench.lab.clock.monotonic_s()
    slices = []
    while not bench.audit.slice(0.02):
        slices.append(bench.lab.clock.monotonic_s() - before_s)
        before_s = bench.lab.clock.monotonic_s()

    assert all(spent_s <= 0.52 for spent_s in slices)


def test_a_costly_value_waits_until_the_kernel_is_idle_for_longer():
    """Cheap ones first; a look of a second waits for twenty."""
    bench, taken = slow_bench("big = Slow(1.0)\nsmall = Slow(0.01)\n")
    assert bench.audit.slice(LONG)
    bench.start("a")
    taken.clear()

    assert not bench.audit.slice(0.02)
    assert not bench.audit.slice(0.02)
    assert {0.01} == set(taken)
    bench.lab.clock.advance(PATIENCE)
    assert bench.audit.slice(0.02)
    assert {0.01, 1.0} == set(taken)


def test_a_cell_that_begins_ends_the_pass(shelf):
    """What was not looked at is forgotten, what was found is not."""
    bench, taken = slow_bench("big = Slow(1.0)\nx = [1]\n")
    assert bench.audit.slice(LONG)
    bench.kernel["x"].append(2)
    bench.start("a")
    taken.clear()
    assert not bench.audit.slice(0.02)
    bench.audit.stop()
    bench.lab.clock.advance(100)

    assert bench.audit.slice(0.02)
    assert taken == []
    assert [finding.name for finding in bench.audit.findings()] == ["x"]
    assert bench.audit.findings() == []


def test_nothing_happens_before_the_first_cell():
    """There is nothing to look at."""
    bench = Bench(a="%%step a\nx = [1]")

    assert bench.audit.slice(0.02)
    assert bench.stop() == []


# -- no false alarms ------------------------------------------------------------------


READING = {
    "frame": (
        "import pandas as pd\nx = pd.DataFrame({'g': [1, 1, 2], 'v': [1.0, 2.0, 3.0]})",
        lambda x: (
            x.groupby("g").mean(),
            x.describe(),
            x.columns.get_loc("v"),
            x.index.is_unique,
            x["v"].sum(),
            x.set_index("g").index.get_loc(2),
            x.to_dict(),
            x._repr_html_(),
        ),
    ),
    "index": (
        "import pandas as pd\nx = pd.Index(['a', 'b', 'c'])",
        lambda x: (x.get_loc("b"), x.is_unique, x.is_monotonic_increasing, "a" in x),
    ),
    "model": (
        (
            "from sklearn.linear_model import LinearRegression\n"
            "x = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])"
        ),
        lambda x: (x.predict([[2.0]]), x.score([[0.0], [1.0]], [1.0, 3.0])),
    ),
    "forest": (
        (
            "from sklearn.ensemble import RandomForestClassifier\n"
            "x = RandomForestClassifier(5, random_state=1).fit([[0], [1]], [0, 1])"
        ),
        lambda x: (x.predict([[1]]), x.feature_importances_, x.get_params()),
    ),
    "cached property": (
        (
            "import functools\n"
            "class K:\n    @functools.cached_property\n    def n(self):\n"
            "        return 1\nx = K()"
        ),
        lambda x: x.n,
    ),
    "lru cache": (
        "import functools\n@functools.lru_cache\ndef x(n):\n    return n + 1",
        lambda x: (x(1), x(2), x(1)),
    ),
    "defaultdict": (
        "from collections import defaultdict\nx = defaultdict(list, a=[1])",
        lambda x: (x["a"], x.get("b"), "b" in x),
    ),
    "array": (
        "import numpy as np\nx = np.arange(6.0).reshape(2, 3)",
        lambda x: (x.mean(), x.T @ x, x[0], hash(x.tobytes())),
    ),
    "class": (
        ("import dataclasses\n@dataclasses.dataclass\nclass P:\n    n: int\nx = P(1)"),
        lambda x: (x == type(x)(1), repr(x), x.__reduce_ex__(4)),
    ),
    "generator": ("x = (i for i in range(9))", next),
}


@pytest.mark.parametrize("kind", READING)
def test_reading_is_no_finding(shelf, kind):
    """Not even by somebody whom no cell named: caches are no part of a value."""
    make, read = READING[kind]
    bench = Bench(
        a=f"%%step a\nimport shelf\n{make}\nshelf.ITEMS.append(x)",
        b="%%step b\nimport shelf\nshelf.read(shelf.ITEMS[-1])",
    )
    shelf.read = read

    assert bench.run("a", "b") == []


CHANGING = {
    "defaultdict": "from collections import defaultdict\nx = defaultdict(list)",
    "random": "import random\nx = random.Random(1)",
    "generator": "import numpy as np\nx = np.random.default_rng(1)",
}


@pytest.mark.parametrize("kind", CHANGING)
def test_a_change_by_a_cell_that_names_the_value_is_no_finding(kind):
    """A missing key that was read, a number that was drawn: the step holds it."""
    use = "x['a']" if kind == "defaultdict" else "x.random()"
    bench = Bench(a=f"%%step a\n{CHANGING[kind]}", b=f"%%step b\n{use}", p=use)

    assert bench.run("a", "b", "p") == []


def test_a_missing_key_read_unseen_is_a_finding(shelf):
    """A default dict has one item more afterwards: a true change."""
    bench = Bench(
        a="%%step a\nimport shelf\nfrom collections import defaultdict\n"
        "x = defaultdict(list)\nshelf.ITEMS.append(x)",
        b="%%step b\nimport shelf\nshelf.ITEMS[-1]['a']",
    )

    assert [Finding("x", "b", "b")] == bench.run("a", "b")


def test_numbers_drawn_from_the_global_generator_are_no_finding():
    """It belongs to the process, and steps keep it apart."""
    bench = Bench(
        a="%%step a\nimport random\nx = [random.random]", b="%%step b\nx[0]()"
    )
    state = random.getstate()
    try:
        assert bench.run("a", "b") == []
    finally:
        random.setstate(state)


def test_what_cannot_be_compared_is_told_once(shelf):
    """It could be before, so it changed; later looks say nothing any more."""
    bench = Bench(
        a=MAKE,
        b="%%step b\nimport shelf\nshelf.ITEMS[-1].append(i for i in ())",
        p="1",
    )

    assert [Finding("x", "b", "b")] == bench.run("a", "b")
    assert bench.run("p", "p") == []


def test_a_lock_held_for_a_moment_is_no_finding(shelf):
    """The value is tried once more at the end of the pass."""
    bench = Bench(
        a="%%step a\nimport shelf\nx = [shelf.Lock()]\n"
        "class Last:\n    def __getstate__(self):\n        shelf.look()\n"
        "        return vars(self)\n"
        "last = [Last(), *([i] for i in range(20))]",
        p="1",
    )
    shelf.Lock, shelf.look = threading.Lock, lambda: None
    bench.kernel.run("a")
    bench.kernel.run("p")
    lock = bench.kernel["x"][0]
    lock.acquire()
    shelf.look = lambda: lock.locked() and lock.release()
    bench.start("p")

    assert bench.audit.slice(LONG)
    assert not lock.locked()
    assert bench.audit.findings() == []


def test_a_lock_that_stays_held_is_a_finding(shelf):
    """A commit holds it open, and a restored one would be."""
    bench = Bench(a="%%step a\nimport shelf\nx = [shelf.Lock()]", p="1")
    shelf.Lock = threading.Lock
    bench.run("a")
    bench.kernel.run("p")
    bench.kernel["x"][0].acquire()
    bench.start("p")

    assert bench.audit.slice(LONG)
    assert [finding.name for finding in bench.audit.findings()] == ["x"]


def test_steps_and_plain_cells_that_name_everything_are_no_finding():
    """An ordinary notebook is silent."""
    bench = Bench(
        a="%%step a\nx = [1]\nd = {'x': x}\ndef add(n):\n    x.append(n)",
        b="%%step b\nadd(2)",
        p="d['y'] = 1",
        q="for f in (add,):\n    f(3)",
        c="%%step c\nx = x + [4]\ny = len(d)",
        r="exec('x.append(5)')",
    )

    assert bench.run("a", "b", "p", "q", "c", "r") == []
