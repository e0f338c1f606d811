"""Payloads: written and made durable before a record names them, checked when read.

The rule: a payload comes back with the bytes of its digest, or not at all. Small ones
share the pack of their group, large ones are zarr arrays; the group becomes visible to
plain zarr when it is published, after the record that names it.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nbresume.errors import Damaged, KeyMissing, UsageError
from nbresume.model.digests import chunk_digest, joined, payload_digest
from nbresume.model.manifest import PACK, Place
from nbresume.model.values import FoldRef, ManifestRef
from nbresume.settings import PACK_LIMIT_BYTES
from nbresume.store import chunks, groups
from nbresume.store.drafts import PACK_CHUNK, Draft
from nbresume.store.port import Backend, Staged, check_key

if TYPE_CHECKING:
    from nbresume.store.pieces import Pieces

ROOT = "data.zarr"
Told = Callable[[str, str], None]
"""Takes run and group of payloads that are about to be read."""


class Objects:
    """The payloads of one run, and those of other runs that its manifests name."""

    def __init__(
        self, backend: Backend, run_id: str, *, told: Told | None = None
    ) -> None:
        self._backend = backend
        self._run_id = run_id
        self._told = told
        self._rooted = False
        # what is encrypted opens in its own place alone
        self._known = chunks.Known(can_link=not backend.codecs(ROOT))
        self._packs: dict[str, int] = {}
        """Folder → bytes of each pack that was written from here, until it is shown."""

    def forget(self) -> None:
        """Link to no chunk that was written or read before: some are erased."""
        self._known.forget()

    def draft(
        self, group: str, *, digest: Callable[[memoryview], bytes] = chunk_digest
    ) -> Draft:
        """Return an empty draft of a group; nothing is written yet.

        Parameters
        ----------
        digest
            Gives the digest of a chunk that was written: one that knows what it has
            digested before is quicker.
        """
        return Draft(
            self._backend,
            check_key(f"{ROOT}/{self._run_id}/{group}"),
            known=self._known,
            make_root=self.make_root,
            packed=self._packs.__setitem__,
            digest=digest,
        )

    def read(self, place: Place, digest: str) -> memoryview:
        """Return the payload, in memory that may be written to.

        Raises
        ------
        Damaged
            Its bytes are missing, too few, or not those of the digest.
        """
        if self._told is not None:
            self._told(place.run or self._run_id, place.group)
        return self._read(place, digest)

    def _read(self, place: Place, digest: str) -> memoryview:
        if self.missing((place,)):
            raise _damaged(place, "some of its bytes are missing")
        target = _memory(place.length)
        folder = self._folder(place)
        if place.array != PACK:
            found = self._read_array(folder, place, target)
        else:
            if place.length:
                key = f"{folder}/{PACK_CHUNK}"
                self._backend.read_into(key, target, offset=place.offset)
            found = payload_digest(target)
        if found != digest:
            raise _damaged(place, "its bytes are not what its digest says")
        return target

    def buffer(self, place: Place, digest: str) -> "memoryview | Pieces":
        """Return the payload; of one that workers wrote, what reads its chunks.

        Raises
        ------
        Damaged
            Its bytes are missing, too few, or not those of the digest. Of what is read
            chunk by chunk, that is said when a chunk is read.
        """
        if not place.grid:
            return self.read(place, digest)
        if self._told is not None:
            self._told(place.run or self._run_id, place.group)
        return self.pieces(place, digest)

    def pieces(self, place: Place, digest: str) -> "Pieces":
        """Return what reads the chunks of a payload that workers wrote."""
        # few kernels have something that workers wrote
        from nbresume.store.pieces import Pieces  # noqa: PLC0415

        folder = self._folder(place)
        return Pieces(self._backend, folder, place.chunk or place.length, digest)

    def check(self, place: Place, digest: str) -> None:
        """Return if the payload is what its digest says; holds one chunk at a time.

        Raises
        ------
        Damaged
            Its bytes are missing, too few, or not those of the digest.
        """
        if not place.grid:
            self.read(place, digest)
            return
        if self.missing((place,)):
            raise _damaged(place, "some of its bytes are missing")
        pieces = self.pieces(place, digest)
        found = [chunk_digest(data) for data in pieces.all_bytes(place.grid)]
        if joined(found).hex != digest:
            raise _damaged(place, "its bytes are not what its digest says")

    def read_slice(self, ref: ManifestRef | FoldRef) -> bytes:
        """Return a slice of a pack: a manifest or a folded state.

        Raises
        ------
        Damaged
            Its bytes are missing, too few, or not those of the digest.
        """
        place = Place(
            group=ref.group,
            array=PACK,
            offset=ref.offset,
            length=ref.length,
            run=ref.run if isinstance(ref, ManifestRef) else "",
        )
        return bytes(self._read(place, ref.digest))

    def missing(self, places: Iterable[Place]) -> list[Place]:
        """Return the places whose files are gone or too short; reads no payload.

        Raises
        ------
        Damaged
            A place lies outside of the store.
        """
        packs: dict[str, int] = {}
        return [place for place in places if not self._is_there(place, packs)]

    def publish(self, group: str, attributes: Mapping[str, Any]) -> None:
        """Show the group to plain zarr; can be repeated, and is not durable."""
        self._backend.publish(self._documents(group, attributes))

    def stage(self, group: str, attributes: Mapping[str, Any]) -> Staged:
        """Prepare what shows the group to plain zarr; it can be about to be written."""
        return self._backend.stage(self._documents(group, attributes))

    def _documents(self, group: str, attributes: Mapping[str, Any]) -> dict[str, bytes]:
        self.make_root()
        pack = self._pack_metadata(group)
        # the pack's first: a group that is found is whole, where there is an order
        documents = dict([pack] if pack else [])
        documents[self._metadata(group)] = groups.group_metadata(attributes)
        return documents

    def is_published(
        self, group: str, attributes: Mapping[str, Any] | None = None
    ) -> bool:
        """Return whether plain zarr finds the group, with these attributes if given."""
        try:
            data = self._backend.read(self._metadata(group))
            if attributes is None:
                return groups.is_group(data)
            pack = self._pack_metadata(group)
            if pack is not None and self._backend.read(pack[0]) != pack[1]:
                return False
        except KeyMissing:
            return False
        return groups.attributes_of(data) == groups.plain(attributes)

    def _pack_metadata(self, group: str) -> tuple[str, bytes] | None:
        """Return key and bytes of what shows a pack to plain zarr: its size says it."""
        folder = f"{self._metadata(group).rpartition('/')[0]}/{PACK}"
        size = self._packs.pop(folder, None)
        if size is None:
            size = self._backend.size(f"{folder}/{PACK_CHUNK}")
        if size is None:
            return None
        codecs = self._backend.codecs(folder)
        data = groups.array_metadata((size,), "uint8", (size,), codecs)
        return f"{folder}/{groups.METADATA}", data

    def make_root(self) -> None:
        """Make the groups above this run's groups, if they are not there."""
        if self._rooted:
            return
        for folder in (ROOT, f"{ROOT}/{self._run_id}"):
            key = f"{folder}/{groups.METADATA}"
            # After power loss it may be there without its bytes.
            if not self._is_group(key):
                self._backend.publish({key: groups.group_metadata({})})
        self._rooted = True

    def _read_array(self, folder: str, place: Place, target: memoryview) -> str:
        found = chunks.read_chunks(
            self._backend,
            folder,
            target,
            chunk=place.chunk,
            codec=place.codec,
            grid=place.grid,
        )
        keys, digests = zip(*found, strict=True) if found else ((), ())
        # Whether they are those of a payload is not known yet; each is what it says.
        self._known.learn(keys, digests, place.chunk, place.codec)
        return joined(digests).hex

    def _is_there(self, place: Place, packs: dict[str, int]) -> bool:
        if place.length < 0 or place.offset < 0:
            return False
        if place.length == 0:
            return True
        folder = self._folder(place)
        if place.array != PACK:
            return chunks.are_whole(
                self._backend,
                folder,
                place.length,
                chunk=place.chunk,
                codec=place.codec,
                grid=place.grid,
            )
        if folder not in packs:
            packs[folder] = self._backend.size(f"{folder}/{PACK_CHUNK}") or 0
        return packs[folder] >= place.offset + place.length

    def _is_group(self, key: str) -> bool:
        try:
            return groups.is_group(self._backend.read(key))
        except KeyMissing:
            return False

    def _metadata(self, group: str) -> str:
        return f"{ROOT}/{self._run_id}/{group}/{groups.METADATA}"

    def _folder(self, place: Place) -> str:
        run_id = place.run or self._run_id
        try:
            return check_key(f"{ROOT}/{run_id}/{place.group}/{place.array}")
        except UsageError as error:
            raise _damaged(place, "it would lie outside of the store") from error


def _memory(length: int) -> memoryview:
    if length < PACK_LIMIT_BYTES:
        return memoryview(bytearray(length))
    # A bytearray is filled with zeros first: a pass over memory for nothing.
    import numpy as np  # noqa: PLC0415 - not needed for small payloads

    return np.empty(length, dtype=np.uint8).data


def _damaged(place: Place, because: str) -> Damaged:
    return Damaged(
        f"a payload of {place.group}/{place.array} cannot be read",
        because=because,
        remedy="Type nbresume verify NOTEBOOK to see what else is affected; "
        "the step that made it has to run again.",
        group=place.group,
        array=place.array,
    )
