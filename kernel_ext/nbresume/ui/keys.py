"""The command `nbresume key`: which key this is, a fresh one, a copy to keep.

Parse → call → show, as ``ui.cli``. Only `export` and `new` print a key.
"""

from collections.abc import Callable
from pathlib import Path

import click

from nbresume.compose import data_folder
from nbresume.compose.keys import VARIABLE, Keys, fresh_key, keys_of
from nbresume.compose.stores import OpenStore, Place, signers
from nbresume.errors import NotTrusted
from nbresume.ui.other_runs import StoreName, store_in

_USUAL = Path(".nbresume")


def _keys() -> Keys:
    place = Place(store=_USUAL, data=data_folder())
    return keys_of(place.key_file, create=False)


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
        click.echo(f"{count} chains end under {key_id or 'no key'} ({whose})")


def _new(_folder: Path | str | None) -> None:
    click.echo(fresh_key().hex())


def _export(_folder: Path | str | None) -> None:
    keys = _keys()
    if not keys.is_known:
        raise NotTrusted(
            "no key was printed",
            because=f"there is none yet in {keys.source}",
            remedy=f"Run a step: it makes the key; or set {VARIABLE}.",
        )
    for key in keys.all:
        click.echo(key.hex())


_ACTIONS: dict[str, Callable[[Path | str | None], None]] = {
    "show": _show,
    "new": _new,
    "export": _export,
}


@click.command()
@click.argument("action", type=click.Choice(list(_ACTIONS)))
@click.argument("folder", type=StoreName(), required=False)
def key(action: str, folder: Path | str | None) -> None:
    """Say which key signs here (show), or print a fresh one (new) or yours (export).

    FOLDER is a store; without it show looks at .nbresume.
    """
    _ACTIONS[action](folder)
