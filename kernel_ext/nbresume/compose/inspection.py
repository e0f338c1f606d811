"""One run as it can be looked at, and decided about, without a kernel.

The rule: reads decisions, and payloads only as what they show; it rebuilds no value.
"""

import ast

from msgspec import Struct

from nbresume.compose.saved_order import SavedOrder
from nbresume.compose.stores import OpenStore, open_journal
from nbresume.errors import NotTrusted
from nbresume.model.printing import parse
from nbresume.model.states import State
from nbresume.plan.header import body_of
from nbresume.plan.names import names_of
from nbresume.run.claims import Claims
from nbresume.run.explaining import Explained, NoSources, explain
from nbresume.run.file_states import Files
from nbresume.run.journal import Journal
from nbresume.run.metrics import Metrics, metrics_of
from nbresume.run.order import Order
from nbresume.run.ports import World, hurried
from nbresume.run.recovery import Recovery, unknown_step
from nbresume.run.stored import StoredSources, StoredStep, stored
from nbresume.run.view import RunView
from nbresume.run.viewing import view_run
from nbresume.settings import Settings


def names_set_by(order: Order, step: str) -> list[str]:
    """Return the names of values that a step's cell may set, by the saved notebook."""
    place = order.step_place(step)
    tree = parse(body_of(order.cells[place].source)) if place >= 0 else None
    if tree is None:
        return []
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return sorted(names_of(tree).stores - imported)


class Inspection(Struct, frozen=True):
    """One run as it can be looked at, and decided about, without a kernel."""

    journal: Journal
    claims: Claims
    recovery: Recovery
    world: World
    trusted: bool
    """False: written under another key; nothing of it may be loaded."""

    def order(self) -> Order:
        """Return notebook order as it is known now."""
        return SavedOrder(self.world, self.journal)()

    def view(self, *, quick: bool = False) -> RunView:
        """Return the run as people see it; quick: reads no long file for it."""
        return view_run(
            self.journal.state,
            self.order(),
            self.recovery,
            hurried(self.world) if quick else self.world,
            run_id=self.journal.run_id,
            alive=self.claims.is_alive(),
            counts=self.journal.counts,
            trusted=self.trusted,
        )

    def metrics(self) -> Metrics:
        """Return the run in numbers; no file of the user is looked at for them."""
        state = self.journal.state
        states = [self.recovery.state(history) for history in state.steps.values()]
        in_doubt = states.count(State.AMBIGUOUS)
        return metrics_of(state, self.journal.counts, in_doubt=in_doubt)

    def explain(self, step: str) -> Explained:
        """Return why a step would be replayed, run or refused.

        Raises
        ------
        NotCommitted
            Neither the notebook nor the run has such a step.
        """
        view = self.view()
        found = next((one for one in view.steps if one.name == step), None)
        if found is None:
            raise unknown_step(step, "was not explained")
        return explain(
            found,
            view,
            self.journal.state,
            self.order(),
            files=Files(self.world.disk),
            sources=StoredSources(self.journal) if self.trusted else NoSources(),
        )

    def stored(self, step: str) -> StoredStep:
        """Return what the commit of a step stored; nothing of it is rebuilt.

        Raises
        ------
        NotCommitted
            The step has no commit.
        NotTrusted
            The run was written under another key.
        Damaged
            A payload is missing or not what its digest says.
        """
        return stored(self.journal, step, trusted=self.trusted)


def inspect_run(
    store: OpenStore, run_id: str, world: World, settings: Settings
) -> Inspection:
    """Read the decisions of a run, also of a foreign one; reads no payload."""
    journal = open_journal(store, run_id, world)
    trusted = True
    try:
        journal.open()
    except NotTrusted:
        trusted = False
        journal.open(inspect=True)
    claims = Claims(journal, world)
    recovery = Recovery(journal, claims, world, settings)
    return Inspection(journal, claims, recovery, world, trusted)
