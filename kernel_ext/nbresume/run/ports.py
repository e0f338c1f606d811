"""What the outside gives to the use cases: the world behind small Protocols.

The rule: nothing in ``run`` asks the clock, the system, IPython or a random source
except through one of these; tests give fakes.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from types import FrameType
from typing import Any, Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from nbresume.model.displays import Shown
from nbresume.model.values import FileState, Writer
from nbresume.plan.notebook import Cell


class Clock(Protocol):
    """Time, for people (`now`) and for durations."""

    def now(self) -> datetime:
        """Return the time as an aware UTC value."""

    def monotonic_s(self) -> float:
        """Return seconds that never go backwards."""

    def cpu_s(self) -> float:
        """Return the CPU seconds that this process has used."""


class Ids(Protocol):
    """Fresh ids."""

    def run_id(self) -> str:
        """Return 16 hex digits."""

    def attempt_id(self) -> str:
        """Return 12 hex digits."""

    def nonce(self) -> str:
        """Return 32 hex digits."""


class Liveness(Protocol):
    """Who is alive: decides only what is offered, never what is safe."""

    def me(self) -> Writer:
        """Return this process as a claim names it."""

    def is_alive(self, writer: Writer) -> bool | None:
        """Say whether that process runs; None when it cannot be known from here."""

    def actor(self) -> str:
        """Return the name of the person or account that acts."""


class Notebook(Protocol):
    """The notebook as the front end or the saved file shows it."""

    @property
    def path(self) -> str:
        """Absolute path; empty when nobody told it."""

    @property
    def workflow(self) -> str:
        """Name for people: the file name, or the name given to the run."""

    def cells(self) -> list[Cell] | None:
        """Return the code cells in order; None when they cannot be known.

        While it is the same list, it has at most grown at its end.
        """

    def note(self, cell: Cell) -> None:
        """Take a step that the front end has, so that it counts before it is saved."""

    def exists(self, path: str) -> bool:
        """Say whether another notebook's file is (still) there."""


class Screen(Protocol):
    """Where a cell's outputs go: recorded while it runs, shown again on replay."""

    def start(self) -> None:
        """Record what the cell shows from now on, while it is shown live."""

    def stop(self) -> list[Shown]:
        """Return what was recorded and record no more."""

    def show(self, outputs: list[Shown]) -> None:
        """Show recorded outputs again, marked as restored."""

    def say(self, text: str) -> None:
        """Tell the person one line."""


class Interrupts(Protocol):
    """Ctrl-C, which must not tear a commit."""

    def defer(self) -> Callable[[], None]:
        """Hold interrupts back; returns what lets them through again."""


class Spans(Protocol):
    """Who watches the run from outside: told when an effect is called, and its end."""

    def effect(self, key: str) -> AbstractContextManager[None]:
        """Return what is entered for the call of an effect."""


class NoSpans:
    """Nobody watches."""

    def effect(self, key: str) -> AbstractContextManager[None]:  # noqa: ARG002 - a port
        """Return what does nothing."""
        return nullcontext()


AuditEvent = Callable[[str, tuple[Any, ...], FrameType], None]
"""Called with the name and arguments of an audit event and the frame that caused it."""


class OwnCalls(Struct, frozen=True):
    """Calls that a kernel makes for itself while a step runs."""

    ports: frozenset[int] = frozenset()
    """Ports of this machine on which the kernel itself listens."""
    modules: frozenset[str] = frozenset()
    """Modules whose calls are the kernel's, such as the one that keeps its history."""
    runner: str = ""
    """The module that runs cells: what stands above it in the stack is no step's."""


class Watch(Protocol):
    """Python's audit events: what the process is about to do."""

    @property
    def own(self) -> OwnCalls:
        """What the kernel does for itself."""

    def start(self, told: AuditEvent, events: frozenset[str]) -> Callable[[], None]:
        """Have these events told before they proceed, until the returned call.

        One at a time, and only in this process, not in what it forks.
        """


class Unwatched:
    """A process in which no step runs, so that nothing needs to be watched."""

    own = OwnCalls()

    def start(
        self,
        told: AuditEvent,  # noqa: ARG002 - a port
        events: frozenset[str],  # noqa: ARG002 - a port
    ) -> Callable[[], None]:
        """Tell nothing."""
        return lambda: None


class Disk(Protocol):
    """The files of the user: what a step reads and makes there.

    A name is a path in the notebook's folder, relative to it, or an absolute one.
    """

    def name(self, path: str, *, declared: bool = False) -> str:
        """Return the name of a path; "" if it is nobody's work.

        That is what lies with the interpreter, packages, the temporary folder, the
        store, caches. A relative path belongs to the working folder, and one that a
        header declares to the notebook's: a server has a working folder of its own.
        """

    def namer(self) -> Callable[[str], str]:
        """Return `name` for many paths of one moment: cheaper for each of them."""

    def state(self, name: str, then: FileState | None = None) -> FileState:
        """Return what is there now.

        A file whose size, times and place are those of `then` is not read. Nothing
        but a regular file is ever opened.
        """

    def tree(self, pattern: str, then: FileState | None = None) -> FileState:
        """Return the state of all files that a glob, or a folder's name, stands for."""

    def entries(self, name: str, kind: str) -> list[str]:
        """Return the entries of a ``folder``, or what a ``glob`` matches, sorted.

        What begins with a dot does not count.
        """

    def begins_as(self, name: str, then: FileState) -> bool:
        """Say whether a file begins with all that it was: it was only added to."""

    def stamp(self, name: str) -> str:
        """Return place, size and times of what is there; "" if there is nothing."""

    def is_file(self, name: str) -> bool:
        """Say whether there is a regular file."""

    def exists(self, path: str) -> bool:
        """Say whether there is something under a path as code would write it."""

    def compared(self, name: str, then: FileState, budget_s: float) -> bool | None:
        """Say whether it is as it was; None while that needs more reading.

        Reads for at most `budget_s` seconds, and goes on the next time.
        """

    def flush(self, names: Iterable[str]) -> None:
        """Make files and folders durable.

        Raises
        ------
        StoreError
            The device fails.
        """

    def source_of(self, module: str) -> str:
        """Return the name of a local module's source; "" if it is none."""

    def text(self, name: str) -> str:
        """Return the text of a source file; "" if it cannot be read."""


class NoDisk:
    """A process that looks at no files."""

    def name(self, path: str, *, declared: bool = False) -> str:  # noqa: ARG002 - a port
        """Return that no path is anybody's work."""
        return ""

    def namer(self) -> Callable[[str], str]:
        """Return what says so of many paths."""
        return self.name

    def state(self, name: str, then: FileState | None = None) -> FileState:  # noqa: ARG002 - a port
        """Return what was there."""
        return then or FileState(kind="absent")

    tree = state

    def entries(self, name: str, kind: str) -> list[str]:  # noqa: ARG002 - a port
        """Return none."""
        return []

    def begins_as(self, name: str, then: FileState) -> bool:  # noqa: ARG002 - a port
        """Say no."""
        return False

    def stamp(self, name: str) -> str:  # noqa: ARG002 - a port
        """Return that there is nothing."""
        return ""

    def is_file(self, name: str) -> bool:  # noqa: ARG002 - a port
        """Say no."""
        return False

    exists = is_file

    def compared(self, name: str, then: FileState, budget_s: float) -> bool | None:  # noqa: ARG002 - a port
        """Say that it is as it was."""
        return True

    def flush(self, names: Iterable[str]) -> None:
        """Do nothing."""

    def source_of(self, module: str) -> str:  # noqa: ARG002 - a port
        """Return that no module is local."""
        return ""

    text = source_of


class World(Struct, frozen=True):
    """All ports, as one value."""

    clock: Clock
    ids: Ids
    liveness: Liveness
    notebook: Notebook
    screen: Screen
    interrupts: Interrupts
    watch: Watch = field(default_factory=Unwatched)
    disk: Disk = field(default_factory=NoDisk)
    spans: Spans = field(default_factory=NoSpans)
    patience_s: float = float("inf")
    """So long a file may be read to find out whether it changed."""


LOOK_S = 0.02
"""So long each file is read for a view that somebody only looks at."""


def hurried(world: World) -> World:
    """Return the world of somebody who only looks: no long file is read for it."""
    return replace(world, patience_s=LOOK_S)
