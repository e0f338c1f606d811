"""The code cells of a saved notebook: their order, steps and digests.

The rule: the bytes are checked here once; what comes out is trusted below. Who reads
the file, and when, is the caller's business.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from nbresume.errors import RefusedError
from nbresume.model.digests import cue_digest
from nbresume.plan.code_version import version_of_text
from nbresume.plan.header import body_of, step_name_of

NAMED: Final = "step:"
BY_TEXT: Final = "text:"
"""How ids begin that are made up for cells which have none of their own in the file."""


class Cell(Struct, frozen=True):
    """One code cell as the file has it."""

    cell_id: str
    """The id of the cell; "" in a notebook older than nbformat 4.5."""
    source: str
    step: str | None
    """The name as it is written, "" if it is missing, None if the cell is no step."""
    text_digest: str

    @property
    def has_own_id(self) -> bool:
        """Say whether the file gives it an id that no cell above has."""
        return not self.cell_id.startswith((NAMED, BY_TEXT))


def text_digest(source: str) -> str:
    """Return the digest of a cell's text without the blanks around it."""
    # "surrogatepass": JSON may carry half a character, and a digest must not fail
    return cue_digest(source.strip().encode("utf-8", "surrogatepass"))


def parse_notebook(data: bytes) -> list[Cell]:
    """Return the code cells of a notebook file in order.

    Raises
    ------
    RefusedError
        The bytes are no JSON, no notebook, or a notebook of nbformat 3 or older.
    """
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _refusal(f"it is no JSON ({error})") from error
    if isinstance(notebook, dict) and "worksheets" in notebook:
        raise RefusedError(
            "the notebook cannot be read",
            because="it has worksheets: nbformat 3 or older",
            remedy="Type jupyter nbconvert --to notebook --inplace NOTEBOOK, "
            "which writes it as nbformat 4.",
        )
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise _refusal("it has no list of cells")
    return [_cell(cell) for cell in cells if _is_code(cell)]


def definition_digest(cells: Sequence[Cell]) -> str:
    """Return the digest of what the steps say, in their order.

    Plain cells, comments and formatting do not count; the text does where a body is
    no plain Python.
    """
    lines = [
        f"{cell.step!a} {_body_version(cell.source)}"
        for cell in cells
        if cell.step is not None
    ]
    return cue_digest("\n".join(lines).encode())


def _body_version(source: str) -> str:
    body = body_of(source)
    return version_of_text(body) or text_digest(body)


def _is_code(cell: object) -> bool:
    if not isinstance(cell, dict):
        raise _refusal("one of its cells is no object")
    return cell.get("cell_type") == "code"


def _cell(cell: dict[str, Any]) -> Cell:
    source = cell.get("source", "")
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        source = "".join(source)
    if not isinstance(source, str):
        raise _refusal("the source of one of its cells is no text")
    cell_id = cell.get("id")
    return Cell(
        cell_id=cell_id if isinstance(cell_id, str) else "",
        source=source,
        step=step_name_of(source),
        text_digest=text_digest(source),
    )


def _refusal(because: str) -> RefusedError:
    return RefusedError(
        "the notebook cannot be read",
        because=because,
        remedy="Save it in Jupyter as a notebook (.ipynb) and try again.",
    )
