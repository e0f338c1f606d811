"""What is known of one name of the namespace: its value, and where that comes from."""

import types
from enum import StrEnum
from typing import Any

from msgspec import Struct

from nbresume.capture.atoms import importable
from nbresume.capture.looks import Look

CellText = tuple[str, str]
"""(cell id, digest of its text)."""


class Made(StrEnum):
    """Where the present value of a name comes from."""

    COMMITTED = "committed"
    """It is the value of a commit, with that version."""
    AMBIENT = "ambient"
    """A plain cell made or changed it."""
    ATTEMPT = "attempt"
    """A failed or not yet committed attempt left it."""


class Entry(Struct):
    """One name of the namespace."""

    value: Any
    made: Made
    version: str = ""
    """Of the commit that it comes from."""
    step: str = ""
    """The step that made it."""
    kept: bool = True
    """False: its step could not keep it; the object is good in this kernel only."""
    cells: tuple[CellText, ...] = ()
    """The plain cells that made or changed it, in order."""
    base_step: str = ""
    """The step whose value plain cells changed in place."""
    base_version: str = ""
    seen: Look | None = None
    """The value as last looked at."""
    calls: frozenset[str] | None = None
    """Global names that its functions may use, if its commit says it."""
    former: bool = False
    """A plain cell's value of another moment: it was brought back."""

    @property
    def cell(self) -> str:
        """The plain cell that changed it last."""
        return self.cells[-1][0] if self.cells else ""


def is_ambient_data(entry: Entry) -> bool:
    """Say whether a value is a plain cell's and has to be stored to last."""
    return (
        entry.made is Made.AMBIENT
        and not isinstance(entry.value, types.ModuleType)
        and not (callable(entry.value) and importable(entry.value))
    )
