"""Captured values → payloads in a group, its manifest, its zarr attributes.

The rule: a payload that is durable already is referred to by its place and not
written again; the manifest comes last in the pack, when all places are known.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from nbresume.capture.snapshot import Captured
from nbresume.errors import CaptureError
from nbresume.model.codec import canonical
from nbresume.model.manifest import Manifest, Place
from nbresume.model.records import Committed, Progress
from nbresume.model.values import ManifestRef
from nbresume.store.drafts import Blob, Draft
from nbresume.store.objects import Objects

ATTRIBUTE = "nbresume"


class Packed(Struct, frozen=True):
    """A group whose payloads are laid out; durable once its draft is written."""

    manifest: Manifest
    ref: ManifestRef


class Beside(Struct, frozen=True):
    """What a commit holds beside values; empty bytes for what there is not."""

    process: bytes = b""
    displays: bytes = b""
    code: bytes = b""
    previews: bytes = b""


def pack(
    captured: Captured,
    *,
    draft: Draft,
    group: str,
    objects: Objects,
    known: Mapping[str, Place],
    beside: Beside | None = None,
) -> Packed:
    """Lay a capture out in a draft; return its manifest and where that lies."""
    needed = _needed(captured)
    reused = {digest: known[digest] for digest in needed if digest in known}
    gone = set(objects.missing(reused.values()))
    places = {d: place for d, place in reused.items() if place not in gone}
    for digest, part in captured.parts.items():
        if digest not in places:
            blob = Blob(part.data, part.dtype, part.shape, part.name, part.digest)
            _, places[digest] = draft.add(blob)
    for digest in needed:
        if digest in captured.shelved and digest in places:
            draft.shelf().drop(digest)  # an equal one was there before
        elif digest in captured.shelved:
            places[digest] = captured.shelved[digest]
    more = beside or Beside()
    manifest = Manifest(
        names=captured.bindings,
        units=captured.units,
        payloads=places,
        atoms=captured.atoms,
        process=_add(draft, more.process, places),
        displays=_add(draft, more.displays, places),
        code=_add(draft, more.code, places),
        previews=_add(draft, more.previews, places),
    )
    offset, length, digest = draft.add_to_pack(canonical(manifest))
    return Packed(
        manifest, ManifestRef(group=group, offset=offset, length=length, digest=digest)
    )


def check_size(captured: Captured, step: str, *, limit: int) -> None:
    """Pass if a step does not leave more than is kept of one.

    Raises
    ------
    CaptureError
        It does; the largest values are named.
    """
    sizes: dict[str, int] = {}
    for part in captured.parts.values():
        sizes[part.name] = sizes.get(part.name, 0) + len(part.data)
    for place in captured.shelved.values():
        sizes[place.array] = sizes.get(place.array, 0) + place.length
    total = sum(sizes.values())
    if total <= limit:
        return
    names = {b.target: n for n, b in captured.bindings.items()}
    largest = sorted(sizes, key=lambda o: -sizes[o])[:3]
    told = ", ".join(f"{names.get(o, o)} ({sizes[o] >> 20} MB)" for o in largest)
    raise CaptureError(
        f"step {step} is too large to commit",
        because=f"it left {total >> 20} MB, max_step_bytes is "
        f"{limit >> 20} MB; largest: {told}",
        remedy="Delete what is not needed (del NAME) in the step, "
        "or raise NBRESUME_MAX_STEP_MB.",
        step=step,
    )


def _needed(captured: Captured) -> list[str]:
    needed = {captured.atoms: None} if captured.atoms else {}
    for unit in captured.units.values():
        needed |= dict.fromkeys([unit.stream, *unit.buffers])
    return list(needed)


def _add(draft: Draft, data: bytes, places: dict[str, Place]) -> str:
    if not data:
        return ""
    digest, place = draft.add(Blob(data))
    places[digest] = place
    return digest


def commit_attributes(record: Committed, manifest: Manifest) -> dict[str, Any]:
    """Return the attributes of a commit's zarr group: derived, for readers of zarr.

    They repeat the record; a difference is told as damage and mended by the next
    claim.
    """
    outputs = {}
    for name, output in record.outputs.items():
        binding = manifest.names[name]
        outputs[name] = {
            "object": output.object,
            "version": output.version,
            "type": binding.type,
            "dtype": binding.dtype,
            "shape": binding.shape,
        }
    return {
        ATTRIBUTE: {
            "kind": Committed.KIND,
            "step": record.step,
            "commit_number": record.commit_number,
            "idempotency_key": record.idempotency_key,
            "code_version": record.code_version,
            "inputs": record.inputs,
            "outputs": outputs,
            "arrays": _arrays(manifest, record.manifest.group),
        }
    }


def ambient_attributes(manifest: Manifest, group: str) -> dict[str, Any]:
    """Return the attributes of a group of ambient values."""
    return {
        ATTRIBUTE: {
            "kind": "nbresume.ambient",
            "names": {
                name: {"object": b.target, "version": b.version, "type": b.type}
                for name, b in manifest.names.items()
            },
            "arrays": _arrays(manifest, group),
        }
    }


def progress_attributes(record: Progress, manifest: Manifest) -> dict[str, Any]:
    """Return the attributes of a group of progress: the commit may refer to it."""
    return {
        ATTRIBUTE: {
            "kind": Progress.KIND,
            "step": record.step,
            "loop": record.loop,
            "position": record.position,
            "arrays": _arrays(manifest, record.manifest.group),
        }
    }


def _arrays(manifest: Manifest, group: str) -> dict[str, list[str]]:
    """Return object id → arrays that hold its large payloads, in this group."""
    arrays: dict[str, list[str]] = {}
    for object_id, unit in manifest.units.items():
        held = [manifest.payloads[d] for d in (unit.stream, *unit.buffers)]
        names = [p.array for p in held if p.group == group and p.array != "pack"]
        if names:
            arrays[object_id] = names
    return arrays
