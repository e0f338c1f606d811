"""Names of steps: whose is it, and what was the cell called before.

The rule: a name is one cell's; a cell that changes its name carries its equal work
along, and work that acted on the outside is never taken for something else.
"""

from nbresume.errors import DuplicateName, LockedStep
from nbresume.model.effects import spoken_keys
from nbresume.model.folded import RunState
from nbresume.model.histories import Commit, StepHistory
from nbresume.model.records import Committed
from nbresume.run.order import Order
from nbresume.run.standing import Standing


def refuse_twin(standing: Standing, state: RunState) -> None:
    """Pass unless another cell carries the name, and this one is the copy.

    Raises
    ------
    DuplicateName
        The name belongs to the other cell.
    """
    mine, step = standing.cell[0], standing.step.lower()
    twins = [cell for cell in standing.order.spelled(step) if cell != mine]
    owner = owner_of(step, state)
    first = all(standing.order.cell_place(twin) > standing.n for twin in twins)
    if owner in twins or (twins and not owner and not first):
        raise DuplicateName(
            f"step {standing.step} was not run",
            because="its name is used by another cell"
            f"{_told_place(standing.order, owner or twins[0])}",
            remedy="Give this step a name of its own: %%step OTHER_NAME",
            step=standing.step,
        )


def _told_place(order: Order, cell_id: str) -> str:
    """Return where a cell stands, for people: front ends show no ids."""
    place = order.cell_place(cell_id)
    return f" (code cell {place + 1} of the notebook)" if place >= 0 else ""


def owner_of(lowered: str, state: RunState) -> str:
    """Return the cell that ran under this name last, whatever its case."""
    history = next(iter(state.index.spelled(lowered)), None)
    return history.attempt.intent.cell_id if history and history.attempt else ""


def former_commit(standing: Standing, state: RunState) -> Commit | None:
    """Return the commit of the same cell under a name that no cell carries now."""
    if standing.history is not None:
        return None
    for history in state.index.of_cell(standing.cell[0]):
        commit = history.left()
        is_carried = standing.order.step_place(history.name) >= 0
        if commit is None or (is_carried and history.name != standing.step):
            continue
        if commit.record.cell_id != standing.cell[0]:
            continue
        if not commit.erased:
            return commit
        if commit.record.effects:
            raise other_name(standing.step, commit.record)
    return None


def under_other_name(step: str, former: StepHistory) -> LockedStep:
    """Return the refusal to make effects again because a cell has another name."""
    return LockedStep(
        f"step {step} was not run",
        because=f"its cell was step {former.name}, whose "
        f"{spoken_keys(list(former.effects))} would be made again under a new name",
        remedy=f"If it is the same work, type %steps rename {former.name} {step}; if "
        f"it is a new step, type %steps rerun {step} --because TEXT",
        step=step,
    )


def other_name(step: str, record: Committed) -> LockedStep:
    """Return the refusal to take a step with effects for another one."""
    return LockedStep(
        f"step {step} was not run",
        because=f"its cell was step {record.step}, which is committed and acts on the "
        f"outside ({record.effects[0]})",
        remedy=f"If it is the same work, type %steps rename {record.step} {step}; if "
        f"it is a new step, type %steps rerun {step} --because TEXT",
        step=step,
    )
