"""Process state at positions: generators, variables, working folder, options.

The rule: what a step changed belongs to it. Before a step is compared, replayed or
run, each state is that of the nearest commit above which changed it; a state that
only a step at or below made is put back to what it was when the extension was loaded,
random generators never. A plain cell's change stands if the cell stands between.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from nbresume.capture import process
from nbresume.capture.entries import CellText
from nbresume.errors import CaptureError
from nbresume.model.histories import Commit
from nbresume.model.records import Committed
from nbresume.model.values import ProcessChange
from nbresume.run.order import NOWHERE, Order
from nbresume.run.ports import World
from nbresume.run.standing import Standing

States = Mapping[str, Any]
ReadStates = Callable[[Committed], States]
"""Returns the states that a commit holds, by name."""


class Changes(Protocol):
    """Which commits changed which states above a place: positions, or a moment."""

    def changing(self, state: str, n: int) -> list[tuple[int, Commit]]:
        """Return (place, commit) of those that changed a state, nearest first."""

    def process_states(self) -> set[str]:
        """Return the states that commits changed."""


class _Maker(Struct, frozen=True):
    """Who gave a state the value that it has now."""

    version: str
    step: str = ""
    cell: str = ""

    def place(self, order: Order) -> int:
        """Return where its cell stands."""
        if self.step:
            return order.step_place(self.step)
        return order.cell_place(self.cell)


class Baseline(Struct, frozen=True):
    """All states when a cell began."""

    states: States
    libraries: frozenset[str]


class ProcessStates:
    """The process state of one kernel."""

    def __init__(self, world: World, *, read: ReadStates) -> None:
        self._world = world
        self._read = read
        self._loaded = process.baseline()
        self._made: dict[str, _Maker] = {}
        self._deltas: dict[str, list[tuple[str, Any]]] = {}
        """Name → (version, delta) of what steps added, in order."""
        self._seeded: dict[str, _Maker] = {}
        self._plain: Baseline | None = None

    def begin(self) -> Baseline:
        """Return all states now, with what waited for a library set first."""
        try:
            process.apply_pending()
        except CaptureError as error:
            self._world.screen.say(str(error))
        return Baseline(process.snapshot(), process.libraries())

    # -- plain cells ------------------------------------------------------------

    def begin_plain(self) -> None:
        """Look at all states before a plain cell runs."""
        self._plain = self.begin()

    def end_plain(self, cell: CellText, source: str) -> None:
        """Note which states a plain cell changed, and which generators it seeded."""
        baseline, self._plain = self._plain, None
        if baseline is None:
            return
        seeds = process.seeds(source)
        after = process.snapshot()
        changed = process.changes(
            baseline.states, after, libraries_before=baseline.libraries
        )
        for name, state in changed.items():
            if process.is_delta(name):
                continue  # it stays beside what steps added
            maker = _Maker(process.version(state), cell=cell[0])
            self._made[name] = maker
            if seeds and name.startswith("rng:"):
                self._seeded[name] = maker

    # -- inputs of a key --------------------------------------------------------

    def inputs(self, standing: Standing) -> dict[str, str]:
        """Return the version today of each state that the step's commit used."""
        commit = standing.commit
        if commit is None:
            return {}
        return self.versions(commit.record.process_in, standing)

    def versions(self, names: Iterable[str], standing: Standing) -> dict[str, str]:
        """Return the versions of states that something above the step made.

        An unseeded generator has no version: else it would be stale in each kernel.
        """
        found = {}
        for name in names:
            version = self._version(name, standing)
            if version:
                found[name] = version
        return found

    def _version(self, name: str, standing: Standing) -> str:
        place, commit = _demand(name, standing.positions, standing.n)
        seeded = self._seeded.get(name)
        at = seeded.place(standing.order) if seeded else NOWHERE
        between = seeded is not None and place <= at < standing.n
        if commit is not None and not between:
            return commit.record.process[name].version
        return seeded.version if seeded is not None and between else ""

    # -- positions --------------------------------------------------------------

    def bring(self, positions: Changes, order: Order, n: int) -> None:
        """Set every state that steps have changed to the position of a place."""
        names = positions.process_states() | self._made.keys() | self._deltas.keys()
        for name in sorted(names):
            if process.is_delta(name):
                self._bring_delta(name, positions, n)
            else:
                self._bring_one(name, positions, order, n)

    def _bring_one(self, name: str, positions: Changes, order: Order, n: int) -> None:
        place, commit = _demand(name, positions, n)
        maker = self._made.get(name)
        if commit is None:
            if maker is not None and maker.step:
                self._put_back(name)
            return
        change = commit.record.process[name]
        if maker is not None and maker.version == change.version:
            return
        by_plain = maker is not None and maker.cell
        if by_plain and maker and place <= maker.place(order) < n:
            return
        self._set(name, commit)

    def _put_back(self, name: str) -> None:
        default = process.restorable_default(name, self._loaded)
        if default is not None:
            self._made.pop(name, None)
            self._apply(name, default)

    def _bring_delta(self, name: str, positions: Changes, n: int) -> None:
        above = [commit.record for _, commit in reversed(positions.changing(name, n))]
        wanted = [record.process[name].version for record in above]
        applied = self._deltas.get(name, [])
        if [version for version, _ in applied] == wanted:
            return
        for _, delta in reversed(applied):
            default = process.restorable_default(name, self._loaded, made=delta)
            if default is not None:
                self._apply(name, default)
        self._deltas[name] = []
        for record in above:
            state = self._read(record).get(name)
            if state is not None:
                self._apply(name, state)
                version = record.process[name].version
                self._deltas[name].append((version, state))

    def _set(self, name: str, commit: Commit) -> None:
        record = commit.record
        change = record.process[name]
        state = process.GONE if change.gone else self._read(record).get(name)
        if state is not None:
            self._apply(name, state)
        self._made[name] = _Maker(change.version, step=record.step)

    def _apply(self, name: str, state: Any) -> None:
        try:
            process.apply(name, state)
        except CaptureError as error:
            self._world.screen.say(f"{name} was not set again: {error}")

    def replay(self, commit: Commit) -> None:
        """Set every state that a step changed."""
        for name, change in commit.record.process.items():
            if process.is_delta(name):
                self._replay_delta(name, change.version, commit.record)
            elif name not in self._made or self._made[name].version != change.version:
                self._set(name, commit)
        try:
            process.apply_pending()
        except CaptureError as error:
            self._world.screen.say(str(error))

    def _replay_delta(self, name: str, version: str, record: Committed) -> None:
        applied = self._deltas.setdefault(name, [])
        state = self._read(record).get(name)
        if state is not None and version not in [done for done, _ in applied]:
            self._apply(name, state)
            applied.append((version, state))

    # -- what a step did --------------------------------------------------------

    def changes(
        self, baseline: Baseline, standing: Standing
    ) -> tuple[dict[str, Any], dict[str, str]]:
        """Return what a step changed, and what of it cannot be kept, with reasons."""
        after = process.snapshot()
        commit = standing.commit
        former = commit.record.process if commit is not None else {}
        # a step that only seeds finds what it seeded: it must not lose it
        also = {name for name in former if name.startswith("rng:")}
        # and one that goes on may come to where an attempt of it had begun
        also |= {n for n, maker in self._made.items() if maker.step == standing.step}
        changed = process.changes(
            baseline.states,
            after,
            libraries_before=baseline.libraries,
            also=frozenset(also),
        )
        lost = process.not_kept(
            baseline.states, after, libraries_before=baseline.libraries
        )
        return dict(changed), lost

    def go_on(
        self, changes: Mapping[str, ProcessChange], states: States, step: str
    ) -> None:
        """Set the states that a step had changed at a point between two items."""
        for name, change in changes.items():
            state = process.GONE if change.gone else states.get(name)
            if state is None:
                continue
            self._apply(name, state)
            if not process.is_delta(name):
                self._made[name] = _Maker(f"attempt:{change.version}", step=step)
        process.apply_pending()

    def note(self, changed: States, step: str, *, committed: bool) -> None:
        """Note that a step's body, committed or not, changed states."""
        for name, state in changed.items():
            version = process.version(state)
            if process.is_delta(name):
                self._deltas.setdefault(name, []).append((version, state))
            else:
                self._made[name] = _Maker(
                    version if committed else f"attempt:{version}", step=step
                )


def recorded(changed: States) -> tuple[dict[str, ProcessChange], dict[str, Any]]:
    """Return what the record says of changed states, and the states to be stored."""
    changes, states = {}, {}
    for name, state in changed.items():
        gone = state is process.GONE
        changes[name] = ProcessChange(version=process.version(state), gone=gone)
        if not gone:
            states[name] = state
    return changes, states


def inputs_among(changed: States) -> list[str]:
    """Return the changed states that a step's result may depend on."""
    return [name for name in changed if process.counts_as_input(name)]


def _demand(name: str, positions: Changes, n: int) -> tuple[int, Commit | None]:
    return next(iter(positions.changing(name, n)), (NOWHERE, None))
