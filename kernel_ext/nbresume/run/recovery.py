"""What an earlier attempt left: may the step run, is it in doubt, who settles it.

The rule: unknown is refused. An interrupted step that is known to touch the outside
is ambiguous until a person or a declared policy decides, on record.
"""

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from nbresume.errors import AmbiguousStep, NotCommitted, RefusedError
from nbresume.model.effects import doubtful_keys, open_keys
from nbresume.model.histories import Attempt, StepHistory
from nbresume.model.progress import has_advanced
from nbresume.model.records import Resolution
from nbresume.model.states import Claimant, Outcome, State, state_of
from nbresume.model.values import How
from nbresume.run import settling
from nbresume.run.claims import Claims
from nbresume.run.doubt import (
    abandoned,
    ambiguous,
    being_run,
    built_on,
    ended_badly,
    told,
    word_would_settle,
)
from nbresume.run.journal import Journal
from nbresume.run.naming import under_other_name
from nbresume.run.order import Order
from nbresume.run.ports import World
from nbresume.run.publishing import publish_given
from nbresume.run.settling import Answer
from nbresume.run.standing import Standing
from nbresume.run.ways import settle
from nbresume.settings import Settings, Undeclared


class Passage(Struct, frozen=True):
    """A step may run: what its intent has to say about the attempt before."""

    recovers: str = ""
    """The interrupted attempt that is repeated."""
    unattended: int = 0
    resolution: Resolution | None = None
    """A policy's decision, to be recorded before the intent."""
    repeats: frozenset[str] = frozenset()
    """Open effects that somebody allowed to be called again."""


_MAY_BE_LEFT_OUT = (
    State.NEW,
    State.COMMITTED,
    State.ERASED,
    State.FAILED,
    State.INTERRUPTED,
)
"""A step that is in doubt stays so, whatever its condition says."""


class Recovery:
    """Decides over earlier attempts of one run."""

    def __init__(
        self,
        journal: Journal,
        claims: Claims,
        world: World,
        settings: Settings,
        *,
        holds_body: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._journal = journal
        self.claims = claims
        self._world = world
        self._settings = settings
        self._holds_body = holds_body
        """Says whether this kernel holds the finished body of an attempt."""

    def claimant(self, attempt: Attempt) -> Claimant:
        """Return how the kernel that ran an attempt looks from here."""
        claimant = self.claims.claimant_of(attempt)
        if claimant is Claimant.ALIVE and self._journal.is_claimant:
            if self._holds_body(attempt.intent.attempt):
                return Claimant.HOLDS_BODY
            # this kernel ran it, runs nothing now and holds nothing: it was cut off
            return Claimant.GONE
        return claimant

    def state(self, history: StepHistory | None) -> State:
        """Return the state of a step by records and liveness alone."""
        if history is None:
            return State.NEW
        attempt, claimant = history.attempt, Claimant.GONE
        if attempt is not None and attempt.outcome is Outcome.OPEN:
            # the system is asked, and no other attempt's state depends on the answer
            claimant = self.claimant(attempt)
        state = self._state_of(history, claimant)
        if history.is_left_out and state in _MAY_BE_LEFT_OUT:
            return State.NOT_TAKEN
        if state is State.NEW and history.current >= 0:
            return State.ERASED if history.erased else State.COMMITTED
        return state

    def _state_of(self, history: StepHistory, claimant: Claimant) -> State:
        policy = self._settings.undeclared
        return state_of(history.facts(claimant, self._now(), undeclared=policy))

    def doubt(self, history: StepHistory) -> str:
        """Return why a step is in doubt under the policy that holds here, or ''."""
        attempt, policy = history.attempt, self._settings.undeclared
        failed = attempt is not None and attempt.failed is not None
        if failed and policy is Undeclared.REFUSE:
            policy = Undeclared.EVIDENCE  # it was not cut off: how it ended is known
        return history.doubt(self._now(), undeclared=policy)

    def told(self, history: StepHistory, order: Order | None) -> list[str]:
        """Return what a person is told before settling a step, and acknowledges."""
        if history.attempt is None:
            return []
        below = built_on(history.name, order, self._journal.state)
        return told(history, history.attempt, self.doubt(history), below)

    # -- may it run? ------------------------------------------------------------

    def passage(self, standing: Standing) -> Passage:
        """Return what lets the step run in spite of its last attempt.

        Raises
        ------
        AmbiguousStep
            It is in doubt and no policy decides.
        TakenRun
            Another kernel is running it.
        RefusedError
            It was abandoned, or was interrupted too often with nobody there.
        """
        history = standing.history
        attempt = history.attempt if history else None
        if history is None:
            self._check_former_name(standing)
        if history is None or attempt is None:
            return Passage()
        claimant = self.claimant(attempt)
        state = self._state_of(history, claimant)
        if state is State.RUNNING:
            raise being_run(standing.step, attempt)
        if state is State.ABANDONED:
            raise abandoned(standing.step, attempt)
        return self._after(standing, history, attempt, state)

    def _after(
        self,
        standing: Standing,
        history: StepHistory,
        attempt: Attempt,
        state: State,
    ) -> Passage:
        ended = ended_badly(state, attempt) and self.doubt(history) != ""
        if state is State.AMBIGUOUS or (ended and not self._settings.attended):
            return self._by_policy(standing, history, attempt)
        if state is State.INTERRUPTED:
            return self._again(history, attempt)
        if ended:
            because = "run again by somebody who could see how it ended"
            return Passage(
                recovers=attempt.intent.attempt,
                resolution=self._retry(standing, history, attempt, because),
            )
        if attempt.resolution is not None and attempt.resolution.how is How.RETRY:
            return Passage(repeats=frozenset(open_keys(history.effects)))
        return Passage()

    def _check_former_name(self, standing: Standing) -> None:
        """Refuse a cell whose step was in doubt under a name that no cell carries.

        A new name settles nothing.
        """
        for history in self._journal.state.index.of_cell(standing.cell[0]):
            attempt = history.attempt
            if attempt is None or standing.order.step_place(history.name) >= 0:
                continue
            if attempt.intent.cell_id != standing.cell[0]:
                continue
            if self.state(history) is State.AMBIGUOUS:
                raise self._ambiguous(history, attempt)
            if history.effects and history.current < 0:
                raise under_other_name(standing.step, history)

    def _by_policy(
        self, standing: Standing, history: StepHistory, attempt: Attempt
    ) -> Passage:
        step, doubt, header = standing.step, self.doubt(history), standing.header
        if (header.pure or header.always) and word_would_settle(history):
            policy = f"{'--pure' if header.pure else '--always'}, typed after it ran"
        elif header.retry or self._settings.retry:
            policy = "--retry" if header.retry else "nbresume run --retry"
        else:
            raise self._ambiguous(history, attempt)
        self._world.screen.say(
            f"step {step} was ambiguous (in doubt): {doubt}; "
            f"the policy {policy} runs it again"
        )
        because = f"policy {policy}"
        resolution = self._retry(standing, history, attempt, because, policy=policy)
        passage = Passage(recovers=attempt.intent.attempt)
        if attempt.failed is None:
            passage = self._again(history, attempt)
        repeats = frozenset(open_keys(history.effects))
        return replace(passage, resolution=resolution, repeats=repeats)

    def _retry(
        self,
        standing: Standing,
        history: StepHistory,
        attempt: Attempt,
        because: str,
        *,
        policy: str = "",
    ) -> Resolution:
        return Resolution(
            step=standing.step,
            attempt=attempt.intent.attempt,
            how=How.RETRY,
            actor=self._world.liveness.actor(),
            because=because,
            policy=policy,
            acknowledged=self.told(history, standing.order),
        )

    def _again(self, history: StepHistory, attempt: Attempt) -> Passage:
        step = history.name
        if self._settings.attended:
            return Passage(recovers=attempt.intent.attempt)
        unattended = attempt.intent.unattended + 1
        if has_advanced(history.progress, attempt.intent.attempt):
            unattended = 1  # it came further than the one before: it gets there
        if unattended > self._settings.unattended_limit:
            raise RefusedError(
                f"step {step} was not run",
                because=f"it was interrupted {unattended} times in a row "
                "with nobody there",
                remedy=f"Find out why, then type nbresume resolve NOTEBOOK {step} "
                "retry --because TEXT",
                step=step,
            )
        return Passage(recovers=attempt.intent.attempt, unattended=unattended)

    def check_above(self, standing: Standing) -> None:
        """Pass if no step above is in doubt or abandoned.

        Raises
        ------
        AmbiguousStep
            One is: what runs below could be built on something that never happened.
        """
        for history in self._journal.state.index.unsettled():
            step = history.name
            # a step whose cell is gone stands nowhere: it counts as above
            place = standing.order.step_place(step)
            if place >= standing.n or step == standing.step:
                continue
            if place < 0 and standing.forced:
                continue  # a person said that this one is another step
            state = self.state(history)
            if state in (State.AMBIGUOUS, State.ABANDONED):
                word = (
                    "ambiguous (in doubt)" if state is State.AMBIGUOUS else "abandoned"
                )
                raise AmbiguousStep(
                    f"step {standing.step} was not run",
                    because=f"step {step} above it is {word}",
                    remedy=f"Type {settle(step, self._doubtful(history))}",
                    step=step,
                )

    def _ambiguous(self, history: StepHistory, attempt: Attempt) -> AmbiguousStep:
        keys = self._doubtful(history)
        return ambiguous(history, attempt, self.doubt(history), keys)

    def _doubtful(self, history: StepHistory) -> list[str]:
        return doubtful_keys(history.effects, self._now())

    # -- decisions of people ----------------------------------------------------

    def resolve(
        self, step: str, answer: Answer, order: Order | None = None
    ) -> Resolution:
        """Record what a person decided about a step; return the record.

        `order`, if it is known, tells which steps below the decision concerns.

        Raises
        ------
        NotCommitted
            The step has no attempt that could be settled that way.
        RefusedError
            No reason was given, or the step is not in doubt.
        """
        if not answer.because.strip():
            raise RefusedError(
                f"step {step} was not settled",
                because="the record has to say why",
                remedy=f"Type %steps resolve {step} {answer.how} --because TEXT",
                step=step,
            )
        self._journal.refresh()
        history = self._journal.state.step(step)
        attempt = history.attempt if history else None
        if history is None or attempt is None:
            raise unknown_step(step, "was not settled")
        if answer.effect:
            state = self.state(history)
            settling.check_open(history, state, answer.effect, answer.how)
        else:
            settling.check_settles(history, self.state(history))
        lines = self.told(history, order)
        record = settling.resolution(
            self._journal, self._world, history, attempt, answer, lines
        )
        self._journal.decide(record)
        if record.manifest is not None:
            publish_given(self._journal, self._world, step)
        return record

    def check_known(self, step: str, order: Order) -> None:
        """Pass if the notebook or the run has a step of this name.

        Raises
        ------
        NotCommitted
            Neither has.
        """
        self._journal.refresh()
        if self._journal.state.step(step) is None and order.step_place(step) < 0:
            raise unknown_step(step, "was not found")

    def rerun(
        self,
        step: str,
        *,
        because: str,
        live: bool = False,
        again: list[str] | None = None,
    ) -> None:
        """Record that a step may run again, or that it is a new one.

        Raises
        ------
        RefusedError
            Effects shall be made again that are not on record, or are open; or it
            is being run.
        """
        self._journal.refresh()
        history = self._journal.state.step(step)
        if history is not None:
            settling.check_not_running(history, self.state(history), "unlocked")
        settling.check_again(history, step, again or [])
        attempt = history.attempt if history else None
        self._journal.decide(
            Resolution(
                step=step,
                attempt=attempt.intent.attempt if attempt else "",
                how=How.RERUN,
                actor=self._world.liveness.actor(),
                because=because,
                live=live,
                again=again or [],
            )
        )

    def rename(self, old: str, new: str) -> None:
        """Record that a step's work is carried on under a new name.

        Raises
        ------
        NotCommitted
            The old name has no commit.
        RefusedError
            The new name has a history of its own.
        """
        self._journal.refresh()
        actor = self._world.liveness.actor()
        self._journal.decide(settling.renamed(self._journal.state, old, new, actor))

    def _now(self) -> datetime | None:
        return self._journal.state.trusted_time(self._world.clock.now())


def unknown_step(step: str, refused: str) -> NotCommitted:
    """Return the refusal to do something with a step that the run does not know."""
    return NotCommitted(
        f"step {step} {refused}",
        because="this run has no step of that name",
        remedy="Type %steps to see the steps.",
        step=step,
    )
