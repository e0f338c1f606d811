"""What the failures of an object store mean, and what to type next.

The rule: every failure of obstore leaves as an error of nbresume, at this border.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from nbresume.errors import Unavailable, Unfit

_SAID = 300
"""So much is repeated of what the service said."""


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
        raise Unavailable(
            refused,
            because=f"{url} does not accept these credentials ({_said(error)})",
            remedy="Set the credentials of the service, for example "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and restart the kernel.",
        ) from error
    except FileNotFoundError as error:
        raise Unavailable(
            refused,
            because=f"there is no such bucket: {url}",
            remedy="Make the bucket, or set NBRESUME_STORE to one that exists.",
        ) from error
    except (exceptions.BaseError, ValueError, OSError) as error:
        raise Unavailable(
            refused,
            because=f"{url} was not reached or failed ({_said(error)})",
            remedy="Check the network and the endpoint, then try again.",
        ) from error


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


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:_SAID]
