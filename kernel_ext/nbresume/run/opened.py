"""What a kernel has from its load on, as one value: its run, what watches its cells.

The rule: whatever has to have begun when the extension is loaded stands here, and what
only runs steps does not: it is joined later, and finds here what it needs.
"""

from threading import Thread

from msgspec import Struct

from nbresume.capture.live import Live
from nbresume.run.claims import Claims
from nbresume.run.journal import Journal
from nbresume.run.local_code import LocalCode
from nbresume.run.ports import World
from nbresume.run.process import ProcessStates


class Opened(Struct, frozen=True):
    """The run of one notebook in one kernel, before a step is run."""

    live: Live
    process: ProcessStates
    code: LocalCode
    claims: Claims
    journal: Journal
    world: World
    threads: frozenset[Thread]
    """Those that ran at the load: the kernel's own."""
