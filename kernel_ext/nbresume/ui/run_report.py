"""What a headless run came to, for programs: `nbresume run --report`.

The rule: what was run is what the journal says, and which cells were sent to the
kernel; no output, value or text of an exception is in it. A report that is to be
written to a file stands there from the beginning, as one of a run that is going on.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

import msgspec

from nbresume.errors import (
    EXIT_FAILED,
    EXIT_REFUSED,
    EXIT_USAGE,
    NbresumeError,
    RefusedError,
    UsageError,
)
from nbresume.model.histories import Attempt
from nbresume.model.states import Outcome, State
from nbresume.model.values import Usage
from nbresume.run.order import NOWHERE
from nbresume.run.view import StepView
from nbresume.settings import __version__
from nbresume.ui.asking import Asked, ask
from nbresume.ui.headless import CellRun, Ended, Order, Watched, run_notebook
from nbresume.ui.text import in_terminal
from nbresume.ui.writing import write_whole

SCHEMA = 1


class How(StrEnum):
    """What became of a step in one headless run."""

    RAN = "ran"
    """Its body ran, and what it left is committed."""
    REPLAYED = "replayed"
    """A commit held: its body did not run."""
    NOT_TAKEN = "not taken"
    """Its condition was false: its body did not run."""
    FAILED = "failed"
    """Its body raised, or its cell could not be parsed, or no commit came of it."""
    REFUSED = "refused"
    """Its body did not run; the error says why."""
    INTERRUPTED = "interrupted"
    """The kernel ended while its cell ran."""
    NOT_REACHED = "not reached"
    """The run ended above it."""


class Result(StrEnum):
    """How a headless run ended."""

    RUNNING = "running"
    """It is going on, or was killed together with its report."""
    DONE = "done"
    FAILED = "failed"
    REFUSED = "refused"
    USAGE = "usage"


_RESULTS = {
    0: Result.DONE,
    EXIT_FAILED: Result.FAILED,
    EXIT_REFUSED: Result.REFUSED,
    EXIT_USAGE: Result.USAGE,
}


class _Report(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pass


class ErrorReport(_Report, frozen=True, kw_only=True):
    """What a run, or a step, ended with."""

    code: str
    """Of a refusal, as in the table of errors; empty for any other exception."""
    type: str
    """Name of the exception's class."""
    message: str
    """Of a refusal; the texts of other exceptions may hold values."""


class StepReport(_Report, frozen=True, kw_only=True):
    """One step of the notebook."""

    name: str
    cell_id: str
    how: How
    state: State
    """After the run."""
    took_s: float | None
    """How long its cell took now; null if it was not reached, or never ended."""
    duration_s: float | None
    """How long the body took that made the commit; else that of the last attempt."""
    attempts: int
    """Over all runs of the notebook in this run's journal."""
    commit_number: int
    revision: int
    """Of the commit that counts; -1 if none."""
    payload_bytes: int
    effects_done: int
    """Over all attempts."""
    effects_open: list[str]
    """Keys of effects that may or may not have happened."""
    error: ErrorReport | None


class RunReport(_Report, frozen=True, kw_only=True):
    """One headless run."""

    schema: int
    version: str
    """The release of nbresume that made the report."""
    result: Result
    exit_code: int | None
    """Of the command; null while it runs."""
    notebook: str
    output: str
    run_id: str
    """Empty if no run was opened."""
    revision: int
    """The newest record of the journal; -1 if there is none."""
    started_at: datetime
    took_s: float
    stopped_in: str
    """The cell in which it ended, as messages name it; empty if all are done."""
    resume_from: str
    """First step that does not hold: where the next run goes on."""
    error: ErrorReport | None
    usage: Usage
    """Of all attempts in the journal, not of this run alone."""
    steps: list[StepReport]
    """In notebook order."""

    def to_json(self) -> str:
        """Return the report as JSON with sorted keys, one field a line."""
        told = msgspec.json.encode(self, order="sorted")
        return msgspec.json.format(told, indent=2).decode() + "\n"

    @classmethod
    def from_json(cls, data: bytes) -> "RunReport":
        """Return the report that `to_json` wrote."""
        return msgspec.json.decode(data, type=cls)


def schema() -> dict[str, Any]:
    """Return the JSON schema of the report; ``runreport.schema.json`` repeats it."""
    return msgspec.json.schema(RunReport)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a report goes."""

    path: Path | None
    """None: to standard output, when the run has ended."""
    show: Callable[[str], None]

    def check(self, order: Order) -> None:
        """Pass if the report would write over nothing that the run needs.

        Raises
        ------
        UsageError
            It is the notebook, or its output.
        """
        taken = {order.notebook.resolve(), order.output.resolve()}
        if self.path is not None and self.path.resolve() in taken:
            raise UsageError(
                f"--report {self.path}",
                because="the notebook itself is written there",
                remedy="Name another file, or - for standard output.",
            )

    def write(self, report: RunReport) -> None:
        """Write it whole.

        Raises
        ------
        RefusedError
            The file cannot be written.
        """
        if self.path is None:
            if report.result is not Result.RUNNING:
                self.show(report.to_json())
            return
        try:
            write_whole(self.path, report.to_json())
        except OSError as error:
            raise RefusedError(
                f"the report was not written to {self.path}",
                because=error.strerror or str(error),
                remedy="Name a file that can be written with --report; committed "
                "steps are kept.",
            ) from error


def run_reported(order: Order, target: Target) -> Ended:
    """Run a notebook and report it, however it ends.

    Raises
    ------
    RefusedError
        Nothing was run, or the report cannot be written.
    """
    target.check(order)
    reporter = _Reporter(order)
    target.write(reporter.running())
    try:
        ended = run_notebook(order, reporter.watched)
    except NbresumeError as error:
        target.write(reporter.refused(error))
        raise
    target.write(reporter.ended(ended))
    return ended


class _Reporter:
    """One run that is reported."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._started_at = datetime.now(UTC)
        self._began_s = time.monotonic()
        asked = _asked(order)
        self._revision = asked.run.journal.state.revision if asked else -1
        self.watched = Watched()

    def running(self) -> RunReport:
        """Return the report of a run that has just begun."""
        return self._report(Result.RUNNING, None, None, None)

    def refused(self, error: NbresumeError) -> RunReport:
        """Return the report of a run that was refused as a whole."""
        told = ErrorReport(
            code=error.kind, type=type(error).__name__, message=str(error)
        )
        result = _RESULTS[error.exit_code]
        return self._report(result, error.exit_code, told, _asked(self._order))

    def ended(self, ended: Ended) -> RunReport:
        """Return the report of a run whose cells were sent to the kernel."""
        told = None
        if ended.exit_code:
            kind = ended.error_kind
            said = in_terminal(ended.message, str(self._order.notebook))
            told = ErrorReport(
                code=kind, type=ended.error_type, message=said if kind else ""
            )
        result = _RESULTS[ended.exit_code]
        return self._report(result, ended.exit_code, told, _asked(self._order))

    def _report(
        self,
        result: Result,
        exit_code: int | None,
        error: ErrorReport | None,
        asked: Asked | None,
    ) -> RunReport:
        view = asked.view(quick=True) if asked else None
        cells = self.watched.cells
        return RunReport(
            schema=SCHEMA,
            version=__version__,
            result=result,
            exit_code=exit_code,
            notebook=str(self._order.notebook),
            output=str(self._order.output),
            run_id=view.run_id if view else "",
            revision=view.revision if view else -1,
            started_at=self._started_at,
            took_s=time.monotonic() - self._began_s,
            stopped_in=cells[-1].name if error and cells else "",
            resume_from=view.resume_from if view else "",
            error=error,
            usage=view.usage if view else Usage(),
            steps=[
                self._step(step, asked, error)
                for step in (view.steps if view else ())
                if asked and step.place != NOWHERE
            ],
        )

    def _step(
        self, step: StepView, asked: Asked, error: ErrorReport | None
    ) -> StepReport:
        cell = self._cell_of(step)
        stopped = cell is not None and cell is self.watched.cells[-1]
        mine = error if stopped else None
        history = asked.run.journal.state.step(step.name)
        attempt = history.attempt if history else None
        if attempt is not None and not self._is_of_this_run(attempt):
            attempt = None
        return StepReport(
            name=step.name,
            cell_id=step.cell_id,
            how=_how(step, cell, attempt, mine),
            state=step.state,
            took_s=cell.took_s if cell else None,
            duration_s=step.duration_s,
            attempts=step.attempts,
            commit_number=step.commit_number,
            revision=step.revision,
            payload_bytes=step.payload_bytes,
            effects_done=step.effect_count,
            effects_open=step.open_effects,
            error=mine,
        )

    def _cell_of(self, step: StepView) -> CellRun | None:
        by_id = {cell.cell_id: cell for cell in self.watched.cells if cell.cell_id}
        by_name = {cell.step: cell for cell in self.watched.cells if cell.step}
        return by_name.get(step.name) or by_id.get(step.cell_id)

    def _is_of_this_run(self, attempt: Attempt) -> bool:
        """Say whether the kernel of this run made an attempt, and not another one."""
        pid = self.watched.kernel_pid
        mine = pid is None or attempt.by.startswith(f"pid {pid} on ")
        return mine and attempt.revision > self._revision


def _how(
    step: StepView,
    cell: CellRun | None,
    attempt: Attempt | None,
    error: ErrorReport | None,
) -> How:
    if cell is None:
        return How.NOT_REACHED
    if attempt is not None and attempt.outcome is Outcome.COMMITTED:
        return How.RAN
    if cell.took_s is None:
        return How.INTERRUPTED
    if attempt is not None:
        return How.FAILED
    if error is not None:
        return How.REFUSED if error.code else How.FAILED
    return How.NOT_TAKEN if step.state is State.NOT_TAKEN else How.REPLAYED


def _asked(order: Order) -> Asked | None:
    """Return the run of the notebook; None if there is none that can be read."""
    try:
        return ask(order.notebook, lambda _line: None)
    except NbresumeError:
        # the kernel meets it too, and what it says is what the run ends with
        return None
