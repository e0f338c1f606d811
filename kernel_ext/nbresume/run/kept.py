"""Whether a commit can give a name its value; and the refusal where it cannot.

The rule: what a step could not keep, and what was erased since, has no value here, and
whoever needs it is told which step makes it anew.
"""

from nbresume.errors import NotKeptRefusal
from nbresume.model.histories import Commit


def has_lost(commit: Commit, name: str) -> bool:
    """Say whether a commit cannot give a name its value: not kept, or erased."""
    return bool(commit.erased) or name in commit.record.not_kept


def not_kept(name: str, commit: Commit) -> NotKeptRefusal:
    """Return the refusal to go on without the value of a name."""
    record = commit.record
    if commit.erased:
        because = f"what step {record.step} committed was {commit.erased}"
        remedy = f"Run step {record.step} again."
    else:
        why = record.not_kept[name]
        because = f"step {record.step} could not keep it ({why})"
        remedy = f"Type %steps rerun {record.step}, or mark that step --always."
    return NotKeptRefusal(
        f"{name} has no value here",
        because=because,
        remedy=remedy,
        name=name,
        step=record.step,
    )
