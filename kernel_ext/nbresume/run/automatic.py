"""Steps that nobody marked: what their cells cannot keep is made anew.

The rule: only what was seen to touch nothing outside runs again by itself, and only as
the code that it was when nothing was seen.
"""

from nbresume.capture.denied import CLOSED_FILE
from nbresume.model.histories import StepHistory


def runs_anew(history: StepHistory | None, code_version: str = "") -> bool:
    """Say whether a step without a header runs each time, as if it were --always.

    Parameters
    ----------
    history
        Of the step.
    code_version
        Of its cell now; empty if it is not known.
    """
    commit = history.commit() if history else None
    if commit is None or commit.record.effects:
        return False
    if code_version and commit.record.code_version != code_version:
        return False
    return any(why != CLOSED_FILE for why in commit.record.not_kept.values())
