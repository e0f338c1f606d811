"""Conditions of steps, by text and record: whether a decision still holds.

The rule: nothing is evaluated here; where it depends on what runs above, it is open.
"""

import ast
from functools import lru_cache
from types import CodeType
from typing import Final

from msgspec import Struct

from nbresume.model.histories import StepHistory
from nbresume.model.printing import parse
from nbresume.model.records import Branch
from nbresume.plan.code_version import code_version
from nbresume.plan.names import Names, names_of
from nbresume.run.file_states import Files, Where, version_of
from nbresume.run.position import Positions, Wanted
from nbresume.run.setters import Setters

FILE: Final = "file "
"""How an input of a decision begins that is a file."""


class Condition(Struct, frozen=True):
    """The expression behind ``--when``."""

    code: CodeType
    names: Names
    digest: str
    """Of what it means."""


@lru_cache(maxsize=256)
def condition_of(text: str) -> Condition | None:
    """Return the condition of a header; None if it has none."""
    tree = parse(text) if text else None
    if tree is None:
        return None
    [statement] = tree.body
    assert isinstance(statement, ast.Expr)  # noqa: S101 - `parse_header` refused others
    expression = ast.Expression(statement.value)
    return Condition(
        code=compile(expression, "<--when>", "eval"),
        names=names_of(tree),
        digest=code_version(tree),
    )


def undecided(
    history: StepHistory | None,
    when: str,
    where: Where,
    rerun: set[str],
    files: Files,
    setters: Setters,
) -> str:
    """Return why it is open whether a step is taken; "" if a decision holds.

    Parameters
    ----------
    history
        Of the step, with the last decision.
    when
        The expression in its header today.
    where
        Where it stands.
    rerun
        Steps above that would run.
    files
        Compares files.
    setters
        The plain cells of the notebook.
    """
    branch = history.branch if history else None
    condition = condition_of(when)
    if condition is None:
        gone = branch is not None and not branch.taken
        return "its condition was taken away" if gone else ""
    if branch is None:
        return "its condition is decided when it is reached"
    if branch.condition != condition.digest:
        return "its condition was edited"
    return _moved(branch, where, rerun, files, setters)


def _moved(
    branch: Branch, where: Where, rerun: set[str], files: Files, setters: Setters
) -> str:
    order = where.order
    positions = Positions(where.state, order)
    for name, version in branch.inputs.items():
        if name.startswith(FILE):
            file = name.removeprefix(FILE)
            if version_of(files.disk.state(file)) != version:
                return f"its condition may change: {file} is not what it was"
            continue
        demand = positions.demand(name, where.n)
        made = demand.commit.record.step if demand.commit else ""
        cells = branch.cells if made == "" else []
        if setters.is_edited(name, cells, after=demand.at, before=where.n):
            return "its condition may change: a plain cell that it reads is edited"
        if made in rerun:
            return f"its condition may change: step {made} runs"
        if demand.wanted is Wanted.VALUE and demand.version != version:
            return f"its condition may change: {name} changed"
    return ""
