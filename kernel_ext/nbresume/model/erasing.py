"""What a tombstone does to the folded state: nothing refers to what is erased.

The rule: by the groups that it names, whoever refers to them; afterwards no part of the
state leads to a payload that may be gone, and what was committed there says so.
"""

import msgspec

from nbresume.model.effects import EffectHistory
from nbresume.model.histories import Attempt, Commit, StepHistory
from nbresume.model.records import Tombstone
from nbresume.model.values import ManifestRef


class Erasing:
    """One tombstone, as it is folded in."""

    def __init__(self, record: Tombstone) -> None:
        self._groups = record.named()
        self._commits = set(record.commits)
        self._told = told(record)

    def hits(self, ref: ManifestRef | None) -> bool:
        """Say whether payloads are erased."""
        return ref is not None and (ref.run, ref.group) in self._groups

    def of_commit(self, commit: Commit) -> None:
        """Let a commit say that it is erased, if it is."""
        if self.hits(commit.record.manifest):
            commit.erased = self._told

    def of_step(self, history: StepHistory) -> None:
        """Let a step's history lead to nothing that is erased."""
        gone = self._commits - history.commits.keys()
        for revision, commit in list(history.commits.items()):
            self.of_commit(commit)
            if commit.erased:
                gone.add(revision)
                # one that does not count is forgotten, so that it never does again
                if revision != history.current:
                    del history.commits[revision]
        history.keys = {k: r for k, r in history.keys.items() if r not in gone}
        history.progress = {
            loop: saved
            for loop, saved in history.progress.items()
            if not self.hits(saved.record.manifest)
        }
        for effect in history.effects.values():
            self._of_effect(effect)
        if history.attempt is not None:
            self._of_attempt(history.attempt)

    def _of_effect(self, effect: EffectHistory) -> None:
        """Let an effect be done whose result is not kept: it is never repeated."""
        done = effect.done
        if done is not None and self.hits(done.result):
            effect.done = msgspec.structs.replace(
                done, result=None, not_kept=f"it was {self._told}"
            )

    def _of_attempt(self, attempt: Attempt) -> None:
        """Let the newest intent know the ambient values that are gone as not kept."""
        intent = attempt.intent
        gone = {n for n, ref in enumerate(intent.ambient_manifests) if self.hits(ref)}
        if gone:
            attempt.intent = msgspec.structs.replace(
                intent,
                ambient={
                    name: msgspec.structs.replace(one, manifest=-1)
                    if one.manifest in gone
                    else one
                    for name, one in intent.ambient.items()
                },
            )


def told(record: Tombstone) -> str:
    """Return in words that something is erased, by whom and why."""
    return f"erased by {record.policy or record.actor}: {record.because}"
