"""Notes of attempts that were seen reaching out: one create-only file for each.

The rule: a note is durable once `create` returns, and nothing ever changes it. That
it is there says all that a decision needs; what it holds is for people.
"""

from nbresume.errors import KeyMissing, KeyTaken
from nbresume.store.port import Backend


class Seen:
    """The notes of one run: ``seen/<run>/<attempt>``."""

    def __init__(self, backend: Backend, run_id: str) -> None:
        self._backend = backend
        self._folder = f"seen/{run_id}"

    def create(self, attempt: str, data: bytes) -> None:
        """Make the attempt's note durable; the first one stays.

        Raises
        ------
        Unavailable
            The device failed; the note may be there or not.
        """
        try:
            self._backend.create(f"{self._folder}/{attempt}", data)
        except KeyTaken:
            # written before, and its reply was lost: it is durable
            return

    def find(self, attempt: str) -> bytes | None:
        """Return the attempt's note; None if it was not seen reaching out."""
        try:
            return self._backend.read(f"{self._folder}/{attempt}")
        except KeyMissing:
            return None
