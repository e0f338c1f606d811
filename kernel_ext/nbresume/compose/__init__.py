"""The composition root: environment and settings → the object graph."""

import os
import secrets
from pathlib import Path

from jupyter_core.paths import jupyter_data_dir

from nbresume.compose.stores import Place, where
from nbresume.errors import UsageError
from nbresume.settings import MIB, Settings, Undeclared

__all__ = [
    "data_folder",
    "place_of",
    "settings_from_environment",
]


def settings_from_environment() -> Settings:
    """Return the settings as ``NBRESUME_*`` variables give them, else the defaults.

    Raises
    ------
    UsageError
        A variable has a value that cannot be understood.
    """
    env = os.environ
    default = Settings()
    return Settings(
        store=env.get("NBRESUME_STORE", default.store),
        encrypt=env.get("NBRESUME_ENCRYPT", "") != "",
        run=env.get("NBRESUME_RUN", default.run),
        attended=env.get("NBRESUME_UNATTENDED", "") == "",
        retry=env.get("NBRESUME_RETRY", "") != "",
        take_over=env.get("NBRESUME_TAKE_OVER", "") != "",
        undeclared=_undeclared(env.get("NBRESUME_UNDECLARED", "").strip()),
        ambient_limit_bytes=_mib(
            "NBRESUME_AMBIENT_LIMIT_MB", default.ambient_limit_bytes
        ),
        max_step_bytes=_mib("NBRESUME_MAX_STEP_MB", default.max_step_bytes),
    )


def _undeclared(text: str) -> Undeclared:
    if not text:
        return Undeclared.EVIDENCE
    try:
        return Undeclared(text)
    except ValueError as error:
        known = ", ".join(Undeclared)
        raise UsageError(
            f"NBRESUME_UNDECLARED={text}",
            because=f"the policy is one of {known}",
            remedy="Set for example NBRESUME_UNDECLARED=refuse, or leave it unset.",
        ) from error


def _mib(variable: str, default: int) -> int:
    text = os.environ.get(variable, "").strip()
    if not text:
        return default
    if not (text.isascii() and text.isdigit()):
        raise UsageError(
            f"{variable}={text}",
            because="a whole number of megabytes is expected",
            remedy=f"Set for example {variable}=256, or leave it unset.",
        )
    return int(text) * MIB


def data_folder() -> Path:
    """Return the user's own folder for the key and the pins."""
    return Path(jupyter_data_dir()) / "nbresume"


def place_of(folder: Path, settings: Settings) -> Place:
    """Return where the store of notebooks in a folder lies."""
    return Place(
        store=where(settings.store, folder),
        data=data_folder(),
        encrypt=settings.encrypt,
    )


def new_run_id() -> str:
    """Return the id of a fresh run."""
    return secrets.token_hex(8)
