"""Why a step would be replayed, run or refused is told cue by cue."""

from unit.run.fakes import Lab

from nbresume.run.explaining import Explained, explain
from nbresume.run.stored import StoredSources
from nbresume.ui import replies

CELLS = {
    "a": "%%step a\nx = 1",
    "p": "k = 2",
    "b": "%%step b\ny = x + k",
    "c": "%%step c --after b\nz = 1",
}


def explained(k, step) -> Explained:
    """Return why a step would run, as a face asks."""
    view = k.view()
    found = next(one for one in view.steps if one.name == step)
    return explain(
        found,
        view,
        k.journal.state,
        k.session.order(),
        files=k.parts.files,
        sources=StoredSources(k.journal),
    )


def cues(told) -> dict[str, bool | None]:
    """Return cue → whether it has changed."""
    return {cue.cue: cue.is_changed for cue in told.cues}


def lab_and_kernel():
    """Return a kernel in which all steps are committed."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go()
    return lab, k


def test_nothing_has_changed():
    """What a plain cell makes is known when the step runs."""
    _, k = lab_and_kernel()
    told = explained(k, "b")

    assert told.verdict == "replay"
    assert told.sentence == "step b is replayed: nothing that it depends on has changed"
    assert cues(told) == {"its code": False, "input x": False, "input k": None}
    assert cues(explained(k, "c")) == {"its code": False, "after b": False}


def test_an_edit_is_told_where_it_is_and_where_it_leads():
    """The step that was edited has other code; what is below waits for it."""
    lab, k = lab_and_kernel()
    lab.edit(a="%%step a\nx = 5")
    a, b, c = (explained(k, step) for step in "abc")

    assert (a.verdict, cues(a)) == ("rerun", {"its code": True})
    assert a.sentence == "step a runs: its code changed"
    assert cues(b)["input x"] is None
    assert "step a runs" in next(q.text for q in b.cues if q.cue == "input x")
    assert cues(c)["after b"] is None


def test_an_input_that_has_moved_is_told_with_its_versions():
    """The step above has run."""
    lab, k = lab_and_kernel()
    lab.edit(a="%%step a\nx = 5")
    k.go("a")
    x = next(cue for cue in explained(k, "b").cues if cue.cue == "input x")

    assert x.is_changed
    assert x.then != x.now
    assert x.text == "changed, made by step a"


def test_a_new_step_a_refused_one_and_an_orphan_are_told():
    """They have no cues: nothing is committed, or stands nowhere."""
    lab = Lab(a="%%step a\nx = 1", m="%%step m --effects\ndie()", n="%%step n\ny = 1")
    lab.kernel().go()
    k = lab.kernel()
    new, doubt = explained(k, "n"), explained(k, "m")
    lab.delete("a")
    orphan = explained(k, "a")

    assert new.verdict == "refused"
    assert "step m above it is in doubt" in new.sentence
    assert doubt.sentence == "step m is refused: it declared --effects"
    assert [way.how for way in doubt.ways] == ["retry", "evidence", "abandon"]
    assert orphan.sentence == (
        "step a is replayed: its cell is not in the saved notebook"
    )
    assert new.cues == doubt.cues == orphan.cues == []


def test_magics_are_known_when_the_step_runs():
    """They are no plain Python."""
    lab, k = lab_and_kernel()
    lab.edit(a="%%step a\n%time x = 1")
    told = explained(k, "a")

    assert cues(told) == {"its code": None}
    assert told.cues[0].text == "known when the step runs: its cell has magics"


def test_a_step_that_never_ran_runs():
    """It says `run`, not `rerun`."""
    told = explained(Lab(**CELLS).kernel(), "a")

    assert (told.verdict, told.sentence) == ("run", "step a runs: new")


def test_an_edit_is_shown_line_by_line():
    """The text that ran, beside the text that would run."""
    lab, k = lab_and_kernel()
    lab.edit(b="%%step b\ny = x + k + 1")
    told = explained(k, "b")

    assert next(cue for cue in told.cues if cue.cue == "its code").diff == [
        "@@ -1 +1 @@",
        "-y = x + k",
        "+y = x + k + 1",
    ]


def test_a_value_is_shown_as_it_was_and_as_it_is():
    """From the previews of its commits; the table has both."""
    lab, k = lab_and_kernel()
    lab.edit(a="%%step a\nx = 5")
    k.go("a")
    told = explained(k, "b")
    x = next(cue for cue in told.cues if cue.cue == "input x")

    assert (x.then_shown, x.now_shown) == ("1", "5")
    assert "changed, made by step a: 1 → 5" in replies.explained(told)


def test_files_and_modules_are_rows():
    """With what they were and are."""
    lab = Lab(a="%%step a\nimport helpers\nx = disk.read('in')")
    for name in ("in", "helpers.py"):
        lab.disk.put(name, "1")
    lab.disk.sources["helpers"] = "helpers.py"
    lab.tools["__import__"] = lambda *_: None
    k = lab.kernel()
    assert k.go() == ["a"]
    assert cues(explained(k, "a")) == {
        "its code": False,
        "file in": False,
        "module helpers (helpers.py)": False,
    }
    lab.disk.put("in", "22")
    told = next(c for c in explained(k, "a").cues if c.cue == "file in")

    assert told.is_changed
    assert told.text == "in changed"
    assert told.then_shown.startswith("1 bytes, ")
    assert told.now_shown.startswith("2 bytes, ")


def test_a_file_that_a_step_above_makes_waits_for_it():
    """Whether it changes is known when that step has run."""
    lab = Lab(a="%%step a\ndisk.write('f', '1')", b="%%step b\nx = disk.read('f')")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\ndisk.write('f', '2')")

    assert cues(explained(k, "b"))["file f"] is None
