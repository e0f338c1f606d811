"""The user's keys: of a variable, of the system's keyring, or of a file.

The rule: one source at a time, and no key in an error, a log line or a ``repr``. The
first key signs and seals; the others, of earlier times, only verify and open.
"""

import os
import secrets
from pathlib import Path

from msgspec import Struct

from nbresume.errors import NotTrusted, UsageError
from nbresume.store.trust import KEY_BYTES, load_keys, parse_keys

VARIABLE = "NBRESUME_KEY"
KEYRING = "keyring:"
"""Begins a value of the variable that names an entry of the system's keyring."""
SERVICE = "nbresume"
"""Under this name of a service the keyring keeps the entries."""


class Keys(Struct, frozen=True):
    """Keys, the one that signs first, and where they come from."""

    all: tuple[bytes, ...]
    source: str
    """For people: a variable, an entry of the keyring, or the path of a file."""
    is_known: bool = True
    """False: there is no key yet, and this one signed nothing."""

    def __repr__(self) -> str:
        """Return where they come from, and nothing of them."""
        return f"<{len(self.all)} keys of {self.source}>"


def fresh_key() -> bytes:
    """Return a new key from the system's random source."""
    return secrets.token_bytes(KEY_BYTES)


def keys_of(file: Path, *, create: bool) -> Keys:
    """Return the keys that this process uses.

    Parameters
    ----------
    file
        The user's key file. It is neither read nor made if the variable is set.
    create
        Make the file if it is needed and missing.

    Raises
    ------
    UsageError
        The variable holds something else, or its keyring cannot be asked.
    NotTrusted
        The keyring has no such entry; or as for `load_keys`.
    """
    named = os.environ.get(VARIABLE, "").strip()
    if named.startswith(KEYRING):
        return _of_keyring(named.removeprefix(KEYRING))
    if named:
        return _parsed(named, VARIABLE)
    if not create and not file.exists():
        return Keys((fresh_key(),), str(file), is_known=False)
    return Keys(load_keys(file, create=fresh_key if create else None), str(file))


def _of_keyring(entry: str) -> Keys:
    try:
        # an optional package: nobody without such a variable needs it
        import keyring  # noqa: PLC0415
        import keyring.errors  # noqa: PLC0415
    except ImportError as error:
        raise _unusable(
            f"the entry {entry} of the keyring",
            "the package keyring is not installed",
            "Type pip install 'nbresume[keyring]'.",
        ) from error
    source = f"the entry {entry} of the keyring"
    try:
        text = keyring.get_password(SERVICE, entry)
    except keyring.errors.KeyringError as error:
        raise _unusable(
            source,
            f"the system's keyring cannot be asked ({type(error).__name__})",
            f"Unlock it, or put the key itself into {VARIABLE}.",
        ) from error
    if text is None:
        raise NotTrusted(
            f"{source} was not used",
            because="there is no such entry",
            remedy=f"Type keyring set {SERVICE} {entry}, and give it the key: "
            "64 hexadecimal digits.",
        )
    return _parsed(text, source)


def _parsed(text: str, source: str) -> Keys:
    keys = parse_keys(text)
    if not keys:
        # not repeated: most of it may be right
        raise _unusable(
            f"the key in {source}",
            "a key is 64 hexadecimal digits, and a comma stands between keys",
            "nbresume key new prints one.",
        )
    return Keys(keys, source)


def _unusable(what: str, because: str, remedy: str) -> UsageError:
    return UsageError(f"{what} was not used", because=because, remedy=remedy)
