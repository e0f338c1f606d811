"""Settings and ports → the object graph of one notebook.

The rule: parts are joined here and in `compose/sequence.py` alone: here is what has to
begin when the extension is loaded, there what runs steps, joined when it is asked for.
"""

import threading
from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from nbresume.capture.live import Live
from nbresume.collector import put_off
from nbresume.compose.saved_order import SavedOrder
from nbresume.compose.stores import (
    OpenStore,
    Place,
    open_journal,
    open_store,
    run_id_of,
)
from nbresume.model.records import Committed
from nbresume.run.claims import Claims
from nbresume.run.journal import Journal
from nbresume.run.local_code import LocalCode
from nbresume.run.opened import Opened
from nbresume.run.plain import PlainCells
from nbresume.run.ports import World
from nbresume.run.process import ProcessStates, States
from nbresume.run.runs import choose_run
from nbresume.settings import Settings
from nbresume.store.objects import Told

if TYPE_CHECKING:
    # half of all modules, which a kernel needs when a cell has begun, and not before
    from nbresume.compose.sequence import Sequence
    from nbresume.run.intents import Running
    from nbresume.run.parts import Parts
    from nbresume.run.stepper import Stepper


class Session(Struct):
    """One notebook in one kernel: everything that a face may ask."""

    opened: Opened
    plain: PlainCells
    store: OpenStore
    settings: Settings
    order: SavedOrder
    """Returns notebook order as it is known now."""
    _sequence: "Sequence | None" = None
    """What runs steps, once somebody asked for it."""
    _joining: Any = field(default_factory=threading.RLock)
    """Held while that is joined: an effect may ask for it in a thread of its own."""

    def join(self) -> "Sequence":
        """Return what runs steps; it is joined by now if it was not."""
        if self._sequence is not None:
            return self._sequence
        with self._joining, put_off():
            # see the imports above
            from nbresume.compose.sequence import join  # noqa: PLC0415

            if self._sequence is None:
                opened, order = self.opened, self.order
                self._sequence = join(opened, order, self.store, self.settings)
            return self._sequence

    @property
    def joined(self) -> "Sequence | None":
        """What runs steps, if it is joined: else no cell has begun since the load."""
        return self._sequence

    @property
    def running(self) -> "Running | None":
        """The attempt whose body runs now."""
        return self._sequence.stepper.running if self._sequence else None

    @property
    def live(self) -> Live:
        """What the kernel's namespace holds."""
        return self.opened.live

    @property
    def world(self) -> World:
        """What the outside gives."""
        return self.opened.world

    @property
    def journal(self) -> Journal:
        """The run's chain and state."""
        return self.opened.journal

    @property
    def stepper(self) -> "Stepper":
        """The sequence."""
        return self.join().stepper

    @property
    def parts(self) -> "Parts":
        """The modules that it joins."""
        return self.join().parts

    def become(self, other: "Session") -> None:
        """Go on as another session: the next run of the same notebook."""
        other.order.auto = self.order.auto
        self.opened, self.plain, self.order = other.opened, other.plain, other.order
        self._sequence = other.join()


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
    return session_of(namespace, world, store, journal, settings)


def _noted(store: OpenStore, world: World) -> Told:
    notes: list[Told] = []

    def told(run: str, group: str) -> None:
        if not notes:
            # a kernel that reads nothing does without
            from nbresume.compose.access import kernel_notes  # noqa: PLC0415

            notes.append(kernel_notes(store, world))
        notes[0](run, group)

    return told


def session_of(
    namespace: MutableMapping[str, Any],
    world: World,
    store: OpenStore,
    journal: Journal,
    settings: Settings,
) -> Session:
    """Return the session of a run that was read; from now on cells are watched."""
    live = Live(namespace, new_nonce=world.ids.nonce)
    live.identities.next_object = journal.state.next_object
    claims = Claims(journal, world)
    if settings.take_over:
        claims.give_up_holder()

    def states_of(record: Committed) -> States:
        return session.parts.restorer.process(record)

    process = ProcessStates(world, read=states_of)
    code = LocalCode(live, world)
    opened = Opened(
        live,
        process,
        code,
        claims,
        journal,
        world,
        threads=frozenset(threading.enumerate()),
    )
    plain = PlainCells(live, process, code)
    journal.when_erased(lambda _: journal.objects.forget())
    session = Session(opened, plain, store, settings, SavedOrder(world, journal))
    return session
