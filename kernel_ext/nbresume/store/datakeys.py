"""The data keys of an encrypted store, each wrapped under keys of its users.

The rule: ``keys/<data key>/<key>`` is created once and never changed; a data key is
readable as long as one of its wraps is, so a new wrap is there before an old one goes.
The user's keys encrypt nothing but data keys: changing one rewrites no payload.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from contextlib import suppress

from msgspec import Struct

from nbresume.errors import Damaged, KeyMissing, KeyTaken, SealedError
from nbresume.model.codec import canonical, decode
from nbresume.settings import CIPHER
from nbresume.store.port import Backend
from nbresume.store.sealing import ID_BYTES, KEY_BYTES, DataKey, aead_of

FOLDER = "keys"
_WRAP = b"nbresume wrap 1"
_NONCE_BYTES = 12
_ID = re.compile(rf"[0-9a-f]{{{2 * ID_BYTES}}}")


class Wrap(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A data key, encrypted under a key of a user."""

    cipher: str
    number: int
    """Values are written under the data key whose wrap has the highest one."""
    nonce: str
    wrapped: str


class _Opened(Struct, frozen=True):
    """A data key that one of the user's keys has opened."""

    data_key: DataKey
    order: tuple[int, int, bytes]
    """The highest is written under: that of the first key, then the newest."""


class Held(Struct, frozen=True):
    """Data keys that a worker was sent: they open values, and sign nothing."""

    keys: dict[bytes, DataKey]
    writing: DataKey

    def __repr__(self) -> str:
        """Return nothing of them."""
        return f"<{len(self.keys)} data keys>"

    def held(self) -> "Held":
        """Return these."""
        return self

    def find(self, data_id: bytes) -> DataKey:
        """Return a data key by its id.

        Raises
        ------
        SealedError
            It was not sent.
        """
        if data_id not in self.keys:
            raise SealedError(
                "a worker did not read a value",
                because=f"it was not sent the data key {data_id.hex()}",
                remedy="Load the collection again, in a kernel whose key opens it.",
            )
        return self.keys[data_id]

    def current(self) -> DataKey:
        """Return the data key for what is written now."""
        return self.writing


class DataKeys:
    """The data keys of one store, as far as this user's keys open them."""

    def __init__(
        self,
        backend: Backend,
        store_id: str,
        keys: Mapping[str, bytes],
        *,
        source: str = "",
    ) -> None:
        self._backend = backend
        self._store_id = store_id
        self._keys = dict(keys)
        """Public name → this user's key of the store; new wraps are under the first."""
        self._source = source
        """Where the user's keys come from, for people; empty if there is none."""
        self._found: dict[bytes, _Opened] = {}
        self._writing: DataKey | None = None
        """Stays what it is in this process: it is chosen once."""
        self._reason = ""

    def find(self, data_id: bytes) -> DataKey:
        """Return a data key by its id.

        Raises
        ------
        SealedError
            None of the user's keys opens it.
        """
        if data_id not in self._found:
            # another kernel may have made it since
            names = self._backend.names(f"{FOLDER}/{data_id.hex()}")
            self._open(data_id.hex(), names)
        if data_id not in self._found:
            raise self.lost("a value was not read", data_id.hex())
        return self._found[data_id].data_key

    def current(self) -> DataKey:
        """Return the data key for what is written now.

        Raises
        ------
        SealedError
            None of the user's keys opens one.
        """
        if self._writing is None:
            self._open_all()
            if not self._found:
                raise self.lost("the store's values were neither read nor written")
            newest = max(self._found.values(), key=lambda one: one.order)
            self._writing = newest.data_key
        return self._writing

    def held(self) -> Held:
        """Return the data keys that are open to this user, for workers.

        Raises
        ------
        SealedError
            None of the user's keys opens one.
        """
        writing = self.current()
        self._open_all()
        keys = {data_id: one.data_key for data_id, one in self._found.items()}
        return Held(keys, writing)

    def stored(self) -> dict[str, bytes]:
        """Return all files of data keys, as they lie there."""
        keys = [
            f"{FOLDER}/{data_id}/{key_id}"
            for data_id, names in self.wraps().items()
            for key_id in names
        ]
        return {key: self._backend.read(key) for key in keys}

    def bring(self, files: Mapping[str, bytes]) -> None:
        """Take in data keys that the store does not have, as they are.

        One that it has stays: a former key that was retired opens it no more.
        """
        known = self.wraps()
        for key, data in files.items():
            if key.split("/")[1] not in known:
                self._backend.create(key, data)

    def ensure(self) -> bool:
        """Make the first data key of a store that holds nothing yet; say whether.

        Raises
        ------
        SealedError
            There are data keys, and none of the user's keys opens one; or they are
            gone.
        """
        is_new = (
            bool(self._source)
            and not self.wraps()
            and not self._backend.names("journal")
        )
        if is_new:
            # Of two kernels that do this at once both keys stay: a file names its own.
            self._wrap(_fresh(), number=0)
        self.current()
        return is_new

    def wraps(self) -> dict[str, list[str]]:
        """Return the id of each data key → the names of the keys that open it.

        A folder without a file is what somebody left who was killed before it had one.
        """
        ids = sorted(filter(_ID.fullmatch, self._backend.names(FOLDER)))
        found = {one: self._backend.names(f"{FOLDER}/{one}") for one in ids}
        return {data_id: names for data_id, names in found.items() if names}

    def holders(self) -> set[str]:
        """Return the public names of the keys under which data keys are wrapped."""
        return {key_id for names in self.wraps().values() for key_id in names}

    def rewrap(self) -> int:
        """Wrap every data key under the first of the user's keys; return how many.

        One that is wrapped so already stays as it is; no wrap is taken away.

        Raises
        ------
        SealedError
            None of the user's keys opens one of them.
        """
        first, made = next(iter(self._keys)), 0
        for data_id, names in self.wraps().items():
            data_key = self.find(bytes.fromhex(data_id))
            if first not in names:
                number = self._found[data_key.id].order[1]
                # what somebody else wraps under it at this moment is as good
                with suppress(KeyTaken):
                    self._wrap(data_key, number=number)
                made += 1
        return made

    def retire(self) -> list[str]:
        """Take away the wraps under the user's former keys; return their names.

        Whoever had one may have kept the data keys: from now on values are written
        under another one, which only the first key opens.

        Raises
        ------
        SealedError
            The first key does not open every data key: nothing is taken away.
        """
        first, *former = self._keys
        for data_id in self.wraps():
            self._check(data_id, first)
        if self.holders() & set(former):
            self._renew(first)
        gone = set()
        for data_id, names in self.wraps().items():
            for key_id in set(former) & set(names):
                self._backend.delete(f"{FOLDER}/{data_id}/{key_id}")
                gone.add(key_id)
        return sorted(gone)

    def _renew(self, first: str) -> None:
        """Make a data key that the first key alone opens, if there is none yet."""
        wraps, numbers = self.wraps(), {}
        for data_id in wraps:
            data = self._backend.read(f"{FOLDER}/{data_id}/{first}")
            _, numbers[data_id] = self._unwrap(data_id, first, data)
        newest = max(numbers, key=numbers.__getitem__)
        # a retirement that was cut off has made it
        if wraps[newest] != [first]:
            self._wrap(_fresh(), number=numbers[newest] + 1)

    def _check(self, data_id: str, key_id: str) -> None:
        key = f"{FOLDER}/{data_id}/{key_id}"
        try:
            self._unwrap(data_id, key_id, self._backend.read(key))
        except (KeyMissing, Damaged, ValueError) as error:
            raise SealedError(
                "no former key was retired",
                because=f"{key} is missing or damaged: the new key does not open "
                f"everything ({type(error).__name__})",
                remedy="Type nbresume key rotate FOLDER; delete the file first if it "
                "is damaged.",
                key=key,
            ) from error

    def loss(self) -> str:
        """Return what is lost without a key; empty if one of the user's opens it."""
        try:
            self.current()
        except SealedError as error:
            return str(error)
        return ""

    def lost(self, refused: str, data_id: str = "") -> SealedError:
        """Return the error that says which key is missing, and what is lost with it."""
        own = f"yours is {next(iter(self._keys))} ({self._source})"
        if not self._source:
            own = "you have none"
        others = sorted(self.holders() - set(self._keys))
        if self._reason:
            because = self._reason
        elif others:
            because = f"they take the key {' or '.join(others)}, and {own}"
        elif data_id:
            because = f"its data key ({FOLDER}/{data_id}) is gone"
        else:
            because = f"the store's data keys (its folder {FOLDER}) are gone"
        return SealedError(
            refused,
            because=f"{because}. Lost without it are the values, outputs, cell texts, "
            "previews and results of effects that the store holds; what was decided "
            "can still be read (nbresume status NOTEBOOK)",
            remedy="Put the key back (NBRESUME_KEY, or the key file). If it is gone "
            "for good, set NBRESUME_STORE to a new folder and run the steps again.",
            holders=others,
        )

    def _open_all(self) -> None:
        for data_id, names in self.wraps().items():
            if bytes.fromhex(data_id) not in self._found:
                self._open(data_id, names)

    def _open(self, data_id: str, names: list[str]) -> None:
        for rank, key_id in enumerate(self._keys):
            if key_id not in names:
                continue
            key = f"{FOLDER}/{data_id}/{key_id}"
            try:
                secret, number = self._unwrap(data_id, key_id, self._backend.read(key))
            except KeyMissing:
                continue
            except (Damaged, ValueError) as error:
                self._reason = f"{key} is damaged ({type(error).__name__})"
                continue
            found = DataKey(bytes.fromhex(data_id), secret)
            self._found[found.id] = _Opened(found, (-rank, number, found.id))
            return

    def _wrap(self, data_key: DataKey, *, number: int) -> None:
        key_id = next(iter(self._keys))
        nonce = secrets.token_bytes(_NONCE_BYTES)
        about = self._about(data_key.id.hex(), key_id, number)
        sealed = aead_of(_wrapping(self._keys[key_id])).encrypt(
            nonce, data_key.secret, about
        )
        wrap = Wrap(
            cipher=CIPHER, number=number, nonce=nonce.hex(), wrapped=sealed.hex()
        )
        self._backend.create(
            f"{FOLDER}/{data_key.id.hex()}/{key_id}", canonical(wrap) + b"\n"
        )

    def _unwrap(self, data_id: str, key_id: str, data: bytes) -> tuple[bytes, int]:
        """Return what a wrap holds, and its number.

        Raises
        ------
        Damaged, ValueError
            It is none of this data key and this key.
        """
        wrap = decode(data, Wrap, name=f"{FOLDER}/{data_id}/{key_id}")
        if wrap.cipher != CIPHER:
            raise ValueError
        aead = aead_of(_wrapping(self._keys[key_id]))
        # it comes with the cipher
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        try:
            secret: bytes = aead.decrypt(
                bytes.fromhex(wrap.nonce),
                bytes.fromhex(wrap.wrapped),
                self._about(data_id, key_id, wrap.number),
            )
        except InvalidTag as error:
            raise ValueError from error
        return secret, wrap.number

    def _about(self, data_id: str, key_id: str, number: int) -> bytes:
        return f"{CIPHER} {self._store_id}/{data_id}/{key_id} {number}".encode()


def _fresh() -> DataKey:
    return DataKey(
        id=secrets.token_bytes(ID_BYTES), secret=secrets.token_bytes(KEY_BYTES)
    )


def _wrapping(key: bytes) -> bytes:
    """Return the key that wraps: what signs records encrypts nothing."""
    return hmac.new(key, _WRAP, hashlib.sha256).digest()
