"""A stage for the notebooks: in memory if there is room, one for each worker."""

import shutil
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from playing import Stage

MEMORY = Path("/dev/shm")  # noqa: S108 - a file system in memory
ROOM_BYTES = 1 << 28


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    """Return what plays notebooks."""
    if MEMORY.exists() and shutil.disk_usage(MEMORY).free > ROOM_BYTES:
        folder = Path(tempfile.mkdtemp(dir=MEMORY, prefix="nbresume-edits-"))
    else:
        folder = tmp_path_factory.mktemp("edits")
    started = Stage(folder)
    yield started
    started.close()
    shutil.rmtree(folder)
