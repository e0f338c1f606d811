"""What the canonical walk costs: ratios to one C pickle of the same value.

Each value is looked at and pickled in turn, in rounds, in one process; the ratio is
that of the two medians. The pickle is the C pickler at protocol 5 with buffers out of
band, where it can pickle the value at all.
"""

import argparse
import gc
import json
import pickle
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib import figure as figures

from nbresume.capture.canonical import look


class Row:
    """A small object as a notebook makes it by the thousand."""

    def __init__(self, at: int) -> None:
        self.a, self.b = at, f"row {at}"


class Slots:
    """The same with slots."""

    __slots__ = ("a", "b")

    def __init__(self, at: int) -> None:
        self.a, self.b = at, f"row {at}"


class Branch:
    """A small object that holds others."""

    def __init__(self, at: int) -> None:
        self.at, self.tags, self.row = at, [at, "x"], Row(at)


def functions(count: int) -> list[Any]:
    """Return functions as a notebook defines them."""
    source = "".join(
        f"def f{at}(x, y={at}):\n    z = [i + y for i in range(x)]\n    return z\n"
        for at in range(count)
    )
    made: dict[str, Any] = {"__name__": "__main__"}
    exec(source, made)  # noqa: S102 - the definitions of a notebook
    return [made[f"f{at}"] for at in range(count)]


def figure() -> Any:
    """Return a figure with some lines."""
    made = figures.Figure()
    for axes in made.subplots(2, 2).flat:
        for at in range(3):
            axes.plot(range(50), [at * x for x in range(50)], label=str(at))
        axes.legend()
    return made


def frame() -> pd.DataFrame:
    """Return a frame of a million rows."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            **{name: rng.normal(size=1_000_000) for name in "abc"},
            "n": rng.integers(0, 9, 1_000_000),
            "t": pd.date_range("2026-01-01", periods=1_000_000, freq="s"),
        }
    )


def shared() -> list[Any]:
    """Return objects that stand in many places."""
    rows = [Row(at) for at in range(1000)]
    return [rows[at * 7919 % 1000] for at in range(200_000)]


VALUES: dict[str, Callable[[], Any]] = {
    "200k dicts": lambda: [
        {"id": i, "name": f"n{i}", "score": i / 3} for i in range(200_000)
    ],
    "200k dicts with lists": lambda: [
        {"id": i, "tags": [i, "x"], "name": f"n{i}"} for i in range(200_000)
    ],
    "100k objects": lambda: [Row(i) for i in range(100_000)],
    "100k objects with slots": lambda: [Slots(i) for i in range(100_000)],
    "30k objects in objects": lambda: [Branch(i) for i in range(30_000)],
    "100k objects by key": lambda: {i: Row(i) for i in range(100_000)},
    "100k nested lists": lambda: [[i, [i + 1, [str(i)]]] for i in range(100_000)],
    "1M floats": lambda: [i / 7 for i in range(1_000_000)],
    "1M texts": lambda: [f"text {i}" for i in range(1_000_000)],
    "200k objects shared": shared,
    "100 MB array": lambda: np.arange(12_500_000, dtype=float),
    "frame of 1M rows": frame,
    "figure": figure,
    "1,000 functions": lambda: functions(1000),
}


def pickled(value: Any) -> None:
    """Pickle a value as well as C can do it."""
    pickle.dumps(value, 5, buffer_callback=lambda _: None)


def timed(action: Callable[[Any], object], value: Any) -> float:
    """Return how many milliseconds it takes."""
    gc.collect()
    start = time.perf_counter()
    action(value)
    return (time.perf_counter() - start) * 1e3


def can_pickle(value: Any) -> bool:
    """Say whether the C pickler takes the value at all."""
    try:
        pickled(value)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def measure(make: Callable[[], Any], rounds: int) -> dict[str, float]:
    """Return the median milliseconds of a look and of a pickle of a value."""
    value = make()
    looks, pickles = [], []
    comparable = can_pickle(value)
    seen = None
    for _ in range(rounds):
        if comparable:
            pickles.append(timed(pickled, value))
        start = time.perf_counter()
        # as in a kernel: the look before is alive
        seen = look(value, {})
        looks.append((time.perf_counter() - start) * 1e3)
    del seen
    row = {"look_ms": statistics.median(looks)}
    if comparable:
        row["pickle_ms"] = statistics.median(pickles)
        row["ratio"] = row["look_ms"] / row["pickle_ms"]
    return row


def main() -> None:
    """Print a table of ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="a part of a value's name")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = {}
    for name, make in VALUES.items():
        if options.only in name:
            rows[name] = row = measure(make, options.rounds)
            if not options.json:
                ratio = f"{row['ratio']:7.2f}" if "ratio" in row else " " * 7
                pickle_ms = row.get("pickle_ms", 0)
                print(f"{name:28}{row['look_ms']:9.1f} ms {pickle_ms:9.1f} ms {ratio}")
    if options.json:
        print(json.dumps(rows))


if __name__ == "__main__":
    main()
