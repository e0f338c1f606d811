"""`%steps undo`, `checkout`, `fork`, `diff`: other moments of the run.

Thin: click parses, one call into ``compose``, ``told`` shows.
"""

import click

from nbresume.compose import forking, traveling
from nbresume.run.comparing import compare_commits, find_commits
from nbresume.run.forks import Wanted
from nbresume.run.past import parse_label, parse_pair
from nbresume.ui import text, told
from nbresume.ui.ipython.face import Face

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_YES = click.option("--yes", is_flag=True, help="Agree to what would be lost.")


@click.command("undo", add_help_option=False)
@_YES
@_JSON
@click.pass_obj
def undo(face: Face, *, yes: bool, as_json: bool) -> None:
    """Take the last step back: its names are as they were before it."""
    _tell(face, traveling.undo(face.session, yes=yes), as_json=as_json)


def _tell(face: Face, done: traveling.Traveled, *, as_json: bool) -> None:
    face.pages.went(done.trip.crossed, done.trip.back)
    click.echo(text.as_json(told.travel_made(done)) if as_json else told.traveled(done))


@click.command("checkout", add_help_option=False)
@click.argument("name")
@_YES
@_JSON
@click.pass_obj
def checkout(face: Face, name: str, *, yes: bool, as_json: bool) -> None:
    """Bring every name to the end of a commit of a step: NAME or NAME@COMMIT."""
    step, number = parse_label(name)
    done = traveling.checkout(face.session, step, number, yes=yes)
    _tell(face, done, as_json=as_json)


@click.command("fork", add_help_option=False)
@click.argument("run", default="")
@click.option(
    "--at",
    required=True,
    metavar="STEP[@COMMIT]",
    help="The last step that is shared, or one of its commits.",
)
@_YES
@_JSON
@click.pass_obj
def fork(face: Face, run: str, at: str, *, yes: bool, as_json: bool) -> None:
    """Go on with a new run that shares the commits of RUN up to a step."""
    step, number = parse_label(at)
    wanted = Wanted(run or face.session.journal.run_id, step, number)
    done = forking.fork_session(face.session, wanted, yes=yes)
    face.pages.begun()
    resumed, run_id = face.resume(), face.session.journal.run_id
    if as_json:
        click.echo(text.as_json(told.fork_made(done, run_id)))
        return
    click.echo(told.forked(done, run_id))
    click.echo(f"{resumed.names} names are restored")
    for name in resumed.missing:
        click.echo(f"not restored: {name}")
    if face.session.settings.run:
        click.echo(
            f"NBRESUME_RUN names another run: set it to {run_id}, or the next kernel "
            "goes on with that one"
        )


@click.command("diff", add_help_option=False)
@click.argument("old")
@click.argument("new", default="")
@_JSON
@click.pass_obj
def diff(face: Face, old: str, new: str, *, as_json: bool) -> None:
    """Say in what two commits differ: NAME@COMMIT NAME@COMMIT."""
    step, number, other, other_number = parse_pair(old, new)
    journal, world = face.session.journal, face.session.parts.world
    journal.refresh()
    commits = find_commits(journal, (step, number), (other, other_number))
    found = compare_commits(journal, world, *commits, values=True)
    click.echo(text.as_json(found) if as_json else told.differing(found))
