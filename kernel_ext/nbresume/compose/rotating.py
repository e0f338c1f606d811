"""From a former key to a new one, without a moment in which something is unreadable.

The rule: what the new key needs is durable before anything of the former one goes. No
payload and no record is rewritten: data keys are wrapped once more, and the new key
vouches for the records that the former one signed.
"""

from pathlib import Path

from msgspec import Struct

from nbresume.compose.keys import VARIABLE, Keys, fresh_key, keys_of
from nbresume.compose.stores import OpenStore, heads_of
from nbresume.errors import NotTrusted, UsageError
from nbresume.store import disk
from nbresume.store.trust import vouch_in


class Rotated(Struct, frozen=True):
    """What changed in one store."""

    key_id: str
    wrapped: int
    """Data keys that the new key opens from now on."""
    vouched: int
    """Chains for whose records the new key vouches from now on."""
    foreign: list[str]
    """Chains that were written under other keys, and are as they were."""
    waiting: list[str]
    """Former keys that still open data keys."""
    retired: list[str]
    """Former keys that open nothing any more."""


def rotate(store: OpenStore, *, finish: bool) -> Rotated:
    """Let the first of the user's keys read all that the former ones can.

    Parameters
    ----------
    finish
        Let the former ones open nothing afterwards.

    Raises
    ------
    NotTrusted
        There is no key yet.
    SealedError
        None of the user's keys opens a data key; nothing is taken away.
    """
    keys = keys_of(store.place.key_file, create=False)
    if not keys.is_known:
        raise no_key("no key was rotated", keys)
    data_keys = store.data_keys
    wrapped = data_keys.rewrap() if data_keys is not None else 0
    vouched, foreign = _vouch(store)
    retired = data_keys.retire() if data_keys is not None and finish else []
    former = set(store.trust.key_ids[1:])
    waiting = former & data_keys.holders() if data_keys is not None else set()
    return Rotated(
        store.trust.key_id, wrapped, vouched, foreign, sorted(waiting), retired
    )


def _vouch(store: OpenStore) -> tuple[int, list[str]]:
    """Vouch for what former keys signed; return how many chains, and the others."""
    former = set(store.trust.key_ids[1:])
    records: dict[tuple[str, int], str] = {}
    foreign = []
    for checkpoint_id in sorted(store.backend.names("journal")):
        try:
            links = store.trust.vouch(store.read_chain(checkpoint_id))
        except NotTrusted:
            foreign.append(checkpoint_id)
            continue
        records |= {
            (checkpoint_id, head.revision): head.digest
            for head in heads_of(links)
            if head.envelope is not None and head.envelope.key_id in former
        }
    if records:
        vouch_in(store.backend, store.trust, records)
    return len({checkpoint_id for checkpoint_id, _ in records}), foreign


def renew(file: Path) -> Keys:
    """Put a fresh key before those of the user's key file; return them all.

    Raises
    ------
    UsageError
        The keys come from elsewhere: there the new one is put by hand.
    NotTrusted
        There is no key yet.
    Unavailable
        The file cannot be written; it is as it was.
    """
    keys = keys_of(file, create=False)
    if not keys.is_known:
        raise no_key("no key was renewed", keys)
    if keys.source != str(file):
        raise UsageError(
            "no key was renewed",
            because=f"the key comes from {keys.source}",
            remedy="Put a fresh one (nbresume key new) there, before the others and a "
            "comma, for everybody who uses it.",
        )
    fresh = Keys((fresh_key(), *keys.all), keys.source)
    text = "".join(f"{key.hex()}\n" for key in fresh.all)
    with disk.reporting(f"the key {file} was not renewed"):
        disk.replace_durably(file, text.encode())
    return fresh


def no_key(refused: str, keys: Keys) -> NotTrusted:
    """Return the error for somebody who has no key yet."""
    return NotTrusted(
        refused,
        because=f"there is none yet in {keys.source}",
        remedy=f"Run a step: it makes the key; or set {VARIABLE}.",
    )
