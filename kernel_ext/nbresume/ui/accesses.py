"""Who read, exported, imported or trusted a run, for people: `history --access`.

The rule: it tells what this reader's own data folder holds, and says so.
"""

import msgspec

from nbresume.compose.access import log_of
from nbresume.errors import NbresumeError
from nbresume.model.codec import record_of
from nbresume.model.records import Intent
from nbresume.store.access import Access
from nbresume.ui import text
from nbresume.ui.asking import Asked


def shown(asked: Asked, step: str, *, as_json: bool) -> str:
    """Return what was read of a run, oldest first; of one step if it is named."""
    found, torn = log_of(asked.store).all()
    run_id = asked.run.journal.run_id
    steps = _steps(asked)
    named = [_named(one, steps) for one in found if one.run in ("", run_id)]
    named = [one for one in named if not step or one.step == step]
    if as_json:
        return text.as_json(named)
    lines = [
        text.columns([("when", "what", "step", "by", "via", "where"), *_rows(named)])
    ]
    lines += [f"{torn} lines of the log cannot be read"] if torn else []
    return "\n".join(lines)


def _rows(found: list[Access]) -> list[tuple[str, ...]]:
    return [
        (
            text.at(one.at),
            str(one.act) if one.run else f"{one.act} (the store)",
            one.step,
            one.who,
            f"{one.via}, pid {one.pid} on {one.host}",
            one.detail,
        )
        for one in found
    ]


def _steps(asked: Asked) -> dict[str, str]:
    """Return attempt → step, by the records."""
    steps = {}
    for link in asked.store.read_run(asked.run.journal.run_id):
        if link.envelope is None or link.envelope.kind != Intent.KIND:
            continue
        try:
            record = record_of(link.envelope)
        except NbresumeError:
            continue  # it is only shown: the group stands there instead
        if isinstance(record, Intent):
            steps[record.attempt] = record.step
    return steps


def _named(access: Access, steps: dict[str, str]) -> Access:
    if access.step or not access.group:
        return access
    attempt = access.group.partition("-")[0]
    return msgspec.structs.replace(access, step=steps.get(attempt, access.group))
