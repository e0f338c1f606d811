"""Going back: the names of one kernel as they were at another moment of the run.

The rule: a trip is worked out and told before anything moves. It writes nothing and
changes no plan: the next step that runs finds what stands at its position.
"""

from collections.abc import Iterable, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from nbresume.capture.entries import Made, is_ambient_data
from nbresume.errors import NbresumeError, NotCommitted, RefusedError
from nbresume.model.histories import Commit
from nbresume.model.states import Outcome
from nbresume.run.order import NOWHERE, Order
from nbresume.run.parts import Parts
from nbresume.run.past import Moment, Past, Was

Stand = tuple[str, int]
"""(step, revision of its commit) that a kernel ran, replayed or restored last."""
START: Stand = ("", -1)
"""Before the first commit."""


class Trip(Struct, frozen=True):
    """A way back, before it is gone."""

    event: int
    """So many events of the past have happened there."""
    where: str
    """The moment in words: ``before step fit``."""
    moves: Mapping[str, Was | None]
    """Name → what it becomes; None if it is removed."""
    stands_at: Stand
    lost: tuple[str, ...] = ()
    """NAME (why): values that no record holds."""
    missing: tuple[str, ...] = ()
    """NAME (why): values of that moment that cannot be brought back."""
    left: tuple[str, ...] = ()
    """Commits that are no longer in the kernel."""
    acted: tuple[str, ...] = ()
    """Crossed steps that acted on the outside, each with how that is known."""
    crossed: tuple[str, ...] = ()
    """Steps of the commits that are no longer in the kernel."""
    back: tuple[str, ...] = ()
    """Steps whose commit that counts now is in the kernel, as far as the trip knows."""

    @property
    def needs_word(self) -> bool:
        """Say whether a person has to agree first."""
        return bool(self.lost or self.acted)


class Arrived(Struct):
    """What a trip did."""

    names: int = 0
    removed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    """NAME (why), one by one."""


# -- working it out -------------------------------------------------------------


def undoing(parts: Parts, past: Past, stand: Stand | None) -> Trip:
    """Return the way back to before the last step of this kernel.

    Parameters
    ----------
    stand
        Where this kernel stands; None if it ran, replayed and restored nothing.

    Raises
    ------
    NotCommitted
        There is no step to take back.
    RefusedError
        A payload that is needed is missing.
    """
    left = _left_by_attempt(parts, past)
    if left is not None:
        return left
    index = None if stand is None else past.find(*stand)
    if index is None:
        raise _nothing(stand)
    moment, before = past.moments[index], past.moments[:index]
    record = moment.commit.record
    names = [*record.outputs, *record.not_kept, *record.deleted]
    stands_at = (before[-1].step, before[-1].commit.revision) if before else START
    return _trip(
        parts,
        past,
        moment.began,
        names,
        where=f"before step {moment.step} (commit {record.commit_number})",
        stands_at=stands_at,
        crossed=[moment],
    )


def checking_out(parts: Parts, past: Past, step: str, number: int | None) -> Trip:
    """Return the way to the end of a commit of a step.

    Raises
    ------
    NotCommitted
        The step has no such commit.
    RefusedError
        A payload that is needed is missing.
    """
    moment = past.ended_with(step, number)
    # a plain cell's name of which nothing tells at that moment stays as it is
    names = [*past.at(moment.ended), *_made_by_steps(parts)]
    trip = _trip(
        parts,
        past,
        moment.ended,
        names,
        where=f"at the end of step {step}, commit {moment.commit.record.commit_number}",
        stands_at=(step, moment.commit.revision),
        crossed=[m for m in past.moments if m.ended > moment.ended],
    )
    return replace(trip, back=_counting(past, moment.ended))


def _counting(past: Past, event: int) -> tuple[str, ...]:
    """Return the steps whose commit that counts now was there after so many events."""
    newest = {m.step: m.commit.revision for m in past.moments if m.ended <= event}
    commits = {step: past.state.commit(step) for step in newest}
    return tuple(
        step
        for step, revision in newest.items()
        if (commit := commits[step]) is not None and commit.revision == revision
    )


def leaving(parts: Parts, past: Past, where: str) -> Trip:
    """Return the way out of a run: every name that a step made goes."""
    names = _made_by_steps(parts)
    return _trip(parts, past, 0, names, where=where, stands_at=START, crossed=[])


def _made_by_steps(parts: Parts) -> list[str]:
    """Return the names with a step's value, or one changed in place on such."""
    return [
        name
        for name, entry in parts.live.known().items()
        if entry.made is not Made.AMBIENT or entry.base_step
    ]


def _left_by_attempt(parts: Parts, past: Past) -> Trip | None:
    """Return the way back to before the attempt whose values this kernel has."""
    for step, history in parts.journal.state.steps.items():
        attempt = history.attempt
        if attempt is None or attempt.outcome is Outcome.COMMITTED:
            continue
        names = parts.live.left_by(step)
        event = past.body_of(attempt.intent.attempt)
        if not names or event is None:
            continue
        newest = next((m for m in past.moments[::-1] if m.ended <= event), None)
        effects = tuple(f"{step} (effect {key!r})" for key in history.effects)
        return _trip(
            parts,
            past,
            event,
            names,
            where=f"before the attempt of step {step} that is not committed",
            stands_at=(newest.step, newest.commit.revision) if newest else START,
            crossed=[],
            acted=effects,
        )
    return None


def _nothing(stand: Stand | None) -> NotCommitted:
    if stand == START:
        because = "this is the beginning of the run"
    else:
        because = "this kernel has not run, replayed or restored a step yet"
    return NotCommitted(
        "nothing was undone",
        because=because,
        remedy="Type %steps resume for the newest state, or %steps checkout NAME.",
    )


def _trip(
    parts: Parts,
    past: Past,
    event: int,
    names: Iterable[str],
    *,
    where: str,
    stands_at: Stand,
    crossed: list[Moment],
    acted: tuple[str, ...] = (),
) -> Trip:
    names = sorted(set(names))
    then = past.at(event, names)
    moves = {n: then.get(n) for n in names if not _stays(parts, n, then.get(n))}
    _check_there(parts, moves.values())
    return Trip(
        event,
        where,
        moves,
        stands_at,
        lost=tuple(filter(None, (_loss(parts, past, name) for name in moves))),
        missing=tuple(
            f"{name} ({why})" for name, was in moves.items() if (why := _why(name, was))
        ),
        left=tuple(dict.fromkeys(moment.label for moment in crossed)),
        acted=(*dict.fromkeys(t for m in crossed if (t := _acted(m))), *acted),
        crossed=tuple(dict.fromkeys(moment.step for moment in crossed)),
    )


def _stays(parts: Parts, name: str, was: Was | None) -> bool:
    """Say whether a name is already what it was."""
    live = parts.live
    if was is None or not was.version(name):
        return not live.has(name)
    entry = live.find(name)
    if entry is None:
        return False
    if was.ambient is not None:
        return entry.made is Made.AMBIENT and live.version(name) == was.ambient.version
    if entry.made is not Made.COMMITTED or entry.version != was.version(name):
        return False
    kept = was.commit is not None and name in was.commit.record.outputs
    if name in live.pending or not kept or was.commit is None:
        return True
    return parts.restorer.is_right(name, was.commit.record)


def _loss(parts: Parts, past: Past, name: str) -> str:
    """Return what is lost with a name's present value, or '' if a record holds it."""
    live = parts.live
    entry = None if name in live.pending else live.find(name)
    if entry is None:
        return ""
    if entry.made is Made.COMMITTED:
        lost = not entry.kept
        return f"{name} (step {entry.step} could not keep it)" if lost else ""
    if entry.made is Made.AMBIENT and not is_ambient_data(entry):
        return ""
    if past.holds(name, live.version(name)):
        return ""
    if entry.made is Made.ATTEMPT:
        return f"{name} (left by step {entry.step}, which is not committed)"
    return f"{name} (a plain cell made or changed it, and it is not saved)"


def _why(name: str, was: Was | None) -> str:
    """Return why a value of the past cannot be brought back, or ''."""
    if was is None or not was.version(name):
        return ""
    if was.ambient is not None:
        return "" if was.stored else "a plain cell's value that was not saved"
    if was.commit is None or name in was.commit.record.outputs:
        return ""
    record = was.commit.record
    return f"step {record.step} could not keep it: {record.not_kept[name]}"


def _acted(moment: Moment) -> str:
    effects = moment.commit.record.effects
    return f"{moment.label} ({effects[0]})" if effects else ""


def _check_there(parts: Parts, wanted: Iterable[Was | None]) -> None:
    """Pass if every payload that is needed is there.

    Raises
    ------
    RefusedError
        One is missing; nothing has moved.
    """
    checked: set[str] = set()
    for was in wanted:
        commit = was.commit if was and was.ambient is None else None
        if commit is not None and commit.record.attempt not in checked:
            checked.add(commit.record.attempt)
            damage = parts.restorer.damage(commit.record)
            if damage:
                raise _damaged(commit, damage)


def _damaged(commit: Commit, damage: str) -> RefusedError:
    record = commit.record
    return RefusedError(
        "nothing was moved",
        because=f"commit {record.commit_number} of step {record.step} is damaged "
        f"({damage})",
        remedy=f"Run step {record.step} again, or name another commit.",
        step=record.step,
    )


# -- going ----------------------------------------------------------------------


class _Then(Struct, frozen=True):
    """The process state at a moment, as `ProcessStates.bring` asks for it."""

    made: Mapping[str, list[Commit]]

    def changing(self, state: str, n: int) -> list[tuple[int, Commit]]:  # noqa: ARG002
        """Return the commits that had changed a state, newest first."""
        return [(NOWHERE, commit) for commit in self.made.get(state, [])]

    def process_states(self) -> set[str]:
        """Return the states that had been changed."""
        return set(self.made)


def go(parts: Parts, past: Past, trip: Trip, order: Order) -> Arrived:
    """Move the names; afterwards each is what it was, or gone and told."""
    arrived = Arrived(missing=list(trip.missing))
    for name, was in trip.moves.items():
        parts.live.unset(name)
        if was is None or not was.version(name):
            arrived.removed.append(name)
        elif not _why(name, was):
            _bind(parts, name, was, arrived)
    parts.process.bring(_Then(past.changing(trip.event)), order, len(order.cells) + 1)
    return arrived


def _bind(parts: Parts, name: str, was: Was, arrived: Arrived) -> None:
    try:
        if was.ambient is None and was.commit is not None:
            parts.restorer.bind(name, was.commit)
            parts.live.load(name)
        elif was.ambient is not None and was.stored is not None:
            base = was.commit.record.step if was.commit else ""
            parts.restorer.bind_ambient(name, was.ambient, was.stored, base_step=base)
            parts.live.entry(name).former = True
    except NbresumeError as error:
        parts.live.unset(name)
        arrived.missing.append(f"{name} ({error.because or error})")
    else:
        arrived.names += 1
