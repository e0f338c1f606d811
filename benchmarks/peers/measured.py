"""From runs to named numbers: one flat table for each workload and round.

The rule: ratios are made within one round, from what ran in the same minutes. A run
that failed gives no numbers, only its reason.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import mean, median

from peers.outcome import Run

EARLY = slice(4, 15)
LATE = slice(-10, None)


@dataclass(frozen=True, slots=True)
class Round:
    """What one round measured of one workload."""

    numbers: dict[str, float]
    """``ADAPTER.WHAT`` in seconds and bytes; ``limits.WHAT`` for the machine's."""
    reasons: dict[str, str] = field(default_factory=dict)
    """Why an adapter has no numbers in it."""


def numbers_of(run: Run) -> dict[str, float]:
    """Return the numbers of one run by their names."""
    if not run.seconds:
        return dict(run.found)
    found = dict(run.found)
    for group in dict.fromkeys(run.groups):
        at = [i for i, name in enumerate(run.groups) if name == group]
        found[group] = median(run.seconds[i] for i in at)
        found[f"{group}_bytes"] = median(run.written[i] for i in at)
    parts: dict[str, Sequence[float]] = {
        "": run.seconds,
        "_bytes": run.written,
    }
    for what, values in parts.items():
        found[f"total{what}"] = sum(values)
        found[f"early{what}"] = median(values[EARLY] or values)
        found[f"late{what}"] = median(values[LATE])
    # a median does not see what is written now and then, and may grow
    found["each_bytes"] = mean(run.written)
    found["first_bytes"] = mean(run.written[: max(1, len(run.written) // 10)])
    return found


def why_failed(run: Run, reference: str) -> str:
    """Return why a run does not count, or nothing."""
    if run.failed or run.refused:
        return run.failed or run.refused
    if reference and run.digest != reference:
        return "its values differ from those of the plain kernel"
    return ""


def rounds_of(
    runs: Sequence[Run], limits: dict[tuple[str, int], dict[str, float]]
) -> dict[str, list[Round]]:
    """Return the rounds of each workload."""
    found: dict[str, list[Round]] = {}
    for workload, number in dict.fromkeys((run.workload, run.number) for run in runs):
        own = [r for r in runs if (r.workload, r.number) == (workload, number)]
        reference = next((r.digest for r in own if r.adapter == "plain"), "")
        made = Round(
            {f"limits.{k}": v for k, v in limits.get((workload, number), {}).items()}
        )
        for run in own:
            reason = why_failed(run, reference)
            if reason:
                made.reasons[run.adapter] = reason
                continue
            for what, value in numbers_of(run).items():
                made.numbers[f"{run.adapter}.{what}"] = value
        found.setdefault(workload, []).append(made)
    return found
