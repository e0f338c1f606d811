"""A step's cell as a face hands it over, and what was decided about it."""

from enum import StrEnum

from msgspec import Struct

from nbresume.capture.entries import CellText
from nbresume.plan.header import Header
from nbresume.plan.loops import LoopText
from nbresume.plan.names import Names


class Began(StrEnum):
    """What `Stepper.begin` decided."""

    REPLAYED = "replayed"
    """The commit's values are bound; the body does not start."""
    NOT_TAKEN = "not taken"
    """Its condition is false; the body does not start."""
    RUNS = "runs"
    """The intent is durable; the body may start."""


class StepCell(Struct, frozen=True):
    """A parsed ``%%step`` cell, as the face hands it over."""

    header: Header
    names: Names
    code_version: str
    code: str
    """Text of the cell, stored for the record."""
    cell: CellText
    """(cell id, digest of its text)."""
    loops: tuple[LoopText, ...] = ()
    """Its resumable loops."""
