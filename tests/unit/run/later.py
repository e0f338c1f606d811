"""A later release, for tests: it has left one schema version of two kinds of record.

Commits say which interpreter made them, and the reason of an intent has another name.
No product code knows any of it: it is passed as what a release reads and migrates.
"""

from nbresume.model.codec import SCHEMAS
from nbresume.model.records import Committed, Intent
from nbresume.run.migrate import Formats


class Committed2(Committed, frozen=True, kw_only=True):
    """A commit that names the interpreter."""

    SCHEMA = 2
    interpreter: str


class Intent2(Intent, frozen=True, kw_only=True):
    """An intent whose attempts in a row have a name of their own."""

    SCHEMA = 2
    row: int


def commit_1_to_2(payload):
    """Name the interpreter: nobody wrote it down."""
    return payload | {"interpreter": "unknown"}


def intent_1_to_2(payload):
    """Copy the count of unattended attempts."""
    return payload | {"row": payload.get("unattended", 0)}


LATER = Formats(
    schemas={
        **SCHEMAS,
        Committed.KIND: {2: Committed2},
        Intent.KIND: {2: Intent2},
    },
    upgrades={
        (Committed.KIND, 1): commit_1_to_2,
        (Intent.KIND, 1): intent_1_to_2,
    },
)
"""What that release reads, and how it makes that of what this one wrote."""
