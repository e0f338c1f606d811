"""Progress of a running step: its names between two items, durable; and bound again.

The rule: what is saved is what the step had set or changed by then, as a commit would
keep it; what was durable already is only referred to, by the next progress and by the
commit. Nothing that was saved stands for a live object: the body goes on changing it.
"""

from typing import Any

from msgspec import Struct, field

from nbresume.capture.denied import CLOSED_FILE
from nbresume.capture.entries import Entry, Made
from nbresume.capture.fingerprints import FINGERPRINTS
from nbresume.capture.live import Live
from nbresume.capture.pickling import dump_atoms
from nbresume.capture.snapshot import Captured, Snapshot
from nbresume.errors import CaptureError, LoopRefused, RefusedError, StoreError
from nbresume.model.progress import Saved
from nbresume.model.records import Progress
from nbresume.run.evidence import Evidence
from nbresume.run.intents import Running
from nbresume.run.journal import Journal
from nbresume.run.packing import Beside, pack, progress_attributes
from nbresume.run.ports import World
from nbresume.run.process import ProcessStates, recorded
from nbresume.run.restore import Restorer
from nbresume.run.written import look_at


class Point(Struct, frozen=True):
    """Where a loop stands between two items."""

    loop: str
    position: int
    total: int
    began: int
    finished: bool = False
    item: int = -1
    item_digest: str = ""


class Wish(Struct):
    """Which names the author of a loop wants to be kept."""

    names: frozenset[str] | None = None
    """None for all that the step has set or changed."""
    fleeting: frozenset[str] = frozenset()
    """Names that each item binds anew before it reads them."""
    more: set[str] = field(default_factory=set)
    """What has to be kept with them: the loop changes it too."""
    entry: dict[str, str | None] = field(default_factory=dict)
    """Name → digest of its value when the loop was entered."""


class ProgressKeeper:
    """Saves and brings back the progress of one run's steps in one kernel."""

    def __init__(
        self,
        live: Live,
        snapshot: Snapshot,
        restorer: Restorer,
        journal: Journal,
        world: World,
        states: ProcessStates,
        evidence: Evidence,
        *,
        max_step_bytes: int,
    ) -> None:
        self._live = live
        self._snapshot = snapshot
        self._restorer = restorer
        self._journal = journal
        self._world = world
        self._states = states
        self._evidence = evidence
        self._max_step_bytes = max_step_bytes
        self._told: set[str] = set()

    # -- what the step has done -------------------------------------------------

    def written(self, running: Running) -> frozenset[str]:
        """Return the names that the step has set or changed, with fresh looks."""
        return look_at(running, self._live).written

    def watch(self, running: Running, wish: Wish) -> None:
        """Note what all names are at the entry of a loop whose author chose some."""
        names = self.written(running) | running.touched
        wish.entry = {n: self._live.look(n).digest for n in names if self._has(n)}

    def _has(self, name: str) -> bool:
        return name in self._live.namespace

    def _changed_too(
        self, running: Running, wish: Wish, written: frozenset[str]
    ) -> None:
        """Add to the author's choice what the loop was seen to change beside it."""
        entry, live = wish.entry, self._live
        more = {
            name
            for name in written - (wish.names or frozenset()) - wish.more
            if (
                live.look(name).digest != entry[name]
                if name in entry
                else name not in wish.fleeting
            )
        }
        if more:
            wish.more |= more
            self._world.screen.say(
                f"the progress of step {running.intent.step} also holds "
                f"{', '.join(sorted(more))}: the loop changes it"
            )

    def with_sharing(self, names: frozenset[str], written: frozenset[str]) -> set[str]:
        """Return these names and the step's others that share an object with them.

        A model that comes back without its optimizer would be trained no more.
        """
        chosen = names
        while (more := (self._live.sharing(chosen) & written) | names) != chosen:
            chosen = more
        return set(chosen)

    def check_kept(self, running: Running, names: frozenset[str]) -> None:
        """Pass if these names can be kept, as far as they have a value.

        Raises
        ------
        LoopRefused
            One cannot.
        """
        present = {n for n in names if n in self._live.users()}
        captured = self._snapshot.take(present)
        self._live.unsettle(present | captured.bindings.keys())
        self._refuse_unkept(running, names, captured)

    def _refuse_unkept(
        self, running: Running, names: frozenset[str], captured: Captured
    ) -> None:
        for name in sorted(names & captured.not_kept.keys()):
            raise LoopRefused(
                f"the loop of step {running.intent.step} cannot be gone on with",
                because=f"its state names {name}, which cannot be kept "
                f"({captured.not_kept[name]})",
                remedy=f"Take {name} out of state= and make it above the loop: those "
                "lines run again.",
                step=running.intent.step,
                name=name,
            )

    # -- saving -----------------------------------------------------------------

    def save(
        self, running: Running, point: Point, number: int, *, wish: Wish
    ) -> Progress:
        """Make the state between two items durable; return the record.

        Raises
        ------
        LoopRefused
            A name of the author's choice is not there or cannot be kept.
        CaptureError
            It is larger than ``max_step_bytes``.
        StoreError
            The store cannot write; the progress before counts.
        FencedError
            Another kernel took the run over.
        """
        let_through = self._world.interrupts.defer()
        try:
            return self._save(running, point, number, wish)
        except BaseException:
            # nothing of it counts as stored
            self._snapshot.forget()
            raise
        finally:
            let_through()

    def _save(
        self, running: Running, point: Point, number: int, wish: Wish
    ) -> Progress:
        written = self.written(running)
        names = written if wish.names is None else self._chosen(running, wish, written)
        stored_at = self._journal.state.erased_at
        captured = self._snapshot.take(names)
        if wish.names is not None:
            self._refuse_unkept(running, wish.names, captured)
        states, states_lost = self._states.changes(
            running.process, running.brought.standing
        )
        changes, stored = recorded(states)
        group = f"{running.intent.attempt}-progress-{number}"
        draft = self._journal.objects.draft(group, digest=FINGERPRINTS.chunk)
        packed = pack(
            captured,
            draft=draft,
            group=group,
            objects=self._journal.objects,
            known=self._restorer.places,
            beside=Beside(process=dump_atoms(stored) if stored else b""),
        )
        self._check_size(running.intent.step, draft.payload_bytes)
        draft.write()
        record = Progress(
            step=running.intent.step,
            attempt=running.intent.attempt,
            number=number,
            loop=point.loop,
            position=point.position,
            total=point.total,
            finished=point.finished,
            began=point.began,
            item=point.item,
            item_digest=point.item_digest,
            names=sorted(captured.bindings),
            whole=wish.names is None,
            deleted=sorted(self._live.moved().lost),
            in_place=sorted(running.in_place & captured.bindings.keys()),
            not_kept=captured.not_kept,
            process=changes,
            effects=list(running.effects),
            seen=self._evidence.so_far(),
            manifest=packed.ref,
            payload_bytes=draft.payload_bytes,
            next_object=self._live.identities.next_object,
        )
        self._journal.append(
            record, attempt=running.intent.attempt, stored_at=stored_at
        )
        self._restorer.places.update(packed.manifest.payloads)
        self._live.unsettle(written | captured.bindings.keys())
        self._publish(record, progress_attributes(record, packed.manifest))
        self._tell_lost(record, states_lost)
        return record

    def _chosen(
        self, running: Running, wish: Wish, written: frozenset[str]
    ) -> frozenset[str]:
        """Return the names to be kept by the author's choice, and what goes along.

        Raises
        ------
        LoopRefused
            One of them has no value.
        """
        names = wish.names or frozenset()
        absent = sorted(names - self._live.users().keys())
        if absent:
            raise unknown_name(running.intent.step, absent[0])
        self._changed_too(running, wish, written)
        return frozenset(self.with_sharing(names | wish.more, written))

    def _check_size(self, step: str, size: int) -> None:
        if size <= self._max_step_bytes:
            return
        raise CaptureError(
            f"the progress of step {step} was not saved",
            because=f"it takes {size >> 20} MB, max_step_bytes is "
            f"{self._max_step_bytes >> 20} MB",
            remedy="Name what has to be kept: resumable(items, state=(…)), or raise "
            "NBRESUME_MAX_STEP_MB.",
            step=step,
        )

    def _publish(self, record: Progress, attributes: dict[str, Any]) -> None:
        try:
            self._journal.objects.publish(record.manifest.group, attributes)
        except StoreError as error:
            self._world.screen.say(
                f"the progress of step {record.step} is saved, but its zarr metadata "
                f"was not written ({error})"
            )

    def _tell_lost(self, record: Progress, states: dict[str, str]) -> None:
        lost = {n: r for n, r in record.not_kept.items() if r != CLOSED_FILE} | states
        fresh = {
            n: r for n, r in lost.items() if f"{record.attempt} {n}" not in self._told
        }
        if not fresh:
            return
        self._told |= {f"{record.attempt} {n}" for n in fresh}
        told = ", ".join(f"{name} ({why})" for name, why in fresh.items())
        self._world.screen.say(
            f"the progress of step {record.step} is saved without {told}; the lines "
            "above the loop make such values anew"
        )

    # -- going on ---------------------------------------------------------------

    def restore(self, running: Running, saved: Saved) -> None:
        """Bind the names, and set the process state, of a point between two items.

        Raises
        ------
        LoopRefused
            A payload is damaged or cannot be rebuilt here.
        """
        record, step = saved.record, running.intent.step
        let_through = self._world.interrupts.defer()
        try:
            made = self.written(running)
            values, states = self._values(record)
            for name, value in values.items():
                entry = Entry(value, Made.ATTEMPT, step=step)
                self._live.bind_in_body(name, entry)
            for name in {*record.deleted, *self._not_yet(record, made)}:
                self._live.unbind_in_body(name)
            running.in_place |= set(record.in_place)
            running.effects = dict.fromkeys([*record.effects, *running.effects])
            self._evidence.inherit(record.seen)
            self._states.go_on(record.process, states, step)
            for name in values:
                self._live.look(name)
            self._live.unsettle(values)
        finally:
            let_through()

    def _values(self, record: Progress) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the values of its names and the states of the process."""
        ref, step = record.manifest, record.step
        try:
            values = {n: self._restorer.rebuilt(n, ref, step) for n in record.names}
            return values, self._restorer.process(record)
        except (RefusedError, StoreError) as error:
            raise LoopRefused(
                f"step {record.step} does not go on from its progress",
                because=error.because or error.refused,
                remedy=f"Type %steps rerun {record.step} --because TEXT, then run it: "
                "it starts from its inputs.",
                step=record.step,
            ) from error

    def _not_yet(self, record: Progress, made: frozenset[str]) -> set[str]:
        """Return what the lines above the loop have made and was gone by then."""
        if not record.whole:
            return set()
        return set(made - {*record.names, *record.not_kept})


def unknown_name(step: str, name: str) -> LoopRefused:
    """Return the refusal to keep a name that is not there."""
    return LoopRefused(
        f"the progress of step {step} was not saved",
        because=f"its state names {name}, and no such name has a value",
        remedy=f"Set {name} above the loop, or take it out of state=.",
        step=step,
        name=name,
    )
