"""The commands that take payloads away: `erase`, `gc`.

Parse → call → show, as ``ui.cli``. Without ``--yes`` nothing is written.
"""

from datetime import timedelta
from pathlib import Path

import click
import msgspec

from nbresume.compose.keeping import Erasing, plan_collection, plan_erasure
from nbresume.errors import UsageError
from nbresume.model.folded import RunState
from nbresume.model.values import Erased
from nbresume.run.erasing import Target
from nbresume.run.retention import Rules
from nbresume.ui import text
from nbresume.ui.asking import Asked, world_of
from nbresume.ui.deciding import ask_to_decide
from nbresume.ui.other_runs import StoreName, say, store_in

_NOTEBOOK = click.argument("notebook", type=click.Path(path_type=Path))
_FOLDER = click.argument("folder", type=StoreName(), default=Path(".nbresume"))
_KINDS = (Erased.RUN, Erased.STEP, Erased.NAME)
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_OUT_OF_REACH = (
    "out of reach: the notebook's file and its outputs, files that cells wrote, "
    "exports and copies of the store, and what kernels hold in memory"
)


class ErasedTold(msgspec.Struct, frozen=True, kw_only=True):
    """What an erasure takes away, or took away."""

    erased: bool
    what: str
    groups: list[str]
    steps: dict[str, list[str]]
    """Run → its steps without values."""
    size_bytes: int
    readers: list[str]
    unreadable: list[str]
    unknown: list[str]
    """Damaged runs: nobody can say whether they refer to it."""


class GoingTold(msgspec.Struct, frozen=True, kw_only=True):
    """One group that a collection takes away, or took away."""

    run: str
    group: str
    step: str
    why: str
    size_bytes: int


class CollectedTold(msgspec.Struct, frozen=True, kw_only=True):
    """What a collection takes away, or took away."""

    going: list[GoingTold]
    freed_bytes: int
    skipped: dict[str, str]
    """Run → why nothing of it goes."""


@click.command()
@_NOTEBOOK
@click.argument("what")
@click.option("--as", "kind", type=click.Choice(_KINDS), help="What WHAT names.")
@click.option("--derived", is_flag=True, help="Also what steps made that read it.")
@click.option("--because", default="", help="The reason, kept on record.")
@click.option("--yes", is_flag=True, help="Erase it; without, it is only shown.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def erase(
    notebook: Path,
    what: str,
    kind: str | None,
    because: str,
    *,
    derived: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Erase the payloads of WHAT (a run, a step or a name) from NOTEBOOK's store.

    Steps that lose their values run again; decisions stay on record.
    """
    if yes and not because.strip():
        raise UsageError(
            f"{what} was not erased",
            because="the record has to say why",
            remedy=f"Type nbresume erase {notebook} {what} --yes --because TEXT",
        )
    asked = ask_to_decide(notebook, say)
    target = _target(asked, what, kind, derived=derived)
    planned = plan_erasure(asked.store, target, asked.run.world)
    erasure = planned.erasure
    freed = planned.eraser.erase(erasure, because=because) if yes else 0
    if as_json:
        click.echo(text.as_json(_told(planned, freed, done=yes)))
        return
    for line in _lines_of(planned, done=yes):
        click.echo(line)
    if yes:
        click.echo(f"{text.size(freed)} were erased")
    else:
        click.echo("nothing was erased: add --yes --because TEXT")


def _target(asked: Asked, what: str, kind: str | None, *, derived: bool) -> Target:
    """Return what was named; a word that means two things is refused."""
    journal = asked.run.journal
    names = _names(journal.state)
    fits = {
        Erased.RUN: what in asked.store.runs().ids(),
        Erased.STEP: journal.state.step(what) is not None,
        Erased.NAME: what in names,
    }
    found = [one for one, is_one in fits.items() if is_one]
    if kind is None and len(found) > 1:
        told = " and ".join(f"a {one}" for one in found)
        raise UsageError(
            f"{what} was not erased",
            because=f"it is {told}",
            remedy=f"Name the kind that is meant: --as {found[0]} or --as {found[1]}",
        )
    # a name that only older commits have is found when they are read
    chosen = Erased(kind) if kind else (found[0] if found else Erased.NAME)
    return Target(
        what=chosen,
        run=what if chosen is Erased.RUN else journal.run_id,
        step=what if chosen is Erased.STEP else "",
        name=what if chosen is Erased.NAME else "",
        derived=derived,
    )


def _names(state: RunState) -> set[str]:
    names = set(state.ambient)
    for history in state.steps.values():
        for commit in history.commits.values():
            names |= commit.record.outputs.keys()
    return names


def _told(planned: Erasing, freed: int, *, done: bool) -> ErasedTold:
    erasure = planned.erasure
    return ErasedTold(
        erased=done,
        what=erasure.target.what,
        groups=[f"{run}/{name}" for run, name in sorted(erasure.groups)],
        steps={run: sorted(steps) for run, steps in erasure.steps.items() if steps},
        size_bytes=freed or erasure.size_bytes,
        readers=sorted(erasure.readers),
        unreadable=[f"{run}/{name}" for run, name in sorted(erasure.unreadable)],
        unknown=planned.unknown,
    )


def _lines_of(planned: Erasing, *, done: bool) -> list[str]:
    erasure = planned.erasure
    target, count = erasure.target, len(erasure.groups)
    size = text.size(erasure.size_bytes)
    word = "of" if done else "would go: of"
    lines = [f"{word} {target.spoken}: {count} groups, {size}"]
    for run, steps in sorted(erasure.steps.items()):
        if steps:
            where = "" if run == target.run else f" of run {run}"
            lines.append(f"without values{where}: {', '.join(sorted(steps))}")
    if erasure.readers:
        told = ", ".join(sorted(erasure.readers))
        lines.append(
            f"these steps read it, and what they made of it stays: {told} "
            "(--derived erases that as well)"
        )
    if erasure.unreadable:
        told = ", ".join(f"{run}/{name}" for run, name in sorted(erasure.unreadable))
        lines.append(f"damaged, so what lies in them is not known: {told}")
    if planned.unknown:
        told = ", ".join(planned.unknown)
        lines.append(f"damaged, so whether they share it is not known: runs {told}")
    return [*lines, _OUT_OF_REACH]


@click.command()
@_FOLDER
@click.option(
    "--age",
    type=float,
    help="Older commits go when they have not counted for so many days.",
)
@click.option(
    "--count", type=click.IntRange(min=1), help="So many commits of a step stay."
)
@click.option(
    "--size",
    help="Older commits go, the oldest first, until all payloads fit into it: 500M.",
)
@click.option(
    "--grace",
    type=float,
    default=24.0,
    help="What is younger stays, whatever it is; 24 by default.",
)
@click.option("--dry-run", is_flag=True, help="Only show it, as without --yes.")
@click.option("--yes", is_flag=True, help="Take it away; without, it is only shown.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def gc(
    folder: Path | str,
    age: float | None,
    count: int | None,
    size: str | None,
    grace: float,
    *,
    dry_run: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Collect what no step needs any more in the store in FOLDER."""
    rules = Rules(
        grace=timedelta(hours=grace),
        age=None if age is None else timedelta(days=age),
        count=count,
        size_bytes=None if size is None else _bytes_of(size),
    )
    planned = plan_collection(store_in(folder), world_of(None, say), rules)
    going = planned.going
    total = sum(one.size_bytes for one in going)
    freed = planned.collect() if yes and not dry_run else 0
    rows = [
        GoingTold(
            run=one.group.run,
            group=one.group.name,
            step=one.step,
            why=one.why,
            size_bytes=one.size_bytes,
        )
        for one in going
    ]
    if as_json:
        told = CollectedTold(going=rows, freed_bytes=freed, skipped=planned.skipped)
        click.echo(text.as_json(told))
        return
    for row in rows:
        shown = text.size(row.size_bytes)
        click.echo(f"{row.run}  {row.group}  {row.step or '-'}  {shown}  {row.why}")
    for run, why in planned.skipped.items():
        click.echo(f"{run}  left alone: {why}")
    if yes and not dry_run:
        click.echo(f"{text.size(freed)} were taken away")
    else:
        click.echo(f"{text.size(total)} would go; nothing was: add --yes")


def _bytes_of(size: str) -> int:
    number, unit = size[:-1], size[-1:].lower()
    if unit.isdigit():
        number, unit = size, ""
    if unit not in _UNITS or not number.replace(".", "", 1).isdigit():
        raise UsageError(
            f"--size {size} was not understood",
            because="it is no number of bytes",
            remedy="Type a number, with k, M, G or T behind it: 500M",
        )
    return int(float(number) * _UNITS[unit])
