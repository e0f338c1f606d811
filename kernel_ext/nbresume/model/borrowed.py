"""What a fork shares: decisions are copied, payloads are referred to where they lie.

The rule: every reference to payloads names the run that holds them.
"""

from collections.abc import Collection
from typing import Any

import msgspec

from nbresume.model.commits import SHARED
from nbresume.model.folded import RunState
from nbresume.model.histories import Commit, StepHistory
from nbresume.model.records import Committed
from nbresume.model.values import ManifestRef


def borrowed(state: RunState, steps: Collection[str], *, run: str) -> RunState:
    """Return the folded state that a fork of a run begins with.

    Parameters
    ----------
    state
        The folded state of the run that it comes from.
    steps
        The steps that are shared; each has a commit that counts.
    run
        The id of that run.
    """
    histories = sorted(
        (history for name, history in state.steps.items() if name in steps),
        key=lambda history: history.first_revision,
    )
    shared = RunState(
        steps={
            # before any step that begins in the fork
            history.name: _borrowed(history, number - len(histories))
            for number, history in enumerate(histories)
        },
        ambient=state.ambient,
        modules=state.modules,
        next_object=state.next_object,
    )
    lent: RunState = _lend(shared, run)
    return lent


def _borrowed(history: StepHistory, first_revision: int) -> StepHistory:
    commit, attempt = history.commit(), history.attempt
    commits: dict[int, Commit] = {}
    if commit is not None:
        commits = {SHARED: msgspec.structs.replace(commit, revision=SHARED)}
    if attempt is not None:
        attempt = msgspec.structs.replace(attempt, revision=SHARED, epoch=0)
    return StepHistory(
        name=history.name,
        first_revision=first_revision,
        attempts=history.attempts,
        attempt=attempt,
        commits=commits,
        current=SHARED,
        keys={commit.record.key: SHARED for commit in commits.values()},
        commit_number=history.commit_number,
        effects=history.effects,
    )


def _lend(value: Any, run: str) -> Any:
    """Return the value with each reference to the run's payloads naming it."""
    match value:
        case ManifestRef():
            lend = value.group and not value.run
            return msgspec.structs.replace(value, run=run) if lend else value
        case msgspec.Struct():
            found = {
                name: _lend(getattr(value, name), run)
                for name in value.__struct_fields__
            }
            if isinstance(value, Committed):
                found["fold"] = None  # of the origin's chain
            return type(value)(**found)
        case dict():
            return {key: _lend(one, run) for key, one in value.items()}
        case list():
            return [_lend(one, run) for one in value]
        case _:
            return value


def refs_of(value: Any) -> list[ManifestRef]:
    """Return every reference to payloads in a value, each once."""
    found: dict[ManifestRef, None] = {}
    todo = [value]
    while todo:
        match todo.pop():
            case ManifestRef() as ref:
                if ref.group:
                    found[ref] = None
            case msgspec.Struct() as struct:
                todo += [getattr(struct, name) for name in struct.__struct_fields__]
            case dict() as mapping:
                todo += mapping.values()
            case list() as items:
                todo += items
    return list(found)
