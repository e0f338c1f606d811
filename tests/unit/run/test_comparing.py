"""Two commits, and two runs, side by side."""

import numpy as np
import pytest
from unit.run.fakes import Lab

from nbresume.errors import NotCommitted
from nbresume.run.comparing import compare_commits, compare_runs, find_commits

CELLS = {
    "a": "%%step a\nimport numpy as np\nx = np.arange(4.0)\nn = 1\nsame = 'text'",
    "b": "%%step b\ny = x * 2",
}


def twice():
    """Return a kernel whose step a has two commits that differ."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go()
    lab.edit(
        a="%%step a\nimport numpy as np\nx = np.arange(4.0)\nx[2] = 6\nm = 1\n"
        "same = 'text'"
    )
    k.go()
    return lab, k


def diff(k, old, new, *, values=False):
    """Return in what two commits differ."""
    commits = find_commits(k.journal, old, new)
    return compare_commits(k.journal, k.world, *commits, values=values)


def rows(found):
    """Return name → (equal, kinds) of the outputs."""
    return {one.name: (one.equal, one.old_kind, one.new_kind) for one in found}


def test_code_is_compared_line_by_line():
    """A unified diff of the text as it ran."""
    _, k = twice()

    found = diff(k, ("a", 1), ("a", 2))

    assert found.code[:2] == ["--- a@1", "+++ a@2"]
    assert "-n = 1" in found.code
    assert "+x[2] = 6" in found.code
    assert not found.same_code


def test_outputs_are_compared_by_version_without_loading():
    """Class, dtype, shape and preview of what differs; nothing is unpickled."""
    _, k = twice()
    k = k.restart()

    found = diff(k, ("a", 1), ("a", None))

    array = "numpy.ndarray float64 (4)"
    assert rows(found.outputs) == {
        "m": (False, "", "int"),
        "n": (False, "int", ""),
        "np": (True, "module", "module"),
        "same": (True, "str", "str"),
        "x": (False, array, array),
    }
    x = next(one for one in found.outputs if one.name == "x")
    assert "0.0, 1.0, 2.0, 3.0" in x.old_preview
    assert x.values is None
    assert k.parts.live.known() == {}


def test_values_are_compared_in_numbers():
    """Loaded into a namespace of their own: the kernel's names stay."""
    _, k = twice()
    x = k["x"]

    found = {one.name: one for one in diff(k, ("a", 1), ("a", 2), values=True).outputs}

    values = found["x"].values
    assert (values.differing, values.entries) == (1, 4)
    assert (values.max_abs, values.max_rel) == (4.0, 2.0)
    assert found["n"].not_loaded == "a@2 has no value of it"
    assert k["x"] is x
    assert list(x) == [0, 1, 6, 3]


def test_inputs_are_compared_by_version():
    """Old and new version of each."""
    _, k = twice()

    found = diff(k, ("b", 1), ("b", 2))

    assert found.code == []
    assert found.same_code
    (x,) = [one for one in found.inputs if one.name == "x"]
    assert not x.equal
    assert x.old != x.new
    assert {x.old[:2], x.new[:2]} == {"v:"}


def test_commits_of_two_steps_are_compared():
    """Any two commits of the run."""
    _, k = twice()

    found = diff(k, ("a", 1), ("b", 1))

    assert (found.old, found.new) == ("a@1", "b@1")


def test_a_value_that_was_not_kept_is_named():
    """With its reason, and it is not loaded."""
    lab = Lab(a="%%step a\ng = (i for i in range(3))\nx = 1")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\ng = (i for i in range(4))\nx = 1")
    k.go()

    found = {one.name: one for one in diff(k, ("a", 1), ("a", 2), values=True).outputs}

    assert found["g"].old_kind.startswith("not kept: ")
    assert found["g"].not_loaded == "a@1 has no value of it"


def test_a_damaged_value_is_told_and_the_rest_is_compared():
    """One name's payload is gone."""
    lab = Lab(
        a="%%step a\nimport numpy as np\nbig = np.zeros(500_000)\nn = np.zeros(3)"
    )
    k = lab.kernel()
    k.go()
    first = k.commits("a").manifest.group
    lab.edit(a="%%step a\nimport numpy as np\nbig = np.ones(500_000)\nn = np.ones(3)")
    k.go()
    array = [key for key in lab.backend.files if f"/{first}/o" in key]
    for key in array:
        del lab.backend.files[key]
    k = k.restart()

    found = {one.name: one for one in diff(k, ("a", 1), ("a", 2), values=True).outputs}

    assert "missing" in found["big"].not_loaded
    assert found["n"].values.differing == 3


def test_an_unknown_commit_is_refused():
    """With the numbers that there are."""
    _, k = twice()

    with pytest.raises(NotCommitted, match="a@1, a@2"):
        diff(k, ("a", 1), ("a", 3))


def test_two_runs_are_compared_step_by_step():
    """State, code, inputs and outputs; what one run lacks has no answer."""
    lab, k = twice()
    first = k.journal
    k.fork("a")
    lab.edit(b="%%step b\ny = x * 3", c="%%step c\nz = 1")
    k.go()

    found = compare_runs(
        first, k.journal, lambda _: "COMMITTED", k.parts.recovery.state
    )

    told = {
        one.step: (one.shared, one.same_code, one.same_inputs, one.same_outputs)
        for one in found.steps
    }
    assert told == {
        "a": (True, True, True, True),
        "b": (False, False, True, False),
        "c": (False, None, None, None),
    }
    b, c = found.steps[1:]
    assert b.differing == ["y"]
    assert (c.old_state, c.new_state) == ("", "COMMITTED")


def test_equal_work_in_two_runs_is_equal():
    """Versions of values are equal whoever computed them."""
    lab = Lab(**CELLS)
    k, other = lab.kernel(), lab.kernel(run_id="e" * 16)
    k.go()
    other.go()

    found = compare_runs(
        k.journal, other.journal, k.parts.recovery.state, other.parts.recovery.state
    )

    assert [(p.same_code, p.same_inputs, p.same_outputs) for p in found.steps] == [
        (True, True, True)
    ] * 2
    assert np.array_equal(k["y"], other["y"])
