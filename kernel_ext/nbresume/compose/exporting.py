"""Runs of a store → one file.

The rule: the file is read back whole before it gets its name. A run that is in use is
cut at a record: what that one names was durable before it.
"""

from pathlib import Path

from msgspec import Struct

from nbresume.compose.access import note
from nbresume.compose.backups import check, unsound
from nbresume.compose.stores import OpenStore, open_journal
from nbresume.errors import KeyMissing
from nbresume.model.manifest import PACK
from nbresume.run.holdings import Group
from nbresume.run.needed import needed, published
from nbresume.run.ports import World
from nbresume.store import backups, groups
from nbresume.store.access import Act
from nbresume.store.backup_reader import BackupReader
from nbresume.store.backup_writer import BackupWriter
from nbresume.store.backups import Contents
from nbresume.store.chain import Chain
from nbresume.store.drafts import PACK_CHUNK
from nbresume.store.objects import ROOT
from nbresume.store.trust import Link, vouched_in, vouching


class Exported(Struct, frozen=True, kw_only=True):
    """A backup that was made."""

    file: str
    bytes: int
    store_id: str
    runs: list[str]
    checkpoints: list[str]
    records: int
    made_at: str
    problems: list[str]
    """What was damaged or missing in the store: it is so in the backup."""


def export(
    store: OpenStore,
    runs: list[str],
    path: Path,
    world: World,
    *,
    checkpoints: list[str],
    damaged: bool = False,
) -> Exported:
    """Write a backup of runs of a store; it may be in use.

    Parameters
    ----------
    checkpoints
        Chains that belong to no run.
    damaged
        Write it although something in the store is damaged.

    Raises
    ------
    RefusedError
        There is such a file.
    SealedError
        Values are encrypted, and none of the user's keys opens them.
    NotTrusted
        A run was written under another key.
    Damaged
        Something in the store is damaged or missing.
    StoreError
        The store cannot be read, or the file not be written; there is none then.
    """
    with BackupWriter(path) as writer:
        records = sum(_add_run(writer, store, run_id, world) for run_id in runs)
        records += sum(len(_add_chain(writer, store.chain(c))) for c in checkpoints)
        _add_keys(writer, store, {*runs, *checkpoints})
        contents = Contents(
            format=backups.FORMAT,
            store_id=store.store_id,
            cipher=store.cipher,
            writer=backups.writer(),
            made_at=world.clock.now().isoformat(timespec="seconds"),
            made_by=world.liveness.actor(),
            runs=sorted(runs),
            checkpoints=sorted(checkpoints),
            files=writer.files,
        ).signed(store.trust)
        writer.end(contents)
        with BackupReader(writer.part) as reader:
            checked = check(reader, store.place, world)
        problems = checked.problems_of([*contents.runs, *contents.checkpoints])
        if problems and not damaged:
            raise unsound("nothing was exported", problems, "export")
        size = writer.part.stat().st_size
        for run in [*contents.runs, *contents.checkpoints]:
            note(store, world, Act.EXPORTED, run=run, detail=str(path))
        writer.publish()
    return _told(path, size, contents, records, problems)


def _told(
    path: Path, size: int, contents: Contents, records: int, problems: list[str]
) -> Exported:
    return Exported(
        file=str(path),
        bytes=size,
        store_id=contents.store_id,
        runs=contents.runs,
        checkpoints=contents.checkpoints,
        records=records,
        made_at=contents.made_at,
        problems=problems,
    )


def _add_keys(writer: BackupWriter, store: OpenStore, names: set[str]) -> None:
    """Add what opens values and vouches for records, as it lies there.

    Of the chains of other runs nothing is said.
    """
    for key, data in store.data_keys.stored().items() if store.data_keys else ():
        writer.add(key, data)
    pins = {
        (chain, revision): digest
        for (chain, revision), digest in vouched_in(store.files, store.trust).items()
        if chain.partition(".")[0] in names
    }
    if pins:
        writer.add(*vouching(store.trust, pins))


def _add_run(writer: BackupWriter, store: OpenStore, run_id: str, world: World) -> int:
    """Add all that a run needs, up to the newest record there is; count the records."""
    journal = open_journal(store, run_id, world)
    journal.open()
    chain = store.chain(run_id)
    # its own chain first: what a migration that goes on meanwhile adds to the other
    # one does not count before the run's own chain says so
    links = _add_chain(writer, chain)
    for copy in chain.copies():
        links += _add_chain(writer, chain.other(copy))
    backend = store.backend
    # after the records: a note more than there was at the newest one does no harm
    for attempt in backend.names(f"seen/{run_id}"):
        key = f"seen/{run_id}/{attempt}"
        writer.add(key, backend.read(key))
    shown = published(journal, links)
    writer.add(f"{ROOT}/{groups.METADATA}", groups.group_metadata({}))
    for group in needed(journal, links):
        folder = f"{ROOT}/{group.run}/{groups.METADATA}"
        writer.add(folder, groups.group_metadata({}))
        _add_group(writer, store, group, groups.group_metadata(shown.get(group, {})))
    return len(links)


def _add_chain(writer: BackupWriter, chain: Chain) -> list[Link]:
    newest = chain.newest()
    links = []
    for revision in range(0 if newest is None else newest + 1):
        try:
            writer.add(*chain.stored(revision))
        except KeyMissing:
            continue  # read back, it is told as damaged
        links.append(chain.read(revision))
    return links


def _add_group(
    writer: BackupWriter, store: OpenStore, group: Group, unpublished: bytes
) -> None:
    backend = store.files
    folder = f"{ROOT}/{group.key}"
    names = backend.names(folder)
    for name in sorted(names):
        key = f"{folder}/{name}"
        if name == groups.METADATA:
            continue
        for part in sorted(backend.names(key)):
            writer.add(f"{key}/{part}", backend.read(f"{key}/{part}"))
    # what shows a group to plain zarr comes after its record: it may not be there yet
    pack = f"{folder}/{PACK}"
    if f"{pack}/{PACK_CHUNK}" in writer.files:
        size = store.backend.size(f"{pack}/{PACK_CHUNK}") or 0
        codecs = store.backend.codecs(pack)
        about = groups.array_metadata((size,), "uint8", (size,), codecs)
        writer.add(f"{pack}/{groups.METADATA}", about)
    if groups.METADATA in names:
        writer.add(
            f"{folder}/{groups.METADATA}", backend.read(f"{folder}/{groups.METADATA}")
        )
    elif names:
        writer.add(f"{folder}/{groups.METADATA}", unpublished)
