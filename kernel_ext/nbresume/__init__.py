"""Resumable notebook cells: durable workflow steps for Jupyter.

Importing this package is cheap: everything is loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from nbresume import collector
from nbresume.settings import __version__

if TYPE_CHECKING:
    from nbresume.capture.registry import register
    from nbresume.compose.checkpoints import open_checkpoints
    from nbresume.compose.effects import effect, idempotency_key, usage
    from nbresume.compose.loops import resumable
    from nbresume.errors import NbresumeError
    from nbresume.run.view import RunView
    from nbresume.store.checkpoints import Checkpoint, CheckpointStore
    from nbresume.ui.ipython.magics import (
        load_ipython_extension,
        unload_ipython_extension,
    )

_LAZY = {
    "Checkpoint": "nbresume.store.checkpoints",
    "CheckpointStore": "nbresume.store.checkpoints",
    "NbresumeError": "nbresume.errors",
    "RunView": "nbresume.run.view",
    "effect": "nbresume.compose.effects",
    "idempotency_key": "nbresume.compose.effects",
    "load_ipython_extension": "nbresume.ui.ipython.magics",
    "open_checkpoints": "nbresume.compose.checkpoints",
    "register": "nbresume.capture.registry",
    "resumable": "nbresume.compose.loops",
    "unload_ipython_extension": "nbresume.ui.ipython.magics",
    "usage": "nbresume.compose.effects",
}

__all__ = [
    "Checkpoint",
    "CheckpointStore",
    "NbresumeError",
    "RunView",
    "__version__",
    "effect",
    "idempotency_key",
    "load_ipython_extension",
    "open_checkpoints",
    "register",
    "resumable",
    "unload_ipython_extension",
    "usage",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use (PEP 562)."""
    if name in _LAZY:
        # modules stay: passes over them took a quarter of the time to load them
        with collector.put_off():
            return getattr(import_module(_LAZY[name]), name)
    message = f"module 'nbresume' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted(__all__)
