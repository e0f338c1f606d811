"""Files behind values that read them later: lazy frames and data sets.

The rule: nothing is imported, and nothing is read, to find them out.
"""

import json
import sys
import warnings
from collections.abc import Iterator
from typing import Any


def scanned_by(value: Any) -> list[str]:
    """Return the files, folders and globs that a value reads when it is used."""
    kind = type(value)
    match kind.__module__.partition(".")[0]:
        case "polars" if kind.__name__ == "LazyFrame":
            return _polars(value)
        case "pyarrow":
            return _pyarrow(value)
    return []


def _polars(value: Any) -> list[str]:
    with warnings.catch_warnings():
        # polars calls its JSON form unstable: what it says today is what is read here
        warnings.simplefilter("ignore")
        try:
            plan = json.loads(value.serialize(format="json"))
        except Exception:  # noqa: BLE001 - a plan with code of the user's has no JSON form
            return _explained(value)
    return [str(path) for path in _paths(plan)]


def _paths(node: Any) -> Iterator[Any]:
    """Yield the paths below each ``Paths`` of a plan."""
    if isinstance(node, list):
        for item in node:
            yield from _paths(item)
    elif isinstance(node, dict):
        for key, item in node.items():
            if key == "Paths" and isinstance(item, list):
                yield from (
                    p.get("inner", "") if isinstance(p, dict) else p for p in item
                )
            else:
                yield from _paths(item)


def _explained(value: Any) -> list[str]:
    """Return the paths that the plan shows: ``Csv SCAN [a.csv]``."""
    try:
        told = value.explain(optimized=False)
    except Exception:  # noqa: BLE001 - a plan that cannot be shown reads nothing that is known
        return []
    scans = [line.partition("SCAN [")[2] for line in told.splitlines()]
    return [
        path.strip() for scan in scans for path in scan.rstrip("]").split(",") if path
    ]


def _pyarrow(value: Any) -> list[str]:
    dataset = getattr(sys.modules.get("pyarrow.dataset"), "FileSystemDataset", None)
    return list(value.files) if dataset and isinstance(value, dataset) else []
