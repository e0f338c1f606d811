"""A notebook that is named by its path → its run, to be looked at without a kernel.

The rule: it opens for reading; nothing is made, claimed or loaded.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Struct

from nbresume.compose import place_of, settings_from_environment
from nbresume.compose.access import note
from nbresume.compose.disk import DiskFiles
from nbresume.compose.inspection import Inspection, inspect_run
from nbresume.compose.stores import OpenStore, open_store, run_id_of
from nbresume.compose.system import (
    ProcessLiveness,
    RandomIds,
    SavedNotebook,
    SystemClock,
)
from nbresume.errors import KeyMissing, NotCommitted, RefusedError
from nbresume.model.displays import Shown
from nbresume.run.history import Event, events
from nbresume.run.moves import closing_records
from nbresume.run.ports import Disk, NoDisk, World
from nbresume.run.runs import choose_run
from nbresume.run.view import RunView
from nbresume.store.access import Act

Say = Callable[[str], None]
"""Tells a person one line."""
MaySee = Callable[[str], bool]
"""Says whether somebody may know of a run of the notebook that had this path."""


def anybody(_path: str) -> bool:
    """Return True: who asks may see whatever the account of this process may."""
    return True


class Reader(Struct, frozen=True):
    """The screen of somebody who only reads: no output is recorded or shown."""

    say: Say

    def start(self) -> None:
        """Record nothing: no cell is run."""

    def stop(self) -> list[Shown]:
        """Return nothing."""
        return []

    def show(self, outputs: list[Shown]) -> None:
        """Show nothing."""


class NoInterrupts:
    """Who commits nothing has nothing to defer."""

    def defer(self) -> Callable[[], None]:
        """Return what lets interrupts through: they never were held back."""
        return lambda: None


class Asked(Struct, frozen=True):
    """A notebook that was named, with its run."""

    store: OpenStore
    run: Inspection
    notices: list[str]
    """What was told while it was opened: which run it is, what is damaged."""

    def view(self, *, quick: bool = False) -> RunView:
        """Return the run as people see it, for a face that shows no notices."""
        view = self.run.view(quick=quick)
        # damage has a field of its own
        told = [line for line in self.notices if not view.damaged]
        return msgspec.structs.replace(view, differs=[*told, *view.differs])


def world_of(notebook: Path | None, say: Say, *, actor: str = "") -> World:
    """Return the world of a process that runs no cell.

    Parameters
    ----------
    actor
        Who acts; empty for the account of this process.
    """
    path = str(notebook.absolute()) if notebook else ""
    return World(
        clock=SystemClock(),
        ids=RandomIds(),
        liveness=ProcessLiveness(actor),
        notebook=SavedNotebook(path, Path(path).name),
        screen=Reader(say),
        interrupts=NoInterrupts(),
        disk=_disk_of(notebook),
    )


def _disk_of(notebook: Path | None) -> Disk:
    if notebook is None:
        return NoDisk()
    place = place_of(notebook.absolute().parent, settings_from_environment())
    return DiskFiles(notebook.absolute(), store=place.store)


def ask(
    notebook: Path, say: Say, *, actor: str = "", may_see: MaySee = anybody
) -> Asked:
    """Open the run of a notebook for reading.

    Parameters
    ----------
    actor
        Who acts; empty for the account of this process.
    may_see
        Whether they may know of a run of the notebook that had a path.

    Raises
    ------
    NotCommitted
        There is no store yet.
    RefusedError
        There is no such notebook.
    """
    if not notebook.exists():
        raise RefusedError(
            f"{notebook} was not looked at",
            because="there is no such file",
            remedy="Name an existing notebook.",
        )
    settings = settings_from_environment()
    place = place_of(notebook.absolute().parent, settings)
    try:
        store = open_store(place, create=False)
    except KeyMissing as error:
        raise NotCommitted(
            f"{notebook} has no run",
            because=f"there is no store at {place.store}",
            remedy=f"Type nbresume run {notebook}, or run its cells in Jupyter.",
        ) from error
    notices: list[str] = []

    def tell(line: str) -> None:
        notices.append(line)
        say(line)

    if loss := store.loss():
        tell(loss)
    world = world_of(notebook, tell, actor=actor)
    named = run_id_of(settings.run)
    run_id = choose_run(store.runs(), world, named=named, may_see=may_see)
    return Asked(store, inspect_run(store, run_id, world, settings), notices)


def note_shown(asked: Asked, step: str, *, via: str) -> None:
    """Note that values of a step are about to be shown, in who asks' own data folder.

    Raises
    ------
    Unavailable
        It cannot be noted, so they are not to be shown.
    """
    run = asked.run
    note(
        asked.store,
        run.world,
        Act.INSPECTED,
        via=via,
        run=run.journal.run_id,
        step=step,
    )


def history_of(asked: Asked, step: str = "") -> list[Event]:
    """Return the audit trail of a run, oldest first; of one step if it is named."""
    journal, store = asked.run.journal, asked.store
    if asked.run.trusted:
        links, closings = journal.envelopes(), journal.closing_records()
    else:
        links = store.read_run(journal.run_id)
        closings = closing_records(store.chain(journal.run_id), None)
    return events(links, closings=closings, step=step)
