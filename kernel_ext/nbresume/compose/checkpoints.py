"""Opens a store for checkpoints of your own."""

import os
from pathlib import Path

from nbresume.compose import place_of, settings_from_environment
from nbresume.compose.stores import OpenStore, open_store
from nbresume.compose.system import RandomIds, SystemClock
from nbresume.settings import Settings
from nbresume.store.checkpoints import CheckpointStore


def open_checkpoints(folder: str | os.PathLike[str]) -> CheckpointStore:
    """Open (or make) a store for checkpoints of your own.

    Parameters
    ----------
    folder
        The store's folder, for example ``.nbresume``, or its URL, for example
        ``s3://bucket/prefix``.
    """
    settings = Settings(
        store=os.fspath(folder), encrypt=settings_from_environment().encrypt
    )
    store: OpenStore = open_store(place_of(Path(), settings), create=True)
    ids = RandomIds()
    return CheckpointStore(
        store.backend, store.trust, now=SystemClock().now, new_nonce=ids.nonce
    )
