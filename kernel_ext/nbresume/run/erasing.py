"""Erasure: what a person named goes, whoever refers to it, and nothing looks committed.

The rule: one tombstone, the same in every run that it concerns, is durable before the
first byte goes. Cut off anywhere, the next erasure or collection finishes it.
"""

from collections.abc import Collection, Mapping

from msgspec import Struct

from nbresume.errors import NotCommitted, TakenRun
from nbresume.model.records import Tombstone
from nbresume.model.values import Erased
from nbresume.run.claims import Claims, Offer
from nbresume.run.holdings import Family, Group, Holdings
from nbresume.run.ports import World
from nbresume.run.tombstones import Tombstones, by_run
from nbresume.store.sweeping import File, Stock, space

_Present = Mapping[Group, list[File]]
"""The groups that lie in the store, with their files."""


class Target(Struct, frozen=True):
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


class Erasure(Struct):
    """What an erasure takes away, worked out before anything is written."""

    target: Target
    groups: set[Group] = set()
    steps: dict[str, set[str]] = {}
    """Run → its steps that have no values afterwards."""
    size_bytes: int = 0
    readers: set[str] = set()
    """Steps that read what goes: what they made of it stays."""
    unreadable: set[Group] = set()
    """Groups whose manifest is damaged: what lies in them is not known."""


class Eraser:
    """Erases in one family.

    A step or a name goes from the run that was named and from its forks, with what
    they made anew under that name; from what it is a fork of, what it shares.
    """

    def __init__(self, family: Family, stock: Stock, world: World) -> None:
        self._family = family
        self._stock = stock
        self._world = world
        self._tombstones = Tombstones(family, stock)

    # -- what goes --------------------------------------------------------------

    def plan(self, target: Target) -> Erasure:
        """Return what would go; nothing is written.

        Raises
        ------
        NotCommitted
            Nothing is stored of what was named.
        """
        found = Erasure(target)
        present = self._present()
        seeds = self._seeds(target, present) & present.keys()
        if not seeds:
            raise not_held(target)
        found.groups = self._with_referring(seeds, present)
        found.steps = {
            run: self._steps(one, found.groups)
            for run, one in self._family.runs.items()
        }
        found.size_bytes = space(f for g in found.groups for f in present.get(g, ()))
        found.readers = set().union(
            *(self._readers(one, found.groups) for one in self._family.runs.values())
        )
        found.unreadable = self._unreadable(found.groups, present)
        return found

    def _present(self) -> _Present:
        found = [
            Group(run, name)
            for run in self._family.runs
            for name in self._stock.groups(run)
        ]
        return {
            group: [f for files in self._stock.files(*group).values() for f in files]
            for group in found
            # what a fork shares is decisions, and nothing else tells them
            if not group.is_of_fork
        }

    def _seeds(self, target: Target, present: _Present) -> set[Group]:
        """Return what holds it in the run and in its forks, there made anew or not."""
        mine = {group for group in present if group.run == target.run}
        if target.what is Erased.RUN:
            return self._with_derived(mine, present) if target.derived else mine
        seeds: set[Group] = set()
        for run in self._family.forks_of(target.run):
            held = self._family.runs[run]
            if target.what is Erased.STEP:
                seeds |= self._of_steps({target.step}, held, present)
            else:
                seeds |= self._of_name(target.name, held, present)
        return self._with_derived(seeds, present) if target.derived else seeds

    def _of_name(self, name: str, held: Holdings, present: _Present) -> set[Group]:
        binding = {group for group in held.named if self._binds(name, held, group)}
        makers = {
            held.steps.get(group.attempt, "")
            for group in binding
            if "-ambient" not in group.name
        }
        # nobody can say what lies in a group that no record names, nor needs it
        unnamed = {
            group
            for group in present.keys() - held.named.keys()
            if group.run == held.run_id and self._is_over(held, group)
        }
        return binding | unnamed | self._of_steps(makers - {""}, held, present)

    @staticmethod
    def _binds(name: str, held: Holdings, group: Group) -> bool:
        manifest = held.manifest(group)
        return manifest is not None and name in manifest.names

    @staticmethod
    def _of_steps(steps: set[str], held: Holdings, present: _Present) -> set[Group]:
        attempts = {one for one, step in held.steps.items() if step in steps}
        mine = {group for group in present if group.run == held.run_id}
        # those that a fork shares lie in the run that it comes from
        return {
            group for group in mine | held.named.keys() if group.attempt in attempts
        }

    @staticmethod
    def _is_over(held: Holdings, group: Group) -> bool:
        running = held.journal.state.index.unsettled()
        return group.attempt in held.began and all(
            history.attempt is None or history.attempt.intent.attempt != group.attempt
            for history in running
        )

    def _with_derived(self, seeds: set[Group], present: _Present) -> set[Group]:
        """Return what holds, too, what steps made that read something of it."""
        while True:
            wider = set(seeds)
            for held in self._family.runs.values():
                steps = self._readers(held, seeds)
                wider |= self._of_steps(steps, held, present)
            if wider == seeds:
                return seeds
            seeds = wider

    def _with_referring(self, groups: set[Group], present: _Present) -> set[Group]:
        """Return the groups with all that hold, or refer to, the same bytes."""
        nodes = {g: {f.shared for f in files} - {""} for g, files in present.items()}
        while True:
            shared = set[str]().union(*(nodes.get(group, ()) for group in groups))
            wider = groups | {g for g, mine in nodes.items() if mine & shared}
            for held in self._family.runs.values():
                wider |= {
                    group
                    for group in held.named.keys() & present.keys()
                    if any(place in wider for place, _ in held.places(group))
                }
            if wider == groups:
                return groups
            groups = wider

    @staticmethod
    def _steps(held: Holdings, groups: set[Group]) -> set[str]:
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

    def _unreadable(self, groups: set[Group], present: Collection[Group]) -> set[Group]:
        return {
            group
            for held in self._family.runs.values()
            for group in (held.named.keys() & set(present)) - groups
            if held.manifest(group) is None
        }

    # -- it goes ----------------------------------------------------------------

    def erase(self, erasure: Erasure, *, because: str) -> int:
        """Take away what was planned; return how many bytes got free.

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
            groups=by_run(erasure.groups),
            actor=self._world.liveness.actor(),
            because=because,
        )
        for held in self._tombstones.concerned(record):
            self._check_free(held, target)
        self._tombstones.put_all(record)
        while self._family.grow():
            # they were begun from what is erased now
            self._tombstones.finish()
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


def not_held(target: Target) -> NotCommitted:
    """Return the refusal to erase what is not there."""
    return NotCommitted(
        f"{target.spoken} was not erased",
        because=f"run {target.run} holds no payload of it",
        remedy="Type nbresume status NOTEBOOK to see what it holds.",
        run_id=target.run,
    )
