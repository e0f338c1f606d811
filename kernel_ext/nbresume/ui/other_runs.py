"""Commands about several runs, or several commits: `runs`, `fork`, `compare`, `diff`.

Parse → call → show, as ``ui.cli``.
"""

import os
from pathlib import Path

import click

from nbresume.compose import data_folder, forking, settings_from_environment
from nbresume.compose.stores import OpenStore, Place, open_store, where
from nbresume.errors import NotTrusted, UsageError
from nbresume.run.comparing import compare_commits, compare_runs, find_commits
from nbresume.run.forks import Wanted
from nbresume.run.past import parse_label, parse_pair
from nbresume.ui import text, told
from nbresume.ui.asking import ask, note_shown, world_of
from nbresume.ui.deciding import ask_to_decide

_NOTEBOOK = click.argument("notebook", type=click.Path(path_type=Path))


class StoreName(click.ParamType):  # type: ignore[type-arg] # generic since 8.3
    """A folder, or the URL of an object store."""

    name = "store"

    def __init__(self, *, must_exist: bool = True) -> None:
        self._must_exist = must_exist

    def convert(
        self,
        value: str | Path,
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> str | Path:
        """Return a URL as it is, and the path of anything else."""
        found = value if isinstance(value, Path) else where(value)
        if isinstance(found, str):
            return found
        path = click.Path(path_type=Path, exists=self._must_exist)
        checked: Path = path.convert(found, param, ctx)
        return checked


_FOLDER = click.argument("folder", type=StoreName(), default=Path(".nbresume"))
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def say(line: str) -> None:
    """Tell the person one line: notices go to standard error."""
    click.echo(f"nbresume: {line}", err=True)


def store_in(folder: Path | str) -> OpenStore:
    """Open a store that is named by its folder or its URL.

    Raises
    ------
    UsageError
        The folder is no store.
    """
    if isinstance(folder, str):
        return _told(open_store(Place(store=folder, data=data_folder()), create=False))
    if not (folder / "store.json").exists():
        raise UsageError(
            f"{folder} was not opened",
            because="it is no store (it has no store.json)",
            remedy="Name a store, usually the folder .nbresume beside the notebook.",
        )
    place = Place(store=folder.absolute(), data=data_folder())
    return _told(open_store(place, create=False))


def _told(store: OpenStore) -> OpenStore:
    """Return the store, after telling that its values cannot be read."""
    if loss := store.loss():
        say(loss)
    return store


@click.command()
@_FOLDER
@_JSON
def runs(folder: Path | str, *, as_json: bool) -> None:
    """List the runs of the store in FOLDER, whoever wrote them."""
    known = store_in(folder).runs()
    claims = known.all()
    origins = known.origins([one.run_id for one in claims])
    rows = list(map(told.run_row, claims, origins))
    if as_json:
        click.echo(text.as_json(rows))
        return
    for row in rows:
        where = os.path.relpath(row.notebook) if row.notebook else ""
        origin = f"  fork of {row.origin} at {row.at_step}" if row.origin else ""
        click.echo(f"{row.run_id}  {row.claimed}  {where}{origin}")


@click.command()
@_NOTEBOOK
@click.argument("run", default="")
@click.option(
    "--at",
    required=True,
    metavar="STEP[@COMMIT]",
    help="The last step that is shared, or one of its commits.",
)
@_JSON
def fork(notebook: Path, run: str, at: str, *, as_json: bool) -> None:
    """Begin a new run of NOTEBOOK that shares the commits of RUN up to a step.

    NOTEBOOK goes on with it. RUN is the notebook's run if it is not named.
    """
    asked = ask_to_decide(notebook, say)
    step, number = parse_label(at)
    store, world, order = asked.store, asked.run.world, asked.run.order()
    wanted = Wanted(run or asked.run.journal.run_id, step, number)
    planned = forking.plan(store, wanted, world, settings_from_environment(), order)
    run_id = store.runs().next_id(world.notebook.path)
    forking.begin(planned, run_id)
    if as_json:
        click.echo(text.as_json(told.fork_made(planned, run_id)))
    else:
        click.echo(text.in_terminal(told.forked(planned, run_id), str(notebook)))


@click.command()
@click.argument("old")
@click.argument("new")
@_FOLDER
@_JSON
def compare(old: str, new: str, folder: Path | str, *, as_json: bool) -> None:
    """Compare the runs OLD and NEW of the store in FOLDER, step by step."""
    store, settings = store_in(folder), settings_from_environment()
    world = world_of(None, say)
    was = forking.look_at(store, old, world, settings)
    now = forking.look_at(store, new, world, settings)
    compared = compare_runs(
        was.journal, now.journal, was.recovery.state, now.recovery.state
    )
    click.echo(text.as_json(compared) if as_json else told.compared(compared))


@click.command()
@_NOTEBOOK
@click.argument("old")
@click.argument("new", default="")
@click.option("--values", is_flag=True, help="Load the values and compare them.")
@_JSON
def diff(notebook: Path, old: str, new: str, *, values: bool, as_json: bool) -> None:
    """Say in what the commits OLD and NEW (NAME@COMMIT) of NOTEBOOK's run differ."""
    step, number, other, other_number = parse_pair(old, new)
    asked = ask(notebook, say)
    if not asked.run.trusted:
        raise NotTrusted(
            f"{old} was not compared",
            because="the run was written under another key",
            remedy="If you know where it comes from, type nbresume trust "
            f"{asked.store.place.store}",
        )
    journal = asked.run.journal
    commits = find_commits(journal, (step, number), (other, other_number))
    compared = compare_commits(journal, asked.run.world, *commits, values=values)
    for shown in sorted({step, other}):
        note_shown(asked, shown, via="command")
    click.echo(text.as_json(compared) if as_json else told.differing(compared))
