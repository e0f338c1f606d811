"""Whose records these are: signatures, the hash chain, pinned heads.

The rule: nothing that came from a record decides anything, and no payload it names is
loaded, before `Trust.vouch` let the record pass. Of our own records the signature must
be right; a foreign one counts only if something that we vouch for names its digest.
"""

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from nbresume.errors import Damaged, KeyMissing, KeyTaken, NotTrusted
from nbresume.model.codec import canonical, decode
from nbresume.model.envelope import Envelope
from nbresume.store import disk
from nbresume.store.port import Backend

KEY_BYTES = 32
VOUCHED = "vouched"
_VOUCHED = b"nbresume vouched 1"
_FINGERPRINT = b"nbresume key fingerprint 1"
_MARK = b"nbresume mark 1\n"
"""Before bytes that are no record: none of them is taken for one."""
_OTHERS = 0o077


class Link(msgspec.Struct, frozen=True):
    """One record as it lies in the journal."""

    revision: int
    """Where it was found."""
    digest: str
    """Digest of the bytes that were found."""
    size: int
    """How many bytes they are."""
    envelope: Envelope | None
    """What they say; None if the record is damaged."""


class Trust:
    """The keys of a user, and the foreign records that this user accepted."""

    def __init__(
        self,
        key: bytes,
        *,
        former: Sequence[bytes] = (),
        pins: Mapping[tuple[str, int], str] | None = None,
    ) -> None:
        self._key_id = key_id_of(key)
        self._keys = {key_id_of(one): one for one in (*former, key)}
        """Public name → key; all of them verify, the one of `key_id` signs."""
        self._pins = dict(pins or {})

    def accepting(self, pins: Mapping[tuple[str, int], str]) -> "Trust":
        """Return one that accepts these records too, and keeps that nowhere."""
        former = [self._keys[name] for name in reversed(self.key_ids[1:])]
        key = self._keys[self._key_id]
        return Trust(key, former=former, pins=self._pins | dict(pins))

    @property
    def key_id(self) -> str:
        """The public name of the key: 16 hex digits that tell nothing about it."""
        return self._key_id

    @property
    def key_ids(self) -> list[str]:
        """The public names of all keys that verify, that of the signing one first."""
        former = [name for name in reversed(self._keys) if name != self._key_id]
        return [self._key_id, *former]

    def sign(self, envelope: Envelope) -> Envelope:
        """Return the envelope with this key's name and signature."""
        named = replace(envelope, key_id=self._key_id, mac="")
        return replace(named, mac=_mac(self._keys[self._key_id], named))

    def mark(self, data: bytes) -> str:
        """Return this key's signature of bytes that are no record."""
        return _mark(self._keys[self._key_id], data)

    def knows(self, data: bytes, mark: str) -> bool:
        """Say whether one of these keys has signed these bytes."""
        return any(
            hmac.compare_digest(_mark(key, data).encode(), mark.encode())
            for key in self._keys.values()
        )

    def vouch(self, links: Sequence[Link]) -> list[Link]:
        """Return the links; the damaged ones have lost their envelope.

        `links` are consecutive, oldest first; the last one is the head of the chain.

        Raises
        ------
        NotTrusted
            A record was written under another key, and neither a pin nor the record
            after it vouches for it.
        """
        vouched: list[Link] = []
        after: Envelope | None = None
        for link in reversed(links):
            sound = self._is_sound(link, after)
            vouched.append(link if sound else replace(link, envelope=None))
            after = link.envelope if sound else None
        return vouched[::-1]

    def _is_sound(self, link: Link, after: Envelope | None) -> bool:
        envelope = link.envelope
        if envelope is None or (after is not None and after.prev != link.digest):
            return False
        own = self._keys.get(envelope.key_id)
        if own is not None:
            # Even if the record after it names these bytes: it may be the one that
            # quarantined them.
            # as bytes: texts are compared only if they are ASCII
            return hmac.compare_digest(
                _mac(own, envelope).encode(), envelope.mac.encode()
            )
        pinned = self._pins.get((envelope.id, link.revision)) == link.digest
        if after is None and not pinned:
            raise NotTrusted(
                f"revision {link.revision} of {envelope.id} was not used",
                because="it was written under another key "
                f"({envelope.key_id or 'none'}, yours is {self._key_id})",
                remedy="Type nbresume trust FOLDER if you trust whoever wrote this "
                "store: its values are then loaded as code.",
                id=envelope.id,
                revision=link.revision,
                key_id=envelope.key_id,
            )
        return True


def _mark(key: bytes, data: bytes) -> str:
    return hmac.new(key, _MARK + data, hashlib.sha256).hexdigest()


def _mac(key: bytes, envelope: Envelope) -> str:
    signed = canonical(replace(envelope, mac=""))
    return hmac.new(key, signed, hashlib.sha256).hexdigest()


def key_id_of(key: bytes) -> str:
    """Return the public name of a key: 16 hex digits that tell nothing about it."""
    return hmac.new(key, _FINGERPRINT, hashlib.sha256).hexdigest()[:16]


def parse_keys(text: str) -> tuple[bytes, ...]:
    """Return the keys in a text, the one that signs first; none if it is no such text.

    Each is 64 hexadecimal digits; commas or white space stand between them.
    """
    try:
        keys = tuple(map(bytes.fromhex, text.replace(",", " ").split()))
    except ValueError:
        return ()
    return keys if all(len(key) == KEY_BYTES for key in keys) else ()


def key_of_store(key: bytes, store_id: str, cipher: str = "") -> bytes:
    """Return the user's key for one store.

    A record copied from another store of the same user does not verify here, even if
    the checkpoint id and the revision are the same. Nor does one of an encrypted store
    whose ``store.json`` was changed to say that it is none.
    """
    about = f"nbresume store {store_id}" + (f" {cipher}" if cipher else "")
    return hmac.new(key, about.encode(), hashlib.sha256).digest()


def load_keys(path: Path, *, create: Callable[[], bytes] | None) -> tuple[bytes, ...]:
    """Return the user's keys; the first is made and kept durably at first use.

    Parameters
    ----------
    path
        Their file, which only this user may read: 64 hexadecimal digits, and below
        them, after a rotation, those of former keys.
    create
        Makes 32 random bytes; None if a missing key is not to be made.

    Raises
    ------
    NotTrusted
        There is no key, others may read it, or the file holds something else.
    Unavailable
        The file cannot be read or made.
    """
    with disk.reporting(f"the key {path} was not read"):
        if not path.exists():
            if create is None:
                raise _no_key(
                    path, "it does not exist", "Run a step: it makes the key."
                )
            disk.make_folder(path.parent)
            # Of two kernels that start at once one makes the key and both use it.
            disk.create_durably(
                str(path),
                create().hex().encode() + b"\n",
                staging=str(path.parent),
            )
        elif create is not None:
            # Who made it may have been killed before its name was flushed, and every
            # record hangs on it.
            disk.make_folder(path.parent)
            disk.flush_folder(str(path.parent))
        if path.stat().st_mode & _OTHERS:
            raise _no_key(
                path, "others may read or change it", f"Type chmod 600 {path}"
            )
        text = path.read_bytes().decode("ascii", "replace").strip()
    keys = parse_keys(text)
    if not keys:
        raise _no_key(
            path, "it is not 64 hexadecimal digits", "Put the file back from a copy."
        )
    return keys


class _Pin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    id: str
    revision: int
    digest: str


class _Vouched(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pins: list[_Pin]
    mac: str


def vouched_in(backend: Backend, trust: Trust) -> dict[tuple[str, int], str]:
    """Return the records that a store says these keys vouch for, as pins.

    Written by `vouch_in`. What is damaged, or was not written under one of the keys,
    says nothing: its records are foreign ones.
    """
    pins: dict[tuple[str, int], str] = {}
    for key_id in trust.key_ids:
        for name in backend.names(f"{VOUCHED}/{key_id}"):
            at = f"{VOUCHED}/{key_id}/{name}"
            try:
                found = decode(backend.read(at), _Vouched, name=at)
            except (Damaged, KeyMissing):
                continue
            if trust.knows(_VOUCHED + canonical(found.pins), found.mac):
                pins |= {(pin.id, pin.revision): pin.digest for pin in found.pins}
    return pins


def vouching(trust: Trust, records: Mapping[tuple[str, int], str]) -> tuple[str, bytes]:
    """Return key and bytes of a file by which the signing key vouches for records."""
    pins = _rows(records)
    mac = trust.mark(_VOUCHED + canonical(pins))
    data = canonical(_Vouched(pins=pins, mac=mac)) + b"\n"
    name = hashlib.sha256(data).hexdigest()[:32]
    return f"{VOUCHED}/{trust.key_id}/{name}", data


def vouch_in(
    backend: Backend, trust: Trust, records: Mapping[tuple[str, int], str]
) -> None:
    """Let everybody who has the signing key vouch for these records, for good.

    Raises
    ------
    Unavailable
        The device failed.
    """
    try:
        backend.create(*vouching(trust, records))
    except KeyTaken:
        return  # the name says what it holds


def _rows(pins: Mapping[tuple[str, int], str]) -> list[_Pin]:
    return [
        _Pin(id=key[0], revision=key[1], digest=value)
        for key, value in sorted(pins.items())
    ]


def load_pins(path: Path) -> dict[tuple[str, int], str]:
    """Return the accepted records of one store: (checkpoint id, revision) → digest.

    Raises
    ------
    Damaged
        The file cannot be understood.
    Unavailable
        The file cannot be read.
    """
    with disk.reporting(f"the accepted records in {path} were not read"):
        if not path.exists():
            return {}
        data = path.read_bytes()
    pins = decode(data, list[_Pin], name=str(path))
    return {(pin.id, pin.revision): pin.digest for pin in pins}


def save_pin(path: Path, checkpoint_id: str, revision: int, digest: str) -> None:
    """Accept a record, and with it all that it hangs on, for good.

    Raises
    ------
    Damaged
        The file with the earlier ones cannot be understood.
    Unavailable
        The file cannot be written.
    """
    pins = load_pins(path) | {(checkpoint_id, revision): digest}
    rows = _rows(pins)
    with disk.reporting(f"the accepted record was not kept in {path}"):
        disk.make_folder(path.parent)
        disk.replace_durably(path, canonical(rows) + b"\n")


def _no_key(path: Path, because: str, remedy: str) -> NotTrusted:
    return NotTrusted(
        f"the key {path} was not used", because=because, remedy=remedy, path=str(path)
    )
