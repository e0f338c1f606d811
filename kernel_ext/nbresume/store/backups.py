"""The form of a backup: runs of a store as one zip file that plain zarr opens.

The rule: what lies in ``data.zarr`` is the root of the file, everything else lies below
one array of it, whose bytes are the table of contents: name, size and digest of each
file. Nothing is compressed a second time. The table is signed with the user's key.
"""

import re

import msgspec

from nbresume.errors import Damaged, SchemaError, UsageError
from nbresume.model.codec import canonical
from nbresume.model.codec import decode as decode_json
from nbresume.settings import __version__
from nbresume.store import groups
from nbresume.store.layout import CIPHERS, Layout
from nbresume.store.layout import FORMAT as STORE_FORMAT
from nbresume.store.objects import ROOT
from nbresume.store.port import check_key
from nbresume.store.trust import Trust

FORMAT = 1
NODE = "nbresume"
"""The array that holds the table; what is no zarr data lies below it."""
TABLE = f"{NODE}/c.0"
TABLE_METADATA = f"{NODE}/{groups.METADATA}"

_RUN = "[0-9a-f]{16}"
_PART = "[A-Za-z0-9._-]+"
_KEY = re.compile(
    rf"{ROOT}/zarr\.json"
    rf"|{ROOT}/{_RUN}/zarr\.json"
    rf"|{ROOT}/{_RUN}/{_PART}/({_PART}/)?{_PART}"
    rf"|journal/[A-Za-z0-9]{_PART}/[0-9]{{10}}\.rec"
    rf"|journal/[A-Za-z0-9]/[0-9]{{10}}\.rec"
    rf"|seen/{_RUN}/{_PART}"
    rf"|keys/{_RUN}/{_RUN}"
    rf"|vouched/{_RUN}/[0-9a-f]{{32}}",
    re.ASCII,
)


class Kept(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """One file of a backup, as the table has it."""

    size: int
    digest: str
    """BLAKE3 of its bytes."""


class Contents(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a backup holds."""

    format: int
    store_id: str
    """Of the store that it was made of: its records are signed for that one."""
    writer: str
    """Release that made it."""
    made_at: str
    made_by: str
    runs: list[str]
    checkpoints: list[str]
    """Chains that belong to no run: of ``nbresume.CheckpointStore``."""
    files: dict[str, Kept]
    """Key in a store → what it holds."""
    cipher: str = ""
    """How values are encrypted in it, as in the store; empty if they are not."""
    key_id: str = ""
    mac: str = ""
    """Signature over everything else."""

    @property
    def layout(self) -> Layout:
        """What the store was that it was made of."""
        return Layout(STORE_FORMAT, self.store_id, self.cipher)

    def signed(self, trust: Trust) -> "Contents":
        """Return it with this user's signature."""
        named = msgspec.structs.replace(self, key_id=trust.key_id, mac="")
        return msgspec.structs.replace(named, mac=trust.mark(canonical(named)))

    def is_own(self, trust: Trust) -> bool:
        """Say whether this user signed it.

        Raises
        ------
        Damaged
            It names this user's key, and is not what that key signed.
        """
        if self.key_id not in trust.key_ids:
            return False
        unsigned = msgspec.structs.replace(self, mac="")
        if not trust.knows(canonical(unsigned), self.mac):
            raise torn("its table of contents was changed after it was signed")
        return True


def encode(contents: Contents) -> bytes:
    """Return the bytes of a table of contents."""
    return canonical(contents)


def decode(data: bytes) -> Contents:
    """Return the table of contents of a backup.

    Raises
    ------
    Damaged
        It cannot be understood, or names a file that no backup holds.
    SchemaError
        It is of a format that this release cannot read.
    """
    try:
        version = msgspec.json.decode(data, type=dict[str, msgspec.Raw])["format"]
        found = msgspec.json.decode(version)
    except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
        raise torn("its table of contents cannot be read") from error
    if found != FORMAT:
        raise SchemaError(
            "the backup was not opened",
            because=f"it has format {found}; this release reads format {FORMAT}. "
            "Nothing was written",
            remedy="Use the release that wrote it, or a newer one: "
            "pip install -U nbresume.",
            found=found,
            supported=FORMAT,
        )
    contents = decode_json(data, Contents, name="the table of contents")
    if contents.cipher not in CIPHERS:
        raise torn(f"it says that it is encrypted by {contents.cipher!r}")
    for key in contents.files:
        check_file(key)
    return contents


def check_file(key: str) -> None:
    """Let a key pass that a backup may hold.

    Raises
    ------
    Damaged
        It leads out of the store, or to something else than records and payloads.
    """
    try:
        check_key(key)
    except UsageError as error:
        raise torn(f"it names {key!r}, which would lie outside of a store") from error
    if not _KEY.fullmatch(key):
        raise torn(f"it names {key}, which is neither a record nor a payload")


def name_of(key: str) -> str:
    """Return under which name a backup holds what a store has under a key."""
    above, _, rest = key.partition("/")
    return rest if above == ROOT else f"{NODE}/{key}"


def writer() -> str:
    """Return this release as a backup names it."""
    return f"nbresume {__version__}"


def torn(because: str) -> Damaged:
    """Return the error that refuses a file."""
    return Damaged(
        "the backup was not used",
        because=f"{because}. Nothing was written",
        remedy="Take another copy of the file, or export the run again.",
    )
