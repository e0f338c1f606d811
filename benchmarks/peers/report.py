"""The tables: targets first, then every tool at every workload.

The rule: nothing is left out. A tool that was not installed, broke its own rules,
raised, or restored other values has a row that says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from peers.measured import Round, rounds_of, why_failed
from peers.outcome import Run
from peers.targets import FAILED, MISSED, OUTCOMES, TARGETS, Verdict, judge

MB = 1e6
SMALL = (
    "The targets are about the full sizes. At a smaller scale what a step costs at any "
    "size weighs more, and a chunk may be larger than the data."
)


@dataclass(frozen=True, slots=True)
class Results:
    """All that a bench measured."""

    about: dict[str, Any]
    """Scale, rounds, seed, machine, versions."""
    runs: list[Run]
    limits: dict[tuple[str, int], dict[str, float]]
    titles: dict[str, str]
    """Of the workloads."""

    def plain(self) -> dict[str, Any]:
        """Return them as what JSON can hold, with the verdicts."""
        return {
            "about": self.about,
            "titles": self.titles,
            "targets": [_judged(verdict) for verdict in verdicts(self)],
            "limits": [
                {"workload": workload, "number": number, **found}
                for (workload, number), found in self.limits.items()
            ],
            "runs": [run.plain() for run in self.runs],
        }

    @classmethod
    def parsed(cls, document: dict[str, Any]) -> "Results":
        """Return the results that a JSON document holds."""
        limits = {}
        for row in document["limits"]:
            rest = dict(row)
            limits[rest.pop("workload"), rest.pop("number")] = rest
        runs = [Run(**run) for run in document["runs"]]
        return cls(document["about"], runs, limits, document["titles"])


def verdicts(results: Results) -> list[Verdict]:
    """Return what became of each target."""
    rounds = rounds_of(results.runs, results.limits)
    return [judge(target, rounds.get(target.workload, [])) for target in TARGETS]


def _judged(verdict: Verdict) -> dict[str, Any]:
    target = verdict.target
    return {
        "name": target.name,
        "workload": target.workload,
        "ratio_of": target.over,
        "to": target.under,
        "bound": target.bound,
        "outcome": verdict.outcome,
        "ratio": verdict.ratio,
        "spread": verdict.spread,
        "because": verdict.because,
    }


def markdown(results: Results) -> str:
    """Return all tables."""
    lines = ["# nbresume beside its peers", ""]
    lines += [f"* {name}: {value}" for name, value in results.about.items()]
    lines += ["", "## Targets", "", *_targets(verdicts(results))]
    if results.about.get("scale", 1) < 1:
        lines += ["", SMALL]
    rounds = rounds_of(results.runs, results.limits)
    for workload, title in results.titles.items():
        lines += ["", f"## {workload}: {title}", ""]
        lines += _table(results, workload, rounds.get(workload, []))
        lines += _probes(results, workload)
        lines += _limits(rounds.get(workload, []))
    return "\n".join(lines) + "\n"


def _targets(found: Sequence[Verdict]) -> list[str]:
    count = {o: sum(v.outcome == o for v in found) for o in OUTCOMES}
    told = ", ".join(f"{number} {outcome}" for outcome, number in count.items())
    head = ["target", "workload", "ratio", "spread", "at most", "outcome", "note"]
    rows = [
        [
            verdict.target.name,
            verdict.target.workload,
            number(verdict.ratio),
            span(verdict.spread),
            f"{verdict.target.bound:g}",
            f"**{outcome}**" if outcome in (MISSED, FAILED) else outcome,
            verdict.because,
        ]
        for verdict in found
        for outcome in (verdict.outcome,)
    ]
    return [told, "", *grid(head, rows)]


_COLUMNS: tuple[tuple[str, Callable[[Run], float | None]], ...] = (
    ("cells s", lambda run: sum(run.seconds) if run.seconds else None),
    ("MB written", lambda run: sum(run.written) / MB if run.written else None),
    ("disk MB", lambda run: _over(run.found.get("disk"), MB)),
    ("memory MB", lambda run: _over(run.found.get("grown"), MB)),
    ("restore s", lambda run: run.found.get("restore")),
    ("ready s", lambda run: run.found.get("ready")),
)
_HEAD = ("tool", "median cell ms", "x plain", "spread", *(c[0] for c in _COLUMNS))


def _table(results: Results, workload: str, rounds: Sequence[Round]) -> list[str]:
    """Return a row for each tool; the ratio to the plain kernel is within a round."""
    own = [run for run in results.runs if run.workload == workload]
    reference = {run.number: run for run in own if run.adapter == "plain"}
    rows = []
    for adapter in dict.fromkeys(run.adapter for run in own):
        runs = [run for run in own if run.adapter == adapter]
        ratios = [
            sum(run.seconds) / sum(reference[run.number].seconds)
            for run in runs
            if run.number in reference
            # the rest of a run that broke off is not compared
            if 0 < len(run.seconds) == len(reference[run.number].seconds)
        ]
        cell = [median(run.seconds) * 1e3 for run in runs if run.seconds]
        rows.append(
            [
                adapter,
                number(_median(cell)),
                number(_median(ratios)),
                span((min(ratios), max(ratios)) if ratios else None),
                *(number(_median(_known(what, runs))) for _, what in _COLUMNS),
                _equal(runs, reference),
                next((note for run in runs for note in run.notes), ""),
            ]
        )
    return [f"Rounds: {len(rounds)}", "", *grid([*_HEAD, "outcome", "note"], rows)]


def _equal(runs: Sequence[Run], reference: dict[int, Run]) -> str:
    """Return whether all restores were equal, or why not."""
    if all(run.refused for run in runs):
        return f"not run: {runs[0].refused}"
    digests = {number: run.digest for number, run in reference.items()}
    reasons = [why_failed(run, digests.get(run.number, "")) for run in runs]
    failed = [reason for reason in reasons if reason]
    if not failed:
        return "equal"
    return f"**FAILED** {len(failed)} of {len(runs)}: {failed[0]}"


def _probes(results: Results, workload: str) -> list[str]:
    """Return the table of probes: what a restore kept of the meaning."""
    runs = [r for r in results.runs if r.workload == workload and not r.refused]
    names = dict.fromkeys(name for run in runs for name in run.probes)
    if not names:
        return []
    adapters = list(dict.fromkeys(run.adapter for run in runs))
    rows = []
    # who failed before the probes could be asked has no to all
    for name in names:
        asked = {
            adapter: [
                run.probes.get(name, False) for run in runs if run.adapter == adapter
            ]
            for adapter in adapters
        }
        rows.append([name, *("yes" if all(asked[a]) else "**no**" for a in adapters)])
    return ["", *grid(["true after the restore", *adapters], rows)]


def _limits(rounds: Sequence[Round]) -> list[str]:
    """Return the least that the machine needs for it."""
    names = dict.fromkeys(
        name for one in rounds for name in one.numbers if name.startswith("limits.")
    )
    if not names:
        return []
    rows = []
    for name in names:
        values = [one.numbers[name] for one in rounds if name in one.numbers]
        unit, scale = ("MB", MB) if name.endswith("_bytes") else ("ms", 1e-3)
        row = [f"{name[7:].replace('_', ' ')} {unit}", number(median(values) / scale)]
        rows.append([*row, span((min(values) / scale, max(values) / scale))])
    return ["", *grid(["limit of the machine", "median", "spread"], rows)]


def _known(what: Callable[[Run], float | None], runs: Sequence[Run]) -> list[float]:
    return [value for value in map(what, runs) if value is not None]


def _over(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _median(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def number(value: float | None) -> str:
    """Return a number to three digits, or a dash."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def span(pair: tuple[float, float] | None) -> str:
    """Return the least and the largest."""
    return "-" if pair is None else f"{number(pair[0])} to {number(pair[1])}"


def grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the lines of a table; a bar in a text does not end its cell."""
    lines = [list(head), ["---"] * len(head), *(list(row) for row in rows)]
    texts = [
        [cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines
    ]
    return [f"| {' | '.join(line)} |" for line in texts]
