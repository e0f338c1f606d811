"""In what a notebook's steps differ from those of the last claim.

The rule: a difference is told before the run goes on, never guessed over. Edited
steps are the plan's business; here it is which steps there are, in which order, and
under which name the workflow goes. A pure function of the folded state and the order.
"""

from pathlib import PurePath

from nbresume.model.codec import canonical
from nbresume.model.digests import cue_digest
from nbresume.model.folded import RunState
from nbresume.model.records import Claim
from nbresume.plan.notebook import Cell
from nbresume.run.order import Order
from nbresume.run.ports import World

_TOLD = 3
"""So many cells are named in a sentence."""


def definition_digest(order: Order) -> str:
    """Return the digest of the ordered steps with their text."""
    return cue_digest(
        canonical([[c.step, c.text_digest] for c in order.cells if c.step])
    )


def differences(state: RunState, order: Order, world: World) -> list[str]:
    """Return one sentence for each way in which the notebook is not as it was.

    None if this process holds the claim: the notebook is being written then, and
    nothing is being recovered.

    Parameters
    ----------
    state
        Its claim names the workflow and the cells; the steps that ran since are known
        by their intents.
    order
        The notebook as it stands now.
    world
        Tells the notebook's name now, and who "I" am.
    """
    claim = state.claim
    if claim is None or claim.writer.nonce == world.liveness.me().nonce:
        return []
    told = []
    other, path = claim.notebook, world.notebook.path
    # a copied folder has a store of its own, and only the name of the run in common
    is_beside = PurePath(other).parent == PurePath(path).parent
    if other and other != path and is_beside and world.notebook.exists(other):
        told.append(
            f"two notebooks are on this run, the other one is {other}; give one of "
            "them a run of its own: set NBRESUME_RUN to another name for it"
        )
    elif claim.workflow != world.notebook.workflow:
        told.append(f"the last claim was of the workflow {claim.workflow}")
    # without the notebook's file the order is that of the records: nothing to compare
    if order.knows_plain and definition_digest(order) != claim.definition_digest:
        told += _steps(state, claim, order)
    return told


def same_ids(order: Order) -> list[str]:
    """Tell that cells of the notebook have the ids of others, and what to do.

    Jupyter gives them ids of their own when it opens the file, so what they run is
    found in the file by name and text alone before it is saved.
    """
    without = [cell for cell in order.cells if cell.cell_id and not cell.has_own_id]
    # in a notebook of an old format no cell has one
    if not order.knows_plain or not without or len(without) == len(order.cells):
        return []
    told = ", ".join(map(_called, without[:_TOLD]))
    more = f" and {len(without) - _TOLD} more" if len(without) > _TOLD else ""
    which = f"cells have the same id as another one of the notebook: {told}{more}"
    return [f"{which}; save it in Jupyter, which gives each its own"]


def _called(cell: Cell) -> str:
    first = next(filter(None, map(str.strip, cell.source.splitlines())), "")
    return f"step {cell.step}" if cell.step else f'"{first[:30]}"'


def _steps(state: RunState, claim: Claim, order: Order) -> list[str]:
    place_then = {cell: place for place, cell in enumerate(claim.cells)}
    cell_of = {
        name: history.attempt.intent.cell_id
        for name, history in state.steps.items()
        if history.attempt is not None
    }
    steps_now = sorted(order.place_of_step, key=order.step_place)
    added = [
        step
        for step in steps_now
        if step not in state.steps
        and order.cells[order.step_place(step)].cell_id not in place_then
    ]
    removed = [step for step in cell_of if step not in order.place_of_step]
    moved = _moved(
        [
            (step, place_then[cell])
            for step in steps_now
            if (cell := order.cells[order.step_place(step)].cell_id) in place_then
        ]
    )
    parts = [
        f"{word} {', '.join(steps)}"
        for word, steps in (("added", added), ("removed", removed), ("moved", moved))
        if steps
    ]
    if not parts:
        return []
    return [f"the steps are not those of the last claim: {'; '.join(parts)}"]


def _moved(then: list[tuple[str, int]]) -> list[str]:
    """Return the fewest steps that must have moved to explain the order now.

    `then` holds the steps as they stand now, each with its place at the claim.
    """
    # the longest row of steps that stand in their former order has not moved
    rows: list[list[str]] = []
    for index, (step, place) in enumerate(then):
        best: list[str] = []
        for row, (_, before) in zip(rows, then[:index], strict=True):
            if before < place and len(row) > len(best):
                best = row
        rows.append([*best, step])
    stayed = max(rows, key=len) if rows else []
    return [step for step, _ in then if step not in stayed]
