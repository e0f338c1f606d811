"""Bytes → an encrypted file, and back: AES-256-GCM, one key for each file.

The rule: no key ever sees a nonce twice, and no file opens in another place than its
own. A file is a header and segments. Its key is derived from a data key, a random salt
and the whole header, so that it is the key of this file alone; its nonces count the
segments. Header and count are authenticated: a changed, missing, moved or added byte
is found before one byte of the segment is used.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from nbresume.errors import Damaged, SealedError
from nbresume.store.port import Buffer

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
ID_BYTES = 8
SEGMENT_BYTES = 1 << 20
TAG_BYTES = 16
_MAGIC = b"nbseal1\n"
_SALT_BYTES = 32
_PLACE_BYTES = 16
HEADER_BYTES = len(_MAGIC) + ID_BYTES + _SALT_BYTES + 2 * _PLACE_BYTES
_WINDOW = 8
"""So many segments are read at once."""
_FILE = b"nbresume file 1"


class DataKey(Struct, frozen=True):
    """A random key from which those of files are derived."""

    id: bytes
    secret: bytes

    def __repr__(self) -> str:
        """Return its public name alone."""
        return f"<data key {self.id.hex()}>"


class Spot(Struct, frozen=True):
    """Where an encrypted file belongs: it opens nowhere else."""

    store_id: str
    array: str
    """``<run>/<group>/<array>``."""
    chunk: str
    """Name of the file in there; empty if that is not known, as to zarr's codecs."""


class Sealed(Struct, frozen=True):
    """The head of an encrypted file: what opens its segments."""

    name: str
    header: bytes
    stored: int
    """Size of the file."""
    aead: "AESGCM"

    @property
    def plain(self) -> int:
        """How many bytes it holds."""
        return plain_bytes(self.stored)

    def decrypt(self, number: int, data: Buffer) -> bytes:
        """Return what segment `number` holds.

        Raises
        ------
        Damaged
            These are not its bytes.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra

        try:
            plain: bytes = self.aead.decrypt(self._nonce(number), data, self.header)
        except InvalidTag as error:
            raise _changed(self.name) from error
        return plain

    def decrypt_into(self, number: int, data: Buffer, target: memoryview) -> None:
        """Fill `target` with what segment `number` holds.

        Raises
        ------
        Damaged
            These are not its bytes.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - an extra

        try:
            self.aead.decrypt_into(self._nonce(number), data, self.header, target)
        except InvalidTag as error:
            raise _changed(self.name) from error

    def _nonce(self, number: int) -> bytes:
        return _nonce(number, is_last=number == self.plain // SEGMENT_BYTES)


def encrypted(data: Iterable[Buffer], key: DataKey, spot: Spot) -> Iterator[Buffer]:
    """Give the bytes of an encrypted file, piece by piece."""
    salt = secrets.token_bytes(_SALT_BYTES)
    array, chunk = _place(spot.array), _place(spot.chunk)
    header = b"".join([_MAGIC, key.id, salt, array, chunk])
    aead = _file_key(key, header, spot.store_id)
    yield header
    for number, segment in enumerate(_segments(data)):
        room = bytearray(segment.nbytes + TAG_BYTES)
        nonce = _nonce(number, is_last=segment.nbytes < SEGMENT_BYTES)
        aead.encrypt_into(nonce, segment, header, room)
        yield room


def stored_bytes(plain: int) -> int:
    """Return the size of an encrypted file of so many bytes."""
    return HEADER_BYTES + plain + TAG_BYTES * (plain // SEGMENT_BYTES + 1)


def plain_bytes(stored: int) -> int:
    """Return how many bytes an encrypted file of this size holds; -1 if none is such.

    Every segment but the last is full, and the last one never is.
    """
    full, rest = divmod(stored - HEADER_BYTES, SEGMENT_BYTES + TAG_BYTES)
    if stored < HEADER_BYTES or rest < TAG_BYTES:
        return -1
    return full * SEGMENT_BYTES + rest - TAG_BYTES


def opened(
    header: bytes, stored: int, find: Callable[[bytes], DataKey], spot: Spot
) -> Sealed:
    """Return the head of an encrypted file of `stored` bytes that lies at `spot`.

    Raises
    ------
    Damaged
        It is no such file, is cut off, or belongs elsewhere.
    SealedError
        `find` knows no data key of this id.
    """
    name = f"{spot.array}/{spot.chunk}"
    if not header.startswith(_MAGIC):
        raise _damaged(name, "it is not encrypted, and everything in this store is")
    if plain_bytes(stored) < 0 or len(header) != HEADER_BYTES:
        raise _damaged(name, "it is cut off")
    array = header[-2 * _PLACE_BYTES : -_PLACE_BYTES]
    is_moved = array != _place(spot.array)
    if is_moved or (spot.chunk and header[-_PLACE_BYTES:] != _place(spot.chunk)):
        raise _damaged(name, "it belongs to another place")
    key = find(header[len(_MAGIC) : len(_MAGIC) + ID_BYTES])
    aead = _file_key(key, header, spot.store_id)
    return Sealed(name, header, stored, aead)


def decrypted(data: bytes, find: Callable[[bytes], DataKey], spot: Spot) -> bytes:
    """Return what a whole encrypted file holds.

    Raises
    ------
    Damaged, SealedError
        As for `opened`, or its bytes are not those that were written.
    """
    view = memoryview(data)
    head = opened(data[:HEADER_BYTES], len(data), find, spot)
    size = SEGMENT_BYTES + TAG_BYTES
    starts = range(HEADER_BYTES, len(data), size)
    parts = [head.decrypt(n, view[at : at + size]) for n, at in enumerate(starts)]
    return parts[0] if len(parts) == 1 else b"".join(parts)


def decrypted_into(
    data: memoryview,
    target: memoryview,
    find: Callable[[bytes], DataKey],
    spot: Spot,
) -> None:
    """Fill `target` with what an encrypted file of `stored_bytes` of it holds.

    Raises
    ------
    Damaged, SealedError
        As for `decrypted`; or these are not all bytes of the file.
    """
    head = opened(bytes(data[:HEADER_BYTES]), data.nbytes, find, spot)
    for number, start in enumerate(range(0, target.nbytes, SEGMENT_BYTES)):
        part = target[start : start + SEGMENT_BYTES]
        at = HEADER_BYTES + number * (SEGMENT_BYTES + TAG_BYTES)
        head.decrypt_into(number, data[at : at + part.nbytes + TAG_BYTES], part)


def fill(
    head: Sealed,
    target: memoryview,
    offset: int,
    read: Callable[[memoryview, int], None],
) -> None:
    """Fill `target` with the bytes from `offset` on.

    `read` fills memory with the stored bytes from a place in the file on.

    Raises
    ------
    Damaged
        The bytes are not those that were written.
    """
    size = SEGMENT_BYTES + TAG_BYTES
    end = offset + target.nbytes
    if end > head.plain:
        raise _damaged(head.name, f"it ends {end - head.plain} bytes too early")
    first, last = offset // SEGMENT_BYTES, -(-end // SEGMENT_BYTES)
    for begin in range(first, last, _WINDOW):
        numbers = range(begin, min(begin + _WINDOW, last))
        at = HEADER_BYTES + begin * size
        room = memoryview(bytearray(min(len(numbers) * size, head.stored - at)))
        read(room, at)
        for place, number in enumerate(numbers):
            data = room[place * size : (place + 1) * size]
            start = number * SEGMENT_BYTES
            low, high = max(start, offset), min(start + SEGMENT_BYTES, end)
            part = target[low - offset : high - offset]
            if part.nbytes == SEGMENT_BYTES:
                head.decrypt_into(number, data, part)
            else:
                part[:] = head.decrypt(number, data)[low - start : high - start]


def aead_of(key: bytes) -> "AESGCM":
    """Return the cipher under a key.

    Raises
    ------
    SealedError
        The package that has it is not installed.
    """
    try:
        # an extra: a store that is not encrypted does without it
        from cryptography.hazmat.primitives.ciphers.aead import (  # noqa: PLC0415
            AESGCM,
        )
    except ImportError as error:
        raise SealedError(
            "nothing was encrypted or decrypted",
            because="the package cryptography is not installed",
            remedy="Type pip install 'nbresume[encryption]'.",
        ) from error
    return AESGCM(key)


def _file_key(key: DataKey, header: bytes, store_id: str) -> "AESGCM":
    about = _FILE + header + store_id.encode()
    return aead_of(hmac.new(key.secret, about, hashlib.sha256).digest())


def _nonce(number: int, *, is_last: bool) -> bytes:
    return number.to_bytes(11, "big") + bytes([is_last])


def _place(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=_PLACE_BYTES).digest()


def _segments(data: Iterable[Buffer]) -> Iterator[memoryview]:
    """Give full segments, and at last one that is not full, perhaps empty."""
    rest = bytearray()
    for buffer in data:
        view = memoryview(buffer)
        if rest:
            lacking = SEGMENT_BYTES - len(rest)
            rest += view[:lacking]
            view = view[lacking:]
            if len(rest) < SEGMENT_BYTES:
                continue
            yield memoryview(rest)
        whole = view.nbytes // SEGMENT_BYTES * SEGMENT_BYTES
        for at in range(0, whole, SEGMENT_BYTES):
            yield view[at : at + SEGMENT_BYTES]
        rest = bytearray(view[whole:])
    yield memoryview(rest)


def _changed(name: str) -> Damaged:
    return _damaged(name, "its bytes are not those that were encrypted")


def _damaged(name: str, because: str) -> Damaged:
    return Damaged(
        f"{name.rstrip('/')} cannot be read",
        because=because,
        remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
        key=name,
    )
