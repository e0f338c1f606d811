"""Opens a store for checkpoints of your own."""

import os

from nbresume.compose import data_folder
from nbresume.compose.stores import OpenStore, Place, open_store, where
from nbresume.compose.system import RandomIds, SystemClock
from nbresume.store.checkpoints import CheckpointStore


def open_checkpoints(folder: str | os.PathLike[str]) -> CheckpointStore:
    """Open (or make) a store for checkpoints of your own.

    Parameters
    ----------
    folder
        The store's folder, for example ``.nbresume``, or its URL, for example
        ``s3://bucket/prefix``.
    """
    store: OpenStore = open_store(
        Place(store=where(os.fspath(folder)), data=data_folder()), create=True
    )
    ids = RandomIds()
    return CheckpointStore(
        store.backend, store.trust, now=SystemClock().now, new_nonce=ids.nonce
    )
