"""Results of effects: kept in a group of their own, durable before a record names them.

The rule: an effect that happened is done whether its result can be kept or not; what
cannot be kept is said once, on record, and its call is never repeated for it.
"""

import types
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from nbresume.capture.live import Live
from nbresume.capture.pickling import Dumped, dump
from nbresume.capture.touched import is_users
from nbresume.errors import CaptureError, StoreError
from nbresume.model.codec import canonical
from nbresume.model.manifest import Manifest, Unit
from nbresume.model.records import EffectDone
from nbresume.model.values import ManifestRef
from nbresume.run.journal import Journal
from nbresume.run.packing import ATTRIBUTE
from nbresume.store.drafts import Blob

RESULT = "result"
"""Name of the only unit of such a group, and of its arrays."""


class Kept(Struct, frozen=True):
    """What became of a result."""

    ref: ManifestRef | None = None
    """None for the result None, and for one that is not kept."""
    not_kept: str = ""
    """Why it is not kept."""


def keep(
    value: Any,
    *,
    group: str,
    journal: Journal,
    definitions: Mapping[int, str] | None = None,
    namespace: Mapping[str, Any] | None = None,
) -> Kept:
    """Make a result durable; a failure to do so is an answer, not an error.

    Parameters
    ----------
    value
        The result.
    group
        Name of the group that it gets to itself.
    journal
        The run that it belongs to.
    definitions
        id → name of the notebook's functions and classes, which are referred to.
    namespace
        The notebook's namespace.
    """
    if value is None:
        return Kept()
    try:
        dumped = dump([value], units=definitions or {}, namespace=namespace or {})
        _refuse_collections(dumped, group)
        draft = journal.objects.draft(group)
        places = {}
        stream, place = draft.add(Blob(dumped.stream, name=RESULT))
        places[stream] = place
        buffers = []
        for buffer in dumped.buffers:
            blob = Blob(buffer.data, buffer.dtype, buffer.shape, RESULT)
            digest, places[digest] = draft.add(blob)
            buffers.append(digest)
        unit = Unit(
            stream=stream, buffers=buffers, refs=sorted(dumped.refs), deep=stream
        )
        manifest = Manifest(names={}, units={RESULT: unit}, payloads=places)
        offset, length, digest = draft.add_to_pack(canonical(manifest))
        draft.write()
    except (CaptureError, StoreError) as error:
        return Kept(not_kept=error.because or error.refused)
    return Kept(ManifestRef(group=group, offset=offset, length=length, digest=digest))


def _refuse_collections(dumped: Dumped, group: str) -> None:
    if any(buffer.stored for buffer in dumped.buffers):
        raise CaptureError(
            f"the result of {group} was not kept",
            because="it holds a dask collection that stands on the store",
            remedy="Return what it is computed to.",
        )


def definitions_in(live: Live) -> dict[int, str]:
    """Return id → name of the functions and classes that names of a notebook hold.

    They are found again by name, so that a replayed result is an instance of the
    class that the notebook has, as the first one was.
    """
    return {
        id(value): name
        # a copy: threads of the step may bind names meanwhile
        for name, value in dict(live.namespace).items()
        if is_users(name)
        and isinstance(value, type | types.FunctionType)
        and value.__module__ == "__main__"
    }


def publish(journal: Journal, record: EffectDone) -> None:
    """Show a kept result to plain zarr.

    Raises
    ------
    StoreError
        The device failed; the result is durable all the same.
    """
    if record.result is None:
        return
    about = {
        "kind": EffectDone.KIND,
        "step": record.step,
        "key": record.key,
        "generation": record.generation,
    }
    journal.objects.publish(record.result.group, {ATTRIBUTE: about})
