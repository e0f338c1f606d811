"""The index follows the records: it says what one made anew would say."""

from hypothesis import given
from hypothesis import strategies as st
from unit.run.samples import AT, COMMITTED, FAILED, INTENT, MADE_CURRENT, RESOLUTION
from unit.run.samples import changed as with_fields

from nbresume.model.folded import RunState
from nbresume.model.index import RunIndex
from nbresume.model.values import How, Output

STEPS, NAMES, CELLS, DATA = ("a", "A", "b"), ("x", "y"), ("c1", "c2"), ("d1", "d2")
ATTEMPTS = ("t1", "t2")


def outputs(draw):
    """Return outputs that share data now and then."""
    names = draw(st.sets(st.sampled_from(NAMES)))
    return {
        name: Output(version=f"v:{name}", data=draw(st.lists(st.sampled_from(DATA))))
        for name in names
    }


@st.composite
def records(draw):
    """Return one record about one of few steps."""
    step, attempt = draw(st.sampled_from(STEPS)), draw(st.sampled_from(ATTEMPTS))
    cell = draw(st.sampled_from(CELLS))
    about = {"step": step, "attempt": attempt}
    match draw(st.sampled_from(("intent", "commit", "fail", "settle", "current"))):
        case "intent":
            key = draw(st.sampled_from(("k1", "k2")))
            return with_fields(INTENT, **about, cell_id=cell, idempotency_key=key)
        case "commit":
            made = outputs(draw)
            deleted = [name for name in NAMES if name not in made]
            return with_fields(
                COMMITTED, **about, cell_id=cell, outputs=made, deleted=deleted
            )
        case "fail":
            return with_fields(FAILED, **about)
        case "settle":
            how = draw(st.sampled_from((How.RETRY, How.ABANDON, How.EVIDENCE)))
            return with_fields(RESOLUTION, **about, how=how)
        case _:
            former = draw(st.sampled_from(("", *STEPS)))
            revision = draw(st.integers(0, 12))
            return with_fields(
                MADE_CURRENT, step=step, commit=revision, renamed_from=former
            )


def said(index: RunIndex) -> dict:
    """Return every answer of an index."""
    return {
        "committing": {name: sorted(index.committing(name)) for name in NAMES},
        "made of": {data: sorted(index.made_of(data)) for data in DATA},
        "cells": {c: sorted(h.name for h in index.of_cell(c)) for c in CELLS},
        "spelled": {s: {h.name for h in index.spelled(s)} for s in ("a", "b")},
        "keys": {key: index.has_key(key) for key in ("k1", "k2")},
        "unsettled": [history.name for history in index.unsettled()],
        "process": index.process_states(),
        "first": list(index.first_intents()),
    }


@given(st.lists(records(), max_size=12))
def test_it_follows_each_record(told):
    """After every record it answers as an index made of the histories then."""
    state = RunState()
    assert said(state.index) == said(RunIndex({}))

    for revision, record in enumerate(told):
        first = state.index.first_intents()
        before = list(first)
        state.apply(record, revision=revision, digest="", epoch=1, at=AT)

        assert said(state.index) == said(RunIndex(state.steps))
        if state.index.first_intents() is first:
            assert first[: len(before)] == before


def test_a_commit_that_is_recalled_counts():
    """What counts again after it was trimmed is found by its names."""
    state = RunState()
    state.apply(INTENT, revision=0, digest="", epoch=1, at=AT)
    state.apply(COMMITTED, revision=1, digest="", epoch=1, at=AT)
    (name, *_) = COMMITTED.outputs
    history = state.steps[COMMITTED.step]
    assert state.index.committing(name) == [COMMITTED.step]
    commit = history.commits.pop(1)
    again = with_fields(MADE_CURRENT, step=COMMITTED.step, commit=1, renamed_from="")
    state.apply(again, revision=2, digest="", epoch=1, at=AT)
    assert state.index.committing(name) == []

    state.recall(COMMITTED.step, commit)

    assert state.index.committing(name) == [COMMITTED.step]


def test_the_list_of_first_intents_only_grows():
    """While steps are new, or run in the cell that they ran in; else it is another."""
    state = RunState()
    first = state.index.first_intents()

    def ran(step, cell):
        record = with_fields(INTENT, step=step, cell_id=cell)
        state.apply(record, revision=state.revision + 1, digest="", epoch=1, at=AT)
        return state.index.first_intents()

    assert ran("a", "c1") is first
    assert ran("b", "c2") is first
    assert ran("a", "c1") is first
    assert first == [("a", "c1"), ("b", "c2")]

    moved = ran("a", "c3")

    assert moved is not first
    assert moved == [("a", "c3"), ("b", "c2")]
    assert first == [("a", "c1"), ("b", "c2")]
