"""Loops inside a step: they save their progress, and an interrupted one goes on there.

The rule: progress is saved between two items, when the body of one has ended and before
the next is handed out. What was saved is bound at the loop's entry, above which the
cell's lines run again; an item that is not the one that was done is refused.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from nbresume.capture.atoms import is_atom
from nbresume.capture.canonical import look
from nbresume.capture.live import Live
from nbresume.errors import LoopRefused
from nbresume.model.progress import Saved, place, spoken
from nbresume.model.records import Progress
from nbresume.plan.loops import LoopText, Span
from nbresume.run.cadence import Cadence
from nbresume.run.intents import Running
from nbresume.run.journal import Journal
from nbresume.run.ports import World
from nbresume.run.progress import Point, ProgressKeeper, Wish, unknown_name
from nbresume.run.scope import Scopes
from nbresume.run.standing import Brought

WORTH_S = 1.0
"""What a loop did since its last progress is saved at its end if it took so long."""


class Caller(Struct, frozen=True):
    """Who asks for a loop: code of the cell, or another's."""

    namespace: Mapping[str, Any]
    """Its global names."""
    code: str
    """Name of its code."""
    span: Span
    """Where the call stands."""

    @property
    def is_cell(self) -> bool:
        """Say whether it is the cell's own code, as Python or IPython names that."""
        return self.code == "<module>" or self.code.startswith("<cell line")


class Loop(Struct):
    """One loop while it runs."""

    step: str
    path: str
    cadence: Cadence
    wish: Wish
    total: int
    began_s: float
    position: int = 0
    """So many items are done."""
    began: int = 0
    saved_s: float = 0.0
    items: int = 0
    """Items that were done since progress was saved."""
    spent_s: float = 0.0
    is_saved_here: bool = True
    """The state in which its present item began can be had again."""
    has_inner: bool = False
    inner: Counter[int] = field(default_factory=Counter)
    """Loop of the cell's text → how often its present item has entered it."""
    item: tuple[int, Any, str] | None = None
    """(place, item, digest) of one that can be compared later; the item is a small
    immutable value, or None if its digest was taken."""


class Loops:
    """The resumable loops of one run's steps in one kernel."""

    def __init__(
        self,
        live: Live,
        keeper: ProgressKeeper,
        scopes: Scopes,
        journal: Journal,
        world: World,
    ) -> None:
        self._live = live
        self._keeper = keeper
        self._scopes = scopes
        self._journal = journal
        self._world = world
        self._texts: dict[Span, tuple[int, LoopText]] = {}
        self._open: list[Loop] = []
        self._outer: Counter[int] = Counter()
        self._number = 0
        self._told: Callable[[str], None] = lambda _: None

    # -- the attempt ------------------------------------------------------------

    def after_save(self, told: Callable[[str], None]) -> None:
        """Have this called with the step's name whenever its progress was saved."""
        self._told = told

    def announce(self, brought: Brought) -> None:
        """Tell that a step starts from its inputs although it has come further."""
        history = brought.standing.history
        attempt = history.attempt if history else None
        if history is None or attempt is None or not history.progress:
            return
        if attempt.intent.key != brought.key:
            self._world.screen.say(
                f"step {brought.standing.step} starts from its inputs: its code or its "
                f"inputs changed since it was {spoken(history.progress)}"
            )

    def begin(self, texts: Iterable[LoopText]) -> None:
        """Let the body of an attempt have these resumable loops."""
        self._texts, self._open, self._outer, self._number = {}, [], Counter(), 0
        self.know(texts)

    def know(self, texts: Iterable[LoopText]) -> None:
        """Let the body have these too: a magic around it has its own tree run."""
        for text in texts:
            self._texts[text.span] = (len(self._texts), text)

    def end(self) -> None:
        """Let nothing of the attempt save progress any more."""
        self._texts, self._open = {}, []

    # -- a loop -----------------------------------------------------------------

    def enter(
        self, items: Any, cadence: Cadence, names: frozenset[str] | None, caller: Caller
    ) -> tuple[Loop, Iterator[Any]]:
        """Return a loop, and the iterator that its ``for`` asks for items.

        Raises
        ------
        LoopRefused
            It stands where its progress would not be all there is to keep.
        EffectRefused
            The caller is a part of no running step.
        """
        scope = self._scopes.current("the loop was not begun")
        index, text = self._text(scope.step, caller)
        running = scope.running
        self._check_names(running, names)
        outer = self._open[-1] if self._open else None
        path, entered = "", self._outer
        if outer is not None:
            outer.has_inner = True
            path, entered = f"{outer.path}@{outer.position}/", outer.inner
        path += f"{index}.{entered[index]}" if entered[index] else f"{index}"
        entered[index] += 1
        now_s = self._world.clock.monotonic_s()
        wish = Wish(names, text.fleeting)
        loop = Loop(
            scope.step, path, cadence, wish, _length(items), now_s, saved_s=now_s
        )
        saved = self._saved(path, running)
        loop.position = loop.began = saved.record.position if saved else 0
        return loop, self._items(loop, items, running)

    def _text(self, step: str, caller: Caller) -> tuple[int, LoopText]:
        refused = f"the loop of step {step} was not begun"
        if threading.current_thread() is not threading.main_thread():
            raise LoopRefused(
                refused,
                because="it stands in a thread, beside a cell that goes on meanwhile",
                remedy="Write the loop in the cell itself.",
                step=step,
            )
        if caller.namespace is not self._live.namespace or not caller.is_cell:
            raise LoopRefused(
                refused,
                because=f"it stands in {caller.code}, whose local names no progress "
                "can keep",
                remedy="Write the loop in the cell itself, and call functions in it.",
                step=step,
            )
        text = self._texts.get(caller.span)
        if text is None:
            raise LoopRefused(
                refused,
                because="resumable(…) does not stand behind the in of a for of the "
                "cell: what is around it would begin anew",
                remedy="Write for item in resumable(items): and put enumerate, zip or "
                "tqdm inside of resumable(…).",
                step=step,
            )
        return text

    def _check_names(self, running: Running, names: frozenset[str] | None) -> None:
        stores = running.brought.standing.names.stores
        for name in sorted(names or ()):
            if name not in self._live.users() and name not in stores:
                raise unknown_name(running.intent.step, name)

    def _saved(self, path: str, running: Running) -> Saved | None:
        history = self._journal.state.step(running.intent.step)
        return history.progress.get(path) if history else None

    # -- its items --------------------------------------------------------------

    def _items(self, loop: Loop, items: Any, running: Running) -> Iterator[Any]:
        outer = self._open[-1] if self._open else None
        # an inner loop goes on in the item of the outer one that was begun
        loop.is_saved_here = outer is None or outer.is_saved_here
        self._open.append(loop)
        try:
            saved = self._saved(loop.path, running)
            iterator = iter(items)
            if saved is not None:
                self._go_on(loop, iterator, saved, running)
            self._watch(loop, running)
            if saved is None or not saved.record.finished:
                for item in iterator:
                    self._hand_out(loop, item)
                    yield item
                    loop.position += 1
                    loop.items += 1
                    loop.inner = Counter()
                    self._between(loop, running)
                self._exhausted(loop, running)
        finally:
            if loop in self._open:
                del self._open[self._open.index(loop) :]

    def _watch(self, loop: Loop, running: Running) -> None:
        """Look at all names at the entry of a loop whose author chose some of them."""
        wish = loop.wish
        if wish.names is not None:
            self._keeper.watch(running, wish)
            self._keeper.check_kept(running, wish.names)

    def _hand_out(self, loop: Loop, item: Any) -> None:
        """Note an item by which the position can be checked; its body may change it."""
        if is_atom(item):
            loop.item = (loop.position, item, "")
            return
        every = loop.cadence.every
        if loop.items == 0 or (every is not None and loop.items + 1 == every):
            digest = look(item, self._live.namespace).digest
            if digest is not None:
                loop.item = (loop.position, None, digest)

    def _between(self, loop: Loop, running: Running) -> None:
        """Save progress between two items if it is due."""
        loop.is_saved_here = False
        outer = self._open[-2] if len(self._open) > 1 else None
        if loop.position == loop.total or (outer and not outer.is_saved_here):
            return  # at the end `_exhausted` decides, with all names
        now_s = self._world.clock.monotonic_s()
        due = loop.cadence.is_due(
            items=loop.items,
            passed_s=now_s - loop.saved_s,
            spent_s=loop.spent_s,
            loop_s=now_s - loop.began_s,
        )
        # loops inside an item can only go on if the item can be begun again
        if due or loop.has_inner:
            self._save(loop, running)

    def _exhausted(self, loop: Loop, running: Running) -> None:
        outer = self._open[-2] if len(self._open) > 1 else None
        if outer is not None and not outer.is_saved_here:
            return
        passed_s = self._world.clock.monotonic_s() - loop.saved_s
        if loop.items and passed_s >= WORTH_S:
            self._save(loop, running, finished=True)

    def _save(self, loop: Loop, running: Running, *, finished: bool = False) -> None:
        began_s = self._world.clock.monotonic_s()
        wish = Wish() if finished else loop.wish
        item, digest = self._checked(loop)
        point = Point(
            loop.path,
            loop.position,
            loop.total,
            loop.began,
            finished,
            item,
            digest,
        )
        self._number += 1
        record = self._keeper.save(running, point, self._number, wish=wish)
        loop.saved_s = self._world.clock.monotonic_s()
        loop.spent_s += loop.saved_s - began_s
        loop.items, loop.is_saved_here = 0, True
        self._told(record.step)

    def _checked(self, loop: Loop) -> tuple[int, str]:
        if loop.item is None:
            return -1, ""
        at, item, digest = loop.item
        return at, digest or look(item, self._live.namespace).digest or ""

    # -- going on ---------------------------------------------------------------

    def _go_on(
        self, loop: Loop, iterator: Iterator[Any], saved: Saved, running: Running
    ) -> None:
        """Skip what is done, check that it is the same, and bind what was saved."""
        record, step = saved.record, running.intent.step
        if not record.finished:
            self._skip(loop, iterator, record, step)
        self._keeper.restore(running, saved)
        loop.wish.more |= set(record.names)
        where = "" if record.loop == "0" else f" (loop {record.loop})"
        self._world.screen.say(
            f"step {step} goes on {place(record)}{where}, saved "
            f"{saved.at:%Y-%m-%d %H:%M:%S}"
        )

    def _skip(
        self, loop: Loop, iterator: Iterator[Any], record: Progress, step: str
    ) -> None:
        if record.total != loop.total:
            raise _other_items(
                step, f"it has {loop.total} items, it had {record.total}"
            )
        for at in range(record.position):
            try:
                item = next(iterator)
            except StopIteration:
                raise _other_items(
                    step, f"it has only {at} items, and {record.position} were done"
                ) from None
            if at == record.item:
                digest = look(item, self._live.namespace).digest
                if record.item_digest and digest != record.item_digest:
                    raise _other_items(step, f"its item {at} is not the one it had")


def _length(items: Any) -> int:
    try:
        return len(items)
    except Exception:  # noqa: BLE001 - whatever a foreign __len__ raises: not known
        return -1


def _other_items(step: str, because: str) -> LoopRefused:
    return LoopRefused(
        f"step {step} does not go on from its progress",
        because=f"the loop has other items than when it was interrupted: {because}",
        remedy="Let it have the same items in each run (sort them, seed their order) "
        f"and run it again; or type %steps rerun {step} --because TEXT, and it starts "
        "from its inputs.",
        step=step,
    )
