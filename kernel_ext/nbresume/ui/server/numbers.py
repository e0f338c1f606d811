"""Numbers about the runs below a server's root, on the server's own metrics page.

The rule: a scrape waits for nothing. It is given what the last look found, and has a
thread look again if that is old. Labels are ids of runs: no name of a file, a step or
a person. Who may see the page is the server's business.
"""

import logging
import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from jupyter_server.services.contents.filemanager import FileContentsManager
from prometheus_client import REGISTRY
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from nbresume.compose import place_of, settings_from_environment
from nbresume.compose.inspection import inspect_run
from nbresume.compose.stores import OpenStore, open_store
from nbresume.errors import KeyMissing, NbresumeError, SchemaError
from nbresume.run.journal import Journal
from nbresume.run.metrics import Metrics
from nbresume.settings import Settings
from nbresume.ui.asking import world_of
from nbresume.ui.prometheus import Families, Family

_log = logging.getLogger("nbresume.ui")

EVERY_S = 15.0
"""A look that is younger than this is given again."""
SHARE = 0.05
"""Looks take at most this share of the time."""
FOLDERS = 2000
STORES = 50
RUNS = 200
"""So many folders, stores and runs are looked at; what is left out is counted."""
_NO_WORK = frozenset({"node_modules", "__pycache__", "site-packages"})


@dataclass(slots=True)
class Look:
    """What one look at all stores found."""

    stores: int = 0
    runs: dict[str, Metrics | None] = field(default_factory=dict)
    """Id → numbers; None of a run that this release cannot read."""
    left_out: Counter[str] = field(default_factory=Counter)
    """What was not looked at: ``folders``, ``stores``, ``runs``; ``damaged``."""
    took_s: float = 0.0
    ended_s: float = 0.0


class Numbers(Collector):
    """The runs below one folder, as a collector of the server's registry."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        """None: the files lie in no folder, or not everybody may see all of them."""
        self._lock = threading.Lock()
        self._last: Look | None = None
        self._looking: threading.Thread | None = None
        self._conflicts: Counter[str] = Counter()

    def met(self, journal: Journal) -> None:
        """Count what a decision that was recorded here has met."""
        with self._lock:
            self._conflicts[journal.run_id] += journal.counts.revision_conflicts

    def describe(self) -> Iterable[Family]:
        """Give the families without numbers: nothing is looked at for that."""
        yield from Families(("run",)).all()
        yield from _about(None, 0.0)

    def collect(self) -> Iterable[Family]:
        """Give what the last look found, and look again if that is old."""
        now_s = time.monotonic()
        with self._lock:
            last, conflicts = self._last, dict(self._conflicts)
            if self._root is not None and self._is_due(now_s):
                self._looking = threading.Thread(target=self._look, daemon=True)
                self._looking.start()
        families = Families(("run",))
        for run_id, numbers in last.runs.items() if last else ():
            if numbers is None:
                families.add_unreadable((run_id,))
            else:
                met = conflicts.get(run_id, 0)
                families.add((run_id,), _with(numbers, met))
        yield from families.all()
        yield from _about(last, now_s)

    def _is_due(self, now_s: float) -> bool:
        if self._looking is not None and self._looking.is_alive():
            return False
        last = self._last
        pause_s = max(EVERY_S, last.took_s / SHARE) if last else 0.0
        return last is None or now_s - last.ended_s >= pause_s

    def _look(self) -> None:
        began_s, found = time.monotonic(), Look()
        try:
            if self._root is not None:
                look_at(self._root, settings_from_environment(), found)
        except (NbresumeError, OSError) as error:
            _log.warning("the runs were not counted: %s", type(error).__name__)
            found.left_out["damaged"] += 1
        found.ended_s = time.monotonic()
        found.took_s = found.ended_s - began_s
        with self._lock:
            self._last = found


def watch(server_app: Any) -> Numbers:
    """Put the runs below a server's root on its metrics page."""
    manager = server_app.contents_manager
    is_told = isinstance(manager, FileContentsManager) and _serves_one(server_app)
    numbers = Numbers(Path(manager.root_dir) if is_told else None)
    try:
        REGISTRY.register(numbers)
    except ValueError:
        # two servers in one process have one page; its numbers are the first one's
        _log.info("another server of this process tells the numbers of its runs")
    return numbers


def _serves_one(server_app: Any) -> bool:
    """Say whether all who reach the server may see the same: its page tells no user.

    An authorizer or an identity provider of one's own tells people apart; those of
    jupyter_server and JupyterHub let in who may use the whole server.
    """
    ports = (server_app.authorizer, server_app.identity_provider)
    makers = {type(port).__module__.partition(".")[0] for port in ports}
    return makers <= {"jupyter_server", "jupyterhub"}


def look_at(root: Path, settings: Settings, found: Look) -> None:
    """Look at the stores below a folder, without a kernel; nothing is loaded."""
    for folder in _folders_with_stores(root, settings, found):
        if found.stores == STORES:
            found.left_out["stores"] += 1
            continue
        try:
            store = open_store(place_of(folder, settings), create=False)
            found.stores += 1
            _look_at_store(store, settings, found)
        except KeyMissing:
            continue
        except (NbresumeError, OSError):
            found.left_out["damaged"] += 1


def _look_at_store(store: OpenStore, settings: Settings, found: Look) -> None:
    world = world_of(None, lambda _line: None)
    for claimed in store.runs().all():
        if len(found.runs) >= RUNS:
            found.left_out["runs"] += 1
            continue
        try:
            run = inspect_run(store, claimed.run_id, world, settings)
            found.runs[claimed.run_id] = run.metrics()
        except SchemaError:
            found.runs[claimed.run_id] = None
        except NbresumeError:
            found.left_out["damaged"] += 1


def _folders_with_stores(root: Path, settings: Settings, found: Look) -> Iterator[Path]:
    """Give folders whose notebooks have a store, those near the root first."""
    where = settings.store
    if "://" in where or Path(where).is_absolute():
        yield root  # one store for all
        return
    todo, seen = deque([root]), 0
    while todo:
        folder = todo.popleft()
        seen += 1
        if seen > FOLDERS:
            found.left_out["folders"] += 1 + len(todo)
            return
        if (folder / where / "store.json").is_file():
            yield folder
        try:
            with os.scandir(folder) as entries:
                below = sorted(
                    entry.name
                    for entry in entries
                    if entry.is_dir(follow_symlinks=False)
                    and not entry.name.startswith(".")
                    and entry.name not in _NO_WORK
                )
        except OSError:
            continue  # not this user's to read
        todo.extend(folder / name for name in below)


def _with(numbers: Metrics, conflicts: int) -> Metrics:
    met = numbers.revision_conflicts + conflicts
    return msgspec.structs.replace(numbers, revision_conflicts=met)


def _about(look: Look | None, now_s: float) -> Iterator[Family]:
    """Give numbers about the look itself."""
    age = GaugeMetricFamily("nbresume_look_age_seconds", "Age of these numbers.")
    took = GaugeMetricFamily("nbresume_look_seconds", "How long it took to find them.")
    stores = GaugeMetricFamily("nbresume_stores", "Stores that were looked at.")
    left_out = GaugeMetricFamily(
        "nbresume_left_out", "What was not looked at.", labels=("what",)
    )
    if look is not None:
        age.add_metric((), now_s - look.ended_s)
        took.add_metric((), look.took_s)
        stores.add_metric((), look.stores)
        for what in ("folders", "stores", "runs", "damaged"):
            left_out.add_metric((what,), look.left_out[what])
    yield from (age, took, stores, left_out)
