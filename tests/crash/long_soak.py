"""Four kernels over one run for minutes: killed, stopped, fenced, with failing disks.

`python tests/crash/long_soak.py --minutes 3 [--seed S]`, or `make soak MINUTES=30`.
Each round lets all four run the notebook while they are disturbed; then everything
stands still and is judged: every acknowledged record has its bytes, the outside world
was acted on only as often as was authorised, and a fresh kernel comes to the values of
an undisturbed run.
"""

import argparse
import hashlib
import random
import secrets
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "kernel" / "durability"), str(Path(__file__).parent)]

from faults import Fault  # noqa: E402 - after its path
from judge import Judge, Verdict  # noqa: E402
from real_kernel import save  # noqa: E402
from shells import LOAD, Dead, Outside, Shell, Zygote  # noqa: E402

KERNELS = 4
ROUND_S = 2.0
FAULTY = 0.1
"""The share of passes over the notebook that come to a planted failure."""
ROUNDS_OF_A_RUN = 40
"""After so many rounds a new notebook begins: first claims are races, too."""
FEE = 7
PAY = """%%step pay
fee = effect('charge', lambda: note('pay.charge') or 7)
effect.using(idempotent=True)(
    'mail', lambda: note('pay.mail=' + idempotency_key())
)
paid = total + fee + {2}"""
CELLS = (
    LOAD,
    "%%step load\nnote('load')\nrows = [{0}] * 1000",
    "factor = 10\nfrom nbresume import effect, idempotency_key",
    "%%step work\nnote('work')\nrows.append({1})\ntotal = sum(rows) * factor",
    PAY,
    "%%step send\nreach('send')\nsent = paid + {3}",
    "%%step end --effects\nnote('end')\nanswer = sent + {4}",
)
"""One step declares effects, one makes two, and one reaches out undeclared."""
GIVES_UP = 0.3
"""The share of refusals after which nobody types anything."""
REMEDIES = (
    ("its result is not here", "%steps rerun {0} --again charge --because soak"),
    ("in doubt", "%steps resolve {0} retry --because soak"),
    ("does not run again", "%steps rerun {0} --because soak"),
    ("taken", "%steps resume --take-over"),
    ("fenced", "%steps resume --take-over"),
    ("not committed", "%steps commit {0}"),
)
"""What a refusal says, and what a person then types."""
ACTIONS = ("kill", "torn", "EIO", "ENOSPC", "exit")
FAILING = ("EIO", "ENOSPC")
EVENTS = ("append", "write", "flush", "link", "linked", "created", "body", "ended")


@dataclass
class Play:
    """One notebook, and everybody who works on it."""

    folder: Path
    zygote: Zygote
    chance: random.Random
    counts: Counter = field(default_factory=Counter)
    acked: dict[Path, str] = field(default_factory=dict)
    """Record of an acknowledged commit → digest of its bytes."""
    numbers: list[int] = field(default_factory=lambda: [1, 2, 3, 4, 5])
    verdict: Verdict = field(default_factory=Verdict)

    def __post_init__(self) -> None:
        self.outside = Outside(self.folder / "ledger.txt")
        self.outside.on_mark = self._see
        self.outside.on_reach = self._see_reaching
        self.outside.listen()
        self.judge = Judge(self.folder)
        self._failing: set[int] = set()
        """Kernels whose device may fail: a note that it refuses is told, no more."""
        self._lock = threading.Lock()
        self.save()

    def _see(self, mark: str) -> str:
        if self.outside.marks().count(mark) > self.judge.allowed(mark):
            self.verdict.doubled.append(f"{mark} before its record was there")
        return "done"

    def _see_reaching(self, mark: str, pid: int) -> None:
        self.counts["calls that were seen"] += 1
        objections = self.judge.reaching(mark, pid)
        if pid not in self._failing:
            self.verdict.doubled += objections

    @property
    def cells(self) -> list[str]:
        """The cells as they are now."""
        return [cell.format(*self.numbers) for cell in CELLS]

    def save(self) -> None:
        """Save the notebook."""
        save(self.folder / "main.ipynb", *self.cells)

    def edit(self) -> None:
        """Change the text of a step, undo a change, or do nothing."""
        number = self.chance.choice((1, 2, 3, *(self.chance.randrange(1000),) * 4))
        self.numbers[self.chance.randrange(len(self.numbers))] = number
        self.save()

    def expected(self) -> str:
        """Return what an undisturbed run leaves."""
        first, second, *others = self.numbers
        total = (first * 1000 + second) * 10
        return repr((1001, total, total + FEE + sum(others)))

    def start(self) -> Shell:
        """Start a kernel."""
        self.counts["kernels"] += 1
        return self.zygote.fork(self.folder, self.outside)

    # -- one kernel -----------------------------------------------------------------

    def work(self, shell: Shell, seed: float, until: float) -> None:
        """Run the notebook in a kernel again and again, until it dies or time is up."""
        chance = random.Random(seed)  # noqa: S311 - moments are no secrets
        try:
            while time.monotonic() < until:
                if chance.random() < FAULTY:
                    fault = self._fault(chance)
                    if fault.action in FAILING:
                        self._failing.add(shell.pid)
                    shell.arm(fault)
                    self.counts["faults armed"] += 1
                for number, code in enumerate(self.cells):
                    if not self._cell(shell, number, code, chance):
                        break
        except Dead:
            self.counts["kernels that died"] += 1

    def _fault(self, chance: random.Random) -> Fault:
        action = chance.choice(ACTIONS)
        event = "write" if action == "torn" else chance.choice(EVENTS)
        if action in FAILING:
            event = chance.choice(("write", "flush", "link", "linked"))
        return Fault(event, nth=chance.randrange(1, 12), action=action)

    def _cell(self, shell: Shell, number: int, code: str, chance) -> bool:
        for _ in range(3):
            said = shell.run(code, f"c{number}")
            if said.ok:
                self._acknowledge(shell, code, said.text)
                return True
            self.counts["refusals"] += 1
            typed = _remedy(said.error, code)
            if not typed or chance.random() < GIVES_UP:
                return False
            self.counts[f"typed {' '.join(typed.split()[:2])}"] += 1
            shell.run(typed, "typed")
        return False

    def _acknowledge(self, shell: Shell, code: str, text: str) -> None:
        if not code.startswith("%%step"):
            return
        step = code.split()[1]
        revision = shell.look(
            f"get_ipython()._nbresume.session.journal.state.commit({step!r}).revision"
        )
        run = shell.look("get_ipython()._nbresume.session.journal.run_id").strip("'")
        path = self.judge.store / "journal" / run / f"{int(revision):010d}.rec"
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        with self._lock:
            if self.acked.setdefault(path, digest) != digest:
                self.verdict.lost.append(f"{path.name} changed")
            replayed = "[restored]" in text
            self.counts["replays" if replayed else "commits acknowledged"] += 1

    # -- one round ------------------------------------------------------------------

    def round(self) -> None:
        """Let all kernels run, and disturb them."""
        shells = [self.start() for _ in range(KERNELS)]
        until = time.monotonic() + ROUND_S
        threads = [
            threading.Thread(
                target=self.work, args=(shell, self.chance.random(), until)
            )
            for shell in shells
        ]
        for thread in threads:
            thread.start()
        while time.monotonic() < until and any(t.is_alive() for t in threads):
            self._disturb(self.chance.choice(shells))
        for shell in shells:
            shell.go_on()
        for thread in threads:
            thread.join()
        self._settle(shells)
        for shell in shells:
            shell.kill()

    def _disturb(self, shell: Shell) -> None:
        time.sleep(self.chance.uniform(0.0, 0.06))
        match self.chance.choices(("kill", "stop", "edit", "wait"), (1, 4, 2, 3)):
            case ["kill"]:
                self.counts["kills"] += shell.is_alive()
                shell.shoot()
            case ["stop"]:
                self.counts["stops"] += shell.is_alive()
                shell.pause()
                time.sleep(self.chance.uniform(0.0, 0.3))
                shell.go_on()
            case ["edit"]:
                self.counts["edits"] += 1
                self.edit()

    def _settle(self, shells: list[Shell]) -> None:
        """Judge what is there, and let a fresh kernel come to the end."""
        if self.judge.files():
            marks = self.outside.marks()
            self.judge.check(self.verdict, acked=set(), marks=marks)
            if marks.count("pay.mail") > 1:
                self.verdict.doubled.append("another idempotency key for the same mail")
        for path, digest in self.acked.items():
            there = path.exists() and hashlib.sha256(path.read_bytes()).hexdigest()
            if there != digest:
                self.verdict.lost.append(f"{path.name} was acknowledged")
        for shell in shells:
            shell.kill()
        shell = self.start()
        for number, code in enumerate(self.cells):
            self._insist(shell, number, code)
        found = shell.look("(len(rows), total, answer)")
        if found != self.expected():
            self.verdict.shown.append(f"{found} in place of {self.expected()}")
        shell.kill()
        self.counts["rounds"] += 1

    def _insist(self, shell: Shell, number: int, code: str) -> None:
        for _ in range(5):
            said = shell.run(code, f"c{number}")
            if said.ok:
                self._acknowledge(shell, code, said.text)
                return
            typed = _remedy(said.error, code)
            if typed:
                shell.run(typed, "typed")
        self.verdict.other.append(f"no way out of {said.error}")


def _remedy(error: str, code: str) -> str:
    step = code.split()[1]
    for words, typed in REMEDIES:
        if words in error:
            return typed.format(step)
    return ""


def soak(minutes: float, seed: int) -> Verdict:
    """Play rounds for so long; print what happened; return what went wrong."""
    chance = random.Random(seed)  # noqa: S311 - moments are no secrets
    counts: Counter = Counter()
    verdict = Verdict()
    zygote = Zygote()
    until = time.monotonic() + 60 * minutes
    top = Path(tempfile.mkdtemp(prefix="nbresume-soak-"))
    print(f"seed {seed}, {minutes} minutes, {KERNELS} kernels over one run", flush=True)
    try:
        while time.monotonic() < until and not verdict.objections:
            folder = top / f"run-{counts['runs']}"
            folder.mkdir()
            counts["runs"] += 1
            play = Play(folder, zygote, chance, counts=counts, verdict=verdict)
            for _ in range(ROUNDS_OF_A_RUN):
                play.edit()
                play.round()
                if verdict.objections or time.monotonic() > until:
                    break
            counts["records"] += len(play.judge.files())
            counts["marks"] += len(play.outside.marks())
            play.outside.close()
            if not verdict.objections:
                shutil.rmtree(folder)
    finally:
        zygote.close()
    for what, count in sorted(counts.items()):
        print(f"  {count:6} {what}")
    print(
        f"  lost {len(verdict.lost)}, doubled {len(verdict.doubled)}, "
        f"wrongly shown {len(verdict.shown)}, other {len(verdict.other)}"
    )
    for objection in verdict.objections:
        print(f"  {objection}")
    if verdict.objections:
        print(f"  the folder was kept: {top}")
    else:
        shutil.rmtree(top)
    return verdict


def main() -> int:
    """Read the command line, soak, return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=3)
    parser.add_argument("--seed", type=int, default=None, help="for the same choices")
    options = parser.parse_args()
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    return 1 if soak(options.minutes, seed).objections else 0


if __name__ == "__main__":
    sys.exit(main())
