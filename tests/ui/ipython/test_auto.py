"""`%nbresume auto` under IPython: the hook makes steps of plain cells."""

import pytest

from nbresume.ui.ipython.marker import strip_header


@pytest.fixture
def auto(shell):
    """Return a shell in which every cell is a step."""
    shell.save(
        ("load", "%load_ext nbresume"), ("a", "a = sorted([2, 1])"), ("b", "import os")
    )
    shell.run("%nbresume auto", "on")
    return shell


def test_a_plain_cell_is_a_step(auto):
    """It is committed under the id of its cell, and replayed."""
    assert auto.run("a = sorted([2, 1])", "a").ok
    ran = auto.run("a = sorted([2, 1])", "a")

    assert "[restored] step cell-a" in ran.text
    assert auto.kinds() == ["claim", "intent", "committed"]


def test_a_cheap_cell_is_none(auto):
    """Nothing is written."""
    auto.run("import os", "b")

    assert not (auto.store / "journal").exists() or auto.kinds() == []


def test_a_cell_magic_around_the_body_is_one_step(auto):
    """``%%time`` has its body visited too; that is no cell of its own."""
    ran = auto.run("%%time\na = sorted([2, 1])", "a")
    again = auto.run("%%time\na = sorted([2, 1])", "a")

    assert ran.ok, ran.text
    assert auto.kinds() == ["claim", "intent", "committed"]
    assert "[restored]" in again.text


def test_a_plain_cell_with_a_magic_has_no_steps_inside(auto):
    """What ``%%capture`` and ``%time`` run in a cell belongs to that cell."""
    auto.run("import os\n%time os.getpid()", "b")

    assert not (auto.store / "journal").exists() or auto.kinds() == []


def test_the_input_transformer_knows_nothing_of_it(auto):
    """It also runs for completion, and is pure."""
    lines = ["a = sorted([2, 1])\n"]

    assert strip_header(lines) == lines
    found, _ = auto.ip.input_transformer_manager.check_complete("a = f(")
    assert found == "incomplete"
    assert not (auto.store / "journal").exists() or auto.kinds() == []


def test_a_cell_that_reads_results_is_plain(auto):
    """No commit keeps what IPython keeps under ``_``."""
    auto.run("a = sorted([2, 1])\na", "a")
    ran = auto.run("c = list(_)", "c")

    assert ran.ok, ran.text
    assert auto.kinds() == ["claim", "intent", "committed"]


def test_a_cell_whose_id_was_not_told_is_plain(auto):
    """Such as one that a console sends."""
    ran = auto.run("c = sorted([3])")

    assert ran.ok
    assert not (auto.store / "journal").exists() or auto.kinds() == []


def test_the_second_cell_with_an_id_is_plain(auto):
    """A notebook that was merged badly: neither is taken for the other."""
    auto.save(("a", "x = sorted([1])"), ("a", "x = sorted([2])"))
    auto.run("x = sorted([1])", "a")
    before = auto.kinds()
    auto.run("x = sorted([2])", "a")

    assert before[-1] == "committed"
    assert auto.kinds() == before
    assert auto.ip.user_ns["x"] == [2]


def test_the_next_run_is_in_the_same_mode(auto):
    """``%steps new`` begins a run, and changes no more than that."""
    auto.run("a = sorted([2, 1])", "a")
    auto.run("%steps new", "x")
    ran = auto.run("a = sorted([2, 1])", "a")

    assert "[restored]" not in ran.text
    assert "cell-a" in auto.run("%steps", "x").text


def test_a_table_shows_the_title(auto):
    """The name alone says nothing to people."""
    auto.save(("a", "# Make a\na = sorted([2, 1])"))
    auto.run("# Make a\na = sorted([2, 1])", "a")

    assert "cell-a  Make a" in auto.run("%steps", "x").text
