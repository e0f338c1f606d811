"""The rounds: every tool once in each, in an order that is shuffled by a seed.

The rule: what is compared runs close together. In a round the workloads come in any
order, and in a workload the tools and the limits of the machine do.
"""

import json
import random
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from peers.catalog import ADAPTERS, WORKLOADS
from peers.outcome import Run
from peers.report import Results
from peers.runs import Bench, play
from peers.warmth import warm
from peers.workloads import Workload

HERE = Path(__file__).parent
LIMITS = "limits"
LIMITS_S = 900


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be measured."""

    workloads: Sequence[str]
    adapters: Sequence[str]
    rounds: int
    scale: float
    seed: int


def measure(
    bench: Bench, order: Order, results: Results, save: Callable[[], None]
) -> None:
    """Add the runs of all rounds to the results, and save them after each one.

    In a round those with little data come first: a page cache that is full makes
    memory dearer for them, and dependable for the others (see `warmth`).
    """
    chance = random.Random(order.seed)  # noqa: S311 - an order, no secret
    for number in range(order.rounds):
        names = chance.sample(order.workloads, len(order.workloads))
        works = [WORKLOADS[name](order.scale) for name in names]
        for work in works:
            results.titles[work.name] = work.title
            if not work.sizes:
                for adapter in _shuffled(work, order, chance):
                    _add(bench, work, adapter, number, results)
                    save()
        large = [work for work in works if work.sizes]
        if not large:
            continue
        with warm(bench.scratch.root, scale=order.scale) as fill:
            filled = replace(bench, fill=fill)
            for work in large:
                for adapter in _shuffled(work, order, chance):
                    _add(filled, work, adapter, number, results)
                    save()


def _shuffled(work: Workload, order: Order, chance: random.Random) -> list[str]:
    """Return the tools that a workload is for, and the limits, in any order."""
    chosen = [a for a in order.adapters if not work.only or a in work.only]
    return chance.sample([*chosen, LIMITS], len(chosen) + 1)


def _add(
    bench: Bench, work: Workload, adapter: str, number: int, results: Results
) -> None:
    """Add one run of one tool, or what the machine needs at least."""
    begun = time.perf_counter()
    said = ""
    if adapter == LIMITS:
        results.limits[work.name, number] = limits(bench, work)
    else:
        run = play(bench, work, ADAPTERS[adapter], number)
        results.runs.append(run)
        said = _said(run)
    took = time.perf_counter() - begun
    print(f"[{number}] {work.name} {adapter}: {took:.1f} s {said}", flush=True)


def limits(bench: Bench, work: Workload) -> dict[str, float]:
    """Return what the machine needs at least, and the store's own file work."""
    bench.fill()
    found: dict[str, float] = {}
    for script, kind, arguments in (
        ("limits", "plain", [json.dumps(work.sizes)]),
        ("file_work", "nbresume", []),
    ):
        environment = bench.environments.get(kind)
        if environment is None or environment.failed:
            continue
        folder = bench.scratch.folder()
        done = subprocess.run(
            [environment.python, "-m", f"peers.{script}", folder, *arguments],
            cwd=HERE.parent,
            check=False,
            capture_output=True,
            text=True,
            timeout=LIMITS_S,
        )
        bench.scratch.lighten(folder)
        if done.returncode:
            # the targets that need them say that they were not measured
            print(done.stderr, flush=True)
            continue
        found |= json.loads(done.stdout)
    return found


def _said(run: Run) -> str:
    if run.refused:
        return f"not run: {run.refused}"
    return f"FAILED: {run.failed}" if run.failed else ""
