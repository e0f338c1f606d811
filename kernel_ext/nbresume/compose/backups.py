"""A backup, read whole: its bytes, its records, the payloads that they name.

The rule: nothing of it counts, and not a byte of it is placed, before all of it was
looked at by what verifies a store.
"""

import msgspec
from msgspec import Struct

from nbresume.compose.stores import (
    OpenStore,
    Place,
    heads_of,
    open_journal,
    store_in,
)
from nbresume.errors import Damaged, NotTrusted, RefusedError
from nbresume.run.holdings import Group
from nbresume.run.moves import found_at
from nbresume.run.needed import needed
from nbresume.run.ports import World
from nbresume.run.verify import verify
from nbresume.store import backups
from nbresume.store.backup_reader import BackupReader
from nbresume.store.backups import Contents
from nbresume.store.chain import Chain
from nbresume.store.objects import ROOT
from nbresume.store.trust import Link

_TOLD = 5
"""So many problems are told one by one."""


class Checked(Struct, frozen=True, kw_only=True):
    """A backup that was read whole."""

    contents: Contents
    trusted: bool
    """This user made it, of records that this user vouches for."""
    heads: dict[str, list[Link]]
    """Chain → the records on which all others hang."""
    groups: dict[str, list[Group]]
    """Run → the groups that it needs."""
    problems: dict[str, list[str]]
    """Run, or chain that belongs to none → what is damaged or missing of it."""

    def problems_of(self, names: list[str]) -> list[str]:
        """Return what is damaged or missing of these, in words."""
        return [
            f"{name}: {problem}" for name in names for problem in self.problems[name]
        ]


def check(reader: BackupReader, place: Place, world: World) -> Checked:
    """Read a backup whole: its bytes, its records, the payloads that they name.

    Raises
    ------
    SealedError
        Its values are encrypted, and none of the user's keys opens them.
    Damaged
        Its bytes are not those that were written, or it holds what no record names.
    SchemaError
        A record is of a format that this release cannot read.
    """
    reader.check()
    contents = reader.contents
    store = store_in(reader, contents.layout, place)
    if store.data_keys is not None:
        store.data_keys.current()
    trust = store.trust
    own = contents.is_own(trust)
    chains = chains_of_backup(contents)
    links = {name: _read(Chain(reader, trust, name)) for name in chains}
    if own:
        try:
            links = {name: trust.vouch(found) for name, found in links.items()}
        except NotTrusted:
            own = False
    heads = {name: heads_of(found) for name, found in links.items()}
    if not own:
        pins = {(n, h.revision): h.digest for n, found in heads.items() for h in found}
        trust = trust.accepting(pins)
        links = {name: trust.vouch(found) for name, found in links.items()}
    store = msgspec.structs.replace(store, trust=trust)
    wanted: dict[str, list[Group]] = {}
    problems: dict[str, list[str]] = {}
    in_use: set[str] = set()
    for run_id in contents.runs:
        journal = open_journal(store, run_id, world)
        journal.open()
        in_use.add(journal.chain_id)
        all_links = [one for n in chains if chains[n] == run_id for one in links[n]]
        wanted[run_id] = needed(journal, all_links)
        problems[run_id] = list(verify(journal).problems)
    for name in chains.keys() - in_use:
        bad = [link.revision for link in links[name] if link.envelope is None]
        found = problems.setdefault(chains[name] or name, [])
        found += [f"record {revision} of {name} is damaged" for revision in bad]
    _check_named(contents, wanted)
    return Checked(
        contents=contents,
        trusted=own,
        heads=heads,
        groups=wanted,
        problems=problems,
    )


def chains_of_backup(contents: Contents) -> dict[str, str]:
    """Return chain → the run that it belongs to; "" if to none."""
    found = {}
    for key in contents.files:
        folder, _, rest = key.partition("/")
        if folder != "journal":
            continue
        name = rest.partition("/")[0]
        run_id = name.partition(".")[0]
        if run_id not in contents.runs and name not in contents.checkpoints:
            raise backups.torn(f"it holds records of {name}, which it does not name")
        found[name] = run_id if run_id in contents.runs else ""
    missing = {*contents.runs, *contents.checkpoints} - found.keys()
    if missing:
        raise backups.torn(f"it holds no records of {min(missing)}")
    return found


def _read(chain: Chain) -> list[Link]:
    newest = chain.newest()
    return [found_at(chain, r) for r in range(0 if newest is None else newest + 1)]


def _check_named(contents: Contents, wanted: dict[str, list[Group]]) -> None:
    """Pass if every payload lies in a group that a record names."""
    named = {f"{ROOT}/{group.key}" for found in wanted.values() for group in found}
    for key in contents.files:
        above, _, rest = key.partition("/")
        if above == "seen" and rest.partition("/")[0] not in contents.runs:
            raise backups.torn(f"it holds {key}, and not its run")
        parts = key.split("/")
        if above == ROOT and len(parts) > 3 and "/".join(parts[:3]) not in named:  # noqa: PLR2004 - data.zarr, run, group
            raise backups.torn(f"it holds {key}, which no record names")


def check_fits(store: OpenStore, contents: Contents) -> None:
    """Pass if values of a backup can lie in a store as they are.

    Raises
    ------
    RefusedError
        One of both is encrypted; or both are, and they are not the same store.
    """
    into = "encrypted" if store.cipher else "not encrypted"
    if store.cipher != contents.cipher:
        have = "is encrypted" if contents.cipher else "is not encrypted"
        because = f"the store {store.place.store} is {into}, and the backup {have}"
    elif store.cipher and store.store_id != contents.store_id:
        because = (
            f"{store.place.store} is another encrypted store than the one that the "
            "backup was made of, and its values open in no other one"
        )
    else:
        return
    raise RefusedError(
        "nothing was imported",
        because=because,
        remedy="Import it into a folder of its own: nbresume import FILE FOLDER",
    )


def unsound(refused: str, problems: list[str], command: str) -> Damaged:
    """Return the error that refuses what is damaged, with the way out."""
    told = "; ".join(problems[:_TOLD])
    more = f"; and {len(problems) - _TOLD} more" if len(problems) > _TOLD else ""
    return Damaged(
        refused,
        because=f"{len(problems)} things in it are damaged or missing ({told}{more})",
        remedy="Run the steps that they belong to again; what takes everything as it "
        f"is: nbresume {command} … --damaged",
    )
