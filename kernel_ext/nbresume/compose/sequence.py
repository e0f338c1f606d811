"""What was opened → the parts that run steps; the other half of `compose/graph.py`.

The rule: nothing here begins anything. It is made when the first cell after the load
begins, or in a quiet moment before, and knows no more than at the load.
"""

from msgspec import Struct

from nbresume.capture.snapshot import Snapshot
from nbresume.compose.saved_order import SavedOrder
from nbresume.compose.stores import OpenStore
from nbresume.compose.trial import TrialProcess
from nbresume.model.records import Tombstone
from nbresume.run.audit import Audit
from nbresume.run.branches import Branches
from nbresume.run.commits import Commits
from nbresume.run.drift import Drift
from nbresume.run.effects import Effects
from nbresume.run.evidence import Evidence
from nbresume.run.file_slices import FileSlices
from nbresume.run.file_states import Files
from nbresume.run.file_watch import FileWatch
from nbresume.run.inputs import Inputs
from nbresume.run.intents import Intents
from nbresume.run.loops import Loops
from nbresume.run.opened import Opened
from nbresume.run.parts import Parts
from nbresume.run.progress import ProgressKeeper
from nbresume.run.publishing import Publisher
from nbresume.run.recovery import Recovery
from nbresume.run.restore import Restorer
from nbresume.run.runs import claimed_now
from nbresume.run.stepper import Stepper
from nbresume.run.trials import Trials
from nbresume.settings import Settings


class Sequence(Struct, frozen=True):
    """What runs the steps of one notebook, and looks after them between cells."""

    stepper: Stepper
    parts: Parts
    audit: Audit
    trials: Trials
    file_slices: FileSlices


def join(
    opened: Opened, order: SavedOrder, store: OpenStore, settings: Settings
) -> Sequence:
    """Return the parts that run the steps of an opened run."""
    live, journal, world = opened.live, opened.journal, opened.world
    steppers: list[Stepper] = []
    recovery = Recovery(
        journal,
        opened.claims,
        world,
        settings,
        holds_body=lambda attempt: bool(steppers) and steppers[0].holds_body(attempt),
    )
    parts = _parts(opened, settings, recovery)
    steppers.append(Stepper(parts, order=order))
    journal.when_erased(lambda record: _forget(parts, record))
    parts.claims.after_claim(lambda: _after_claim(store, parts))
    launch = TrialProcess(store.place.store, store.place.data, journal.run_id)
    return Sequence(
        steppers[0],
        parts,
        Audit(live, clock=world.clock),
        Trials(live, journal, launch, clock=world.clock),
        FileSlices(world.disk, lambda: journal.state),
    )


def _parts(opened: Opened, settings: Settings, recovery: Recovery) -> Parts:
    live, journal, world = opened.live, opened.journal, opened.world
    process, code = opened.process, opened.code
    restorer = Restorer(live, journal.objects, world)
    snapshot = Snapshot(
        live, is_stored=restorer.places.__contains__, threads=opened.threads
    )
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


def _after_claim(store: OpenStore, parts: Parts) -> None:
    """Repeat the claim where runs are found; redo what a crash left undone."""
    journal = parts.journal
    claimed = claimed_now(journal.run_id, journal.state)
    if claimed is not None:
        store.runs().note(claimed)
    live = parts.live.identities
    live.next_object = max(live.next_object, journal.state.next_object)
    parts.publisher.publish_again()
