"""`%nbresume auto`: every cell of the notebook is a step, without a header.

The rule: it changes nothing of the notebook's text. A cell's step is known by the id of
the cell, so without ids there are no such steps.
"""

import ast

from nbresume.compose.graph import Session
from nbresume.errors import RefusedError, UsageError
from nbresume.model.ids import parse_step_name
from nbresume.plan.auto import auto_name, has_id, is_work
from nbresume.plan.code_version import code_version
from nbresume.plan.header import Header
from nbresume.plan.notebook import Cell
from nbresume.run.automatic import runs_anew

USAGE = "Type %nbresume auto, or %nbresume auto off."


def switch(line: str, session: Session, *, cell_id: str) -> str:
    """Do what was typed behind ``%nbresume``; return what to tell.

    Parameters
    ----------
    cell_id
        Of the cell in which it was typed; "" if the front end tells none.

    Raises
    ------
    UsageError
        It was not understood.
    RefusedError
        The cells of this notebook have no ids that last.
    """
    match line.partition("#")[0].split():
        case ["auto"] | ["auto", "on"]:
            _check_ids(cell_id, session.world.notebook.cells())
            session.order.auto = True
            return (
                "auto: from the next cell on every cell that computes something is a "
                "step; leave it with %nbresume auto off"
            )
        case ["auto", "off"]:
            session.order.auto = False
            return (
                "auto is off: only cells that begin with %%step are steps; what was "
                "committed stays in the store"
            )
        case _:
            raise UsageError(
                f"%nbresume {line}".rstrip() + " was not understood",
                because="there is only one thing to switch: auto",
                remedy=USAGE,
            )


def header_of(
    session: Session, tree: ast.Module, *, cell_id: str, told: str, text: str
) -> Header | None:
    """Return the header that a cell would have; None if it is to run as it is.

    Parameters
    ----------
    cell_id, told
        Its id as notebook order has it, and as the front end told it: an id that was
        made up for this session would be another one later.
    """
    if not told or told != cell_id or not session.order.is_one(told):
        return None
    if not is_work(text):
        return None
    name = auto_name(told)
    anew = runs_anew(session.journal.state.step(name), code_version(tree))
    return Header(parse_step_name(name), auto=True, always=anew)


def _check_ids(cell_id: str, cells: list[Cell] | None) -> None:
    if not cell_id:
        raise RefusedError(
            "auto was not switched on",
            because="this front end does not tell which cell it runs, so a cell could "
            "not be known again",
            remedy="Run the notebook in JupyterLab, Notebook 7 or with nbresume run "
            "NOTEBOOK, or begin cells with %%step NAME.",
        )
    if any(not has_id(cell.cell_id) for cell in cells or []):
        raise RefusedError(
            "auto was not switched on",
            because="the notebook's file has no ids of cells: it is older than "
            "nbformat 4.5",
            remedy="Type jupyter nbconvert --to notebook --inplace NOTEBOOK, open it "
            "again, or begin cells with %%step NAME.",
        )
