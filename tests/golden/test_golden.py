"""Stores that earlier releases left: read as they are, or refused as they are.

Each was made by `make_store.py` of its time, with the key that signed it, and is never
written again.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

import make_store
import msgspec
import nbformat
import pytest
from real_kernel import LOAD, Kernel
from unit.run.fakes import KEY, Lab
from unit.run.later import LATER

from nbresume.compose.migrating import migrator
from nbresume.compose.system import ProcessLiveness
from nbresume.errors import SchemaError, TakenRun
from nbresume.migrations.route import UPGRADES
from nbresume.model.codec import SCHEMAS, payload_of
from nbresume.model.records import Quarantined
from nbresume.run.migrate import Wish
from nbresume.store.local import LocalBackend
from nbresume.store.local_open import open_local
from nbresume.store.trust import Trust, key_of_store

GOLDEN = sorted(Path(__file__).parent.glob("*.tar.gz"))
RUN, DAMAGED = make_store.RUN, make_store.DAMAGED


@dataclass(frozen=True)
class Copy:
    """A golden store that was unpacked for one test."""

    folder: Path

    @property
    def notebook(self) -> Path:
        """The notebook beside the store."""
        return self.folder / "main.ipynb"

    @property
    def env(self) -> dict[str, str]:
        """The environment of a user who has the key, for the run that is sound."""
        data = str(self.folder / "jupyter-data")
        return {**os.environ, "JUPYTER_DATA_DIR": data, "NBRESUME_RUN": RUN}

    def files(self) -> dict[str, str]:
        """Return path → digest of everything in the store."""
        paths = [p for p in (self.folder / ".nbresume").rglob("*") if p.is_file()]
        return {
            str(p.relative_to(self.folder)): hashlib.sha256(p.read_bytes()).hexdigest()
            for p in paths
        }

    def backend(self) -> LocalBackend:
        """Return the store's bytes."""
        return open_local(self.folder / ".nbresume", create=False)

    def lab(self) -> Lab:
        """Return the notebook in a world of fakes, over this store."""
        lab = Lab(**make_store.CELLS)
        lab.backend = self.backend()
        lab.trust = Trust(key_of_store(KEY, make_store.STORE_ID))
        return lab

    def type(self, *words: str, run: str = RUN) -> subprocess.CompletedProcess[str]:
        """Run a command on it."""
        return subprocess.run(
            [sys.executable, "-m", "nbresume", *words],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env=self.env | {"NBRESUME_RUN": run},
            timeout=120,
        )


@pytest.fixture(params=GOLDEN, ids=lambda path: path.name.partition(".")[0])
def copy(request, tmp_path):
    """Return a copy of a golden store, with its key and its notebook."""
    with tarfile.open(request.param) as tar:
        tar.extractall(tmp_path, filter="data")
    for folder in tmp_path.rglob("*"):
        if folder.is_dir():
            folder.chmod(0o700)
    cells = {"load": LOAD, **make_store.CELLS}
    notebook = nbformat.v4.new_notebook()
    for cell_id, source in cells.items():
        notebook.cells.append(nbformat.v4.new_code_cell(source, id=cell_id))
    nbformat.write(notebook, tmp_path / "main.ipynb")
    return Copy(tmp_path)


def append(copy, **changes):
    """Append a record as another release would; `changes` are of its envelope."""
    lab = copy.lab()
    chain = lab.store().chain(RUN)
    newest = chain.read(chain.newest())
    chain.append(
        msgspec.structs.replace(
            newest.envelope,
            revision=newest.revision + 1,
            prev=newest.digest,
            nonce="of-another-release",
            **changes,
        )
    )


def test_there_is_a_golden_store():
    """The tests below have something to read."""
    assert GOLDEN


def test_every_version_that_was_left_has_a_golden_store():
    """Whoever leaves a schema version has a store of it to prove the migration on."""
    found = set()
    for path in GOLDEN:
        with tarfile.open(path) as tar:
            records = [m for m in tar.getmembers() if m.name.endswith(".rec")]
            for member in records:
                data = tar.extractfile(member).read()
                if data.startswith(b'{"epoch"'):
                    record = json.loads(data)
                    found.add((record["kind"], record["schema_version"]))
    newest = {(kind, max(versions)) for kind, versions in SCHEMAS.items()}
    read = {(kind, v) for kind, versions in SCHEMAS.items() for v in versions}

    assert (read - newest) | set(UPGRADES) <= found
    assert {kind for kind, version in found if version == 1} >= {
        f"nbresume.{kind}"
        for kind in (
            "claim",
            "intent",
            "committed",
            "failed",
            "resolution",
            "made_current",
            "quarantined",
            "migration",
        )
    }


def test_its_decisions_are_read(copy):
    """Every state is as it was, and no byte changes."""
    before = copy.files()
    status = copy.type("status", "--json", "main.ipynb")
    plan = copy.type("plan", "main.ipynb")
    history = copy.type("history", "--json", "main.ipynb")
    runs = copy.type("runs")

    assert [done.returncode for done in (status, plan, history, runs)] == [0] * 4
    steps = json.loads(status.stdout)["steps"]
    assert {step["name"]: step["state"] for step in steps} == {
        "a": "COMMITTED",
        "b": "COMMITTED",
        "c": "COMMITTED",
        "f": "FAILED",
        "m": "ABANDONED",
    }
    events = json.loads(history.stdout)
    assert [event["revision"] for event in events] == list(range(len(events)))
    assert all(e["actor"] and e["why"] and "unknown" not in e["text"] for e in events)
    assert RUN in runs.stdout
    assert DAMAGED in runs.stdout
    assert copy.files() == before


def test_its_numbers_are_read(copy):
    """As JSON, and as a scraper reads them; of a newer run one number is left."""
    as_json = copy.type("metrics", "--json", "main.ipynb")
    as_text = copy.type("metrics", "main.ipynb")
    append(copy, schema_version=99)
    newer = copy.type("metrics", "main.ipynb")

    found = json.loads(as_json.stdout)
    assert (found["ambiguous_recoveries"], found["ambiguous"]) == (1, 0)
    assert found["resume_age_s"] > 0
    assert f'nbresume_commits_total{{run="{RUN}"' in as_text.stdout
    assert newer.returncode == 2
    assert newer.stdout.splitlines()[-1].startswith("nbresume_schema_mismatches_total")
    assert newer.stdout.splitlines()[-1].endswith(" 1.0")


def test_its_payloads_are_read(copy):
    """Every digest holds; what was damaged then is named."""
    before = copy.files()
    sound = copy.type("verify", "main.ipynb")
    damaged = copy.type("verify", "main.ipynb", run=DAMAGED)

    assert sound.returncode == 0, sound.stdout
    assert "every digest holds" in sound.stdout
    assert damaged.returncode == 1
    assert "record 2 is damaged" in damaged.stdout
    assert copy.files() == before


@pytest.mark.kernel
def test_its_steps_are_replayed(copy):
    """In a real kernel: no body starts, the values are those of then."""
    before = copy.files()
    with Kernel(copy.folder, env=copy.env) as kernel:
        kernel.ok(LOAD, "load")
        for cell in ("a", "b", "p", "c"):
            kernel.ok(make_store.CELLS[cell], cell)
        values = kernel.evaluate("(x.shape, x[7], rows, k, total)")

    assert values.replace("np.float64(7.0)", "7.0") == (
        "((150000,), 7.0, [7, 8], 1, 16)"
    )
    assert copy.files() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "nbresume.committed", "schema_version": 99, "payload": {}},
        {"kind": "nbresume.teleported", "schema_version": 1, "payload": {}},
    ],
    ids=["a newer schema", "a newer kind"],
)
def test_a_newer_record_refuses_every_command(copy, changes):
    """Found, supported and writer are said, and no byte changes."""
    append(copy, writer="nbresume 9.0", **changes)
    before = copy.files()
    words = [
        ("status", "main.ipynb"),
        ("plan", "main.ipynb"),
        ("verify", "main.ipynb"),
        ("rerun", "main.ipynb", "a", "--because", "a test"),
        ("resolve", "main.ipynb", "m", "retry", "--because", "a test"),
        ("migrate",),
    ]

    for command in words:
        done = copy.type(*command)
        assert done.returncode == 2, (command, done)
        for part in (
            f"{changes['kind']} version {changes['schema_version']}",
            "written by nbresume 9.0",
            "this release reads",
            "Nothing was written",
        ):
            assert part in done.stderr
        assert copy.files() == before


@pytest.mark.kernel
def test_a_newer_record_refuses_a_run_and_a_kernel(copy):
    """Neither is a step replayed nor is one run, headless or in a kernel."""
    append(copy, writer="nbresume 9.0", kind="nbresume.committed", schema_version=99)
    before = copy.files()

    headless = copy.type("run", "main.ipynb", "-o", "out.ipynb")
    with Kernel(copy.folder, env=copy.env) as kernel:
        loaded = kernel.run(LOAD, "load")
        step = kernel.run(make_store.CELLS["a"], "a")
        bound = kernel.evaluate("'x' in globals()")

    assert headless.returncode == 2
    assert "written by nbresume 9.0" in headless.stderr
    assert "written by nbresume 9.0" in loaded.text
    assert (loaded.status, step.status, bound) == ("error", "error", "False")
    assert copy.files() == before


@pytest.mark.kernel
def test_a_newer_record_stops_a_kernel_that_runs(copy):
    """It was loaded before: it replays and runs nothing after that."""
    with Kernel(copy.folder, env=copy.env) as kernel:
        kernel.ok(LOAD, "load")
        kernel.ok(make_store.CELLS["a"], "a")
        append(copy, writer="nbresume 9.0", schema_version=99)
        before = copy.files()
        known, new = kernel.run(make_store.CELLS["b"], "b"), kernel.run("%%step n\n1")

    assert "written by nbresume 9.0" in known.text
    assert (known.status, new.status) == ("error", "error")
    assert copy.files() == before


def test_a_newer_layout_refuses_every_command(copy):
    """Found, supported and writer are said, and no byte changes."""
    path = copy.folder / ".nbresume" / "store.json"
    document = json.loads(path.read_text()) | {"format": 2, "writer": "nbresume 9.0"}
    path.write_text(json.dumps(document))
    before = copy.files()

    for command in (("status", "main.ipynb"), ("runs",), ("migrate",)):
        done = copy.type(*command)
        assert done.returncode == 2
        assert "format 2, written by nbresume 9.0; this release reads" in done.stderr
    assert copy.files() == before


def test_it_is_migrated_and_back(copy):
    """By a later release; every file that was there is as it was."""
    lab, before = copy.lab(), copy.files()
    chain = lab.store().chain(RUN)
    moves = migrator(lab.store(), lab.world(alive=False), formats=LATER)

    moved = moves.migrate(chain, Wish("a test"))
    lab.schemas = LATER.schemas
    k = lab.kernel(run_id=RUN)
    assert k.go("a", "b", "p", "c") == []
    assert k["total"] == 16
    k.kill()
    moves.undo(chain, Wish("a test"))

    lab.schemas = SCHEMAS
    k = lab.kernel(run_id=RUN)
    assert k.go("a", "b", "p", "c") == []
    assert k["total"] == 16
    assert before.items() <= copy.files().items()
    assert moved.records > 50


@pytest.mark.kernel
def test_a_running_kernel_is_fenced(copy):
    """Migrated under its feet, it starts no body, and writes nothing for ever."""
    step = "%%step n\nopen('ran', 'w').close()"
    with Kernel(copy.folder, env=copy.env | {"NBRESUME_RUN": DAMAGED}) as kernel:
        kernel.ok(LOAD, "load")
        kernel.ok("%steps resume --take-over")
        kernel.ok("%%step first\nw = 1", "first")
        lab = copy.lab()
        world = msgspec.structs.replace(lab.world(), liveness=ProcessLiveness())
        moves = migrator(lab.store(), world, formats=LATER)
        with pytest.raises(TakenRun):
            moves.migrate(lab.store().chain(DAMAGED), Wish("a test"))
        moves.migrate(lab.store().chain(DAMAGED), Wish("a test", take_over=True))
        before = copy.files()
        refused = kernel.run(step, "n")
        again = kernel.run("%steps resume --take-over")
        value = kernel.evaluate("w")

    assert "was migrated and goes on in chain" in refused.text
    assert "was migrated and goes on in chain" in again.text
    assert not (copy.folder / "ran").exists()
    assert value == "1"
    assert copy.files() == before


def test_this_release_has_nothing_to_migrate(copy):
    """No schema version was left yet."""
    before = copy.files()
    done = copy.type("migrate", ".nbresume")
    undone = copy.type("migrate", "--undo")

    assert (done.returncode, undone.returncode) == (0, 0)
    assert done.stdout.startswith("nothing was migrated")
    assert undone.stdout.startswith("nothing was undone")
    assert copy.files() == before


def test_the_record_refuses_and_not_a_broken_chain(copy):
    """One of a known kind, appended in the same way, is read."""
    append(
        copy,
        kind=Quarantined.KIND,
        payload=payload_of(Quarantined(revision=0, found_digest="")),
    )

    assert copy.type("status", "main.ipynb").returncode == 0


KILL = """
import os, signal, sys
from pathlib import Path

sys.path.insert(0, {tests!r})
from unit.run.fakes import Lab
from unit.run.later import LATER
from nbresume.compose.migrating import migrator
from nbresume.run.migrate import Wish
from nbresume.store import disk
from nbresume.store.local_open import open_local
from nbresume.store.trust import Trust

lab = Lab()
lab.backend = open_local(Path({store!r}), create=False)
lab.trust = Trust(bytes.fromhex({key!r}))
left = [{nth}]
link = disk.link_new

def link_or_die(source, path):
    # the link is the moment at which a record is there
    left[0] -= 1
    if left[0] == 0 and not {late}:
        os.kill(os.getpid(), signal.SIGKILL)
    made = link(source, path)
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return made

lab.backend.prepare()  # it tries links out
disk.link_new = link_or_die
moves = migrator(lab.store(), lab.world(alive=False), formats=LATER)
moves.migrate(lab.store().chain({run!r}), Wish("a test"))
"""


def migrate_in_child(copy, nth, *, late):
    """Migrate the small run in a process that is killed at its nth record."""
    code = KILL.format(
        tests=str(Path(__file__).resolve().parents[1]),
        store=str(copy.folder / ".nbresume"),
        key=key_of_store(KEY, make_store.STORE_ID).hex(),
        nth=nth,
        late=late,
        run=DAMAGED,
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode in (0, -9), done.stderr
    return done.returncode == 0


def decisions(copy, schemas):
    """Return the state of each step and its attempts, as a release sees them."""
    lab = copy.lab()
    lab.schemas = schemas
    view = lab.kernel(run_id=DAMAGED).view()
    return [(s.name, s.state, s.attempts, s.revision) for s in view.steps]


@pytest.mark.long
@pytest.mark.kernel
@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
def test_a_migration_is_killed_at_every_record(copy, late):
    """By kill -9: the old release reads the run until the last record is there."""
    before, files = decisions(copy, SCHEMAS), copy.files()
    records = len(copy.lab().store().read_chain(DAMAGED))

    # its records and a claim in the new chain, the claim and the switch in the old one
    last = records + 3
    for nth in range(1, last + 1):
        cut = Copy(copy.folder.with_name(f"{copy.folder.name}-{nth}"))
        shutil.copytree(copy.folder, cut.folder)
        assert not migrate_in_child(cut, nth, late=late)
        if late and nth == last:
            with pytest.raises(SchemaError):
                decisions(cut, SCHEMAS)
        else:
            assert decisions(cut, SCHEMAS) == before
            assert migrate_in_child(cut, 0, late=late)
        assert decisions(cut, LATER.schemas) == before
        assert files.items() <= cut.files().items()
