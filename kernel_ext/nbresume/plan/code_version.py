"""The code version: a digest of what a cell's code means.

The rule: equal on every supported Python, so that an upgrade makes no step stale.
"""

import ast
from functools import lru_cache

from nbresume.model.digests import cue_digest
from nbresume.model.printing import parse, printed


def code_version(tree: ast.Module) -> str:
    """Return the digest of the printed tree."""
    return cue_digest(printed(tree).encode("ascii"))


@lru_cache(maxsize=4096)
def version_of_text(text: str) -> str:
    """Return the code version of a text; empty if it is no plain Python.

    A plan asks for that of every cell, and most cells are as they were.
    """
    tree = parse(text)
    return code_version(tree) if tree is not None else ""
