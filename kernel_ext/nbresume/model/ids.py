"""Names and ids: their form, and the parsers that guard the border.

The rule: ids are made by ``run.ports.Ids``, never here; here they are only checked.
"""

import re
from typing import NewType

from nbresume.errors import BadName, UsageError

StepName = NewType("StepName", str)
"""What stands behind ``%%step``; unique in a notebook without regard to case."""
RunId = NewType("RunId", str)
"""16 hex digits: one workflow over one notebook, across kernels."""
AttemptId = NewType("AttemptId", str)
"""12 hex digits: one try at executing a step."""
ObjectId = NewType("ObjectId", str)
"""``o17``: a captured object; the same object keeps it while its value changes."""
CheckpointId = NewType("CheckpointId", str)
"""Names a chain in the journal."""

_STEP = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_RUN = re.compile(r"[0-9a-f]{16}")
_CHECKPOINT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
_KIND = re.compile(r"[a-z][a-z0-9_-]*(\.[a-z][a-z0-9_-]*)+")


def parse_step_name(text: str) -> StepName:
    """Return the name, or refuse it.

    Raises
    ------
    BadName
        The name has other characters, or more than 64 of them.
    """
    if _STEP.fullmatch(text):
        return StepName(text)
    raise BadName(
        f"the step name {text!r}",
        because="a name is 1 to 64 letters, digits, '_', '.' or '-' "
        "and begins with a letter or a digit",
        remedy="Type for example: %%step load_data",
    )


def parse_run_id(text: str) -> RunId:
    """Return the run id, or refuse it.

    Raises
    ------
    UsageError
        It is not 16 hexadecimal digits.
    """
    if _RUN.fullmatch(text):
        return RunId(text)
    raise UsageError(
        f"the run id {text!r}",
        because="a run id is 16 hexadecimal digits",
        remedy="Type nbresume status NOTEBOOK to see the run of a notebook.",
    )


def parse_checkpoint_id(text: str) -> CheckpointId:
    """Return the checkpoint id, or refuse it.

    Raises
    ------
    UsageError
        It has other characters, or more than 128 of them.
    """
    if _CHECKPOINT.fullmatch(text):
        return CheckpointId(text)
    raise UsageError(
        f"the checkpoint id {text!r}",
        because="an id is 1 to 128 letters, digits, '_', '.' or '-' "
        "and begins with a letter or a digit",
        remedy="Choose another id, for example orders-2026.",
    )


def parse_kind(text: str) -> str:
    """Return the kind of a record, or refuse it.

    Raises
    ------
    UsageError
        It is not namespaced (``acme.order``).
    """
    if _KIND.fullmatch(text):
        return text
    raise UsageError(
        f"the kind {text!r}",
        because="a kind is namespaced: lower-case words joined by dots",
        remedy="Choose a kind such as acme.order.",
    )
