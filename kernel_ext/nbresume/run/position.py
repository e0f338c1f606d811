"""Rules R1 to R3: which version of each name a step must find, and what to do.

The rule: `decide` is one pure table, and applying it twice does nothing the second
time. Each line is there because a case went silently wrong without it; the tests
name the case. A place is the index of a cell in notebook order.
"""

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from nbresume.errors import NotKeptRefusal
from nbresume.model.folded import RunState
from nbresume.model.histories import Commit
from nbresume.model.records import Committed, Intent
from nbresume.model.values import Ambient, Output
from nbresume.run.order import NOWHERE, Order


class Wanted(StrEnum):
    """What stands at a step's position for a name."""

    VALUE = "value"
    DELETED = "deleted"
    NOTHING = "nothing"


class Has(StrEnum):
    """What the kernel has for a name."""

    ABSENT = "absent"
    GONE = "gone"
    """A plain cell deleted it."""
    COMMITTED = "committed"
    AMBIENT = "ambient"
    ATTEMPT = "attempt"
    """Left by a failed attempt."""
    FORMER = "former"
    """A plain cell's value of another moment: an undo or a checkout brought it."""


class Action(StrEnum):
    """What to do with a name before the step is compared, run or replayed."""

    KEEP = "keep"
    BIND = "bind"
    """Bind the demanded commit's value."""
    BIND_AMBIENT = "bind ambient"
    """Bind the value that the step's last intent stored."""
    UNBIND = "unbind"
    REFUSE = "refuse"


class Demand(Struct, frozen=True):
    """What step N must find under a name (R2)."""

    wanted: Wanted
    version: str = ""
    at: int = NOWHERE
    """Place of the step that made or deleted it."""
    ambient: str = ""
    """Version that plain cells between had made of it, stored by N's last intent."""
    commit: Commit | None = None
    """The commit that made it."""


class Now(Struct, frozen=True):
    """What the kernel has under a name."""

    has: Has
    version: str = ""
    at: int = NOWHERE
    """Place of the cell that made, changed or deleted it."""
    in_place: bool = False
    """Ambient: changed in place on a commit's value …"""
    base_at: int = NOWHERE
    """… made by the step at this place …"""
    base_version: str = ""
    """… and this is its version."""


class Decision(Struct, frozen=True):
    """The action for one name, and why, in words for people."""

    action: Action
    why: str = ""


_STAYS: Final = Decision(Action.KEEP)


def decide(n: int, demand: Demand, now: Now, *, forced: bool = False) -> Decision:
    """Return what to do with a name for the step at place `n` (R3).

    Parameters
    ----------
    n
        Place of the step.
    demand, now
        What must stand there, and what does.
    forced
        A person said ``rerun N``: nothing is refused, the demanded value is bound.
    """
    match now.has:
        case Has.ABSENT:
            return _absent(demand)
        case Has.GONE:
            return _gone(n, demand, now)
        case Has.COMMITTED | Has.ATTEMPT:
            return _made_by_step(demand, now)
        case Has.FORMER:
            return _former(demand, now, forced=forced)
        case _:
            return _ambient(n, demand, now, forced=forced)


def _demanded(demand: Demand) -> Action:
    return Action.BIND if demand.wanted is Wanted.VALUE else Action.UNBIND


def _absent(demand: Demand) -> Decision:
    if demand.ambient:
        return Decision(Action.BIND_AMBIENT)
    if demand.wanted is Wanted.VALUE:
        return Decision(Action.BIND)
    return _STAYS


def _gone(n: int, demand: Demand, now: Now) -> Decision:
    between = now.at < n and not NOWHERE < now.at < demand.at
    if between or demand.wanted is not Wanted.VALUE:
        return _STAYS
    return Decision(Action.BIND, "it was deleted by a cell that does not stand between")


def _made_by_step(demand: Demand, now: Now) -> Decision:
    attempt = now.has is Has.ATTEMPT
    why = "left by a failed attempt" if attempt else "it stood at another position"
    if demand.ambient:
        if now.version == demand.ambient:
            return _STAYS
        return Decision(Action.BIND_AMBIENT, why)
    equal = demand.wanted is Wanted.VALUE and now.version == demand.version
    if equal and not attempt:
        return _STAYS
    return Decision(_demanded(demand), why)


def _former(demand: Demand, now: Now, *, forced: bool) -> Decision:
    if demand.wanted is Wanted.NOTHING and not demand.ambient:
        # nothing tells what its cell makes today, and the plan does not count on it
        if forced:
            return _STAYS
        return Decision(
            Action.REFUSE, "is of another moment (checkout, undo): run its cell again"
        )
    return _made_by_step(demand, now)


def _ambient(n: int, demand: Demand, now: Now, *, forced: bool) -> Decision:
    if now.version and now.version in (demand.ambient, demand.version):
        return _STAYS
    if now.at == n and demand.wanted is Wanted.VALUE and now.base_at < n:
        # the idle audit found it: only a step stands at its own place
        return Decision(_demanded(demand), "this step changed it unseen")
    if now.in_place and now.base_at >= n:
        below = "was changed in place on a value made by this step or below it"
    elif now.at >= n and demand.wanted is not Wanted.NOTHING:
        below = "was set by a cell below this step"
    elif demand.wanted is not Wanted.NOTHING and NOWHERE < now.at < demand.at:
        return Decision(
            _demanded(demand), "a step between that cell and this one sets it"
        )
    elif _is_on_another(demand, now):
        action = Action.BIND_AMBIENT if demand.ambient else Action.BIND
        return Decision(action, "was changed on a value that is not current")
    else:
        return _STAYS
    if not forced:
        return Decision(Action.REFUSE, below)
    return Decision(
        Action.BIND_AMBIENT if demand.ambient else _demanded(demand),
        "asked for by rerun",
    )


def _is_on_another(demand: Demand, now: Now) -> bool:
    """Say whether a value was changed in place on another version of the demanded."""
    on_other = now.base_version not in ("", demand.version)
    return now.in_place and on_other and demand.wanted is Wanted.VALUE


class Positions:
    """Demands for the steps of one run in one order (R2)."""

    def __init__(self, state: RunState, order: Order) -> None:
        self._state = state
        self._order = order

    def commit_of(self, step: str) -> Commit | None:
        """Return the commit of a step that counts, wherever it stands."""
        return self._state.commit(step)

    def has_lost(self, name: str, version: str, n: int) -> bool:
        """Say whether a commit's version of a name has no maker above `n` any more.

        A plain cell that has the name may make it: that is known once it has run.
        """
        commits = map(self._state.left, self._state.index.committing(name))
        outputs = (commit.record.outputs.get(name) for commit in commits if commit)
        if not any(output.version == version for output in outputs if output):
            return False
        plain = [cell.source for cell in self._order.cells[:n] if cell.step is None]
        word = re.compile(rf"\b{re.escape(name)}\b")
        return self._order.knows_plain and not any(map(word.search, plain))

    def commits_above(self, n: int) -> list[tuple[int, Commit]]:
        """Return (place, commit) of the committed steps above `n`, nearest first."""
        found = [
            (place, commit)
            for step, place in self._order.place_of_step.items()
            if place < n and (commit := self._state.commit(step)) is not None
        ]
        return sorted(found, key=lambda pair: -pair[0])

    def demand(self, name: str, n: int, intent: Intent | None = None) -> Demand:
        """Return what the step at place `n` must find under a name.

        Parameters
        ----------
        name
            A name of the namespace.
        n
            Place of the step.
        intent
            The step's last intent, whose ambient values may still hold.
        """
        base = self._committed(name, n)
        deleted = intent.deleted_ambient.get(name) if intent else None
        if deleted and self._order.stand(deleted, after=base.at, before=n):
            return Demand(Wanted.DELETED, at=base.at)
        ambient = intent.ambient.get(name) if intent else None
        if ambient is None or not self._still_holds(ambient, base, n):
            return base
        return Demand(base.wanted, base.version, base.at, ambient.version, base.commit)

    def _committed(self, name: str, n: int) -> Demand:
        place, commit = self._nearest(self._state.index.committing(name), n)
        if commit is None:
            return Demand(Wanted.NOTHING)
        record = commit.record
        if name in record.outputs:
            version = record.outputs[name].version
            return Demand(Wanted.VALUE, version, place, commit=commit)
        if name in record.not_kept:
            return Demand(Wanted.VALUE, lost(record), place, commit=commit)
        return Demand(Wanted.DELETED, at=place, commit=commit)

    def changing(self, state: str, n: int) -> list[tuple[int, Commit]]:
        """Return (place, commit) of steps above `n` that changed a process state.

        Nearest first.
        """
        found = [
            (place, commit)
            for step in self._state.index.changing(state)
            if NOWHERE < (place := self._order.step_place(step)) < n
            and (commit := self._state.left(step)) is not None
        ]
        return sorted(found, key=lambda pair: -pair[0])

    def process_states(self) -> set[str]:
        """Return the states of the process that commits changed."""
        return self._state.index.process_states()

    def _nearest(self, steps: Iterable[str], n: int) -> tuple[int, Commit | None]:
        """Return (place, commit) of the lowest of these steps above `n`."""
        places = ((self._order.step_place(step), step) for step in steps)
        above = [(place, step) for place, step in places if NOWHERE < place < n]
        if not above:
            return NOWHERE, None
        place, step = max(above)
        return place, self._state.left(step)

    def sharing(self, name: str, n: int) -> list[str]:
        """Return the other names above `n` whose values share data with a name's.

        From the commits, never from the live heap, so it is equal in every kernel.
        """
        index, mine = self._state.index, self._output_above(name, n)
        if mine is None:
            return []
        others = {o for one in mine.data for _, o in index.made_of(one)} - {name}
        return sorted(
            other
            for other in others
            if (its := self._output_above(other, n))
            and not set(mine.data).isdisjoint(its.data)
        )

    def _output_above(self, name: str, n: int) -> Output | None:
        """Return what the nearest commit above that kept the name says of it."""
        steps = self._state.index.committing(name)
        kept = [
            step
            for step in steps
            if (commit := self._state.left(step)) and name in commit.record.outputs
        ]
        _, commit = self._nearest(kept, n)
        return commit.record.outputs[name] if commit else None

    def _still_holds(self, ambient: Ambient, base: Demand, n: int) -> bool:
        """Say whether all plain cells that made the value still stand between."""
        if ambient.manifest < 0 or ambient.base != base.version or not ambient.cells:
            return False
        return self._order.stand(ambient.cells, after=base.at, before=n)


def lost(record: Committed) -> str:
    """Return the version of what a commit could not keep: nothing restores it."""
    return f"lost:{record.attempt}"


def not_kept(name: str, commit: Commit) -> NotKeptRefusal:
    """Return the refusal to go on without the value of a name."""
    record = commit.record
    if commit.erased:
        because = f"what step {record.step} committed was {commit.erased}"
        remedy = f"Run step {record.step} again."
    else:
        why = record.not_kept[name]
        because = f"step {record.step} could not keep it ({why})"
        remedy = f"Type %steps rerun {record.step}, or mark that step --always."
    return NotKeptRefusal(
        f"{name} has no value here",
        because=because,
        remedy=remedy,
        name=name,
        step=record.step,
    )
