"""Trials: values of new types, loaded back in another process while the kernel is idle.

The rule: nothing is loaded in the user's process to find out whether it can be. What
does not come back equal is told while its maker still has the live value. Types of
Python itself and of the libraries that our own tests load back need no trial.
"""

import copyreg
import sys
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from nbresume.capture.denied import has_own_code
from nbresume.capture.entries import Made
from nbresume.capture.live import Live
from nbresume.capture.snapshot import is_comparable
from nbresume.model.records import Committed
from nbresume.run.journal import Journal
from nbresume.run.ports import Clock

PATIENCE_S: Final = 2.0
"""The kernel is idle for so long before a process is started."""
LARGEST_BYTES: Final = 256 << 20
"""A step whose commit holds more is not loaded back: it would need memory twice."""
_PROVED: Final = frozenset(
    {
        *sys.stdlib_module_names,
        *("numpy", "pandas", "polars", "pyarrow", "scipy", "sklearn", "torch"),
        *("xarray", "dask", "nbresume"),
    }
)


class Result(Struct, frozen=True):
    """What became of one name in the other process."""

    name: str
    version: str = ""
    """Of the value that was loaded; empty if none was."""
    error: str = ""


Poll = Callable[[], list[Result] | None]
"""Asks a trial that was started: None while it runs."""


class Trial(Struct, frozen=True):
    """A trial that was started."""

    poll: Poll
    stop: Callable[[], None]


Launch = Callable[[str, Sequence[str]], Trial]
"""Starts another process that loads names of a committed step."""


class _Started(Struct, frozen=True):
    record: Committed
    names: list[str]
    trial: Trial


class Trials:
    """Tries the new types of one kernel's commits."""

    def __init__(
        self, live: Live, journal: Journal, launch: Launch, *, clock: Clock
    ) -> None:
        self._live = live
        self._journal = journal
        self._launch = launch
        self._clock = clock
        self._steps: dict[str, None] = {}
        """Steps that were committed here and not looked at yet."""
        self._known: set[str] = set()
        """Types that came back, or were told not to."""
        self._since_s = 0.0
        self._running: _Started | None = None
        self._findings: list[str] = []

    def start(self, *, step: str) -> None:
        """Begin an idle period, after a cell that ran this step (or none)."""
        self._since_s = self._clock.monotonic_s()
        if step:
            self._steps.setdefault(step)

    def stop(self) -> None:
        """End the trial that runs, if one does: the extension is unloaded."""
        running, self._running = self._running, None
        if running is not None:
            running.trial.stop()

    def findings(self) -> list[str]:
        """Return what was found since this was asked last, a sentence each."""
        found, self._findings = self._findings, []
        return found

    def slice(self, _budget_s: float) -> bool:
        """Start or ask a trial; return whether nothing is left."""
        if self._running is not None:
            return self._ask(self._running)
        if not self._steps:
            return True
        if self._clock.monotonic_s() - self._since_s < PATIENCE_S:
            return False
        step = next(iter(self._steps))
        del self._steps[step]
        record, names = self._next(step)
        if record is not None and names:
            trial = self._launch(record.step, names)
            self._running = _Started(record, names, trial)
        return not self._steps and self._running is None

    def _next(self, step: str) -> tuple[Committed | None, list[str]]:
        """Return the step's commit, and its names that hold a new type."""
        commit = self._journal.state.commit(step)
        if commit is None or commit.record.payload_bytes > LARGEST_BYTES:
            return None, []
        outputs = commit.record.outputs
        return commit.record, [n for n in outputs if self._new_kinds(n)]

    def _new_kinds(self, name: str) -> set[str]:
        if name in self._live.pending or name in self._live.unkept:
            return set()
        entry = self._live.find(name)
        if entry is None or entry.made is not Made.COMMITTED or not entry.kept:
            return set()
        kinds = self._live.look(name).types
        new = {f"{k.__module__}.{k.__qualname__}" for k in kinds if _needs_trial(k)}
        return new - self._known

    def _ask(self, running: _Started) -> bool:
        results = running.trial.poll()
        if results is None:
            return False
        self._running = None
        for result in results:
            self._judge(running.record, result)
        tried = {result.name for result in results}
        rest = [name for name in running.names if name not in tried]
        if rest and results:
            # the process ended at one of them; the others are tried by themselves
            trial = self._launch(running.record.step, rest)
            self._running = _Started(running.record, rest, trial)
        return not self._steps and self._running is None

    def _judge(self, record: Committed, result: Result) -> None:
        kinds = self._new_kinds(result.name)
        self._known |= kinds
        wanted = record.outputs[result.name].version
        if not result.error and (
            result.version == wanted
            or not is_comparable(wanted)
            or not is_comparable(result.version)
        ):
            return
        why = result.error or "it comes back as another value"
        types = ", ".join(sorted(kinds)) or "its type"
        self._findings.append(
            f"{result.name} of step {record.step} was stored, and another process "
            f"could not load it back as it was ({why}); say with nbresume.register "
            f"how {types} is made again, or mark the step --always"
        )


def _needs_trial(kind: type) -> bool:
    home = kind.__module__.partition(".")[0]
    if home == "__main__":
        return has_own_code(kind) or kind in copyreg.dispatch_table
    return home not in _PROVED
