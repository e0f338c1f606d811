"""What the cell has surely assigned at the point that is being read.

The rule: a name is a read unless every way to this point assigns it. The reads of a
function wait until something refers to the function, since defining runs nothing.
`reading` walks the tree and tells a `Flow` what it meets.
"""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct, field

from nbresume.plan.scopes import Kind, Scope

WILD = frozenset({"eval", "exec", "globals", "locals", "vars"})
"""Builtins that reach names which the code does not show."""
Block = Callable[[], None]


class Uses(Struct):
    """The global names that a piece of code may read, set and delete when it runs."""

    reads: set[str] = field(default_factory=set)
    stores: set[str] = field(default_factory=set)
    deletes: set[str] = field(default_factory=set)
    wild: bool = False

    def add(self, other: "Uses") -> None:
        """Count the other uses in."""
        self.reads |= other.reads
        self.add_writes(other)

    def add_writes(self, other: "Uses") -> None:
        """Count in what the other may do, apart from its reads."""
        self.stores |= other.stores
        self.deletes |= other.deletes
        self.wild |= other.wild


class Flow:
    """The state of the walk: scopes, what is surely assigned, which ways are dead.

    A place is where a name lives: the name itself for a global, ``depth:name`` for a
    name of a class body that is being read, None for a local of a function.
    """

    def __init__(self, *, volatile: Iterable[str] = ()) -> None:
        self.uses = Uses()
        self.assigned: set[str] = set()
        self._dead = False
        self._scopes: list[Scope] = []
        self._deferring = 0
        self._volatile = frozenset(volatile)
        self._bodies: dict[str, Uses] = {}
        # names that code which may run later refers to: when such a name is bound to
        # a function afterwards, that function may run as well
        self._awaited: set[str] = set()
        self._breaks: list[list[set[str]]] = []
        # what leaving the current block by "break" deletes on the way
        self._leaving: set[str] = set()

    # names

    def load(self, name: str) -> None:
        """Count a read of the name where it is global and not surely assigned."""
        place = self._place(name, len(self._scopes))
        if place is not None and ":" in place:
            self._follow(place)
            if place in self.assigned:
                return
            # Python looks a name of the class body up among the globals next: the
            # locals of a function around the class are passed over
            place = name
        if place is not None:
            self._follow(place)

    def store(self, name: str, *, through_comprehensions: bool = False) -> None:
        """Count the name as assigned from here on."""
        top = len(self._scopes)
        if through_comprehensions:
            while top and self._scopes[top - 1].kind is Kind.COMPREHENSION:
                top -= 1
        place = self._place(name, top)
        if place is None:
            return
        if ":" not in place:
            self.uses.stores.add(place)
        if place not in self._volatile:
            self.assigned.add(place)

    def delete(self, name: str) -> None:
        """Count the name as deleted; there is something to delete only if it is set."""
        self.load(name)
        self.unbind(name)

    def unbind(self, name: str) -> None:
        """Count the name as deleted if it was set."""
        if self.is_global(name):
            self.uses.deletes.add(name)
        self._forget({name})

    def is_global(self, name: str) -> bool:
        """Return whether the name, here, is one of the notebook's."""
        return self._place(name, len(self._scopes)) == name

    def _place(self, name: str, top: int) -> str | None:
        for depth in reversed(range(top)):
            scope = self._scopes[depth]
            of_class = scope.kind is Kind.CLASS
            if of_class and depth != len(self._scopes) - 1:
                continue
            if name in scope.declared:
                return name
            if name in scope.bound:
                return f"{depth}:{name}" if of_class else None
        return name

    def _forget(self, names: Iterable[str]) -> None:
        top = len(self._scopes)
        self.assigned -= {self._place(name, top) or "" for name in names}

    # functions: bodies that run later

    def under(self, scope: Scope, block: Block) -> None:
        """Walk a block in a scope that runs here and now."""
        self._scopes.append(scope)
        block()
        self._scopes.pop()

    def collect(self, scope: Scope, block: Block) -> Uses:
        """Return the uses of a body that runs some time later, if at all."""
        state = (self.uses, self.assigned, self._dead, self._breaks, self._leaving)
        self.uses, self.assigned, self._dead = Uses(), set(), False
        self._breaks, self._leaving = [], set()
        self._deferring += 1
        self.under(scope, block)
        self._deferring -= 1
        collected = self.uses
        self.uses, self.assigned, self._dead, self._breaks, self._leaving = state
        return collected

    def define(self, name: str, body: Uses, *, now: bool) -> None:
        """Bind the name to a function or class; `now` says that it may run at once."""
        self.store(name)
        place = self._place(name, len(self._scopes))
        if self._deferring or place is None:
            self.apply(body)
        else:
            self._bodies.setdefault(place, Uses()).add(body)
            if now or place in self._awaited:
                self.apply(body)

    def collect_class(self, parameters: Scope, scope: Scope, block: Block) -> Uses:
        """Walk a class body now and return what its methods use later."""
        prefix = f"{len(self._scopes) + 1}:"
        self.under(parameters, lambda: self.under(scope, block))
        methods = Uses()
        for place in [key for key in self._bodies if key.startswith(prefix)]:
            methods.add(self._bodies.pop(place))
        self.assigned = {key for key in self.assigned if not key.startswith(prefix)}
        return methods

    def apply(self, body: Uses) -> None:
        """Count the uses of a body that may run from here on."""
        if not self._deferring:
            self._awaited |= body.reads
        self.uses.add_writes(body)
        for name in body.reads:
            self._follow(name)

    def _follow(self, start: str) -> None:
        """Count a read, and the uses of the functions that it gives access to."""
        todo, seen = [start], set()
        while todo:
            place = todo.pop()
            if place in seen:
                continue
            seen.add(place)
            self._read(place)
            body = self._bodies.get(place)
            if body is not None and not self._deferring:
                self._awaited |= body.reads
                self.uses.add_writes(body)
                todo.extend(body.reads)

    def _read(self, place: str) -> None:
        if place not in self.assigned and ":" not in place:
            self.uses.reads.add(place)
            self.uses.wild |= place in WILD

    # ways through the code

    def either(self, *blocks: Block) -> None:
        """Walk blocks of which one runs: what all of them assign is assigned after."""
        before, dead = self.assigned, self._dead
        ends: list[tuple[set[str], bool]] = []
        for block in blocks:
            self.assigned, self._dead = set(before), dead
            block()
            ends.append((self.assigned, self._dead))
        self._join(ends)

    def maybe(self, block: Block) -> None:
        """Walk a block that may not run, or not to its end."""
        self.either(block, nothing)

    def end(self) -> None:
        """Note that nothing runs after this point (``return``, ``raise`` …)."""
        self._dead = True

    def end_loop(self) -> None:
        """Note a ``break``: what is assigned here is so behind the loop."""
        if not self._dead:
            self._breaks[-1].append(self.assigned - self._leaving)
        self.end()

    def loop(
        self, turn: Block, after: Block, *, test: Block, deletes: set[str], ends: bool
    ) -> None:
        """Walk a loop; `ends` is False when only a ``break`` leaves it.

        At the start of a turn, a turn before it may have deleted what the loop deletes.
        """
        self._forget(deletes)
        test()
        before, dead = set(self.assigned), self._dead
        self._breaks.append([])
        turn()
        breaks = self._breaks.pop()
        self.assigned, self._dead = before, dead or not ends
        after()
        self._join([(self.assigned, self._dead), *((way, dead) for way in breaks)])

    def attempt(
        self,
        body: Block,
        handlers: Sequence[Block],
        final: Block,
        *,
        deletes: set[str],
        final_deletes: set[str],
    ) -> None:
        """Walk a ``try``: an error may strike before anything in it is assigned."""
        before, dead, leaving = set(self.assigned), self._dead, self._leaving
        self._leaving = leaving | final_deletes
        self._forget(deletes)
        struck = set(self.assigned)

        def handled(handler: Block) -> Block:
            def block() -> None:
                self.assigned = set(struck)
                handler()

            return block

        self.assigned = before
        self.either(body, *map(handled, handlers))
        joined, joined_dead = self.assigned, self._dead
        self._leaving = leaving
        self.assigned, self._dead = struck, dead
        final()
        finished = self.assigned
        self.assigned = joined
        self._forget(final_deletes)
        self.assigned |= finished
        self._dead = self._dead or joined_dead

    def handle(self, name: str | None, block: Block) -> None:
        """Walk an ``except`` block; Python deletes its name at the end."""
        if name is None:
            block()
            return
        leaving = self._leaving
        self._leaving = leaving | {name}
        self.store(name)
        block()
        self.unbind(name)
        self._leaving = leaving

    def _join(self, ends: list[tuple[set[str], bool]]) -> None:
        alive = [assigned for assigned, dead in ends if not dead]
        self.assigned = set.intersection(*(alive or [ends[0][0]]))
        self._dead = not alive


def nothing() -> None:
    """Walk nothing: the block that is not there."""
