"""A step about to be decided: its header, its code, its place, its history.

A frozen value that crosses the boundary from plan to intent; made once per cell.
"""

from msgspec import Struct

from nbresume.capture.entries import CellText
from nbresume.model.histories import Commit, StepHistory
from nbresume.plan.header import Header
from nbresume.plan.key import Cues, key_of
from nbresume.plan.names import Names
from nbresume.run.order import Order
from nbresume.run.position import Positions


class Standing(Struct, frozen=True):
    """One step in one cell at one place of the notebook."""

    header: Header
    names: Names
    code_version: str
    cell: CellText
    n: int
    """Place of the cell in notebook order."""
    order: Order
    positions: Positions
    history: StepHistory | None

    @property
    def step(self) -> str:
        """Name of the step."""
        return self.header.name

    @property
    def commit(self) -> Commit | None:
        """The commit of the step that counts, if there is one."""
        return self.history.commit() if self.history else None

    @property
    def erased(self) -> Commit | None:
        """What the step committed and is erased since, if that is so."""
        left = self.history.left() if self.history else None
        return left if left is not None and left.erased else None

    @property
    def forced(self) -> bool:
        """A person asked for it to run again."""
        return self.history is not None and self.history.rerun is not None

    @property
    def live(self) -> bool:
        """A person asked for it to run from the values as they are now."""
        rerun = self.history.rerun if self.history else None
        return rerun is not None and rerun.live


class Brought(Struct, frozen=True):
    """A step whose inputs stand at their position: what its key is made of."""

    standing: Standing
    inputs: dict[str, str]
    """Name → version."""
    cues: Cues
    own: frozenset[str]
    """Names that the step itself left last time; absent when it runs again."""
    gone: dict[str, CellText]
    """Names it reads that a plain cell between deleted: name → that cell."""
    unkept: dict[str, Commit]
    """Inputs that the commit above could not keep: enough to replay, not to run."""

    @property
    def key(self) -> str:
        """Key of the step as everything stands now."""
        return key_of(self.cues)
