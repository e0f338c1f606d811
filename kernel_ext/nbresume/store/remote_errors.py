"""What the failures of an object store mean, and what to type next.

The rule: every failure of obstore leaves as an error of nbresume, at this border.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from nbresume.errors import Unavailable, Unfit, UsageError

_SAID = 300
"""So much is repeated of what the service said."""
_VARIABLES = {
    "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
    "az": "AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY",
    "gs": "GOOGLE_APPLICATION_CREDENTIALS",
}
_SKEWED = (
    "RequestTimeTooSkewed",
    "Request date header too old",
    "in a reasonable timeframe",
)
"""How S3, Azure and Google say that a request was signed at a wrong time."""
_NONE_FOUND = (
    "/latest/api/token",
    "/latest/meta-data/",
    "/computeMetadata/",
    "resource=https%3A%2F%2Fstorage.azure.com",
)
"""Where obstore asks a machine for credentials when the environment has none."""
_DENIED = ("403 Forbidden", "401 Unauthorized", "ExpiredToken", "InvalidToken")
"""Of a listing, and of a token of S3, obstore says that like any failure."""
_TOKEN, _REFUSED = "token request", "non-2xx status code: 4"
"""Both: what gives tokens does not know who asks."""
_NO_BUCKET = "404 Not Found"
"""The same: nothing else makes a listing fail so."""


@contextmanager
def reporting(refused: str, url: str) -> Iterator[None]:
    """Let an error of obstore appear as an error of nbresume.

    Raises
    ------
    Unavailable
        The service refused, failed, or was not reached.
    """
    from obstore import exceptions  # noqa: PLC0415 - only where such a store is open

    try:
        yield
    except (
        exceptions.PermissionDeniedError,
        exceptions.UnauthenticatedError,
    ) as error:
        raise _failed(refused, url, error, is_denied=True) from error
    except FileNotFoundError as error:
        raise _no_bucket(refused, url) from error
    except (exceptions.BaseError, ValueError, OSError) as error:
        raise _failed(refused, url, error, is_denied=False) from error


def _failed(
    refused: str, url: str, error: Exception, *, is_denied: bool
) -> Unavailable:
    whole, said = str(error), _said(error)
    if _one_of(_SKEWED, whole):
        because = f"the clock of {url} and that of this computer differ too much"
        remedy = "Set the clock of this computer, then try again."
    elif _one_of(_NONE_FOUND, whole):
        because = f"no credentials for {url} were found ({said})"
        remedy = _set_credentials(url)
    elif is_denied or _one_of(_DENIED, whole) or _is_token_refused(whole):
        because = f"{url} does not accept these credentials ({said})"
        remedy = _set_credentials(url)
    elif _NO_BUCKET in whole:
        return _no_bucket(refused, url)
    else:
        because = f"{url} was not reached or failed ({said})"
        remedy = "Check the network and the endpoint, then try again."
    return Unavailable(refused, because=because, remedy=remedy)


def _no_bucket(refused: str, url: str) -> Unavailable:
    return Unavailable(
        refused,
        because=f"there is no such bucket: {url}",
        remedy="Make the bucket, or set NBRESUME_STORE to one that exists.",
    )


def not_opened(url: str, error: Exception) -> UsageError:
    """Return the error for a store that lacks something in the environment."""
    return UsageError(
        f"the store {url} was not opened",
        because=_said(error),
        remedy=_set_credentials(url),
    )


def unfit(url: str) -> Unfit:
    """Return the error for a bucket that lets two writers create one key."""
    return Unfit(
        f"the store {url} is not used",
        because="two writers could both create the same key there: the service "
        "ignores the condition of a put",
        remedy="Set NBRESUME_STORE to a service with conditional writes, or to a "
        "folder on a local disk.",
        url=url,
    )


def _set_credentials(url: str) -> str:
    names = _VARIABLES[url.partition(":")[0]]
    return (
        "Set the credentials of the service in the environment, for example "
        f"{names}, and restart the kernel."
    )


def _is_token_refused(said: str) -> bool:
    return _TOKEN in said and _REFUSED in said


def _one_of(signs: tuple[str, ...], said: str) -> bool:
    return any(sign in said for sign in signs)


def _said(error: Exception) -> str:
    return " ".join(str(error).partition("Debug source")[0].split())[:_SAID]
