"""A run in the formats of this release: a new chain beside the old one, then a switch.

The rule: the old chain says everything until one record closes it, and that record is
the migration. Nothing of it is replaced or deleted, so it can be opened again; what
was cut off is begun again, and finds again what it had written.
"""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct

from nbresume.errors import ConflictError, Damaged, RefusedError, TakenRun
from nbresume.migrations.route import UPGRADES, Upgrades, upgraded
from nbresume.model.codec import (
    SCHEMAS,
    Schemas,
    encode_envelope,
    payload_of,
    record_of,
)
from nbresume.model.digests import record_digest
from nbresume.model.envelope import Envelope
from nbresume.model.folded import RunState
from nbresume.model.records import CLAIMS, Claim, Committed, Migration, Quarantined
from nbresume.model.values import Writer
from nbresume.run.moves import chain_in_use, chains_of, find_migration, found_at
from nbresume.run.ports import World
from nbresume.store.chain import Chain
from nbresume.store.trust import Link, Trust


class Formats(Struct, frozen=True):
    """What a release reads, and what it makes that of."""

    schemas: Schemas
    upgrades: Upgrades


CURRENT = Formats(SCHEMAS, UPGRADES)
"""Those of this release."""


class Wish(Struct, frozen=True):
    """A person's wish to have runs migrated, or that undone."""

    because: str
    take_over: bool = False
    """Also from a kernel that may be alive."""


class Moved(Struct, frozen=True):
    """Where a run goes on."""

    run_id: str
    chain: str
    records: int
    changes: dict[str, tuple[int, int]]
    """Kind → schema version before and after; empty if nothing had to be done."""


class Migrator:
    """Takes the runs of one store from format to format, one by one."""

    def __init__(
        self, trust: Trust, world: World, product: str, formats: Formats
    ) -> None:
        self._trust = trust
        self._world = world
        self._product = product
        self._formats = formats

    def migrate(self, chain: Chain, wish: Wish) -> Moved:
        """Let a run go on in a chain that this release can read.

        Parameters
        ----------
        chain
            The chain that has the run's id.
        wish
            Why, and whether a kernel that may be alive is fenced.

        Raises
        ------
        SchemaError
            A record is of a format from which no way leads to this release; nothing
            was written.
        NotTrusted
            The run was written under another key: its records are not signed anew.
        TakenRun
            A kernel that may be alive holds the run.
        ConflictError
            Somebody appended to the run meanwhile.
        Damaged
            No claim can be read, or the copy is not what was written.
        """
        run_id = chain.checkpoint_id
        old, newest = chain_in_use(chain, self._trust)
        links = self._read(old, newest)
        # every record has a way to this release, or nothing is written at all
        list(self._converted(links, old.checkpoint_id))
        changes = self._changes(links)
        if not changes:
            return Moved(run_id, old.checkpoint_id, len(links), {})
        links.append(self._fence(old, links, wish))
        copy = self._copy(chain, old, links)
        closing = Migration(
            chain=copy.checkpoint_id,
            revision=links[-1].revision,
            digest=self._verified(copy, links).digest,
            changes=changes,
            actor=self._world.liveness.actor(),
            because=wish.because,
        )
        self._put(old, closing, after=links[-1], epoch=_epoch(links))
        return Moved(run_id, copy.checkpoint_id, len(links), changes)

    def undo(self, chain: Chain, wish: Wish) -> Moved | None:
        """Let a run go on in the chain that it was migrated from; None if in none.

        Raises
        ------
        RefusedError
            The run has gone on since: what was recorded would be lost.
        TakenRun
            A kernel that may be alive holds the run.
        ConflictError
            Somebody appended to the run meanwhile.
        """
        chains = list(chains_of(chain, self._trust))
        if len(chains) == 1:
            return None
        (old, closed_at, _), (copy, newest, is_cut_off) = chains[-2:]
        moved = find_migration(old, closed_at, self._trust)
        if moved is None or closed_at is None or newest is None:
            raise _moved_meanwhile(old)
        before = self._read(old, closed_at)
        since = self._read(copy, newest)
        if not is_cut_off:
            self._check_unused(copy, since[moved.revision + 1 :])
            self._check_free(copy, since, wish)
            closing = self._migration(old.checkpoint_id, wish)
            self._put(copy, closing, after=since[-1], epoch=_epoch(since))
        opening = self._migration("", wish)
        self._put(old, opening, after=before[-1], epoch=_epoch(before))
        return Moved(
            chain.checkpoint_id, old.checkpoint_id, closed_at + 1, moved.changes
        )

    def _migration(self, chain: str, wish: Wish) -> Migration:
        actor = self._world.liveness.actor()
        return Migration(chain=chain, actor=actor, because=wish.because)

    # -- looking ----------------------------------------------------------------

    def _read(self, chain: Chain, newest: int | None) -> list[Link]:
        revisions = range(0 if newest is None else newest + 1)
        return self._trust.vouch([found_at(chain, r) for r in revisions])

    def _changes(self, links: list[Link]) -> dict[str, tuple[int, int]]:
        changes: dict[str, tuple[int, int]] = {}
        for envelope in _envelopes(links):
            kind, found = envelope.kind, envelope.schema_version
            version, _ = upgraded(kind, found, envelope.payload, self._formats.upgrades)
            if version != found:
                oldest = min(found, changes.get(kind, (found, version))[0])
                changes[kind] = (oldest, version)
        return changes

    def _converted(self, links: list[Link], chain: str) -> Iterator[Envelope | None]:
        """Give each record as it stands in the new chain, but for its link to the last.

        Raises
        ------
        SchemaError, Damaged
            What came out is no record of this release.
        """
        for link in links:
            if link.envelope is None:
                yield None
                continue
            version, payload = upgraded(
                link.envelope.kind,
                link.envelope.schema_version,
                link.envelope.payload,
                self._formats.upgrades,
            )
            envelope = msgspec.structs.replace(
                link.envelope,
                id=chain,
                schema_version=version,
                payload=_without_fold(link.envelope.kind, payload),
            )
            record_of(envelope, self._formats.schemas)
            yield envelope

    @staticmethod
    def _check_unused(copy: Chain, since: list[Link]) -> None:
        harmless = (*CLAIMS, Quarantined.KIND)
        lost = [e for e in _envelopes(since) if e.kind not in harmless]
        if lost:
            raise RefusedError(
                f"the migration to chain {copy.checkpoint_id} was not undone",
                because=f"{len(lost)} records were written to it since (the first at "
                f"{lost[0].updated_at:%Y-%m-%d %H:%M:%S} UTC) and would be lost",
                remedy="Go on with this release.",
                chain=copy.checkpoint_id,
            )

    def _check_free(self, chain: Chain, links: list[Link], wish: Wish) -> None:
        claims = [e for e in _envelopes(links) if e.kind in CLAIMS]
        if not claims or wish.take_over:
            return
        writer = msgspec.convert(claims[-1].payload["writer"], Writer)
        if self._world.liveness.is_alive(writer) is False:
            return
        raise TakenRun(
            f"run {claims[-1].run_id} was left as it is",
            because=f"a kernel (pid {writer.pid} on {writer.host}) holds it and is not "
            "known to have ended",
            remedy="End that kernel, or fence it: add --take-over.",
            chain=chain.checkpoint_id,
        )

    # -- writing ----------------------------------------------------------------

    def _fence(self, old: Chain, links: list[Link], wish: Wish) -> Link:
        """Claim the run: whoever wrote it until now writes no more."""
        self._check_free(old, links, wish)
        former = next(
            (e for e in reversed(_envelopes(links)) if e.kind in CLAIMS), None
        )
        if former is None:
            raise Damaged(
                f"run {old.checkpoint_id} was not migrated",
                because="none of its claims can be read, so no kernel can be fenced",
                remedy="Put the first file of its journal folder back from a copy.",
                run_id=old.checkpoint_id,
            )
        # in the format of the old chain: whoever is fenced has to understand it
        said = {k: v for k, v in former.payload.items() if k != "origin"}
        payload = said | {
            "writer": msgspec.to_builtins(self._world.liveness.me()),
            "actor": self._world.liveness.actor(),
            "took_over": wish.take_over,
        }
        claim = msgspec.structs.replace(
            self._envelope(old, links[-1]),
            schema_version=former.schema_version,
            kind=Claim.KIND,
            payload=payload,
            epoch=_epoch(links) + 1,
        )
        return old.append(claim)

    def _copy(self, chain: Chain, old: Chain, links: list[Link]) -> Chain:
        """Write the records anew, into the first chain that is free or holds them."""
        number = int(old.checkpoint_id.partition(".")[2] or 1)
        while True:
            number += 1
            copy = chain.other(f"{chain.checkpoint_id}.{number}")
            try:
                self._write(copy, old, links)
            except ConflictError:
                continue  # left by a migration that went another way, or was undone
            if copy.newest() == links[-1].revision:
                return copy

    def _write(self, copy: Chain, old: Chain, links: list[Link]) -> None:
        before = ""
        converted = self._converted(links, copy.checkpoint_id)
        for link, envelope in zip(links, converted, strict=True):
            if envelope is None:
                before = copy.keep_damaged(old, link.revision).digest
                continue
            wanted = msgspec.structs.replace(envelope, prev=before)
            before = record_digest(encode_envelope(self._trust.sign(wanted)))
            if copy.append(wanted).digest != before:
                raise _moved_meanwhile(copy)

    def _verified(self, copy: Chain, links: list[Link]) -> Link:
        """Read the copy back as a kernel would; return its newest record."""
        found = self._read(copy, links[-1].revision)
        state = RunState()
        for link, source in zip(found, links, strict=True):
            if (link.envelope is None) is not (source.envelope is None):
                raise _unlike(copy, link.revision)
            if link.envelope is None:
                state.skip(link.revision, digest=link.digest)
                continue
            state.apply(
                record_of(link.envelope, self._formats.schemas),
                revision=link.revision,
                digest=link.digest,
                epoch=link.envelope.epoch,
                at=link.envelope.updated_at,
            )
        return found[-1]

    def _put(self, chain: Chain, record: Migration, *, after: Link, epoch: int) -> None:
        chain.append(
            msgspec.structs.replace(
                self._envelope(chain, after),
                kind=record.KIND,
                schema_version=record.SCHEMA,
                payload=payload_of(record),
                epoch=epoch,
            )
        )

    def _envelope(self, chain: Chain, after: Link) -> Envelope:
        return Envelope(
            id=chain.checkpoint_id,
            run_id=chain.checkpoint_id.partition(".")[0],
            revision=after.revision + 1,
            kind="",
            schema_version=0,
            payload={},
            updated_at=self._world.clock.now(),
            nonce=self._world.ids.nonce(),
            prev=after.digest,
            writer=self._product,
        )


def _envelopes(links: list[Link]) -> list[Envelope]:
    return [link.envelope for link in links if link.envelope is not None]


def _epoch(links: list[Link]) -> int:
    return max((envelope.epoch for envelope in _envelopes(links)), default=0)


def _without_fold(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Drop what is derived from the old chain: the next commit folds anew."""
    if kind != Committed.KIND:
        return payload
    return {name: value for name, value in payload.items() if name != "fold"}


def _unlike(copy: Chain, revision: int) -> Damaged:
    return Damaged(
        f"chain {copy.checkpoint_id} is not used",
        because=f"its revision {revision} is not what was written to it a moment ago; "
        "the run is where it was",
        remedy="Check the disk, then type the command again.",
        id=copy.checkpoint_id,
        revision=revision,
    )


def _moved_meanwhile(chain: Chain) -> ConflictError:
    return ConflictError(
        f"run {chain.checkpoint_id} was not migrated",
        because="somebody else wrote to it at the same moment",
        remedy="Type the command again.",
        id=chain.checkpoint_id,
    )
