"""What must hold after every crash, judged from the outside.

The judge reads the files of the journal as JSON, the outside world's ledger, what
``nbresume status --json`` and ``nbresume verify`` say, and what kernels acknowledged.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from click.testing import CliRunner
from real_kernel import hashes

from nbresume.run.view import RunView
from nbresume.ui.cli import cli

SHOWN = ("COMMITTED", "STALE", "ORPHANED")
"""States that say that there is a result."""


@dataclass
class Verdict:
    """What went wrong; nothing should."""

    lost: list[str] = field(default_factory=list)
    """Acknowledged work that is not there, or has other bytes (I1)."""
    doubled: list[str] = field(default_factory=list)
    """Bodies that ran without an authorised attempt (I4, I5, I7)."""
    shown: list[str] = field(default_factory=list)
    """What is shown, restored or replayed as committed and is not (I2)."""
    other: list[str] = field(default_factory=list)
    """Anything else: the chain, the states, a recovery that changes something."""

    @property
    def objections(self) -> list[str]:
        """Everything that went wrong."""
        return [*self.lost, *self.doubled, *self.shown, *self.other]


class Judge:
    """Looks at one store."""

    def __init__(self, folder: Path, *, user: Path | None = None) -> None:
        self.folder = folder
        self.store = folder / ".nbresume"
        self._user = user or folder / "user"

    # -- reading ------------------------------------------------------------------

    def command(self, *words: str) -> str:
        """Run a command of ``nbresume`` about the notebook; return what it printed."""
        name, *rest = words
        notebook = str(self.folder / "main.ipynb")
        env = {"JUPYTER_DATA_DIR": str(self._user)}
        done = CliRunner().invoke(cli, [name, notebook, *rest], env=env)
        assert done.exit_code == 0, (words, done.output, done.exception)
        return done.stdout

    def view(self) -> RunView:
        """Return the run as a person without a kernel sees it."""
        return RunView.from_json(self.command("status", "--json").encode())

    def visible(self) -> dict[str, object]:
        """Return what readers see: the steps, and the groups that zarr finds.

        Left out are groups of ambient values: whoever made the intent that names them
        may publish them at any time.
        """
        groups = self.store.glob("data.zarr/*/*/zarr.json")
        found = {path.parent.name: path.read_bytes() for path in groups}
        kept = {n: data for n, data in found.items() if not n.endswith("-ambient")}
        return {"steps": self.view().steps, "groups": kept}

    def states(self) -> dict[str, str]:
        """Return step → state; nothing if there is no store yet."""
        if not self.files():
            return {}
        return {step.name: str(step.state) for step in self.view().steps}

    def files(self) -> list[Path]:
        """Return the files of all records, oldest first."""
        return sorted(self.store.glob("journal/*/*.rec"))

    def records(self) -> list[dict]:
        """Return all records."""
        return [json.loads(path.read_bytes()) for path in self.files()]

    def count(self, kind: str, step: str) -> int:
        """Return how many records of a kind there are about a step."""
        return sum(
            record["kind"] == f"nbresume.{kind}" and record["payload"]["step"] == step
            for record in self.records()
        )

    # -- judging --------------------------------------------------------------------

    def check(self, verdict: Verdict, *, acked: set[str], marks: list[str]) -> None:
        """Note everything in the store that must not be."""
        before = hashes(self.store) if self.store.exists() else {}
        states = self.states()
        self._check_chain(verdict)
        self._check_attempts(verdict)
        self._check_shown(verdict, states, acked)
        self._check_marks(verdict, marks)
        if before and self.files():
            report = self.command("verify")
            if "every digest holds" not in report:
                verdict.lost.append(f"verify: {report}")
        if self.states() != states:
            verdict.other.append(f"looking twice shows two things: {states}")
        if before and hashes(self.store) != before:
            verdict.other.append("reading changed the store")

    def _check_chain(self, verdict: Verdict) -> None:
        prev, epoch, nonces = "", 0, set()
        for revision, path in enumerate(self.files()):
            data = path.read_bytes()
            record = json.loads(data)
            if int(path.stem) != revision or record["revision"] != revision:
                verdict.other.append(f"revision {revision} is missing")
            if record.get("prev", "") != prev:
                verdict.other.append(f"revision {revision} does not follow the last")
            epoch += record["kind"] == "nbresume.claim"
            if record["epoch"] != epoch:
                verdict.other.append(f"revision {revision} is of a fenced writer")
            if record["nonce"] in nonces:
                verdict.other.append(f"revision {revision} was written twice")
            nonces.add(record["nonce"])
            prev = hashlib.sha256(data).hexdigest()

    def _check_attempts(self, verdict: Verdict) -> None:
        """Note an attempt that has two intents, or two outcomes."""
        kinds = {"nbresume.intent": "intent"}
        kinds |= dict.fromkeys(("nbresume.committed", "nbresume.failed"), "outcome")
        found = Counter(
            (kinds[record["kind"]], record["payload"]["attempt"])
            for record in self.records()
            if record["kind"] in kinds
        )
        verdict.other += [
            f"attempt {attempt} has {count} records of its {what}"
            for (what, attempt), count in found.items()
            if count > 1
        ]

    def _check_shown(
        self, verdict: Verdict, states: dict[str, str], acked: set[str]
    ) -> None:
        for step, state in states.items():
            resolved = self.count("resolution", step)
            if state in SHOWN and not (self.count("committed", step) or resolved):
                verdict.shown.append(f"{step} is shown as {state} without a record")
        for step in acked:
            if states.get(step) not in SHOWN:
                verdict.lost.append(f"{step} was acknowledged, is {states.get(step)}")

    def _check_marks(self, verdict: Verdict, marks: list[str]) -> None:
        for step, ran in Counter(marks).items():
            allowed = self.count("intent", step)
            if ran > allowed:
                verdict.doubled.append(f"{step} ran {ran} times on {allowed} intents")
            self._check_effects(verdict, step, ran)

    def _check_effects(self, verdict: Verdict, step: str, ran: int) -> None:
        mine = [r for r in self.records() if r["payload"].get("step") == step]
        intents = [r for r in mine if r["kind"] == "nbresume.intent"]
        if not any(r["payload"].get("options", {}).get("effects") for r in intents):
            return
        allowed = 1 + sum(
            r["kind"] == "nbresume.failed"
            or (
                r["kind"] == "nbresume.resolution"
                and r["payload"]["how"] in ("retry", "rerun")
            )
            for r in mine
        )
        if ran > allowed:
            verdict.doubled.append(f"{step} acted {ran} times, allowed were {allowed}")
        in_doubt = False
        for record in mine:
            kind = record["kind"].removeprefix("nbresume.")
            if kind == "intent" and in_doubt:
                verdict.doubled.append(f"{step} began again before anybody decided")
            in_doubt = kind == "intent" or (in_doubt and kind == "made_current")
            decides = record["kind"] == "nbresume.resolution"
            if decides and not record["payload"].get("actor"):
                verdict.other.append(f"nobody settled {step}")
