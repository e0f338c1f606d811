"""THE sequence: source → plan → intent → execute → capture → commit → view.

The rule: this module only says what comes after what; each part has its module.
`begin` is called after the cell was parsed and before its first statement; `finish`
after its last one and before the reply.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from nbresume.capture.live import CellText, Live
from nbresume.capture.snapshot import Snapshot
from nbresume.errors import (
    CaptureError,
    DuplicateName,
    FencedError,
    LockedStep,
    NbresumeError,
    NotCommitted,
    RefusedError,
)
from nbresume.model.records import Committed, MadeCurrent
from nbresume.model.states import Commit, RunState
from nbresume.plan.header import Header
from nbresume.plan.key import differences
from nbresume.plan.names import Names
from nbresume.run.claims import Claims
from nbresume.run.commits import Changes, Commits
from nbresume.run.inputs import Inputs, committed_cues, newest_commit_with
from nbresume.run.intents import Intents, Running
from nbresume.run.journal import Journal
from nbresume.run.ports import World
from nbresume.run.position import Order, Positions
from nbresume.run.recovery import Passage, Recovery
from nbresume.run.restore import Restorer
from nbresume.run.standing import Brought, Standing


class Began(StrEnum):
    """What `Stepper.begin` decided."""

    REPLAYED = "replayed"
    """The commit's values are bound; the body does not start."""
    RUNS = "runs"
    """The intent is durable; the body may start."""


@dataclass(frozen=True, slots=True)
class StepCell:
    """A parsed ``%%step`` cell, as the face hands it over."""

    header: Header
    names: Names
    code_version: str
    code: str
    """Text of the cell, stored for the record."""
    cell: CellText
    """(cell id, digest of its text)."""


@dataclass(frozen=True, slots=True)
class Ran:
    """A finished body that is not committed."""

    running: Running
    changes: Changes
    code: str


@dataclass(frozen=True, slots=True)
class Parts:
    """The modules that the sequence joins."""

    live: Live
    snapshot: Snapshot
    restorer: Restorer
    inputs: Inputs
    intents: Intents
    commits: Commits
    claims: Claims
    recovery: Recovery
    journal: Journal
    world: World


class Stepper:
    """Runs the steps of one notebook in one kernel."""

    def __init__(self, parts: Parts, *, order: Callable[[], Order]) -> None:
        self._parts = parts
        self._order = order
        self._running: Running | None = None
        self._code = ""
        self._ran: Ran | None = None

    @property
    def running(self) -> Running | None:
        """The attempt whose body runs now."""
        return self._running

    def holds_body(self, attempt: str) -> bool:
        """Say whether this kernel holds the finished body of an attempt."""
        return self._ran is not None and self._ran.running.intent.attempt == attempt

    # -- plan → intent ----------------------------------------------------------

    def begin(self, cell: StepCell) -> Began:
        """Replay the step, or make its intent durable so that the body may start.

        Raises
        ------
        RefusedError
            Nothing ran and nothing was written; the message says how to go on.
        """
        parts = self._parts
        self._refuse_nested(cell.header.name)
        parts.journal.refresh()
        standing = self._stand(cell)
        self._refuse_twin(standing)
        passage = parts.recovery.passage(standing)
        brought = parts.inputs.bring(standing, parts.journal.state)
        reason = self._replay_or_reason(brought)
        if not reason:
            return Began.REPLAYED
        parts.recovery.check_above(standing)
        parts.inputs.check_kept(brought)
        parts.inputs.check_worn(brought)
        parts.inputs.clear_own(brought)
        self._tell_rerun(standing, reason)
        self._open(brought, passage, reason)
        self._code = cell.code
        parts.world.screen.start()
        return Began.RUNS

    def _refuse_nested(self, step: str) -> None:
        if self._running is None:
            return
        outer = self._running.intent.step
        raise RefusedError(
            f"step {step} was not run",
            because=f"it was started inside step {outer}",
            remedy="Give each step a cell of its own, outside loops and functions.",
            step=step,
        )

    def _stand(self, cell: StepCell) -> Standing:
        order = self._order()
        step = cell.header.name
        n = order.cell_place(cell.cell[0])
        if n < 0:
            n = order.place_of_step.get(step, len(order.cells))
        order = order.with_step(step, n)
        state = self._parts.journal.state
        return Standing(
            header=cell.header,
            names=cell.names,
            code_version=cell.code_version,
            cell=cell.cell,
            n=n,
            order=order,
            positions=Positions(state, order),
            history=state.step(step),
        )

    def _refuse_twin(self, standing: Standing) -> None:
        """Refuse a name that another cell carries, unless that one is the copy."""
        mine, step = standing.cell[0], standing.step.lower()
        twins = [
            cell.cell_id
            for cell in standing.order.cells
            if cell.step and cell.step.lower() == step and cell.cell_id != mine
        ]
        owner = self._owner(step)
        first = all(standing.order.cell_place(twin) > standing.n for twin in twins)
        if owner in twins or (twins and not owner and not first):
            raise DuplicateName(
                f"step {standing.step} was not run",
                because=f"its name is used by another cell ({owner or twins[0]})",
                remedy="Give this step a name of its own: %%step OTHER_NAME",
                step=standing.step,
            )

    def _owner(self, lowered: str) -> str:
        """Return the cell that ran under this name last, whatever its case."""
        steps = self._parts.journal.state.steps
        history = next((h for s, h in steps.items() if s.lower() == lowered), None)
        return history.attempt.intent.cell_id if history and history.attempt else ""

    def _replay_or_reason(self, brought: Brought) -> str:
        """Replay the step if a commit holds for it; else return why it runs."""
        standing = brought.standing
        commit = standing.commit
        if commit is None:
            return "" if self._adopt_renamed(brought) else "new"
        if standing.header.always:
            return "--always"
        if standing.forced:
            rerun = standing.history.rerun if standing.history else None
            return f"rerun: {rerun.because}" if rerun else "rerun"
        reasons = differences(committed_cues(commit.record), brought.cues)
        if not reasons:
            damage = self._replay(commit)
            if not damage:
                return ""
            reasons = [damage]
        elif self._make_current(brought):
            return ""
        self._refuse_locked(commit, reasons[0])
        return reasons[0]

    def _tell_rerun(self, standing: Standing, reason: str) -> None:
        commit = standing.commit
        if commit is not None and not standing.header.always:
            self._parts.world.screen.say(
                f"step {standing.step} runs again: {reason} "
                f"(last time {commit.record.duration_s:.1f} s)"
            )

    def _refuse_locked(self, commit: Commit, reason: str) -> None:
        record = commit.record
        if not record.effects:
            return
        raise LockedStep(
            f"step {record.step} does not run again",
            because=f"it is committed and acts on the outside "
            f"({record.effects[0]}); {reason}",
            remedy=f"If it may act again, type %steps rerun {record.step} "
            "--because TEXT",
            step=record.step,
        )

    def _replay(self, commit: Commit) -> str:
        """Bind and show a commit; return why it cannot be, or ''."""
        parts, record = self._parts, commit.record
        damage = parts.restorer.damage(record)
        if damage:
            parts.world.screen.say(f"step {record.step} is damaged: {damage}")
            return damage
        try:
            outputs = parts.restorer.outputs(record)
            gone = parts.restorer.replay(commit)
        except NbresumeError as error:
            parts.world.screen.say(f"step {record.step} is damaged: {error}")
            return str(error)
        parts.commits.check_published(commit.revision, record)
        parts.world.screen.say(self._restored(commit))
        if gone:
            parts.world.screen.say(
                f"step {record.step} could not keep {', '.join(gone)}"
            )
        parts.world.screen.show(outputs)
        return ""

    def _restored(self, commit: Commit) -> str:
        at = commit.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        text = f"[restored] step {commit.record.step}, committed {at}"
        journal = self._parts.journal
        claim = journal.state.claim
        mine = journal.is_claimant or claim is None
        if not mine and self._parts.claims.is_alive():
            text += " by another kernel: it may be newer than this kernel's own state"
        if commit.by_evidence is not None:
            text += f" by evidence of {commit.by_evidence.actor}"
        return text

    def _make_current(self, brought: Brought) -> bool:
        """Make an older commit with exactly this key current and replay it."""
        parts, standing = self._parts, brought.standing
        revision = newest_commit_with(brought.key, standing)
        if revision is None or standing.history is None:
            return False
        commit = standing.history.commits.get(revision) or parts.journal.commit_at(
            revision
        )
        if commit is None or parts.restorer.damage(commit.record):
            return False
        parts.claims.ensure(standing.order)
        standing.history.commits[revision] = commit
        parts.journal.append(
            MadeCurrent(
                step=standing.step,
                commit=revision,
                actor=parts.world.liveness.actor(),
            )
        )
        if self._replay(commit):
            return False
        parts.world.screen.say(
            f"step {standing.step}: an earlier commit has exactly this code and these "
            "inputs and is current again"
        )
        return True

    def _adopt_renamed(self, brought: Brought) -> bool:
        """Replay the equal work that the same cell did under a former name.

        Raises
        ------
        LockedStep
            The former step acted on the outside, and is not surely this one.
        """
        parts, standing = self._parts, brought.standing
        former = _former_name(standing, parts.journal.state)
        if former is None:
            return False
        record = former.record
        if record.key != brought.key:
            if record.effects:
                raise _other_name(standing.step, record)
            return False
        parts.claims.ensure(standing.order)
        parts.journal.append(
            MadeCurrent(
                step=standing.step,
                commit=former.revision,
                renamed_from=record.step,
                actor=parts.world.liveness.actor(),
            )
        )
        parts.world.screen.say(f"step {record.step} is called {standing.step} now")
        return not self._replay(former)

    def _open(self, brought: Brought, passage: Passage, reason: str) -> None:
        parts = self._parts
        parts.claims.ensure(brought.standing.order)
        if passage.resolution is not None:
            parts.journal.decide(passage.resolution)
        self._ran = None
        self._running = parts.intents.open(brought, passage, reason=reason)

    # -- capture → commit -------------------------------------------------------

    def finish(self, error: BaseException | None, *, finished: bool) -> None:
        """Commit what the body left, or record that it failed; before the reply.

        Parameters
        ----------
        error
            What the body raised, if it is known.
        finished
            The body ran to its end.

        Raises
        ------
        CaptureError
            The body finished and its result was not committed: the step is RAN.
        FencedError
            Another kernel took the run over; nothing was written.
        """
        running, parts = self._running, self._parts
        if running is None:
            return
        self._running = None
        running.outputs = parts.world.screen.stop()
        try:
            ran = self._end(running, held=finished)
        except KeyboardInterrupt as interrupt:
            if finished:
                raise _not_committed(running.intent.step, interrupt) from interrupt
            raise
        if finished:
            self._commit(ran)
        else:
            parts.commits.fail(running, ran.changes, error)

    def _end(self, running: Running, *, held: bool) -> Ran:
        """Return what the body did; hold it from here on if it ran to its end.

        An interrupt waits until the looks are taken: half of them would hide what
        the body changed in place.
        """
        let_through = self._parts.world.interrupts.defer()
        try:
            changes = self._parts.commits.changes(running)
            ran = Ran(running, changes, self._code)
            self._ran = ran if held else None
        finally:
            let_through()
        return ran

    def _commit(self, ran: Ran) -> Committed:
        parts = self._parts
        try:
            record = parts.commits.commit(ran.running, ran.changes, code=ran.code)
        except FencedError:
            raise
        except (Exception, KeyboardInterrupt) as error:
            # whatever went wrong, the finished body is not lost: the step is RAN
            parts.snapshot.forget()
            raise _not_committed(ran.running.intent.step, error) from error
        self._ran = None
        return record

    def commit_again(self, step: str) -> Committed:
        """Commit the finished body of a step that is RAN.

        Raises
        ------
        NotCommitted
            This kernel holds no finished body of that step.
        RefusedError
            A name was changed since.
        """
        ran = self._ran
        if ran is None or ran.running.intent.step != step:
            raise NotCommitted(
                f"step {step} was not committed",
                because="this kernel holds no finished, uncommitted run of it",
                remedy="Run the step.",
                step=step,
            )
        self._parts.commits.check_untouched(ran.running, ran.changes)
        return self._commit(ran)


def _former_name(standing: Standing, state: RunState) -> Commit | None:
    """Return the commit of the same cell under a name that no cell carries now."""
    if standing.history is not None:
        return None
    carried = {cell.step for cell in standing.order.cells if cell.step}
    for step, history in state.steps.items():
        commit = history.commit()
        if commit is None or step in carried - {standing.step}:
            continue
        if commit.record.cell_id == standing.cell[0]:
            return commit
    return None


def _other_name(step: str, record: Committed) -> LockedStep:
    return LockedStep(
        f"step {step} was not run",
        because=f"its cell was step {record.step}, which is committed and acts on the "
        f"outside ({record.effects[0]})",
        remedy=f"If it is the same work, type %steps rename {record.step} {step}; if "
        f"it is a new step, type %steps rerun {step} --because TEXT",
        step=step,
    )


def _not_committed(step: str, error: BaseException) -> CaptureError:
    return CaptureError(
        f"step {step} RAN but is not committed",
        because=f"{type(error).__name__}: {error}".rstrip(": "),
        remedy=f"Type %steps commit {step}, or run it again",
        step=step,
    )
