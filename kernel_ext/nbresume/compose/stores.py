"""Folders → an open store, its chains and what vouches for them.

The rule: the only place that names backends.
"""

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from nbresume.compose.keys import keys_of
from nbresume.compose.system import PRODUCT
from nbresume.model.codec import SCHEMAS, Schemas
from nbresume.run.journal import Journal
from nbresume.run.moves import chain_in_use
from nbresume.run.ports import World
from nbresume.run.runs import Runs
from nbresume.store.chain import Chain
from nbresume.store.layout import open_layout
from nbresume.store.local_open import open_local
from nbresume.store.objects import Objects, Told
from nbresume.store.port import Backend
from nbresume.store.remote_open import is_url, open_remote
from nbresume.store.seen import Seen
from nbresume.store.trust import (
    Link,
    Trust,
    key_of_store,
    load_pins,
    save_pin,
)

_RUN = re.compile(r"[0-9a-f]{16}")


class Place(Struct, frozen=True):
    """Where the store is, and the folder of the user's own data (key, pins)."""

    store: Path | str
    """A folder, or the URL of an object store."""
    data: Path

    @property
    def key_file(self) -> Path:
        """The user's key."""
        return self.data / "key"

    def pins_file(self, store_id: str) -> Path:
        """Return the file with the heads of a foreign store that the user trusts."""
        return self.data / "trusted" / f"{store_id}.json"

    def access_file(self, store_id: str) -> Path:
        """Return the file with what this user read of a store, and when."""
        return self.data / "access" / f"{store_id}.jsonl"


class OpenStore(Struct, frozen=True):
    """A store that is open, and what vouches for its records."""

    backend: Backend
    store_id: str
    trust: Trust
    place: Place

    def chain(self, checkpoint_id: str) -> Chain:
        """Return a chain of this store."""
        return Chain(self.backend, self.trust, checkpoint_id)

    def read_chain(self, checkpoint_id: str) -> list[Link]:
        """Return all records of a chain, whoever wrote them: for listing only."""
        chain = self.chain(checkpoint_id)
        newest = chain.newest()
        return _all_of(chain, newest)

    def read_run(self, run_id: str) -> list[Link]:
        """Return all records of a run, whoever wrote them: for listing only.

        Raises
        ------
        Damaged, RefusedError
            As for `chain_in_use`.
        """
        chain, newest = chain_in_use(self.chain(run_id), None)
        return _all_of(chain, newest)

    def runs(self) -> Runs:
        """Return the runs of this store."""
        return Runs(
            self.backend,
            self.read_run,
            read_first=lambda run_id: self.chain(run_id).read(0),
            store_id=self.store_id,
        )


def _all_of(chain: Chain, newest: int | None) -> list[Link]:
    return [] if newest is None else [chain.read(r) for r in range(newest + 1)]


def open_store(place: Place, *, create: bool, new_id: str = "") -> OpenStore:
    """Open a store; make it and the user's key if `create`.

    Parameters
    ----------
    new_id
        The id of a store that is made; empty for a fresh one.

    Raises
    ------
    StoreError
        The folder cannot be used, or there is no store.
    SchemaError
        The store is of a format that this release cannot read.
    UsageError, NotTrusted
        The user's key cannot be used (as for `keys_of`).
    """
    backend = _open_backend(place.store, create=create)
    fresh = new_id or secrets.token_hex(16)
    layout = open_layout(backend, new_id=fresh if create else None)
    trust = trust_in(place, layout.store_id, create=create)
    return OpenStore(backend, layout.store_id, trust, place)


def trust_in(place: Place, store_id: str, *, create: bool = False) -> Trust:
    """Return what vouches for the records of a store, wherever they lie now.

    Parameters
    ----------
    create
        Make the user's key if there is none.

    Raises
    ------
    UsageError, NotTrusted
        The user's key cannot be used (as for `keys_of`).
    """
    keys = keys_of(place.key_file, create=create).all
    first, *former = [key_of_store(key, store_id) for key in keys]
    return Trust(first, former=former, pins=load_pins(place.pins_file(store_id)))


def where(store: str, folder: Path = Path()) -> Path | str:
    """Return the store that a setting names: a URL as it is, else a folder."""
    return store if is_url(store) else folder / store


def _open_backend(store: Path | str, *, create: bool) -> Backend:
    if isinstance(store, str):
        return open_remote(store)
    return open_local(store, create=create)


def run_id_of(name: str) -> str:
    """Return the run id that a setting names: an id as it is, any name by digest."""
    if not name or _RUN.fullmatch(name):
        return name
    return hashlib.sha256(f"run:{name}".encode()).hexdigest()[:16]


def open_journal(
    store: OpenStore,
    run_id: str,
    world: World,
    *,
    schemas: Schemas = SCHEMAS,
    told: Told | None = None,
) -> Journal:
    """Return the journal of a run; it is not read yet.

    Parameters
    ----------
    told
        Takes run and group of payloads before they are read.
    """
    return Journal(
        run_id,
        chain=store.chain(run_id),
        trust=store.trust,
        objects=Objects(store.backend, run_id, told=told),
        seen=Seen(store.backend, run_id),
        world=world,
        product=PRODUCT,
        schemas=schemas,
    )


def signers(store: OpenStore) -> Counter[str]:
    """Return the public names of the keys under which chains end → how many.

    Whoever wrote them: for listing only. A damaged record ends under no key.
    """
    chains = map(store.chain, store.backend.names("journal"))
    heads = ((chain, chain.newest()) for chain in chains)
    found = (
        chain.read(newest).envelope for chain, newest in heads if newest is not None
    )
    return Counter(envelope.key_id if envelope else "" for envelope in found)


def trust_store(store: OpenStore) -> list[str]:
    """Pin the heads of all chains of a store; return the checkpoint ids.

    Rewrites nothing: the pins lie in the user's own data folder. Below a damaged
    record the hash chain is cut, so the record below it is pinned too.
    """
    pins_file = store.place.pins_file(store.store_id)
    pinned = []
    for checkpoint_id in store.backend.names("journal"):
        heads = heads_of(store.read_chain(checkpoint_id))
        for link in heads:
            save_pin(pins_file, checkpoint_id, link.revision, link.digest)
        if heads:
            pinned.append(checkpoint_id)
    return pinned


def heads_of(links: Sequence[Link]) -> list[Link]:
    """Return the records of a chain on which all others hang.

    Below a damaged record the hash chain is cut: the one before it is one of them.
    """
    return [
        link
        for link, after in zip(links, [*links[1:], None], strict=True)
        if link.envelope is not None and (after is None or after.envelope is None)
    ]
