"""The table of rules R1 to R3: what a name must be at a step, and what is done."""

from datetime import UTC, datetime

import pytest
from msgspec.structs import replace
from unit.run.samples import COMMITTED, INTENT, changed

from nbresume.model.folded import RunState
from nbresume.model.values import Ambient, Output
from nbresume.plan.notebook import Cell
from nbresume.run.order import NOWHERE, Order
from nbresume.run.position import (
    Action,
    Demand,
    Has,
    Now,
    Positions,
    Wanted,
    decide,
    lost,
)

AT = datetime(2026, 11, 5, 12, 0, tzinfo=UTC)
N = 5
"""Place of the step: 2 is above it, 8 below."""

# what must stand at the step
NOTHING = Demand(Wanted.NOTHING)
DELETED = Demand(Wanted.DELETED, at=2)
VALUE = Demand(Wanted.VALUE, "v:1", 2)
STORED = Demand(Wanted.VALUE, "v:1", 2, ambient="v:1+p")
ONLY_STORED = Demand(Wanted.NOTHING, ambient="v:p0")

# what the kernel has
ABSENT = Now(Has.ABSENT)


def commit(version, at=2):
    """Return the value of a commit at a place."""
    return Now(Has.COMMITTED, version, at)


def left(version="v:9", at=N):
    """Return what a failed attempt left."""
    return Now(Has.ATTEMPT, version, at)


def plain(version, at, base_at=None):
    """Return what a plain cell made, or changed in place on a commit's value."""
    if base_at is None:
        return Now(Has.AMBIENT, version, at)
    return Now(Has.AMBIENT, version, at, in_place=True, base_at=base_at)


def on_another(version, at, base_version):
    """Return what a plain cell changed in place on another version of the value."""
    now = plain(version, at, base_at=2)
    return replace(now, base_version=base_version)


def former(version, at=3):
    """Return a plain cell's value of another moment."""
    return Now(Has.FORMER, version, at)


def gone(at):
    """Return a name that a plain cell deleted."""
    return Now(Has.GONE, at=at)


K, B, A, U, R = (
    Action.KEEP,
    Action.BIND,
    Action.BIND_AMBIENT,
    Action.UNBIND,
    Action.REFUSE,
)

TABLE = {
    # missing → the demanded value is bound
    "missing, a commit above made it": (VALUE, ABSENT, B),
    "missing, plain cells changed that commit's value": (STORED, ABSENT, A),
    "missing, plain cells made it": (ONLY_STORED, ABSENT, A),
    "missing, nobody above made it": (NOTHING, ABSENT, K),
    "missing, a step above deleted it": (DELETED, ABSENT, K),
    # a commit's version other than the demanded one → the demanded value is bound
    "at its position": (VALUE, commit("v:1"), K),
    "moved on by a step below": (VALUE, commit("v:9", 7), B),
    "left behind by a step above": (VALUE, commit("v:0", 1), B),
    "the commit's, but plain cells had changed it": (STORED, commit("v:1"), A),
    "moved on from a plain cell's value": (STORED, commit("v:9", 7), A),
    "a commit's value that equals the stored one": (STORED, commit("v:1+p", 7), K),
    # … none is demanded → the name is removed: it was made by N or below
    "made by a step below": (NOTHING, commit("v:9", 7), U),
    "made by the step itself": (NOTHING, commit("v:9", N), U),
    "deleted above, and a commit has it again": (DELETED, commit("v:1"), U),
    "made by the step itself on a plain cell's value": (
        ONLY_STORED,
        commit("v:9", N),
        A,
    ),
    # left by N's failed attempt
    "left by a failed attempt": (VALUE, left(), B),
    "left by a failed attempt with an equal value": (VALUE, left("v:1"), B),
    "made by a failed attempt": (NOTHING, left(), U),
    "made by a failed attempt after a deletion": (DELETED, left(), U),
    "left by a failed attempt on a plain cell's value": (STORED, left(), A),
    # ambient and equal to the demanded value → stays
    "a cell below made it equal": (VALUE, plain("v:1", 8), K),
    "a cell below made it equal to the stored value": (STORED, plain("v:1+p", 8), K),
    # ambient, last changed by a plain cell between → stays
    "set by a plain cell between": (VALUE, plain("v:p", 3), K),
    "changed in place by a plain cell between": (VALUE, plain("v:p", 3, base_at=2), K),
    "set between after a deletion": (DELETED, plain("v:p", 3), K),
    "changed between, another value was stored": (STORED, plain("v:p2", 3), K),
    # … or by one that no step above sets → stays
    "no step sets it": (NOTHING, plain("v:p", 3), K),
    "no step above sets it, its cell stands below": (NOTHING, plain("v:p", 8), K),
    "its cell is not in the notebook": (VALUE, plain("v:p", NOWHERE), K),
    "a cell at the step's very place sets it": (NOTHING, plain("v:p", N), K),
    # ambient from a plain cell above the commit that sets the name
    "set by a plain cell above the commit": (VALUE, plain("v:p", 1), B),
    "set by a plain cell above the deletion": (DELETED, plain("v:p", 1), U),
    # ambient, in place on another version of the demanded value → it is bound
    "changed on the demanded version": (VALUE, on_another("v:1+", 3, "v:1"), K),
    "changed on a version of another time": (VALUE, on_another("v:0+", 3, "v:0"), B),
    "so, and plain cells had changed it": (STORED, on_another("v:0+", 3, "v:0"), A),
    "changed on a value that nobody above made": (
        NOTHING,
        on_another("v:0+", 3, "v:0"),
        K,
    ),
    # a plain cell's value of another moment gives way to what is demanded
    "of another moment, and a commit made it": (VALUE, former("v:p"), B),
    "of another moment, and newer is stored": (ONLY_STORED, former("v:p"), A),
    "of another moment, changed on a commit": (STORED, former("v:0+p"), A),
    "of another moment, and the stored one": (ONLY_STORED, former("v:p0"), K),
    "of another moment, and nothing tells": (NOTHING, former("v:p"), R),
    "of another moment, and a step deleted it": (DELETED, former("v:p"), U),
    # ambient from below N, or in place on a version made by N or below → refused
    "set by a plain cell below": (VALUE, plain("v:p", 8), R),
    "set by a plain cell below after a deletion": (DELETED, plain("v:p", 8), R),
    "changed in place between, on a value from below": (
        VALUE,
        plain("v:p", 3, base_at=6),
        R,
    ),
    "changed in place on the step's own value": (
        NOTHING,
        plain("v:p", 8, base_at=N),
        R,
    ),
    "changed in place below": (VALUE, plain("v:p", 8, base_at=2), R),
    # a plain cell's `del`
    "deleted by a plain cell between": (VALUE, gone(3), K),
    "deleted by a plain cell below": (VALUE, gone(8), B),
    "deleted by a plain cell above the commit": (VALUE, gone(1), B),
    "deleted by a cell that is not in the notebook": (VALUE, gone(NOWHERE), K),
    "deleted below, and nobody above made it": (NOTHING, gone(8), K),
    "deleted by a plain cell and by a step": (DELETED, gone(8), K),
}
FORCED = {
    # `rerun N` (from the demanded version)
    "set below": (VALUE, plain("v:p", 8), B),
    "set below, stored before": (STORED, plain("v:p", 8), A),
    "in place on the step's own value": (NOTHING, plain("v:p", 3, base_at=N), U),
    "set below after a deletion": (DELETED, plain("v:p", 8), U),
    "set between": (VALUE, plain("v:p", 3), K),
}


@pytest.mark.parametrize(("demand", "now", "action"), TABLE.values(), ids=TABLE)
def test_a_name_is_brought_to_its_position(demand, now, action):
    """Each case of R3 has one action."""
    assert action is decide(N, demand, now).action


@pytest.mark.parametrize(("demand", "now", "action"), FORCED.values(), ids=FORCED)
def test_rerun_refuses_nothing(demand, now, action):
    """A person who says rerun gets the demanded value."""
    assert action is decide(N, demand, now, forced=True).action


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize(("demand", "now"), [row[:2] for row in TABLE.values()])
def test_a_second_application_does_nothing(demand, now, forced):
    """What was brought to its position stays there."""
    after = {
        Action.BIND: commit(demand.version, demand.at),
        Action.BIND_AMBIENT: plain(demand.ambient, 3),
        Action.UNBIND: ABSENT,
    }
    action = decide(N, demand, now, forced=forced).action
    if action not in after:
        return

    assert decide(N, demand, after[action], forced=forced).action is Action.KEEP


@pytest.mark.parametrize(("demand", "now"), [row[:2] for row in TABLE.values()])
def test_what_is_taken_away_is_told(demand, now):
    """A value that was there is never replaced or refused without a word."""
    decision = decide(N, demand, now)
    silent = decision.action is Action.KEEP or now.has is Has.ABSENT

    assert silent == (not decision.why)


# -- R2: the demanded version ---------------------------------------------------


def cell(cell_id, step=None, text="t"):
    """Return a cell of a notebook."""
    return Cell(cell_id=cell_id, source="", step=step, text_digest=text)


CELLS = [
    cell("a", "a"),
    cell("p"),
    cell("b", "b"),
    cell("q", text="t2"),
    cell("n", "n"),
    cell("z", "z"),
]
ORDER = Order.of(CELLS, "a test")


def state_with(**records):
    """Return the state after these commits."""
    state = RunState()
    for revision, (step, fields) in enumerate(records.items()):
        record = changed(COMMITTED, step=step, attempt=f"{step}-1", **fields)
        state.apply(record, revision=revision, digest="d", epoch=1, at=AT)
    return state


def made(**versions):
    """Return the fields of a commit that made names with these versions."""
    outputs = {name: Output(version=version) for name, version in versions.items()}
    return {"outputs": outputs}


def test_the_nearest_commit_above_is_demanded():
    """Of several steps that wrote a name the nearest above counts, none below."""
    state = state_with(a=made(x="v:a"), b=made(x="v:b"), z=made(x="v:z"))
    positions = Positions(state, ORDER)

    assert positions.demand("x", 4).version == "v:b"
    assert positions.demand("x", 4).at == 2
    assert positions.demand("x", 2).version == "v:a"
    assert positions.demand("x", 0).wanted is Wanted.NOTHING
    assert positions.demand("y", 4).wanted is Wanted.NOTHING


def test_notebook_order_counts_not_time():
    """A commit made first but standing nearer is the demanded one."""
    positions = Positions(state_with(b=made(x="v:b"), a=made(x="v:a")), ORDER)

    assert positions.demand("x", 4).version == "v:b"


def test_a_deletion_is_demanded_like_a_value():
    """A name that the nearest step deleted must be absent."""
    positions = Positions(state_with(a=made(x="v:a"), b={"deleted": ["x"]}), ORDER)

    assert positions.demand("x", 4).wanted is Wanted.DELETED


def test_a_value_that_was_not_kept_is_demanded_by_a_version_of_its_own():
    """Nothing but the object of that very attempt fits the position."""
    state = state_with(a={"not_kept": {"x": "a lock"}})

    demand = Positions(state, ORDER).demand("x", 4)

    assert demand.wanted is Wanted.VALUE
    assert demand.version == lost(demand.commit.record) == "lost:a-1"


def test_a_step_that_is_not_in_the_notebook_demands_nothing():
    """A deleted cell's commit does not count any more."""
    positions = Positions(state_with(gone=made(x="v:g")), ORDER)

    assert positions.demand("x", 4).wanted is Wanted.NOTHING


def intent_with(ambient):
    """Return an intent that stored one ambient value of x."""
    return changed(INTENT, ambient={"x": ambient})


def ambient(*cells, base="v:a", manifest=0):
    """Return an ambient value that these cells made on that base."""
    return Ambient(version="v:p", base=base, cells=list(cells), manifest=manifest)


HOLDS = {
    "made by a cell between": (ambient(("p", "t")), "v:p"),
    "made by several cells between": (ambient(("p", "t"), ("q", "t2")), "v:p"),
    "its cell was edited": (ambient(("p", "old")), ""),
    "one of its cells was edited": (ambient(("p", "t"), ("q", "old")), ""),
    "its cell was deleted": (ambient(("gone", "t")), ""),
    "its cell stands below now": (ambient(("z", "t")), ""),
    "the step changed its own value unseen": (ambient(("a", "t")), "v:p"),
    "it was made on another version": (ambient(("p", "t"), base="v:0"), ""),
    "it was made on no version": (ambient(("p", "t"), base=""), ""),
    "nobody knows who made it": (ambient(), ""),
    "its value was not kept": (ambient(("p", "t"), manifest=-1), ""),
}


@pytest.mark.parametrize(("stored", "version"), HOLDS.values(), ids=HOLDS)
def test_an_ambient_value_holds_while_its_cells_stand(stored, version):
    """A stored value of plain cells counts only if a clean run would make it."""
    positions = Positions(state_with(a=made(x="v:a")), ORDER)

    demand = positions.demand("x", 4, intent_with(stored))

    assert demand.ambient == version
    assert demand.version == "v:a"


def test_an_ambient_value_that_no_step_made_holds():
    """A name of plain cells alone is demanded as its step stored it."""
    stored = ambient(("p", "t"), base="")

    demand = Positions(RunState(), ORDER).demand("x", 4, intent_with(stored))

    assert demand.wanted is Wanted.NOTHING
    assert demand.ambient == "v:p"


def test_an_intent_that_did_not_read_the_name_stores_nothing_for_it():
    """Another name's ambient value says nothing."""
    intent = intent_with(ambient(("p", "t")))

    assert Positions(RunState(), ORDER).demand("y", 4, intent).ambient == ""


def test_order_knows_cells_and_steps():
    """Places are those of the notebook; what is not there is nowhere."""
    order = Order.of([*CELLS, cell("n2", "n"), cell("")], "a test")

    assert order.cell_place("q") == 3
    assert order.cell_place("gone") == NOWHERE
    assert order.step_place("n") == 4
    assert order.step_place("gone") == NOWHERE
    assert "" not in order.place_of_cell
    assert order.with_step("new", 7).step_place("new") == 7


def test_an_ambient_value_of_a_cell_above_the_commit_does_not_hold():
    """The step below that cell has set the name since."""
    order = Order.of([cell("top"), *CELLS], "a test")
    positions = Positions(state_with(a=made(x="v:a")), order)

    demand = positions.demand("x", 5, intent_with(ambient(("top", "t"))))

    assert demand.ambient == ""
    assert demand.version == "v:a"


def test_commits_above_come_nearest_first():
    """Only committed steps above the place are listed."""
    state = state_with(a=made(x="v:a"), b=made(y="v:b"), z=made(x="v:z"))

    found = Positions(state, ORDER).commits_above(4)

    assert [place for place, _ in found] == [2, 0]
