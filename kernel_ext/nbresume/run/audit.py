"""The idle audit: values that changed although no cell named them.

The rule: between cells each remembered look is taken again, cheapest first, in slices;
what differs was changed unseen (an alias parked in a module, a thread, a resumed
generator, a finalizer). The cell that ran last answers for it, and no commit holds it.
"""

from collections.abc import Collection
from typing import Any

from msgspec import Struct

from nbresume.capture.atoms import is_atom
from nbresume.capture.entries import CellText, Entry, Made
from nbresume.capture.live import Live
from nbresume.run.ports import Clock

PATIENCE = 20
"""A look longer than a slice waits until the kernel was idle so many times as long."""
_OBJECT_S = 2e-5
_BYTE_S = 1 / 2e9
_LIBRARIES = frozenset({"numpy", "pandas", "pyarrow", "torch"})
"""Whose large objects say in ``nbytes`` how large they are, at no cost."""
_MANY = 100_000
"""Objects of so large a value are not asked for their sizes."""


class Finding(Struct, frozen=True):
    """One name whose value was changed unseen."""

    name: str
    cell_id: str
    """The cell that ran last."""
    step: str
    """Its step; empty for a plain cell."""
    late: bool = False
    """It changed after that cell had ended: the cell named it, or bound it."""

    @property
    def sentence(self) -> str:
        """What a person is told."""
        if self.step and not self.late:
            return (
                f"{self.name} was changed by step {self.step} (or something that it "
                "started) without naming it, so its commit does not hold that; name "
                f"{self.name} in that step"
            )
        after = f"step {self.step}" if self.step else f"cell {self.cell_id}"
        return (
            f"{self.name} was changed by a thread or callback after {after}, so no "
            "commit holds that; a step that reads it takes it as it is now"
        )


class _Ended(Struct, frozen=True):
    """The cell that ended last."""

    text: CellText
    step: str
    named: frozenset[str]
    at_s: float


class Audit:
    """Looks again at the names of one kernel while it is idle."""

    def __init__(self, live: Live, *, clock: Clock) -> None:
        self._live = live
        self._clock = clock
        self._ended: _Ended | None = None
        self._baseline: dict[str, Entry] = {}
        """Every name and what was known of it when the pass began to look."""
        self._queue: list[tuple[float, str]] | None = None
        """(cost of a look in seconds, name), the cheapest last; None: not made yet."""
        self._doubted: dict[str, float] = {}
        """Name → cost, of values that could not be compared: to be tried once more."""
        self._is_last_try = False
        self._costs: dict[str, float] = {}
        """Name → seconds that the last look at it took."""
        self._changed: set[str] = set()
        self._unchanged: set[str] = set()
        self._findings: list[Finding] = []

    def start(self, cell: CellText, *, step: str, named: Collection[str] = ()) -> None:
        """Begin a pass: a cell has ended.

        Parameters
        ----------
        cell
            The cell that ended, which answers for what is found.
        step
            Its step if its body ran; empty for a plain cell, a replay or a callback.
        named
            Names that were looked at when it ended: they changed later than that.
        """
        self.stop()
        self._ended = _Ended(cell, step, frozenset(named), self._clock.monotonic_s())
        self._live.forget_rebound()  # what the cell bound is its own

    def slice(self, budget_s: float) -> bool:
        """Look again at some names; return whether the pass has ended.

        Takes no longer than the budget, or than one look if that one is longer.
        """
        begun_s = self._clock.monotonic_s()
        if self._queue is None:
            self._baseline = self._live.known()
            self._queue = self._waiting()
        while self._queue and self._ended is not None:
            cost_s, name = self._queue[-1]
            now_s = self._clock.monotonic_s()
            if now_s > begun_s and now_s - begun_s + cost_s > budget_s:
                return False
            if cost_s > budget_s and now_s - self._ended.at_s < PATIENCE * cost_s:
                return False
            self._queue.pop()
            self._examine(name, self._ended)
            if not self._queue and self._doubted and not self._is_last_try:
                self._is_last_try = True
                self._queue = sorted((c, n) for n, c in self._doubted.items())[::-1]
        self._void()
        return True

    def stop(self) -> None:
        """End the pass: a cell begins. What was not looked at is forgotten."""
        if self._ended is not None:
            for name, before in self._live.rebound().items():
                self._examine_binding(name, before, self._ended)
        self._void()
        self._ended, self._baseline, self._queue = None, {}, None
        self._doubted, self._is_last_try = {}, False

    def findings(self) -> list[Finding]:
        """Return what was found since the last call."""
        found, self._findings = self._findings, []
        return found

    # -- one name ---------------------------------------------------------------

    def _examine(self, name: str, ended: _Ended) -> None:
        entry, before = self._live.find(name), self._baseline[name]
        if entry is None or entry.value is not before.value or not _can_change(entry):
            return
        seen = entry.seen
        if seen is None or seen.digest is None:
            return
        begun_s = self._clock.monotonic_s()
        now = self._live.fresh_look(entry.value)
        cost_s = self._costs[name] = self._clock.monotonic_s() - begun_s
        if now.digest is None and not self._is_last_try:
            # a thread may hold its lock, or change it just now: once more at the end
            self._doubted[name] = cost_s
            return
        self._live.saw(name, now)
        if now.digest == seen.digest:
            self._unchanged.add(name)
            return
        self._changed.add(name)
        is_late = name in ended.named or (
            entry.made is not Made.AMBIENT and entry.step == ended.step != ""
        )
        self._tell(name, entry.made, ended, late=is_late)
        self._live.note_unseen(name, ended.text)

    def _examine_binding(self, name: str, before: Entry, ended: _Ended) -> None:
        """Tell of a name that a thread or a callback bound anew.

        It stays nobody's value, as `Live.find` has it: no cell stands for it.
        """
        entry = self._live.find(name)
        if entry is None or entry.value is before.value:
            return
        if entry.made is Made.AMBIENT and not entry.cells:
            self._tell(name, before.made, ended, late=True)

    def _tell(self, name: str, made: Made, ended: _Ended, *, late: bool) -> None:
        if made is Made.AMBIENT and (late or not ended.step):
            return  # no commit has held it, and none has missed it
        self._findings.append(Finding(name, ended.text[0], ended.step, late))

    def _void(self) -> None:
        """Void the identities that the changed values reach, as `Live.changed` does.

        At the end of a pass, because another name's value may be known as unchanged
        only then; no name is brought to a position before.
        """
        if self._changed:
            users = self._live.namespace
            clean = {id(users[name]) for name in self._unchanged if name in users}
            found = {n for n in self._changed if self._live.find(n) is not None}
            self._live.void(found, clean)
        self._changed, self._unchanged = set(), set()

    # -- what there is ----------------------------------------------------------

    def _waiting(self) -> list[tuple[float, str]]:
        """Return (cost of a look, name) of all that can change, the cheapest last."""
        self._costs = {n: c for n, c in self._costs.items() if n in self._baseline}
        waiting = [
            (self._cost(name, entry), name)
            for name, entry in self._baseline.items()
            if name in self._live.namespace and _can_change(entry)
        ]
        return sorted(waiting, reverse=True)

    def _cost(self, name: str, entry: Entry) -> float:
        known = self._costs.get(name)
        if known is not None or entry.seen is None:
            return known or 0.0
        reach = entry.seen.reach
        sizes = map(_bytes_of, reach.values()) if len(reach) <= _MANY else ()
        return len(reach) * _OBJECT_S + sum(sizes) * _BYTE_S


def _can_change(entry: Entry) -> bool:
    """Say whether a change in place can be seen, and matters."""
    seen = entry.seen
    return (
        entry.kept
        and seen is not None
        and seen.digest is not None
        and not is_atom(entry.value)
    )


def _bytes_of(value: Any) -> int:
    kind = type(value)
    if kind in (str, bytes, bytearray):
        return len(value)
    if kind.__module__.partition(".")[0] not in _LIBRARIES:
        return 0
    # a frame has no such attribute: its parts are reached one by one
    size = getattr(value, "nbytes", 0)
    return size if isinstance(size, int) else 0
