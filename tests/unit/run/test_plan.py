"""The plan says before what Run All does: nothing surprising ever runs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.run.fakes import Lab

CELLS = {
    "p": "k = 2",
    "a": "%%step a\nx = len(disk.read('in')) + k",
    "b": "%%step b\ndisk.write('out', str(x))",
    "q": "def f(v):\n    return v * 2",
    "c": "%%step c\ny = f(int(disk.read('out')))",
    "d": "%%step d\nnames = disk.listdir('d')",
    "e": "%%step e --after a\nz = len(names) + y",
    "g": "%%step g --always\nw = z",
}
EDITS = {
    "a constant of a plain cell": lambda lab: lab.edit(p="k = 3"),
    "a comment of a plain cell": lambda lab: lab.edit(p="k = 2  # two"),
    "a function of a plain cell": lambda lab: lab.edit(q="def f(v):\n    return v + 2"),
    "a step": lambda lab: lab.edit(c="%%step c\ny = 1"),
    "a step, with an equal value": lambda lab: lab.edit(
        a="%%step a\nx = k + len(disk.read('in'))"
    ),
    "a comment": lambda lab: lab.edit(b=CELLS["b"] + "  # written"),
    "a file": lambda lab: lab.disk.put("in", "12345"),
    "a file, by its times alone": lambda lab: lab.disk.touch("in"),
    "a file that is made": lambda lab: lab.disk.drop("out"),
    "a file that is made, by hand": lambda lab: lab.disk.put("out", "7"),
    "an entry of a folder": lambda lab: lab.disk.put("d/new", "1"),
    "a declaration": lambda lab: lab.edit(d="%%step d --reads in\n" + CELLS["d"][9:]),
    "a name": lambda lab: lab.edit(e="%%step e --after a\nzz = len(names) + y"),
}
MAY = ("may change", "(--after) runs")


def plan_of(k) -> dict[str, tuple[str, str]]:
    """Return step → (verdict, reasons) as the plan says it."""
    return {s.name: (s.plan.value, "; ".join(s.reasons)) for s in k.view().steps}


def lab_with_all() -> Lab:
    """Return a lab in which everything is committed."""
    lab = Lab(**CELLS)
    for name in ("in", "d/one"):
        lab.disk.put(name, "1")
    lab.kernel().go()
    return lab


def test_nothing_is_planned_where_nothing_changed():
    """Only what always runs."""
    k = lab_with_all().kernel()
    planned = {step for step, (verdict, _) in plan_of(k).items() if verdict == "rerun"}

    assert planned == {"g"} == set(k.go())


SOME_EDITS = st.lists(
    st.sampled_from(sorted(EDITS)), min_size=1, max_size=3, unique=True
)


@settings(max_examples=15, deadline=None)
@given(edits=SOME_EDITS)
def test_run_all_runs_what_the_plan_said(edits):
    """What ran was said; what was said and did not run was only said to be possible."""
    check_the_plan(edits)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(edits=SOME_EDITS)
def test_many_run_alls_run_what_the_plan_said(edits):
    """The same, for more edits than `make test` has time for."""
    check_the_plan(edits)


def check_the_plan(edits):
    """Edit a notebook, ask for the plan, run everything and compare."""
    lab = lab_with_all()
    for edit in edits:
        EDITS[edit](lab)
    k = lab.kernel()
    plan = plan_of(k)
    said = {step for step, (verdict, _) in plan.items() if verdict == "rerun"}
    ran = set(k.go())

    assert ran <= said
    for step in said - ran:
        whys = plan[step][1].split("; ")
        assert all(any(may in why for may in MAY) for why in whys), plan[step]
    # a comment in a plain cell is an edit of its text, until its reader runs again
    assert k.restart().go() == ["g"]


def test_what_may_change_names_the_step_or_the_cell():
    """So that one knows where to look."""
    lab = lab_with_all()
    lab.edit(p="k = 3")
    plan = plan_of(lab.kernel())

    assert plan["a"][1] == "k may change: a plain cell that sets it is edited"
    assert plan["b"][1] == "x may change: step a runs"
    assert "out may change: step b runs" in plan["c"][1]


def test_a_look_reads_no_long_file_and_says_so():
    """The plan does."""
    lab = lab_with_all()
    lab.disk.put("in", "2")
    lab.disk.slow.add("in")
    k = lab.kernel()
    look = k.glance()

    assert {s.name for s in look.steps if s.plan == "rerun"} == {"g"}
    assert look.differs == [
        "in: touched since, and not compared yet (%steps plan does it)"
    ]
    assert "a" in {s.name for s in k.view().steps if s.plan == "rerun"}


def test_slices_compare_what_moved_while_nobody_waits():
    """Each file once, until none is left."""
    lab = lab_with_all()
    lab.disk.touch("in")
    k = lab.kernel()
    k.session.join().file_slices.start()
    lab.disk.read.clear()
    turns = 0
    while not k.session.join().file_slices.slice(0.02):
        turns += 1

    assert "in" in lab.disk.read
    assert turns < 10


def test_a_parameter_is_an_input_by_value_and_the_plan_sees_it_coming():
    """As papermill writes it: a cell behind the one that is tagged ``parameters``."""
    lab = Lab(
        parameters="n = 1", a="%%step a\nx = n", b="%%step b --when 'n > 1'\ny = 1"
    )
    lab.kernel().go()
    lab.insert("a", injected="n = 5")
    k = lab.kernel()
    plan = plan_of(k)

    assert plan["a"] == ("rerun", "n may change: a plain cell that sets it is edited")
    assert plan["b"][0] == "rerun"
    assert k.go() == ["a", "b"]
    lab.edit(injected="n = 1 + 4")
    assert lab.kernel().go() == []


def test_what_a_plain_cell_imports_makes_no_step_stale():
    """No intent stores a module: it is not a value that could have changed."""
    lab = Lab(
        p="import math\nfrom os.path import join\nf = join",
        a="%%step a\nimport math\nx = math.pi",
        q="import math",
        b="%%step b --when 'math.pi > 3'\ny = math.floor(x), join('a', f('b'))",
    )
    k = lab.kernel()
    assert k.go() == ["a", "b"]

    assert {why for verdict, why in plan_of(lab.kernel()).values()} == {""}
    assert lab.kernel().go() == []


def test_a_commit_that_counts_again_is_judged_by_what_its_own_intent_found():
    """Not by the newest intent: that one saw the plain cell as it was in between."""
    for between in (1, 6):  # six commits later it is not in the folded state any more
        lab = Lab(p="k = 0", a="%%step a\nx = k")
        k = lab.kernel()
        k.go()
        for number in range(1, between + 1):
            lab.edit(p=f"k = {number}")
            assert k.go() == ["a"]
        lab.edit(p="k = 0")

        assert k.go() == []
        assert plan_of(k)["a"] == ("replay", "")
        assert plan_of(k.restart())["a"] == ("replay", "")
        lab.edit(p="k = 1")
        assert plan_of(k)["a"][0] == "rerun"
