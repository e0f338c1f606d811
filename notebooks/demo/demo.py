"""The main job: kill a real pipeline in the middle and go on from there.

One copy of `flights.ipynb` runs without interruption. The kernel of another one is
killed with SIGKILL inside its third step; then the notebook is run again, and once
more. What ran is judged by the ledger that the step bodies write, and what came out by
a second process that compares the results bit by bit: never by nbresume's own records.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headless import (
    DemoError,
    Workspace,
    ask,
    complete,
    finish,
    fresh,
    kill_kernel,
    seconds_of_cells,
    start,
    tail,
    wait_for_mark,
)
from ledger import STEPS, Mark, broken_off, faults, passes

KILLED = STEPS[2]
"""The step inside which the kernel is killed."""
COMPARE = Path(__file__).resolve().with_name("compare.py")


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one step, for the table."""

    step: str
    first: str
    second: str
    third: str
    ran_s: float | None
    replayed_s: float | None

    @property
    def faster(self) -> bool:
        """Whether both times are known and the replay was the shorter one."""
        known = self.ran_s is not None and self.replayed_s is not None
        return known and self.replayed_s < self.ran_s


@dataclass(frozen=True, slots=True)
class Verdict:
    """One thing that had to be so, and what speaks against it."""

    sentence: str
    objections: list[str]


def run_and_kill(workspace: Workspace) -> tuple[int, Mark, float]:
    """Run the notebook and kill its kernel once the third step has begun."""
    began = time.monotonic()
    process = start(workspace, "first")
    mark = wait_for_mark(workspace, process, KILLED)
    killed = kill_kernel(process, mark.pid)
    code = finish(process)
    if not killed:
        message = (
            f"process {mark.pid} of the ledger is no kernel of the run: left alone"
        )
        raise DemoError(message)
    if code == 0:
        message = "nbresume run ended with 0 although its kernel was killed:"
        raise DemoError(f"{message}\n{tail(workspace, 'first')}")
    return code, mark, time.monotonic() - began


def make_rows(workspace: Workspace, reference: Workspace) -> list[Row]:
    """Return the table of the steps, from the ledger and the executed notebooks."""
    ran = [*passes(workspace.marks()), [], []]
    times = [
        seconds_of_cells(workspace.output(run)) for run in ("first", "second", "third")
    ]
    whole = seconds_of_cells(reference.output("whole"))
    return [_make_row(step, ran, times, whole) for step in STEPS]


def _make_row(
    step: str,
    ran: list[list[str]],
    times: list[dict[str, float]],
    whole: Mapping[str, float],
) -> Row:
    in_first, in_second, in_third = (step in steps for steps in ran[:3])
    killed = step == ran[0][-1]
    before = "killed" if killed else "ran" if in_first else "not reached"
    ran_in = times[1] if in_second else times[0]
    return Row(
        step=step,
        first=before,
        second="ran" if in_second else "replayed",
        third="ran" if in_third else "replayed",
        # the killed run may have left no times: then those of the whole run
        ran_s=ran_in.get(step, whole.get(step)),
        replayed_s=(times[2] if in_second else times[1]).get(step),
    )


def print_rows(rows: list[Row]) -> None:
    """Print the table of the steps."""
    head = ("step", "first run", "second run", "third run", "seconds", "replayed in")
    line = "  {:<11}{:<13}{:<13}{:<13}{:>9}{:>13}"
    print(line.format(*head))
    print("  " + "-" * 72)
    for row in rows:
        times = ["-" if t is None else f"{t:.3f}" for t in (row.ran_s, row.replayed_s)]
        print(line.format(row.step, row.first, row.second, row.third, *times))


def audit_lines(workspace: Workspace) -> list[str]:
    """Return nbresume's own account of the run, one line for each record.

    The only place that knows the form of `history --json`.
    """
    answer = ask(workspace, "history")
    return [
        f"{event['revision']:>3}  {event['at'][11:19]}  {event['step']:<10}  "
        f"{event['text']} ({event['why']})"
        for event in answer
    ]


def uncommitted(workspace: Workspace) -> list[str]:
    """Return the steps that nbresume itself does not call committed.

    The only place that knows the form of `status --json`.
    """
    answer = ask(workspace, "status")
    steps = {step["name"]: str(step["state"]) for step in answer["steps"]}
    return [
        f"nbresume status shows {step} as {steps.get(step, 'unknown')}"
        for step in STEPS
        if steps.get(step, "").lower() != "committed"
    ]


def compare(reference: Path, other: Path) -> list[str]:
    """Return what a second process finds different between two dumps."""
    answer = subprocess.run(
        [sys.executable, str(COMPARE), str(reference), str(other)],
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode == 0:
        return []
    return (answer.stdout + answer.stderr).splitlines()


def judge(workspace: Workspace, reference: Workspace, rows: list[Row]) -> list[Verdict]:
    """Return the verdicts: the first two by the ledger alone."""
    marks = workspace.marks()
    inside = broken_off(marks)
    wrong_kill = f"killed inside {', '.join(inside) or 'no step'}, not {KILLED}"
    whole = reference.dump("whole")
    return [
        Verdict(
            "ledger: no step ran twice but the killed one, and none is missing",
            faults(marks) + ([] if inside == [KILLED] else [wrong_kill]),
        ),
        Verdict(
            "ledger: the third run ran nothing",
            [f"it ran {' '.join(run)}" for run in passes(marks)[2:]],
        ),
        Verdict(
            "results after the kill equal the uninterrupted ones, bit by bit",
            compare(whole, workspace.dump("second")),
        ),
        Verdict(
            "results put back by the third run equal them too",
            compare(whole, workspace.dump("third")),
        ),
        Verdict(
            "replays were faster than the runs they replace", slow(rows, workspace)
        ),
        Verdict("nbresume status calls every step committed", uncommitted(workspace)),
    ]


def slow(rows: list[Row], workspace: Workspace) -> list[str]:
    """Return the steps whose replay was not faster than their run.

    With a sample, some steps take less time than it takes to look at a file: then only
    the sums are compared.
    """
    unknown = [row.step for row in rows if None in (row.ran_s, row.replayed_s)]
    if unknown:
        return [f"no times for {', '.join(unknown)}"]
    if workspace.sample < 1:
        ran, replayed = (
            sum(getattr(row, name) for row in rows) for name in ("ran_s", "replayed_s")
        )
        return [] if replayed < ran else [f"{replayed:.3f} s against {ran:.3f} s"]
    return [
        f"{row.step}: replayed in {row.replayed_s:.3f} s, ran in {row.ran_s:.3f} s"
        for row in rows
        if not row.faster
    ]


def print_verdicts(verdicts: list[Verdict]) -> bool:
    """Print the verdicts and return whether all are good."""
    for verdict in verdicts:
        print(f"  {'FAIL' if verdict.objections else 'pass'}  {verdict.sentence}")
        for objection in verdict.objections[:20]:
            print(f"        {objection}")
    return not any(verdict.objections for verdict in verdicts)


def demonstrate(folder: Path, *, sample: float) -> bool:
    """Carry out the demonstration in a folder and return whether all went well."""
    print(f"flights.ipynb, {len(STEPS)} steps: {', '.join(STEPS)}\n")
    reference = fresh(folder / "uninterrupted", sample=sample)
    took = complete(reference, "whole")
    print(f"  uninterrupted  a run to the end, in another folder: {took:.1f} s")

    workspace = fresh(folder / "interrupted", sample=sample)
    code, mark, took = run_and_kill(workspace)
    print(
        f"  first run      step {mark.step} began; SIGKILL to kernel {mark.pid}; "
        f"nbresume run ended with {code}: {took:.1f} s"
    )
    for number, run in (("second", "second"), ("third", "third")):
        took = complete(workspace, run)
        print(f"  {number + ' run':<15}the same command again: {took:.1f} s")

    rows = make_rows(workspace, reference)
    print("\nWhat ran and what was replayed (ledger and executed notebooks)\n")
    print_rows(rows)
    print("\nAudit trail (nbresume history)\n")
    print("\n".join(f"  {line}" for line in audit_lines(workspace)))
    print("\nVerdicts\n")
    return print_verdicts(judge(workspace, reference, rows))


def main() -> int:
    """Read the command line, carry out the demonstration, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", action="store_true", help="keep the work folder")
    parser.add_argument("--sample", type=float, default=1.0, help="share of flights")
    options = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)
    folder = Path(tempfile.mkdtemp(prefix="nbresume-demo-"))
    good = False
    try:
        good = demonstrate(folder, sample=options.sample)
    except DemoError as error:
        print(f"\n  FAIL  {error}")
    finally:
        if options.keep:
            print(f"\nThe work folder was kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print("\nThe demonstration succeeded." if good else "\nThe demonstration FAILED.")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
