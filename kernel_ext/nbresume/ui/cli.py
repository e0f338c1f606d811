"""The command ``nbresume``: parse → call → show. Exit codes: see ``errors``."""

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from nbresume.compose.access import note
from nbresume.compose.migrating import migrator
from nbresume.compose.stores import trust_store
from nbresume.errors import (
    EXIT_USAGE,
    NbresumeError,
    SchemaError,
    UsageError,
)
from nbresume.model.values import EVIDENCE_KINDS
from nbresume.run.migrate import Wish
from nbresume.run.ports import World
from nbresume.run.recovery import unknown_step
from nbresume.run.repairing import mendable
from nbresume.run.verify import verify
from nbresume.run.ways import WHOLE
from nbresume.settings import __version__
from nbresume.store.access import Act
from nbresume.ui import accesses, autoload, deciding, replies, text
from nbresume.ui.asking import Asked, ask, history_of, note_shown, world_of
from nbresume.ui.backups import export_, import_
from nbresume.ui.cell_locks import unlock_cells
from nbresume.ui.deciding import ask_to_decide
from nbresume.ui.keeping import erase, gc
from nbresume.ui.keys import key
from nbresume.ui.other_runs import StoreName, compare, diff, fork, runs, say, store_in

_NOTEBOOK = click.argument("notebook", type=click.Path(path_type=Path))
_KINDS = click.Choice(EVIDENCE_KINDS)
_WHOLE = click.Choice([how.value for how in WHOLE])
_REPORT = click.Path(path_type=Path, allow_dash=True, dir_okay=False)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _world(notebook: Path | None) -> World:
    return world_of(notebook, say)


def _ask(notebook: Path) -> Asked:
    return ask(notebook, say)


def _decide(notebook: Path) -> Asked:
    return ask_to_decide(notebook, say)


@click.group()
@click.version_option(__version__, prog_name="nbresume")
def cli() -> None:
    """Resumable notebooks: run, look at, decide about and verify runs."""


@cli.command()
@_NOTEBOOK
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="Write the executed notebook here; else over NOTEBOOK.",
)
@click.option(
    "-p",
    "parameters",
    nargs=2,
    multiple=True,
    metavar="NAME VALUE",
    help="Set NAME to VALUE, a Python literal or else text. May be repeated.",
)
@click.option(
    "--retry", is_flag=True, help="Policy: run ambiguous steps again, on record."
)
@click.option(
    "--kernel", default="", metavar="NAME", help="Kernel to use; else the notebook's."
)
@click.option("--take-over", is_flag=True, help="Fence a kernel that may be alive.")
@click.option("--report", type=_REPORT, help="Report as JSON to a file; - prints it.")
def run(
    notebook: Path,
    output: Path | None,
    parameters: tuple[tuple[str, str], ...],
    kernel: str,
    report: Path | None,
    *,
    retry: bool,
    take_over: bool,
) -> None:
    """Run NOTEBOOK from top to bottom; committed steps are replayed.

    Exit codes: 0 done, 1 a cell failed, 2 refused, 3 usage.
    """
    # nbclient and the kernel's client cost half a second that `status` need not pay
    from nbresume.ui.headless import Order, run_notebook  # noqa: PLC0415
    from nbresume.ui.run_report import Target, run_reported  # noqa: PLC0415

    order = Order(
        notebook=notebook.absolute(),
        output=(output or notebook).absolute(),
        parameters=dict(parameters),
        retry=retry,
        take_over=take_over,
        kernel=kernel,
    )
    printed = report is not None and str(report) == "-"
    if report is None:
        ended = run_notebook(order)
    else:
        path = None if printed else report.absolute()
        ended = run_reported(
            order, Target(path, lambda told: click.echo(told, nl=False))
        )
    told = text.in_terminal(ended.message, str(notebook))
    click.echo(told, err=printed or ended.exit_code != 0)
    sys.exit(ended.exit_code)


@cli.command()
@_NOTEBOOK
@_JSON
def status(notebook: Path, *, as_json: bool) -> None:
    """Show the steps of NOTEBOOK's run and where it goes on."""
    view = _ask(notebook).run.view()
    told = text.in_terminal(text.table(view), str(notebook))
    click.echo(view.to_json().decode() if as_json else told)


@cli.command()
@_NOTEBOOK
@click.option("--from-scratch", is_flag=True, help="As the first run of a new run.")
@_JSON
def plan(notebook: Path, *, from_scratch: bool, as_json: bool) -> None:
    """Say what running NOTEBOOK would do: replay, run or refuse each step."""
    view = _ask(notebook).run.view()
    if as_json:
        click.echo(text.as_json(replies.planned(view, from_scratch=from_scratch)))
        return
    planned = replies.plan_from_scratch(view) if from_scratch else replies.plan(view)
    click.echo(text.in_terminal(planned, str(notebook)))


@cli.command()
@_NOTEBOOK
@click.argument("step")
@_JSON
def explain(notebook: Path, step: str, *, as_json: bool) -> None:
    """Say why STEP of NOTEBOOK would be replayed, run or refused."""
    asked = _ask(notebook)
    told = asked.run.explain(step)
    note_shown(asked, step, via="command")
    shown = text.in_terminal(replies.explained(told), str(notebook))
    click.echo(text.as_json(told) if as_json else shown)


@cli.command()
@_NOTEBOOK
@click.argument("step")
@_JSON
def inspect(notebook: Path, step: str, *, as_json: bool) -> None:
    """Show what the commit of STEP of NOTEBOOK stored; no value is loaded."""
    asked = _ask(notebook)
    told = asked.run.stored(step)
    note_shown(asked, step, via="command")
    click.echo(text.as_json(told) if as_json else replies.inspected(told))


@cli.command()
@_NOTEBOOK
@_JSON
def metrics(notebook: Path, *, as_json: bool) -> None:
    """Print the numbers of NOTEBOOK's run in the text format of Prometheus."""
    # a tenth of a second that `status` need not pay
    from nbresume.ui import prometheus  # noqa: PLC0415, replies

    try:
        view = _ask(notebook).run.view()
    except SchemaError:
        if not as_json:
            click.echo(prometheus.unreadable(notebook.name), nl=False)
        raise
    if as_json:
        click.echo(replies.metrics_json(view))
    else:
        click.echo(prometheus.exposed(view), nl=False)


@cli.command()
@_NOTEBOOK
@click.argument("step", default="")
@click.option("--access", is_flag=True, help="Who read it here: of this account.")
@_JSON
def history(notebook: Path, step: str, *, access: bool, as_json: bool) -> None:
    """Show who did what, when and why: the audit trail of NOTEBOOK's run."""
    if access:
        click.echo(accesses.shown(_ask(notebook), step, as_json=as_json))
        return
    found = history_of(_ask(notebook), step)
    if step and not found:
        raise unknown_step(step, "has no history")
    click.echo(replies.events_json(found) if as_json else replies.events_table(found))


@cli.command()
@_NOTEBOOK
@click.argument("step")
@click.argument("how", type=_WHOLE)
@click.option("--because", default="", help="The reason, kept on record; required.")
@click.option(
    "--kind", default="statement", type=_KINDS, help="Of evidence; else statement."
)
@click.option("--reference", default="", help="What proves it: an id, a link.")
@click.option(
    "--effect",
    default="",
    metavar="KEY",
    help="With evidence: only this effect did happen.",
)
@click.option(
    "--result",
    metavar="VALUE",
    help="What that effect returned, as a Python literal.",
)
@click.option(
    "--value",
    multiple=True,
    metavar="NAME=VALUE",
    help="With evidence: a value that the step would have set, as a Python literal. "
    "May be repeated.",
)
def resolve(notebook: Path, step: str, how: str, **given: Any) -> None:
    """Settle STEP of NOTEBOOK, which is ambiguous (in doubt), or one of its effects."""
    click.echo(deciding.resolve(_decide(notebook), step, how, given))


@cli.command()
@_NOTEBOOK
@click.argument("step")
@click.option("--because", required=True, help="Why it may run again; required.")
@click.option(
    "--again",
    multiple=True,
    metavar="KEY",
    help="Make this recorded effect anew; all for each. May be repeated.",
)
def rerun(notebook: Path, step: str, because: str, again: tuple[str, ...]) -> None:
    """Let the committed STEP of NOTEBOOK run again when its cell is run."""
    click.echo(deciding.rerun(_decide(notebook), step, because, list(again)))


@cli.command("unlock-cells")
@_NOTEBOOK
def unlock_cells_(notebook: Path) -> None:
    """Take the locks out of NOTEBOOK's metadata that JupyterLab wrote for nbresume."""
    click.echo(f"{unlock_cells(notebook)} cells unlocked")


@cli.command("autoload")
@click.option("--sys-prefix", "on", is_flag=True, help="In kernels of this Python.")
@click.option("--remove", "off", is_flag=True, help="No longer.")
def autoload_(*, on: bool, off: bool) -> None:
    """Load nbresume in kernels of this environment whose notebook has steps."""
    if on and off:
        raise UsageError(
            "nothing was changed",
            because="--sys-prefix turns it on, --remove turns it off",
            remedy="Type one of them.",
        )
    if on:
        click.echo(f"{autoload.turn_on()} was written: new kernels load nbresume")
    elif off:
        found = autoload.turn_off()
        click.echo("it is off now" if found else "it was not on")
    else:
        click.echo(f"it is {'on' if autoload.is_on() else 'off'} in {sys.prefix}")


@cli.command("verify")
@_NOTEBOOK
@click.option(
    "--repair", is_flag=True, help="Write again what follows from the records."
)
def verify_(notebook: Path, *, repair: bool) -> None:
    """Walk over every record and payload of NOTEBOOK's run and check its digest."""
    asked = ask_to_decide(notebook, say) if repair else _ask(notebook)
    report = verify(asked.run.journal)
    click.echo(replies.report(report))
    for found in mendable(asked.run.journal, asked.store.runs()):
        if repair:
            found.mend()
        done = "it is written again" if repair else "--repair writes it again"
        click.echo(f"{found.told}: {done}")
    sys.exit(1 if report.problems else 0)


@cli.command()
@click.argument("folder", type=StoreName())
def trust(folder: Path | str) -> None:
    """Trust the store in FOLDER as it is now: its values may be loaded as code."""
    store = store_in(folder)
    note(store, _world(None), Act.TRUSTED)
    pinned = trust_store(store)
    click.echo(f"{len(pinned)} runs of store {store.store_id} are trusted as they are")


@cli.command()
@click.argument("folder", type=StoreName(), default=Path(".nbresume"))
@click.option("--undo", is_flag=True, help="Go back to the chains before the last one.")
@click.option("--take-over", is_flag=True, help="Fence kernels that may be alive.")
@click.option("--because", default="asked for", help="The reason, kept on record.")
def migrate(folder: Path | str, because: str, *, undo: bool, take_over: bool) -> None:
    """Bring the runs of the store in FOLDER into the formats of this release."""
    store = store_in(folder)
    moves = migrator(store, _world(None))
    wish = Wish(because, take_over=take_over)
    done = 0
    for run_id in sorted(store.runs().ids()):
        act = moves.undo if undo else moves.migrate
        moved = act(store.chain(run_id), wish)
        if moved is not None and (undo or moved.changes):
            done += 1
            click.echo(replies.moved(moved, undone=undo))
    if not done:
        click.echo(
            "nothing was undone: no run goes on in a migrated chain"
            if undo
            else "nothing was migrated: every record is of a format of this release"
        )


for command in (runs, fork, compare, diff, export_, import_, erase, gc, key):
    cli.add_command(command)


def main() -> None:
    """Run the command; every refusal is one sentence and an exit code."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.Abort:
        sys.exit(EXIT_USAGE)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_USAGE)
    except NbresumeError as error:
        # what was typed last names the notebook of the commands that are told
        named = [word for word in sys.argv[2:] if word.endswith(".ipynb")]
        notebook = shlex.quote(named[0]) if named else "NOTEBOOK"
        click.echo(text.in_terminal(f"nbresume: {error}", notebook), err=True)
        sys.exit(error.exit_code)
