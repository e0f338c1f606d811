"""The world of a notebook without a disk, IPython or a clock: fakes of `run.ports`.

`Lab` is one notebook over one store; `Lab.kernel` starts a kernel on it, which does
what the IPython hooks do: parse, begin, execute the body, finish.
"""

import ast
import builtins
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType

from unit.run.fake_disk import FakeDisk, Tools

from nbresume.capture.outputs import append_stream
from nbresume.compose import forking, graph, inspection, stores, traveling
from nbresume.compose.active import ACTIVE
from nbresume.errors import FencedError, NbresumeError
from nbresume.model.codec import SCHEMAS
from nbresume.model.displays import Shown
from nbresume.model.records import Tombstone
from nbresume.model.states import State
from nbresume.model.values import Erased, Writer
from nbresume.plan.code_version import code_version
from nbresume.plan.header import body_of, find_header, parse_header, step_name_of
from nbresume.plan.loops import loops_of
from nbresume.plan.names import names_of
from nbresume.plan.notebook import Cell, text_digest
from nbresume.run.forks import Wanted
from nbresume.run.past import parse_label
from nbresume.run.ports import AuditEvent, OwnCalls, World, hurried
from nbresume.run.resume import Resumed, resume
from nbresume.run.runs import choose_run
from nbresume.run.step_cell import Began, StepCell
from nbresume.run.view import RunView, StepView
from nbresume.run.viewing import view_run
from nbresume.settings import Settings
from nbresume.store.memory import MemoryBackend
from nbresume.store.trust import Trust

BEGAN = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)
KEY = b"k" * 32
PATH = "/project/main.ipynb"


class Killed(BaseException):
    """The kernel's process ends here, as by ``kill -9``."""


class FakeClock:
    """A clock that stands until a test moves it."""

    def __init__(self) -> None:
        self.passed_s = 0.0
        self.jumped_s = 0.0

    def jump(self, seconds: float) -> None:
        """Set the clock of the machine on or back; no time passes."""
        self.jumped_s += seconds

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.passed_s += seconds

    def now(self) -> datetime:
        """Return the time as an aware UTC value."""
        return BEGAN + timedelta(seconds=self.passed_s + self.jumped_s)

    def monotonic_s(self) -> float:
        """Return the seconds that have passed."""
        return self.passed_s

    def cpu_s(self) -> float:
        """Return half of the seconds that have passed."""
        return self.passed_s / 2


class FakeIds:
    """Ids that count: equal histories have equal ids."""

    def __init__(self) -> None:
        self._count = 0

    def _next(self, digits: int) -> str:
        self._count += 1
        return f"{self._count:0{digits}x}"

    def run_id(self) -> str:
        """Return 16 hex digits."""
        return self._next(16)

    def attempt_id(self) -> str:
        """Return 12 hex digits."""
        return self._next(12)

    def nonce(self) -> str:
        """Return 32 hex digits."""
        return self._next(32)


@dataclass
class FakeLiveness:
    """One process among those of a lab."""

    writer: Writer
    processes: dict[str, bool | None]
    """Nonce of a process → is it alive; None if it cannot be known."""
    name: str = "someone"

    def me(self) -> Writer:
        """Return this process as a claim names it."""
        return self.writer

    def is_alive(self, writer: Writer) -> bool | None:
        """Say what the test said about that process."""
        return self.processes.get(writer.nonce, False)

    def actor(self) -> str:
        """Return the name of the person who acts."""
        return self.name


class FakeNotebook:
    """A notebook in memory: cell id → source."""

    def __init__(self, cells: dict[str, str]) -> None:
        self.sources = dict(cells)
        self.path = PATH
        self.paths = {PATH}
        """Notebooks whose files are there."""
        self.is_known = True
        """False: no file tells the cells."""

    @property
    def workflow(self) -> str:
        """The file name."""
        return self.path.rpartition("/")[2] or "unnamed"

    def cells(self) -> list[Cell] | None:
        """Return the code cells in order."""
        if not self.is_known:
            return None
        return [
            Cell(
                cell_id=cell_id,
                source=source,
                step=step_name_of(source),
                text_digest=text_digest(source),
            )
            for cell_id, source in self.sources.items()
        ]

    def note(self, cell: Cell) -> None:
        """Take nothing: what this notebook has is what its sources say."""

    def exists(self, path: str) -> bool:
        """Say whether another notebook's file is there."""
        return path in self.paths


class FakeScreen:
    """Keeps what was said and shown; a body's ``print`` writes to it."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.restored: list[Shown] = []
        self._outputs: list[Shown] = []
        self._records = False

    def start(self) -> None:
        """Record what is written from now on."""
        self._outputs, self._records = [], True

    def stop(self) -> list[Shown]:
        """Return what was recorded and record no more."""
        self._records = False
        return self._outputs

    def show(self, outputs: list[Shown]) -> None:
        """Note what was shown again."""
        self.restored += outputs

    def say(self, text: str) -> None:
        """Note what was said."""
        self.said.append(text)

    def write(self, text: str) -> int:
        """Take what a cell prints."""
        if self._records:
            append_stream(self._outputs, "stdout", text)
        return len(text)

    def flush(self) -> None:
        """Do nothing: all is here."""


class FakeInterrupts:
    """Ctrl-C that arrives, or not, while it is held back."""

    def __init__(self) -> None:
        self.comes_at = ""
        """``looked``: while the body's changes are looked at; ``committed``: while
        the commit record is written."""
        self._deferred = 0

    def defer(self) -> Callable[[], None]:
        """Hold the interrupt back until the returned function is called."""
        what = ("looked", "committed")[self._deferred % 2]
        self._deferred += 1

        def let_through() -> None:
            if self.comes_at == what:
                self.comes_at = ""
                raise KeyboardInterrupt

        return let_through


class FakeWatch:
    """Audit events that a test lets happen: `fire` is what a body calls."""

    def __init__(self) -> None:
        self.own = OwnCalls(ports=frozenset({5555}), modules=frozenset({"history"}))
        self._watchers: dict[int, tuple[AuditEvent, frozenset[str]]] = {}

    def start(self, told: AuditEvent, events: frozenset[str]) -> Callable[[], None]:
        """Tell these events to this function until the returned one is called."""
        number = max(self._watchers, default=0) + 1
        self._watchers[number] = told, events
        return lambda: self._watchers.pop(number, None)

    def fire(self, event: str, *args: object) -> None:
        """Let an audit event happen, as if the caller had caused it."""
        self.fire_from(sys._getframe(1), event, *args)

    def fire_from(self, frame: FrameType, event: str, *args: object) -> None:
        """Let an audit event happen, caused by code in this frame."""
        for told, events in list(self._watchers.values()):
            if event in events:
                told(event, args, frame)


@dataclass
class Outcome:
    """What became of one cell."""

    how: str
    """plain, replayed, ran, refused, failed, RAN, fenced or killed."""
    error: BaseException | None = None
    said: list[str] = field(default_factory=list)
    shown: list[Shown] = field(default_factory=list)

    @property
    def text(self) -> str:
        """Everything that the person was told."""
        return "\n".join([*self.said, *([str(self.error)] if self.error else [])])


def erase_by_hand(kernel: "Kernel", step: str, *also: str) -> None:
    """Put the tombstone of what a step committed into the chain; no byte goes."""
    commits = kernel.journal.state.step(step).commits
    groups = [commit.record.manifest.group for commit in commits.values()]
    kernel.journal.decide(
        Tombstone(
            erasure="by hand",
            what=Erased.STEP,
            step=step,
            groups={"": [*groups, *also]},
            commits=sorted(commits),
            actor="someone",
            because="it held a name",
        )
    )


GOOD = ("plain", "replayed", "not taken", "ran")


class Lab:
    """One notebook over one store in memory, and the processes that work on it."""

    def __init__(self, **cells: str) -> None:
        self.backend = MemoryBackend()
        self.trust = Trust(KEY)
        self.clock = FakeClock()
        self.backend.now = self.clock.now
        self.ids = FakeIds()
        self.notebook = FakeNotebook(cells)
        self.disk = FakeDisk(self.clock)
        self.processes: dict[str, bool | None] = {}
        self.ledger: list[str] = []
        """Steps whose body was started, in order."""
        self.schemas = SCHEMAS
        """What the release reads that runs in the kernels started from now on."""
        self.tools: dict[str, object] = {}
        """Builtins of the kernels that are started from now on."""

    # -- the notebook -----------------------------------------------------------

    def edit(self, **cells: str) -> None:
        """Change the text of cells, or add cells at the end."""
        self.notebook.sources |= cells

    def insert(self, before: str, **cells: str) -> None:
        """Put cells before another one."""
        sources: dict[str, str] = {}
        for cell_id, source in self.notebook.sources.items():
            if cell_id == before:
                sources |= cells
            sources[cell_id] = source
        self.notebook.sources = sources

    def delete(self, cell_id: str) -> None:
        """Take a cell out."""
        del self.notebook.sources[cell_id]

    def reorder(self, *cell_ids: str) -> None:
        """Put the cells in this order."""
        sources = self.notebook.sources
        self.notebook.sources = {cell_id: sources[cell_id] for cell_id in cell_ids}

    # -- kernels ----------------------------------------------------------------

    def store(self) -> stores.OpenStore:
        """Return the store as a process opens it."""
        data = Path(os.environ.get("JUPYTER_DATA_DIR", tempfile.gettempdir()))
        place = stores.Place(store=Path("nowhere"), data=data)
        return stores.OpenStore(self.backend, "store-1", self.trust, place)

    def world(self, *, alive: bool = True) -> World:
        """Return the ports of a fresh process."""
        pid = 100 + len(self.processes)
        writer = Writer(
            nonce=f"process-{pid}",
            host="host-1",
            boot_id="boot-1",
            pid=pid,
            started=1.0,
            python="3.12.0",
            product="nbresume test",
        )
        self.processes[writer.nonce] = alive
        return World(
            clock=self.clock,
            ids=self.ids,
            liveness=FakeLiveness(writer, self.processes),
            notebook=self.notebook,
            screen=FakeScreen(),
            interrupts=FakeInterrupts(),
            watch=FakeWatch(),
            disk=self.disk,
        )

    def kernel(self, *, run_id: str = "", **settings) -> "Kernel":
        """Start a kernel and load the extension in it."""
        return Kernel(self, replace(Settings(), **settings), run_id)

    def inspect(self, run_id: str, **settings) -> inspection.Inspection:
        """Look at the run without a kernel, as a command line does."""
        return inspection.inspect_run(
            self.store(), run_id, self.world(), replace(Settings(), **settings)
        )

    def records(self, run_id: str) -> list[str]:
        """Return the kinds of the run's records in order."""
        links = self.store().read_chain(run_id)
        return [
            link.envelope.kind.removeprefix("nbresume.") if link.envelope else "damaged"
            for link in links
        ]


class Kernel:
    """A kernel with the extension loaded: a namespace and an object graph."""

    def __init__(self, lab: Lab, settings: Settings, run_id: str = "") -> None:
        self.lab = lab
        self.settings = settings
        self.namespace: dict[str, object] = {
            "__name__": "__main__",
            "__builtins__": {**vars(builtins), **lab.tools, "die": self._die},
        }
        self.world = lab.world()
        self.namespace["__builtins__"]["fire"] = self.world.watch.fire
        tools = Tools(lab.disk, self.world.watch.fire_from)
        self.namespace["__builtins__"]["disk"] = tools
        self.screen: FakeScreen = self.world.screen
        store = lab.store()
        self.run_id = choose_run(store.runs(), self.world, named=run_id)
        journal = stores.open_journal(
            store, self.run_id, self.world, schemas=lab.schemas
        )
        journal.open()
        self.session = graph.session_of(
            self.namespace, self.world, store, journal, settings
        )
        self.last = Outcome("plain")
        self.is_dead = False

    def __getitem__(self, name: str):
        self.parts.live.load(name)
        return self.namespace[name]

    def __contains__(self, name: str) -> bool:
        return self.parts.live.has(name)

    @property
    def journal(self):
        """The run's chain and state."""
        return self.session.journal

    @property
    def parts(self):
        """The modules of the sequence."""
        return self.session.parts

    @staticmethod
    def _die() -> None:
        raise Killed

    # -- running ----------------------------------------------------------------

    def go(self, *cells: str) -> list[str]:
        """Run these cells, or all; return the steps whose body started.

        Stops at the first cell that ends in an error; `last` is its outcome.
        """
        before = len(self.lab.ledger)
        for cell_id in cells or tuple(self.lab.notebook.sources):
            if self.run(cell_id).how not in GOOD:
                break
        return self.lab.ledger[before:]

    def run(self, cell_id: str, source: str | None = None) -> Outcome:
        """Run one cell as the hooks do; return what became of it."""
        assert not self.is_dead
        if source is None:
            source = self.lab.notebook.sources[cell_id]
        said, shown = len(self.screen.said), len(self.screen.restored)
        former = ACTIVE._session
        ACTIVE.set(self.session)
        text = (cell_id, text_digest(source))
        index = find_header(source)
        try:
            if index is None:
                self.last = self._run_plain(source, text)
            else:
                self.last = self._run_step(source, text, index)
        except Killed as killed:
            self.kill()
            self.last = Outcome("killed", killed)
        finally:
            ACTIVE._session = former
        self.last.said = self.screen.said[said:]
        self.last.shown = self.screen.restored[shown:]
        return self.last

    def _run_plain(self, source: str, text: tuple[str, str]) -> Outcome:
        try:
            tree = ast.parse(source)
        except SyntaxError as error:
            self.session.plain.end(text, source)
            return Outcome("failed", error)
        self.session.plain.begin(names_of(tree))
        raised = self._exec(tree)
        self.session.plain.end(text, source)
        return Outcome("failed", raised) if raised else Outcome("plain")

    def _run_step(self, source: str, text: tuple[str, str], index: int) -> Outcome:
        line = source.splitlines()[index]
        try:
            header = parse_header(line.partition("%%step")[2])
            body = ast.parse(body_of(source))
            cell = StepCell(
                header=header,
                names=names_of(body),
                code_version=code_version(body),
                code=source,
                cell=text,
                loops=loops_of(body),
            )
            began = self.session.stepper.begin(cell)
        except FencedError as error:
            return Outcome("fenced", error)
        except NbresumeError as error:
            return Outcome("refused", error)
        if began is not Began.RUNS:
            return Outcome(began.value)
        self.lab.ledger.append(header.name)
        return self._finish(self._exec(body))

    def _finish(self, raised: BaseException | None) -> Outcome:
        try:
            self.session.stepper.finish(raised, finished=raised is None)
        except FencedError as error:
            return Outcome("fenced", error)
        except NbresumeError as error:
            return Outcome("RAN", error)
        return Outcome("failed", raised) if raised else Outcome("ran")

    def _exec(self, tree: ast.Module) -> BaseException | None:
        code = compile(tree, "cell", "exec")
        try:
            with contextlib.redirect_stdout(self.screen):
                exec(code, self.namespace)  # noqa: S102 - this is the kernel
        except Killed:
            raise
        except BaseException as error:  # noqa: BLE001 - whatever the cell raised
            return error
        return None

    # -- the end of a process ---------------------------------------------------

    def kill(self) -> None:
        """End the process; nothing of it is heard again."""
        self.is_dead = True
        self.lab.processes[self.world.liveness.me().nonce] = False

    def restart(self, **settings) -> "Kernel":
        """End the process and start another one for the same notebook."""
        self.kill()
        return Kernel(self.lab, replace(self.settings, **settings))

    # -- looking ----------------------------------------------------------------

    def view(self) -> RunView:
        """Return the run as people see it."""
        self.journal.refresh()
        return view_run(
            self.journal.state,
            self.session.order(),
            self.parts.recovery,
            self.world,
            run_id=self.run_id,
            alive=self.parts.claims.is_alive(),
            counts=self.journal.counts,
        )

    def glance(self) -> RunView:
        """Return the run as those see it who only look."""
        world, self.world = self.world, hurried(self.world)
        try:
            return self.view()
        finally:
            self.world = world

    def step(self, name: str) -> StepView:
        """Return one step as people see it."""
        return next(step for step in self.view().steps if step.name == name)

    def state(self, name: str) -> State:
        """Return the state of a step as people see it."""
        return self.step(name).state

    def resume(self) -> Resumed:
        """Do what ``%steps resume`` does."""
        self.journal.refresh()
        return resume(self.parts, self.session.order())

    def commits(self, step: str):
        """Return the step's commit that counts."""
        commit = self.journal.state.commit(step)
        assert commit is not None
        return commit.record

    # -- going back -------------------------------------------------------------

    def undo(self, *, yes: bool = False) -> traveling.Traveled:
        """Do what ``%steps undo`` does."""
        return traveling.undo(self.session, yes=yes)

    def checkout(self, label: str, *, yes: bool = False) -> traveling.Traveled:
        """Do what ``%steps checkout`` does."""
        return traveling.checkout(self.session, *parse_label(label), yes=yes)

    def fork(self, at: str, *, run_id: str = "", yes: bool = False) -> forking.Fork:
        """Do what ``%steps fork`` does; the kernel goes on with the fork."""
        wanted = Wanted(run_id or self.run_id, *parse_label(at))
        done = forking.fork_session(self.session, wanted, yes=yes)
        self.run_id = self.session.journal.run_id
        self.resume()
        return done
