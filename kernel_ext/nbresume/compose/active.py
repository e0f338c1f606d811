"""The session of this process's notebook: what effects and loops ask.

The rule: the only place that knows which session is active; a face registers it.
"""

import os
from typing import TYPE_CHECKING

from nbresume.compose.graph import Session
from nbresume.errors import EffectRefused

if TYPE_CHECKING:
    # what a kernel needs when a step has begun
    from nbresume.run.parts import Parts


class Active:
    """The session of this process's notebook, while the extension is loaded."""

    def __init__(self) -> None:
        self._session: Session | None = None
        self._pid = 0

    def set(self, session: Session) -> None:
        """Let effects go to this session from now on."""
        self._session, self._pid = session, os.getpid()

    def clear(self, session: Session) -> None:
        """Let effects go to it no more."""
        if self._session is session:
            self._session = None

    def parts(self, refused: str) -> "Parts":
        """Return the parts of the active run: its effects, its resumable loops.

        Parameters
        ----------
        refused
            What was not done if there is none: the first words of the error.

        Raises
        ------
        EffectRefused
            No run is active, or this is the child of a fork.
        """
        if self._session is None:
            raise EffectRefused(
                refused,
                because="nbresume is not loaded in this process",
                remedy="Type %load_ext nbresume, and begin the cell with %%step NAME.",
            )
        if self._pid != os.getpid():
            raise EffectRefused(
                refused,
                because="this process was forked from the kernel, and is not the one "
                "that writes the run",
                remedy="Call effects in the kernel itself; let worker processes return "
                "what is to be done.",
            )
        return self._session.parts


ACTIVE = Active()
"""Registered by the face that loads the extension."""
