"""One file → runs of a store.

The rule: everything that speaks against it is found before a byte is placed; a run is
in the store when all of it is.
"""

from pathlib import Path

import msgspec
from msgspec import Struct

from nbresume.compose.access import note
from nbresume.compose.backups import (
    Checked,
    chains_of_backup,
    check,
    check_fits,
    unsound,
)
from nbresume.compose.stores import OpenStore, Place, open_store
from nbresume.errors import SealedError, Unavailable, UsageError
from nbresume.run.ports import World
from nbresume.settings import MIB
from nbresume.store import layout
from nbresume.store.access import Act
from nbresume.store.backup_reader import BackupReader
from nbresume.store.backups import Contents
from nbresume.store.local import LocalBackend
from nbresume.store.objects import ROOT
from nbresume.store.placing import Placing
from nbresume.store.trust import save_pin

_OF_THE_STORE = ("keys/", "vouched/")
"""What begins so belongs to no run: each of them needs it."""
_RESERVE_BYTES = MIB
"""Left free for metadata and for what comes next."""


class Imported(Struct, frozen=True, kw_only=True):
    """Runs that were brought into a store, or could be."""

    store: str
    store_id: str
    runs: list[str]
    checkpoints: list[str]
    records: int
    bytes: int
    made_at: str
    made_by: str
    trusted: bool
    problems: list[str]


def import_backup(
    reader: BackupReader,
    place: Place,
    world: World,
    *,
    runs: list[str],
    damaged: bool = False,
    only_check: bool = False,
) -> Imported:
    """Bring runs of a backup into the store of a folder; it is made if there is none.

    Parameters
    ----------
    runs
        Those that are wanted; none for everything.
    damaged
        Bring it in although something in it is damaged.
    only_check
        Look at the backup, and at no store.

    Raises
    ------
    UsageError
        The backup has no such run, or the store is no folder.
    Damaged
        The file is torn, was tampered with, or what it holds is damaged.
    RefusedError
        A run is in the store already, or other bytes under its name; or one of backup
        and store is encrypted, and the other one is not.
    SealedError
        Values of the backup are encrypted and none of the user's keys opens them; or
        they are not, and have to be.
    StoreError
        The store cannot be written; no run of the backup is in it then.
    """
    checked = check(reader, place, world)
    contents = _chosen(checked, runs)
    problems = checked.problems_of([*contents.runs, *contents.checkpoints])
    if problems and not damaged:
        raise unsound("nothing was imported", problems, "import")
    told = _told(place, contents, problems, trusted=checked.trusted)
    if only_check:
        return told
    store = _store_for(reader, contents, place)
    if checked.trusted and store.store_id != contents.store_id:
        _pin(store, checked, contents)
    for run in [*contents.runs, *contents.checkpoints]:
        note(store, world, Act.IMPORTED, run=run, detail=str(reader.path.absolute()))
    _place(reader, contents, store)
    return msgspec.structs.replace(told, store_id=store.store_id)


def _store_for(reader: BackupReader, contents: Contents, place: Place) -> OpenStore:
    """Return the store that takes the backup, made if there is none."""
    if isinstance(place.store, str):
        raise _no_folder(place.store)
    if (place.store / layout.KEY).exists():
        there = open_store(place, create=False)
        with _placing(there, contents) as placing:
            _check_free(placing, there, contents)
    elif place.encrypt and not contents.cipher:
        raise _in_the_clear(reader.path)
    data_keys = {key: reader.read(key) for key in contents.files if _is_data_key(key)}
    return open_store(place, create=True, like=contents.layout, data_keys=data_keys)


def _told(
    place: Place, contents: Contents, problems: list[str], *, trusted: bool
) -> Imported:
    return Imported(
        store=str(place.store),
        store_id=contents.store_id,
        runs=contents.runs,
        checkpoints=contents.checkpoints,
        records=sum(key.startswith("journal/") for key in contents.files),
        bytes=sum(kept.size for kept in contents.files.values()),
        made_at=contents.made_at,
        made_by=contents.made_by,
        trusted=trusted,
        problems=problems,
    )


def _chosen(checked: Checked, runs: list[str]) -> Contents:
    """Return the table of contents with what was asked for alone."""
    contents = checked.contents
    if not runs:
        return contents
    unknown = set(runs) - set(contents.runs)
    if unknown:
        raise UsageError(
            "nothing was imported",
            because=f"the backup has no run {min(unknown)}",
            remedy=f"Name one of its runs: {', '.join(contents.runs) or 'none'}.",
        )
    named = {f"{ROOT}/{group.key}/" for run in runs for group in checked.groups[run]}
    files = {
        key: kept
        for key, kept in contents.files.items()
        if (key.startswith(ROOT) and f"{'/'.join(key.split('/')[:3])}/" in named)
        or (not key.startswith(ROOT) and key.split("/")[1].partition(".")[0] in runs)
        or key.startswith(_OF_THE_STORE)
    }
    return msgspec.structs.replace(
        contents, runs=sorted(set(runs)), checkpoints=[], files=files
    )


def _placing(store: OpenStore, contents: Contents) -> Placing:
    if not isinstance(store.files, LocalBackend):
        raise _no_folder(str(store.place.store))
    check_fits(store, contents)
    files = {k: kept for k, kept in contents.files.items() if not _is_data_key(k)}
    return Placing(store.files, files)


def _is_data_key(key: str) -> bool:
    return key.startswith("keys/")


def _check_free(placing: Placing, store: OpenStore, contents: Contents) -> None:
    """Pass if nothing stands in the way: no run, no other bytes, and enough space."""
    placing.check(chains_of_backup(contents))
    free = store.backend.free_bytes()
    wanted = sum(kept.size for kept in contents.files.values()) + _RESERVE_BYTES
    if free is not None and free < wanted:
        raise Unavailable(
            "nothing was imported",
            because=f"{wanted} bytes are needed, {free} are free",
            remedy="Free some space, or import into another folder.",
        )


def _place(reader: BackupReader, contents: Contents, store: OpenStore) -> None:
    chains = chains_of_backup(contents)
    with _placing(store, contents) as placing:
        _check_free(placing, store, contents)
        placing.stage(reader.slices)
        placing.place_data()
        # the chain that has a run's id comes last: with it the run is there
        for chain in sorted(chains, key=lambda name: (name in contents.runs, name)):
            placing.place_chain(chain)
    known = store.runs()
    for claimed in known.all():
        if claimed.run_id in contents.runs:
            known.note(claimed)


def _pin(store: OpenStore, checked: Checked, contents: Contents) -> None:
    """Accept the records here: they were signed by this user for the other store."""
    pins = store.place.pins_file(store.store_id)
    for chain in chains_of_backup(contents):
        for head in checked.heads[chain]:
            save_pin(pins, chain, head.revision, head.digest)


def _in_the_clear(path: Path) -> SealedError:
    return SealedError(
        "nothing was imported",
        because=f"the values in {path} are in the clear, and NBRESUME_ENCRYPT is set",
        remedy="To import it all the same, unset NBRESUME_ENCRYPT.",
    )


def _no_folder(store: str) -> UsageError:
    return UsageError(
        "nothing was imported",
        because=f"{store} is no folder: a run comes into a store in one move, and an "
        "object store has none",
        remedy="Import into a folder: nbresume import FILE FOLDER",
    )
