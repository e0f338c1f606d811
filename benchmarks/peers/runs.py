"""One run of one tool: all cells, SIGKILL, a new kernel, the restore, the comparison.

The rule: whatever goes wrong is part of the result. A restore that is not equal, or
that raised, makes the run a failed one, with what it measured until then.
"""

import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from peers.adapters import Adapter
from peers.bare import three_creates
from peers.environments import Environment
from peers.kernel import Answer, CellFailed, Kernel, tree_bytes
from peers.outcome import Run
from peers.replays import Marimo
from peers.scratch import Scratch
from peers.workloads import Cell, Workload

INSIDE = Path(__file__).parent / "inside"
NOTE = 160
_COLORS = re.compile(r"\x1b\[[0-9;]*m")
BARE_EVERY = 4
"""After so many tiny cells three bare files are made, in the same seconds."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where runs happen, and how long one may take."""

    scratch: Scratch
    environments: dict[str, Environment]
    budget_s: float
    fill: Callable[[], None] = lambda: None
    """Is called before each kernel (see `warmth`)."""


def play(bench: Bench, work: Workload, kind: type[Adapter], number: int) -> Run:
    """Return what one run of a tool measured, or why it failed."""
    run = Run(work.name, kind.name, number)
    environment = bench.environments[kind.name]
    if environment.failed:
        run.failed = f"not installed: {environment.failed}"
        return run
    run.refused = kind.refuses(work)
    if run.refused:
        return run
    top = bench.scratch.folder()
    folder, bare = top / "run", top / "bare"
    folder.mkdir()
    adapter = kind(folder, work)
    adapter.prepare()
    player = _Player(run, adapter, environment.python, bench.budget_s, bare)
    try:
        bench.fill()
        player.keep()
        bench.fill()
        player.restore()
    except CellFailed as error:
        run.failed = str(error)[:NOTE]
    finally:
        bench.scratch.lighten(folder)
    return run


class _Player:
    """The two or three kernels of a run, one after the other."""

    def __init__(
        self, run: Run, adapter: Adapter, python: Path, budget: float, bare: Path
    ) -> None:
        self.run = run
        self.bare = bare
        self.adapter = adapter
        self.python = python
        self.until = time.perf_counter() + budget
        folder = str(adapter.folder)
        self.variables = {
            name: text.format(folder=folder) for name, text in adapter.variables.items()
        } | {"PYTHONPATH": str(INSIDE)}

    def keep(self) -> None:
        """Run all cells in a first kernel and kill it."""
        run, adapter = self.run, self.adapter
        kernel = self.kernel()
        try:
            run.found["start"] = kernel.start_s
            run.found["setup"] = self.setup(kernel)
            before = tree_bytes(adapter.folder)
            self.must(kernel, adapter.preamble())
            self.must(kernel, adapter.arm())
            resident = kernel.process().resident
            if isinstance(adapter, Marimo):
                self.whole(kernel)
            else:
                self.each(kernel)
            run.found["disk"] = tree_bytes(adapter.folder) - before
            run.found["grown"] = kernel.process().peak - resident
            run.digest = self.digest(kernel)
        finally:
            kernel.kill()

    def restore(self) -> None:
        """Bring everything back in a new kernel, and compare."""
        run, adapter = self.run, self.adapter
        kernel = self.kernel()
        try:
            run.found["setup_again"] = self.setup(kernel)
            if adapter.again:
                self.must(kernel, adapter.preamble())
            cells = adapter.restore()
            run.found["restore"] = self.typed(kernel, cells)
            self.must(kernel, Cell("after", adapter.work.after))
            run.found["ready"] = time.perf_counter() - kernel.begun
            digest = self.digest(kernel)
            self.probe(kernel)
        finally:
            kernel.kill()
        if digest != run.digest:
            run.failed = "restored values are not equal"
        elif adapter.lazily():
            self.lazily()

    def lazily(self) -> None:
        """Measure the way to the first new cell that loads only what is read."""
        adapter = self.adapter
        kernel = self.kernel()
        try:
            self.setup(kernel)
            self.typed(kernel, adapter.lazily())
            self.must(kernel, Cell("after", adapter.work.after))
            self.run.found["ready"] = time.perf_counter() - kernel.begun
        finally:
            kernel.kill()

    def each(self, kernel: Kernel) -> None:
        """Run the cells one by one, and see what each one wrote."""
        before = kernel.process()
        bare: list[float] = []
        for number, cell in enumerate(self.adapter.work.cells):
            answer = self.ask(kernel, self.adapter.cell(cell))
            after = kernel.process()
            self.run.groups.append(cell.group or cell.name)
            self.run.seconds.append(answer.seconds)
            self.run.written.append(after.written - before.written)
            self.note(cell, answer)
            before = after
            if cell.group == "step" and number % BARE_EVERY == 0:
                bare.append(three_creates(self.bare))
        if bare:
            self.run.found["creates"] = median(bare)

    def whole(self, kernel: Kernel) -> None:
        """Run an app that is one cell, and take its own times for its bodies."""
        cells = self.adapter.work.cells
        before = kernel.process()
        self.must(kernel, Cell("app", Marimo.whole))
        after = kernel.process()
        names = ", ".join(f"seconds_{cell.name}" for cell in cells)
        self.run.groups = [cell.group or cell.name for cell in cells]
        self.run.seconds = self.value(kernel, f"[{names}]")
        share = (after.written - before.written) // len(cells)
        self.run.written = [share] * len(cells)
        self.run.notes.append("times of its own; bytes shared out among its cells")

    def typed(self, kernel: Kernel, cells: list[Cell]) -> float:
        """Run cells in a row; return their seconds."""
        answers = [(cell, self.ask(kernel, cell)) for cell in cells]
        for cell, answer in answers:
            self.note(cell, answer)
        if len(cells) == 1 and answers[0][1].error:
            raise CellFailed(f"restore: {answers[0][1].error}")
        return sum(answer.seconds for _, answer in answers)

    def probe(self, kernel: Kernel) -> None:
        """Ask each probe; one that raises is false."""
        for name, expression in self.adapter.work.probes.items():
            try:
                self.run.probes[name] = self.value(kernel, f"bool({expression})")
            except CellFailed:
                self.run.probes[name] = False

    def digest(self, kernel: Kernel) -> str:
        """Return the digest of the values in a kernel."""
        values = ", ".join(self.adapter.work.values)
        return self.value(kernel, f"__import__('bench_digest').digest(({values},))")

    def value(self, kernel: Kernel, expression: str) -> Any:
        """Return the value of an expression, which JSON can hold."""
        mark = f"@@{time.time_ns()}@"
        code = f"print({mark!r} + __import__('json').dumps({expression}))"
        answer = self.ask(kernel, Cell("ask", code))
        if mark not in answer.printed:
            raise CellFailed((answer.error or "no value came back")[:NOTE])
        return json.loads(answer.printed.split(mark, 1)[1].splitlines()[0])

    def kernel(self) -> Kernel:
        """Return a new kernel in the tool's environment."""
        return Kernel(self.python, self.adapter.folder, self.variables)

    def setup(self, kernel: Kernel) -> float:
        """Run the tool's first cell, after one that warms the kernel up."""
        self.ask(kernel, Cell("warm", "pass"))
        answer = self.ask(kernel, self.adapter.setup())
        expected = any(name in answer.error for name in self.adapter.expected)
        if answer.error and not expected:
            raise CellFailed(answer.error[:NOTE])
        return answer.seconds

    def must(self, kernel: Kernel, cell: Cell) -> Answer:
        """Run a cell that has to succeed."""
        answer = self.ask(kernel, cell)
        if answer.error:
            raise CellFailed(f"{cell.name}: {answer.error}"[:NOTE])
        return answer

    def ask(self, kernel: Kernel, cell: Cell) -> Answer:
        """Run a cell in what is left of the budget."""
        left = self.until - time.perf_counter()
        return kernel.run(cell.code, cell.name, timeout_s=left)

    def note(self, cell: Cell, answer: Answer) -> None:
        """Remember what a cell complained about."""
        hooks = [line for line in answer.printed.splitlines() if "Error" in line]
        said = _COLORS.sub("", answer.error or (hooks[-1] if hooks else ""))
        if said:
            self.run.notes.append(f"{cell.name}: {said}"[:NOTE])
