"""Parameters of a headless run → a cell that sets them, the same in each run."""

import ast
import keyword
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import nbformat

from nbresume.errors import UsageError

CELL_ID = "nbresume-parameters"
"""Id of the cell in which given parameters are set."""
TAG = "parameters"
"""Tag of the cell behind which they are set."""

# nbformat publishes no types
_new_code_cell: Callable[..., Any] = nbformat.v4.new_code_cell


def check_names(names: Iterable[str]) -> None:
    """Pass if a cell can set all of these names.

    Raises
    ------
    UsageError
        One is no name.
    """
    for name in names:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UsageError(
                f"-p {name}",
                because="it is no name that a cell could set",
                remedy="Type -p NAME VALUE, for example -p year 2013.",
            )


def set_parameters(notebook: Any, parameters: Mapping[str, str]) -> None:
    """Let a notebook set parameters, behind the cell that is tagged for it."""
    notebook.cells = [cell for cell in notebook.cells if cell.get("id") != CELL_ID]
    lines = [f"{name} = {_literal(v)!r}" for name, v in parameters.items()]
    cell = _new_code_cell("\n".join(lines))
    cell.id = CELL_ID
    notebook.cells.insert(_place(notebook), cell)


def _place(notebook: Any) -> int:
    for index, cell in enumerate(notebook.cells):
        if TAG in cell.metadata.get("tags", []):
            return index + 1
    return 0


def _literal(text: str) -> Any:
    """Return the Python value that a parameter spells, else the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
