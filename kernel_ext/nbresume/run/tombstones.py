"""Tombstones in the chains of one family, and what was cut off behind them.

The rule: the same tombstone stands in every run that may refer to the payloads, durable
before the first byte goes; a fork that is begun meanwhile gets it too, or is spared.
"""

from collections.abc import Iterable

import msgspec

from nbresume.model.records import Tombstone
from nbresume.model.values import Erased
from nbresume.run.holdings import Family, Group, Holdings
from nbresume.store.sweeping import Stock


class Tombstones:
    """Those of one family."""

    def __init__(self, family: Family, stock: Stock) -> None:
        self._family = family
        self._stock = stock

    def put_all(self, record: Tombstone) -> None:
        """Append a tombstone, in which each run is named, to every run it concerns.

        Raises
        ------
        ConflictError
            Somebody appended to one of the runs since it was read; no byte may go.
        """
        for held in self.concerned(record):
            self.put(record, held)

    def concerned(self, record: Tombstone) -> list[Holdings]:
        """Return the runs that hold what goes, or name it, and do not know it yet."""
        return [held for held in self._family.runs.values() if _new_to(held, record)]

    def put(self, record: Tombstone, held: Holdings) -> None:
        """Append a tombstone to one run of the family, in that run's words.

        Raises
        ------
        ConflictError
            Somebody appended to the run since it was read.
        """
        groups = _groups(record)
        said = msgspec.structs.replace(
            record,
            groups={
                "" if run == held.run_id else run: names
                for run, names in record.groups.items()
            },
            commits=[
                revision
                for revision, commit in held.commits.items()
                if commit.group in groups
            ],
        )
        held.journal.decide_on(said, held.journal.state.revision)
        held.tombstones.append(said)

    def finish(self) -> int:
        """Finish what was cut off; return how many bytes got free.

        A run that may refer to what went gets the tombstone, and what is left of an
        erasure goes.

        Raises
        ------
        ConflictError
            Somebody appended to one of the runs meanwhile.
        StoreError
            The store cannot write.
        """
        for held in list(self._family.runs.values()):
            for record in list(held.tombstones):
                self._spread(_for_all(record, held.run_id))
        left = {
            group
            for held in self._family.runs.values()
            for record in held.tombstones
            if record.what is not Erased.RETENTION
            for group in _groups(_for_all(record, held.run_id))
            if group.run in self._family.runs and self._is_there(group)
        }
        return sum(self._stock.sweep(*group) for group in sorted(left))

    def _spread(self, record: Tombstone) -> None:
        for held in self._family.runs.values():
            if self._lacks(record, held):
                self.put(record, held)

    def _lacks(self, record: Tombstone, held: Holdings) -> bool:
        """Say whether a run has to know a tombstone, and does not."""
        hit = _new_to(held, record)
        if record.what is Erased.RETENTION:
            # what is there was kept, because this run needs it
            hit = {group for group in hit if not self._is_there(group)}
        return bool(hit)

    def _is_there(self, group: Group) -> bool:
        return group.name in self._stock.groups(group.run)


def by_run(groups: Iterable[Group]) -> dict[str, list[str]]:
    """Return run → its groups, as a tombstone names them."""
    found: dict[str, list[str]] = {}
    for run, name in sorted(groups):
        found.setdefault(run, []).append(name)
    return found


def _groups(record: Tombstone) -> set[Group]:
    return {Group(*one) for one in record.named()}


def _new_to(held: Holdings, record: Tombstone) -> set[Group]:
    """Return the groups of a tombstone that a run holds or names and knows not gone."""
    mine = {g for g in _groups(record) if g.run == held.run_id or g in held.named}
    return mine - held.erased()


def _for_all(record: Tombstone, run_id: str) -> Tombstone:
    """Return a tombstone of one run's chain with each run named."""
    groups = {run or run_id: names for run, names in record.groups.items()}
    return msgspec.structs.replace(record, groups=groups)
