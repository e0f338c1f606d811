"""`%load_ext nbresume`: joins one shell to the run of its notebook.

Restores nothing and claims nothing; shows what is there.
"""

import os
from pathlib import Path
from typing import Any

from msgspec import Struct

from nbresume.collector import put_off
from nbresume.compose import place_of, settings_from_environment
from nbresume.compose.active import ACTIVE
from nbresume.compose.disk import DiskFiles
from nbresume.compose.graph import Session, open_session
from nbresume.compose.system import (
    ProcessLiveness,
    RandomIds,
    SavedNotebook,
    SignalInterrupts,
    SystemClock,
)
from nbresume.compose.watch import AuditWatch
from nbresume.errors import NbresumeError, RefusedError
from nbresume.run.ports import OwnCalls, World
from nbresume.settings import Settings
from nbresume.ui.ipython.auto import switch
from nbresume.ui.ipython.hooks import Hooks
from nbresume.ui.ipython.marker import strip_header
from nbresume.ui.ipython.pages import Pages
from nbresume.ui.ipython.refusals import rejected
from nbresume.ui.ipython.screen import ShellScreen
from nbresume.ui.ipython.spans import Spans

_ATTRIBUTE = "_nbresume"
_PORTS = ("shell_port", "iopub_port", "stdin_port", "control_port", "hb_port")
_MAGICS = (
    ("line", "steps"),
    ("line", "nbresume"),
    ("cell", "step"),
    ("line", "%step"),
)


class Extension(Struct):
    """What was put into a shell, so that it can be taken out again."""

    session: Session
    hooks: Hooks
    pages: Pages


def load_ipython_extension(shell: Any) -> None:
    """Install the steps of this notebook into a shell, from a cell.

    Raises
    ------
    RefusedError
        The notebook's path is not known, or its store cannot be used.
    """
    if is_loaded(shell):
        return
    with put_off():
        _load(shell).hooks.adopt_running_cell()
        greet(shell)


def is_loaded(shell: Any) -> bool:
    """Say whether they are installed in a shell."""
    return getattr(shell, _ATTRIBUTE, None) is not None


def load_between_cells(shell: Any) -> None:
    """Install them while no cell of the user runs, and say nothing.

    Raises
    ------
    RefusedError
        The notebook's path is not known, or its store cannot be used.
    """
    # no reply waits for it: the first cell need not
    _load(shell).session.join()


def _load(shell: Any) -> Extension:
    settings = settings_from_environment()
    spans = Spans()
    session = _open(shell, settings, spans)
    pages = Pages(session, spans.step)
    extension = Extension(session, Hooks(shell, session, pages), pages)
    setattr(shell, _ATTRIBUTE, extension)
    ACTIVE.set(session)
    _install(shell, extension)
    pages.listen(shell)
    return extension


def unload_ipython_extension(shell: Any) -> None:
    """Take the steps out of a shell; the store stays as it is."""
    extension = getattr(shell, _ATTRIBUTE, None)
    if extension is None:
        return
    setattr(shell, _ATTRIBUTE, None)
    ACTIVE.clear(extension.session)
    extension.pages.close(shell)
    extension.hooks.close()
    if sequence := extension.session.joined:
        sequence.parts.evidence.end()
        sequence.parts.file_watch.end()
    shell.input_transformer_manager.cleanup_transforms.remove(strip_header)
    shell.ast_transformers.remove(extension.hooks)
    shell.events.unregister("pre_run_cell", extension.hooks.pre_run_cell)
    shell.events.unregister("post_run_cell", extension.hooks.post_run_cell)
    for kind, name in _MAGICS:
        shell.magics_manager.magics[kind].pop(name, None)


def _open(shell: Any, settings: Settings, spans: Spans) -> Session:
    path = os.environ.get("JPY_SESSION_NAME", "")
    if path:
        path = str(Path(path).absolute())
    if not path and not settings.run:
        raise RefusedError(
            "nbresume was not loaded",
            because="this front end tells no notebook path, so the run is not known",
            remedy="Name the run before you load: "
            "import os; os.environ['NBRESUME_RUN'] = 'my-run'",
        )
    folder = Path(path).parent if path else Path.cwd()
    place = place_of(folder, settings)
    world = World(
        clock=SystemClock(),
        ids=RandomIds(),
        liveness=ProcessLiveness(),
        notebook=SavedNotebook(path, Path(path).name if path else settings.run),
        screen=ShellScreen(shell),
        interrupts=SignalInterrupts(),
        watch=AuditWatch(_own_calls(shell)),
        disk=DiskFiles(folder / (Path(path).name or "-"), store=place.store),
        spans=spans,
    )
    return open_session(shell.user_ns, world, place, settings)


def _own_calls(shell: Any) -> OwnCalls:
    """Return what the shell and its kernel do for themselves while a step runs."""
    application = getattr(getattr(shell, "kernel", None), "parent", None)
    # the numbers of other transports are no ports
    is_tcp = getattr(application, "transport", "tcp") == "tcp"
    ports = (getattr(application, name, 0) for name in _PORTS if is_tcp)
    return OwnCalls(
        ports=frozenset(port for port in ports if port),
        # its thread opens the history's database whenever it comes to it
        modules=frozenset({"IPython.core.history"}),
        runner="IPython.core.interactiveshell",
    )


def _install(shell: Any, extension: Extension) -> None:
    transforms = shell.input_transformer_manager.cleanup_transforms
    names = [getattr(transform, "__name__", "") for transform in transforms]
    # before IPython takes %%step for a cell magic of its own
    at = names.index("cell_magic") if "cell_magic" in names else len(names)
    transforms.insert(at, strip_header)
    shell.ast_transformers.append(extension.hooks)
    extension.hooks.open()
    shell.events.register("pre_run_cell", extension.hooks.pre_run_cell)
    shell.events.register("post_run_cell", extension.hooks.post_run_cell)

    def steps(line: str) -> None:
        """Show and steer the steps of this run."""
        # the commands are loaded when somebody types one, with all that they do
        from nbresume.ui.ipython.face import Face  # noqa: PLC0415
        from nbresume.ui.ipython.steps import run_line  # noqa: PLC0415

        try:
            run_line(line, Face(extension.session, extension.pages))
        except NbresumeError as error:
            raise rejected(error) from error

    def nbresume(line: str) -> None:
        """Have every cell be a step, or only those with a header."""
        try:
            told = switch(line, extension.session, cell_id=extension.hooks.told_id())
        except NbresumeError as error:
            raise rejected(error) from error
        extension.session.world.screen.say(told)

    shell.register_magic_function(steps, "line", "steps")
    shell.register_magic_function(nbresume, "line", "nbresume")
    shell.register_magic_function(_step_elsewhere, "cell", "step")
    # what IPython makes of a %%step line further down in a cell
    shell.register_magic_function(_step_elsewhere, "line", "%step")


def _step_elsewhere(line: str, _cell: str = "") -> None:
    """Refuse a ``%%step`` that is not the first line of its cell."""
    raise RefusedError(
        f"step {line.split(maxsplit=1)[0] if line.split() else ''}".rstrip()
        + " was not run",
        because="%%step was called from inside a cell, a loop or another magic",
        remedy="Put %%step NAME on the first line of a cell of its own.",
    )


def greet(shell: Any) -> None:
    """Say what is there, if there is anything."""
    extension: Extension = getattr(shell, _ATTRIBUTE)
    journal = extension.session.journal
    journal.refresh()
    state = journal.state
    if state.claim is None and not state.quarantined and not state.damaged:
        return
    # what shows a run is loaded where there is one
    from nbresume.ui.ipython.greeting import show  # noqa: PLC0415

    shown = show(extension.session, extension.pages)
    if shown is not None and hasattr(shell, "kernel"):
        extension.hooks.when_idle(shown)
