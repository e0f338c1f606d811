"""What was asked of a run, in words: a plan, an explanation, the trail, a proof.

Apart from `ui.text`, which every kernel loads: most kernels are asked nothing.
"""

import msgspec

from nbresume.model.effects import spoken_keys
from nbresume.model.records import Resolution
from nbresume.run.explaining import Cue, Explained, Plan, PlannedStep, verdict_of
from nbresume.run.history import Event
from nbresume.run.migrate import Moved
from nbresume.run.stored import StoredStep
from nbresume.run.verify import Proof, Report
from nbresume.run.view import RunView, StepView
from nbresume.ui.text import (
    at,
    called,
    columns,
    duration,
    effects_done,
    headline,
    notes,
    size,
)


def plan(view: RunView) -> str:
    """Return what Run All would do: REPLAY, RERUN or REFUSED, and why."""
    rows = [("plan", "step", "took", "why")]
    rows += [
        (verdict_of(step), called(step), duration(step.duration_s), notes(step))
        for step in view.steps
        if step.place >= 0
    ]
    return "\n".join([headline(view), *view.differs, columns(rows)])


def planned(view: RunView, *, from_scratch: bool = False) -> Plan:
    """Return the same as a value, for JSON; from scratch as `plan_from_scratch`."""
    steps = [
        PlannedStep(
            step=step.name,
            cell_id=step.cell_id,
            verdict="run" if from_scratch else verdict_of(step),
            duration_s=step.duration_s,
            why=_risk(step) if from_scratch else notes(step),
            title=step.title,
        )
        for step in view.steps
        if step.place >= 0
    ]
    return Plan(headline=view.headline, differs=view.differs, steps=steps)


def explained(told: Explained) -> str:
    """Return why a step would be replayed, run or refused, cue by cue."""
    lines = [told.sentence]
    if told.cues:
        rows = [("", "depends on", "")]
        rows += [
            (_CHANGED[cue.is_changed], cue.cue, _was_and_is(cue)) for cue in told.cues
        ]
        lines.append(columns(rows))
        lines += [f"   {line}" for cue in told.cues for line in cue.diff]
    lines += [f"type {way.command}: {way.text}" for way in told.ways]
    return "\n".join(lines)


def _was_and_is(cue: Cue) -> str:
    if not cue.is_changed or cue.diff:
        return cue.text
    then, now = cue.then_shown or cue.then[:16], cue.now_shown or cue.now[:16]
    return f"{cue.text}: {then or 'nothing'} → {now or 'nothing'}"


_CHANGED = {True: "~", False: "✓", None: "?"}


def inspected(told: StoredStep) -> str:
    """Return what the commit of a step stored, as text."""
    rows = [("name", "kind", "shape", "size", "")]
    for one in told.outputs:
        shape = " x ".join(map(str, one.shape)) if one.shape is not None else ""
        kept = f"not kept: {one.not_kept}" if one.not_kept else ""
        stored = size(one.size_bytes) if one.size_bytes else ""
        rows.append((one.name, one.kind, f"{shape} {one.dtype}".strip(), stored, kept))
    lines = [
        f"step {told.step}, commit {told.commit_number} of {told.committed_at}",
        columns(rows),
    ]
    for one in told.outputs:
        shown = one.preview.get("text/plain") or ", ".join(one.preview)
        if shown:
            lines += ["", f"{one.name}:", shown]
    return "\n".join(lines)


def plan_from_scratch(view: RunView) -> str:
    """Return what the first run of a new run would do: each step runs.

    Its effects are its own: what this run has on record is made a second time.
    """
    rows = [("plan", "step", "took", "why")]
    rows += [
        ("run", called(step), duration(step.duration_s), _risk(step))
        for step in view.steps
        if step.place >= 0
    ]
    return f"{headline(view)}\n{columns(rows)}"


def _risk(step: StepView) -> str:
    """Return what of a step has happened outside and would happen again."""
    told = [effects_done(step.effect_count)] if step.effect_count else []
    if step.open_effects:
        told.append(f"{spoken_keys(step.open_effects)} may have happened")
    if step.effects and not told:
        told.append(step.effects[0])
    return f"DUPLICATE RISK: {', '.join(told)}" if told else ""


def events_table(found: list[Event]) -> str:
    """Return the audit trail as a text table."""
    rows = [("rev", "when", "step", "what", "why", "by")]
    rows += [
        (str(e.revision), at(e.at), e.step, _what(e), e.why, e.actor) for e in found
    ]
    return columns(rows)


def _what(event: Event) -> str:
    if event.duration_s is None:
        return event.text
    return f"{event.text} after {duration(event.duration_s)}"


def events_json(found: list[Event]) -> str:
    """Return the audit trail as JSON."""
    return msgspec.json.encode(found, order="sorted").decode()


def settled(record: Resolution) -> str:
    """Return what was decided about a step, and what its actor was told with it."""
    what = f"step {record.step} is settled: {record.how} ({record.because})"
    if record.effect:
        what = f"effect {record.effect!r} of step {record.step} is done"
        what += f" ({record.because})"
    lines = [what]
    return "\n".join(
        [*lines, *(f"  on record: {line}" for line in record.acknowledged)]
    )


def metrics_json(view: RunView) -> str:
    """Return the numbers of a run as JSON."""
    return msgspec.json.encode(view.metrics, order="sorted").decode()


def moved(run: Moved, *, undone: bool) -> str:
    """Return what a migration, or its undoing, did with a run."""
    changes = ", ".join(f"{k} {a} to {b}" for k, (a, b) in run.changes.items())
    what = f"undone ({changes})" if undone else f"migrated: {changes}"
    return f"run {run.run_id} is {what}; {run.records} records, chain {run.chain}"


def proof(proved: Proof) -> str:
    """Return the proof that a step is committed."""
    return (
        f"step {proved.step} is committed\n"
        f"  record    revision {proved.revision}, sha256 {proved.digest}\n"
        f"  signed    by key {proved.key_id}, {proved.writer}, {proved.at}\n"
        f"  payloads  {proved.payloads}, {size(proved.payload_bytes)}, "
        "every digest checked"
    )


def report(walked: Report) -> str:
    """Return what a walk over a run found."""
    lines = [
        f"{walked.records} records, {walked.payloads} payloads, "
        f"{size(walked.payload_bytes)}: "
        + ("every digest holds" if not walked.problems else "DAMAGED")
    ]
    if walked.erased:
        lines.append(f"the payloads of {walked.erased} groups were erased")
    return "\n".join([*lines, *walked.problems])
