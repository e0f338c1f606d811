"""The settings of one kernel or command, resolved once and frozen.

The rule: nothing here reads the environment; ``compose`` does and passes the result.
"""

from dataclasses import dataclass

__version__ = "0.1.0"

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Settings:
    """What may be chosen; every field has a default that is safe."""

    store: str = ".nbresume"
    """Folder of the store, relative to the notebook's folder or absolute."""
    run: str = ""
    """Id of the run to use, whatever the notebook's path says (``NBRESUME_RUN``)."""
    attended: bool = True
    """False for headless runs: nobody is there who has seen a traceback."""
    retry: bool = False
    """Policy: ambiguous steps are run again (``nbresume run --retry``)."""
    ambient_limit_bytes: int = 256 * MIB
    """Values of plain cells that no step reads are kept up to this many bytes."""
    max_step_bytes: int = 64 * 1024 * MIB
    """A step whose payloads weigh more is not committed (state RAN)."""
    unattended_limit: int = 3
    """So many interrupted attempts in a row are rerun with nobody there."""


PACK_LIMIT_BYTES = MIB
"""Payloads below this lie in the record's pack, others are zarr arrays."""

CHUNK_BYTES = 4 * MIB
"""Aim for the size of one chunk of an array."""
