"""Three small figures, drawn as SVG: nothing but a browser is needed to see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from orders import STEPS, Experiment

KEPT, RERUN, DUE = "#2e7d32", "#c62828", "#616161"
BAR, GAP, HIGH, TOP = 18, 64, 90, 40
FONT = "font-family='sans-serif' font-size='11' fill='currentColor'"


def executions(found: Experiment) -> str:
    """Return how often the service was asked for each step, in both worlds."""
    bars = []
    most = max(2, *found.rerun.counts, *found.kept.counts)
    both = zip(STEPS, found.kept.counts, found.rerun.counts, strict=True)
    for place, (step, kept, rerun) in enumerate(both):
        left = 12 + place * GAP
        bars += [
            _bar(left, kept / most, KEPT, str(kept)),
            _bar(left + BAR + 2, rerun / most, RERUN, str(rerun)),
            _text(left + BAR, TOP + HIGH + 16, step),
        ]
    return _figure("Executions per step", bars, width=24 + GAP * len(STEPS))


def money(found: Experiment) -> str:
    """Return what was paid, beside what was due."""
    values = [
        ("due", found.due_cents, DUE),
        ("nbresume", found.kept.cents, KEPT),
        ("all again", found.rerun.cents, RERUN),
    ]
    return _three("Money moved", values, lambda cents: f"{cents / 100:.2f}")


def time_lost(found: Experiment) -> str:
    """Return the work that was done twice."""
    values = [
        ("nbresume", found.kept.lost_minutes, KEPT),
        ("all again", found.rerun.lost_minutes, RERUN),
    ]
    return _three("Time lost", values, lambda minutes: f"{minutes} min")


def side_by_side(found: Experiment) -> str:
    """Return all three, with what the colors mean."""
    drawn = "".join((executions(found), money(found), time_lost(found)))
    words = (
        f"<span style='color:{KEPT}'>■</span> with nbresume &nbsp; "
        f"<span style='color:{RERUN}'>■</span> all cells again"
    )
    return f"<div>{words}</div><div style='display:flex;flex-wrap:wrap'>{drawn}</div>"


def _three(
    title: str, values: Sequence[tuple[str, int, str]], said: Callable[[int], str]
) -> str:
    most = max(1, *(value for _, value, _ in values))
    bars = []
    for place, (name, value, color) in enumerate(values):
        left = 22 + place * GAP
        bars += [
            _bar(left, value / most, color, said(value)),
            _text(left + BAR / 2, TOP + HIGH + 16, name),
        ]
    return _figure(title, bars, width=24 + GAP * len(values))


def _bar(left: float, share: float, color: str, label: str) -> str:
    high = round(share * HIGH, 1)
    top = TOP + HIGH - high
    box = f"x='{left}' y='{top}' width='{BAR}' height='{max(high, 1)}' fill='{color}'"
    return f"<rect {box}/>" + _text(left + BAR / 2, top - 4, label)


def _text(middle: float, low: float, label: str) -> str:
    return f"<text x='{middle}' y='{low}' text-anchor='middle' {FONT}>{label}</text>"


def _figure(title: str, parts: Sequence[str], *, width: int) -> str:
    high = TOP + HIGH + 24
    head = f"<text x='8' y='16' font-weight='bold' {FONT}>{title}</text>"
    base = f"<path d='M4 {TOP + HIGH}H{width - 4}' stroke='currentColor'/>"
    size = f"width='{width}' height='{high}' role='img' aria-label='{title}'"
    return f"<svg {size}>{head}{base}{''.join(parts)}</svg>"
