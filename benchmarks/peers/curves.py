"""``python -m peers.curves``: the cost of nbresume over steps, names and bytes.

The rule: each point is a new kernel and a new store, and its restore is compared as in
the tables. Points go to ``curves.json`` below ``.work/bench``; pictures are drawn only
when a folder for them is given.
"""

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import linear_regression, median

from peers.catalog import ADAPTERS
from peers.environments import PROJECT, prepare
from peers.measured import LATE
from peers.outcome import Run
from peers.runs import Bench, play
from peers.scratch import Scratch
from peers.workloads import Cell, Workload, tiny

MB = 1_000_000


def over_steps(size: int) -> Workload:
    """Return so many tiny steps; the last ten are the point."""
    return tiny(1, name="steps", full=size)


def over_names(size: int) -> Workload:
    """Return ten tiny steps beside so many names that they do not touch."""
    made = f"globals().update({{f'n{{i}}': [i] for i in range({size})}})"
    names = Cell("names", made, (), (), "names")
    steps = over_steps(30).cells
    return Workload(
        "names",
        f"{size} names",
        "pass",
        (names, *steps),
        ("v0", f"n{size - 1}"),
        "after = v0",
    )


def over_bytes(size: int) -> Workload:
    """Return a step that makes so many megabytes, and ten that only read them."""
    load = f"big = np.random.default_rng(1).random({size * MB // 8})"
    reads = [
        Cell(f"read{i}", f"m{i} = float(big[{i}])", ("big",), (f"m{i}",), "read")
        for i in range(10)
    ]
    cells = (Cell("load", load, (), ("big",), "load"), *reads)
    return Workload(
        "bytes", f"{size} MB", "import numpy as np", cells, ("big",), "after = m0"
    )


@dataclass(frozen=True, slots=True)
class Curve:
    """What grows, how far, and what is looked at."""

    name: str
    unit: str
    sizes: tuple[int, ...]
    work: Callable[[int], Workload]
    measures: dict[str, Callable[[Run], float]]
    """By the name of a line, in milliseconds."""


def _late(run: Run) -> float:
    return median(run.seconds[LATE]) * 1e3


def _first(run: Run) -> float:
    return run.seconds[0] * 1e3


def _restore(run: Run) -> float:
    return run.found["restore"] * 1e3


CURVES: dict[str, Curve] = {
    curve.name: curve
    for curve in (
        Curve(
            "steps",
            "steps before it",
            (30, 100, 300, 1000, 3000, 10_000),
            over_steps,
            {"tiny step": _late, "restore": _restore},
        ),
        Curve(
            "names",
            "names in the kernel",
            (10, 100, 1000, 10_000),
            over_names,
            {"tiny step": _late, "step that makes them": _first, "restore": _restore},
        ),
        Curve(
            "bytes",
            "MB of one array",
            (1, 10, 100, 1000, 4000),
            over_bytes,
            {"step that reads": _late, "commit": _first, "restore": _restore},
        ),
    )
}


def slope(points: Sequence[tuple[int, float]]) -> float:
    """Return the milliseconds that one more costs, by least squares."""
    return linear_regression(*zip(*points, strict=True)).slope


def points(bench: Bench, curve: Curve, most: int) -> dict[str, list[tuple[int, float]]]:
    """Return the points of each line, up to a largest size.

    Raises
    ------
    RuntimeError
        A run failed: a curve with a hole would lie.
    """
    found: dict[str, list[tuple[int, float]]] = {name: [] for name in curve.measures}
    for size in (size for size in curve.sizes if size <= most):
        run = play(bench, curve.work(size), ADAPTERS["nbresume"], 0)
        if run.failed:
            raise RuntimeError(f"{curve.name}, {size}: {run.failed}")
        for name, measure in curve.measures.items():
            found[name].append((size, measure(run)))
            print(
                f"{curve.name} {size}: {name} {found[name][-1][1]:.2f} ms", flush=True
            )
    return found


def draw(curve: Curve, lines: dict[str, list[tuple[int, float]]], path: Path) -> None:
    """Draw the lines of one curve, both axes logarithmic."""
    import matplotlib as mpl  # noqa: PLC0415 - only for who asks for pictures

    mpl.use("agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - the same

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    for name, line in lines.items():
        label = f"{name}: {slope(line):.2g} ms for one more"
        axes.loglog(*zip(*line, strict=True), marker="o", label=label)
    axes.set_xlabel(curve.unit)
    axes.set_ylabel("ms")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    """Measure the curves, and draw them if a folder is named."""
    parser = argparse.ArgumentParser(prog="python -m peers.curves", description=__doc__)
    parser.add_argument("curves", nargs="*", default=list(CURVES))
    parser.add_argument("--most", type=int, default=10_000, help="largest size")
    parser.add_argument("--draw", type=Path, help="folder of the pictures")
    parser.add_argument("--out", type=Path, default=PROJECT / ".work" / "bench")
    asked = parser.parse_args()
    root = asked.out.absolute()
    (root / "environments").mkdir(parents=True, exist_ok=True)
    environment = prepare(ADAPTERS["nbresume"], root / "environments")
    if environment.failed:
        parser.error(environment.told())
    bench = Bench(Scratch(root), {"nbresume": environment}, budget_s=3600)
    about = {"begun": time.strftime("%Y-%m-%d %H:%M"), "load": os.getloadavg()[0]}
    document = {"about": about, "curves": {}}
    for name in asked.curves:
        lines = points(bench, CURVES[name], asked.most)
        slopes = {line: slope(found) for line, found in lines.items() if len(found) > 1}
        document["curves"][name] = {"points": lines, "ms_for_one_more": slopes}
        (root / "curves.json").write_text(json.dumps(document, indent=1))
        if asked.draw:
            asked.draw.mkdir(parents=True, exist_ok=True)
            draw(CURVES[name], lines, asked.draw / f"curve-{name}.png")
        print(f"{name}: ms for one more: {slopes}", flush=True)


if __name__ == "__main__":
    main()
