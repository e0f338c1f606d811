"""Trips, forks and comparisons in words: one wording for every face."""

import msgspec

from nbresume.capture.differences import Difference
from nbresume.compose.exporting import Exported
from nbresume.compose.forking import Fork
from nbresume.compose.importing import Imported
from nbresume.compose.traveling import Traveled
from nbresume.model.values import Origin
from nbresume.run.comparing import Changed, CommitDiff, RunComparison, StepPair
from nbresume.run.runs import Claimed
from nbresume.ui import text

SHOWN = 8
"""So many of a long list are named."""


def some(items: list[str] | tuple[str, ...]) -> str:
    """Return a list as text, its end cut."""
    more = len(items) - SHOWN
    shown = ", ".join(items[:SHOWN])
    return f"{shown} and {more} more" if more > 0 else shown


class Travel(msgspec.Struct, frozen=True, kw_only=True):
    """An undo or a checkout, for programs."""

    where: str
    names: int
    removed: list[str]
    missing: list[str]
    left: list[str]
    """Commits that are not in the kernel any more."""
    acted: list[str]
    lost: list[str]


def travel_made(done: Traveled) -> Travel:
    """Return what an undo or a checkout did, for programs."""
    trip, arrived = done.trip, done.arrived
    return Travel(
        where=trip.where,
        names=arrived.names,
        removed=arrived.removed,
        missing=arrived.missing,
        left=list(trip.left),
        acted=list(trip.acted),
        lost=list(trip.lost),
    )


def traveled(done: Traveled) -> str:
    """Return what an undo or a checkout did, and what follows from it."""
    trip, arrived = done.trip, done.arrived
    lines = [f"the namespace is as it was {trip.where}"]
    moved = f"{arrived.names} names brought back"
    if arrived.removed:
        moved += f", removed: {some(arrived.removed)}"
    lines.append(moved)
    lines += [f"not brought back: {name}" for name in arrived.missing]
    if trip.left:
        lines.append(f"not in this kernel any more, but committed: {some(trip.left)}")
    if trip.acted:
        lines.append(f"acted on the outside, and that stays done: {some(trip.acted)}")
    if trip.lost:
        lines.append(f"lost, as you agreed: {some(trip.lost)}")
    lines.append(
        "values of plain cells that no record of then tells of are untouched; the run "
        "is unchanged: a step that is run finds what its plan says. %steps resume "
        "goes back to the newest state, %steps fork --at NAME begins a run there"
    )
    return "\n".join(lines)


def forked(fork: Fork, run_id: str) -> str:
    """Return what a new fork shares, and what it does not."""
    origin = fork.planned.origin
    lines = [
        f"run {run_id} begins as a fork of run {origin.run}, behind step {origin.at}",
        f"it shares {len(origin.steps)} committed steps: {some(origin.steps)}",
    ]
    if fork.planned.acts:
        lines.append(
            f"not shared, and acted on the outside in run {origin.run}: "
            f"{some(fork.planned.acts)}. Run in the fork, they act AGAIN"
        )
    return "\n".join(lines)


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a store, in a list."""

    run_id: str
    claimed: str
    """When it was claimed last."""
    notebook: str
    origin: str = ""
    """The run that it is a fork of."""
    at_step: str = ""
    origin_revision: int = -1


def run_row(claimed: Claimed, origin: Origin | None) -> RunRow:
    """Return a run as a row of a list."""
    return RunRow(
        run_id=claimed.run_id,
        claimed=text.at(claimed.at),
        notebook=claimed.claim.notebook,
        origin=origin.run if origin else "",
        at_step=origin.at if origin else "",
        origin_revision=origin.revision if origin else -1,
    )


class ForkMade(msgspec.Struct, frozen=True, kw_only=True):
    """A new fork, for programs."""

    run_id: str
    origin: str
    revision: int
    at_step: str
    steps: list[str]
    acts: list[str]
    """Steps that acted on the outside in the origin and are not shared."""


def fork_made(fork: Fork, run_id: str) -> ForkMade:
    """Return what a new fork is, for programs."""
    origin = fork.planned.origin
    return ForkMade(
        run_id=run_id,
        origin=origin.run,
        revision=origin.revision,
        at_step=origin.at,
        steps=origin.steps,
        acts=list(fork.planned.acts),
    )


def compared(runs: RunComparison) -> str:
    """Return two runs as a table."""
    head = ["step", runs.old, runs.new, "code", "inputs", "outputs"]
    rows = [head, *(_row(pair) for pair in runs.steps)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _row(pair: StepPair) -> list[str]:
    outputs = "shared" if pair.shared else _SAME[pair.same_outputs]
    if pair.differing:
        outputs += f": {some(pair.differing)}"
    return [
        pair.step,
        pair.old_state.lower() or "-",
        pair.new_state.lower() or "-",
        _SAME[pair.same_code],
        _SAME[pair.same_inputs],
        outputs,
    ]


_SAME = {True: "same", False: "differ", None: "-"}


def differing(found: CommitDiff) -> str:
    """Return in what two commits differ."""
    lines = found.code or ["code: the same"]
    if found.code and found.same_code:
        lines = [*lines, "code: means the same"]
    lines = [*lines, *(_input(one) for one in found.inputs if not one.equal)]
    equal = [one.name for one in found.outputs if one.equal]
    for one in found.outputs:
        if not one.equal:
            lines += _output(one)
    if equal:
        lines.append(f"equal: {some(equal)}")
    return "\n".join(lines)


def _input(one: Changed) -> str:
    return f"input {one.name}: {one.old or 'none'} → {one.new or 'none'}"


def _output(one: Changed) -> list[str]:
    kinds = [kind or "no value" for kind in (one.old_kind, one.new_kind)]
    what = kinds[0] if kinds[0] == kinds[1] else f"{kinds[0]} → {kinds[1]}"
    lines = [f"output {one.name}: {what}"]
    if one.values is not None:
        lines.append(f"  {_values(one.values)}")
    elif one.not_loaded:
        lines.append(f"  not loaded: {one.not_loaded}")
    if one.old_preview or one.new_preview:
        lines += [f"  - {line}" for line in one.old_preview.splitlines()]
        lines += [f"  + {line}" for line in one.new_preview.splitlines()]
    return lines


def _values(found: Difference) -> str:
    if found.equal:
        return "the values are equal"
    parts = [found.told] if found.told else []
    if found.entries:
        parts.append(f"{found.differing} of {found.entries} entries differ")
    if found.max_abs is not None:
        parts.append(f"at most by {found.max_abs:.6g}")
    if found.max_rel is not None:
        parts.append(f"relative {found.max_rel:.3g}")
    if found.columns:
        parts.append(f"columns {some(found.columns)}")
    return ", ".join(parts) or "the values differ"


def exported(done: Exported) -> str:
    """Return what a backup holds."""
    what = [f"{len(done.runs)} runs", f"{done.records} records"]
    what += [f"{len(done.checkpoints)} checkpoints"] if done.checkpoints else []
    what += [text.size(done.bytes), "read back whole"]
    lines = [f"{done.file}: {', '.join(what)}"]
    lines += [f"damaged: {problem}" for problem in done.problems]
    return "\n".join(lines)


def imported(done: Imported, *, only_checked: bool) -> str:
    """Return which runs came into a store, and what to type next."""
    runs = [*done.runs, *done.checkpoints]
    held = f"{some(runs)} ({done.records} records) of {done.made_at}, {done.made_by}"
    lines = [f"whole: {held}" if only_checked else f"{done.store} has now {held}"]
    lines += [f"damaged: {problem}" for problem in done.problems]
    if not done.trusted and only_checked:
        lines.append("written under another key: it would be imported and not loaded")
    elif not done.trusted:
        lines.append(
            "written under another key: nothing of it is loaded before you type "
            f"nbresume trust {done.store}"
        )
    if not only_checked:
        lines += [f"to go on with it: NBRESUME_RUN={run}" for run in done.runs[:1]]
        lines.append("what happened after that time is not in it, effects neither")
    return "\n".join(lines)
