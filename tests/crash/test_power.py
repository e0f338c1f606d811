"""The power is cut at every point of a recorded run, and the store is opened again.

For every prefix of the file operations: what was flushed and nothing else, and random
parts of the rest. What was acknowledged is there, nothing else is shown.
"""

import random
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from faults import Fault
from judge import Judge, Verdict
from power import Disk, materialize, read_log
from real_kernel import save
from rows import BODY
from shells import LOAD, Dead, Outside, Zygote
from traced import parse

pytestmark = pytest.mark.kernel

SEED = 20261129
RECOVERS = 10
"""After every so manieth cut a kernel goes on, and everything is run."""
CELLS = [
    LOAD,
    "%%step load\nnote('load')\nrows = [1, 2, 3]",
    "factor = 10",
    f"%%step work\n{BODY}\ntable = bytearray(1_100_000)",
    "%%step end --effects\nnote('end')\nanswer = total + 1",
]
STEPS = {"c1": "load", "c3": "work", "c4": "end"}
SCENES = {
    "whole": None,
    "killed at the key": Fault("linked", where="/user/nbresume/key"),
    "killed at the store": Fault("linked", where="/store.json"),
    "killed at the claim": Fault("linked", "claim"),
    "killed in the payload": Fault("flush", "", "/pack"),
    "killed at the commit": Fault("linked", "committed"),
}
"""What happened before the power was cut: a kill of the kernel that ran first."""


@dataclass
class Recorded:
    """A run of the notebook, with every file operation."""

    folder: Path
    whole: Path
    """The folder as it was in the end."""
    log: list[list[str]]


def record(
    zygote: Zygote, folder: Path, fault: Fault | None, *, plant: str = ""
) -> Recorded:
    """Run the notebook in a kernel, or in one that is killed and in another one."""
    log = folder.with_name(f"{folder.name}.log")
    folder.mkdir()
    save(folder / "main.ipynb", *CELLS)
    outside = Outside(folder.with_name(f"{folder.name}.ledger"))
    if fault is not None:
        shell = zygote.fork(folder, outside, record=log, plant=plant)
        shell.arm(fault)
        with pytest.raises(Dead):
            _run(shell)
    shell = zygote.fork(folder, outside, record=log, plant=plant)
    assert all(said.ok for said in _run(shell))
    shell.kill()
    whole = folder.with_name(f"{folder.name}.whole")
    folder.rename(whole)
    return Recorded(folder, whole, read_log(log))


def _run(shell):
    return [shell.run(code, f"c{number}") for number, code in enumerate(CELLS)]


class Cuts:
    """Cuts the power in a recorded run, and counts."""

    def __init__(self, recorded: Recorded, zygote: Zygote) -> None:
        self.recorded = recorded
        self.verdict = Verdict()
        self.count = 0
        self.recoveries = 0
        self.where = ""
        self._zygote = zygote

    def cut(self, at: int, chance: random.Random | None, *, recovers: bool) -> None:
        """Cut the power after so many operations; look at what is left, or go on."""
        folder, log = self.recorded.folder, self.recorded.log[:at]
        disk = Disk(folder)
        for operation in log:
            disk.do(operation)
        self.count += 1
        materialize(disk.after_a_cut(chance), folder)
        shutil.copy(self.recorded.whole / "main.ipynb", folder)
        before = len(self.verdict.objections)
        try:
            acked = self._look(log)
            if recovers:
                self._recover(acked)
        except AssertionError as error:
            self.verdict.lost.append(str(error)[:300])
        if len(self.verdict.objections) > before and not self.where:
            self.where = f"after {at} operations, the last one {log[-1][:3]}"
        shutil.rmtree(folder)

    def _look(self, log) -> set[str]:
        replies = [one for one in log if one[0] == "reply" and not one[2]]
        acked = {STEPS[one[1]] for one in replies if one[1] in STEPS}
        marks = [one[1] for one in log if one[0] == "mark"]
        judge = Judge(self.recorded.folder)
        judge.check(self.verdict, acked=acked, marks=marks)
        for path in judge.files():
            there = self.recorded.whole / path.relative_to(self.recorded.folder)
            if path.read_bytes() != there.read_bytes():
                self.verdict.lost.append(f"{path.name} has other bytes")
        return acked

    def _recover(self, acked: set[str]) -> None:
        """Run everything in a new kernel: what was acknowledged does not run again."""
        self.recoveries += 1
        outside = Outside(self.recorded.folder / "again.txt")
        shell = self._zygote.fork(self.recorded.folder, outside)
        for number, code in enumerate(CELLS):
            said = shell.run(code, f"c{number}")
            if "in doubt" in said.error:
                shell.run("%steps resolve end retry --because looked", "x")
                said = shell.run(code, f"c{number}")
            if not said.ok:
                self.verdict.other.append(f"the recovery stopped: {said.error}")
        found = shell.look("(rows, total, answer, len(table))")
        shell.kill()
        if found != "([1, 2, 3, 4], 100, 101, 1100000)":
            self.verdict.lost.append(f"after the recovery there is {found}")
        again = acked & set(outside.marks())
        self.verdict.doubled += [f"{step} was acknowledged and ran" for step in again]


@pytest.fixture
def recorded(tmp_path, zygote, request):
    """Return the recorded run of a scene."""
    return record(zygote, tmp_path / "run", SCENES[request.param])


def told(record_property, cuts: Cuts) -> None:
    """Add to the counts that are printed at the end."""
    verdict = cuts.verdict
    record_property(
        "crash",
        {
            "power cuts": cuts.count,
            "recoveries": cuts.recoveries,
            "lost": len(verdict.lost),
            "doubled": len(verdict.doubled),
            "wrongly shown": len(verdict.shown),
            "other": len(verdict.other),
        },
    )


def cut_everywhere(
    recorded: Recorded, zygote: Zygote, *, step: int, parts: int
) -> Cuts:
    """Cut the power at every so manieth operation; a kernel goes on after some cuts."""
    cuts = Cuts(recorded, zygote)
    for number, at in enumerate(range(1, len(recorded.log) + 1, step)):
        recovers = number % RECOVERS == 0
        cuts.cut(at, None, recovers=recovers)
        for part in range(parts):
            chance = random.Random(f"{SEED}-{at}-{part}")  # noqa: S311 - moments
            cuts.cut(at, chance, recovers=recovers)
    return cuts


@pytest.mark.parametrize("recorded", ["whole", "killed at the commit"], indirect=True)
def test_some_power_cuts_lose_nothing(recorded, zygote, record_property):
    """Acknowledged is durable: what a power cut leaves holds it, byte by byte."""
    cuts = cut_everywhere(recorded, zygote, step=7, parts=1)

    told(record_property, cuts)
    assert cuts.verdict == Verdict(), cuts.where


# -- the recorder ------------------------------------------------------------------

_CALLS = {
    "mkdir": "mkdir",
    "unlink": "unlink",
    "link": "link",
    "rename": "replace",
    "fsync": "fsync",
    "write": "write",
}


def as_traced(text: str, folder: Path) -> list[list[str]]:
    """Return the operations below a folder's store and user data that strace saw."""
    found = []
    for call in parse(text):
        if not re.search(r" = \d+(<|$)", call.text):
            continue
        paths = re.findall(r'"([^"]*)"', call.text)
        if call.name == "openat" and "O_CREAT" in call.text:
            found.append(["create", paths[0]])
        elif call.name in ("fsync", "write"):
            behind = re.match(r"\d+<([^>]*)>", call.text)
            found.append([call.name, behind[1] if behind else ""])
        elif call.name in _CALLS:
            count = 2 if call.name in ("link", "rename") else 1
            found.append([_CALLS[call.name], *paths[:count]])
    return [one for one in found if _is_kept(one[1], folder)]


def as_recorded(log: list[list[str]], folder: Path) -> list[list[str]]:
    """Return the same of a recording: without the bytes."""
    return [
        one[:2] if one[0] == "write" else one
        for one in log
        if one[0] in ("create", *_CALLS.values()) and _is_kept(one[1], folder)
    ]


def _is_kept(path: str, folder: Path) -> bool:
    return path == str(folder) or path.startswith(
        (f"{folder}/.nbresume", f"{folder}/user")
    )


def test_the_recorder_sees_what_strace_sees(tmp_path):
    """Each operation of a run, in its order: nothing goes past the recorder."""
    if shutil.which("strace") is None:
        pytest.fail("strace is missing: sudo apt-get install -y strace")
    log = tmp_path / "trace.txt"
    calls = f"trace=openat,{','.join(_CALLS)}"
    traced = Zygote("strace", "-f", "-yy", "-qq", "-e", calls, "-o", str(log))
    try:
        recorded = record(traced, tmp_path / "run", None)
    finally:
        traced.close()

    seen = as_traced(log.read_text(errors="replace"), recorded.folder)
    assert len(seen) > 100
    assert seen == as_recorded(recorded.log, recorded.folder)


# -- every cut ---------------------------------------------------------------------


@pytest.mark.long
@pytest.mark.parametrize("recorded", list(SCENES), indirect=True)
def test_no_power_cut_loses_anything(recorded, zygote, record_property):
    """The same for every operation, and several random parts of what was loose."""
    cuts = cut_everywhere(recorded, zygote, step=1, parts=3)

    told(record_property, cuts)
    assert cuts.verdict == Verdict(), cuts.where
