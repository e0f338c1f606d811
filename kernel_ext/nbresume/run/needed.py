"""Which groups of payloads the records of a run need, in whichever run they lie.

The rule: asks records and manifests, never the folder: what no record names is
somebody's work that is not done, or was cut off.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from nbresume.errors import Damaged, NbresumeError
from nbresume.model.borrowed import refs_of
from nbresume.model.codec import record_of
from nbresume.model.records import Committed, Forked, RunRecord, Tombstone
from nbresume.model.values import Erased, FoldRef, ManifestRef
from nbresume.run.holdings import Group
from nbresume.run.journal import Journal
from nbresume.run.manifests import read_manifest
from nbresume.run.packing import commit_attributes
from nbresume.store.trust import Link


def needed(journal: Journal, links: Iterable[Link]) -> list[Group]:
    """Return the groups that these records of a run need, each once.

    What a damaged record or manifest would have named is not known; `verify` tells
    the damage. What somebody erased is needed by nobody, though bytes may be left.
    """
    found: dict[Group, None] = {}
    erased: set[Group] = set()
    for record in _records(links):
        if isinstance(record, Tombstone) and record.what is not Erased.RETENTION:
            erased |= {Group(*one) for one in record.named(journal.run_id)}
        held: list[Any] = [record]
        if isinstance(record, Forked):
            try:
                held.append(journal.shared(record))
            except Damaged:
                held = held[:1]
        for ref in refs_of(held):
            found |= dict.fromkeys(_of_manifest(journal, ref))
        found |= {Group(journal.run_id, fold.group): None for fold in _folds(held)}
    return [group for group in found if group not in erased]


def published(journal: Journal, links: Iterable[Link]) -> dict[Group, dict[str, Any]]:
    """Return the attributes of the group of each commit, as plain zarr shows them."""
    found = {}
    for record in _records(links):
        ref = record.manifest if isinstance(record, Committed) else None
        if not isinstance(record, Committed) or ref is None or not ref.group or ref.run:
            continue
        try:
            manifest = read_manifest(journal.objects, ref)
            found[Group(journal.run_id, ref.group)] = commit_attributes(
                record, manifest
            )
        except (Damaged, KeyError):
            continue  # erased or damaged: nothing is shown of it
    return found


def _records(links: Iterable[Link]) -> Iterator[RunRecord]:
    for link in links:
        if link.envelope is None:
            continue
        try:
            yield record_of(link.envelope)
        except NbresumeError:
            # of a chain that was left by a migration: the one in use says the same
            continue


def _of_manifest(journal: Journal, ref: ManifestRef) -> list[Group]:
    own = Group(ref.run or journal.run_id, ref.group)
    try:
        places = read_manifest(journal.objects, ref).payloads.values()
    except Damaged:
        return [own]
    return [own, *(Group(p.run or journal.run_id, p.group) for p in places)]


def _folds(value: Any) -> list[FoldRef]:
    """Return every reference to a folded state in records."""
    found: list[FoldRef] = []
    todo = [value]
    while todo:
        match todo.pop():
            case FoldRef() as fold:
                if fold.group:
                    found.append(fold)
            case msgspec.Struct() as struct:
                todo += [getattr(struct, name) for name in struct.__struct_fields__]
            case list() as items:
                todo += items
            case dict() as mapping:
                todo += mapping.values()
    return found
