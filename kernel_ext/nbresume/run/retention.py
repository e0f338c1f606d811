"""Retention: what no step needs any more is found, told, and taken away on a word.

The rule: what counts is kept with all that it refers to, in every run and fork; a
tombstone stands in the chain before a byte goes, and nothing young goes at all.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from nbresume.errors import ConflictError
from nbresume.model.histories import StepHistory
from nbresume.model.records import Tombstone
from nbresume.model.states import Outcome
from nbresume.model.values import Erased, ManifestRef
from nbresume.run.claims import Claims, Offer
from nbresume.run.erasing import Eraser
from nbresume.run.holdings import Group, Holdings
from nbresume.run.journal import Journal
from nbresume.run.ports import World
from nbresume.store.sweeping import Stock


@dataclass(frozen=True, slots=True)
class Rules:
    """What is kept of commits that do not count any more."""

    grace: timedelta = timedelta(days=1)
    """What is younger stays, whatever it is."""
    age: timedelta | None = None
    """Older commits go when they have not counted for so long."""
    count: int | None = None
    """So many commits of a step stay, the one that counts among them."""
    size_bytes: int | None = None
    """Older commits go, the oldest first, until the payloads take no more."""

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


@dataclass(frozen=True, slots=True)
class Going:
    """One group that goes, or what of it no step needs."""

    group: Group
    step: str
    why: str
    size_bytes: int
    keep: frozenset[str]
    """Arrays of it that something refers to which stays."""


@dataclass(slots=True)
class Collection:
    """What a collection takes away, worked out before anything is written."""

    going: list[Going] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
    """Run → why nothing of it goes now."""

    @property
    def size_bytes(self) -> int:
        """How many bytes go."""
        return sum(one.size_bytes for one in self.going)


def needed(journal: Journal) -> set[Group]:
    """Return the groups that a run's folded state leads to, and the running ones'."""
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
        self,
        family: Mapping[str, Holdings],
        stock: Stock,
        world: World,
        rules: Rules,
    ) -> None:
        self._family = family
        self._stock = stock
        self._world = world
        self._rules = rules
        self._now = world.clock.now()
        self._needed = {g for held in family.values() for g in needed(held.journal)}

    # -- what goes --------------------------------------------------------------

    def plan(self) -> Collection:
        """Return what would go; nothing is written."""
        found = Collection()
        why: dict[Group, str] = {}
        for run, held in self._family.items():
            if Claims(held.journal, self._world).offer() is Offer.BUSY:
                found.skipped[run] = "a kernel is running a step of it"
                continue
            why |= self._of_run(held)
        self._fit(why, found)
        return found

    def _of_run(self, held: Holdings) -> dict[Group, str]:
        why: dict[Group, str] = {}
        expired = self._expired(held)
        kept = {
            commit.record.attempt
            for revision, commit in held.commits.items()
            if revision not in expired
        }
        running, erased = open_attempts(held.journal), held.erased()
        stored = set().union(*(held.stored.get(attempt, set()) for attempt in kept))
        for name in self._stock.groups(held.run_id):
            group = Group(held.run_id, name)
            if group in self._needed or group.attempt in running:
                continue
            if group in erased:
                why[group] = "erased: a tombstone says so"
            elif group in stored:
                continue
            elif (told := self._why(group, held, kept)) and self._is_old(group, held):
                why[group] = told
        return why

    @staticmethod
    def _why(group: Group, held: Holdings, kept: set[str]) -> str:
        """Return why a group is not needed; "" if it stays."""
        if group.name.endswith("-origin"):
            return "" if held.journal.state.origin is not None else "no run began"
        if group not in held.named:
            return "no record names it"
        if group.attempt not in kept:
            committed = {commit.record.attempt for commit in held.commits.values()}
            older = group.attempt in committed
            return "an older commit" if older else "an attempt without a commit"
        return "progress that is overtaken" if "-progress-" in group.name else ""

    def _is_old(self, group: Group, held: Holdings) -> bool:
        """Say whether nothing can be about to name a group."""
        at = self._stock.written_at(*group) or held.began.get(group.attempt)
        return at is not None and self._now - at >= self._rules.grace

    def _expired(self, held: Holdings) -> dict[int, datetime]:
        """Return the commits that no rule keeps → since when they do not count."""
        ended = self._superseded(held)
        by_step: dict[str, list[int]] = defaultdict(list)
        for revision, commit in sorted(held.commits.items(), reverse=True):
            by_step[held.steps.get(commit.record.attempt, "")].append(revision)
        rules, found = self._rules, dict[int, datetime]()
        for revisions in by_step.values():
            for number, revision in enumerate(revisions):
                at = ended.get(revision)
                if at is None or self._now - at < rules.grace:
                    continue
                too_old = rules.age is not None and self._now - at >= rules.age
                if too_old or (rules.count is not None and number >= rules.count):
                    found[revision] = at
        return found

    @staticmethod
    def _superseded(held: Holdings) -> dict[int, datetime]:
        """Return the commits that do not count → when the next one of the step came."""
        state, following = held.journal.state, dict[str, datetime]()
        counting = {h.current for h in state.steps.values()}
        found: dict[int, datetime] = {}
        for revision, commit in sorted(held.commits.items(), reverse=True):
            step = held.steps.get(commit.record.attempt, "")
            if revision not in counting:
                found[revision] = following.get(step, commit.at)
            following[step] = commit.at
        return found

    def _fit(self, why: dict[Group, str], found: Collection) -> None:
        """Add what goes, and older commits until the payloads take no more."""
        self._add(why, found)
        limit = self._rules.size_bytes
        if limit is None:
            return
        total = sum(
            self._stock.size(run, name)
            for run in self._family
            for name in self._stock.groups(run)
        )
        for run, held in self._family.items():
            if run in found.skipped:
                continue
            ended = self._superseded(held).items()
            for revision, at in sorted(ended, key=lambda pair: pair[1]):
                if total - found.size_bytes <= limit:
                    return
                if self._now - at < self._rules.grace:
                    continue
                attempt = held.commits[revision].record.attempt
                more = {
                    group: "an older commit, for its size"
                    for name in self._stock.groups(run)
                    if (group := Group(run, name)).attempt == attempt
                    and group not in self._needed
                    and not name.endswith("-origin")
                }
                why |= {g: told for g, told in more.items() if g not in why}
                found.going.clear()
                self._add(why, found)

    def _add(self, why: Mapping[Group, str], found: Collection) -> None:
        live = self._live(why)
        for group, told in sorted(why.items()):
            arrays = self._stock.arrays(*group)
            keep = frozenset(a for a in arrays if (group, a) in live)
            if arrays and len(keep) == len(arrays):
                continue  # all of it is referred to
            size = sum(
                self._stock.array_size(*group, array)
                for array in arrays
                if array not in keep
            )
            step = self._family[group.run].steps.get(group.attempt, "")
            found.going.append(Going(group, step, told, size, keep))

    def _live(self, why: Mapping[Group, str]) -> set[tuple[Group, str]]:
        """Return (group, array) of every payload that what stays refers to."""
        return {
            place
            for held in self._family.values()
            for group in held.named
            if group not in why and group not in held.erased()
            for place in held.places(group)
        }

    # -- it goes ----------------------------------------------------------------

    def collect(self, planned: Collection) -> int:
        """Take away what was planned; return how many bytes went.

        Raises
        ------
        StoreError
            The store cannot write; the next collection goes on.
        """
        eraser = Eraser(self._family, self._stock, self._world)
        by_run: dict[str, list[Going]] = defaultdict(list)
        for one in planned.going:
            by_run[one.group.run].append(one)
        freed = 0
        for run, going in by_run.items():
            try:
                self._put(eraser, run, going)
            except ConflictError:
                planned.skipped[run] = "somebody worked on it at the same moment"
                continue
            for one in going:
                freed += self._stock.sweep(*one.group, keep=one.keep)
        return freed

    def _put(self, eraser: Eraser, run: str, going: list[Going]) -> None:
        """Append one tombstone to the run and to the forks whose kernels know it."""
        fresh = [g.group for g in going if g.group not in self._family[run].erased()]
        if not fresh:
            return
        record = Tombstone(
            erasure=self._world.ids.nonce(),
            what=Erased.RETENTION,
            groups={run: [group.name for group in fresh]},
            actor=self._world.liveness.actor(),
            because="no step needs it",
            policy=self._rules.spoken,
        )
        # before the run that holds them: bytes go only once all of them know it
        for other in sorted(self._family, key=lambda one: (one == run, one)):
            eraser.put(record, self._family[other])
