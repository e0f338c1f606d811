"""RunView → sentences, a text table, HTML: one wording for all faces."""

import re
from collections.abc import Sequence
from datetime import datetime
from html import escape

import msgspec

from nbresume.model.effects import spoken_keys
from nbresume.model.states import State
from nbresume.plan.planner import Verdict, spoken
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
        parts.append(effects_done(step.effect_count))
    if step.open_effects and step.state is not State.AMBIGUOUS:
        parts.append(f"open: {spoken_keys(step.open_effects)}")
    if step.remedy:
        parts.append(f"type {step.remedy}")
    return "; ".join(parts)


def effects_done(count: int) -> str:
    """Return how many effects of a step happened."""
    return f"{count} effect{'s' if count > 1 else ''} done"


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


def as_json(told: msgspec.Struct | Sequence[msgspec.Struct]) -> str:
    """Return a value of a face as JSON with sorted keys."""
    return msgspec.json.encode(told, order="sorted").decode()


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
