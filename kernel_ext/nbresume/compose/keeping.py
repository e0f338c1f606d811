"""A store → its families of runs, for whoever erases or collects in it.

The rule: a run is never looked at without the runs that refer to its payloads.
"""

from bisect import bisect_left
from collections.abc import Iterable
from datetime import timedelta

from msgspec import Struct

from nbresume.compose.stores import OpenStore, open_journal
from nbresume.errors import (
    ConflictError,
    Damaged,
    NotTrusted,
    RefusedError,
    SchemaError,
)
from nbresume.model.records import Forked
from nbresume.run.claims import Claims, Offer
from nbresume.run.erasing import Eraser, Erasure, Target, not_held
from nbresume.run.holdings import Family, Group, Holdings, holdings_of
from nbresume.run.journal import Journal
from nbresume.run.moves import found_at
from nbresume.run.ports import World
from nbresume.run.retention import (
    Collector,
    Going,
    Rules,
    led_to,
    open_attempts,
)
from nbresume.store.sweeping import Stock, space

_CLOSED = (NotTrusted, SchemaError, Damaged, RefusedError)
"""What is raised for a run that cannot be read here."""


class Kin:
    """The runs of one store, and which of them is a fork of which."""

    def __init__(self, store: OpenStore, world: World) -> None:
        self._store = store
        self._world = world
        self._journals: dict[str, Journal] = {}
        self._origins: dict[str, str] = {}
        """Run that has begun → the run that it is a fork of, or empty."""
        self.unknown: set[str] = set()
        """Runs of which nobody can say whether they are forks."""
        for run in sorted(store.runs().ids()):
            # one without a record may begin yet: it is looked for again
            if self.has_begun(run):
                self._origins[run] = self._origin_of(run)

    def _origin_of(self, run: str) -> str:
        """Return the run that one is a fork of; empty if it is none, or unknown."""
        first = found_at(self._store.chain(run), 0).envelope
        if first is not None and first.kind != Forked.KIND:
            return ""
        try:
            if first is not None:
                origin, is_known = self._store.runs().origin(run), True
            else:
                state = self.journals([run])[0].state
                # a fold knows it as well
                origin, is_known = state.origin, 0 not in state.damaged
        except _CLOSED:
            origin, is_known = None, False
        if not is_known:
            self.unknown.add(run)
        return origin.run if origin else ""

    def families(self) -> list[list[str]]:
        """Return the runs, each with what it is a fork of and all its forks."""
        found: dict[str, list[str]] = {}
        for run in self._origins:
            first, seen = run, {run}
            while (origin := self._origins.get(first)) and origin not in seen:
                first = origin
                seen.add(first)
            found.setdefault(first, []).append(run)
        return list(found.values())

    def journals(self, runs: Iterable[str]) -> list[Journal]:
        """Return the chains of runs, as they were read first.

        Raises
        ------
        NotTrusted
            A run was written under another key.
        SchemaError, Damaged, RefusedError
            A run cannot be read by this release, or as it is.
        """
        found: list[Journal] = []
        for run in runs:
            journal = self._journals.get(run)
            if journal is None:
                journal = open_journal(self._store, run, self._world)
                journal.open()
                self._journals[run] = journal
            found.append(journal)
        return found

    def family(self, runs: Iterable[str]) -> Family:
        """Return what the records of these runs say; raises as `journals` does."""
        return Family(map(holdings_of, self.journals(runs)), self._begun_since)

    def has_begun(self, run: str) -> bool:
        """Say whether a run has a record by now."""
        return self._store.chain(run).newest() is not None

    def _begun_since(self) -> list[Holdings]:
        later = sorted(self._store.runs().ids() - self._origins.keys())
        return [*map(holdings_of, self.journals(filter(self.has_begun, later)))]


class Erasing(Struct, frozen=True):
    """An erasure that was worked out."""

    erasure: Erasure
    eraser: Eraser
    unknown: list[str]
    """Runs that are damaged: nobody can say whether they refer to what goes."""


def plan_erasure(store: OpenStore, target: Target, world: World) -> Erasing:
    """Return what an erasure would take away; nothing is written.

    Raises
    ------
    NotCommitted
        Nothing is stored of what was named.
    NotTrusted
        A run that may share it was written under another key.
    SchemaError, Damaged, RefusedError
        A run that may share it cannot be read.
    """
    kin = Kin(store, world)
    runs = next((runs for runs in kin.families() if target.run in runs), [])
    if not runs:
        raise not_held(target)
    eraser = Eraser(kin.family(runs), Stock(store.backend), world)
    return Erasing(eraser.plan(target), eraser, sorted(kin.unknown))


class Collecting(Struct):
    """A collection over a whole store that was worked out."""

    stock: Stock
    kin: Kin
    collectors: dict[tuple[str, ...], Collector] = {}
    """The runs of a family → who collects in it."""
    unbegun: list[Going] = []
    """Groups of runs that never began: forks that were cut off."""
    skipped: dict[str, str] = {}
    """Run → why nothing of it goes."""

    @property
    def going(self) -> list[Going]:
        """What goes."""
        planned = [one for each in self.collectors.values() for one in each.going]
        return planned + self.unbegun

    def collect(self) -> int:
        """Take it away; return how many bytes got free.

        Raises
        ------
        StoreError
            The store cannot write; the next collection goes on.
        """
        freed = 0
        for runs, collector in self.collectors.items():
            try:
                freed += collector.collect()
            except ConflictError:
                told = "somebody worked on it at the same moment"
                self.skipped |= dict.fromkeys(runs, told)
        return freed + sum(
            self.stock.sweep(*one.group)
            for one in self.unbegun
            if not self.kin.has_begun(one.group.run)
        )


def plan_collection(store: OpenStore, world: World, rules: Rules) -> Collecting:
    """Return what a collection would take away; nothing is written.

    A chain is walked only where a group lies that nothing needs.
    """
    planned = Collecting(Stock(store.backend), Kin(store, world))
    for runs in planned.kin.families():
        try:
            why = _why_not(planned.kin, runs, world)
            if not why and _has_idle_groups(planned.kin.journals(runs), planned.stock):
                family = planned.kin.family(runs)
                collector = Collector(family, planned.stock, world, rules)
                collector.plan()
                planned.collectors[*runs] = collector
        except _CLOSED as error:
            why = error.because
        if why:
            planned.skipped |= dict.fromkeys(runs, why)
    planned.unbegun += _unbegun(planned, world, rules.grace)
    if rules.size_bytes is not None:
        _fit(planned, rules.size_bytes)
    return planned


def _why_not(kin: Kin, runs: list[str], world: World) -> str:
    """Return why nothing of a family may go; "" if something may.

    Raises
    ------
    NotTrusted, SchemaError, Damaged, RefusedError
        One of its runs cannot be read.
    """
    if kin.unknown:
        run = min(kin.unknown)
        return (
            f"the first record of run {run} is damaged, so nobody can say what it "
            "shares: put that file back from a copy"
        )
    for journal in kin.journals(runs):
        if Claims(journal, world).offer() is Offer.BUSY:
            return f"a kernel is running a step of run {journal.run_id}"
    return ""


def _has_idle_groups(journals: list[Journal], stock: Stock) -> bool:
    """Say whether something lies there that may not be needed."""
    if len(journals) > 1 and any(one.state.erased_at >= 0 for one in journals):
        # an erasure may have been cut off between the tombstones of two runs
        return True
    live = {group for journal in journals for group in led_to(journal)}
    running = {attempt for journal in journals for attempt in open_attempts(journal)}
    lying = [Group(one.run_id, n) for one in journals for n in stock.groups(one.run_id)]
    return any(g not in live and g.attempt not in running for g in lying)


def _unbegun(planned: Collecting, world: World, grace: timedelta) -> list[Going]:
    found: list[Going] = []
    for run in planned.stock.runs():
        for name in () if planned.kin.has_begun(run) else planned.stock.groups(run):
            at = planned.stock.written_at(run, name)
            if at is not None and world.clock.now() - at >= grace:
                files = planned.stock.files(run, name).values()
                size = space(file for each in files for file in each)
                why = "a fork that was not begun"
                found.append(Going(Group(run, name), "", why, size, frozenset()))
    return found


def _fit(planned: Collecting, limit: int) -> None:
    """Let older commits go, the oldest of the store first, until the rest fits."""
    stock, collectors = planned.stock, planned.collectors.values()
    total = space(
        file
        for run in stock.runs()
        for name in stock.groups(run)
        for files in stock.files(run, name).values()
        for file in files
    ) - sum(one.size_bytes for one in planned.unbegun)
    older = sorted(one for collector in collectors for one in collector.older())

    def freed(count: int) -> int:
        return sum(collector.plan(older[:count]) for collector in collectors)

    freed(bisect_left(range(len(older)), total - limit, key=freed))
