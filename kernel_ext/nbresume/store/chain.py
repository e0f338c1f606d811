"""The revisions of one checkpoint id: one record after the other, one writer each.

The rule: a revision is a key that can only be created. Whoever creates it has won;
who finds another's record there has lost and decides anew; who finds its own nonce
there has won before, and only the reply was lost.
"""

import re
import sys
from collections.abc import Callable

from nbresume.errors import ConflictError, Damaged, KeyMissing, KeyTaken, Unavailable
from nbresume.model.codec import decode_envelope, encode_envelope
from nbresume.model.digests import record_digest
from nbresume.model.envelope import Envelope
from nbresume.model.ids import parse_checkpoint_id
from nbresume.store.port import Backend
from nbresume.store.trust import Link, Trust

_NAME = re.compile(r"(\d{10})\.rec", re.ASCII)
_TRIES = 3


class Chain:
    """The chain of one checkpoint id, as it lies in the journal.

    What `read` and `follow` return is not vouched for: ask `Trust.vouch`.
    """

    def __init__(self, backend: Backend, trust: Trust, checkpoint_id: str) -> None:
        self._backend = backend
        self._trust = trust
        self.checkpoint_id = parse_checkpoint_id(checkpoint_id)
        self._folder = f"journal/{checkpoint_id}"

    def other(self, checkpoint_id: str) -> "Chain":
        """Return another chain of the same store."""
        return Chain(self._backend, self._trust, checkpoint_id)

    def copies(self) -> list[str]:
        """Return the ids of the chains that migrations made of it. One listing."""
        start = f"{self.checkpoint_id}."
        return [n for n in self._backend.names("journal") if n.startswith(start)]

    def newest(self) -> int | None:
        """Return the newest revision; None if there is none. One listing."""
        found = map(_NAME.fullmatch, self._backend.names(self._folder))
        return max((int(match[1]) for match in found if match), default=None)

    def read(self, revision: int) -> Link:
        """Return the record as it was found; a damaged one has no envelope.

        Raises
        ------
        KeyMissing
            There is no such revision.
        """
        data = self._backend.read(self._key(revision))
        return Link(
            revision=revision,
            digest=record_digest(data),
            size=len(data),
            envelope=self._parse(data, revision),
        )

    def stored(self, revision: int) -> tuple[str, bytes]:
        """Return under which key a record lies, and its bytes as they were found.

        Raises
        ------
        KeyMissing
            There is no such revision.
        """
        key = self._key(revision)
        return key, self._backend.read(key)

    def follow(self, revision: int) -> list[Link]:
        """Return the records that stand after `revision` now, oldest first."""
        found: list[Link] = []
        while True:
            revision += 1
            try:
                found.append(self.read(revision))
            except KeyMissing:
                return found

    def settle(self) -> None:
        """Let every record that is there survive power loss, whoever wrote it.

        Its writer may have been killed before the name of the newest one was flushed.

        Raises
        ------
        Unavailable
            The device failed.
        """
        self._backend.seal((self._folder,))

    def append(
        self, envelope: Envelope, *, after: Callable[[], object] | None = None
    ) -> Link:
        """Sign the envelope and make it the record of its revision, durably.

        Parameters
        ----------
        after
            What has to be over before the record can be seen (`port.Backend.create`);
            it creates no key itself.

        Raises
        ------
        ConflictError
            Another writer's record stands there.
        Unavailable
            The device failed. The record may stand there or not: append the same
            envelope again to find out.
        """
        sys.audit("nbresume.append", envelope.kind, envelope.revision)
        signed = self._trust.sign(envelope)
        data = encode_envelope(signed)
        for _ in range(_TRIES):
            try:
                self._backend.create(self._key(signed.revision), data, after=after)
            except KeyTaken as taken:
                found = self._find(signed.revision)
                if found is None:
                    continue
                return self._own(found, signed, taken)
            return Link(
                revision=signed.revision,
                digest=record_digest(data),
                size=len(data),
                envelope=signed,
            )
        raise Unavailable(
            f"revision {signed.revision} of {signed.id} was not written",
            because="the store says that it exists, and that it does not",
            remedy="Try again.",
            id=signed.id,
            revision=signed.revision,
        )

    def keep_damaged(self, source: "Chain", revision: int) -> Link:
        """Give a damaged record of another chain its place here, with its bytes.

        Here too they are no record: they name the other chain, if they can be read.

        Raises
        ------
        ConflictError
            Something else stands there.
        """
        try:
            data = self._backend.read(source._key(revision))  # noqa: SLF001 - a Chain
        except KeyMissing:
            data = b""
        try:
            self._backend.create(self._key(revision), data)
        except KeyTaken as taken:
            if self._backend.read(self._key(revision)) != data:
                raise _lost(self.checkpoint_id, revision) from taken
        return self.read(revision)

    def _find(self, revision: int) -> Link | None:
        try:
            return self.read(revision)
        except KeyMissing:
            return None

    def _own(self, found: Link, wanted: Envelope, taken: KeyTaken) -> Link:
        if found.envelope is not None and found.envelope.nonce == wanted.nonce:
            return found
        raise _lost(wanted.id, wanted.revision) from taken

    def _parse(self, data: bytes, revision: int) -> Envelope | None:
        key = self._key(revision)
        try:
            envelope = decode_envelope(data, name=key)
        except Damaged:
            return None
        # Other spellings of the same JSON would pass the signature with a digest that
        # the record after it does not know.
        standing = (envelope.id, envelope.revision) == (self.checkpoint_id, revision)
        return envelope if standing and encode_envelope(envelope) == data else None

    def _key(self, revision: int) -> str:
        return f"{self._folder}/{revision:010d}.rec"


def _lost(checkpoint_id: str, revision: int) -> ConflictError:
    return ConflictError(
        f"revision {revision} of {checkpoint_id} was not written",
        because="another writer's record stands there",
        remedy="Load what is there, and decide anew.",
        id=checkpoint_id,
        expected=revision - 1 if revision else None,
        found=revision,
    )
