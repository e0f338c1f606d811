"""A store → its families of runs, for whoever erases or collects in it.

The rule: a run is never looked at without the runs that refer to its payloads.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from nbresume.compose.stores import OpenStore, open_journal
from nbresume.errors import NotTrusted
from nbresume.run.erasing import Eraser, Erasure, Target
from nbresume.run.holdings import Holdings, holdings_of
from nbresume.run.journal import Journal
from nbresume.run.ports import World
from nbresume.run.retention import (
    Collection,
    Collector,
    Rules,
    needed,
    open_attempts,
)
from nbresume.store.sweeping import Stock


def families(store: OpenStore) -> list[list[str]]:
    """Return the runs of a store, each with what it is a fork of and all its forks."""
    runs = store.runs()
    top: dict[str, str] = {}
    origins = {one: runs.origin(one) for one in sorted(runs.ids())}
    for run in origins:
        first, seen = run, {run}
        while (origin := origins.get(first)) and origin.run not in seen:
            first = origin.run
            seen.add(first)
        top[run] = first
    found: dict[str, list[str]] = {}
    for run, first in top.items():
        found.setdefault(first, []).append(run)
    return list(found.values())


def _open(store: OpenStore, run_id: str, world: World) -> Journal:
    journal = open_journal(store, run_id, world)
    journal.open()
    return journal


def _held(store: OpenStore, runs: list[str], world: World) -> dict[str, Holdings]:
    return {run: holdings_of(_open(store, run, world)) for run in runs}


@dataclass(frozen=True, slots=True)
class Erasing:
    """An erasure that was worked out."""

    erasure: Erasure
    eraser: Eraser


def plan_erasure(store: OpenStore, target: Target, world: World) -> Erasing:
    """Return what an erasure would take away; nothing is written.

    Raises
    ------
    NotCommitted
        Nothing is stored of what was named.
    NotTrusted
        A run that is concerned was written under another key.
    """
    family = next(runs for runs in families(store) if target.run in runs)
    held = _held(store, family, world)
    eraser = Eraser(held, Stock(store.backend), world)
    return Erasing(eraser.plan(target), eraser)


@dataclass(slots=True)
class Collecting:
    """A collection over a whole store that was worked out."""

    parts: list[tuple[Collector, Collection]] = field(default_factory=list)
    erasers: list[Eraser] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Run → why nothing of it goes."""

    def collect(self) -> int:
        """Take it away; return how many bytes went.

        Raises
        ------
        StoreError
            The store cannot write; the next collection goes on.
        """
        freed = sum(eraser.finish() for eraser in self.erasers)
        freed += sum(collector.collect(found) for collector, found in self.parts)
        for _, found in self.parts:
            self.skipped |= found.skipped
        return freed


def plan_collection(store: OpenStore, world: World, rules: Rules) -> Collecting:
    """Return what a collection would take away; nothing is written.

    A chain is walked only where a group lies that nothing needs.
    """
    stock, planned = Stock(store.backend), Collecting()
    for runs in families(store):
        try:
            journals = [_open(store, run, world) for run in runs]
            if not any(_idle_groups(journals, stock)):
                continue
            held = {journal.run_id: holdings_of(journal) for journal in journals}
        except NotTrusted as error:
            planned.skipped |= dict.fromkeys(runs, error.because)
            continue
        collector = Collector(held, stock, world, rules)
        found = collector.plan()
        planned.erasers.append(Eraser(held, stock, world))
        planned.parts.append((collector, found))
        planned.skipped |= found.skipped
    return planned


def _idle_groups(journals: list[Journal], stock: Stock) -> Iterator[bool]:
    """Say of each run whether something lies there that may not be needed."""
    live = {group for journal in journals for group in needed(journal)}
    for journal in journals:
        # an erasure may have been cut off between the tombstones of two runs
        yield len(journals) > 1 and journal.state.erased_at >= 0
        running = open_attempts(journal)
        names = {group.name for group in live if group.run == journal.run_id}
        yield any(
            name not in names and name.partition("-")[0] not in running
            for name in stock.groups(journal.run_id)
        )
