"""A notebook, its kernels one after the other, and the crash in the middle of it.

Each situation is one scene: what happened before (kernels killed inside the step), the
strike, then a recovery to the end, and a second one that must change nothing.
"""

from dataclasses import replace
from pathlib import Path

from faults import Fault
from judge import Judge, Verdict
from real_kernel import hashes, save
from rows import BODY, ONE_CHUNK, Row
from shells import LOAD, Dead, Outside, Said, Shell, Zygote

VALUES = {"rows": "[1, 2, 3, 4]", "total": "100", "answer": "101"}
WORK = 3
"""Place of the cell in which it happens."""
SITUATIONS = {"first": 0, "recovery": 1, "recovery-of-recovery": 2}
"""Situation → how many kernels were killed inside the step before."""


class Scene:
    """One notebook of three steps, and everybody who works on it."""

    def __init__(
        self, folder: Path, zygote: Zygote, options: str = "", row: Row | None = None
    ) -> None:
        code = row.code if row else BODY
        table_bytes = row.table_bytes if row else ONE_CHUNK
        self.folder = folder
        self.options = options
        self.cells = [
            LOAD,
            "%%step load\nnote('load')\nrows = [1, 2, 3]",
            "factor = 10\nfrom nbresume import effect, idempotency_key"
            if "effect" in code
            else "factor = 10",
            f"%%step work {options}\n{code}\ntable = bytearray({table_bytes})",
            "%%step end\nnote('end')\nanswer = total + 1",
        ]
        save(folder / "main.ipynb", *self.cells)
        self.outside = Outside(folder / "ledger.txt")
        self.outside.on_mark = self._see
        self.outside.on_reach = self._see_reaching
        if "reach(" in code:
            self.outside.listen()
        self.judge = Judge(folder)
        self.verdict = Verdict()
        self.acked: set[str] = set()
        """Steps whose reply went out, or was seen."""
        self.plant = ""
        """A fault in every kernel that is started from now on."""
        self.kernels = 0
        self._mark = row.mark if row else "work"
        """The line of the ledger at which the body is struck."""
        self._first_mark = "work.charge" if "work.charge" in code else "work"
        self._table = str(table_bytes)
        self._zygote = zygote
        self._at_mark: dict[str, str] = {}
        self._striking: Shell | None = None

    # -- the outside world ----------------------------------------------------------

    def _see(self, mark: str) -> str:
        """Check that a durable record allows it; do what is to happen at a mark."""
        if self.outside.marks().count(mark) > self.judge.allowed(mark):
            self.verdict.doubled.append(f"{mark} before its record was there")
        what = self._at_mark.pop(mark, "done")
        if what == "stop":
            self._striking.stop()
            return "done"
        if what == "interrupt":
            self._striking.interrupt()
            return "done"
        return what

    def _see_reaching(self, mark: str, pid: int) -> None:
        self.verdict.doubled += self.judge.reaching(mark, pid)

    def acted(self) -> int:
        """Return how often the body has acted on the outside."""
        return sum(mark.split(".")[0] == "work" for mark in self.outside.marks())

    def at_mark(self, mark: str, what: str) -> None:
        """Let a kernel be killed, fail or be interrupted when a body has acted."""
        self._at_mark[mark] = what

    # -- kernels --------------------------------------------------------------------

    def kernel(self) -> Shell:
        """Start a kernel that has the extension loaded."""
        self.kernels += 1
        shell = self._zygote.fork(self.folder, self.outside, plant=self.plant)
        return shell.load()

    def run(self, shell: Shell, number: int) -> Said:
        """Run a cell; note what is acknowledged."""
        said = shell.run(self.cells[number], f"c{number}")
        self.note(number, said)
        return said

    def note(self, number: int, said: Said) -> None:
        """Note what an answer acknowledges."""
        if said.ok and self.cells[number].startswith("%%step"):
            self.acked.add(self.cells[number].split()[1])

    def ready(self, upto: int = WORK) -> Shell:
        """Return a kernel that has run the cells above one."""
        shell = self.kernel()
        for number in range(1, upto):
            said = self.run(shell, number)
            assert said.ok, said
        return shell

    def cut_off(self) -> None:
        """Kill a kernel inside the step; a person lets one with effects run again."""
        shell = self.ready()
        self.at_mark(self._first_mark, "kill")
        self.dies(shell)
        self.settle()

    def dies(self, shell: Shell, number: int = WORK) -> None:
        """Run a cell that the kernel does not survive."""
        try:
            said = self.run(shell, number)
        except Dead:
            return
        shell.kill()
        raise AssertionError(f"the point was never reached: {said}")

    def armed(self, shell: Shell, fault: Fault | None, number: int = WORK) -> Said:
        """Run a cell with a fault; the kernel survives."""
        shell.arm(fault)
        self._striking = shell
        said = self.run(shell, number)
        shell.arm(None)
        return said

    def strike_later(self, shell: Shell) -> None:
        """Let what happens at a mark happen to this kernel."""
        self._striking = shell

    def settle(self) -> None:
        """Let a person settle what is in doubt; before that nobody can run it."""
        for step, state in self.judge.states().items():
            if state not in ("AMBIGUOUS", "ABANDONED"):
                continue
            marks = self.outside.marks()
            if "--retry" not in self.options:
                shell = self.ready()
                said = self.run(shell, WORK)
                shell.kill()
                if said.ok or self.outside.marks() != marks:
                    self.verdict.doubled.append(f"{step} ran while it was {state}")
                if self.judge.states()[step] != state:
                    self.verdict.other.append(f"{step} left {state} by itself")
                    continue
            self.judge.command("resolve", step, "retry", "--because", "looked")

    # -- two kernels ----------------------------------------------------------------

    def stop_at(self, shell: Shell, row: Row) -> None:
        """Let a kernel run the step and stand still at a point."""
        self._striking = shell
        self.at_mark(self._mark, "stop" if row.body == "kill" else row.body)
        shell.arm(replace(row.fault, action="stop"))
        shell.send(self.cells[WORK], f"c{WORK}")
        assert shell.wait_stopped(), shell.answer()

    def take_over(self) -> Shell:
        """Return another kernel that took the run and has committed the step."""
        shell = self.kernel()
        said = shell.run("%steps resume --take-over", "x")
        self.expect("the take-over", "", said.error)
        if self.judge.states().get("work") == "AMBIGUOUS":
            self.judge.command("resolve", "work", "retry", "--because", "looked")
        for number in range(1, WORK + 1):
            said = self.run(shell, number)
            self.expect("the new kernel", "", said.error)
        return shell

    # -- the end --------------------------------------------------------------------

    def close(self) -> None:
        """Let the outside world end."""
        self.outside.close()

    def counts(self) -> dict[str, int]:
        """Return what is summed up at the end of a session."""
        return {
            "situations": 1,
            "kernels": self.kernels,
            "lost": len(self.verdict.lost),
            "doubled": len(self.verdict.doubled),
            "wrongly shown": len(self.verdict.shown),
            "other": len(self.verdict.other),
        }

    def look(self) -> None:
        """Let the judge look at the store as it is."""
        self.judge.check(self.verdict, acked=self.acked, marks=self.outside.marks())

    def expect(self, what: str, expected: object, found: object) -> None:
        """Note a difference."""
        if expected != found:
            self.verdict.other.append(f"{what}: expected {expected}, found {found}")

    def finish(self, *, settles: bool = True) -> None:
        """Run everything in a new kernel; look; do it again, which changes nothing."""
        if settles:
            self.settle()
        self.run_all("the recovery")
        self.look()
        marks, before = self.outside.marks(), hashes(self.judge.store)
        self.run_all("the second recovery")
        self.expect("marks after a second recovery", marks, self.outside.marks())
        if hashes(self.judge.store) != before:
            self.verdict.other.append("a second recovery changed the store")

    def run_all(self, what: str) -> None:
        """Run all cells in a new kernel; each name has its value afterwards."""
        acked, marks = set(self.acked), self.outside.marks()
        shell = self.kernel()
        for number in range(1, len(self.cells)):
            said = self.run(shell, number)
            if not said.ok:
                self.verdict.other.append(f"{what} stopped: {said}")
                break
        for name, value in (VALUES | {"len(table)": self._table}).items():
            found = shell.look(name)
            if found != value:
                self.verdict.lost.append(f"{name} is {found} after {what}")
        shell.kill()
        for step in acked:
            if self.outside.marks().count(step) != marks.count(step):
                self.verdict.doubled.append(f"{step} was acknowledged and ran again")
        if set(self.judge.states().values()) != {"COMMITTED"}:
            self.verdict.other.append(f"after {what}: {self.judge.states()}")
