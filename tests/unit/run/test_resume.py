"""``%steps resume``: the state after the last committed step."""

import random

from unit.run.fakes import Lab

from nbresume.capture import libraries


def half_done(**more):
    """Return a lab whose third step failed, and its kernel."""
    lab = Lab(
        a="%%step a\nL = [1]\nraw = 0",
        p="k = 3\ndef h(v):\n    return v + k",
        b="%%step b\nL.append(h(1))\ndel raw",
        c="%%step c\nif fails():\n    raise OSError\nn = sum(L) * h(0)",
        **more,
    )
    lab.tools["fails"] = lambda: fails[0]
    fails = [True]
    k = lab.kernel()
    k.go()
    fails[0] = False
    return lab, k


def plain_names(k):
    """Return the user's names and values, without those of the system."""
    return {
        name: value
        for name, value in k.namespace.items()
        if not name.startswith("__") and not callable(value)
    }


def test_all_names_are_usable_after_resume():
    """Commits and stored ambient values are bound; the next cell is named."""
    _, k = half_done()
    k = k.restart()

    resumed = k.resume()

    assert plain_names(k) == {"L": [1, 4], "k": 3}
    assert k["h"](1) == 4
    assert (resumed.resume_from, resumed.next_cell) == ("c", "c")
    assert resumed.next_words == "step c"
    assert resumed.missing == []
    assert k.go("c") == ["c"]
    assert k["n"] == 15


def test_resuming_twice_equals_resuming_once():
    """The second one binds nothing."""
    _, k = half_done()
    k = k.restart()
    first = k.resume()
    names = dict(k.namespace)

    second = k.resume()

    assert (first.names, second.names) == (3, 0)
    assert k.namespace == names
    assert all(k.namespace[name] is value for name, value in names.items())


def test_resuming_writes_nothing():
    """It claims nothing either."""
    lab, k = half_done()
    before = dict(lab.backend.files)
    k = k.restart()
    k.resume()

    assert lab.backend.files == before


def test_resume_then_run_all_replays():
    """What was bound is what Run All finds."""
    _, k = half_done()
    k = k.restart()
    k.resume()

    assert k.go() == ["c"]


def test_resume_when_all_is_committed_binds_the_end():
    """There is no next cell."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = 2")
    k = lab.kernel()
    k.go()
    k = k.restart()
    resumed = k.resume()

    assert (k["x"], k["y"]) == (1, 2)
    assert (resumed.next_cell, resumed.resume_from) == ("", "")


def test_resume_of_an_empty_run_binds_nothing():
    """It begins with the first cell."""
    lab = Lab(p="1", a="%%step a\nx = 1")
    resumed = lab.kernel().resume()

    assert (resumed.names, resumed.next_cell, resumed.resume_from) == (0, "p", "a")
    assert resumed.next_words == "1"


def test_commits_below_the_resume_point_are_not_bound():
    """The state is that after the last committed step above it."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = 2", c="%%step c\nx = 3")
    k = lab.kernel()
    k.go("a", "c")
    k = k.restart()
    k.resume()

    assert k["x"] == 1


def test_a_deleted_name_is_removed_by_resume():
    """It does not come back from the namespace that is there."""
    _, k = half_done()
    k = k.restart()
    k.namespace["raw"] = 7
    k.resume()

    assert "raw" not in k


def test_what_could_not_be_kept_is_listed():
    """With the reason, never left out silently."""
    lab = Lab(a="%%step a\ng = (v for v in [1])\nx = 1", b="%%step b\nraise OSError")
    k = lab.kernel()
    k.go()
    k = k.restart()

    resumed = k.resume()

    assert k["x"] == 1
    assert len(resumed.missing) == 1
    assert resumed.missing[0].startswith("g (")


def test_always_steps_above_are_listed():
    """They are the author's word to run at every resume."""
    lab = Lab(
        a="%%step a --always\nx = 1",
        b="%%step b\ny = 1",
        c="%%step c\nraise OSError",
        d="%%step d --always\nz = 1",
    )
    k = lab.kernel()
    k.go()

    assert k.restart().resume().always == ["a"]


def test_a_plain_cell_that_has_changed_is_listed():
    """Its stored value does not hold; the cell has to be run."""
    lab = Lab(p="k = [1]", a="%%step a\nx = k", b="%%step b\nraise OSError")
    k = lab.kernel()
    k.go()
    lab.edit(p="k = [2]")
    k = k.restart()

    resumed = k.resume()

    assert resumed.missing == ["k (the plain cell that made it has changed)"]
    assert "k" not in k


def test_a_plain_cells_change_of_a_commit_is_bound():
    """On the version that it was made on."""
    lab = Lab(
        a="%%step a\nL = [1]",
        p="L.append(9)",
        b="%%step b\nn = len(L)",
        c="%%step c\nraise OSError",
    )
    k = lab.kernel()
    k.go()
    k = k.restart()
    k.resume()
    assert k["L"] == [1, 9]

    lab.edit(p="L.append(8)")
    k = k.restart()
    resumed = k.resume()

    assert k["L"] == [1]
    assert resumed.missing == []


def test_resuming_where_all_values_are_binds_nothing():
    """A plain cell's change is not undone and made again."""
    lab = Lab(a="%%step a\nL = [1]", p="L.append(9)", b="%%step b\nn = len(L)")
    k = lab.kernel()
    k.go()
    before = k["L"]

    assert k.resume().names == 0
    assert k["L"] is before


def test_a_damaged_commit_is_listed():
    """Nothing is made up for it."""
    lab, k = half_done()
    group = k.commits("b").manifest.group
    k = k.restart()
    for key in list(lab.backend.files):
        if f"/{group}/pack" in key:
            lab.backend.files[key] = b""

    resumed = k.resume()

    assert any(line.startswith("L (") for line in resumed.missing)


def test_a_damaged_ambient_value_is_listed():
    """The plain cell has to be run again."""
    lab = Lab(p="k = [1, 2]", a="%%step a\nx = len(k)", b="%%step b\nraise OSError")
    k = lab.kernel()
    k.go()
    group = k.journal.state.ambient["k"].manifest.group
    k = k.restart()
    for key in list(lab.backend.files):
        if f"/{group}/pack" in key:
            lab.backend.files[key] = b""

    assert k.resume().missing[0].startswith("k (")


def test_imports_of_plain_cells_are_done_again():
    """A module that is not here any more is listed."""
    lab = Lab(
        p="import json\nfrom json import dumps\nimport sys as system",
        a="%%step a\nx = dumps([1])",
        b="%%step b\nraise OSError",
    )
    k = lab.kernel()
    k.go()
    k = k.restart()
    k.resume()
    assert k["json"].loads(k["x"]) == [1]
    assert k["dumps"] is k["json"].dumps

    k = k.restart()
    k.journal.state.modules["nowhere"] = "nowhere_to_be"
    assert k.resume().missing[0].startswith("nowhere (import of nowhere_to_be failed")


def test_names_of_a_saved_notebook_without_steps_are_none():
    """A notebook without steps has no resume point."""
    lab = Lab(p="x = 1")
    k = lab.kernel()
    k.go()

    assert k.resume().next_cell == "p"


def test_resume_sets_process_state():
    """A generator goes on after a resume as if nothing had been restarted."""
    lab = Lab(a="%%step a\nimport random\nrandom.seed(5)\nx = random.random()")
    lab.kernel().go()
    wanted = random.Random(5)  # noqa: S311 - a stream of numbers
    wanted.random()
    k = lab.kernel()
    random.seed(1)
    k.resume()

    assert random.random() == wanted.random()  # noqa: S311 - see above


def test_libraries_that_moved_are_told_once(monkeypatch):
    """Also by a resume, which replays no cell."""
    _, k = half_done()
    monkeypatch.setattr(libraries.platform, "python_version", lambda: "3.99.1")
    k = k.restart()
    k.resume()
    k.resume()
    told = [line for line in k.screen.said if "now 3.99" in line]
    assert len(told) == 1
    assert "%steps rerun a" in told[0]


def test_what_a_locked_step_committed_is_bound_though_its_code_has_changed():
    """It is refused, and steps below are built on what it committed."""
    lab = Lab(
        a="%%step a\nx = 1",
        b="%%step b --effects\ny = x + 1",
        c="%%step c\nz = y",
    )
    lab.kernel().go()
    lab.edit(b="%%step b --effects\ny = x + 2")
    k = lab.kernel()
    resumed = k.resume()

    assert resumed.resume_from == "b"
    assert k["y"] == 2
    assert "z" not in k.namespace
