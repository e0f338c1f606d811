"""What says which format a store has, and who it is: ``store.json``.

The rule: it is created once, before anything else, and never changed; a format that
this release does not know is refused before a byte is written.
"""

import re
from typing import Any

import msgspec
from msgspec import Struct

from nbresume.errors import Damaged, KeyMissing, KeyTaken, SchemaError, UsageError
from nbresume.model.codec import canonical
from nbresume.settings import CIPHER, __version__
from nbresume.store.port import Backend

KEY = "store.json"
FORMAT = 1
DIGEST = "blake3"
CIPHERS = ("", CIPHER)
_STORE_ID = re.compile(r"[0-9a-f]{32}")


class Layout(Struct, frozen=True):
    """A store that this release can read."""

    format: int
    """Version of everything that is stored."""
    store_id: str
    """32 hex digits, chosen when the store was made."""
    cipher: str = ""
    """How payloads are encrypted; empty if they are not."""


def open_layout(backend: Backend, *, new_id: str | None, cipher: str = "") -> Layout:
    """Return the layout of the store; a new store is given the id `new_id`.

    `cipher` is how a new store is encrypted; one that is there stays as it is.

    Raises
    ------
    KeyMissing
        This is no store, and none is to be made.
    SchemaError
        The store has a format, a digest or a cipher that this release cannot read.
    Damaged
        ``store.json`` cannot be read, or is gone while the rest is there.
    """
    try:
        return _parse(backend.read(KEY))
    except KeyMissing:
        if new_id is None:
            raise
    if not _STORE_ID.fullmatch(new_id):
        raise UsageError(
            f"the store id {new_id!r}",
            because="a store id is 32 hexadecimal digits",
            remedy="Leave the choice to nbresume.",
        )
    if backend.names("journal"):
        raise _damaged("it is missing, but there are records")
    document = {
        "format": FORMAT,
        "id": new_id,
        "digest": DIGEST,
        "cipher": cipher,
        "writer": f"nbresume {__version__}",
    }
    try:
        backend.create(KEY, canonical(document) + b"\n")
    except KeyTaken:
        # Another kernel made the store at the same moment: it has one id, theirs.
        return _parse(backend.read(KEY))
    return Layout(format=FORMAT, store_id=new_id, cipher=cipher)


def _parse(data: bytes) -> Layout:
    try:
        found = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise _damaged(f"its bytes are damaged or incomplete ({error})") from error
    version = found.get("format")
    # bool is an int, and JSON's true is no version.
    if type(version) is not int:
        raise _damaged("it names no format")
    if version != FORMAT:
        raise _unknown(f"format {version}", f"format {FORMAT}", found)
    if found.get("digest") != DIGEST:
        raise _unknown(f"digest {found.get('digest')}", DIGEST, found)
    cipher = found.get("cipher")
    if cipher not in CIPHERS:
        supported = f"{CIPHER}, and stores that are not encrypted"
        raise _unknown(f"cipher {cipher}", supported, found)
    store_id = found.get("id")
    if not isinstance(store_id, str) or not _STORE_ID.fullmatch(store_id):
        raise _damaged("it holds no store id")
    return Layout(format=version, store_id=store_id, cipher=cipher)


def _unknown(what: str, supported: str, document: dict[str, Any]) -> SchemaError:
    writer = document.get("writer") or "an unnamed release"
    return SchemaError(
        "the store was not opened",
        because=f"it has {what}, written by {writer}; this release reads {supported}. "
        "Nothing was written",
        remedy="Use the release that wrote it, or a newer one: "
        "pip install -U nbresume.",
        found=document.get("format"),
        supported=FORMAT,
        writer=writer,
    )


def _damaged(because: str) -> Damaged:
    return Damaged(
        f"{KEY} of the store cannot be read",
        because=because,
        remedy=f"Put {KEY} back from a copy, or move the store's folder away to "
        "begin a new one.",
        key=KEY,
    )
