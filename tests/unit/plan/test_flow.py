"""What is surely assigned, told step by step."""

import pytest

from nbresume.plan.flow import Flow, Uses, nothing
from nbresume.plan.scopes import Kind, Scope

FUNCTION = Scope(Kind.FUNCTION, frozenset({"local"}), frozenset({"declared"}))
CLASS = Scope(Kind.CLASS, frozenset({"member"}), frozenset({"declared"}))
LOOP = Scope(Kind.COMPREHENSION, frozenset({"item"}))
NO_PARAMETERS = Scope(Kind.COMPREHENSION, frozenset())


@pytest.fixture
def flow():
    """Return the state at the start of a cell."""
    return Flow(volatile=("volatile",))


def stores(flow, *names):
    """Return a block that assigns the names."""
    return lambda: [flow.store(name) for name in names]


def loads(flow, *names):
    """Return a block that reads the names."""
    return lambda: [flow.load(name) for name in names]


def test_a_read_counts_until_the_name_is_assigned(flow):
    """What was assigned before is no read."""
    flow.load("x")
    flow.store("x")
    flow.store("y")
    flow.load("y")

    assert flow.uses == Uses(reads={"x"}, stores={"x", "y"})


def test_a_deleted_name_is_not_assigned(flow):
    """Deleting reads the name and undoes what was assigned."""
    flow.store("x")
    flow.delete("x")
    flow.delete("y")

    assert flow.assigned == set()
    assert flow.uses == Uses(reads={"y"}, stores={"x"}, deletes={"x", "y"})


def test_a_volatile_name_is_never_sure(flow):
    """A name that a function may delete at any time is never surely assigned."""
    flow.store("volatile")

    assert flow.assigned == set()
    assert flow.uses.stores == {"volatile"}


def test_wild_builtins(flow):
    """``eval`` makes a cell wild unless the cell has assigned that name."""
    flow.store("vars")
    flow.load("vars")
    assert not flow.uses.wild

    flow.load("eval")
    assert flow.uses.wild


def test_either_keeps_what_all_blocks_assign(flow):
    """Behind a branch, only what each way assigns is sure."""
    flow.either(stores(flow, "x", "y"), stores(flow, "y", "z"))

    assert flow.assigned == {"y"}


def test_either_leaves_out_dead_ways(flow):
    """A way that ends by ``raise`` does not count behind the branch."""
    flow.either(stores(flow, "x"), flow.end)

    assert flow.assigned == {"x"}


def test_either_is_dead_when_all_ways_are(flow):
    """Behind ways that all end, nothing runs: another branch decides."""
    flow.either(lambda: flow.either(flow.end, flow.end), stores(flow, "x"))

    assert flow.assigned == {"x"}


def test_maybe_makes_nothing_sure(flow):
    """A block that may not run assigns nothing for sure."""
    flow.maybe(stores(flow, "x"))

    assert flow.assigned == set()
    assert flow.uses.stores == {"x"}


def test_loop_may_take_no_turn(flow):
    """Behind a loop, its test counts and its turns do not."""
    flow.loop(
        stores(flow, "x"),
        nothing,
        test=stores(flow, "t"),
        deletes=set(),
        ends=True,
    )

    assert flow.assigned == {"t"}


def test_endless_loop_is_left_by_break(flow):
    """Behind ``while True``, what was assigned at each ``break`` is sure."""

    def turn():
        flow.store("x")
        flow.maybe(flow.end_loop)
        flow.store("y")
        flow.end_loop()
        flow.end_loop()

    flow.loop(turn, nothing, test=nothing, deletes=set(), ends=False)

    assert flow.assigned == {"x"}


def test_a_turn_before_may_have_deleted(flow):
    """What a loop deletes is not sure at the start of a turn, nor behind."""
    flow.store("x")
    flow.loop(loads(flow, "x"), nothing, test=nothing, deletes={"x"}, ends=True)

    assert flow.uses.reads == {"x"}
    assert flow.assigned == set()


def test_attempt_strikes_before_anything_is_assigned(flow):
    """In a handler and in ``finally``, nothing of the ``try`` is sure."""
    flow.attempt(
        stores(flow, "x", "y"),
        [lambda: (flow.load("x"), flow.store("y"))],
        loads(flow, "y"),
        deletes=set(),
        final_deletes=set(),
    )

    assert flow.uses.reads == {"x", "y"}
    assert flow.assigned == {"y"}


def test_finally_adds_and_deletes(flow):
    """Behind a ``try``, what ``finally`` assigned or deleted holds."""
    flow.store("w")
    flow.attempt(
        stores(flow, "x"),
        [],
        lambda: (flow.store("y"), flow.unbind("x"), flow.unbind("w")),
        deletes=set(),
        final_deletes={"x", "w"},
    )

    assert flow.assigned == {"y"}


def test_handler_deletes_its_name(flow):
    """The name of an ``except … as`` is gone behind the handler."""
    flow.handle("e", loads(flow, "e"))
    flow.handle(None, loads(flow, "f"))

    assert flow.uses == Uses(reads={"f"}, stores={"e"}, deletes={"e"})


def test_break_through_finally_deletes(flow):
    """A ``break`` inside a ``try`` runs its ``finally`` on the way out."""

    def turn():
        flow.store("x")
        flow.attempt(
            flow.end_loop,
            [],
            lambda: flow.unbind("x"),
            deletes=set(),
            final_deletes={"x"},
        )

    flow.loop(turn, nothing, test=nothing, deletes={"x"}, ends=False)

    assert flow.assigned == set()


def test_locals_are_no_uses(flow):
    """A function's own names are nobody's input; declared ones are global."""
    body = flow.collect(
        FUNCTION,
        lambda: [
            *stores(flow, "local", "declared")(),
            *loads(flow, "local", "declared", "x")(),
            flow.unbind("local"),
        ],
    )

    assert body == Uses(reads={"x"}, stores={"declared"})
    assert flow.uses == Uses()


def test_function_counts_when_it_is_referred_to(flow):
    """A function only defined uses nothing; a reference counts what it reaches."""
    flow.define("f", Uses(reads={"g"}, stores={"s"}), now=False)
    flow.define("g", Uses(reads={"x", "f"}, deletes={"d"}, wild=True), now=False)
    assert flow.uses == Uses(stores={"f", "g"})

    flow.load("f")
    assert flow.uses == Uses({"x"}, {"f", "g", "s"}, {"d"}, wild=True)


def test_function_counts_at_once_when_it_may_run(flow):
    """A function that its decorator may call counts when it is defined."""
    flow.define("f", Uses(reads={"x", "f"}), now=True)

    assert flow.uses == Uses(reads={"x"}, stores={"f"})


def test_function_that_is_waited_for_counts_when_it_comes(flow):
    """What a usable function refers to counts also when it is defined afterwards."""
    flow.apply(Uses(reads={"later"}))
    flow.define("later", Uses(reads={"x"}), now=False)

    assert flow.uses.reads == {"later", "x"}


def test_inner_function_counts_with_the_outer(flow):
    """A function inside a function is taken as used when the outer one is."""
    inner = Uses(reads={"x"})
    body = flow.collect(FUNCTION, lambda: flow.define("local", inner, now=False))

    assert body == Uses(reads={"x"})


def test_class_members_are_seen_by_its_body_only(flow):
    """A class's own statement sees its members, its functions do not."""

    def method():
        body = flow.collect(FUNCTION, loads(flow, "member"))
        flow.define("member", body, now=False)

    def body():
        flow.load("member")
        flow.store("member")
        flow.load("member")
        flow.under(LOOP, loads(flow, "item"))
        flow.store("declared")
        method()

    methods = flow.collect_class(NO_PARAMETERS, CLASS, body)

    assert methods == Uses(reads={"member"})
    assert flow.assigned == {"declared"}
    assert flow.uses == Uses(reads={"member"}, stores={"declared"})


def test_walrus_binds_outside_comprehensions(flow):
    """A ``:=`` binds around all comprehensions that it stands in."""

    def inner():
        flow.store("item", through_comprehensions=True)
        flow.store("x", through_comprehensions=True)

    flow.under(LOOP, lambda: flow.under(LOOP, inner))

    assert flow.assigned == {"item", "x"}


def test_is_global(flow):
    """A name is the notebook's unless a scope binds it."""
    seen = {}
    for name in ("member", "declared", "x"):
        flow.under(CLASS, lambda name=name: seen.update({name: flow.is_global(name)}))

    assert seen == {"member": False, "declared": True, "x": True}


def test_uses_add_up():
    """Uses are sets that grow, and one wild part makes the whole wild."""
    uses = Uses({"a"}, {"b"}, {"c"})
    uses.add(Uses({"d"}, {"e"}, {"f"}, wild=True))
    uses.add(Uses())

    assert uses == Uses({"a", "d"}, {"b", "e"}, {"c", "f"}, wild=True)
