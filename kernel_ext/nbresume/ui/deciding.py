"""A person's decision about a step → its record; alike in a terminal and a server.

The rule: it decides nothing itself. Who acts is told by whoever asks.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nbresume.compose.inspection import names_set_by
from nbresume.errors import NotTrusted, UsageError
from nbresume.ui import replies
from nbresume.ui.answers import answer_of
from nbresume.ui.asking import Asked, MaySee, Say, anybody, ask


def ask_to_decide(
    notebook: Path, say: Say, *, actor: str = "", may_see: MaySee = anybody
) -> Asked:
    """Open the run of a notebook for a decision about it.

    Parameters
    ----------
    actor
        Who decides; empty for the account of this process.
    may_see
        Whether they may know of a run of the notebook that had a path.

    Raises
    ------
    NotCommitted
        There is no store yet.
    RefusedError
        There is no such notebook.
    NotTrusted
        It was written under another key: a decision would be signed with this one.
    """
    asked = ask(notebook, say, actor=actor, may_see=may_see)
    if not asked.run.trusted:
        raise NotTrusted(
            "nothing was decided",
            because=f"the run of {notebook} was written under another key",
            remedy=f"If you know where it comes from, type nbresume trust "
            f"{asked.store.place.store}",
        )
    return asked


def resolve(asked: Asked, step: str, how: str, given: Mapping[str, Any]) -> str:
    """Settle a step, or one effect of it; return what was recorded.

    Raises
    ------
    UsageError
        What was given cannot be understood.
    NotCommitted
        The step has no attempt.
    RefusedError
        It is not in doubt, or no reason was given.
    """
    order = asked.run.order()
    answer = answer_of(how, given, names_set_by(order, step))
    return replies.settled(asked.run.recovery.resolve(step, answer, order))


def rerun(asked: Asked, step: str, because: str, again: list[str]) -> str:
    """Let a committed step run again when its cell is run; return what was recorded.

    Raises
    ------
    UsageError
        No reason was given.
    NotCommitted
        There is no such step.
    RefusedError
        It is being run, or an effect cannot be made again.
    """
    if not because.strip():
        raise UsageError(
            f"step {step} is not unlocked",
            because="the record has to say why",
            remedy=f"Type %steps rerun {step} --because TEXT",
        )
    run = asked.run
    run.recovery.check_known(step, run.order())
    run.recovery.rerun(step, because=because, again=again)
    return f"step {step} will run when its cell is run"
