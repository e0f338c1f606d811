"""`%steps`: the run as a table, and the decisions that a person makes about it.

Thin: click parses, one call into ``run``, ``text`` shows.
"""

import asyncio
import shlex
from collections.abc import Callable
from typing import Any

import click

from nbresume.compose.graph import Session, open_session
from nbresume.compose.inspection import names_set_by
from nbresume.errors import UsageError
from nbresume.model.values import EVIDENCE_KINDS, How
from nbresume.run.explaining import explain
from nbresume.run.history import Event, events
from nbresume.run.recovery import unknown_step
from nbresume.run.resume import Resumed
from nbresume.run.stored import StoredSources, stored
from nbresume.run.verify import prove, verify
from nbresume.run.ways import WHOLE, Way
from nbresume.ui import replies, text
from nbresume.ui.answers import UNSAID, answer_of
from nbresume.ui.ipython.face import Face
from nbresume.ui.ipython.going_back import checkout, diff, fork, undo
from nbresume.ui.ipython.pages import Phase
from nbresume.ui.widget import OnMain, Panel

SETTLE = click.Choice([how.value for how in WHOLE])
KINDS = click.Choice(EVIDENCE_KINDS)


@click.group(name="%steps", invoke_without_command=True, add_help_option=False)
@click.option("--json", "as_json", is_flag=True, help="Print the RunView as JSON.")
@click.pass_context
def steps(context: click.Context, *, as_json: bool) -> None:
    """Show the steps of this run."""
    if context.invoked_subcommand is None:
        view = context.find_object(Face).glance()  # type: ignore[union-attr]
        click.echo(view.to_json().decode() if as_json else text.table(view))


@steps.command("plan", add_help_option=False)
@click.option("--from-scratch", is_flag=True, help="As the first run of a new run.")
@click.pass_obj
def _plan(face: Face, *, from_scratch: bool) -> None:
    """Say what Run All would do, and why."""
    view = face.view()
    click.echo(replies.plan_from_scratch(view) if from_scratch else replies.plan(view))


@steps.command("resume", add_help_option=False)
@click.option("--take-over", is_flag=True, help="Claim the run from another kernel.")
@click.pass_obj
def _resume(face: Face, *, take_over: bool) -> None:
    """Bind the state after the last committed step; say which cell is next."""
    session = face.session
    session.journal.refresh()
    if take_over:
        session.parts.claims.ensure(session.order(), take_over=True)
        face.say("this kernel writes the run now")
    click.echo(_told(face.resume()))


def _told(resumed: Resumed) -> str:
    lines = [f"{resumed.names} names are restored"]
    lines += [f"not restored: {name}" for name in resumed.missing]
    if resumed.always:
        lines.append("run again, they are --always: " + ", ".join(resumed.always))
    where = f", resume point: step {resumed.resume_from}" if resumed.resume_from else ""
    lines.append(f"next cell: {resumed.next_words or 'none'}{where}")
    return "\n".join(lines)


@steps.command("rerun", add_help_option=False)
@click.argument("name")
@click.option(
    "--because", default="", help="Why it may run again; required with effects."
)
@click.option(
    "--live",
    is_flag=True,
    help="From the values as they are now; else from those at the step's position.",
)
@click.option(
    "--again",
    multiple=True,
    metavar="KEY",
    help="Make this recorded effect anew; all for each. May be repeated.",
)
@click.pass_obj
def _rerun(
    face: Face, name: str, because: str, *, live: bool, again: tuple[str, ...]
) -> None:
    """Let a committed step run again when its cell is run."""
    click.echo(_unlock(face.session, name, because, live=live, again=list(again)))


def _unlock(
    session: Session,
    name: str,
    because: str,
    *,
    live: bool = False,
    again: list[str] | None = None,
) -> str:
    session.parts.recovery.check_known(name, session.order())
    commit = session.journal.state.commit(name)
    acts = commit.record.effects if commit is not None else again
    if acts and not because.strip():
        raise UsageError(
            f"step {name} is not unlocked",
            because=f"it acts on the outside ({acts[0]})",
            remedy=f"Type %steps rerun {name} --because TEXT",
        )
    session.parts.recovery.rerun(
        name, because=because or "asked for", live=live, again=again
    )
    how = " from the values as they are now" if live else ""
    return f"step {name} will run when its cell is run{how}"


@steps.command("resolve", add_help_option=False)
@click.argument("name")
@click.argument("how", type=SETTLE)
@click.option("--because", default="", help="The reason, kept on record; required.")
@click.option(
    "--kind", default="statement", type=KINDS, help="Of evidence; else statement."
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
@click.pass_obj
def _resolve(face: Face, /, name: str, how: str, **given: Any) -> None:
    """Settle a step that is ambiguous (in doubt), or one of its effects."""
    click.echo(_settle(face.session, name, how, given))


def _settle(session: Session, name: str, how: str, given: dict[str, Any]) -> str:
    order = session.order()
    answer = answer_of(how, given, names_set_by(order, name))
    return replies.settled(session.parts.recovery.resolve(name, answer, order))


@steps.command("commit", add_help_option=False)
@click.argument("name")
@click.pass_obj
def _commit(face: Face, name: str) -> None:
    """Commit the finished body of a step that RAN."""
    record = face.session.stepper.commit_again(name)
    face.pages.tell(name, record.cell_id, Phase.COMMITTED)
    click.echo(f"step {name} is committed as number {record.commit_number}")


@steps.command("rename", add_help_option=False)
@click.argument("old")
@click.argument("new")
@click.pass_obj
def _rename(face: Face, old: str, new: str) -> None:
    """Carry a step's commits over to a new name."""
    session = face.session
    session.parts.recovery.rename(old, new)
    face.pages.renamed(old, new)
    click.echo(f"step {old} is called {new} now")


@steps.command("history", add_help_option=False)
@click.argument("name", default="")
@click.option("--json", "as_json", is_flag=True, help="Print the events as JSON.")
@click.pass_obj
def _history(face: Face, name: str, *, as_json: bool) -> None:
    """Show what happened, when, by whom and why."""
    found = _events(face.session, step=name)
    if name and not found:
        raise unknown_step(name, "has no history")
    click.echo(replies.events_json(found) if as_json else replies.events_table(found))


def _events(session: Session, *, step: str = "") -> list[Event]:
    journal = session.journal
    closings = journal.closing_records()
    return events(journal.envelopes(), closings=closings, step=step)


@steps.command("explain", add_help_option=False)
@click.argument("name")
@click.pass_obj
def _explain(face: Face, name: str) -> None:
    """Say why a step would be replayed, run or refused."""
    view, session = face.view(), face.session
    found = next((step for step in view.steps if step.name == name), None)
    if found is None:
        raise unknown_step(name, "was not explained")
    told = explain(
        found,
        view,
        session.journal.state,
        session.order(),
        files=session.parts.files,
        sources=StoredSources(session.journal),
    )
    click.echo(replies.explained(told))


@steps.command("inspect", add_help_option=False)
@click.argument("name")
@click.pass_obj
def _inspect(face: Face, name: str) -> None:
    """Show what the commit of a step stored."""
    face.session.journal.refresh()
    click.echo(replies.inspected(stored(face.session.journal, name, trusted=True)))


@steps.command("verify", add_help_option=False)
@click.argument("name", default="")
@click.pass_obj
def _verify(face: Face, name: str) -> None:
    """Print the proof that a step is committed, or walk over the whole run."""
    face.session.journal.refresh()
    if name:
        click.echo(replies.proof(prove(face.session.journal, name)))
    else:
        click.echo(replies.report(verify(face.session.journal)))


@steps.command("new", add_help_option=False)
@click.pass_obj
def _new(face: Face) -> None:
    """Start the next run of this notebook; the former one stays as it is."""
    world, store = face.session.parts.world, face.session.store
    path = world.notebook.path
    fresh = open_session(
        face.session.parts.live.namespace,
        world,
        store.place,
        face.session.settings,
        run_id=store.runs().next_id(path) if path else world.ids.run_id(),
    )
    fresh.parts.claims.ensure(fresh.order())
    face.session.become(fresh)
    face.pages.begun()
    click.echo(f"run {fresh.journal.run_id} begins; no step of it is committed")


@steps.command("panel", add_help_option=False)
@click.pass_obj
def _panel(face: Face) -> None:
    """Show the run with buttons."""
    panel_of(face).show()


def panel_of(face: Face) -> Panel:
    """Return the panel of a session; its buttons do what the commands do."""
    session = face.session

    def restore() -> str:
        session.journal.refresh()
        return _told(face.resume())

    def decide(step: str, way: Way, because: str) -> str:
        if way.how == How.RERUN:
            return _unlock(session, step, because)
        given = {**UNSAID, "because": because, "effect": way.effect}
        return _settle(session, step, way.how, given)

    return Panel(
        face.glance,
        {
            "Restore only": restore,
            "Plan": lambda: replies.plan(face.view()),
            "History": lambda: replies.events_table(_events(session)[::-1]),
            "Verify": lambda: replies.report(verify(session.journal)),
        },
        decide=decide,
        on_main=_on_main(),
    )


def _on_main() -> OnMain:
    """Return what hands a function to the kernel's main thread."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda act: act()
    return lambda act: _hand_over(loop, act)


def _hand_over(loop: asyncio.AbstractEventLoop, act: Callable[[], None]) -> None:
    loop.call_soon_threadsafe(act)


for command in (undo, checkout, fork, diff):
    steps.add_command(command)


def run_line(line: str, face: Face) -> None:
    """Run what stands behind ``%steps``.

    Raises
    ------
    UsageError
        The line cannot be understood.
    """
    try:
        steps.main(
            args=shlex.split(line),
            prog_name="%steps",
            standalone_mode=False,
            obj=face,
        )
    except (click.UsageError, ValueError) as error:
        clicks = isinstance(error, click.UsageError)
        told = error.format_message() if clicks else str(error)  # type: ignore[union-attr]
        names = " | ".join(sorted(steps.commands))
        raise UsageError(
            f"%steps {line}".rstrip(), because=told, remedy=f"Type %steps {names}"
        ) from error
