"""The codec by which plain zarr reads an encrypted store, with its key.

The rule: importing this module registers the codec, and it only reads. What it opens is
what was encrypted for this array of this store; which chunk of the array it is, zarr
does not tell a codec: `nbresume` itself checks that too.
"""

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from zarr.abc.codec import BytesBytesCodec
from zarr.core.array_spec import ArraySpec
from zarr.core.buffer import Buffer
from zarr.registry import register_codec

from nbresume.compose import place_of, settings_from_environment
from nbresume.compose.stores import Place, open_store
from nbresume.errors import SealedError, StoreError, UsageError
from nbresume.settings import Settings
from nbresume.store.datakeys import DataKeys
from nbresume.store.sealed import CODEC
from nbresume.store.sealing import Spot, decrypted, stored_bytes

__all__ = ["SealedCodec", "unlock"]

_UNLOCKED: dict[str, DataKeys] = {}
"""Store id → what opens its values in this process."""


def unlock(store: str | os.PathLike[str] = ".nbresume") -> None:
    """Let zarr read the values of a store in this process, with the user's key.

    Parameters
    ----------
    store
        The store's folder, or its URL. The one that ``NBRESUME_STORE`` names, or
        ``.nbresume``, need not be named.

    Raises
    ------
    UsageError
        The store is not encrypted: zarr reads it anyway.
    SealedError
        None of the user's keys opens it.
    StoreError
        There is no such store.
    """
    settings = Settings(store=os.fspath(store))
    _unlock(place_of(Path(), settings))


def _unlock(place: Place) -> None:
    opened = open_store(place, create=False)
    if opened.data_keys is None:
        raise UsageError(
            f"{place.store} was not unlocked",
            because="its values are not encrypted",
            remedy="Open it with zarr as it is.",
        )
    opened.data_keys.current()
    _UNLOCKED[opened.store_id] = opened.data_keys


@dataclass(frozen=True)
class SealedCodec(BytesBytesCodec):
    """Encrypted bytes of one array → its plain bytes."""

    is_fixed_size = False

    store: str
    """Id of the store."""
    array: str
    """``<run>/<group>/<array>``."""

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Return the codec that a metadata document describes."""
        about = data["configuration"]
        return cls(store=str(about["store"]), array=str(about["array"]))

    def to_dict(self) -> dict[str, Any]:
        """Return how a metadata document describes this codec."""
        about = {"store": self.store, "array": self.array}
        return {"name": CODEC, "configuration": about}

    def compute_encoded_size(self, input_byte_length: int, _spec: ArraySpec) -> int:
        """Return the size of a chunk file."""
        return stored_bytes(input_byte_length)

    async def _encode_single(self, chunk: Buffer, _spec: ArraySpec) -> Buffer | None:
        del chunk
        raise _only_reads()

    async def _decode_single(self, chunk: Buffer, _spec: ArraySpec) -> Buffer:
        plain = await asyncio.to_thread(self.opened, chunk.to_bytes())
        return type(chunk).from_bytes(plain)

    def opened(self, data: bytes) -> bytes:
        """Return the plain bytes of a chunk.

        Raises
        ------
        SealedError
            The store was not unlocked, or none of the user's keys opens it.
        Damaged
            The bytes are not those that were written, or belong to another array.
        """
        data_keys = _UNLOCKED.get(self.store) or self._usual()
        return decrypted(data, data_keys.find, Spot(self.store, self.array, ""))

    def _usual(self) -> DataKeys:
        """Return what opens the store that settings name, if it is this one."""
        tried: Iterable[Exception] = ()
        try:
            _unlock(place_of(Path(), settings_from_environment()))
        except (StoreError, UsageError) as error:
            tried = (error,)
        if self.store in _UNLOCKED:
            return _UNLOCKED[self.store]
        raise SealedError(
            f"{self.array} was not read",
            because=f"the store {self.store} is encrypted, and was not unlocked",
            remedy='Type nbresume.codec.unlock("FOLDER") with the folder that holds '
            "its store.json.",
            store=self.store,
        ) from next(iter(tried), None)


def _only_reads() -> UsageError:
    return UsageError(
        "nothing was written",
        because="the arrays of an encrypted store are written by nbresume alone",
        remedy="Write to a zarr group of your own.",
    )


register_codec(CODEC, SealedCodec)
