"""In which chain of its store a run goes on, after migrations.

The rule: a run begins in the chain that has its id. The newest record of a chain says
whether the run has moved on; what it says counts only if it is vouched for.
"""

from collections.abc import Iterator

from nbresume.errors import Damaged, FencedError, KeyMissing, RefusedError
from nbresume.model.codec import record_of
from nbresume.model.records import Migration
from nbresume.store.chain import Chain
from nbresume.store.trust import Link, Trust


def chain_in_use(chain: Chain, trust: Trust | None) -> tuple[Chain, int | None]:
    """Return the chain in which a run goes on, and its newest revision.

    Parameters
    ----------
    chain
        The chain that has the run's id, or a later one.
    trust
        Vouches for what is followed; None to follow what anybody wrote, for listing.

    Raises
    ------
    NotTrusted
        The newest record was written under another key.
    Damaged
        The run was migrated, and the record that says where to is damaged.
    RefusedError
        A migration was being undone and was cut off.
    """
    *_, (last, newest, following) = chains_of(chain, trust)
    if following:
        raise RefusedError(
            f"run {chain.checkpoint_id} was not opened",
            because="a migration of it was being undone, and that was cut off",
            remedy="Type nbresume migrate FOLDER --undo to finish it.",
            run_id=chain.checkpoint_id,
        )
    return last, newest


def chains_of(
    chain: Chain, trust: Trust | None
) -> Iterator[tuple[Chain, int | None, str]]:
    """Give each chain of a run in turn: it, its newest revision, which one follows.

    The last one is followed by none; or by one that was there before, if a migration
    is being undone.

    Raises
    ------
    NotTrusted, Damaged
        As for `chain_in_use`.
    """
    seen: set[str] = set()
    while True:
        seen.add(chain.checkpoint_id)
        newest = chain.newest()
        moved = find_migration(chain, newest, trust)
        following = moved.chain if moved else ""
        yield chain, newest, following
        if not following or following in seen:
            return
        chain = chain.other(following)


def closing_records(chain: Chain, trust: Trust | None) -> list[Link]:
    """Return the records by which a run left its former chains, oldest first.

    Raises
    ------
    NotTrusted, Damaged
        As for `chain_in_use`.
    """
    return [
        found_at(left, newest)
        for left, newest, following in chains_of(chain, trust)
        if following and newest is not None
    ]


def find_migration(
    chain: Chain, newest: int | None, trust: Trust | None
) -> Migration | None:
    """Return the newest record of a chain if it says where the run goes on."""
    if newest is None:
        return None
    link = found_at(chain, newest)
    envelope = link.envelope
    if envelope is not None and envelope.kind != Migration.KIND:
        return None
    if envelope is not None and trust is not None:
        (link,) = trust.vouch([link])
    if link.envelope is None:
        _check_copies(chain)
        return None
    record = record_of(link.envelope)
    return record if isinstance(record, Migration) else None


def found_at(chain: Chain, revision: int) -> Link:
    """Return the record as it lies there; a missing one counts as damaged."""
    try:
        return chain.read(revision)
    except KeyMissing:
        return Link(revision=revision, digest="", size=0, envelope=None)


def _check_copies(chain: Chain) -> None:
    """Refuse a chain whose end is damaged if the run may have moved on from it."""
    copies = [name for name in chain.copies() if not _is_closed(chain.other(name))]
    if not copies:
        return
    raise Damaged(
        f"run {chain.checkpoint_id} was not opened",
        because="its newest record is damaged, and it may have said that the run was "
        f"migrated to {max(copies)}",
        remedy="Put the last file of its journal folder back from a copy.",
        run_id=chain.checkpoint_id,
    )


def _is_closed(copy: Chain) -> bool:
    """Say whether a migration to this chain was undone."""
    newest = copy.newest()
    envelope = None if newest is None else found_at(copy, newest).envelope
    return envelope is not None and envelope.kind == Migration.KIND


def goes_on_elsewhere(run_id: str, chain: str) -> FencedError:
    """Return the error for a writer whose chain is closed."""
    return FencedError(
        "fenced: this kernel writes nothing more to the run",
        because=f"the run was migrated and goes on in chain {chain}",
        remedy="Restart the kernel and load nbresume again.",
        run_id=run_id,
    )
