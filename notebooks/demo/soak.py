"""Kill the demonstration at random moments, many times: `soak.py N [--seed S]`.

Each round runs the notebook in a fresh folder, kills its kernel with SIGKILL at a
random moment (sometimes twice), and then runs it to its end. Judged by the ledger, the
exit codes and the results alone.
"""

from __future__ import annotations

import argparse
import random
import secrets
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from compare import differences
from headless import (
    POLL_S,
    RUN_LIMIT_S,
    DemoError,
    Workspace,
    complete,
    find_kernel,
    finish,
    fresh,
    kill_kernel,
    start,
    tail,
)
from ledger import broken_off, faults

SECOND_KILL = 0.3
"""The share of rounds in which the second run is killed as well."""
LAST_FILE = "values.pkl"
"""What the last cell writes last: a run that has it may end with 0 after a kill."""


@dataclass(frozen=True, slots=True)
class Round:
    """The outcome of one round."""

    kills: int
    inside: int
    objections: list[str]

    @property
    def between(self) -> int:
        """How many kills struck no running step."""
        return self.kills - self.inside


def run_and_kill(workspace: Workspace, run: str, after_s: float) -> bool:
    """Run the notebook, kill its kernel at a moment, return whether that was in time.

    Raises
    ------
    DemoError
        The exit code does not fit what happened.
    """
    began = time.monotonic()
    process = start(workspace, run)
    killed = False
    while process.poll() is None and not killed:
        waited = time.monotonic() - began
        if waited > RUN_LIMIT_S:
            break
        pid = find_kernel(process) if waited >= after_s else None
        killed = pid is not None and kill_kernel(process, pid)
        time.sleep(POLL_S)
    code = finish(process)
    at_its_end = (workspace.dump(run) / LAST_FILE).exists()
    fits = (code != 0 or at_its_end) if killed else (code == 0 and at_its_end)
    if not fits:
        message = f"{run} ended with {code}, killed after {after_s:.2f} s: {killed}"
        raise DemoError(f"{message}\n{tail(workspace, run)}")
    return killed


def play(workspace: Workspace, moments: list[float], whole: Path) -> Round:
    """Carry out one round: killed runs, then one to the end; return its outcome."""
    kills = 0
    objections = []
    try:
        for number, moment in enumerate(moments, start=1):
            kills += run_and_kill(workspace, f"killed-{number}", moment)
        complete(workspace, "last")
        objections += differences(whole, workspace.dump("last"))
    except DemoError as error:
        objections.append(str(error))
    marks = workspace.marks()
    inside = len(broken_off(marks))
    objections += faults(marks)
    if inside > kills:
        objections.append(f"{inside} steps ran again after {kills} kills")
    return Round(kills=kills, inside=inside, objections=objections)


def choose_moments(chance: random.Random, duration_s: float) -> list[float]:
    """Return when the runs of a round are killed, seconds after their start."""
    kills = 2 if chance.random() < SECOND_KILL else 1
    return [chance.uniform(0, duration_s) for _ in range(kills)]


def soak(folder: Path, *, rounds: int, seed: int, sample: float) -> int:
    """Play all rounds and return how many failed; their folders are kept."""
    reference = fresh(folder / "uninterrupted", sample=sample)
    duration_s = complete(reference, "whole")
    whole = reference.dump("whole")
    print(f"seed {seed}; an uninterrupted run takes {duration_s:.1f} s")
    chance = random.Random(seed)  # noqa: S311 - moments of kills are no secrets
    played = []
    for number in range(1, rounds + 1):
        workspace = fresh(folder / f"round-{number}", sample=sample)
        moments = choose_moments(chance, duration_s)
        outcome = play(workspace, moments, whole)
        played.append(outcome)
        print_round(number, moments, outcome)
        if not outcome.objections:
            shutil.rmtree(workspace.folder)
    failures = sum(bool(outcome.objections) for outcome in played)
    print(
        f"seed {seed}: {rounds} rounds, {sum(p.kills for p in played)} kills, "
        f"{sum(p.inside for p in played)} inside a step, "
        f"{sum(p.between for p in played)} between steps, {failures} failures"
    )
    return failures


def print_round(number: int, moments: list[float], outcome: Round) -> None:
    """Print what became of a round."""
    times = " and ".join(f"{moment:.2f} s" for moment in moments)
    state = "FAIL" if outcome.objections else "pass"
    counts = f"{outcome.inside} inside, {outcome.between} between"
    late = len(moments) - outcome.kills
    counts += f", {late} after the end" if late else ""
    print(f"  {state}  round {number}: kill after {times}: {counts}")
    for objection in outcome.objections[:10]:
        print(f"        {objection}")


def main() -> int:
    """Read the command line, play the rounds, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rounds", type=int, help="how many rounds")
    parser.add_argument("--seed", type=int, default=None, help="for the same moments")
    parser.add_argument("--sample", type=float, default=0.05, help="share of flights")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    folder = Path(tempfile.mkdtemp(prefix="nbresume-soak-"))
    try:
        failures = soak(folder, rounds=options.rounds, seed=seed, sample=options.sample)
    except DemoError as error:
        print(f"FAIL  {error}")
        failures = 1
    if failures:
        print(f"The folders of the failed rounds were kept: {folder}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
