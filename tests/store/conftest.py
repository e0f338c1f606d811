"""Fixtures of the store's tests, and the way to the modules that they share."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from nbresume.store.local import LocalBackend
from nbresume.store.local_open import open_local
from nbresume.store.memory import MemoryBackend
from nbresume.store.trust import Trust

# pytest's importlib mode does not put the folder of a test on the path.
sys.path.insert(0, str(Path(__file__).parent))

NOW = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)


@pytest.fixture
def memory() -> MemoryBackend:
    """Return an empty store in memory."""
    return MemoryBackend()


@pytest.fixture
def local(tmp_path) -> LocalBackend:
    """Return an empty store in a folder."""
    return open_local(tmp_path / "store", create=True)


@pytest.fixture
def trust() -> Trust:
    """Return the trust of the user who runs the tests."""
    return Trust(b"k" * 32)
