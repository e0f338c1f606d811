"""A store in a bucket of an object store, through obstore.

The rule: a key appears by one conditional put, so it is there with all its bytes or
not at all, and the second writer of a key loses. Whatever the service answers to a put,
what decides is what the key holds afterwards.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from nbresume.errors import KeyMissing, Unavailable
from nbresume.model.threads import in_threads
from nbresume.store import remote_errors as told
from nbresume.store.port import (
    Begun,
    Buffer,
    Later,
    Staged,
    check_key,
    missing,
    taken,
    too_short,
)

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PROBE = "tmp/probe"
_TRIES = 3
"""A service may answer 409 to a put that meets another one, and keep neither."""


class _Durable:
    """A file that was durable when the service answered (see `port.Begun`)."""

    def flush(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        """Nothing is held."""


class RemoteBackend:
    """Keys as objects below one prefix (see `port.Backend` for each method)."""

    def __init__(
        self,
        store: "ObjectStore",
        url: str,
        *,
        reopen: Callable[[str], "RemoteBackend"] | None = None,
    ) -> None:
        # It is here when there is such a store: nobody else pays for the import.
        import obstore  # noqa: PLC0415
        import obstore.exceptions  # noqa: PLC0415

        self.url = url
        self._obstore = obstore
        self._store = store
        self._reopen = reopen
        """How another process opens it."""
        self._is_fit = False
        self._copies = not url.startswith("az:")
        """Azure may answer before a copy is there, and obstore does not look again."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a worker open the same store, with credentials of its own.

        Raises
        ------
        TypeError
            Nobody said how it is opened.
        """
        if self._reopen is None:
            message = "this store cannot be opened by another process"
            raise TypeError(message)
        return self._reopen, (self.url,)

    def create(
        self, key: str, data: Buffer, *, after: Callable[[], object] | None = None
    ) -> None:
        """Create the key durably."""
        check_key(key)
        self._probe()
        if after is not None:
            after()
        if not self._put_new(key, data):
            raise taken(key)

    def write(self, key: str, data: Iterable[Buffer]) -> None:
        """Write a file of a group that is not published yet."""
        check_key(key)
        self._probe()
        whole = b"".join(data)
        # A group has one writer: these bytes there are its own, the reply was lost.
        if not self._put_new(key, whole) and self.read(key) != whole:
            raise taken(key)

    def begin(self, key: str, data: Iterable[Buffer]) -> Begun:
        """Write a file of a group; it is durable at once."""
        self.write(key, data)
        return _Durable()

    def seal(self, folders: Sequence[str]) -> None:
        """Nothing is left to do: every put was durable when it was answered."""
        for folder in folders:
            check_key(folder)

    def stage(self, documents: Mapping[str, bytes]) -> Staged:
        """Keep derived metadata until it is shown: a bucket has no names to change."""
        return Later(self.publish, documents)

    def publish(self, documents: Mapping[str, bytes]) -> None:
        """Put derived metadata under keys, two at a time: each is a round trip."""
        in_threads(self._publish_one, [*documents.items()])

    def _publish_one(self, document: tuple[str, bytes]) -> None:
        key, data = document
        check_key(key)
        with told.reporting(f"{key} was not written to the store", self.url):
            self._obstore.put(self._store, key, data, use_multipart=False)

    def link(self, source: str, key: str) -> None:
        """Let `key` hold the bytes of `source`: the service copies them, if it can."""
        check_key(source)
        # A group has one writer, so nobody creates it between this and the copy.
        if self.size(key) is not None:
            raise taken(key)
        if not self._copies:
            self.write(key, (self.read(source),))
            return
        with told.reporting(f"{key} was not written to the store", self.url):
            try:
                self._obstore.copy(self._store, source, key)
            except FileNotFoundError as error:
                raise missing(source) from error

    def delete(self, key: str) -> None:
        """Take away a file that no record names."""
        check_key(key)
        with told.reporting(f"{key} was not deleted", self.url):
            try:
                self._obstore.delete(self._store, key)
            except FileNotFoundError:
                return

    def read(self, key: str) -> bytes:
        """Return everything that the key holds."""
        check_key(key)
        with told.reporting(f"{key} was not read", self.url):
            try:
                data: bytes = self._obstore.get(self._store, key).bytes().to_bytes()
            except FileNotFoundError as error:
                raise missing(key) from error
        return data

    def read_into(self, key: str, target: memoryview, *, offset: int = 0) -> None:
        """Fill `target` with the bytes from `offset` on."""
        check_key(key)
        if not target.nbytes:
            return
        try:
            with told.reporting(f"{key} was not read", self.url):
                try:
                    found = self._obstore.get_range(
                        self._store, key, start=offset, length=target.nbytes
                    )
                except FileNotFoundError as error:
                    raise missing(key) from error
        except Unavailable:
            # A range behind the end is an error like any other to the service.
            size = self.size(key)
            if size is None or size >= offset + target.nbytes:
                raise
            raise too_short(key, offset + target.nbytes - size) from None
        if found_bytes := memoryview(found).nbytes:
            target[:found_bytes] = memoryview(found)
        if found_bytes < target.nbytes:
            raise too_short(key, target.nbytes - found_bytes)

    def size(self, key: str) -> int | None:
        """Return how many bytes the key holds; None if there is no such key."""
        check_key(key)
        with told.reporting(f"{key} was not looked for", self.url):
            try:
                return int(self._obstore.head(self._store, key)["size"])
            except FileNotFoundError:
                return None

    def names(self, folder: str) -> list[str]:
        """Return the names directly below the folder; none if it does not exist."""
        prefix = check_key(folder) if folder else None
        with told.reporting(f"{folder or self.url} was not listed", self.url):
            found = self._obstore.list_with_delimiter(self._store, prefix)
        keys = [*found["common_prefixes"], *(one["path"] for one in found["objects"])]
        return [key.rstrip("/").rpartition("/")[2] for key in keys]

    def written_at(self, key: str) -> datetime | None:
        """Return when the service took the key; None if there is no such key."""
        check_key(key)
        with told.reporting(f"{key} was not looked for", self.url):
            try:
                found: datetime = self._obstore.head(self._store, key)["last_modified"]
            except FileNotFoundError:
                return None
        return found

    def shared_as(self, key: str) -> str:
        """Return nothing: the service copies what is linked."""
        check_key(key)
        return ""

    def prune(self, folder: str) -> None:
        """Nothing is left to do: there are no folders, and a deletion is for good."""
        check_key(folder)

    def codecs(self, folder: str) -> tuple[()]:
        """Return nothing: the files hold what was written."""
        check_key(folder)
        return ()

    def free_bytes(self) -> int | None:
        """Return None: nobody can tell."""
        return None

    def _put_new(self, key: str, data: Buffer) -> bool:
        """Create the key; return whether it was this call that did."""
        refused = f"{key} was not written to the store"
        for _ in range(_TRIES):
            try:
                if self._put_once(key, data, refused):
                    return True
            except Unavailable:
                if not self._holds(key, data):
                    raise
                return True
            if self.size(key) is not None:
                return False
        raise Unavailable(
            refused,
            because="the store says that it exists, and that it does not",
            remedy="Try again.",
            key=key,
        )

    def _put_once(self, key: str, data: Buffer, refused: str) -> bool:
        """Put with the condition that the key is new; return whether that was met."""
        exceptions = self._obstore.exceptions
        with told.reporting(refused, self.url):
            try:
                self._obstore.put(
                    self._store, key, data, mode="create", use_multipart=False
                )
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError):
                # only here: the same answers to anything else are failures
                return False
        return True

    def _holds(self, key: str, data: Buffer) -> bool:
        try:
            return self.read(key) == data
        except (KeyMissing, Unavailable):
            return False

    def _probe(self) -> None:
        """Make sure once, before anything is kept, that a key is created once."""
        if self._is_fit:
            return
        self.publish({PROBE: b"probe"})
        if self._put_once(PROBE, b"probe", "the store was not tried out"):
            raise told.unfit(self.url)
        self._is_fit = True
