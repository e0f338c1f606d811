"""Folders → an open store, its chains and what vouches for them.

The rule: the only place that names backends.
"""

import hashlib
import re
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from nbresume.compose.keys import Keys, keys_of
from nbresume.compose.system import PRODUCT
from nbresume.errors import SealedError
from nbresume.model.codec import SCHEMAS, Schemas
from nbresume.run.journal import Journal
from nbresume.run.moves import chain_in_use
from nbresume.run.ports import World
from nbresume.run.runs import Runs
from nbresume.settings import CIPHER
from nbresume.store.chain import Chain
from nbresume.store.layout import Layout, open_layout
from nbresume.store.local_open import open_local
from nbresume.store.objects import Objects, Told
from nbresume.store.port import Backend
from nbresume.store.remote_open import is_url, open_remote
from nbresume.store.seen import Seen
from nbresume.store.trust import (
    Link,
    Trust,
    key_id_of,
    key_of_store,
    load_pins,
    save_pin,
    vouched_in,
)

if TYPE_CHECKING:
    from nbresume.store.datakeys import DataKeys

_RUN = re.compile(r"[0-9a-f]{16}")


class Place(Struct, frozen=True):
    """Where the store is, and the folder of the user's own data (key, pins)."""

    store: Path | str
    """A folder, or the URL of an object store."""
    data: Path
    encrypt: bool = False
    """A new store is encrypted, and one that is not is refused."""

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
    data_keys: "DataKeys | None" = None
    """What opens the values; None if they are not encrypted."""
    below: Backend | None = None
    """The files of an encrypted store as they lie there; None if it is none."""
    notice: str = ""
    """What a person has to know now; empty if nothing."""

    @property
    def files(self) -> Backend:
        """Its files as they lie there, whoever can open them."""
        return self.backend if self.below is None else self.below

    @property
    def cipher(self) -> str:
        """How its values are encrypted; empty if they are not."""
        return "" if self.data_keys is None else CIPHER

    def loss(self) -> str:
        """Return why no value can be read, for people; empty if they can."""
        return self.data_keys.loss() if self.data_keys is not None else ""

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


def open_store(
    place: Place,
    *,
    create: bool,
    like: Layout | None = None,
    data_keys: Mapping[str, bytes] | None = None,
) -> OpenStore:
    """Open a store; make it and the user's key if `create`.

    Parameters
    ----------
    like
        What a store that is made is to be; None for a fresh one.
    data_keys
        Files of data keys that it gets, as they are, if it does not have them.

    Raises
    ------
    StoreError
        The folder cannot be used, or there is no store.
    SchemaError
        The store is of a format that this release cannot read.
    UsageError, NotTrusted
        The user's key cannot be used (as for `keys_of`).
    SealedError
        With `create`: its values are encrypted and the key is not here; or they are
        not, and have to be.
    """
    files = _open_backend(place.store, create=create)
    new_id = like.store_id if like else secrets.token_hex(16)
    cipher = like.cipher if like else CIPHER if place.encrypt else ""
    layout = open_layout(files, new_id=new_id if create else None, cipher=cipher)
    if not create:
        keys = keys_of(place.key_file, create=False)
        return _opened(files, layout, place, keys)
    # a folder without a file: who made it was killed
    has_data_keys = any(files.names(f"keys/{one}") for one in files.names("keys"))
    if not layout.cipher:
        _check_clear(place, has_data_keys=has_data_keys)
    # Another key in the place of a lost one would only hide that it is lost.
    keys = keys_of(place.key_file, create=not has_data_keys)
    store = _opened(files, layout, place, keys)
    if store.data_keys is None:
        return store
    store.data_keys.bring(data_keys or {})
    if not store.data_keys.ensure():
        return store
    notice = (
        f"values in this store are encrypted, and nothing but your key "
        f"({store.trust.key_id}, {keys.source}) opens them: keep a copy of it apart "
        "from the store (nbresume key export)"
    )
    return replace(store, notice=notice)


def store_in(files: Backend, layout: Layout, place: Place) -> OpenStore:
    """Return the store that these files are, wherever they lie now.

    Raises
    ------
    UsageError, NotTrusted
        The user's key cannot be used (as for `keys_of`).
    """
    return _opened(files, layout, place, keys_of(place.key_file, create=False))


def _opened(files: Backend, layout: Layout, place: Place, keys: Keys) -> OpenStore:
    own = {
        key_id_of(key): key
        for key in (key_of_store(k, layout.store_id, layout.cipher) for k in keys.all)
    }
    first, *former = own.values()
    trust = Trust(first, former=former)
    pins = vouched_in(files, trust) | load_pins(place.pins_file(layout.store_id))
    trust = trust.accepting(pins)
    if not layout.cipher:
        return OpenStore(files, layout.store_id, trust, place)
    # a store in the clear does without these
    from nbresume.store.datakeys import DataKeys  # noqa: PLC0415
    from nbresume.store.sealed import SealedBackend  # noqa: PLC0415

    source = keys.source if keys.is_known else ""
    data_keys = DataKeys(files, layout.store_id, own, source=source)
    sealed = SealedBackend(files, data_keys, layout.store_id)
    return OpenStore(sealed, layout.store_id, trust, place, data_keys, files)


def _check_clear(place: Place, *, has_data_keys: bool) -> None:
    """Pass if values may be written as they are.

    Raises
    ------
    SealedError
        The store has to be encrypted, or was.
    """
    if has_data_keys:
        raise SealedError(
            f"the store {place.store} was not opened",
            because="its store.json says that values are in the clear, and it has data "
            "keys: somebody changed that file",
            remedy="Put store.json back from a copy, and look who can write there.",
        )
    if place.encrypt:
        raise _in_the_clear(place)


def _in_the_clear(place: Place) -> SealedError:
    return SealedError(
        f"the store {place.store} was not opened",
        because="it keeps values in the clear, and NBRESUME_ENCRYPT is set",
        remedy="Set NBRESUME_STORE to a new folder, which is encrypted from its first "
        "byte on; or unset NBRESUME_ENCRYPT.",
    )


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
