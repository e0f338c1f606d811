"""What the records of a run say about one step: its newest attempt, its commits.

The rule: plain parts of the folded state; `RunState.apply` alone gives them content.
"""

from datetime import datetime

import msgspec

from nbresume.model import effects
from nbresume.model.effects import EffectHistory
from nbresume.model.evidence import held_against
from nbresume.model.progress import Saved
from nbresume.model.records import Branch, Committed, Failed, Intent, Resolution
from nbresume.model.states import Claimant, Facts, Outcome
from nbresume.model.values import Ambient, Sighting
from nbresume.settings import Undeclared


class Folded(msgspec.Struct, forbid_unknown_fields=True):
    """A part of the folded state: a fold with other fields is of another format."""


class Attempt(Folded, kw_only=True):
    """The newest attempt of a step."""

    revision: int
    epoch: int
    at: datetime
    intent: Intent
    by: str = ""
    """The kernel that ran it, in words: another one may hold the claim by now."""
    outcome: Outcome = Outcome.OPEN
    failed: Failed | None = None
    resolution: Resolution | None = None
    seen: list[Sighting] = []
    """By its outcome; without one, by the note in the store."""

    def doubt(self, undeclared: Undeclared = Undeclared.EVIDENCE) -> str:
        """Return why the attempt is in doubt if its outcome is unknown, or ''."""
        if self.intent.options.effects:
            return "it declared --effects"
        return held_against(self.intent.options, self.seen, undeclared)


class Commit(Folded, kw_only=True):
    """One commit of a step."""

    revision: int
    at: datetime
    record: Committed
    by_evidence: Resolution | None = None
    """It was settled by a person's evidence: no values are kept."""
    erased: str = ""
    """Why its payloads are gone, by whom; empty while they are kept."""
    ambient: dict[str, Ambient] = {}
    """Input → what plain cells had made of it, as the intent of its attempt found."""

    def has_lost(self, name: str) -> bool:
        """Say whether it cannot give a name its value: not kept, or erased since."""
        return bool(self.erased) or name in self.record.not_kept


class StepHistory(Folded, kw_only=True):
    """What the records say about one step."""

    name: str
    first_revision: int
    """Of its first intent: the order of steps when no notebook tells it."""
    attempts: int = 0
    attempt: Attempt | None = None
    commits: dict[int, Commit] = {}
    """The newest ones whole, by revision."""
    current: int = -1
    """Revision of the commit that counts; -1 if none."""
    keys: dict[str, int] = {}
    """Key → revision of the newest commit with it."""
    commit_number: int = 0
    rerun: Resolution | None = None
    """A person asked for it to run again."""
    effects: dict[str, EffectHistory] = {}
    """Key → what is known of that effect, over all attempts."""
    branch: Branch | None = None
    """The last decision whether it is taken; None if it never had a condition."""
    progress: dict[str, Saved] = {}
    """Loop → how far it has come, since the last commit and with the present key."""

    @property
    def is_left_out(self) -> bool:
        """Its condition was false: what it left when it was taken does not count."""
        return self.branch is not None and not self.branch.taken

    def commit(self) -> Commit | None:
        """Return the commit that counts, if there is one and the step is taken."""
        commit = self.left()
        return None if commit is None or commit.erased else commit

    def left(self) -> Commit | None:
        """Return what its last commit says it left, also if its payloads are erased.

        Positions go by it: a name does not belong to another step because of that.
        """
        return None if self.is_left_out else self.commits.get(self.current)

    @property
    def erased(self) -> str:
        """Why what it committed is gone; empty if it is not."""
        commit = self.left()
        return commit.erased if commit else ""

    def doubt(
        self,
        now: datetime | None = None,
        *,
        undeclared: Undeclared = Undeclared.EVIDENCE,
    ) -> str:
        """Return why the newest attempt is in doubt if its outcome is unknown, or ''.

        Parameters
        ----------
        now
            The time, for keys that a remote forgets; None if the clock is behind
            what the chain has recorded.
        undeclared
            The policy for steps that declare nothing.
        """
        keys = effects.doubtful_keys(self.effects, now)
        if keys:
            return f"the outcome of its {effects.spoken_keys(keys)} is unknown"
        return self.attempt.doubt(undeclared) if self.attempt else ""

    def facts(
        self,
        claimant: Claimant,
        now: datetime | None = None,
        *,
        undeclared: Undeclared = Undeclared.EVIDENCE,
    ) -> Facts:
        """Return what the state of the newest attempt depends on."""
        attempt = self.attempt
        if attempt is None:
            outcome = Outcome.COMMITTED if self.current >= 0 else Outcome.NONE
            return Facts(self._kept(outcome), claimant)
        resolution = attempt.resolution.how if attempt.resolution else None
        # an open effect is in doubt also when a traceback tells how the body ended
        in_doubt = bool(effects.doubtful_keys(self.effects, now)) or (
            attempt.outcome is Outcome.OPEN and bool(attempt.doubt(undeclared))
        )
        return Facts(self._kept(attempt.outcome), claimant, in_doubt, resolution)

    def _kept(self, outcome: Outcome) -> Outcome:
        """Return the outcome as it stands: what was committed may be erased since."""
        is_gone = outcome is Outcome.COMMITTED and self.erased
        return Outcome.ERASED if is_gone else outcome
