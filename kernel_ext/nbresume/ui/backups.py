"""The commands `export` and `import`: runs as one file, and back.

Parse → call → show, as ``ui.cli``.
"""

import re
from pathlib import Path

import click

from nbresume.compose import data_folder, settings_from_environment
from nbresume.compose.exporting import export
from nbresume.compose.importing import import_backup
from nbresume.compose.stores import OpenStore, Place, run_id_of, where
from nbresume.errors import UsageError
from nbresume.store.backup_reader import BackupReader
from nbresume.store.remote_open import is_url
from nbresume.ui import text, told
from nbresume.ui.asking import ask, world_of
from nbresume.ui.other_runs import StoreName, say, store_in

_RUN = re.compile(r"[0-9a-f]{16}")
_FILE = click.argument(
    "file", type=click.Path(path_type=Path, dir_okay=False, exists=True)
)
_RUNS = click.option(
    "--run", "runs", multiple=True, metavar="RUN", help="Only this run; repeatable."
)
_DAMAGED = click.option(
    "--damaged", is_flag=True, help="Also if something in it is damaged or missing."
)
_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command("export")
@click.argument("what")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@_RUNS
@_DAMAGED
@_JSON
def export_(
    what: str, file: Path, runs: tuple[str, ...], *, damaged: bool, as_json: bool
) -> None:
    """Write the run of a notebook, or all of a store, as one FILE: a plain zarr zip.

    WHAT is a notebook, the id of a run, or a store: its folder or its URL. Runs may be
    in use.
    """
    store, wanted, checkpoints = _asked(what, [run_id_of(run) for run in runs])
    done = export(
        store,
        wanted,
        file.absolute(),
        world_of(None, say),
        checkpoints=checkpoints,
        damaged=damaged,
    )
    click.echo(text.as_json(done) if as_json else told.exported(done))


@click.command("import")
@_FILE
@click.argument("folder", type=StoreName(must_exist=False), required=False)
@_RUNS
@_DAMAGED
@click.option(
    "--check", is_flag=True, help="Look at all of FILE, at no store; write nothing."
)
@_JSON
def import_(
    file: Path,
    folder: Path | str | None,
    runs: tuple[str, ...],
    *,
    damaged: bool,
    check: bool,
    as_json: bool,
) -> None:
    """Bring the runs of FILE, which `export` wrote, into the store in FOLDER.

    FOLDER is the store of this folder if it is not named; it is made if there is none.
    """
    settings = settings_from_environment()
    target = where(settings.store) if folder is None else folder
    place = Place(
        store=target if isinstance(target, str) else target.absolute(),
        data=data_folder(),
        encrypt=settings.encrypt,
    )
    with BackupReader(file) as reader:
        done = import_backup(
            reader,
            place,
            world_of(None, say),
            runs=[run_id_of(run) for run in runs],
            damaged=damaged,
            only_check=check,
        )
    shown = told.imported(done, only_checked=check)
    click.echo(text.as_json(done) if as_json else shown)


def _asked(what: str, runs: list[str]) -> tuple[OpenStore, list[str], list[str]]:
    """Return the store that was meant, the runs, and the chains that belong to none."""
    path = Path(what)
    if path.is_file():
        asked = ask(path, say)
        return _known(asked.store, runs or [asked.run.journal.run_id])
    if _RUN.fullmatch(what) and not path.exists():
        store = store_in(where(settings_from_environment().store))
        return _known(store, [what, *runs])
    store = store_in(what if is_url(what) else path)
    if runs:
        return _known(store, runs)
    everything = sorted(store.runs().ids())
    chains = store.backend.names("journal")
    others = [name for name in chains if name.partition(".")[0] not in everything]
    return store, everything, sorted(others)


def _known(store: OpenStore, runs: list[str]) -> tuple[OpenStore, list[str], list[str]]:
    """Return the runs; refuse one that the store does not have."""
    known = store.runs().ids()
    unknown = [run for run in runs if run not in known]
    if unknown:
        raise UsageError(
            "nothing was exported",
            because=f"the store {store.place.store} has no run {unknown[0]}",
            remedy="Type nbresume runs FOLDER to see its runs.",
            run_id=unknown[0],
        )
    return store, sorted(set(runs)), []
