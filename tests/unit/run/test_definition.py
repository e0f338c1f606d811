"""In what the notebook is not that of the last claim: told, never guessed over."""

from dataclasses import replace

import msgspec
import pytest
from unit.run.fakes import Lab

from nbresume.plan.header import step_name_of
from nbresume.plan.notebook import Cell
from nbresume.run.definition import same_ids
from nbresume.run.order import Order

A, B, C = "%%step a\nx = 1", "%%step b\ny = 1", "%%step c\nz = 1"


def claimed():
    """Return a lab in which three steps are committed, and its kernel has ended."""
    lab = Lab(a=A, p="k = 1", b=B, c=C)
    k = lab.kernel()
    k.go()
    k.kill()
    return lab


def differs(lab):
    """Return what a new kernel shows when it is loaded."""
    return lab.kernel().view().differs


def test_nothing_is_told_when_nothing_differs():
    """Recovery of the same notebook is silent about it."""
    assert differs(claimed()) == []


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda lab: lab.edit(d="%%step d\nw = 1"), "added d"),
        (lambda lab: lab.delete("b"), "removed b"),
        (lambda lab: lab.reorder("c", "a", "p", "b"), "moved c"),
        (lambda lab: lab.reorder("b", "p", "a", "c"), "moved a"),
        (
            lambda lab: (lab.delete("b"), lab.insert("a", d="%%step d\nw = 1")),
            "added d; removed b",
        ),
    ],
    ids=["added", "removed", "moved to the top", "changed places", "two at once"],
)
def test_the_steps_that_differ_are_named(change, told):
    """Which steps there are, and in which order, is compared with the last claim."""
    lab = claimed()
    change(lab)

    assert differs(lab) == [f"the steps are not those of the last claim: {told}"]


@pytest.mark.parametrize(
    "change",
    [
        lambda lab: lab.edit(b="%%step b\ny = 2"),
        lambda lab: lab.edit(p="k = 2"),
        lambda lab: lab.delete("p"),
    ],
    ids=["a step is edited", "a plain cell is edited", "a plain cell is gone"],
)
def test_what_the_plan_shows_is_not_told_twice(change):
    """An edited step is stale, with its reason; plain cells are no steps."""
    lab = claimed()
    change(lab)

    assert differs(lab) == []


def test_a_step_that_ran_since_the_claim_is_not_told():
    """It stands in the records, so nothing about it has to be guessed."""
    lab = Lab(a=A)
    k = lab.kernel()
    k.go()
    lab.edit(b=B)
    k.go("b")
    k.kill()

    assert differs(lab) == []


def test_the_kernel_that_holds_the_claim_is_told_nothing():
    """Its notebook is being written; nothing is being recovered."""
    lab = Lab(a=A)
    k = lab.kernel()
    k.go()
    lab.edit(b=B)

    assert k.view().differs == []


def test_another_workflow_is_told():
    """A run that was named by setting and is used by another notebook."""
    lab = claimed()
    run_id = lab.kernel().run_id
    lab.notebook.path = "/project/other.ipynb"
    lab.notebook.paths.clear()
    k = lab.kernel(run_id=run_id)

    assert k.view().differs == ["the last claim was of the workflow main.ipynb"]


def test_it_is_told_again_at_the_claim_and_then_no_more():
    """The first step that runs makes the claim that names the new definition."""
    lab = claimed()
    lab.edit(d="%%step d\nw = 1")
    k = lab.kernel()
    k.go()

    assert (
        k.screen.said.count("the steps are not those of the last claim: added d") == 1
    )
    assert k.view().differs == []
    k.kill()
    assert differs(lab) == []


def test_a_notebook_that_is_not_saved_is_not_compared():
    """The order comes from the records then: there is nothing to compare."""
    lab = claimed()
    lab.notebook.is_known = False

    assert differs(lab) == []


def test_two_notebooks_on_one_run_are_told():
    """Both files are there, and a setting names the run for both."""
    lab = claimed()
    run_id = lab.kernel().run_id
    lab.notebook.path = "/project/two.ipynb"
    lab.notebook.paths.add(lab.notebook.path)

    assert (
        "two notebooks are on this run" in lab.kernel(run_id=run_id).view().differs[0]
    )


def test_a_kernel_of_another_release_is_told_while_it_lives():
    """Server and kernel have environments of their own; a dead kernel is no matter."""
    lab = Lab(a=A)
    k = lab.kernel()
    k.go()
    other = lab.inspect(k.run_id)
    later = msgspec.structs.replace(other.world.liveness.me(), product="nbresume 9")
    liveness = replace(other.world.liveness, writer=later)
    other = msgspec.structs.replace(
        other, world=msgspec.structs.replace(other.world, liveness=liveness)
    )
    told = other.view().differs
    k.kill()

    assert "has nbresume test, this is nbresume 9" in told[0]
    assert other.view().differs == []


def cell(cell_id, source):
    """Return a code cell."""
    return Cell(cell_id, source, step_name_of(source), "digest")


def test_cells_with_the_id_of_another_one_are_told():
    """A few by name or text, with what to do; in an old format none has an id."""
    cells = [cell("step:a", A), cell("text:1", "\n# text\ny = 2"), cell("z", "z = 3")]
    (told,) = same_ids(Order.of(cells, "a test"))
    (many,) = same_ids(Order.of([*cells[:1] * 5, cells[2]], "a test"))

    assert told == (
        'cells have the same id as another one of the notebook: step a, "# text"; save '
        "it in Jupyter, which gives each its own"
    )
    assert "step a, step a, step a and 2 more; save" in many
    assert same_ids(Order.of(cells[:2], "a test")) == []
    assert same_ids(Order.of(cells[2:], "a test")) == []
    assert same_ids(Order.of(cells, "first intents", knows_plain=False)) == []


def test_cells_with_the_id_of_another_one_are_told_by_the_view():
    """Also before anything has run."""
    lab = Lab(a=A)
    cells = [*lab.notebook.cells(), cell("step:b", B)]
    lab.notebook.cells = lambda: cells

    assert "have the same id" in lab.kernel().view().differs[0]
