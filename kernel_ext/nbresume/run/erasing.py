"""Erasure: what a person named goes, whoever refers to it, and nothing looks committed.

The rule: one tombstone, the same in every run that it concerns, is durable before the
first byte goes. Cut off anywhere, the next erasure or collection finishes it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from nbresume.errors import NotCommitted, TakenRun
from nbresume.model.records import Tombstone
from nbresume.model.values import Erased
from nbresume.run.claims import Claims, Offer
from nbresume.run.holdings import Group, Holdings
from nbresume.run.ports import World
from nbresume.store.sweeping import Stock


@dataclass(frozen=True, slots=True)
class Target:
    """What a person named."""

    what: Erased
    run: str
    step: str = ""
    name: str = ""
    derived: bool = False
    """Also what steps made that read it."""

    @property
    def spoken(self) -> str:
        """What was named, in words."""
        match self.what:
            case Erased.STEP:
                return f"step {self.step}"
            case Erased.NAME:
                return f"name {self.name}"
            case _:
                return f"run {self.run}"


@dataclass(slots=True)
class Erasure:
    """What an erasure takes away, worked out before anything is written."""

    target: Target
    groups: set[Group] = field(default_factory=set)
    steps: dict[str, set[str]] = field(default_factory=dict)
    """Run → its steps that have no values afterwards."""
    size_bytes: int = 0
    readers: set[str] = field(default_factory=set)
    """Steps that read what goes: what they made of it stays."""
    unreadable: set[Group] = field(default_factory=set)
    """Groups whose manifest is damaged: what lies in them is not known."""


class Eraser:
    """Erases in one family: a run, what it is a fork of, and all their forks."""

    def __init__(
        self, family: Mapping[str, Holdings], stock: Stock, world: World
    ) -> None:
        self._family = family
        self._stock = stock
        self._world = world

    # -- what goes --------------------------------------------------------------

    def plan(self, target: Target) -> Erasure:
        """Return what would go; nothing is written.

        Raises
        ------
        NotCommitted
            Nothing is stored of what was named.
        """
        found = Erasure(target)
        held = self._family[target.run]
        present = self._present()
        seeds = self._seeds(target, held, present) & present.keys()
        if not seeds:
            raise NotCommitted(
                f"{target.spoken} was not erased",
                because=f"run {target.run} holds no payload of it",
                remedy="Type nbresume status NOTEBOOK to see what it holds.",
                run_id=target.run,
            )
        found.groups = self._with_referring(seeds, present)
        found.steps = {run: self._steps(run, found.groups) for run in self._family}
        found.size_bytes = sum(self._stock.size(*group) for group in found.groups)
        found.readers = self._readers(held, found.groups)
        found.unreadable = self._unreadable(found.groups, present)
        return found

    def _present(self) -> dict[Group, set[str]]:
        """Return the groups that lie in the store → what their files share."""
        return {
            (group := Group(run, name)): self._stock.links(*group)
            for run in self._family
            for name in self._stock.groups(run)
            # what a fork shares is decisions, and nothing else tells them
            if not name.endswith("-origin")
        }

    def _seeds(
        self, target: Target, held: Holdings, present: Iterable[Group]
    ) -> set[Group]:
        mine = {group for group in present if group.run == held.run_id}
        if target.what is Erased.RUN:
            return mine
        if target.what is Erased.STEP:
            return self._of_steps({target.step}, held, mine)
        makers = {
            held.steps.get(group.attempt, "")
            for group in held.named
            if self._binds(target.name, held, group) and "-ambient" not in group.name
        }
        seeds = self._of_steps(makers - {""}, held, mine)
        seeds |= {g for g in held.named if self._binds(target.name, held, g)}
        # nobody can say what lies in a group that no record names, nor needs it
        seeds |= {g for g in mine - held.named.keys() if self._is_over(held, g)}
        return self._with_derived(seeds, held, mine) if target.derived else seeds

    @staticmethod
    def _binds(name: str, held: Holdings, group: Group) -> bool:
        manifest = held.manifest(group)
        return manifest is not None and name in manifest.names

    @staticmethod
    def _of_steps(steps: set[str], held: Holdings, mine: set[Group]) -> set[Group]:
        attempts = {one for one, step in held.steps.items() if step in steps}
        # those that a fork shares lie in the run that it comes from
        return {g for g in {*mine, *held.named} if g.attempt in attempts}

    @staticmethod
    def _is_over(held: Holdings, group: Group) -> bool:
        running = held.journal.state.index.unsettled()
        return group.attempt in held.began and all(
            history.attempt is None or history.attempt.intent.attempt != group.attempt
            for history in running
        )

    def _with_derived(
        self, seeds: set[Group], held: Holdings, mine: set[Group]
    ) -> set[Group]:
        """Return what holds, too, what steps made that read something of it."""
        while True:
            steps = {held.steps.get(group.attempt, "") for group in seeds}
            steps |= self._readers(held, seeds)
            wider = seeds | self._of_steps(steps - {""}, held, mine)
            if wider == seeds:
                return seeds
            seeds = wider

    def _with_referring(
        self, groups: set[Group], present: Mapping[Group, set[str]]
    ) -> set[Group]:
        """Return the groups with all that hold, or refer to, the same bytes."""
        while True:
            shared = set().union(*(present[g] for g in groups if g in present))
            wider = groups | {g for g, links in present.items() if links & shared}
            for held in self._family.values():
                wider |= {
                    group
                    for group in held.named.keys() & present.keys()
                    if any(place in wider for place, _ in held.places(group))
                }
            if wider == groups:
                return groups
            groups = wider

    def _steps(self, run: str, groups: set[Group]) -> set[str]:
        held = self._family[run]
        return {
            name
            for name, history in held.journal.state.steps.items()
            if (commit := history.commit()) is not None
            and held.group(commit.record.manifest) in groups
        }

    @staticmethod
    def _readers(held: Holdings, groups: set[Group]) -> set[str]:
        """Return the other steps that found a version that lies in these groups."""
        gone: set[str] = set()
        for group in groups & held.named.keys():
            manifest = held.manifest(group)
            names = manifest.names.values() if manifest else ()
            gone |= {binding.version for binding in names}
        erased = {held.steps.get(group.attempt, "") for group in groups}
        return {
            held.steps[attempt]
            for attempt, inputs in held.inputs.items()
            if gone & set(inputs.values())
        } - erased

    def _unreadable(self, groups: set[Group], present: Iterable[Group]) -> set[Group]:
        return {
            group
            for held in self._family.values()
            for group in held.named.keys() & set(present) - groups
            if held.manifest(group) is None
        }

    # -- it goes ----------------------------------------------------------------

    def erase(self, erasure: Erasure, *, because: str) -> int:
        """Take away what was planned; return how many bytes went.

        Raises
        ------
        TakenRun
            A kernel is running a step of one of the runs.
        ConflictError
            Somebody appended to one of the runs since it was planned.
        StoreError
            The store cannot write; the next erasure or collection finishes it.
        """
        target = erasure.target
        record = Tombstone(
            erasure=self._world.ids.nonce(),
            what=target.what,
            run=target.run,
            step=target.step,
            name=target.name,
            groups=_by_run(erasure.groups),
            actor=self._world.liveness.actor(),
            because=because,
        )
        runs = [target.run, *sorted(self._family.keys() - {target.run})]
        for run in runs:
            self._check_free(self._family[run], target)
        for run in runs:
            self.put(record, self._family[run])
        return sum(self._stock.sweep(*group) for group in sorted(erasure.groups))

    def _check_free(self, held: Holdings, target: Target) -> None:
        if Claims(held.journal, self._world).offer() is not Offer.BUSY:
            return
        raise TakenRun(
            f"{target.spoken} was not erased",
            because=f"a kernel is running a step of run {held.run_id}",
            remedy="Wait until its cell has ended, or interrupt it there.",
            run_id=held.run_id,
        )

    def put(self, record: Tombstone, held: Holdings) -> None:
        """Append a tombstone to one run of the family, in that run's words."""
        groups = {Group(run, n) for run, names in record.groups.items() for n in names}
        said = Tombstone(
            erasure=record.erasure,
            what=record.what,
            run=record.run,
            step=record.step,
            name=record.name,
            groups={
                "" if run == held.run_id else run: names
                for run, names in record.groups.items()
            },
            commits=[
                revision
                for revision, commit in held.commits.items()
                if held.group(commit.record.manifest) in groups
            ],
            actor=record.actor,
            because=record.because,
            policy=record.policy,
        )
        held.journal.decide_on(said, held.journal.state.revision)
        held.tombstones.append(said)

    def finish(self) -> int:
        """Finish erasures that were cut off; return how many bytes went."""
        for held in list(self._family.values()):
            for record in held.tombstones:
                if record.what is Erased.RETENTION:
                    continue
                whole = {run or held.run_id: n for run, n in record.groups.items()}
                for other in self._family.values():
                    if all(t.erasure != record.erasure for t in other.tombstones):
                        self.put(_with_groups(record, whole), other)
        gone = {
            group
            for held in self._family.values()
            for record in held.tombstones
            if record.what is not Erased.RETENTION
            for run, names in record.groups.items()
            for group in (Group(run or held.run_id, name) for name in names)
        }
        present = gone & self._present().keys()
        return sum(self._stock.sweep(*group) for group in sorted(present))


def _by_run(groups: Iterable[Group]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for run, name in sorted(groups):
        found.setdefault(run, []).append(name)
    return found


def _with_groups(record: Tombstone, groups: dict[str, list[str]]) -> Tombstone:
    return Tombstone(
        **{
            name: getattr(record, name)
            for name in Tombstone.__struct_fields__
            if name not in ("groups", "commits")
        },
        groups=groups,
    )
