"""What one run of one tool measured: the value that everything else is made from.

The rule: numbers as they were taken, in seconds and bytes, and every reason in words.
"""

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(slots=True)
class Run:
    """What one run measured; lists have a number for each cell."""

    workload: str
    adapter: str
    number: int
    """Of the round."""
    groups: list[str] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    written: list[int] = field(default_factory=list)
    found: dict[str, float] = field(default_factory=dict)
    """All other numbers."""
    probes: dict[str, bool] = field(default_factory=dict)
    digest: str = ""
    """Of the values before the kernel was killed."""
    failed: str = ""
    refused: str = ""
    """Why the tool's own rules forbid the workload."""
    notes: list[str] = field(default_factory=list)
    """Errors that did not end the run."""

    def plain(self) -> dict[str, Any]:
        """Return it as what JSON can hold."""
        return asdict(self)
