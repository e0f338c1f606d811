"""``python -m peers``: measure, and write the tables below ``.work/bench``."""

import argparse
import json
import os
import platform
import time
from pathlib import Path

from peers.bench import Order, measure
from peers.catalog import ADAPTERS, WORKLOADS
from peers.environments import PROJECT, prepare
from peers.report import Results, markdown
from peers.runs import Bench
from peers.scratch import Scratch

ALWAYS = ("plain",)
"""What ratios are made with."""


def main() -> None:
    """Measure what the command line asks for."""
    asked = _arguments()
    if asked.table:
        print(markdown(Results.parsed(json.loads(asked.table.read_text()))))
        return
    root = asked.out.absolute()
    (root / "environments").mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys([*ALWAYS, *asked.adapters]))
    environments = {
        name: prepare(ADAPTERS[name], root / "environments") for name in names
    }
    for name, environment in environments.items():
        print(f"{name}: {environment.told()}", flush=True)
    order = Order(asked.workloads, names, asked.rounds, asked.scale, asked.seed)
    about = {
        "begun": time.strftime("%Y-%m-%d %H:%M"),
        "scale": asked.scale,
        "rounds": asked.rounds,
        "seed": asked.seed,
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "load at the begin": round(os.getloadavg()[0], 1),
        **{
            f"environment of {name}": found.told()
            for name, found in environments.items()
        },
    }
    results = Results(about, [], {}, {})

    def save() -> None:
        about["load at the end"] = round(os.getloadavg()[0], 1)
        (root / "results.json").write_text(json.dumps(results.plain(), indent=1))

    scratch = Scratch(root)
    measure(Bench(scratch, environments, asked.budget), order, results, save)
    scratch.clear()
    (root / "results.md").write_text(markdown(results))
    print(markdown(results))


def _names(text: str) -> list[str]:
    return text.split(",")


def _arguments() -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(prog="python -m peers", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="1 is the full size")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workloads", type=_names, default=list(WORKLOADS))
    parser.add_argument("--adapters", type=_names, default=list(ADAPTERS))
    parser.add_argument("--seed", type=int, default=20261129)
    parser.add_argument(
        "--budget", type=float, default=1800, help="seconds that one run may take"
    )
    parser.add_argument("--out", type=Path, default=PROJECT / ".work" / "bench")
    parser.add_argument(
        "--table", type=Path, help="only print the tables of this results.json"
    )
    asked = parser.parse_args()
    for given, known in ((asked.workloads, WORKLOADS), (asked.adapters, ADAPTERS)):
        unknown = [name for name in given if name not in known]
        if unknown:
            parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return asked


if __name__ == "__main__":
    main()
