"""URLs → stores in a bucket; obstore is imported here, when one is opened.

The rule: credentials come from the environment, never from the URL, which is shown.
"""

import re
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from nbresume.errors import UsageError

if TYPE_CHECKING:
    from nbresume.store.remote import RemoteBackend

_URL = re.compile(r"(s3|gs|az)://[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9._-]+)*/?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(store: str) -> bool:
    """Return whether the name of a store is a URL rather than a folder."""
    return _SCHEME.match(store) is not None


@cache
def opened_again(url: str) -> "RemoteBackend":
    """Return the store at a URL that another process has opened."""
    return open_remote(url)


def open_remote(url: str, *, patience_s: float = 60) -> "RemoteBackend":
    """Return the store at a URL; nothing is sent yet.

    Parameters
    ----------
    url
        ``s3://``, ``gs://`` or ``az://``, bucket and prefix.
    patience_s
        So long obstore tries again what failed on the way.

    Raises
    ------
    UsageError
        It is no such URL, obstore is not installed, or the environment lacks what the
        service needs.
    """
    if not _URL.fullmatch(url):
        # not repeated: it may hold a password
        raise UsageError(
            "the URL of the store was not opened",
            because="it is not s3://, gs:// or az:// with a bucket and a prefix of "
            "letters, digits, '_', '.' and '-'",
            remedy="Set for example NBRESUME_STORE=s3://bucket/prefix; credentials "
            "go into the environment.",
        )
    try:
        # an optional package
        from obstore.exceptions import BaseError  # noqa: PLC0415
        from obstore.store import from_url  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            f"the store {url} was not opened",
            because="the package obstore is not installed",
            remedy="Type pip install 'nbresume[object-store]'.",
        ) from error
    # a session whose store is a folder does without it
    from nbresume.store.remote import RemoteBackend  # noqa: PLC0415
    from nbresume.store.remote_errors import not_opened  # noqa: PLC0415

    patience = timedelta(seconds=patience_s)
    try:
        store = from_url(url, retry_config={"retry_timeout": patience})
    except (BaseError, ValueError) as error:
        raise not_opened(url, error) from error
    return RemoteBackend(store, url, reopen=opened_again)
