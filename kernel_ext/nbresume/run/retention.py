"""Retention: what no step needs any more is found, told, and taken away on a word.

The rule: what counts is kept with all that it refers to, in every run and fork; a
tombstone stands in the chain before a byte goes, and nothing young goes at all.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from nbresume.model.histories import StepHistory
from nbresume.model.records import Tombstone
from nbresume.model.states import Outcome
from nbresume.model.values import Erased, ManifestRef
from nbresume.run.holdings import Family, Group, Holdings
from nbresume.run.journal import Journal
from nbresume.run.ports import World
from nbresume.run.tombstones import Tombstones, by_run
from nbresume.store.sweeping import File, Stock


class Rules(Struct, frozen=True):
    """What is kept of commits that do not count any more."""

    grace: timedelta = timedelta(days=1)
    """What is younger stays, whatever it is."""
    age: timedelta | None = None
    """Older commits go when they have not counted for so long."""
    count: int | None = None
    """So many commits of a step stay, the one that counts among them."""
    size_bytes: int | None = None
    """Older commits go, the oldest first, until all payloads take no more."""

    @property
    def spoken(self) -> str:
        """The rules, as they are typed."""
        words = ["nbresume gc"]
        if self.age is not None:
            words.append(f"--age {self.age / timedelta(days=1):g}")
        if self.count is not None:
            words.append(f"--count {self.count}")
        if self.size_bytes is not None:
            words.append(f"--size {self.size_bytes}")
        return " ".join(words)


class Older(NamedTuple):
    """A commit that does not count any more."""

    at: datetime
    """Since when it does not."""
    run: str
    revision: int


class Going(Struct, frozen=True):
    """One group that goes, or what of it no step needs."""

    group: Group
    step: str
    why: str
    size_bytes: int
    """What gets free by it."""
    keep: frozenset[str]
    """Arrays of it that something refers to which stays."""


def led_to(journal: Journal) -> set[Group]:
    """Return the groups that a run's folded state leads to."""
    run, state = journal.run_id, journal.state
    refs: list[ManifestRef] = [one.manifest for one in state.ambient.values()]
    for history in state.steps.values():
        refs += _needed_by(history)
    found = {Group(ref.run or run, ref.group) for ref in refs if ref.group}
    if journal.fold is not None:
        found.add(Group(run, journal.fold.group))
    if state.origin is not None:
        found.add(Group(run, state.origin.fold.group))
    return found


def _needed_by(history: StepHistory) -> Iterator[ManifestRef]:
    commit = history.commits.get(history.current)
    if commit is not None and not commit.erased:
        yield commit.record.manifest
    for saved in history.progress.values():
        yield saved.record.manifest
    for effect in history.effects.values():
        if effect.done is not None and effect.done.result is not None:
            yield effect.done.result
    if history.attempt is not None:
        intent = history.attempt.intent
        stored = {one.manifest for one in intent.ambient.values()} - {-1}
        yield from (intent.ambient_manifests[number] for number in sorted(stored))


def open_attempts(journal: Journal) -> set[str]:
    """Return the newest attempts of steps that have no outcome."""
    newest = [history.attempt for history in journal.state.steps.values()]
    return {
        attempt.intent.attempt
        for attempt in newest
        if attempt is not None and attempt.outcome is Outcome.OPEN
    }


class Collector:
    """Collects in one family of runs: a run, what it is a fork of, all their forks."""

    def __init__(
        self, family: Family, stock: Stock, world: World, rules: Rules
    ) -> None:
        self._family = family
        self._stock = stock
        self._world = world
        self._rules = rules
        self._tombstones = Tombstones(family, stock)
        self._now = world.clock.now()
        held = family.runs.values()
        self._needed = {group for one in held for group in led_to(one.journal)}
        self._older = {one.run_id: self._superseded(one) for one in held}
        self._files = {
            Group(run, name): stock.files(run, name)
            for run in family.runs
            for name in stock.groups(run)
        }
        self._old = {group for group in self._files if self._is_old(group)}
        self.going: list[Going] = []
        """What goes, as it was planned last."""

    # -- what goes --------------------------------------------------------------

    def older(self) -> list[Older]:
        """Return the commits that may go for their size, the oldest first."""
        return sorted(
            one
            for older in self._older.values()
            for one in older.values()
            if self._now - one.at >= self._rules.grace
        )

    def plan(self, for_size: Collection[Older] = ()) -> int:
        """Work out what goes, these commits too; return how many bytes get free."""
        why: dict[Group, str] = {}
        for run, held in self._family.runs.items():
            more = {one.revision for one in for_size if one.run == run}
            why |= self._of_run(held, self._expired(held) | more)
        self.going = list(self._going(why))
        return sum(one.size_bytes for one in self.going)

    def _of_run(self, held: Holdings, expired: set[int]) -> dict[Group, str]:
        """Return the run's groups that no step needs → why."""
        kept = {c.attempt for r, c in held.commits.items() if r not in expired}
        running, erased = open_attempts(held.journal), held.erased()
        stored = set[Group]().union(*(held.stored.get(one, ()) for one in kept))
        why: dict[Group, str] = {}
        for group in self._files:
            if group.run != held.run_id or group.attempt in running:
                continue
            if group in self._needed or group in stored - erased:
                continue
            if group in erased:
                why[group] = "erased: a tombstone says so"
            elif group in self._old and (told := self._why(group, held, kept)):
                why[group] = told
        return why

    @staticmethod
    def _why(group: Group, held: Holdings, kept: set[str]) -> str:
        """Return why a group is not needed; "" if it stays."""
        if group.is_of_fork:
            return "a fork that was not begun"
        if group not in held.named:
            # a damaged record may have named it: somebody may yet put that back
            return "" if held.is_damaged else "no record names it"
        if group.attempt not in kept:
            committed = {commit.attempt for commit in held.commits.values()}
            older = group.attempt in committed
            return "an older commit" if older else "an attempt without a commit"
        return "progress that is overtaken" if "-progress-" in group.name else ""

    def _is_old(self, group: Group) -> bool:
        """Say whether nothing can be about to name a group."""
        at = self._stock.written_at(*group)
        return at is not None and self._now - at >= self._rules.grace

    def _expired(self, held: Holdings) -> set[int]:
        """Return the commits that no rule keeps."""
        older, rules = self._older[held.run_id], self._rules
        by_step: dict[str, list[int]] = defaultdict(list)
        for revision, commit in sorted(held.commits.items(), reverse=True):
            by_step[held.steps.get(commit.attempt, "")].append(revision)
        found = set[int]()
        for revisions in by_step.values():
            for number, revision in enumerate(revisions):
                if revision not in older:
                    continue
                for_so_long = self._now - older[revision].at
                too_old = rules.age is not None and for_so_long >= rules.age
                too_many = rules.count is not None and number >= rules.count
                if for_so_long >= rules.grace and (too_old or too_many):
                    found.add(revision)
        return found

    @staticmethod
    def _superseded(held: Holdings) -> dict[int, Older]:
        """Return the commits that do not count, since the next one of their step."""
        following: dict[str, datetime] = {}
        counting = {one.current for one in held.journal.state.steps.values()}
        found: dict[int, Older] = {}
        for revision, commit in sorted(held.commits.items(), reverse=True):
            step = held.steps.get(commit.attempt, "")
            if revision not in counting:
                at = following.get(step, commit.at)
                found[revision] = Older(at, held.run_id, revision)
            following[step] = commit.at
        return found

    def _going(self, why: Mapping[Group, str]) -> Iterator[Going]:
        live = self._live(why)
        going = {
            group: [array for array in self._files[group] if (group, array) not in live]
            for group in sorted(why)
        }
        # bytes that several files hold get free with the last of them
        left = defaultdict[str, int](int)
        for file in self._all_files():
            left[file.shared or file.key] += 1
        for group, arrays in going.items():
            if self._files[group] and not arrays:
                continue  # all of it is referred to
            freed = 0
            for file in (
                file for array in arrays for file in self._files[group][array]
            ):
                node = file.shared or file.key
                left[node] -= 1
                freed += 0 if left[node] else file.size_bytes
            keep = frozenset(self._files[group].keys() - set(arrays))
            step = self._family.runs[group.run].steps.get(group.attempt, "")
            yield Going(group, step, why[group], freed, keep)

    def _all_files(self) -> Iterator[File]:
        for arrays in self._files.values():
            for files in arrays.values():
                yield from files

    def _live(self, why: Mapping[Group, str]) -> set[tuple[Group, str]]:
        """Return (group, array) of every payload that what stays refers to."""
        return {
            place
            for held in self._family.runs.values()
            for group in held.named.keys() - why.keys() - held.erased()
            for place in held.places(group)
        }

    # -- it goes ----------------------------------------------------------------

    def collect(self) -> int:
        """Take away what was planned; return how many bytes got free.

        Raises
        ------
        ConflictError
            Somebody appended to one of the runs since it was planned; nothing went.
        StoreError
            The store cannot write; the next collection goes on.
        """
        freed = self._tombstones.finish()
        self._tombstones.put_all(self._tombstone([one.group for one in self.going]))
        spared = self._shared_since()
        return freed + sum(
            self._stock.sweep(*one.group, keep=one.keep)
            for one in self.going
            if one.group not in spared
        )

    def _tombstone(self, groups: list[Group]) -> Tombstone:
        return Tombstone(
            erasure=self._world.ids.nonce(),
            what=Erased.RETENTION,
            groups=by_run(groups),
            actor=self._world.liveness.actor(),
            because="no step needs it",
            policy=self._rules.spoken,
        )

    def _shared_since(self) -> set[Group]:
        """Return the groups that forks refer to which were begun since the plan."""
        return {
            shared
            for fork in self._family.grow()
            for group in fork.named
            for shared in (group, *(place for place, _ in fork.places(group)))
        }
