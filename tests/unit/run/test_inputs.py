"""Rule R3 at work: what a step finds under its names, whatever ran before it."""

import pytest
from unit.run.fakes import Lab

from nbresume.errors import ErrorKind
from nbresume.model.states import State

ODD = "class Odd:\n    def __reduce__(self):\n        raise TypeError('no')\n"


def in_place(**more):
    """Return a lab whose plain cell stands between two steps."""
    return Lab(
        s1="%%step s1\nL = [1]",
        p="L.append(9)",
        s2="%%step s2\ntotal = sum(L)",
        **more,
    )


def test_run_all_twice_is_run_all_once():
    """A plain cell's change is made again on the step's own value."""
    lab = in_place()
    k = lab.kernel()
    k.go()

    assert k.go() == []
    assert (k["L"], k["total"]) == ([1, 9], 10)


def test_a_fresh_kernel_finds_the_plain_cells_value_without_running_it():
    """The stored ambient value is bound while its cell stands unchanged."""
    lab = in_place()
    lab.kernel().go()
    k = lab.kernel()

    assert k.go("s1", "s2") == []
    assert k["L"] == [1, 9]


def test_a_deleted_plain_cell_does_not_live_on():
    """Its stored value does not hold any more: the step below runs."""
    lab = in_place()
    lab.kernel().go()
    lab.delete("p")
    k = lab.kernel()

    assert k.go() == ["s2"]
    assert (k["L"], k["total"]) == ([1], 1)


def test_an_edited_plain_cell_counts_as_the_input():
    """Its new value is what the step below reads."""
    lab = in_place()
    k = lab.kernel()
    k.go()
    lab.edit(p="L.append(5)")

    assert k.go() == ["s2"]
    assert k["total"] == 6
    assert k.restart().go() == []


def test_a_plain_cell_that_was_edited_but_not_run_does_not_hold():
    """In a fresh kernel the step starts from the commit above."""
    lab = in_place()
    lab.kernel().go()
    lab.edit(p="L.append(5)")
    k = lab.kernel()

    assert k.go("s1", "s2") == ["s2"]
    assert k["total"] == 1


def test_an_in_place_step_starts_from_what_it_found_before():
    """After it changed a plain cell's value it runs again from the stored one."""
    lab = Lab(s1="%%step s1\nL = [1]", p="L.append(9)", s2="%%step s2\nL.append(3)")
    k = lab.kernel()
    k.go()
    assert k.go("s2") == []
    assert k["L"] == [1, 9, 3]
    lab.edit(s2="%%step s2\nL.append(4)")

    assert k.go("s2") == ["s2"]
    assert k["L"] == [1, 9, 4]


def test_a_counter_of_a_plain_cell_is_counted_once():
    """The step alone, again, starts from the plain cell's value."""
    lab = Lab(p="counter = 0", s="%%step s\ncounter += 1")
    k = lab.kernel()
    k.go()
    assert k.go("s") == []
    assert k["counter"] == 1
    lab.edit(s="%%step s\ncounter += 2")
    k = k.restart()

    assert k.go("s") == ["s"]
    assert k["counter"] == 2


def test_a_plain_cell_above_the_step_that_sets_the_name_is_overruled():
    """One line says that the step's value was bound."""
    lab = Lab(p="x = 5", s1="%%step s1\nx = 1", s2="%%step s2\ny = x")
    k = lab.kernel()
    k.go()

    assert k.go("p", "s2") == []

    assert (k["x"], k["y"]) == (1, 1)
    assert "step s2 starts from its position: x" in "\n".join(k.last.said)


@pytest.mark.parametrize("change", ["L.append(2)", "L = [1, 2]"])
def test_a_value_from_below_is_refused_with_both_ways_out(change):
    """The person decides: the demanded version, or the one that is there."""
    lab = Lab(s1="%%step s1\nL = [1]", s2="%%step s2\nn = len(L)", p=change)
    k = lab.kernel()
    k.go()

    refused = k.run("s2")

    assert refused.error.kind is ErrorKind.OUT_OF_POSITION
    assert "%steps rerun s2 (" in refused.text
    assert "%steps rerun s2 --live" in refused.text
    assert k["L"] == [1, 2]
    assert k.go() == []


def test_rerun_starts_from_the_demanded_version():
    """The value from below is replaced."""
    lab = Lab(s1="%%step s1\nL = [1]", s2="%%step s2\nn = len(L)", p="L.append(2)")
    k = lab.kernel()
    k.go()
    k.parts.recovery.rerun("s2", because="asked for")

    assert k.go("s2") == ["s2"]
    assert (k["L"], k["n"]) == ([1], 1)


def test_rerun_live_starts_from_what_is_there():
    """The value from below is what the step reads."""
    lab = Lab(s1="%%step s1\nL = [1]", s2="%%step s2\nn = len(L)", p="L.append(2)")
    k = lab.kernel()
    k.go()
    k.parts.recovery.rerun("s2", because="asked for", live=True)

    assert k.go("s2") == ["s2"]
    assert (k["L"], k["n"]) == ([1, 2], 2)


def test_a_change_in_place_on_the_steps_own_value_is_refused():
    """A plain cell changed what the step itself made: it is not lost unasked."""
    lab = Lab(
        a="%%step a\ntry:\n    L\nexcept NameError:\n    L = []\nL.append(1)",
        p="L.append(2)",
    )
    k = lab.kernel()
    k.go()

    assert k.run("a").error.kind is ErrorKind.OUT_OF_POSITION


def test_a_name_made_below_is_not_there():
    """A name that only the step or one below made is removed before it runs."""
    lab = Lab(
        a="%%step a\ntry:\n    n += 1\nexcept NameError:\n    n = 0",
        b="%%step b\nn = 7",
    )
    k = lab.kernel()
    k.go()
    assert k.go() == []
    assert k["n"] == 7

    assert k.go("a") == []
    assert k["n"] == 0


def test_a_name_that_a_plain_cell_deleted_is_not_bound_again():
    """The step below sees that it is gone, and a fresh kernel does so too."""
    lab = Lab(
        a="%%step a\nx = 1\ny = 2",
        p="del x",
        b="%%step b --after a\nseen = 'x' in globals()",
    )
    k = lab.kernel()
    k.go()
    assert k["seen"] is False
    k = k.restart()

    assert k.go() == []
    assert "x" not in k


def test_a_name_deleted_below_is_bound_again():
    """A later cell's ``del`` does not take the input away."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = x", p="del x")
    k = lab.kernel()
    k.go()

    assert k.go("b") == []
    assert k["x"] == 1


def test_an_old_step_again_brings_its_names_back_and_nothing_else():
    """Later steps replay on it, each at its position."""
    lab = Lab(
        a="%%step a\nL = [1]",
        b="%%step b\nd = {'x': L}",
        c="%%step c\nL.append(2)",
        d="%%step d\nn = len(d['x'])",
    )
    k = lab.kernel()
    k.go()

    assert k.go("a") == []
    assert (k["L"], k["n"]) == ([1], 2)
    assert k.go("c") == []
    assert k["L"] == [1, 2]
    assert k["d"]["x"] is k["L"]
    assert k.go("d") == []
    assert k.go() == []


def test_an_old_step_that_was_edited_makes_later_ones_stale():
    """They are shown as stale and run when they are run."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = x", c="%%step c\nz = 3")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\nx = 2")

    assert k.go("a") == ["a"]
    assert k["y"] == 1
    assert [k.state(s) for s in "abc"] == [
        State.COMMITTED,
        State.STALE,
        State.COMMITTED,
    ]
    assert k.go() == ["b"]


def test_a_conditional_store_reads_the_former_value():
    """Which branch ran decides what stands."""
    lab = Lab(
        s1="%%step s1\nx = 1",
        p="flag = True",
        s2="%%step s2\nif flag:\n    x = 2",
        s3="%%step s3\ny = x * 10",
    )
    k = lab.kernel()
    k.go()
    assert k["y"] == 20
    lab.edit(p="flag = False")

    assert k.go() == ["s2", "s3"]
    assert (k["x"], k["y"]) == (1, 10)
    assert k.restart().go() == []


def test_sharing_is_part_of_the_key():
    """An equal value that is no alias any more makes the step below run."""
    lab = Lab(
        a="%%step a\nqueue = [1, 2]",
        b="%%step b\npending = queue",
        c="%%step c\npending.append(3)",
    )
    k = lab.kernel()
    k.go()
    assert k["queue"] == [1, 2, 3]
    lab.edit(b="%%step b\npending = list(queue)")

    assert k.go() == ["b", "c"]
    assert (k["queue"], k["pending"]) == ([1, 2], [1, 2, 3])
    assert k.restart().go() == []


def test_names_in_exec_count_as_read():
    """A wild cell reads the identifiers of its strings."""
    lab = Lab(
        s="%%step s\nx = 1", t="%%step t\nexec('z = x + 1')", u="%%step u\nw = z + 1"
    )
    k = lab.kernel()
    k.go()
    assert k.go() == []
    lab.edit(s="%%step s\nx = 5")

    assert k.go() == ["s", "t", "u"]
    assert k["w"] == 7


def test_names_in_query_strings_count_as_read():
    """More than one bare word in a text may name a variable."""
    lab = Lab(
        p="limit = 1",
        s="%%step s\nq = 'v > @limit'.upper()",
        t="%%step t\nr = 'limit'.upper()",
    )
    k = lab.kernel()
    k.go()
    lab.edit(p="limit = 2")

    assert k.go() == ["s"]


def test_a_value_that_could_not_be_kept_is_refused_in_a_fresh_kernel():
    """What replays needs no value; what runs does, and the refusal names its step."""
    lab = Lab(a=f"%%step a\n{ODD}o = Odd()\nn = 1", b="%%step b\nt = type(o).__name__")
    k = lab.kernel()
    assert k.go() == ["a", "b"]
    assert "committed without o" in "\n".join(k.screen.said)
    k = k.restart()
    assert k.go() == []
    assert (k["n"], k["t"], "o" in k) == (1, "Odd", False)
    lab.edit(b="%%step b\nt = type(o).__name__.lower()")

    assert k.go() == []

    assert k.last.error.kind is ErrorKind.NOT_KEPT
    assert "%steps rerun a" in k.last.text
    k.parts.recovery.rerun("a", because="its value is needed")
    assert k.go() == ["a", "b"]
    assert k["t"] == "odd"


def test_an_always_step_makes_what_cannot_be_kept():
    """It runs at each Run All, and the steps below replay on it."""
    lab = Lab(
        a="%%step a --always\nimport threading\n"
        "lock = threading.Lock()\nlock.acquire()",
        b="%%step b\nwith_lock = lock.locked()",
    )
    k = lab.kernel()
    k.go()
    k = k.restart()

    assert k.go()[0] == "a"
    assert k["with_lock"] is True


def test_a_used_up_value_is_refused():
    """A generator that a step below has read cannot be brought back."""
    lab = Lab(
        a="%%step a\ng = (v for v in range(3))",
        b="%%step b\nfirst = next(g)",
        c="%%step c\nrest = list(g)",
    )
    k = lab.kernel()
    assert k.go() == ["a", "b", "c"]
    lab.edit(b="%%step b\nfirst = next(g) + 1")

    refused = k.run("b")

    assert refused.how == "refused"
    assert "%steps rerun a" in refused.text


def test_a_lost_value_that_nobody_used_serves_in_its_kernel():
    """It is good where it was made."""
    lab = Lab(a="%%step a\ng = (v for v in range(3))", b="%%step b\nn = list(g)")
    k = lab.kernel()

    assert k.go() == ["a", "b"]
    assert k["n"] == [0, 1, 2]


def test_a_connection_that_a_step_below_used_is_worn():
    """A step that is edited is not run on what a step below may have moved."""
    sqlite = "import sqlite3\ncon = sqlite3.connect(':memory:')"
    lab = Lab(
        a=f"%%step a\n{sqlite}",
        b="%%step b\nx = con.total_changes",
        c="%%step c\ny = con.total_changes",
    )
    k = lab.kernel()
    assert k.go() == ["a", "b", "c"]
    lab.edit(b="%%step b\nx = con.total_changes + 1")

    refused = k.run("b")
    assert refused.error.kind is ErrorKind.OUT_OF_POSITION
    assert "%steps rerun a" in refused.text
    k.parts.recovery.rerun("b", because="it only reads", live=True)
    assert k.go("b") == ["b"]
    k["con"].close()


def test_a_damaged_ambient_value_is_refused():
    """Nothing is made up for what a plain cell had made."""
    lab = Lab(p="k = [1, 2, 3]", a="%%step a\nn = len(k)")
    k = lab.kernel()
    k.go()
    group = k.journal.state.ambient["k"].manifest.group
    for key in list(lab.backend.files):
        if f"/{group}/pack" in key:
            lab.backend.files[key] = b""
    k = k.restart()

    refused = k.run("a")

    assert refused.how == "refused"
    assert "made by a plain cell, was not restored" in refused.text
    assert "Run its cell again" in refused.text


def test_a_failing_rerun_leaves_the_rerun_asked_for():
    """The next try starts from the same position."""
    lab = Lab(a="%%step a\nL = [1]", b="%%step b\nL.append(boom())")
    answers = [2]
    lab.tools["boom"] = answers.pop
    k = lab.kernel()
    k.go()
    k.parts.recovery.rerun("b", because="asked for")
    assert k.go("b") == ["b"]
    assert k.last.how == "failed"
    answers.append(3)

    assert k.go("b") == ["b"]
    assert k["L"] == [1, 3]


def test_a_rebound_name_of_a_thread_is_nobodys_value():
    """A value set behind our back counts as a plain cell's that nobody knows."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = x")
    k = lab.kernel()
    k.go()
    k.namespace["x"] = 5

    assert k.go("b") == ["b"]
    assert k["y"] == 5


def test_an_edited_cell_makes_another_generator():
    """A value that cannot be compared is another one when its cell's text is."""
    lab = Lab(p="g = (v for v in [1, 2])", a="%%step a\nx = list(g)")
    k = lab.kernel()
    k.go()
    lab.edit(p="g = (v for v in [5, 6])")

    assert k.go() == ["a"]
    assert k["x"] == [5, 6]


def test_a_name_that_a_plain_cell_deleted_stays_deleted_in_a_fresh_kernel():
    """The intent says so, for a kernel in which that cell was not run."""
    lab = Lab(
        a="%%step a\nx = 1\ny = 2",
        p="del x",
        b="%%step b --after a\nseen = 'x' in globals()",
    )
    lab.kernel().go()
    k = lab.kernel()
    k.run("a")

    assert k.run("b").how == "replayed"
    assert k["seen"] is False
    assert "x" not in k


def test_a_name_in_a_text_that_the_step_itself_sets_is_no_input():
    """A step that prints a sentence with the name of its own output replays."""
    lab = Lab(a="%%step a\ncheap = [1]\nprint(len(cheap), 'cheap ones')")
    k = lab.kernel()
    k.go()
    outcome = k.run("a")

    assert outcome.how == "replayed"
    assert not any("position" in line for line in outcome.said)
