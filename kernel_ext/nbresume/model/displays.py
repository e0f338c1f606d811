"""What a cell showed: streams, MIME bundles and errors, as they are kept for replay."""

from typing import Any

import msgspec


class Stream(msgspec.Struct, frozen=True, tag="stream"):
    """Text written to standard output or standard error."""

    name: str
    text: str


class Display(msgspec.Struct, frozen=True, tag="display"):
    """A MIME bundle: ``display(…)`` or the value of the last expression."""

    data: dict[str, Any]
    metadata: dict[str, Any] = {}
    display_id: str = ""
    result: bool = False
    """It was the value of the cell (Out[n])."""


Shown = Stream | Display
