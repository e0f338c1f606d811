"""The metadata documents of the zarr hierarchy; only this module knows zarr.

The rule: every document is one that zarr's own classes make and check, so that any zarr
reads what is stored. They are asked without a zarr store, whose background thread does
not survive a fork.
"""

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

METADATA = "zarr.json"
_PORTABLE_KINDS = "biufcMm"
_LONG_DOUBLES = ("g", "G")
_ZEROS: dict[str, Any] = {"b": False, "i": 0, "u": 0, "f": 0.0, "c": [0.0, 0.0]}
"""Kind of numbers → what a missing item reads as."""
# What every small step writes is spelled out, because zarr takes 0.2 s to import; a
# test has zarr make each of these documents, and compares them.
_GROUP: dict[str, Any] = {"attributes": {}, "zarr_format": 3, "node_type": "group"}
_BYTES: dict[str, Any] = {
    "shape": [1],
    "data_type": "uint8",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
    "fill_value": 0,
    "codecs": [{"name": "bytes"}],
    "attributes": {},
    "zarr_format": 3,
    "node_type": "array",
    "storage_transformers": [],
}


def item_bytes(dtype: str) -> int | None:
    """Return the size of an item; None if plain zarr cannot hold such items.

    Text, records, objects, foreign byte order and long doubles have no specification
    in zarr v3: their bytes are kept as bytes.
    """
    # numpy is here already when there is an array, and costs 0.1 s when not.
    import numpy as np  # noqa: PLC0415

    try:
        found = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        return None
    if found.kind not in _PORTABLE_KINDS or found.char in _LONG_DOUBLES:
        return None
    if found.str.startswith(">"):
        return None
    if found.kind in "Mm" and np.datetime_data(found)[0] == "generic":
        return None
    return found.itemsize


def array_metadata(
    shape: Sequence[int],
    dtype: str,
    chunks: Sequence[int],
    codecs: Sequence[Mapping[str, Any]] = (),
) -> bytes:
    """Return the ``zarr.json`` of an array cut into such chunks.

    `codecs` are what its bytes go through before they are stored.
    """
    grid = {"name": "regular", "configuration": {"chunk_shape": list(chunks)}}
    document = _array(dtype) | {"shape": list(shape), "chunk_grid": grid}
    return _written(document | {"codecs": [*document["codecs"], *codecs]})


def group_metadata(attributes: Mapping[str, Any]) -> bytes:
    """Return the ``zarr.json`` of a group."""
    return _written(_GROUP | {"attributes": attributes})


def is_group(data: bytes) -> bool:
    """Return whether this is the whole ``zarr.json`` of a group."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False
    return isinstance(found, dict) and found.get("node_type") == "group"


def _written(document: Mapping[str, Any]) -> bytes:
    return msgspec.json.format(msgspec.json.encode(document), indent=2)


@cache
def _array(dtype: str) -> dict[str, Any]:
    if dtype == "uint8":
        return _BYTES
    # Shape and chunks are the only parts that differ between arrays of one dtype.
    import numpy as np  # noqa: PLC0415 - it is here already

    found = np.dtype(dtype)
    if found.kind in _ZEROS:
        little = {"name": "bytes", "configuration": {"endian": "little"}}
        return _BYTES | {
            "data_type": found.name,
            "fill_value": _ZEROS[found.kind],
            "codecs": [little if found.itemsize > 1 else {"name": "bytes"}],
        }
    # zarr takes 0.2 s to import: only a step that keeps dates or times pays for it.
    from zarr.core.buffer import default_buffer_prototype  # noqa: PLC0415
    from zarr.core.metadata.v3 import ArrayV3Metadata  # noqa: PLC0415
    from zarr.dtype import parse_dtype  # noqa: PLC0415

    kind = parse_dtype(found, zarr_format=3)
    wanted: dict[str, Any] = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": (1,),
        "data_type": kind.to_json(zarr_format=3),
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": (1,)}},
        # A dot keeps all chunks of an array in one folder: one flush.
        "chunk_key_encoding": {
            "name": "default",
            "configuration": {"separator": "."},
        },
        "fill_value": kind.to_json_scalar(kind.default_scalar(), zarr_format=3),
        "codecs": ({"name": "bytes", "configuration": {"endian": "little"}},),
        "attributes": {},
    }
    made = ArrayV3Metadata.from_dict(wanted)
    data = made.to_buffer_dict(default_buffer_prototype())[METADATA].to_bytes()
    document: dict[str, Any] = json.loads(data)
    return document


def attributes_of(data: bytes) -> dict[str, Any] | None:
    """Return the attributes in the ``zarr.json`` of a group; None if it is damaged."""
    if not is_group(data):
        return None
    found: dict[str, Any] = json.loads(data).get("attributes", {})
    return found


def plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes as they read after a round trip through JSON."""
    read: dict[str, Any] = json.loads(msgspec.json.encode(attributes))
    return read
