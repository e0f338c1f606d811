"""A run of a store → a fork of it: found, planned, begun.

The rule: nothing is written before everything that speaks against it was looked at.
"""

from dataclasses import dataclass

import msgspec

from nbresume.capture.entries import Entry, Made
from nbresume.compose.graph import Session, open_run
from nbresume.compose.inspection import Inspection, inspect_run
from nbresume.compose.stores import OpenStore, open_journal
from nbresume.compose.traveling import check_agreed, read_past
from nbresume.errors import NotCommitted, NotTrusted, RefusedError
from nbresume.model.records import Tombstone
from nbresume.run.claims import Claims
from nbresume.run.forks import Planned, Wanted, begin_fork, plan_fork
from nbresume.run.journal import Journal
from nbresume.run.order import Order
from nbresume.run.ports import World
from nbresume.run.runs import claimed_now
from nbresume.run.travel import go, leaving
from nbresume.settings import Settings


@dataclass(frozen=True, slots=True)
class Fork:
    """A fork that can be made in a store."""

    planned: Planned
    origin: Journal
    """The chain of the run that it comes from, as the plan read it."""
    store: OpenStore
    world: World
    order: Order


def look_at(
    store: OpenStore, run_id: str, world: World, settings: Settings
) -> Inspection:
    """Return a run of a store by its id, whoever wrote it: nothing is loaded.

    Raises
    ------
    NotCommitted
        The store has no such run.
    """
    runs = store.runs()
    if run_id not in runs.ids():
        known = ", ".join(claimed.run_id for claimed in runs.all())
        raise NotCommitted(
            f"run {run_id} was not found",
            because="this store has no such run",
            remedy=f"Name one of its runs ({known or 'it has none'}); nbresume runs "
            "tells more of them.",
            run_id=run_id,
        )
    return inspect_run(store, run_id, world, settings)


def find_run(
    store: OpenStore, run_id: str, world: World, settings: Settings
) -> Inspection:
    """Return a run of a store by its id, if its records are trusted.

    Raises
    ------
    NotCommitted
        The store has no such run.
    NotTrusted
        It was written under another key.
    """
    found = look_at(store, run_id, world, settings)
    if not found.trusted:
        raise NotTrusted(
            f"run {run_id} was not used",
            because="it was written under another key",
            remedy="If you know where it comes from, type nbresume trust "
            f"{store.place.store}",
            run_id=run_id,
        )
    return found


def plan(
    store: OpenStore,
    wanted: Wanted,
    world: World,
    settings: Settings,
    order: Order,
) -> Fork:
    """Return the fork that was asked for; nothing is written.

    Raises
    ------
    NotCommitted
        The store has no such run, the run no such step, or it has no such commit.
    NotTrusted
        The run was written under another key.
    RefusedError
        A step that would be shared is running, in doubt, or not whole.
    """
    found = find_run(store, wanted.run_id, world, settings)
    planned = plan_fork(wanted, found.journal, order, found.recovery.state)
    return Fork(planned, found.journal, store, world, order)


def begin(fork: Fork, run_id: str) -> None:
    """Begin the fork as the run of this id; this process is its writer.

    Raises
    ------
    TakenRun
        Another process began this run at the same moment.
    RefusedError
        The run has begun already.
    StoreError
        The store cannot write; there is no such run then.
    """
    journal = open_journal(fork.store, run_id, fork.world)
    journal.open()
    if journal.state.revision >= 0:
        raise RefusedError(
            f"run {fork.planned.wanted.run_id} was not forked",
            because=f"run {run_id} has begun already",
            remedy="Type the command again.",
            run_id=run_id,
        )
    claims = Claims(journal, fork.world)
    group_id = fork.world.ids.attempt_id()
    begin_fork(fork.planned, journal, claims, fork.order, group_id=group_id)
    _heed_tombstones(fork, journal)
    claimed = claimed_now(run_id, journal.state)
    if claimed is not None:
        fork.store.runs().note(claimed)


def _heed_tombstones(fork: Fork, journal: Journal) -> None:
    """Let what was erased since the plan be erased in the fork, too.

    Whoever erases writes the tombstone and then looks for forks; a fork writes its
    record and then looks for tombstones: one of the two sees the other.
    """
    found: list[Tombstone] = []
    fork.origin.when_erased(found.append)
    fork.origin.refresh()
    origin = fork.planned.wanted.run_id
    for record in found:
        groups = {run or origin: names for run, names in record.groups.items()}
        journal.decide(msgspec.structs.replace(record, groups=groups, commits=[]))
    for name, history in journal.state.steps.items():
        if history.erased:
            fork.world.screen.say(f"step {name} has no values: {history.erased}")


def fork_session(session: Session, wanted: Wanted, *, yes: bool) -> Fork:
    """Begin a fork and go on with it in this kernel; nothing of it is bound yet.

    Raises
    ------
    NotCommitted, NotTrusted, RefusedError, TakenRun, StoreError
        As for `plan` and `begin`; or values would be lost, and `yes` is not said.
    """
    past, parts, order = read_past(session), session.parts, session.order()
    trip = leaving(parts, past, f"in a fork of run {wanted.run_id}")
    typed = f"%steps fork {wanted.run_id} --at {wanted.label}"
    check_agreed(trip, yes=yes, typed=typed)
    store, world = session.store, parts.world
    fork = plan(store, wanted, world, session.settings, order)
    path = world.notebook.path
    run_id = store.runs().next_id(path) if path else world.ids.run_id()
    begin(fork, run_id)
    plain = parts.live.ambient()
    go(parts, past, trip, order)
    fresh = open_run(
        parts.live.namespace, world, store, session.settings, run_id=run_id
    )
    for name, entry in plain.items():
        if fresh.parts.live.namespace.get(name) is entry.value:
            # what plain cells made is theirs in the fork too
            known = Entry(entry.value, Made.AMBIENT, cells=entry.cells)
            fresh.parts.live.set(name, known)
    session.become(fresh)
    return fork
