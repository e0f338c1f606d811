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
from decided import Decided
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
        self._reached: set[str] = set()
        """Attempts that were seen by whoever claims the run after them."""

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

        Left out are groups of ambient values and of results of effects: whoever made
        the record that names them may publish them at any time.
        """
        groups = self.store.glob("data.zarr/*/*/zarr.json")
        found = {path.parent.name: path.read_bytes() for path in groups}
        kept = {
            name: data
            for name, data in found.items()
            if not name.endswith("-ambient") and "-effect-" not in name
        }
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

    def allowed(self, mark: str) -> int:
        """Return how often records allow a line of the ledger.

        A body may act once for each intent, an effect for each open record.
        """
        step, _, key = mark.partition(".")
        if not key:
            return self.count("intent", step)
        return sum(
            record["kind"] == "nbresume.effect_opened"
            and (record["payload"]["step"], record["payload"]["key"]) == (step, key)
            for record in self.records()
        )

    # -- while a kernel waits for the outside ----------------------------------------

    def reaching(self, step: str, pid: int) -> list[str]:
        """Return what is wrong with a connection that a step has just made.

        Its note has to be there. While its kernel is the claimant, whoever claims
        later finds that note, and so may not run the step again without a decision.
        """
        attempt, claimant = "", 0
        for record in self.records():
            payload = record["payload"]
            if record["kind"] == "nbresume.claim":
                claimant = payload["writer"]["pid"]
            mine = claimant == pid and payload.get("step") == step
            if mine and record["kind"] == "nbresume.intent":
                attempt = payload["attempt"]
        if not attempt or not list(self.store.glob(f"seen/*/{attempt}")):
            return [f"{step} reached out before the note of that was there"]
        if claimant == pid:
            self._reached.add(attempt)
        return []

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
        for mark, ran in Counter(marks).items():
            allowed = self.allowed(mark)
            if ran > allowed:
                verdict.doubled.append(f"{mark} ran {ran} times on {allowed} records")
        records = self.records()
        for step in sorted({mark.partition(".")[0] for mark in marks}):
            mine = [r for r in records if r["payload"].get("step") == step]
            self._check_declared(verdict, step, mine, marks.count(step))
            decided = Decided(step, self._reached)
            for record in mine:
                verdict.doubled += decided.objections(record)

    @staticmethod
    def _check_declared(
        verdict: Verdict, step: str, mine: list[dict], ran: int
    ) -> None:
        """Note a body that declared effects and ran more often than was allowed."""
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
