"""The locks that JupyterLab's page wrote into a notebook's metadata, taken out again.

The rule: only what carries our mark is taken away, and nothing else of the file is
changed: a cell that its author made read-only stays so.
"""

import json
import re
from pathlib import Path
from typing import Any

from nbresume.errors import RefusedError
from nbresume.ui.writing import write_whole

MARK = "nbresume"
_INDENT = re.compile(r"\n([ \t]+)")


def unlock_cells(path: Path) -> int:
    """Take our locks out of a notebook; return from how many cells.

    A notebook without any is not written.

    Raises
    ------
    RefusedError
        The file cannot be read, is no notebook, or cannot be written.
    """
    try:
        text = path.read_bytes().decode("utf-8")
        notebook = json.loads(text)
    except OSError as error:
        raise _refused(path, error.strerror or str(error)) from error
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"it is no JSON ({error})") from error
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if not isinstance(cells, list):
        raise _refused(path, "it is no notebook of nbformat 4")
    count = sum(_unlock(cell) for cell in cells)
    if count:
        try:
            write_whole(path, _as_it_was(notebook, text))
        except OSError as error:
            raise _refused(path, error.strerror or str(error)) from error
    return count


def _unlock(cell: Any) -> bool:
    metadata = cell.get("metadata") if isinstance(cell, dict) else None
    if not isinstance(metadata, dict):
        return False
    mark = metadata.get(MARK)
    if not isinstance(mark, dict) or mark.get("locked") is not True:
        return False
    del mark["locked"]
    if not mark:
        del metadata[MARK]
    if metadata.get("editable") is False:
        del metadata["editable"]
    return True


def _as_it_was(notebook: Any, text: str) -> str:
    """Return the notebook as JSON in the form that its file had."""
    found = _INDENT.search(text)
    told = json.dumps(
        notebook,
        indent=found.group(1) if found else None,
        ensure_ascii=text.isascii() and "\\u" in text,
        separators=(",", ": ") if found else None,
    )
    end = text[len(text.rstrip()) :]
    return f"{told}{end}"


def _refused(path: Path, because: str) -> RefusedError:
    return RefusedError(
        f"{path} was not unlocked",
        because=because,
        remedy="Name a notebook that you can read and write.",
    )
