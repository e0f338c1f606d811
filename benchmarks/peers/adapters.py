"""What an adapter is: how one tool is told to keep the cells of a workload.

The rule: each tool is used as its own documentation says, with its defaults. All see
the same cells; a tool that keeps functions gets each cell as a function of the names
that it reads.
"""

import textwrap
from pathlib import Path
from typing import ClassVar

from peers.workloads import Cell, Workload


class Adapter:
    """A tool, in a kernel of its own environment, with a folder for what it keeps."""

    name: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()
    """What pip installs for it."""
    common: ClassVar[tuple[str, ...]] = ()
    """What the cells use, where the tool does not allow the releases of the others."""
    again: ClassVar[bool] = True
    """Imports and definitions are run again in a new kernel, before the restore."""
    variables: ClassVar[dict[str, str]] = {}
    """Environment of its kernels; ``{folder}`` stands for its folder."""
    expected: ClassVar[tuple[str, ...]] = ()
    """Errors that its own set-up always shows."""

    def __init__(self, folder: Path, work: Workload) -> None:
        self.folder = folder
        self.work = work

    @classmethod
    def refuses(cls, work: Workload) -> str:
        """Return why the tool's own rules forbid this workload, or nothing."""
        del work
        return ""

    def prepare(self) -> None:
        """Write the files that must be there before the kernel starts."""

    def setup(self) -> Cell:
        """Return the first cell of every kernel."""
        return Cell("setup", "pass")

    def preamble(self) -> Cell:
        """Return the cell of imports and definitions."""
        return Cell("preamble", self.work.preamble)

    def arm(self) -> Cell:
        """Return the cell after the preamble, where hooks are installed."""
        return Cell("arm", "pass")

    def cell(self, cell: Cell) -> Cell:
        """Return a cell of the workload as this tool wants it typed."""
        return cell

    def restore(self) -> list[Cell]:
        """Return the cells that bring all values back; by default all run again."""
        return [self.arm(), *(self.cell(cell) for cell in self.work.cells)]

    def lazily(self) -> list[Cell]:
        """Return the cells up to the first one that is not kept, if they load less."""
        return []


def as_function(cell: Cell, decorator: str = "") -> tuple[str, str, str]:
    """Return a cell as a definition, its call, and the names that it is bound to."""
    name = f"cell_{cell.name}"
    taken = ", ".join(cell.reads)
    given = ", ".join(cell.writes)
    body = textwrap.indent(cell.code, "    ")
    definition = (
        f"{decorator}\ndef {name}({taken}):\n{body}\n    return {given or None}"
    )
    bound = f"{given} = " if given else ""
    return definition.lstrip("\n"), f"{name}({taken})", bound
