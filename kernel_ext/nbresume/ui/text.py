"""RunView → sentences, a text table, HTML: one wording for all faces."""

import re
from collections.abc import Sequence
from datetime import datetime
from html import escape

import msgspec

from nbresume.model.effects import spoken_keys
from nbresume.model.records import Resolution
from nbresume.model.states import State
from nbresume.plan.planner import Verdict, spoken
from nbresume.run.explaining import Cue, Explained, Plan, PlannedStep, verdict_of
from nbresume.run.history import Event
from nbresume.run.migrate import Moved
from nbresume.run.stored import StoredStep
from nbresume.run.verify import Proof, Report
from nbresume.run.view import RunView, StepView

WORDS = {
    State.NEW: "new",
    State.RUNNING: "running",
    State.RAN: "ran, not committed",
    State.FAILED: "failed",
    State.INTERRUPTED: "interrupted",
    State.AMBIGUOUS: "ambiguous (in doubt)",
    State.COMMITTED: "committed",
    State.STALE: "stale",
    State.ORPHANED: "cell is gone",
    State.ABANDONED: "abandoned",
    State.QUARANTINED: "damaged",
    State.ERASED: "erased",
    State.NOT_TAKEN: "not taken",
}
MARKS = {
    State.COMMITTED: "✓",
    State.STALE: "~",
    State.AMBIGUOUS: "?",
    State.FAILED: "✗",
    State.INTERRUPTED: "!",
    State.RUNNING: "▶",
    State.RAN: "▷",
    State.ABANDONED: "-",
    State.ORPHANED: "-",
    State.QUARANTINED: "!",
    State.ERASED: "∅",
    State.NOT_TAKEN: "○",
    State.NEW: "·",
}
_KIB = 1024.0


def duration(seconds: float | None) -> str:
    """Return a duration for people: ``3.2 s``, ``4 min 10 s``."""
    return "" if seconds is None else spoken(seconds)


def size(count: int) -> str:
    """Return a size for people: ``512 B``, ``3.4 MB``."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < _KIB or unit == "GB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= _KIB
    raise AssertionError


def at(moment: datetime | None) -> str:
    """Return a time in the reader's own zone."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S") if moment else ""


_ALSO_COMMANDS = re.compile(
    r"%steps (plan|explain|inspect|history|resolve|rerun|verify|fork|diff)\b"
)


def in_terminal(told: str, notebook: str = "NOTEBOOK") -> str:
    """Return a sentence of the notebook with the commands of a terminal."""
    told = told.replace("%steps resume --take", f"nbresume run {notebook} --take")
    return _ALSO_COMMANDS.sub(rf"nbresume \1 {notebook}", told)


def notes(step: StepView) -> str:
    """Return what has to be said about a step, in one line."""
    parts = list(step.reasons)
    if step.progress is not None:
        parts.append(step.progress.text)
    if step.not_kept:
        parts.append("without " + ", ".join(sorted(step.not_kept)))
    if step.effect_count:
        parts.append(_effects(step.effect_count))
    if step.open_effects and step.state is not State.AMBIGUOUS:
        parts.append(f"open: {spoken_keys(step.open_effects)}")
    if step.remedy:
        parts.append(f"type {step.remedy}")
    return "; ".join(parts)


def headline(view: RunView) -> str:
    """Return the sentence that every face begins with."""
    text = f"nbresume: {view.headline}"
    if not view.trusted:
        text += " (not trusted: written under another key; type nbresume trust FOLDER)"
    return text


_COLUMNS = ("", "step", "state", "took", "size", "committed", "notes")


def _row(step: StepView, *, resume_from: str) -> tuple[str, ...]:
    mark = "→" if step.name == resume_from else MARKS[step.state]
    return (
        mark,
        called(step),
        WORDS[step.state],
        duration(step.duration_s),
        size(step.payload_bytes) if step.revision >= 0 else "",
        at(step.committed_at),
        notes(step),
    )


def columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows as text, each column as wide as it has to be."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines)


def table(view: RunView) -> str:
    """Return the run as a text table under its headline."""
    lines = [headline(view)]
    if view.steps:
        rows = [_row(step, resume_from=view.resume_from) for step in view.steps]
        lines.append(columns([_COLUMNS, *rows]))
    lines += _footnotes(view)
    return "\n".join(lines)


def called(step: StepView) -> str:
    """Return the name of a step; of one that nobody named, its first words, too."""
    return f"{step.name}  {step.title}".rstrip()


def origin_of(view: RunView) -> str:
    """Return of which run a run is a fork; empty if of none."""
    origin = view.origin
    return f"a fork of run {origin.run}, behind step {origin.at}" if origin else ""


def _footnotes(view: RunView) -> list[str]:
    lines = [origin_of(view), *view.differs] if view.origin else list(view.differs)
    if view.damaged:
        revisions = ", ".join(str(revision) for revision in view.damaged)
        lines.append(f"damaged records: {revisions}; type nbresume verify NOTEBOOK")
    claim = view.claim
    if claim is not None and claim.alive and not claim.mine:
        lines.append(f"another kernel (pid {claim.pid} on {claim.host}) holds the run")
    return lines


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


def as_json(told: msgspec.Struct | Sequence[msgspec.Struct]) -> str:
    """Return a value of a face as JSON with sorted keys."""
    return msgspec.json.encode(told, order="sorted").decode()


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
    told = [_effects(step.effect_count)] if step.effect_count else []
    if step.open_effects:
        told.append(f"{spoken_keys(step.open_effects)} may have happened")
    if step.effects and not told:
        told.append(step.effects[0])
    return f"DUPLICATE RISK: {', '.join(told)}" if told else ""


def _effects(count: int) -> str:
    return f"{count} effect{'s' if count > 1 else ''} done"


_TABLE = "border-collapse:collapse;font-size:90%;line-height:1.5"
_CELL = "text-align:left;vertical-align:top;padding:1px 12px 1px 0"
_SHORT = f"{_CELL};white-space:nowrap"


def html(view: RunView) -> str:
    """Return the run as HTML that needs no script and no style sheet."""
    return html_head(view) + html_steps(view)


def html_head(view: RunView) -> str:
    """Return the sentence that every face begins with, as HTML."""
    return f"<div><b>{escape(headline(view))}</b></div>"


def html_steps(view: RunView) -> str:
    """Return what stands below the headline, in the order of the sidebar.

    What one should know before going on, the steps with the resume point set apart,
    steps whose cell is gone.
    """
    head = "".join(f"<th style='{_CELL}'>{escape(c)}</th>" for c in _COLUMNS)
    known = "".join(f"<div>{escape(line)}</div>" for line in _footnotes(view))
    body = "".join(_html_row(step, view) for step in view.steps if step.place >= 0)
    gone = "".join(_html_row(step, view) for step in view.steps if step.place < 0)
    if gone:
        body += f"{_html_line('No longer in the notebook')}{gone}"
    return (
        f"{known}<table style='{_TABLE}'><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )


def _html_row(step: StepView, view: RunView) -> str:
    *short, told = _row(step, resume_from=view.resume_from)
    tds = "".join(f"<td style='{_SHORT}'>{escape(c)}</td>" for c in short)
    row = f"<tr>{tds}<td style='{_CELL}'>{escape(told)}</td></tr>"
    if step.name != view.resume_from:
        return row
    stops = step.plan is Verdict.REFUSED
    return _html_line("Stopped here" if stops else "Goes on here") + row


def _html_line(told: str) -> str:
    span = f"colspan='{len(_COLUMNS)}' style='{_CELL};padding-top:6px'"
    return f"<tr><td {span}><b>{escape(told)}</b></td></tr>"


def waiting(step: StepView) -> str:
    """Return what a person is told before deciding about a step, as HTML."""
    since = at(step.started_at)
    lines = [*([f"started {since}"] if since else []), *step.evidence]
    known = "".join(
        f"<li style='margin:0'>{escape(line)}</li>" for line in lines or step.reasons
    )
    typed = "".join(
        f"<div>Or type into the notebook: <code>{escape(way.command)}</code> "
        f"{escape(way.text)}</div>"
        for way in step.ways
        if not way.how
    )
    plain = "margin:0;line-height:1.5"
    return f"<b>What is known</b><ul style='{plain}'>{known}</ul>{typed}"


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
