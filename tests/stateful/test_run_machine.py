"""Kernels on one notebook that crash, fence each other and are edited under way.

The judge knows nothing of versions or keys: it executes the cells in order in an empty
namespace, and remembers which texts a step was committed with.
"""

import ast
import builtins

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from unit.run.fakes import Killed, Lab

from nbresume.errors import ConflictError, ErrorKind, KeyTaken, Unavailable
from nbresume.model.codec import record_of
from nbresume.model.records import Claim, Committed, Failed, Intent, Resolution
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.plan.header import body_of
from nbresume.plan.planner import Verdict
from nbresume.run.recovery import Answer

CELLS = {
    "a": "%%step a\nx = [{0}]",
    "p": "x.append({0})",
    "b": "%%step b\nduring()\nL = x + [{0}]",
    "c": "%%step c\nL.append({0})",
    "q": "k = {0}",
    "d": "%%step d --effects\nduring()\nm = sum(L) * k + {0}",
    "e": "%%step e\nn = {{'m': m, 'L': L, 'e': {0}}}",
}
STEPS = [cell for cell in CELLS if cell not in "pq"]
NUMBERS = st.integers(1, 3)
RUN = "f" * 16
TAKEN = KeyTaken("it was not written", because="it exists", remedy="", key="k")
KERNELS = st.integers(0, 3)
HOURS = st.integers(-72, 72)


def clean_run(sources):
    """Return what the cells leave in an empty namespace."""
    namespace = {"__builtins__": {**vars(builtins), "during": lambda: None}}
    for source in sources:
        code = compile(ast.parse(body_of(source)), "cell", "exec")
        exec(code, namespace)  # noqa: S102 - the judge
    return without_system(namespace)


def without_system(namespace):
    """Return the user's names and values."""
    return {name: v for name, v in namespace.items() if not name.startswith("__")}


class RunMachine(RuleBasedStateMachine):
    """Up to four kernels over one store."""

    @initialize()
    def begin(self):
        """Begin with an empty store and a notebook that nobody has run."""
        self.lab = Lab(**{cell: text.format(1) for cell, text in CELLS.items()})
        self.lab.tools["during"] = self._during
        self.meanwhile = None
        self.kernels = [self.fresh() for _ in range(4)]
        self.committed: set[tuple[str, tuple[str, ...]]] = set()
        """(step, texts of all cells down to it) that a Run All has committed."""
        self.is_settled = False
        """All steps are committed as they stand, and nothing was edited since."""
        self.asked: set[str] = set()
        """Steps that a person asked to run again."""

    def _during(self):
        action, self.meanwhile = self.meanwhile, None
        if action is not None:
            action()

    def alive(self, number):
        """Return the kernel, started again if its process has ended."""
        if self.kernels[number].is_dead:
            self.kernels[number] = self.fresh()
        return self.kernels[number]

    def fresh(self):
        """Start a kernel."""
        kernel = self.lab.kernel(run_id=RUN)
        kernel.is_disturbed = False
        return kernel

    # -- what people and machines do ----------------------------------------------

    @rule(number=KERNELS, stubborn=st.booleans())
    def run_all(self, number, stubborn):
        """Run all cells; an unchanged committed step does not run.

        A stubborn person settles what is refused, and goes on.
        """
        kernel = self.alive(number)
        texts: tuple[str, ...] = ()
        for cell, source in self.lab.notebook.sources.items():
            texts += (source,)
            outcome = kernel.run(cell)
            if stubborn and outcome.how == "refused":
                self.settle(kernel)
                outcome = kernel.run(cell)
            if outcome.how == "ran":
                assert (cell, texts) not in self.committed or cell in self.asked, cell
            if outcome.how in ("ran", "replayed"):
                self.committed.add((cell, texts))
                self.asked.discard(cell)
            if outcome.how == "refused":
                assert outcome.error.kind in (
                    ErrorKind.LOCKED,
                    ErrorKind.AMBIGUOUS,
                    ErrorKind.TAKEN_RUN,
                )
            if outcome.how not in ("plain", "ran", "replayed"):
                return
        live = kernel.parts.live
        live.load_all(live.pending)
        names = without_system(kernel.namespace)
        assert names == clean_run(texts)
        assert names["n"]["L"] is names["L"]
        self.is_settled = True
        kernel.is_disturbed = False

    @rule(number=KERNELS, cell=st.sampled_from(list(CELLS)))
    def run_one(self, number, cell):
        """Run one cell out of order.

        Where everything is committed and no plain cell was run out of order, a step
        replays: in any kernel, after any other cell, to the values at its place.
        """
        kernel = self.alive(number)
        expected = self.is_settled and not self.asked and not kernel.is_disturbed
        outcome = kernel.run(cell)
        if cell in "pq":
            kernel.is_disturbed = True
        elif expected:
            self.check_replay(kernel, cell, outcome)
        elif outcome.how != "replayed":
            self.is_settled = False
        self.asked.discard(cell)

    def check_replay(self, kernel, cell, outcome):
        """Check that the step was replayed to the values that stand at its place."""
        assert outcome.how == "replayed", (cell, outcome)
        sources = self.lab.notebook.sources
        above = list(sources)[: list(sources).index(cell) + 1]
        names = clean_run(sources[one] for one in above)
        for name in kernel.commits(cell).outputs:
            assert kernel[name] == names[name], name

    @rule(cell=st.sampled_from(list(CELLS)), number=NUMBERS)
    def edit(self, cell, number):
        """Edit a cell, or undo an edit."""
        self.lab.edit(**{cell: CELLS[cell].format(number)})
        self.is_settled = False

    @rule(number=KERNELS)
    def kill(self, number):
        """Let a kernel end between two cells."""
        self.alive(number).kill()

    @rule()
    def cut_the_power(self):
        """End all kernels, and forget what was not durable."""
        self.lab.backend.lose_power()
        for kernel in self.kernels:
            kernel.kill()

    @rule(number=KERNELS, cell=st.sampled_from("bd"))
    def kill_in_body(self, number, cell):
        """Let a kernel end inside a step, if that runs."""
        self.meanwhile = self._die
        self.alive(number).run(cell)
        self.meanwhile = None

    @staticmethod
    def _die():
        raise Killed

    @rule(
        number=KERNELS,
        cell=st.sampled_from(STEPS),
        operation=st.sampled_from(["create", "write", "seal", "publish"]),
        nth=st.integers(1, 4),
        late=st.booleans(),
        power=st.booleans(),
    )
    def kill_in_store(self, number, cell, operation, nth, late, power):
        """Let a kernel, or the whole machine, end inside the store."""
        backend, kernel = self.lab.backend, self.alive(number)
        backend.fail_at(operation, nth, Killed(), late=late)
        kernel.run(cell)
        backend.forget_faults()
        if kernel.is_dead and power:
            self.cut_the_power()

    @rule(number=KERNELS, other=KERNELS, cell=st.sampled_from("bd"))
    def take_over_meanwhile(self, number, other, cell):
        """Let another kernel take the run over while a body runs: it is fenced."""
        kernel, taker = self.alive(number), self.alive(other)
        if kernel is taker:
            return

        def take():
            taker.journal.refresh()
            taker.parts.claims.ensure(taker.session.order(), take_over=True)

        self.meanwhile = take
        outcome = kernel.run(cell)
        started = self.meanwhile is None
        self.meanwhile = None
        if started:
            assert outcome.how == "fenced"
            assert not kernel.journal.is_claimant

    @rule(
        number=KERNELS,
        other=KERNELS,
        cell=st.sampled_from(STEPS),
        operation=st.sampled_from(["create", "write", "seal", "publish"]),
        nth=st.integers(1, 4),
        late=st.booleans(),
        runs=st.booleans(),
    )
    def stop_in_store(self, number, other, cell, operation, nth, late, runs):
        """Let a kernel stand still inside the store, and wake up fenced.

        It appends nothing after the claim of the other one.
        """
        kernel, other = self.alive(number), self.alive(other)
        if kernel is other:
            return
        stood: list[set[str]] = []

        def meanwhile():
            before = self.records()
            other.journal.refresh()
            other.parts.claims.ensure(other.session.order(), take_over=True)
            if self.records() == before:
                return  # it held the run already
            if runs:
                other.run(cell)
            stood.append(self.records())

        self.lab.backend.act_at(operation, nth, meanwhile, late=late)
        outcome = kernel.run(cell)
        self.lab.backend.forget_faults()
        if stood:
            assert self.records() == stood[0]
            assert outcome.how != "killed", outcome
            assert (outcome.how != "failed") or self.has_failure_of(kernel, cell)
            assert (outcome.how != "ran") or self.has_commit_of(kernel, cell)
        self.is_settled = False

    def records(self):
        """Return the keys of all records."""
        return {key for key in self.lab.backend.files if key.startswith("journal/")}

    def has_failure_of(self, kernel, cell):
        """Say whether the chain has the failure of the newest attempt of a step."""
        attempt = kernel.journal.state.step(cell).attempt.intent.attempt
        records = [record_of(link.envelope) for link in self.links()]
        return any(isinstance(r, Failed) and r.attempt == attempt for r in records)

    def has_commit_of(self, kernel, cell):
        """Say whether the chain has the commit that a kernel was told of."""
        attempt = kernel.commits(cell).attempt
        records = [record_of(link.envelope) for link in self.links()]
        return any(isinstance(r, Committed) and r.attempt == attempt for r in records)

    @rule(
        number=KERNELS,
        cell=st.sampled_from(STEPS),
        nth=st.integers(1, 3),
        how=st.sampled_from(["taken", "late", "early"]),
    )
    def lose_reply(self, number, cell, nth, how):
        """Let the store say no, after or before it has created a record.

        A writer that finds its own nonce has won; one that was told of a failure and
        has a finished body commits that very body, once.
        """
        kernel = self.alive(number)
        error = TAKEN if how == "taken" else Unavailable("no")
        started = self.lab.ledger.count(cell)
        self.lab.backend.fail_at("create", nth, error, late=how != "early")
        outcome = kernel.run(cell)
        self.lab.backend.forget_faults()
        if how == "taken":
            assert not isinstance(outcome.error, ConflictError)
            assert outcome.how != "RAN", outcome
        if outcome.how == "RAN" and kernel.session.stepper._ran is not None:
            kernel.session.stepper.commit_again(cell)
            assert self.has_commit_of(kernel, cell)
        assert self.lab.ledger.count(cell) <= started + 1
        self.is_settled = False

    @rule(hours=HOURS)
    def set_the_clock(self, hours):
        """Let the machine sleep, or its clock be set back: nothing depends on it."""
        self.lab.clock.jump(hours * 3600)

    @rule(number=KERNELS)
    def resolve(self, number):
        """Let a person settle what is in doubt, and unlock what is locked."""
        self.settle(self.alive(number))

    def settle(self, kernel):
        """Settle every step that is refused, and take the run over."""
        kernel.journal.refresh()
        kernel.parts.claims.ensure(kernel.session.order(), take_over=True)
        for step in kernel.view().steps:
            if step.state is State.AMBIGUOUS:
                kernel.parts.recovery.resolve(step.name, Answer(How.RETRY, "checked"))
            elif step.plan is Verdict.REFUSED:
                kernel.parts.recovery.rerun(step.name, because="asked for")
            else:
                continue
            self.asked.add(step.name)

    @rule(number=KERNELS)
    def resume(self, number):
        """Bind the state at the resume point; the second time does nothing."""
        kernel = self.alive(number)
        before = dict(self.lab.backend.files)
        kernel.resume()
        names = without_system(kernel.namespace)

        assert kernel.resume().names == 0
        assert without_system(kernel.namespace) == names
        assert self.lab.backend.files == before

    # -- what always holds --------------------------------------------------------

    def links(self):
        """Return the whole chain as a process that has just started sees it."""
        self.lab.backend.operations.clear()
        return self.lab.store().read_chain(RUN)

    @invariant()
    @precondition(lambda self: hasattr(self, "lab"))
    def the_chain_is_gapless(self):
        """Every revision is there once, and hangs on the one before."""
        before = ""
        for revision, link in enumerate(self.links()):
            assert link.revision == link.envelope.revision == revision
            assert link.envelope.prev == before
            before = link.digest

    @invariant()
    @precondition(lambda self: hasattr(self, "lab"))
    def a_fenced_kernel_changes_nothing(self):
        """See each outcome in the epoch of its intent, with no claim between."""
        epoch, open_in = 0, {}
        for link in self.links():
            record = record_of(link.envelope)
            if isinstance(record, Claim):
                assert link.envelope.epoch == epoch + 1
                epoch += 1
            assert link.envelope.epoch == epoch
            if isinstance(record, Intent):
                open_in[record.attempt] = epoch
            if isinstance(record, Committed | Failed):
                assert open_in.pop(record.attempt) == epoch

    @invariant()
    @precondition(lambda self: hasattr(self, "lab"))
    def effects_happen_once_unless_a_person_says_so(self):
        """See no intent of a step that is in doubt, or done, before a decision."""
        undecided: dict[str, str] = {}
        for link in self.links():
            record = record_of(link.envelope)
            if isinstance(record, Resolution | Failed):
                undecided.pop(record.step, None)
            elif isinstance(record, Intent) and record.options.effects:
                assert record.step not in undecided
                undecided[record.step] = record.attempt


@pytest.mark.long
class TestManyRuns(RunMachine.TestCase):
    """As many as it takes minutes to look for."""

    settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


TestRunMachine = RunMachine.TestCase
TestRunMachine.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None
)
