"""IPython's hooks: from the text of a cell to `Stepper.begin` and `Stepper.finish`.

The mechanism (measured; exceptions in event callbacks are swallowed): an input
transformer, pure because it also runs for completion, turns ``%%step …`` into a
marker (a text); an AST transformer runs after the parse and before the first
statement, and gives the body back, an empty module, or raises ``InputRejected``;
``post_run_cell`` commits before the reply and sets ``error_in_exec`` if that failed.
"""

import ast
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from IPython.core.error import InputRejected
from IPython.core.interactiveshell import ExecutionInfo, ExecutionResult
from msgspec import Struct

from nbresume.capture.entries import CellText
from nbresume.compose.graph import Session
from nbresume.errors import FencedError, NbresumeError, RefusedError
from nbresume.plan.code_version import code_version
from nbresume.plan.header import Header, find_header, parse_header, step_name_of
from nbresume.plan.loops import loops_of
from nbresume.plan.names import names_of
from nbresume.plan.notebook import BY_TEXT, NAMED, text_digest
from nbresume.run.order import Order
from nbresume.run.step_cell import Began, StepCell
from nbresume.ui.ipython.auto import header_of
from nbresume.ui.ipython.idle import IdleWork
from nbresume.ui.ipython.marker import options_of
from nbresume.ui.ipython.namespace import LazyNamespace
from nbresume.ui.ipython.pages import Pages, Phase
from nbresume.ui.ipython.refusals import (
    in_subshell,
    internal,
    misplaced,
    refuse_results,
    rejected,
)

if TYPE_CHECKING:
    from nbresume.run.intents import Running


class _Cell(Struct, frozen=True):
    """The cell that the front end has sent."""

    text: CellText
    source: str
    told: str
    """Its id in the front end; "" if that told none."""


class Hooks:
    """Joins one shell to one session."""

    def __init__(self, shell: Any, session: Session, pages: Pages) -> None:
        self._shell = shell
        self._session = session
        self._pages = pages
        self._names = LazyNamespace(shell, session.live)
        self._idle = IdleWork(shell, is_busy=lambda: self._cell is not None)
        self._idle.every(self._load_slice)
        self._idle.every(self._audit_slice)
        self._idle.every(self._trial_slice)
        self._idle.every(self._file_slice)
        self._cell: _Cell | None = None
        self._is_step = False
        self._is_visited = False
        """The running cell was decided over: a magic in it may have a tree visited."""
        self._depth = 0
        self._notices: list[str] = []
        """What idle work found out, told when the next cell begins."""
        self._broken: Exception | None = None
        """Why the running cell could not be told from others; nothing may run then."""
        self._refused_inside: RefusedError | None = None
        """A step that a cell of this cell would have been: `%%capture` swallows it."""
        self._raised_inside: BaseException | None = None
        """What a cell inside the running one raised."""

    # -- which cell -------------------------------------------------------------

    def adopt_running_cell(self) -> None:
        """Take over the cell that loads the extension: its end will be seen."""
        parent = self._parent()
        source = parent.get("content", {}).get("code", "")
        self._cell = self._identify(parent.get("metadata", {}).get("cellId"), source)
        self._session.plain.begin_unseen()

    def _parent(self) -> dict[str, Any]:
        get_parent = getattr(self._shell, "get_parent", None)
        return get_parent() if get_parent else {}

    def told_id(self) -> str:
        """Return the id that the front end told of the running cell; "" if none."""
        return self._cell.told if self._cell else ""

    def _identify(self, cell_id: str | None, source: str) -> _Cell:
        """Find the cell in the notebook: by id, else by step name, else by text."""
        digest, told = text_digest(source), cell_id or ""
        order = self._session.order()
        twin = f"{BY_TEXT}{digest}"
        if twin in order.place_of_cell and order.text_of_cell.get(told) != digest:
            # where the file has an id twice, this is the text of the other cell
            return _Cell((twin, digest), source, told)
        if not cell_id or cell_id not in order.place_of_cell:
            step = step_name_of(source)
            saved = _saved_as(order, step, digest)
            # a file older than nbformat 4.5 has no ids; front ends make up some
            if not cell_id or saved.startswith((NAMED, BY_TEXT)):
                made_up = f"{NAMED}{step}" if step else f"{BY_TEXT}{digest}"
                cell_id = saved or made_up
        return _Cell((cell_id, digest), source, told)

    # -- events -----------------------------------------------------------------

    def pre_run_cell(self, info: ExecutionInfo) -> None:
        """Note which cell is about to run; a cell inside a cell only nests."""
        if self._cell is not None:
            self._depth += 1
            return
        told = getattr(info, "cell_id", None)
        self._is_step = self._is_visited = False
        try:
            self._end_idle()
            cell_id = told or self._parent().get("metadata", {}).get("cellId")
            self._cell = self._identify(cell_id, str(info.raw_cell))
        except Exception as error:  # noqa: BLE001 - IPython would swallow it; `visit` can stop the cell
            self._broken = error

    def visit(self, tree: ast.Module) -> ast.Module:
        """Decide over a parsed cell: its body, an empty module, or a refusal."""
        options = options_of(tree)
        broken, self._broken = self._broken, None
        if broken is not None:
            raise rejected(internal(broken)) from broken
        try:
            # nothing of ours is imported after code of the user has run
            self._session.join()
            visited, self._is_visited = self._is_visited, True
            if options is not None:
                return self._visit_step(options, tree)
            header = None if visited else self._automatic(tree)
            if header is not None:
                return self._begin(header, tree)
            return self._visit_plain(tree)
        except (NbresumeError, FencedError) as error:
            self._tell_refused()
            raise rejected(error) from error
        except InputRejected:
            raise
        except Exception as error:
            # anything else would unregister this hook, and steps would run unseen
            raise rejected(internal(error)) from error

    def _visit_plain(self, tree: ast.Module) -> ast.Module:
        stepping = self._session.running is not None
        if self._cell is not None and not stepping and not self._depth:
            self._session.plain.begin(names_of(tree))
        elif stepping:
            self._session.parts.loops.know(loops_of(tree))
        return tree

    def _visit_step(self, options: str, tree: ast.Module) -> ast.Module:
        header = parse_header(options)
        cell = self._cell
        if cell is None or self._depth or find_header(cell.source) is None:
            refused = misplaced(header.name)
            self._refused_inside = refused if self._depth else None
            raise refused
        if threading.current_thread() is not threading.main_thread():
            raise in_subshell(header.name)
        return self._begin(header, ast.Module(body=tree.body[1:], type_ignores=[]))

    def _automatic(self, tree: ast.Module) -> Header | None:
        """Return the header of a step that nobody marked; None if it is no step."""
        cell = self._cell
        if cell is None or self._depth or not self._session.order.auto:
            return None
        if threading.current_thread() is not threading.main_thread():
            return None
        return header_of(
            self._session, tree, cell_id=cell.text[0], told=cell.told, text=cell.source
        )

    def _begin(self, header: Header, body: ast.Module) -> ast.Module:
        """Replay a step, or return its body, whose intent is durable."""
        cell = self._cell
        if cell is None:
            raise misplaced(header.name)
        self._is_step = True
        names = names_of(body)
        refuse_results(header.name, names.reads)
        began = self._session.stepper.begin(
            StepCell(
                header=header,
                names=names,
                code_version=code_version(body),
                code=cell.source,
                cell=cell.text,
                loops=loops_of(body),
            )
        )
        if began is Began.RUNS:
            self._session.parts.loops.after_save(self._pages.advanced)
            self._pages.tell(header.name, cell.told, Phase.RUNNING)
            return body
        phase = Phase.RESTORED if began is Began.REPLAYED else Phase.NOT_TAKEN
        self._pages.tell(header.name, cell.told, phase)
        self._forget_results()
        return ast.Module(body=[], type_ignores=[])

    def _tell_refused(self) -> None:
        step = step_name_of(self._cell.source) if self._cell else None
        if self._cell and step:
            self._pages.tell(step, self._cell.told, Phase.REFUSED)

    def _forget_results(self) -> None:
        # a replayed cell has no result: `_` would be that of an earlier cell
        for name in ("_", "__", "___"):
            self._shell.user_ns.pop(name, None)

    # -- between cells ----------------------------------------------------------

    def _begin_idle(self, cell: _Cell, *, step: str) -> None:
        """Load what waits, and look for what no cell named, until the next cell."""
        self._names.update(self._session.live)
        if self._session.joined:
            self._begin_looks(cell, step=step)
        else:
            # the cell that loads has ended: the next one need not wait for that
            self._idle.once(lambda: self._join_idle(cell))
        self._idle.start()

    def _join_idle(self, cell: _Cell) -> None:
        if not self._session.joined:
            self._begin_looks(cell, step="")

    def _begin_looks(self, cell: _Cell, *, step: str) -> None:
        sequence = self._session.join()
        sequence.audit.start(cell.text, step=step)
        sequence.trials.start(step=step)
        sequence.file_slices.start()

    def _end_idle(self) -> None:
        """Stop that work, and tell what it found."""
        self._idle.stop()
        told, self._notices = self._notices, []
        if sequence := self._session.joined:
            sequence.audit.stop()
            told += [found.sentence for found in sequence.audit.findings()]
            told += sequence.trials.findings()
        for line in told:
            self._session.world.screen.say(line)

    def _audit_slice(self, budget_s: float) -> bool:
        # asked for anew: `%steps new` begins another session
        return self._session.join().audit.slice(budget_s)

    def _trial_slice(self, budget_s: float) -> bool:
        return self._session.join().trials.slice(budget_s)

    def _file_slice(self, budget_s: float) -> bool:
        return self._session.join().file_slices.slice(budget_s)

    def when_idle(self, act: Callable[[], None]) -> None:
        """Do this once, as soon as no cell wants the kernel."""
        self._idle.once(act)

    def _load_slice(self, _budget_s: float) -> bool:
        live = self._session.live
        name = next(iter(live.pending), None)
        if name is None:
            self._names.update(live)
            return True
        try:
            live.load(name)
        except NbresumeError as error:
            self._notices.append(str(error))
        return False

    def close(self) -> None:
        """Leave the shell as it was: what waits is loaded."""
        self._idle.stop()
        if sequence := self._session.joined:
            sequence.trials.stop()
        while not self._load_slice(0.0):
            pass
        for line in self._notices:
            self._session.world.screen.say(line)
        self._names.remove()

    def open(self) -> None:
        """Let the shell's completion and inspection know the waiting names."""
        self._names.install()

    def post_run_cell(self, result: ExecutionResult | None) -> None:
        """Commit before the reply; a commit that failed makes the reply an error."""
        if self._depth:
            self._depth -= 1
            self._raised_inside = self._raised_inside or _raised(result)
            return
        cell, self._cell = self._cell, None
        running = self._session.running
        step = running.intent.step if running else ""
        self._show_swallowed(result, is_step=running is not None)
        try:
            if self._session.running is not None:
                self._finish(result)
            elif cell is not None and not self._is_step:
                self._session.plain.end(cell.text, cell.source)
        except (NbresumeError, FencedError, KeyboardInterrupt) as error:
            self._fail(result, error)
        except Exception as error:  # noqa: BLE001 - IPython would swallow it and reply ok
            self._fail(result, internal(error))
        self._tell_ended(running, cell, result)
        self._tell_missed(result, cell)
        if cell is not None:
            self._begin_idle(cell, step=step)
        sys.audit("nbresume.reply", step)

    def _show_swallowed(self, result: ExecutionResult | None, *, is_step: bool) -> None:
        """Let the reply be the error that a cell inside this one ended with."""
        refused, self._refused_inside = self._refused_inside, None
        inside, self._raised_inside = self._raised_inside, None
        if result is None or not result.success:
            return
        # it was shown where it was raised, or `%%capture` has it; Run All must stop,
        # and a step's body did not end as it was written
        if refused is not None or is_step:
            result.error_in_exec = refused or inside

    def _finish(self, result: ExecutionResult | None) -> None:
        raised = _raised(result)
        finished = result is not None and raised is None
        self._session.stepper.finish(raised, finished=finished)

    def _tell_ended(
        self,
        running: "Running | None",
        cell: _Cell | None,
        result: ExecutionResult | None,
    ) -> None:
        if running is None:
            return
        intent = running.intent
        commit = self._session.journal.state.commit(intent.step)
        raised = _raised(result)
        if commit is not None and commit.record.attempt == intent.attempt:
            phase = Phase.COMMITTED
        elif result is None or isinstance(raised, KeyboardInterrupt):
            phase = Phase.INTERRUPTED
        else:
            phase = Phase.FAILED
        self._pages.tell(intent.step, cell.told if cell else "", phase)

    def _tell_missed(self, result: ExecutionResult | None, cell: _Cell | None) -> None:
        """Say where a name is that a cell missed: after a restart, or out of order."""
        told = _raised(result)
        if not isinstance(told, NameError) or isinstance(told, NbresumeError):
            return
        # loaded when a cell failed so, and not by every kernel
        from nbresume.ui.ipython.missed import place_of  # noqa: PLC0415

        state, order = self._session.journal.state, self._session.order()
        line = place_of(told, state, order, cell.text[0] if cell else "")
        if line:
            self._session.world.screen.say(line)

    def _fail(self, result: ExecutionResult | None, error: BaseException) -> None:
        if result is not None:
            result.error_in_exec = error
        self._shell.showtraceback((type(error), error, None))


def _raised(result: ExecutionResult | None) -> BaseException | None:
    """Return what a cell raised, if that is known."""
    if result is None:
        return None
    error: BaseException | None = result.error_in_exec or result.error_before_exec
    return error


def _saved_as(order: Order, step: str | None, digest: str) -> str:
    """Return the id under which notebook order has a cell; "" if it is not sure."""
    if step:
        named = order.named(step)
        equal = [c for c in named if c.text_digest == digest]
        return next((c.cell_id for c in (*equal, *named)), "")
    same = order.cells_of_text.get(digest, ())
    return same[0] if len(same) == 1 else ""
