"""The command `nbresume key`: which key this is, a copy to keep, another one.

Parse → call → show, as ``ui.cli``. Only `export` and `new` print a key.
"""

from collections.abc import Callable
from pathlib import Path

import click

from nbresume.compose import data_folder
from nbresume.compose.keys import Keys, fresh_key, keys_of
from nbresume.compose.rotating import no_key, renew, rotate
from nbresume.compose.stores import OpenStore, Place, signers
from nbresume.ui.other_runs import StoreName, store_in

_USUAL = Path(".nbresume")


def _place() -> Place:
    return Place(store=_USUAL, data=data_folder())


def _keys() -> Keys:
    return keys_of(_place().key_file, create=False)


def _show(folder: Path | str | None) -> None:
    keys = _keys()
    if not keys.is_known:
        click.echo(f"there is no key yet: the first step makes {keys.source}")
    else:
        former = len(keys.all) - 1
        more = f", and {former} former" if former else ""
        click.echo(f"your key{more}: {keys.source}")
    if folder is not None or (_USUAL / "store.json").exists():
        _show_store(store_in(folder or _USUAL))


def _show_store(store: OpenStore) -> None:
    own = store.trust.key_ids
    click.echo(f"in the store {store.place.store} it is called {own[0]}")
    for key_id, count in sorted(signers(store).items()):
        whose = "another key"
        if key_id in own:
            whose = "your key" if key_id == own[0] else "your former key"
        click.echo(f"chains that end under {key_id or 'no key'} ({whose}): {count}")


def _new(_folder: Path | str | None) -> None:
    click.echo(fresh_key().hex())


def _export(_folder: Path | str | None) -> None:
    keys = _keys()
    if not keys.is_known:
        raise no_key("no key was printed", keys)
    for key in keys.all:
        click.echo(key.hex())


def _renew(_folder: Path | str | None) -> None:
    keys = renew(_place().key_file)
    click.echo(
        f"{keys.source} begins with a fresh key now; former keys below it: "
        f"{len(keys.all) - 1}. Keep a copy (nbresume key export), restart kernels and "
        "servers, then type nbresume key rotate FOLDER for each store"
    )


def _rotate(folder: Path | str | None, *, finish: bool) -> None:
    named = folder or _USUAL
    done = rotate(store_in(named), finish=finish)
    click.echo(f"data keys wrapped under {done.key_id}: {done.wrapped}")
    click.echo(f"chains of former keys that it vouches for: {done.vouched}")
    if done.foreign:
        click.echo(f"chains of other keys, as they were: {len(done.foreign)}")
    if done.waiting:
        click.echo(
            f"{', '.join(done.waiting)} can still open values: once every kernel, "
            f"server and person has the new key, type nbresume key rotate {named} "
            "--finish"
        )
    if done.retired:
        click.echo(
            f"{', '.join(done.retired)} opens nothing here any more: take it away "
            f"where your keys come from ({_keys().source}) once no other store needs it"
        )


_ACTIONS: dict[str, Callable[[Path | str | None], None]] = {
    "show": _show,
    "new": _new,
    "export": _export,
    "renew": _renew,
}


@click.command()
@click.argument("action", type=click.Choice([*_ACTIONS, "rotate"]))
@click.argument("folder", type=StoreName(), required=False)
@click.option(
    "--finish",
    is_flag=True,
    help="With rotate: former keys open nothing in FOLDER afterwards.",
)
def key(action: str, folder: Path | str | None, *, finish: bool) -> None:
    """Say which key signs here, print a fresh one or yours, or change it.

    FOLDER is a store; without it, .nbresume.
    """
    if action == "rotate":
        _rotate(folder, finish=finish)
    else:
        _ACTIONS[action](folder)
