"""Rule R4: a commit is bound and shown instead of running the body again.

The rule: replaying writes nothing; making an older commit current, or carrying it
over to a new name, is a decision and leaves a record.
"""

from msgspec.structs import replace

from nbresume.capture.entries import Made
from nbresume.errors import NbresumeError
from nbresume.model.histories import Commit
from nbresume.model.records import MadeCurrent
from nbresume.plan.key import key_of
from nbresume.run.keys import files_today, newest_commit_with
from nbresume.run.naming import former_commit, other_name
from nbresume.run.parts import Parts
from nbresume.run.position import Wanted
from nbresume.run.standing import Brought


class Replays:
    """Replays commits of one run in one kernel."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def replay(self, commit: Commit) -> str:
        """Bind and show a commit; return why it cannot be, or ''."""
        parts, record = self._parts, commit.record
        damage = parts.restorer.damage(record)
        if damage:
            parts.world.screen.say(f"step {record.step} is damaged: {damage}")
            return damage
        try:
            outputs = parts.restorer.outputs(record)
            gone = parts.restorer.replay(commit)
            parts.process.replay(commit)
        except NbresumeError as error:
            parts.world.screen.say(f"step {record.step} is damaged: {error}")
            return str(error)
        parts.publisher.check(commit.revision, record)
        parts.world.screen.say(self._restored(commit))
        if gone:
            parts.world.screen.say(
                f"step {record.step} could not keep {', '.join(gone)}"
            )
        parts.drift.tell(record)
        parts.world.screen.show(outputs)
        return ""

    def _restored(self, commit: Commit) -> str:
        at = commit.at.astimezone().strftime("%Y-%m-%d %H:%M:%S")
        text = f"[restored] step {commit.record.step}, committed {at}"
        journal = self._parts.journal
        claim = journal.state.claim
        mine = journal.is_claimant or claim is None
        if not mine and self._parts.claims.is_alive():
            text += " by another kernel: it may be newer than this kernel's own state"
        if commit.by_evidence is not None:
            text += f" by evidence of {commit.by_evidence.actor}"
        return text

    def clear_left(self, brought: Brought, commit: Commit) -> None:
        """Take away what this step has left here and this commit does not have.

        A newer commit that counts no more, or a failed attempt, has bound it.
        """
        parts, standing = self._parts, brought.standing
        kept = {*commit.record.outputs, *commit.record.not_kept}
        for name in sorted(brought.own - kept):
            entry = parts.live.find(name)
            if entry is None or entry.made is Made.AMBIENT:
                continue
            if entry.step != standing.step:
                continue
            demand = standing.positions.demand(name, standing.n)
            if demand.wanted is Wanted.VALUE and demand.commit is not None:
                parts.restorer.bind(name, demand.commit)
            else:
                parts.live.unset(name)

    def make_current(self, brought: Brought) -> bool:
        """Make an older commit with exactly this key current and replay it."""
        parts, standing = self._parts, brought.standing
        commit = self._former(brought)
        if commit is None or parts.restorer.damage(commit.record):
            return False
        if standing.history is None or not parts.files.is_left(commit.record):
            return False
        revision = commit.revision
        parts.claims.ensure(standing.order)
        standing.history.commits[revision] = commit
        parts.journal.append(
            MadeCurrent(
                step=standing.step,
                commit=revision,
                actor=parts.world.liveness.actor(),
            )
        )
        if self.replay(commit):
            return False
        self.clear_left(brought, commit)
        parts.world.screen.say(
            f"step {standing.step}: an earlier commit has exactly this code and these "
            "inputs and is current again"
        )
        return True

    def _former(self, brought: Brought) -> Commit | None:
        """Return the newest older commit that has exactly today's key.

        Each was made from files of its own: today's key is that with these files.
        """
        history, state = brought.standing.history, self._parts.journal.state
        if history is None:
            return None
        kept = [history.commits[r] for r in sorted(history.commits, reverse=True)]
        for commit in kept:
            if commit.revision == history.current or commit.erased:
                continue
            files = files_today(
                self._parts.files, brought.standing, state, commit.record
            )
            if commit.record.key == key_of(replace(brought.cues, files=files)):
                return commit
        revision = newest_commit_with(brought.key, brought.standing)
        return self._parts.journal.commit_at(revision) if revision is not None else None

    def adopt_renamed(self, brought: Brought) -> bool:
        """Replay the equal work that the same cell did under a former name.

        Raises
        ------
        LockedStep
            The former step acted on the outside, and is not surely this one.
        """
        parts, standing = self._parts, brought.standing
        former = former_commit(standing, parts.journal.state)
        if former is None:
            return False
        record = former.record
        files = files_today(parts.files, standing, parts.journal.state, record)
        if record.key != key_of(replace(brought.cues, files=files)):
            if record.effects:
                raise other_name(standing.step, record)
            return False
        parts.claims.ensure(standing.order)
        parts.journal.append(
            MadeCurrent(
                step=standing.step,
                commit=former.revision,
                renamed_from=record.step,
                actor=parts.world.liveness.actor(),
            )
        )
        parts.world.screen.say(f"step {record.step} is called {standing.step} now")
        return not self.replay(former)
