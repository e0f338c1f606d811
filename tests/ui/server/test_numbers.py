"""The server's metrics page has the numbers of the runs below its root."""

import re
import threading
import time
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.parser import text_string_to_metric_families
from real_kernel import LOAD, Kernel, hashes, save
from unit.run.write_goldens import FOLDER

from nbresume.run.view import RunView
from nbresume.settings import Settings
from nbresume.ui import prometheus
from nbresume.ui.server import numbers
from nbresume.ui.server.numbers import Look, Numbers, look_at

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
A = "%%step salaries\nx = [1, 2]"


def samples(text):
    """Return (name, run or label) → value of what is ours on a page."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("nbresume_")
    }


def scraped(collector):
    """Return what a scrape of a registry with this collector gives."""
    registry = CollectorRegistry()
    registry.register(collector)
    return samples(generate_latest(registry).decode())


def settled(collector):
    """Scrape until a look has ended, and once more."""
    scraped(collector)
    collector._looking.join(30)
    return scraped(collector)


def run_in(folder, *cells):
    """Run cells in a kernel."""
    folder.mkdir(parents=True, exist_ok=True)
    save(folder / "payroll.ipynb", LOAD, *cells)
    with Kernel(folder, "payroll.ipynb") as kernel:
        for number, cell in enumerate((LOAD, *cells)):
            kernel.ok(cell, f"c{number}")


def test_every_metric_is_documented():
    """One row for each family of the command, and for those of the server alone."""
    above, _, below = PAGE.read_text().partition("## On the server's page")
    row = re.compile(r"^\| `(nbresume_\w+)` \|(.*)", re.MULTILINE)
    of_page = {name: "`step`" in told for name, told in row.findall(above)}
    servers_own = {name for name, _ in row.findall(below)}
    view = RunView.from_json((FOLDER / "committed.json").read_bytes())
    told = re.compile(r"^# TYPE (\S+) ", re.MULTILINE)
    registry = CollectorRegistry()
    registry.register(Numbers(None))
    of_command = set(told.findall(prometheus.exposed(view)))
    of_server = set(told.findall(generate_latest(registry).decode()))

    assert of_page.keys() == of_command
    shared = {name for name, is_of_step in of_page.items() if not is_of_step}
    assert shared | servers_own == of_server
    assert not shared & servers_own


def test_a_scrape_waits_for_no_look(tmp_path, monkeypatch):
    """While a look hangs, each scrape gives the numbers of the last one at once."""
    may_end, looks = threading.Event(), []

    def hangs(*_):
        looks.append(1)
        may_end.wait(30)

    monkeypatch.setattr(numbers, "look_at", hangs)
    collector = Numbers(tmp_path)
    began = time.monotonic()
    found = [scraped(collector) for _ in range(3)]
    took = time.monotonic() - began
    may_end.set()
    collector._looking.join(30)

    assert took < 10
    assert found == [{}] * 3
    assert looks == [1]
    assert scraped(collector)["nbresume_stores",] == 0


def test_looks_take_a_share_of_the_time():
    """The next look waits for 15 seconds, and for twenty times as long as the last."""
    collector = Numbers(Path("/"))
    due = []
    for took_s, since_s in [(0.1, 14), (0.1, 16), (10, 199), (10, 201)]:
        collector._last = Look(took_s=took_s, ended_s=1000.0)
        due.append(collector._is_due(1000.0 + since_s))

    assert due == [False, True, False, True]


def test_a_look_is_bounded(tmp_path, monkeypatch):
    """Folders and stores beyond the limits are counted, not looked at."""
    for number in range(6):
        store = tmp_path / f"f{number}" / ".nbresume"
        store.mkdir(parents=True)
        (store / "store.json").write_text("{}")
    (tmp_path / "loop").symlink_to(tmp_path)
    damaged, folders = Look(), Look()
    look_at(tmp_path, Settings(), damaged)
    monkeypatch.setattr(numbers, "FOLDERS", 4)
    look_at(tmp_path, Settings(), folders)

    assert damaged.left_out == {"damaged": 6}
    assert folders.left_out == {"damaged": 3, "folders": 3}


def test_conflicts_of_decisions_add_up(tmp_path):
    """What decisions through the server met is counted with their run."""
    view = RunView.from_json((FOLDER / "committed.json").read_bytes())
    collector = Numbers(None)
    collector._last = Look(runs={"r1": view.metrics, "r2": None})

    class Journal:
        run_id = "r1"
        counts = view.metrics

    before = scraped(collector)
    Journal.counts = type("Counts", (), {"revision_conflicts": 2})
    collector.met(Journal)
    collector.met(Journal)
    after = scraped(collector)

    name = "nbresume_revision_conflicts_total"
    assert after[name, "r1"] == before[name, "r1"] + 4
    assert after["nbresume_schema_mismatches_total", "r2"] == 1


@pytest.mark.kernel
def test_runs_below_a_folder_are_found(tmp_path, monkeypatch):
    """In whichever folder they lie; of more runs than the limit the newest ones."""
    run_in(tmp_path / "root" / "deep" / "er", A)
    run_in(tmp_path / "root", A)
    before = hashes(tmp_path)
    found = settled(Numbers(tmp_path / "root"))
    monkeypatch.setattr(numbers, "RUNS", 1)
    limited = settled(Numbers(tmp_path / "root"))

    commits = [v for (name, *_), v in found.items() if name == "nbresume_commits_total"]
    assert commits == [1, 1]
    assert found["nbresume_stores",] == 2
    assert limited["nbresume_left_out", "runs"] == 1
    assert hashes(tmp_path) == before


@pytest.mark.kernel
def test_the_page_of_a_real_server(server, in_doubt):
    """A step in doubt shows on the page; who may see it is as for the page itself."""
    run_in(server.root / "secret-project", A)
    stranger = server.get("metrics", as_stranger=True)
    until = time.monotonic() + 60
    page = ""
    while "nbresume_ambiguous{" not in page and time.monotonic() < until:
        page = server.get("metrics").body.decode()
        time.sleep(0.1)
    found = samples(page)
    ours = "".join(line for line in page.splitlines() if "nbresume_" in line)

    assert stranger.status == 403
    assert sorted(v for (n, *_), v in found.items() if n == "nbresume_ambiguous") == [
        0,
        1,
    ]
    assert {name for name, *_ in found} >= {
        "nbresume_revision_conflicts_total",
        "nbresume_ambiguous_recoveries_total",
        "nbresume_schema_mismatches_total",
        "nbresume_resume_age_seconds",
        "nbresume_checkpoint_bytes",
    }
    for private in ("salaries", "payroll", "secret-project", str(server.root)):
        assert private not in ours
