"""The scripts of the demonstration, importable and at their place."""

import sys
from pathlib import Path

import pytest

DEMO = Path(__file__).resolve().parents[2] / "notebooks" / "demo"


@pytest.fixture
def demo_folder(monkeypatch):
    """Return the folder of the scripts, which import one another from there."""
    monkeypatch.syspath_prepend(str(DEMO))
    yield DEMO
    for name in ("compare", "demo", "headless", "ledger", "soak"):
        sys.modules.pop(name, None)
