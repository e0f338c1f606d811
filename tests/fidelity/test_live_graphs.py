"""Random notebooks come back at every step: values, and which object is which."""

import importlib.util
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

choices = st.tuples(*[st.integers(0, 999)] * 4)
notebooks = st.lists(choices, min_size=3, max_size=8)


def _load_graphs():
    path = Path(__file__).with_name("graphs.py")
    spec = importlib.util.spec_from_file_location("graphs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GRAPHS = _load_graphs()


@pytest.fixture(scope="module")
def elsewhere():
    """Rebuild in another interpreter; all notebooks share it."""
    made = GRAPHS.Elsewhere()
    yield made
    made.close()


def _check(elsewhere, notebook, drawn):
    steps, wanted = [], []
    for cell in [GRAPHS.SETUP, *drawn]:
        text = cell if isinstance(cell, str) else notebook.cell(cell)
        steps.append(notebook.run(text))
        wanted.append(GRAPHS.portrait(notebook.namespace))
    got = elsewhere.portraits(steps)
    for at, (one, other) in enumerate(zip(wanted, got, strict=True)):
        assert one == other, "\n".join(notebook.cells[1 : at + 1])


def _many(count, *, fixed=True):
    """Draw the same notebooks each time, so that a gate says the same twice."""
    return settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=fixed,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
        ],
    )


@pytest.mark.long
@_many(300)
@given(drawn=notebooks)
def test_graphs_come_back_at_every_step(elsewhere, drawn):
    """In another process, equal in value and isomorphic in what is shared."""
    _check(elsewhere, GRAPHS.Whole(), drawn)


@pytest.mark.long
@_many(2000, fixed=False)
@given(drawn=notebooks)
def test_many_graphs_come_back_at_every_step(elsewhere, drawn):
    """The same for thousands of graphs."""
    _check(elsewhere, GRAPHS.Whole(), drawn)


@pytest.mark.parametrize(
    "cells",
    [
        ["n0 = [[0]]", "n1 = n0", "n1.append(2)", "n2 = {'x': n0}", "n0[0].append(1)"],
        ["n0 = np.arange(9.)", "n1 = n0[2:]", "n0[3] = 7", "n2 = [n1]", "n1[0] = 5"],
        ["n0 = np.arange(3.)", "n1 = n0[1:]", "n0 = [n0, 0, n1]", "n1 = 1"],
        ["n0, n1 = closure([1], [2])", "n1([3])", "n2 = n0", "n0.note = [n0]"],
    ],
)
def test_commits_bind_what_is_shared(elsewhere, cells):
    """Each commit holds what its step touched, and all together hold the graph."""
    _check(elsewhere, GRAPHS.Notebook(), cells)


@pytest.mark.parametrize(
    "cells",
    [
        # a part of an older value gets a name: the cached stream holds a copy
        ["n1 = [[0]]", "n0 = n1[0]"],
        # what two names shared is not shared any more, so its unit is cut differently
        ["n0 = np.arange(9.)[2:]; n1 = n0.base[:4]", "n1 = [n0, 1, n0]"],
        # a unit is cut differently, and an older holder refers to the former cut
        ["n1 = [[0]]", "n0 = [n1]", "n2 = [n0]", "n1 = [n0]"],
        # shared directly, and hidden by a named object that reaches it too
        ["n0 = [[0]]", "n1 = [n0]", "n0 = [n0, n1]"],
        ["n0, n1 = closure([1], [2])", "n1(n0)"],
        # two views of an owner that has no name, in one value
        ["n0 = np.arange(9.)[2:]; n1 = n0.base[:4]", "n0 = [n0, 0, n1]", "n1 = 1"],
        # a function of a class is shared for a while
        ["n4 = [[0], 1, [1]]", "n3 = Plain(1).get", "n3 = Plain(n4)"],
        # a name that is cut anew shares an unnamed list with a third one
        [
            "n0 = [[0], 0, [1]]",
            "n1 = [n0, 1, n0]",
            "n2 = Plain([n0]); n2.me = n2",
            "n0 = Plain(0).get",
        ],
        # an object loses its name and gets one again
        ["n1 = [[0], 1, [1]]", "n1 = Plain(n1)", "n0 = n1.x"],
        # the owner of a view's memory changes, or is shared anew
        ["n0 = np.arange(9.)[2:]; n1 = n0.base[:4]", "n0 = [n0, 0, n0]", "n1[0] = 1"],
        ["n0 = np.arange(7.)", "n0 = n0.reshape(1, -1).T", "n1 = n0[1:]"],
        # an equal object takes the place of another: named, held elsewhere, made here
        ["n0 = np.arange(3.)", "n2, n3 = closure(n0, n0)", "n1 = n0[:]", "n3(n1)"],
        ["n0 = [[1]]; n1 = [[1]]", "n0[0] = n1[0]"],
        ["n0 = [[1]]", "n1 = [[1]]; n0[0] = n1[0]"],
        ["n0 = [1]; n1 = [1]; n2 = [n0, n1]", "n2[:] = [n1, n0]"],
        ["n0 = [1]; n1 = [1]; n2 = [n0, n1, n0]", "n2[2] = n1"],
        ["n0 = [[1]]; n1 = [n0[0]]", "n0[0] = [1]"],
        # a method is cut anew
        ["n0 = Plain(0).get", "n1 = Plain(n0)", "n0 = [n0, 0, n0]", "n0 = n1.x"],
        # a tuple is cut anew
        ["n4 = Plain((4, [4], 'x'))", "n0 = n4.x"],
        ["n0 = (0, [0], 'x')", "n5 = [n0, 4, n0]", "n5 = Plain([n0]); n5.me = n5"],
    ],
)
def test_commits_bind_what_their_surroundings_changed(elsewhere, cells):
    """Found by random graphs, made as small as they go."""
    _check(elsewhere, GRAPHS.Notebook(), cells)


@pytest.mark.long
@_many(300)
@given(drawn=notebooks)
def test_commits_come_back_at_every_step(elsewhere, drawn):
    """Random notebooks, one commit a step, through Live and Snapshot."""
    _check(elsewhere, GRAPHS.Notebook(), drawn)


@pytest.mark.long
@_many(2000, fixed=False)
@given(drawn=notebooks)
def test_many_commits_come_back_at_every_step(elsewhere, drawn):
    """The same for thousands of notebooks."""
    _check(elsewhere, GRAPHS.Notebook(), drawn)
