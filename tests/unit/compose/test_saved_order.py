"""Notebook order grows with what is new, and says what one made anew would say."""

import json
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from unit.run.samples import AT, INTENT
from unit.run.samples import changed as with_fields

from nbresume.compose.saved_order import SavedOrder
from nbresume.compose.system import SavedNotebook
from nbresume.model.folded import RunState
from nbresume.plan import auto
from nbresume.plan.header import step_name_of
from nbresume.plan.notebook import Cell, text_digest
from nbresume.run.order import GrowingOrder, Order

SOURCES = (
    "x = 1",
    "y = x",
    "%%step a\nx = 2",
    "%%step A\nx = 3",
    "%%step b\ny = 2",
    "%nbresume auto",
    "%nbresume auto off",
)
IDS = ("c1", "c2", "c3")


def cell(cell_id, source):
    """Return a code cell as the notebook's parser does."""
    return Cell(cell_id, source, step_name_of(source), text_digest(source))


def tables(order):
    """Return all that an order says."""
    return {
        "cells": list(order.cells),
        "cell": dict(order.place_of_cell),
        "step": dict(order.place_of_step),
        "text": dict(order.text_of_cell),
        "of text": {k: list(v) for k, v in order.cells_of_text.items()},
        "of name": {k: list(v) for k, v in order.places_of_name.items()},
        "twins": sorted(order.twins),
        "plain": order.knows_plain,
        "named": {s: order.named(s) for s in ("a", "A", "b")},
        "spelled": {s: order.spelled(s) for s in ("a", "b")},
    }


CELLS = st.lists(st.sampled_from(SOURCES), max_size=4)
OPS = st.one_of(
    st.tuples(st.just("save"), CELLS),
    st.tuples(st.just("note"), st.sampled_from(IDS), st.sampled_from(SOURCES[2:5])),
    st.tuples(st.just("ask"), st.just(None)),
    st.tuples(st.just("auto"), st.sampled_from((None, True, False))),
)


def saved(path, sources):
    """Write the notebook's file."""
    cells = [
        {"cell_type": "code", "id": f"c{place}", "source": source}
        for place, source in enumerate(sources)
    ]
    path.write_text(json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5}))


class Told:
    """What a notebook has, found out in the simplest way."""

    def __init__(self):
        self.file, self.were_saved, self.noted = None, set(), []

    def save(self, sources):
        """Take what is in the file now."""
        self.file = [cell(f"c{place}", source) for place, source in enumerate(sources)]
        self.were_saved |= {c.cell_id for c in self.file}

    def note(self, new):
        """Put a step where it stood, or last."""
        for place, known in enumerate(self.noted):
            if known.cell_id == new.cell_id or known.step == new.step:
                self.noted[place] = new
                return
        if new.cell_id not in self.were_saved:
            self.noted.append(new)

    def cells(self):
        """Return the cells of the file, and behind them what it never had."""
        if self.file is None:
            return None
        steps = {c.step for c in self.file if c.step}
        return self.file + [
            c
            for c in self.noted
            if c.cell_id not in self.were_saved and c.step not in steps
        ]


@settings(max_examples=200, deadline=None, suppress_health_check=[*HealthCheck])
@given(st.lists(OPS, max_size=10))
def test_whatever_is_saved_and_noted(tmp_path_factory, ops):
    """The order is that of all cells, whichever of them were there before."""
    path = tmp_path_factory.mktemp("saved") / "flow.ipynb"
    notebook, told = SavedNotebook(str(path), "flow"), Told()
    world = SimpleNamespace(notebook=notebook)
    asked = SavedOrder(world, SimpleNamespace(state=RunState()))

    for op, *given_ in ops:
        if op == "save":
            saved(path, given_[0])
            notebook.cells()
            told.save(given_[0])
        elif op == "note":
            notebook.note(cell(*given_))
            told.note(cell(*given_))
        elif op == "auto":
            asked.auto = given_[0]
        expected = told.cells()

        assert notebook.cells() == expected
        if expected is not None:
            is_auto = auto.switched(expected) if asked.auto is None else asked.auto
            made = auto.with_steps(expected) if is_auto else expected
            assert tables(asked()) == tables(Order.of(list(made), ""))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("aAbc"), st.sampled_from(IDS)), max_size=9))
def test_whatever_runs_in_a_notebook_that_is_not_saved(ran):
    """Each step stands where it first ran, in the cell in which it ran last."""
    state, world = RunState(), SimpleNamespace(notebook=SavedNotebook("", "flow"))
    asked = SavedOrder(world, SimpleNamespace(state=state))
    cells = {}

    for revision, (step, cell_id) in enumerate(ran):
        record = with_fields(INTENT, step=step, cell_id=cell_id)
        state.apply(record, revision=revision, digest="", epoch=1, at=AT)
        cells[step] = Cell(cell_id, "", step, "")

        expected = Order.of([*cells.values()], "", knows_plain=False)
        assert tables(asked()) == tables(expected)


@pytest.mark.parametrize("is_saved", [False, True])
def test_what_stands_there_is_not_taken_again(tmp_path, monkeypatch, is_saved):
    """A step that is new costs one cell, one that runs again none."""
    path = tmp_path / "flow.ipynb"
    if is_saved:
        saved(path, ["x = 1"] * 50)
    state = RunState()
    notebook = SavedNotebook(str(path), "flow")
    order = SavedOrder(SimpleNamespace(notebook=notebook), SimpleNamespace(state=state))
    added, add = [], GrowingOrder.add

    def counted(self, cells):
        added.append(len(cells))
        add(self, cells)

    def ran(number):
        new = cell(f"new{number}", f"%%step s{number}")
        notebook.note(new)
        record = with_fields(INTENT, step=new.step, cell_id=new.cell_id)
        state.apply(record, revision=state.revision + 1, digest="", epoch=1, at=AT)
        return order().step_place(new.step)

    places = [ran(number) for number in range(10)]
    monkeypatch.setattr(GrowingOrder, "add", counted)
    places += [ran(number) for number in range(10, 60)]
    new = sum(added)
    places += [ran(number) for number in range(60)]

    first = 50 if is_saved else 0
    assert places == [*range(first, first + 60)] * 2
    assert new == 50
    assert sum(added) == new


def test_a_step_stands_elsewhere_for_one_order_only():
    """The tables are not copied for it, and stay what they are."""
    order = Order.of([cell("c1", "%%step a"), cell("c2", "%%step b")], "")

    moved = order.with_step("b", 7).with_step("new", 2)

    assert [*map(moved.step_place, ("a", "b", "new"))] == [0, 7, 2]
    assert dict(moved.place_of_step) == {"a": 0, "b": 7, "new": 2}
    assert [*map(order.step_place, ("a", "b", "new"))] == [0, 1, -1]
    assert order.with_step("a", 0) is order
