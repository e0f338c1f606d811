"""Rule R3 at work: every input of a step is brought to the step's position.

The rule: to the fixed point: once a name is brought, the global names of every
function that its value reaches are inputs too, each brought before it is looked at.
"""

import re
import types
from collections.abc import Iterable

from nbresume.capture.entries import CellText, Entry, Made
from nbresume.capture.live import Live
from nbresume.capture.touched import is_users
from nbresume.errors import NotCommitted, OutOfPosition
from nbresume.model.folded import RunState
from nbresume.model.histories import Commit
from nbresume.model.records import Intent
from nbresume.plan.key import Cues
from nbresume.plan.names import Names, names_in_strings
from nbresume.run.file_states import Files
from nbresume.run.keys import files_today
from nbresume.run.order import NOWHERE, Order
from nbresume.run.ports import World
from nbresume.run.position import (
    Action,
    Decision,
    Demand,
    Has,
    Now,
    Wanted,
    decide,
    lost,
)
from nbresume.run.process import ProcessStates
from nbresume.run.restore import Restorer
from nbresume.run.standing import Brought, Standing


class Inputs:
    """Brings names to positions in one kernel."""

    def __init__(
        self,
        live: Live,
        restorer: Restorer,
        world: World,
        process: ProcessStates,
        files: Files,
    ) -> None:
        self._files = files
        self._live = live
        self._restorer = restorer
        self._world = world
        self._process = process
        self._users_of_lost: dict[int, set[str]] = {}
        """id() of a value that cannot be kept → steps that used it."""

    def bring(self, standing: Standing, state: RunState) -> Brought:
        """Bring all inputs of a step to its position.

        Raises
        ------
        OutOfPosition
            A name was set or changed by a cell below, or worn by a step below.
        RefusedError
            A demanded value cannot be restored.
        NotCommitted
            A step named by ``--after`` is not committed.
        """
        after = _after(standing, state)
        self._process.bring(standing.positions, standing.order, standing.n)
        moved: dict[str, str] = {}
        refused: dict[str, str] = {}
        unkept: dict[str, Commit] = {}
        inputs = self._bring_all(standing, moved, refused, unkept)
        if refused:
            raise _out_of_position(standing.step, refused)
        if moved:
            told = ", ".join(f"{name} ({why})" for name, why in sorted(moved.items()))
            self._world.screen.say(
                f"step {standing.step} starts from its position: {told}"
            )
        versions = {
            name: _version_of(name, unkept[name])
            if name in unkept
            else self._live.version(name)
            for name in sorted(inputs | unkept.keys())
        }
        cues = Cues(
            code_version=standing.code_version,
            inputs=versions,
            aliases=self._aliases(standing, inputs),
            after=after,
            process=self._process.inputs(standing),
            files=files_today(self._files, standing, state),
        )
        own = self._own(standing) - inputs
        gone = self._gone(standing)
        return Brought(standing, versions, cues, own, gone, unkept)

    def _bring_all(
        self,
        standing: Standing,
        moved: dict[str, str],
        refused: dict[str, str],
        unkept: dict[str, Commit],
    ) -> set[str]:
        read = _read_names(standing)
        commit = standing.commit
        only_position = set(commit.record.in_place) if commit else set()
        inputs: set[str] = set()
        seen: set[str] = set()
        todo = [*sorted(only_position - read), *sorted(read)]
        while todo:
            name = todo.pop()
            if name in seen or not is_users(name):
                continue
            seen.add(name)
            decision = self._bring_one(name, standing, unkept)
            if decision.action is Action.REFUSE:
                refused[name] = decision.why
            elif decision.why:
                moved[name] = decision.why
            if self._live.has(name) and name in read:
                inputs.add(name)
                callees = self._live.callees(name) - seen
                read |= callees
                todo += sorted(callees)
        return inputs

    def _gone(self, standing: Standing) -> dict[str, CellText]:
        """Return the demanded names that a plain cell has deleted since."""
        return {
            name: cell
            for name, cell in self._live.gone.items()
            if not self._live.has(name)
            and standing.positions.demand(name, standing.n).wanted is Wanted.VALUE
        }

    def _bring_one(
        self, name: str, standing: Standing, unkept: dict[str, Commit]
    ) -> Decision:
        intent = self._last_intent(standing)
        demand = standing.positions.demand(name, standing.n, intent)
        now = self.now(name, standing.order)
        if standing.live:
            return Decision(Action.KEEP)
        decision = decide(standing.n, demand, now, forced=standing.forced)
        if decision.action is Action.UNBIND and not standing.forced:
            decision = self._spare_used_up(name, standing, decision)
        commit = demand.commit
        if decision.action is Action.BIND and commit and commit.has_lost(name):
            # enough for a replay; a run is refused by `check_kept`
            self._live.unset(name)
            unkept[name] = commit
        else:
            self._do(name, decision, demand, intent)
        return decision

    def _spare_used_up(
        self, name: str, standing: Standing, decision: Decision
    ) -> Decision:
        """Refuse to remove a plain cell's value that a step changed and cannot keep.

        Nothing could bring it back: not even its former state is stored.
        """
        entry = self._live.find(name)
        if entry is None or entry.kept:
            return decision
        maker = standing.positions.commit_of(entry.step)
        if maker is None or name not in maker.record.in_place:
            return decision
        return Decision(
            Action.REFUSE,
            f"cannot be kept and step {entry.step} has used it: run its cell again",
        )

    def _do(
        self, name: str, decision: Decision, demand: Demand, intent: Intent | None
    ) -> None:
        if decision.action is Action.BIND and demand.commit is not None:
            self._restorer.bind(name, demand.commit)
        elif decision.action is Action.BIND_AMBIENT and intent is not None:
            ambient = intent.ambient[name]
            self._restorer.bind_ambient(
                name,
                ambient,
                intent.ambient_manifests[ambient.manifest],
                base_step=demand.commit.record.step if demand.commit else "",
            )
        elif decision.action is Action.UNBIND:
            self._remove(name)

    def _remove(self, name: str) -> None:
        """Remove a name; a module stays, for nobody made it."""
        entry = self._live.find(name)
        if entry is not None and isinstance(entry.value, types.ModuleType):
            self._live.park(name, entry)
        else:
            self._live.unset(name)

    def now(self, name: str, order: Order) -> Now:
        """Return what the kernel has under a name, with places in this order."""
        entry = self._live.find(name)
        if entry is None:
            gone = self._live.gone.get(name)
            if gone is None:
                return Now(Has.ABSENT)
            return Now(Has.GONE, at=order.cell_place(gone[0]))
        if entry.made is not Made.AMBIENT:
            has = Has.COMMITTED if entry.made is Made.COMMITTED else Has.ATTEMPT
            return Now(has, entry.version, order.step_place(entry.step))
        base_at = order.step_place(entry.base_step) if entry.base_step else NOWHERE
        return Now(
            Has.FORMER if entry.former else Has.AMBIENT,
            self._live.version(name),
            order.cell_place(entry.cell),
            in_place=bool(entry.base_step),
            base_at=base_at,
            base_version=entry.base_version,
        )

    @staticmethod
    def _last_intent(standing: Standing) -> Intent | None:
        history = standing.history
        return history.attempt.intent if history and history.attempt else None

    def _own(self, standing: Standing) -> frozenset[str]:
        """Return the names that the step's last commit or failed attempt left."""
        commit = standing.commit
        own: set[str] = set()
        if commit:
            own |= {*commit.record.outputs, *commit.record.not_kept}
        return frozenset(own.union(self._live.left_by(standing.step)))

    def clear_own(self, brought: Brought) -> None:
        """Bring the step's own former outputs to where they stand above it.

        Else ``if flag: y = 1`` would keep y for ever, and a write that binds the
        same object again could not be seen.
        """
        standing = brought.standing
        if standing.live:
            return
        for name in sorted(brought.own):
            demand = standing.positions.demand(name, standing.n)
            entry = self._live.find(name)
            if entry is None or entry.made is Made.AMBIENT:
                continue
            if demand.wanted is not Wanted.VALUE:
                self._live.unset(name)
            elif demand.commit and self._is_elsewhere(name, entry, demand):
                self._restorer.bind(name, demand.commit)

    @staticmethod
    def _is_elsewhere(name: str, entry: Entry, demand: Demand) -> bool:
        """Say whether a name has another value than the demanded one that is kept."""
        if demand.commit is None or demand.commit.has_lost(name):
            return False
        return entry.made is Made.ATTEMPT or entry.version != demand.version

    def check_kept(self, brought: Brought) -> None:
        """Pass if every input of a step that is about to run has a value.

        Raises
        ------
        NotKeptRefusal
            A commit above could not keep one.
        """
        for name, commit in brought.unkept.items():
            self._restorer.bind(name, commit)

    def check_worn(self, brought: Brought) -> None:
        """Note the use of values that cannot be kept, and refuse worn ones.

        Such a value cannot be rolled back: the step must not meet it after it, or
        a step below, has used it.

        Raises
        ------
        OutOfPosition
            The value was used by this step or one below it.
        """
        standing = brought.standing
        for name in brought.inputs.keys() - brought.unkept.keys():
            entry = self._live.entry(name)
            is_module = isinstance(entry.value, types.ModuleType)
            if entry.kept or entry.made is not Made.COMMITTED or is_module:
                continue  # using a module does not wear it
            users = self._users_of_lost.setdefault(id(entry.value), set())
            late = [
                user
                for user in sorted(users)
                if standing.order.step_place(user) >= standing.n
            ]
            if late and not standing.live:
                raise _worn(standing.step, name, entry, late[0])
            users.add(standing.step)

    @staticmethod
    def _aliases(
        standing: Standing, inputs: Iterable[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return for each input the other names above that share data with it."""
        positions, n = standing.positions, standing.n
        shared = {name: tuple(positions.sharing(name, n)) for name in inputs}
        return {name: others for name, others in shared.items() if others}


def _version_of(name: str, commit: Commit) -> str:
    """Return the version of an input that has no value here."""
    output = commit.record.outputs.get(name)
    return output.version if output is not None else lost(commit.record)


def _read_names(standing: Standing) -> set[str]:
    names = standing.names
    read = set(names.reads) | set(names.deletes)
    # a conditional store may leave the former value standing, so it reads it
    read |= names.stores - names.surely_stores
    if names.wild:
        # eval, exec, globals(): the names in its strings count as read
        words = (w for text in names.strings for w in _words(text))
        read |= set(words)
    return read | _named_in_strings(names)


def _named_in_strings(names: Names) -> set[str]:
    """Return names that texts of a cell (queries) may refer to.

    One that the cell surely assigns is its own, unless a query asks for it: ``@name``.
    """
    asked = {word for text in names.strings for word in re.findall(r"@(\w+)", text)}
    return names_in_strings(names.strings) - (names.surely_stores - asked)


def _words(text: str) -> list[str]:
    spaced = "".join(c if c.isidentifier() or c.isdigit() else " " for c in text)
    return [word for word in spaced.split() if word.isidentifier()]


def _after(standing: Standing, state: RunState) -> dict[str, str]:
    after = {}
    for step in standing.header.after:
        commit, history = state.commit(step), state.step(step)
        if history is not None and history.is_left_out:
            after[step] = "not taken"
            continue
        if commit is None:
            raise NotCommitted(
                f"step {standing.step} was not run",
                because=f"it comes after step {step}, which is not committed",
                remedy=f"Run step {step} first.",
                step=standing.step,
            )
        after[step] = commit.record.key
    return after


def _out_of_position(step: str, refused: dict[str, str]) -> OutOfPosition:
    told = "; ".join(f"{name} {why}" for name, why in sorted(refused.items()))
    return OutOfPosition(
        f"step {step} was not run",
        because=told,
        remedy=f"Type %steps rerun {step} (from the committed values) or "
        f"%steps rerun {step} --live (as they are now)",
        step=step,
    )


def _worn(step: str, name: str, entry: Entry, user: str) -> OutOfPosition:
    return OutOfPosition(
        f"step {step} was not run",
        because=f"{name} cannot be kept, so it cannot be brought back to where it "
        f"was before step {user} used it",
        remedy=f"Type %steps rerun {entry.step}, or %steps rerun {step} --live",
        step=step,
    )
