"""The manifest of a group: names → objects → payloads → places.

The rule: references between units go by object id, never by step and name, so that
a later in-place change of one object is seen through every name that reaches it.
It is itself a payload (it would make records heavy: 35 kB after a star import).
"""

from enum import StrEnum

import msgspec

PACK = "pack"


class _Part(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    pass


class Place(_Part, frozen=True, kw_only=True):
    """Where the bytes of one payload lie."""

    group: str
    """The group in the run's folder."""
    array: str
    """``pack``, or the array named by object id."""
    offset: int
    """Byte offset in the pack; 0 in an array of its own."""
    length: int
    run: str = ""
    """The run that stored it, if it is another one."""
    chunk: int = 0
    """Bytes of a chunk of which the digest is made; 0 if it is of all bytes at once."""
    codec: str = ""
    """What the chunks are compressed with: ``blosc``; empty if they are not."""
    grid: tuple[int, ...] = ()
    """How many chunks it has along each axis, if workers wrote it: it is read chunk by
    chunk, when one is needed, and never as a whole. Its chunks are padded to one size,
    and its digest is that of the digests of the padded ones, in C order."""


class Source(StrEnum):
    """What kind of thing a name is bound to."""

    UNIT = "unit"
    """An object with an id of its own."""
    ATOM = "atom"
    """A small immutable value, kept in the manifest's one pickle of atoms."""
    MODULE = "module"
    """Imported again by name."""
    IMPORT = "import"
    """A function or class found again by import: ``module:qualname``."""


class Binding(_Part, frozen=True, kw_only=True):
    """One name."""

    source: Source
    target: str
    """Object id, module name or ``module:qualname``; empty for an atom."""
    version: str
    type: str
    """Class of the value, for people and for ``inspect``."""
    shape: list[int] | None = None
    dtype: str = ""


class Unit(_Part, frozen=True, kw_only=True):
    """One object that is pickled by itself."""

    stream: str
    """Digest of its pickle stream."""
    buffers: list[str] = []
    """Digests of its out-of-band buffers, in order."""
    refs: list[str] = []
    """Object ids that the stream refers to."""
    members: list[str] = []
    """Units that refer to each other in a circle share one stream, in this order."""
    deep: str
    """Digest of the stream, the buffers and, through the refs, of all it reaches."""
    data: bool = True
    """False for functions, classes and modules: sharing one is no alias of data."""
    ambient: tuple[str, str] | None = None
    """(name, version) of a plain cell's object: the live one is used if equal."""


class Manifest(_Part, frozen=True, kw_only=True):
    """What one group holds."""

    names: dict[str, Binding]
    units: dict[str, Unit]
    payloads: dict[str, Place]
    """Digest → place, of everything that the names need."""
    atoms: str = ""
    """Digest of the pickle of {name: atom}."""
    process: str = ""
    """Digest of the pickle of {name: process state}."""
    displays: str = ""
    """Digest of the JSON of the cell's outputs."""
    code: str = ""
    """Digest of the cell's source text."""
    previews: str = ""
    """Digest of the JSON of {name: `model.previews.Preview`}."""

    def seen_from_outside(self, run: str) -> "Manifest":
        """Return it as another run sees it: each place names the run that has it."""
        places = self.payloads.items()
        return msgspec.structs.replace(
            self,
            payloads={
                digest: place if place.run else msgspec.structs.replace(place, run=run)
                for digest, place in places
            },
        )
