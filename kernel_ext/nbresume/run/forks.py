"""A fork: a run that begins with the commits of another one, up to a step.

The rule: it is one record. What it shares is durable before; payloads stay where they
are. Nothing of the origin changes.
"""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from nbresume.errors import Damaged, NotCommitted, RefusedError
from nbresume.model.borrowed import borrowed, refs_of
from nbresume.model.codec import canonical
from nbresume.model.folded import RunState
from nbresume.model.histories import StepHistory
from nbresume.model.states import State
from nbresume.model.values import FoldRef, Origin
from nbresume.run.claims import Claims
from nbresume.run.journal import Journal
from nbresume.run.manifests import read_manifest
from nbresume.run.order import Order
from nbresume.run.past import Past, past_of

StateOf = Callable[[StepHistory], State]
"""Returns the state of a step of the origin, by its records and its claimant."""

_UNFIT = {
    State.RUNNING: "is running",
    State.RAN: "ran and is not committed",
    State.AMBIGUOUS: "is ambiguous (in doubt)",
    State.ABANDONED: "was abandoned",
    State.ERASED: "has no values: they were erased",
}
"""States of a step that keep it, and what would begin behind it, from being shared."""
_NOT_COMMITTED = {
    State.FAILED: "failed when it was run last",
    State.INTERRUPTED: "was cut off when it was run last",
}
"""States that do so only if the step has a commit: which one holds is open."""


class Wanted(Struct, frozen=True):
    """A fork that was asked for: of which run, behind which step."""

    run_id: str
    step: str
    number: int | None = None
    """Of the commit; None for the one that counts now."""

    @property
    def label(self) -> str:
        """The step as it was typed."""
        return self.step if self.number is None else f"{self.step}@{self.number}"


class Planned(Struct, frozen=True):
    """A fork that can be made."""

    wanted: Wanted
    state: RunState
    """The folded state of what is shared."""
    origin: Origin
    """All but where the fold lies."""
    acts: tuple[str, ...]
    """Steps that are not shared and acted on the outside: they would act again."""


def plan_fork(
    wanted: Wanted, journal: Journal, order: Order, state_of: StateOf
) -> Planned:
    """Return what a fork would share; nothing is written.

    Parameters
    ----------
    wanted
        The run, and the step behind which the fork begins.
    journal
        The chain of that run, read to its end.
    order
        Notebook order: what stands below the step is not shared.
    state_of
        Tells whether a step is whole, running or in doubt.

    Raises
    ------
    NotCommitted
        The run has no such step, or the step no such commit.
    RefusedError
        The notebook has no such step, or a step that would be shared is running, in
        doubt, not committed, or its payloads are not there.
    """
    past = past_of(journal)
    moment = past.ended_with(wanted.step, wanted.number)
    if wanted.number is not None:
        past = past_of(journal, until=moment.revision)
    place = order.step_place(wanted.step)
    if place < 0:
        raise RefusedError(
            f"run {wanted.run_id} was not forked",
            because=f"no cell of this notebook carries step {wanted.step}",
            remedy="Name a step of this notebook; save it first if it is new.",
            step=wanted.step,
        )
    below = {step for step, at in order.place_of_step.items() if at > place}
    for name, history in past.state.steps.items():
        if name not in below:
            _check_whole(wanted, history, state_of(history))
    steps = [step for step in _by_time(past) if step not in below]
    shared = borrowed(past.state, steps, run=wanted.run_id)
    _check_there(wanted, journal, shared)
    now = journal.state.steps.values()
    return Planned(
        wanted,
        shared,
        Origin(
            run=wanted.run_id,
            chain=journal.chain_id if journal.chain_id != wanted.run_id else "",
            revision=past.state.revision,
            digest=past.state.digest,
            at=wanted.step,
            steps=steps,
            fold=FoldRef(revision=-1, group="", offset=0, length=0, digest=""),
        ),
        acts=tuple(h.name for h in now if h.name not in steps and _has_acted(h)),
    )


def _by_time(past: Past) -> list[str]:
    """Return the steps that have a commit, in the order in which it began to count."""
    newest = dict.fromkeys(moment.step for moment in reversed(past.moments))
    return [s for s in reversed(newest) if past.state.commit(s) is not None]


def _has_acted(history: StepHistory) -> bool:
    commit = history.left()
    attempt = history.attempt
    declared = attempt is not None and attempt.intent.options.effects
    committed = commit is not None and bool(commit.record.effects)
    return bool(history.effects) or declared or committed


def _check_whole(wanted: Wanted, history: StepHistory, state: State) -> None:
    why = _UNFIT.get(state, "")
    commit = history.commit()
    if not why and commit is not None:
        why = _NOT_COMMITTED.get(state, "")
    if not why:
        return
    remedy = f"Settle it first: %steps explain {history.name} says how"
    if commit is not None and wanted.number is None and history.name == wanted.step:
        number = commit.record.commit_number
        remedy += f"; or fork at its commit: --at {wanted.step}@{number}"
    raise RefusedError(
        f"run {wanted.run_id} was not forked",
        because=f"step {history.name} {why}",
        remedy=f"{remedy}.",
        step=history.name,
    )


def _check_there(wanted: Wanted, journal: Journal, shared: RunState) -> None:
    """Pass if every payload that would be shared is there."""
    for ref in refs_of(shared):
        try:
            places = read_manifest(journal.objects, ref).payloads.values()
            missing = journal.objects.missing(places)
        except Damaged as error:
            raise _gone(wanted, f"{ref.group}: {error.because}") from error
        if missing:
            place = missing[0]
            raise _gone(wanted, f"{place.group}/{place.array} is missing")


def _gone(wanted: Wanted, what: str) -> NotCommitted:
    return NotCommitted(
        f"run {wanted.run_id} was not forked",
        because=f"a payload that it would share is erased or damaged ({what})",
        remedy="Type nbresume verify NOTEBOOK to see which step it belongs to, and "
        "run that step again.",
        run_id=wanted.run_id,
    )


def begin_fork(
    planned: Planned, journal: Journal, claims: Claims, order: Order, *, group_id: str
) -> None:
    """Begin the run that a journal is of, as the planned fork: all or nothing.

    Parameters
    ----------
    planned
        What is shared.
    journal, claims
        Of the new run, of which nothing is written.
    order
        Notebook order, for the claim.
    group_id
        A fresh id: the group of a fork that was cut off may lie there.

    Raises
    ------
    TakenRun
        Another process began this run at the same moment.
    StoreError
        The store cannot write; there is no such run then.
    """
    group = f"{group_id}-origin"
    draft = journal.objects.draft(group)
    data = canonical(msgspec.to_builtins(planned.state, str_keys=True))
    offset, length, digest = draft.add_to_pack(data)
    draft.write()
    fold = FoldRef(
        revision=planned.origin.revision,
        group=group,
        offset=offset,
        length=length,
        digest=digest,
    )
    claims.fork(order, msgspec.structs.replace(planned.origin, fold=fold))
