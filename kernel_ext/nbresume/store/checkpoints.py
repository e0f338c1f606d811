"""Checkpoints with compare-and-swap, for anybody: the public face of a chain.

The rule: revision n+1 is appended only by somebody who saw exactly n; who loses loads
again and decides anew. The product itself decides by nothing else.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import msgspec

from nbresume.errors import (
    CaptureError,
    ConflictError,
    Damaged,
    KeyMissing,
    NotCommitted,
    UsageError,
)
from nbresume.model.codec import canonical, encode_envelope
from nbresume.model.digests import record_digest
from nbresume.model.envelope import FIRST, Envelope, check_successor
from nbresume.model.ids import parse_checkpoint_id, parse_kind
from nbresume.store.chain import Chain
from nbresume.store.port import Backend
from nbresume.store.trust import Link, Trust

Checkpoint = Envelope
"""What a checkpoint id names: an envelope with a JSON payload."""

_OWN_KINDS = "nbresume."
_SMALLEST_INT, _LARGEST_INT = -(2**63), 2**64 - 1


class CheckpointStore:
    """Checkpoints by id; each id has a chain of revisions of its own.

    Take the newest with `load` (or begin with `initial`), make the following one with
    `next`, and store it with `compare_and_swap`, which refuses if somebody else was
    faster.
    """

    def __init__(
        self,
        backend: Backend,
        trust: Trust,
        *,
        now: Callable[[], datetime],
        new_nonce: Callable[[], str],
    ) -> None:
        self._backend = backend
        self._trust = trust
        self._now = now
        self._new_nonce = new_nonce

    def initial(
        self,
        checkpoint_id: str,
        *,
        kind: str,
        payload: Mapping[str, Any],
        run_id: str = "",
    ) -> Checkpoint:
        """Return revision 0 of a checkpoint; nothing is stored yet.

        Parameters
        ----------
        checkpoint_id
            Names the checkpoint: letters, digits, ``_``, ``.``, ``-``.
        kind
            Says what the payload is, in a name space of yours (``acme.order``).
        payload
            A dictionary of plain JSON values.
        run_id
            The run that it belongs to, if it belongs to one.

        Raises
        ------
        UsageError
            The id or the kind cannot be used; kinds of nbresume are its own.
        CaptureError
            The payload holds something that JSON has no exact form for.
        """
        return Envelope(
            id=parse_checkpoint_id(checkpoint_id),
            run_id=run_id,
            revision=FIRST,
            kind=_foreign_kind(kind),
            schema_version=1,
            payload=_plain(payload),
            updated_at=self._now(),
            nonce=self._new_nonce(),
        )

    def next(self, current: Checkpoint, payload: Mapping[str, Any]) -> Checkpoint:
        """Return what may follow `current`, which must come from the store.

        Raises
        ------
        CaptureError
            The payload holds something that JSON has no exact form for.
        """
        return msgspec.structs.replace(
            current,
            revision=current.revision + 1,
            payload=_plain(payload),
            updated_at=self._now(),
            nonce=self._new_nonce(),
            prev=record_digest(encode_envelope(current)),
            key_id="",
            mac="",
        )

    def load(self, checkpoint_id: str) -> Checkpoint:
        """Return the newest revision.

        Raises
        ------
        NotCommitted
            There is no such checkpoint.
        Damaged
            Its newest record is damaged.
        NotTrusted
            It was written under another key.
        """
        head = self._head(self._chain(checkpoint_id))
        if head is None:
            raise NotCommitted(
                f"checkpoint {checkpoint_id} was not loaded",
                because="there is no such checkpoint",
                remedy="Create it: compare_and_swap(initial(…), expected=None).",
                id=checkpoint_id,
            )
        return head

    def compare_and_swap(
        self, following: Checkpoint, *, expected: int | None
    ) -> Checkpoint:
        """Store `following` durably and return it as it is stored.

        Parameters
        ----------
        following
            Made by `initial` or `next`. Storing the same one twice succeeds twice.
        expected
            The revision that must be the newest; None to create the checkpoint.

        Raises
        ------
        ConflictError
            Another revision is the newest one: load it and decide anew.
        UsageError
            The kind belongs to nbresume itself.
        Damaged
            The newest record is damaged.
        NotTrusted
            The checkpoint was written under another key.
        Unavailable
            The device failed; store the same checkpoint again to find out.
        """
        _foreign_kind(following.kind)
        chain = self._chain(following.id)
        current = self._head(chain)
        if current is not None:
            _foreign_kind(current.kind)
            if _place(current) == _place(following):
                return current
        check_successor(following, current=current, expected=expected)
        before = "" if current is None else record_digest(encode_envelope(current))
        if following.prev != before:
            raise ConflictError(
                f"checkpoint {following.id} was not changed",
                because="it was made from a checkpoint that is not the stored one",
                remedy="Load it, and make the next one with CheckpointStore.next().",
                id=following.id,
                expected=expected,
                found=expected,
            )
        return _whole(chain.append(following), following.id)

    def history(self, checkpoint_id: str) -> list[Checkpoint]:
        """Return all revisions, oldest first; none if there is no such checkpoint.

        Raises
        ------
        Damaged
            A record is damaged or missing.
        NotTrusted
            The checkpoint was written under another key.
        """
        chain = self._chain(checkpoint_id)
        newest = chain.newest()
        if newest is None:
            return []
        try:
            links = [chain.read(revision) for revision in range(newest + 1)]
        except KeyMissing as error:
            raise Damaged(
                f"the history of checkpoint {checkpoint_id} cannot be read",
                because="a revision is missing from its chain",
                remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
                id=checkpoint_id,
            ) from error
        return [_whole(link, checkpoint_id) for link in self._trust.vouch(links)]

    def _chain(self, checkpoint_id: str) -> Chain:
        return Chain(self._backend, self._trust, checkpoint_id)

    def _head(self, chain: Chain) -> Checkpoint | None:
        newest = chain.newest()
        if newest is None:
            return None
        (head,) = self._trust.vouch([chain.read(newest)])
        return _whole(head, chain.checkpoint_id)


def _place(checkpoint: Checkpoint) -> tuple[str, int, str]:
    return checkpoint.id, checkpoint.revision, checkpoint.nonce


def _whole(link: Link, checkpoint_id: str) -> Checkpoint:
    if link.envelope is None:
        raise Damaged(
            f"revision {link.revision} of checkpoint {checkpoint_id} cannot be read",
            because="its bytes are not those that were written",
            remedy="Type nbresume verify NOTEBOOK to see what else is affected.",
            id=checkpoint_id,
            revision=link.revision,
        )
    return link.envelope


def _foreign_kind(kind: str) -> str:
    if not kind.startswith(_OWN_KINDS):
        return parse_kind(kind)
    raise UsageError(
        f"the kind {kind!r}",
        because="kinds that begin with 'nbresume.' are written by nbresume alone",
        remedy="Choose a kind in a name space of yours, such as acme.order.",
    )


def _plain(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy that no later change of the payload reaches."""
    if type(payload) is not dict:
        raise _inexact("payload", payload)
    _check_json(payload, "payload")
    copied: dict[str, Any] = msgspec.json.decode(canonical(payload))
    return copied


def _check_json(value: Any, where: str) -> None:
    # What JSON would change without a word is refused: it would not come back equal.
    if type(value) is list:
        for index, item in enumerate(value):
            _check_json(item, f"{where}[{index}]")
    elif type(value) is dict:
        for key, item in value.items():
            if not _is_text(key):
                raise _inexact(f"a key of {where}", key)
            _check_json(item, f"{where}[{key!r}]")
    elif not (_is_text(value) or _is_number(value) or value is None):
        raise _inexact(where, value)


def _inexact(where: str, value: object) -> CaptureError:
    return CaptureError(
        "the checkpoint was not stored",
        because=f"JSON has no exact form for {where}: {type(value).__name__}",
        remedy="Make it a dict of None, bool, int, finite float, str, list and dict.",
    )


def _is_number(value: Any) -> bool:
    if type(value) is float:
        return math.isfinite(value)
    if type(value) is int:
        return _SMALLEST_INT <= value <= _LARGEST_INT
    return type(value) is bool


def _is_text(value: Any) -> bool:
    # Half a surrogate pair is a str that no encoding has.
    return type(value) is str and not any("\ud800" <= c <= "\udfff" for c in value)
