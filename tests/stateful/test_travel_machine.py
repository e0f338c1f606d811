"""Random runs, edits, undos, checkouts, resumes and forks against a model.

The model knows no versions, keys or records. It notes what each step set when it
counted, and folds that in time; and it executes the cells in an empty namespace.
"""

import ast
import builtins
import copy

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule
from unit.run.fakes import Lab

from nbresume.errors import NotCommitted
from nbresume.plan.header import body_of
from nbresume.plan.planner import Verdict

CELLS = {
    "a": "%%step a\nx = [{0}]\nn = {0}",
    "p": "k = {0}",
    "b": "%%step b\nx.append(k)\nm = n + {0}",
    "c": "%%step c\nn = n * 10 + {0}\ns = sum(x)",
    "d": "%%step d\nt = [x, n]\nx.append({0})\ndel m",
    "e": "%%step e\nr = (s, k, n + {0})",
}
STEPS = [cell for cell in CELLS if cell != "p"]
SETS = {"a": "xn", "b": "xm", "c": "ns", "d": "txm", "e": "r"}
"""Names that a step may set, change or delete."""
NAMES = sorted(set("".join(SETS.values())))
NUMBERS = st.integers(1, 2)


def clean_run(sources):
    """Return what the cells leave in an empty namespace."""
    namespace = {"__builtins__": dict(vars(builtins))}
    for source in sources:
        code = compile(ast.parse(body_of(source)), "cell", "exec")
        exec(code, namespace)  # noqa: S102 - the judge
    return {n: v for n, v in namespace.items() if not n.startswith("__")}


class TravelMachine(RuleBasedStateMachine):
    """One notebook whose user goes back and forth."""

    @initialize()
    def begin(self):
        """Run everything twice, with an edit of the plain cell in between."""
        self.lab = Lab(**{cell: text.format(1) for cell, text in CELLS.items()})
        self.kernel = self.lab.kernel()
        self.moments = []
        """(step, revision of its commit, what it set, k) in the order of time."""
        self.counts = {}
        """Step → revision of the commit that counts."""
        self.known_k = None
        """What an intent found of k last; None if it found none."""
        self.stands = None
        """Index of the moment that this kernel bound last; -1 before the first."""
        self.run_all()
        self.edit_cell("p", 2)
        self.run_all()

    # -- what the model knows -----------------------------------------------------

    def now(self):
        """Return the names of steps with copies of their values."""
        known = {name: self.kernel[name] for name in NAMES if name in self.kernel}
        return copy.deepcopy(known)

    def note(self, step, how):
        """Note what a step has set, if its commit began to count just now."""
        revision = self.kernel.journal.state.commit(step).revision
        values, record = self.now(), self.kernel.commits(step)
        if how == "ran" and "k" in self.kernel:
            self.known_k = self.kernel["k"]
        if self.counts.get(step) != revision:
            self.counts[step] = revision
            touched = {*record.outputs, *record.deleted}
            assert touched <= set(SETS[step])
            sets = {name: values.get(name) for name in touched}
            self.moments.append((step, revision, sets, self.known_k))
        self.stands = self.newest(step, revision)

    def newest(self, step, revision):
        """Return the index of the newest moment at which a commit counted."""
        return max(i for i, m in enumerate(self.moments) if m[:2] == (step, revision))

    def then(self, end):
        """Return the steps' names after so many moments: the last write counts."""
        found = {}
        for _, _, sets, _ in self.moments[:end]:
            found |= sets
        return {name: value for name, value in found.items() if value is not None}

    # -- what the user does -------------------------------------------------------

    @rule(cell=st.sampled_from([*CELLS]), number=NUMBERS, runs=st.booleans())
    def edit(self, cell, number, runs):
        """Change a cell; perhaps run all."""
        self.edit_cell(cell, number)
        if runs:
            self.run_all()

    def edit_cell(self, cell, number):
        """Change the number in a cell."""
        source = CELLS[cell].format(number)
        if self.lab.notebook.sources[cell] != source:
            self.is_settled = False
        self.lab.edit(**{cell: source})

    @rule()
    def run_all(self):
        """Run all cells: what is left is what a clean run leaves."""
        for cell in CELLS:
            outcome = self.kernel.run(cell)
            assert outcome.how in ("plain", "ran", "replayed"), outcome.text
            if cell in STEPS:
                self.note(cell, outcome.how)
        sources = self.lab.notebook.sources.values()
        values = {**self.now(), "k": self.kernel["k"]}
        assert values == clean_run(sources)
        self.is_settled = True

    @rule()
    @precondition(lambda self: self.is_settled)
    def run_all_as_planned(self):
        """Run all of a settled notebook: the plan is to replay, and so it is."""
        assert {s.plan for s in self.kernel.view().steps} == {Verdict.REPLAY}
        before = list(self.lab.ledger)
        self.run_all()
        assert self.lab.ledger == before

    def run_one(self, step):
        """Run one step of a settled notebook: it replays, or is refused for k."""
        outcome = self.kernel.run(step)
        if outcome.how == "refused":
            assert "k is of another moment" in outcome.text
            return
        assert outcome.how == "replayed", outcome.text
        assert self.kernel.journal.state.commit(step).revision == self.counts[step]
        self.note(step, outcome.how)

    @rule()
    @precondition(lambda self: self.stands is not None)
    def undo(self):
        """Take the last step back: its names are as before it, the others stay."""
        before, ledger = self.now(), list(self.lab.ledger)
        if self.stands < 0:
            try:
                self.kernel.undo(yes=True)
            except NotCommitted:
                return
            raise AssertionError
        _, _, sets, _ = self.moments[self.stands]
        self.kernel.undo(yes=True)

        then = self.then(self.stands)
        expected = {n: v for n, v in before.items() if n not in sets}
        assert self.now() == expected | {n: then[n] for n in sets if n in then}
        assert self.lab.ledger == ledger
        previous = self.stands - 1
        self.stands = self.newest(*self.moments[previous][:2]) if previous >= 0 else -1

    @rule(data=st.data(), runs=st.sampled_from(STEPS))
    def checkout(self, data, runs):
        """Go to a commit: the names are those of the moment at which it was made."""
        index = data.draw(st.integers(0, len(self.moments) - 1))
        step, revision, _, _ = self.moments[index]
        first = min(i for i, m in enumerate(self.moments) if m[:2] == (step, revision))
        record = self.kernel.journal.commit_at(revision).record
        ledger = list(self.lab.ledger)

        self.kernel.checkout(f"{step}@{record.commit_number}", yes=True)

        assert self.now() == self.then(first + 1)
        if self.moments[first][3] is not None:
            assert self.kernel["k"] == self.moments[first][3]
        assert self.lab.ledger == ledger
        self.stands = self.newest(step, revision)
        if self.is_settled and data.draw(st.booleans()):
            self.run_one(runs)

    @rule()
    def restart(self):
        """Start another kernel: it holds nothing."""
        self.kernel = self.kernel.restart()
        self.stands = None
        self.is_settled = False

    @rule()
    @precondition(lambda self: self.is_settled)
    def resume(self):
        """Bind the newest state: what a clean run leaves."""
        resumed = self.kernel.resume()
        expected = clean_run(self.lab.notebook.sources.values())
        k = {"k": self.kernel["k"]}
        if resumed.missing:
            # no record tells what its cell makes today
            assert resumed.missing == ["k (it is of another moment: run its cell)"]
            k = {"k": expected["k"]}
        assert self.now() | k == expected
        self.stands = None
        self.kernel.session.stepper.stands_at = None


@pytest.mark.long
class TestManyTravels(TravelMachine.TestCase):
    """As many as it takes minutes to look for."""

    settings = settings(max_examples=40, stateful_step_count=25, deadline=None)


TestTravel = TravelMachine.TestCase
TestTravel.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
