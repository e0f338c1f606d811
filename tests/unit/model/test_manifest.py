"""The manifest of a group, as it is stored."""

import pytest

from nbresume.errors import Damaged
from nbresume.model.codec import canonical, decode
from nbresume.model.manifest import PACK, Binding, Manifest, Place, Source, Unit

MANIFEST = Manifest(
    names={
        "df": Binding(
            source=Source.UNIT,
            target="o1",
            version="v:1",
            type="pandas.DataFrame",
            shape=[3, 2],
            dtype="",
        ),
        "n": Binding(source=Source.ATOM, target="", version="v:2", type="int"),
    },
    units={"o1": Unit(stream="s", buffers=["b"], deep="d", ambient=("k", "v:k"))},
    payloads={
        "s": Place(group="a-1", array=PACK, offset=0, length=9),
        "b": Place(group="a-0", array="o1", offset=0, length=2**33, run="r0", chunk=4),
    },
    atoms="at",
    displays="di",
    code="co",
)


def test_a_manifest_survives_the_round_trip():
    """Names, units and places come back as they were, in the same bytes."""
    data = canonical(MANIFEST)
    found = decode(data, Manifest, name="manifest")

    assert found == MANIFEST
    assert canonical(found) == data


def test_a_manifest_with_unknown_parts_is_not_guessed_at():
    """A field of a later format is refused, not left out."""
    data = canonical(MANIFEST).replace(b'"atoms"', b'"cipher":"","atoms"')

    with pytest.raises(Damaged, match="manifest of a-1"):
        decode(data, Manifest, name="manifest of a-1")
