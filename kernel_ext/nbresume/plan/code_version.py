"""The code version: a digest of what a cell's code means.

The rule: equal on every supported Python, so that an upgrade makes no step stale.
"""

import ast

from nbresume.model.digests import cue_digest
from nbresume.model.printing import printed


def code_version(tree: ast.Module) -> str:
    """Return the digest of the printed tree."""
    return cue_digest(printed(tree).encode("ascii"))
