"""Settings and ports → the object graph of one notebook.

The rule: the only place that joins parts.
"""

from collections.abc import MutableMapping
from typing import Any

from msgspec import Struct

from nbresume.capture.live import Live
from nbresume.capture.snapshot import Snapshot
from nbresume.compose.saved_order import SavedOrder
from nbresume.compose.stores import (
    OpenStore,
    Place,
    open_journal,
    open_store,
    run_id_of,
)
from nbresume.compose.trial import TrialProcess
from nbresume.model.records import Tombstone
from nbresume.run.audit import Audit
from nbresume.run.branches import Branches
from nbresume.run.claims import Claims
from nbresume.run.commits import Commits
from nbresume.run.drift import Drift
from nbresume.run.effects import Effects
from nbresume.run.evidence import Evidence
from nbresume.run.file_slices import FileSlices
from nbresume.run.file_states import Files
from nbresume.run.file_watch import FileWatch
from nbresume.run.inputs import Inputs
from nbresume.run.intents import Intents
from nbresume.run.journal import Journal
from nbresume.run.local_code import LocalCode
from nbresume.run.loops import Loops
from nbresume.run.parts import Parts
from nbresume.run.plain import PlainCells
from nbresume.run.ports import World
from nbresume.run.process import ProcessStates
from nbresume.run.progress import ProgressKeeper
from nbresume.run.publishing import Publisher
from nbresume.run.recovery import Recovery
from nbresume.run.restore import Restorer
from nbresume.run.runs import choose_run, claimed_now
from nbresume.run.stepper import Stepper
from nbresume.run.trials import Trials
from nbresume.settings import Settings
from nbresume.store.objects import Told


class Session(Struct):
    """One notebook in one kernel: everything that a face may ask."""

    stepper: Stepper
    parts: Parts
    plain: PlainCells
    audit: Audit
    trials: Trials
    file_slices: FileSlices
    store: OpenStore
    settings: Settings
    order: SavedOrder
    """Returns notebook order as it is known now."""

    @property
    def journal(self) -> Journal:
        """The run's chain and state."""
        return self.parts.journal

    def become(self, other: "Session") -> None:
        """Go on as another session: the next run of the same notebook."""
        self.stepper, self.parts, self.plain = other.stepper, other.parts, other.plain
        self.audit, self.trials = other.audit, other.trials
        self.file_slices = other.file_slices
        other.order.auto = self.order.auto
        self.order = other.order


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
    if store.notice:
        world.screen.say(store.notice)
    named = run_id or run_id_of(settings.run)
    chosen = choose_run(store.runs(), world, named=named)
    return open_run(namespace, world, store, settings, run_id=chosen)


def open_run(
    namespace: MutableMapping[str, Any],
    world: World,
    store: OpenStore,
    settings: Settings,
    *,
    run_id: str,
) -> Session:
    """Open a run of an open store for a kernel; restores nothing, claims nothing."""
    journal = open_journal(store, run_id, world, told=_noted(store, world))
    journal.open()
    return _join(namespace, world, store, journal, settings)


def _noted(store: OpenStore, world: World) -> Told:
    notes: list[Told] = []

    def told(run: str, group: str) -> None:
        if not notes:
            # a kernel that reads nothing does without
            from nbresume.compose.access import kernel_notes  # noqa: PLC0415

            notes.append(kernel_notes(store, world))
        notes[0](run, group)

    return told


def _join(
    namespace: MutableMapping[str, Any],
    world: World,
    store: OpenStore,
    journal: Journal,
    settings: Settings,
) -> Session:
    live = Live(namespace, new_nonce=world.ids.nonce)
    live.identities.next_object = journal.state.next_object
    steppers: list[Stepper] = []
    claims = Claims(journal, world)
    if settings.take_over:
        claims.give_up_holder()
    recovery = Recovery(
        journal,
        claims,
        world,
        settings,
        holds_body=lambda attempt: bool(steppers) and steppers[0].holds_body(attempt),
    )
    parts = _parts(live, world, journal, settings, recovery)
    order = SavedOrder(world, journal)
    steppers.append(Stepper(parts, order=order))
    journal.when_erased(lambda record: _forget(parts, record))
    parts.claims.after_claim(lambda: _after_claim(store, parts))
    launch = TrialProcess(store.place.store, store.place.data, journal.run_id)
    return Session(
        steppers[0],
        parts,
        PlainCells(live, parts.process, parts.code),
        Audit(live, clock=world.clock),
        Trials(live, journal, launch, clock=world.clock),
        FileSlices(world.disk, lambda: journal.state),
        store,
        settings,
        order,
    )


def _parts(
    live: Live,
    world: World,
    journal: Journal,
    settings: Settings,
    recovery: Recovery,
) -> Parts:
    restorer = Restorer(live, journal.objects, world)
    process = ProcessStates(world, read=restorer.process)
    snapshot = Snapshot(live, is_stored=restorer.places.__contains__)
    publisher = Publisher(journal, restorer, world)
    limit = settings.max_step_bytes
    commits = Commits(
        live,
        snapshot,
        restorer,
        journal,
        world,
        process,
        publisher,
        max_step_bytes=limit,
    )
    ambient = settings.ambient_limit_bytes
    intents = Intents(
        live, snapshot, restorer, journal, world, process, ambient_limit_bytes=ambient
    )
    effects = Effects(live, restorer, journal, world)
    code = LocalCode(live, world)
    files = Files(world.disk)
    inputs = Inputs(live, restorer, world, process, files)
    inside = effects.scopes.is_inside
    evidence = Evidence(journal, world, settings.undeclared, inside_effect=inside)
    stored = (live, snapshot, restorer, journal, world, process, evidence)
    keeper = ProgressKeeper(*stored, max_step_bytes=limit)
    return Parts(
        files=files,
        file_watch=FileWatch(live, code, files, world),
        code=code,
        live=live,
        snapshot=snapshot,
        restorer=restorer,
        inputs=inputs,
        branches=Branches(live, inputs, recovery.claims, journal, world),
        process=process,
        intents=intents,
        effects=effects,
        loops=Loops(live, keeper, effects.scopes, journal, world),
        commits=commits,
        drift=Drift(world),
        evidence=evidence,
        publisher=publisher,
        claims=recovery.claims,
        recovery=recovery,
        journal=journal,
        world=world,
    )


def _forget(parts: Parts, record: Tombstone) -> None:
    """Let this kernel refer to nothing that was erased: it is written anew."""
    parts.restorer.forget(record.groups)
    parts.snapshot.forget()
    parts.journal.objects.forget()


def _after_claim(store: OpenStore, parts: Parts) -> None:
    """Repeat the claim where runs are found; redo what a crash left undone."""
    journal = parts.journal
    claimed = claimed_now(journal.run_id, journal.state)
    if claimed is not None:
        store.runs().note(claimed)
    live = parts.live.identities
    live.next_object = max(live.next_object, journal.state.next_object)
    parts.publisher.publish_again()
