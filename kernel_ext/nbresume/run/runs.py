"""Which run a notebook belongs to.

The rule: exact path; else a run whose notebook is gone and that shares a cell with
this one (renamed: adopted, told); else a run of its own (told if it is a copy).
Claims are found by their derived copies in ``runs/``; a run that has none there
(a crash between claim and copy) is looked up in its chain. The id of a run follows
from the notebook's path and counts up, so kernels that begin a run at the same moment
begin the same one, and the later of two runs is known without a clock.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

import msgspec

from nbresume.errors import Damaged, KeyMissing
from nbresume.model.codec import canonical, decode, record_of
from nbresume.model.digests import cue_digest
from nbresume.model.folded import RunState
from nbresume.model.records import CLAIMS, Claim, Forked
from nbresume.model.threads import in_threads
from nbresume.model.values import Origin
from nbresume.run.ports import World
from nbresume.store.port import Backend
from nbresume.store.trust import Link

_RUN = re.compile(r"[0-9a-f]{16}")
_AT_ONCE = 16
"""About so many runs a store is asked at once …"""
_FEW = 4
"""… if each of the threads has so many to ask about."""

Found = TypeVar("Found")


class Claimed(msgspec.Struct, frozen=True, kw_only=True):
    """A claim as ``runs/`` repeats it."""

    run_id: str
    epoch: int
    at: datetime
    claim: Claim


class Runs:
    """The runs of one store."""

    def __init__(
        self,
        backend: Backend,
        read_chain: Callable[[str], Iterable[Link]],
        *,
        read_first: Callable[[str], Link],
        store_id: str,
    ) -> None:
        self._backend = backend
        self._read_chain = read_chain
        self._read_first = read_first
        self._store_id = store_id

    def note(self, claimed: Claimed) -> None:
        """Repeat a claim in ``runs/``, where it is found without reading a chain."""
        self._backend.publish({_key(claimed): canonical(claimed)})

    def is_noted(self, claimed: Claimed) -> bool:
        """Say whether a claim is repeated there, as it is."""
        try:
            return self._backend.read(_key(claimed)) == canonical(claimed)
        except KeyMissing:
            return False

    def ids(self) -> set[str]:
        """Return the id of each run that has a chain."""
        return {n for n in self._backend.names("journal") if _RUN.fullmatch(n)}

    def next_id(self, path: str) -> str:
        """Return the id of the next run that begins at a path.

        Of two kernels that ask at once only one can create its first record.
        """
        return self.ids_at(path)[-1]

    def newest_at(self, path: str, ids: Sequence[str]) -> Claimed | None:
        """Return the newest of these runs that is at a path; reads no other run."""
        newest = map(self._newest, reversed(ids))
        return next((c for c in newest if c and c.claim.notebook == path), None)

    def ids_at(self, path: str) -> list[str]:
        """Return the ids of the runs that began at a path, and that of the next one."""
        return [*self._ids_at(path)]

    def _ids_at(self, path: str) -> Iterator[str]:
        count = 0
        while True:
            run_id = cue_digest(canonical([self._store_id, path, count]))[:16]
            yield run_id
            # its folder alone is not it: that is made before the first record
            if not self._backend.names(f"journal/{run_id}"):
                return
            count += 1

    def origins(self, run_ids: Sequence[str]) -> list[Origin | None]:
        """Return the same as `origin` for each of these runs."""
        return _each(self.origin, run_ids)

    def origin(self, run_id: str) -> Origin | None:
        """Return where a run comes from by its first record; None if it is no fork.

        Whoever wrote that record: for listing, and for leaving payloads alone.
        """
        try:
            envelope = self._read_first(run_id).envelope
        except KeyMissing:
            return None
        if envelope is None or envelope.kind != Forked.KIND:
            return None
        record = record_of(envelope)
        return record.origin if isinstance(record, Forked) else None

    def all(self) -> list[Claimed]:
        """Return the newest claim of each run, newest run first."""
        names = sorted({*self._backend.names("runs")} | self.ids())
        claims = [c for c in _each(self._newest, names) if c is not None]
        return sorted(claims, key=lambda c: (c.at, c.run_id), reverse=True)

    def _newest(self, run_id: str) -> Claimed | None:
        for epoch in sorted(self._backend.names(f"runs/{run_id}"), reverse=True):
            key = f"runs/{run_id}/{epoch}"
            try:
                return decode(self._backend.read(key), Claimed, name=key)
            except (Damaged, KeyMissing):
                break  # derived: the chain says it again
        return self._from_chain(run_id)

    def _from_chain(self, run_id: str) -> Claimed | None:
        found = None
        for link in self._read_chain(run_id):
            envelope = link.envelope
            if envelope is None or envelope.kind not in CLAIMS:
                continue
            record = record_of(envelope)
            if isinstance(record, Claim):
                found = Claimed(
                    run_id=run_id,
                    epoch=envelope.epoch,
                    at=envelope.updated_at,
                    claim=record,
                )
        return found


def _each(ask: Callable[[str], Found], run_ids: Sequence[str]) -> list[Found]:
    """Ask about each run; about many of them some at a time, as a bucket is far."""
    return in_threads(ask, run_ids, threads=min(_AT_ONCE, len(run_ids) // _FEW))


def claimed_now(run_id: str, state: RunState) -> Claimed | None:
    """Return the claim of a run that counts; None if it has not begun."""
    if state.claim is None or state.claimed_at is None:
        return None
    return Claimed(
        run_id=run_id, epoch=state.epoch, at=state.claimed_at, claim=state.claim
    )


def _key(claimed: Claimed) -> str:
    return f"runs/{claimed.run_id}/{claimed.epoch:010d}"


def choose_run(
    runs: Runs,
    world: World,
    *,
    named: str = "",
    may_see: Callable[[str], bool] = lambda _path: True,
) -> str:
    """Return the id of the run that this notebook goes on with, or a fresh one.

    Parameters
    ----------
    runs
        The runs of the store.
    world
        Tells the notebook's path and cells, tells the person.
    named
        A run that was asked for by setting.
    may_see
        Whether who asks may know of a run of the notebook that had this path.
    """
    if named:
        return named
    path = world.notebook.path
    # asked first: a run that is claimed from now on is this one
    *begun, fresh = runs.ids_at(path)
    # what began elsewhere and came here was here before any that began here
    here = runs.newest_at(path, begun) if path else None
    if here is not None:
        return here.run_id
    # only for a notebook that has none: this reads a claim of each run
    claims = runs.all()
    for claimed in claims:
        if path and claimed.claim.notebook == path:
            return claimed.run_id
    mine = {c.cell_id for c in world.notebook.cells() or () if c.cell_id}
    kin = [c for c in claims if mine & set(c.claim.cells) and may_see(c.claim.notebook)]
    for claimed in kin:
        if not world.notebook.exists(claimed.claim.notebook):
            world.screen.say(
                f"this notebook was {claimed.claim.workflow} before: "
                "its steps are taken over"
            )
            return claimed.run_id
    if kin:
        world.screen.say(
            f"this notebook looks like a copy of {kin[0].claim.workflow}: "
            "it starts a run of its own; to go on with that one, set "
            f"NBRESUME_RUN={kin[0].run_id} and restart the kernel and the server"
        )
    return fresh
