"""THE sequence: source → plan → intent → execute → capture → commit → view.

The rule: this module only says what comes after what; each part has its module.
`begin` is called after the cell was parsed and before its first statement; `finish`
after its last one and before the reply.
"""

import sys
from collections.abc import Callable

from msgspec import Struct

from nbresume.capture.fingerprints import FINGERPRINTS
from nbresume.collector import put_off
from nbresume.errors import (
    AmbiguousStep,
    FencedError,
)
from nbresume.model.records import Committed
from nbresume.plan.key import differences
from nbresume.plan.notebook import Cell
from nbresume.plan.planner import spoken
from nbresume.run import doubt
from nbresume.run.commits import Changes
from nbresume.run.file_states import Where
from nbresume.run.intents import Running
from nbresume.run.keys import committed_cues
from nbresume.run.naming import refuse_twin
from nbresume.run.order import Order
from nbresume.run.parts import Parts
from nbresume.run.position import Positions
from nbresume.run.recovery import Passage
from nbresume.run.replay import Replays
from nbresume.run.standing import Brought, Standing
from nbresume.run.step_cell import Began, StepCell


class Ran(Struct, frozen=True):
    """A finished body that is not committed."""

    running: Running
    changes: Changes
    code: str


class Stepper:
    """Runs the steps of one notebook in one kernel."""

    def __init__(self, parts: Parts, *, order: Callable[[], Order]) -> None:
        self._parts = parts
        self._replays = Replays(parts)
        self._order = order
        self._running: Running | None = None
        self._code = ""
        self._ran: Ran | None = None
        self.stands_at: tuple[str, int] | None = None
        """Step and revision of the commit that this kernel made, replayed or restored
        last; None if none yet."""

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
        refuse_twin(standing, parts.journal.state)
        passage = parts.recovery.passage(standing)
        if not parts.branches.is_taken(standing):
            parts.branches.leave_out(self._stand(cell))
            return Began.NOT_TAKEN
        if standing.header.when:
            standing = self._stand(cell)  # as it stands with that decision
        brought = parts.inputs.bring(standing, parts.journal.state)
        reason = self._replay_or_reason(brought)
        if not reason:
            self.stand_at([cell.header.name])
            return Began.REPLAYED
        parts.recovery.check_above(standing)
        parts.inputs.check_kept(brought)
        parts.inputs.check_worn(brought)
        parts.code.check_loaded(standing.step, standing.names, brought.inputs)
        parts.inputs.clear_own(brought)
        self._tell_rerun(standing, reason)
        self._open(brought, passage, reason)
        self._code = cell.code
        parts.loops.begin(cell.loops)
        parts.world.screen.start()
        sys.audit("nbresume.body", cell.header.name)
        return Began.RUNS

    def _refuse_nested(self, step: str) -> None:
        if self._running is None:
            return
        raise doubt.nested(step, self._running.intent.step)

    def _stand(self, cell: StepCell) -> Standing:
        step, (cell_id, digest) = cell.header.name, cell.cell
        self._parts.world.notebook.note(Cell(cell_id, cell.code, step, digest))
        order = self._order()
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

    def _replay_or_reason(self, brought: Brought) -> str:
        """Replay the step if a commit holds for it; else return why it runs."""
        standing, parts = brought.standing, self._parts
        commit = standing.commit
        if commit is None:
            return self._anew(brought)
        if standing.header.always and not commit.record.effects:
            return "--always"
        if standing.forced:
            rerun = standing.history.rerun if standing.history else None
            return f"rerun: {rerun.because}" if rerun else "rerun"
        reasons = differences(committed_cues(commit.record), brought.cues)
        if not reasons:
            # no older commit can help here: it would have left other files
            why = parts.files.left_otherwise(commit.record, self._where(standing))
            why = why or self._replays.replay(commit)
            if not why:
                self._replays.clear_left(brought, commit)
                return ""
            reasons = [why]
        elif self._replays.make_current(brought):
            return ""
        if commit.record.effects:
            raise doubt.locked(commit.record, reasons[0])
        return reasons[0]

    def _anew(self, brought: Brought) -> str:
        """Return why a step without a commit runs; one that acted is refused."""
        left = brought.standing.erased
        if left is None:
            return "" if self._replays.adopt_renamed(brought) else "new"
        reason = f"its values were {left.erased}"
        if left.record.effects and not brought.standing.forced:
            raise doubt.locked(left.record, reason)
        return reason

    def _where(self, standing: Standing) -> Where:
        return Where(self._parts.journal.state, standing.order, standing.n)

    def _tell_rerun(self, standing: Standing, reason: str) -> None:
        commit = standing.commit
        if commit is not None and not standing.header.always:
            self._parts.world.screen.say(
                f"step {standing.step} runs again: {reason} "
                f"(last time {spoken(commit.record.duration_s)})"
            )

    def _open(self, brought: Brought, passage: Passage, reason: str) -> None:
        parts = self._parts
        parts.claims.ensure(brought.standing.order)
        if passage.resolution is not None:
            # as the claimant, not as anybody: a fenced kernel allows nothing
            attempt = passage.resolution.attempt
            parts.journal.append(passage.resolution, attempt=attempt)
        self._ran = None
        parts.loops.announce(brought)
        with parts.live.still():
            self._running = parts.intents.open(brought, passage, reason=reason)
        parts.effects.begin(self._running, passage.repeats)
        parts.evidence.begin(self._running.intent)
        parts.file_watch.begin(brought)

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
        AmbiguousStep
            The body finished, and one of its effects is open.
        FencedError
            Another kernel took the run over; nothing was written.
        """
        running, parts = self._running, self._parts
        if running is None:
            return
        self._running = None
        sys.audit("nbresume.ended", running.intent.step)
        parts.loops.end()
        left_open = parts.effects.end()
        parts.file_watch.end()
        running.seen = parts.evidence.end()
        running.outside = parts.evidence.outside(
            running.intent, running.seen, list(running.effects)
        )
        running.outputs = parts.world.screen.stop()
        if finished and left_open:
            error = doubt.left_open(running.intent.step, left_open)
            finished = False
        with FINGERPRINTS.moment(), put_off(), parts.live.still():
            ran = self._end(running, held=finished)
            if finished:
                self._commit(ran)
                return
        parts.commits.fail(running, ran.changes, error)
        if left_open and isinstance(error, AmbiguousStep):
            raise error

    def _end(self, running: Running, *, held: bool) -> Ran:
        """Return what the body did; hold it from here on if it ran to its end.

        An interrupt waits until the looks are taken: half of them would hide what
        the body changed in place.
        """
        let_through = self._parts.world.interrupts.defer()
        try:
            try:
                changes = self._parts.commits.changes(running)
                ran = Ran(running, changes, self._code)
                self._ran = ran if held else None
            finally:
                let_through()
        except KeyboardInterrupt as interrupt:
            if held:
                raise doubt.not_committed(running.intent.step, interrupt) from interrupt
            raise
        return ran

    def _commit(self, ran: Ran) -> Committed:
        parts = self._parts
        try:
            self._note_files(ran.running)
            record = parts.commits.commit(ran.running, ran.changes, code=ran.code)
        except FencedError:
            raise
        except (Exception, KeyboardInterrupt) as error:
            if self._is_committed(ran):
                # the interrupt that was held back while the record was written
                self._ran = None
                raise
            # whatever went wrong, the finished body is not lost: the step is RAN
            parts.snapshot.forget()
            raise doubt.not_committed(ran.running.intent.step, error) from error
        self._ran = None
        self.stand_at([record.step])
        parts.evidence.tell(record)
        return record

    def _note_files(self, running: Running) -> None:
        where = self._where(running.brought.standing)
        running.files = self._parts.file_watch.record(running.brought, where)

    def stand_at(self, steps: list[str]) -> None:
        """Note that the newest commit among those of these steps was bound last."""
        state = self._parts.journal.state
        found = [(c.revision, step) for step in steps if (c := state.commit(step))]
        if found:
            revision, step = max(found)
            self.stands_at = (step, revision)

    def _is_committed(self, ran: Ran) -> bool:
        intent = ran.running.intent
        commit = self._parts.journal.state.commit(intent.step)
        return commit is not None and commit.record.attempt == intent.attempt

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
            raise doubt.holds_no_body(step)
        found = self._parts.commits.find(ran.running, ran.changes)
        if found is not None:
            self._ran = None
            return found
        self._parts.commits.check_untouched(ran.running, ran.changes)
        return self._commit(ran)
