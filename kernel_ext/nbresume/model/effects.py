"""The effects of a step as the records tell them: open, done, or free to be called.

The rule: an effect is named by run, step, key and generation, whatever the code, the
inputs or the attempt. What is open may have happened; only a record makes it known.
"""

import shlex
from collections.abc import Iterable
from datetime import datetime

import msgspec

from nbresume.model.records import EffectDone, EffectOpened, Resolution
from nbresume.model.values import Ended, Evidence

ALL = "all"
"""Stands for every key behind ``%steps rerun --again``."""


class EffectHistory(msgspec.Struct, kw_only=True):
    """What the records say about the newest generation of one effect."""

    generation: int = 0
    first_at: datetime | None = None
    """Of the first call that was opened: from then on the remote knows the key."""
    opened: EffectOpened | None = None
    """The newest call."""
    done: EffectDone | None = None
    """Its outcome, if it is known."""

    @property
    def is_open(self) -> bool:
        """Say whether a call may have happened and nothing tells."""
        return self.opened is not None and self.done is None

    @property
    def is_done(self) -> bool:
        """Say whether the effect happened, on record."""
        return self.done is not None and self.done.how is Ended.DONE

    def is_honored(self, now: datetime | None) -> bool:
        """Say whether the remote still knows the key, so that a call changes nothing.

        Parameters
        ----------
        now
            None when the clock is behind what the chain has recorded: then only a
            key that never expires is honored.
        """
        opened, first = self.opened, self.first_at
        if opened is None or first is None or not opened.idempotent:
            return False
        if opened.ttl_s is None:
            return True
        return now is not None and 0 <= (now - first).total_seconds() < opened.ttl_s

    def is_in_doubt(self, now: datetime | None) -> bool:
        """Say whether a person has to look outside before it may be called again."""
        if not self.is_open or self.is_honored(now):
            return False
        return self.opened is not None and not self.opened.lookup


Effects = dict[str, EffectHistory]
"""Key → effect, of one step."""


def note(effects: Effects, record: EffectOpened | EffectDone, at: datetime) -> None:
    """Fold in that an effect is about to be called, or how a call ended."""
    known = effects.get(record.key)
    if isinstance(record, EffectOpened):
        if known is None or known.generation != record.generation:
            known = effects[record.key] = EffectHistory(generation=record.generation)
        known.opened, known.done = record, None
        known.first_at = known.first_at or at
    elif known and known.is_open and known.generation == record.generation:
        known.done = record


def settle(effects: Effects, resolution: Resolution, keys: Iterable[str]) -> None:
    """Fold in a person's evidence that open effects did happen."""
    evidence = resolution.evidence
    told = f"it was settled by evidence of {resolution.actor}, which gave no result"
    for key in keys:
        known = effects.get(key)
        if known is None or known.opened is None or not known.is_open:
            continue
        known.done = EffectDone(
            step=resolution.step,
            attempt=resolution.attempt,
            number=known.opened.number,
            key=key,
            generation=known.generation,
            how=Ended.DONE,
            result=resolution.result,
            not_kept="" if resolution.gave_result else told,
            evidence=evidence,
        )


def renew(effects: Effects, keys: Iterable[str]) -> None:
    """Open a new generation of effects: they will be called again.

    One that was called since somebody asked for that stays as it is: its call may
    have happened, and a new generation would forget it.
    """
    wanted = set(keys)
    for key in effects if ALL in wanted else wanted & effects.keys():
        if not effects[key].is_open:
            effects[key] = EffectHistory(generation=effects[key].generation + 1)


def open_keys(effects: Effects) -> list[str]:
    """Return the keys of effects that may or may not have happened."""
    return [key for key, effect in effects.items() if effect.is_open]


def doubtful_keys(effects: Effects, now: datetime | None) -> list[str]:
    """Return the keys of those that a person has to settle."""
    return [key for key, effect in effects.items() if effect.is_in_doubt(now)]


def reference_of(evidence: Evidence | None) -> str:
    """Return how evidence is spoken of."""
    if evidence is None:
        return ""
    return f" by {evidence.kind} {evidence.reference}".rstrip()


def typed(key: str) -> str:
    """Return a key as it is typed behind an option."""
    return shlex.quote(key)


def spoken_keys(keys: list[str]) -> str:
    """Return keys for a sentence; of many, the first ones and how many there are."""
    few = 3
    told = ", ".join(repr(key) for key in keys[:few])
    noun = "effect" if len(keys) == 1 else "effects"
    rest = f" and {len(keys) - few} more" if len(keys) > few else ""
    return f"{noun} {told}{rest}"
