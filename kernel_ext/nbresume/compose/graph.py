"""Settings and ports → the object graph of one notebook.

The rule: the only place that names backends and joins parts.
"""

import ast
import hashlib
import re
import secrets
from collections.abc import MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbresume.capture.live import Live
from nbresume.capture.snapshot import Snapshot
from nbresume.compose.system import PRODUCT
from nbresume.errors import NotTrusted
from nbresume.plan.code_version import parse
from nbresume.plan.header import body_of
from nbresume.plan.names import names_of
from nbresume.plan.notebook import Cell
from nbresume.run.audit import Audit
from nbresume.run.claims import Claims
from nbresume.run.commits import Commits
from nbresume.run.inputs import Inputs
from nbresume.run.intents import Intents
from nbresume.run.journal import Journal
from nbresume.run.parts import Parts
from nbresume.run.plain import PlainCells
from nbresume.run.ports import World
from nbresume.run.position import Order
from nbresume.run.process import ProcessStates
from nbresume.run.publishing import Publisher
from nbresume.run.recovery import Recovery
from nbresume.run.restore import Restorer
from nbresume.run.runs import Claimed, Runs, choose_run
from nbresume.run.stepper import Stepper
from nbresume.run.view import RunView, view_run
from nbresume.settings import Settings
from nbresume.store.chain import Chain
from nbresume.store.layout import open_layout
from nbresume.store.local import open_local
from nbresume.store.objects import Objects
from nbresume.store.port import Backend
from nbresume.store.trust import (
    Link,
    Trust,
    key_of_store,
    load_key,
    load_pins,
    save_pin,
)

_RUN = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Place:
    """Folders: of the store, and of the user's own data (key, pins)."""

    store: Path
    data: Path

    @property
    def key_file(self) -> Path:
        """The user's key."""
        return self.data / "key"

    def pins_file(self, store_id: str) -> Path:
        """Return the file with the heads of a foreign store that the user trusts."""
        return self.data / "trusted" / f"{store_id}.json"


@dataclass(frozen=True, slots=True)
class OpenStore:
    """A store that is open, and what vouches for its records."""

    backend: Backend
    store_id: str
    trust: Trust
    place: Place

    def chain(self, checkpoint_id: str) -> Chain:
        """Return a chain of this store."""
        return Chain(self.backend, self.trust, checkpoint_id)

    def read_chain(self, checkpoint_id: str) -> list[Link]:
        """Return all records of a chain, whoever wrote them: for listing only."""
        chain = self.chain(checkpoint_id)
        newest = chain.newest()
        return [] if newest is None else [chain.read(r) for r in range(newest + 1)]

    def runs(self) -> Runs:
        """Return the runs of this store."""
        return Runs(self.backend, self.read_chain, store_id=self.store_id)


def open_store(place: Place, *, create: bool) -> OpenStore:
    """Open a store; make it and the user's key if `create`.

    Raises
    ------
    StoreError
        The folder cannot be used, or there is no store.
    SchemaError
        The store is of a format that this release cannot read.
    """
    backend = open_local(place.store, create=create)
    new_id = secrets.token_hex(16) if create else None
    layout = open_layout(backend, new_id=new_id)
    if create:
        key = load_key(place.key_file, create=lambda: secrets.token_bytes(32))
    else:
        key = _key_or_none(place)
    pins = load_pins(place.pins_file(layout.store_id))
    trust = Trust(key_of_store(key, layout.store_id), pins=pins)
    return OpenStore(backend, layout.store_id, trust, place)


def _key_or_none(place: Place) -> bytes:
    """Return the user's key; one that signed nothing if there is none yet."""
    if not place.key_file.exists():
        return secrets.token_bytes(32)
    return load_key(place.key_file, create=None)


def run_id_of(name: str) -> str:
    """Return the run id that a setting names: an id as it is, any name by digest."""
    if not name or _RUN.fullmatch(name):
        return name
    return hashlib.sha256(f"run:{name}".encode()).hexdigest()[:16]


def order_of(world: World, journal: Journal) -> Order:
    """Return notebook order: the saved file's, else that of first intents."""
    cells = world.notebook.cells()
    if cells is not None:
        return Order.of(cells, "the saved notebook")
    histories = sorted(
        journal.state.steps.values(), key=lambda history: history.first_revision
    )
    found = [
        Cell(
            cell_id=h.attempt.intent.cell_id if h.attempt else f"step:{h.name}",
            source="",
            step=h.name,
            text_digest="",
        )
        for h in histories
    ]
    source = "the order in which steps first ran"
    return Order.of(found, source, knows_plain=False)


def names_set_by(order: Order, step: str) -> list[str]:
    """Return the names of values that a step's cell may set, by the saved notebook."""
    place = order.step_place(step)
    tree = parse(body_of(order.cells[place].source)) if place >= 0 else None
    if tree is None:
        return []
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return sorted(names_of(tree).stores - imported)


@dataclass(slots=True)
class Session:
    """One notebook in one kernel: everything that a face may ask."""

    stepper: Stepper
    parts: Parts
    plain: PlainCells
    audit: Audit
    store: OpenStore
    settings: Settings

    @property
    def journal(self) -> Journal:
        """The run's chain and state."""
        return self.parts.journal

    def order(self) -> Order:
        """Return notebook order as it is known now."""
        return order_of(self.parts.world, self.parts.journal)

    def become(self, other: "Session") -> None:
        """Go on as another session: the next run of the same notebook."""
        self.stepper, self.parts, self.plain = other.stepper, other.parts, other.plain
        self.audit = other.audit


def open_journal(store: OpenStore, run_id: str, world: World) -> Journal:
    """Return the journal of a run; it is not read yet."""
    return Journal(
        run_id,
        chain=store.chain(run_id),
        trust=store.trust,
        objects=Objects(store.backend, run_id),
        world=world,
        product=PRODUCT,
    )


@dataclass(frozen=True, slots=True)
class Inspection:
    """One run as it can be looked at, and decided about, without a kernel."""

    journal: Journal
    claims: Claims
    recovery: Recovery
    world: World
    trusted: bool
    """False: written under another key; nothing of it may be loaded."""

    def order(self) -> Order:
        """Return notebook order as it is known now."""
        return order_of(self.world, self.journal)

    def view(self) -> RunView:
        """Return the run as people see it."""
        return view_run(
            self.journal.state,
            self.order(),
            self.recovery,
            self.world,
            run_id=self.journal.run_id,
            alive=self.claims.is_alive(),
            trusted=self.trusted,
        )


def inspect_run(
    store: OpenStore, run_id: str, world: World, settings: Settings
) -> Inspection:
    """Read the decisions of a run, also of a foreign one; reads no payload."""
    journal = open_journal(store, run_id, world)
    trusted = True
    try:
        journal.open()
    except NotTrusted:
        trusted = False
        journal.open(inspect=True)
    claims = Claims(journal, world)
    recovery = Recovery(journal, claims, world, settings)
    return Inspection(journal, claims, recovery, world, trusted)


def trust_store(store: OpenStore) -> list[str]:
    """Pin the heads of all chains of a store; return the checkpoint ids.

    Rewrites nothing: the pins lie in the user's own data folder. Below a damaged
    record the hash chain is cut, so the record below it is pinned too.
    """
    pins_file = store.place.pins_file(store.store_id)
    pinned = []
    for checkpoint_id in store.backend.names("journal"):
        links = store.read_chain(checkpoint_id)
        heads = [
            link
            for link, after in zip(links, [*links[1:], None], strict=True)
            if link.envelope is not None and (after is None or after.envelope is None)
        ]
        for link in heads:
            save_pin(pins_file, checkpoint_id, link.revision, link.digest)
        if heads:
            pinned.append(checkpoint_id)
    return pinned


def open_session(
    namespace: MutableMapping[str, Any],
    world: World,
    place: Place,
    settings: Settings,
    *,
    run_id: str = "",
) -> Session:
    """Open the run of a notebook for a kernel; restores nothing, claims nothing.

    Parameters
    ----------
    namespace
        The kernel's user namespace.
    run_id
        Go on with this run, whatever the notebook's path says.
    """
    store = open_store(place, create=True)
    named = run_id or run_id_of(settings.run)
    chosen = choose_run(store.runs(), world, named=named)
    journal = open_journal(store, chosen, world)
    journal.open()
    return _join(namespace, world, store, journal, settings)


def _join(
    namespace: MutableMapping[str, Any],
    world: World,
    store: OpenStore,
    journal: Journal,
    settings: Settings,
) -> Session:
    live = Live(namespace, new_nonce=world.ids.nonce)
    live.identities.next_object = journal.state.next_object
    restorer = Restorer(live, journal.objects, world)
    process = ProcessStates(world, read=restorer.process)
    snapshot = Snapshot(live, is_stored=restorer.places.__contains__)
    claims = Claims(journal, world)
    publisher = Publisher(journal, restorer, world)
    commits = Commits(
        live,
        snapshot,
        restorer,
        journal,
        world,
        process,
        publisher,
        max_step_bytes=settings.max_step_bytes,
    )
    intents = Intents(
        live,
        snapshot,
        restorer,
        journal,
        world,
        process,
        ambient_limit_bytes=settings.ambient_limit_bytes,
    )
    steppers: list[Stepper] = []
    recovery = Recovery(
        journal,
        claims,
        world,
        settings,
        holds_body=lambda attempt: bool(steppers) and steppers[0].holds_body(attempt),
    )
    parts = Parts(
        live=live,
        snapshot=snapshot,
        restorer=restorer,
        inputs=Inputs(live, restorer, world, process),
        process=process,
        intents=intents,
        commits=commits,
        publisher=publisher,
        claims=claims,
        recovery=recovery,
        journal=journal,
        world=world,
    )
    steppers.append(Stepper(parts, order=lambda: order_of(world, journal)))
    claims.after_claim(lambda: _after_claim(store, parts))
    plain, audit = PlainCells(live, process), Audit(live, clock=world.clock)
    return Session(steppers[0], parts, plain, audit, store, settings)


def _after_claim(store: OpenStore, parts: Parts) -> None:
    """Repeat the claim where runs are found; redo what a crash left undone."""
    journal = parts.journal
    claim, at = journal.state.claim, journal.state.claimed_at
    if claim is not None and at is not None:
        noted = Claimed(
            run_id=journal.run_id, epoch=journal.state.epoch, at=at, claim=claim
        )
        store.runs().note(noted)
    live = parts.live.identities
    live.next_object = max(live.next_object, journal.state.next_object)
    parts.publisher.publish_again()
