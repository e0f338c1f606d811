"""The sequence of a step: one scenario for each sentence of the design."""

import pytest
from unit.run.fakes import Lab

from nbresume.errors import ErrorKind, RefusedError, Unavailable
from nbresume.model.displays import Stream
from nbresume.model.states import State

CHAIN = {
    "a": "%%step a\nx = [1]",
    "b": "%%step b\ny = x + [2]",
    "c": "%%step c\nz = len(y)",
}


def chain(**more):
    """Return a lab with three steps that build on each other."""
    return Lab(**CHAIN, **more)


# -- a fresh step ---------------------------------------------------------------


def test_a_fresh_step_runs_and_is_committed():
    """Claim, intent, body, commit: then the cell counts as done."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()

    assert k.go() == ["a"]

    assert lab.records(k.run_id) == ["claim", "intent", "committed"]
    assert k.state("a") is State.COMMITTED
    assert k.last.said == []


def test_no_statement_runs_before_the_durable_intent():
    """When the first statement runs, the intent is the newest record."""
    lab = Lab(a="%%step a\nseen = look()")
    seen = []
    lab.tools["look"] = lambda: seen.append(lab.records(k.run_id))
    k = lab.kernel()
    k.go()

    assert seen == [["claim", "intent"]]


def test_what_is_acknowledged_survives_a_power_cut():
    """All that a later kernel needs was made durable before the cell returned."""
    lab = chain(p="k = [7]", d="%%step d\nw = k + x")
    lab.kernel().go()
    lab.backend.lose_power()
    k = lab.kernel()

    assert k.go() == []
    assert k["w"] == [7, 1]


def test_nothing_runs_when_the_intent_cannot_be_written():
    """A full disk stops the cell before its body."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    lab.backend.fail_at("create", 2, Unavailable("the disk is full"))

    assert k.run("a").error.kind is ErrorKind.UNAVAILABLE
    assert lab.ledger == []
    assert k.go() == ["a"]


def test_a_name_used_by_another_cell_is_refused():
    """The second cell with a NAME is not taken for the first one."""
    lab = Lab(one="%%step load\nx = 1", two="%%step load\ny = 2")
    k = lab.kernel()

    assert k.go() == ["load"]
    assert k.last.error.kind is ErrorKind.DUPLICATE_NAME
    assert "%%step OTHER_NAME" in k.last.text
    assert k.restart().go() == []


@pytest.mark.parametrize("first", ["one", "two"])
def test_a_name_is_unique_without_regard_to_case(first):
    """Load and load are one name, whichever ran first."""
    lab = Lab(one="%%step Load\nx = 1", two="%%step load\ny = 2")
    k = lab.kernel()
    second = "two" if first == "one" else "one"
    ran = k.go(first)
    if ran:
        assert k.run(second).error.kind is ErrorKind.DUPLICATE_NAME
    else:
        assert k.last.error.kind is ErrorKind.DUPLICATE_NAME


def test_the_cell_that_owns_a_name_keeps_it():
    """A copy pasted above the original does not take its name."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    lab.insert("a", copy="%%step a\nx = 1")

    assert k.run("copy").error.kind is ErrorKind.DUPLICATE_NAME
    assert k.run("a").how == "replayed"


def test_a_step_inside_a_step_is_refused():
    """A step that is started by another one's body does not run."""
    lab = Lab(a="%%step a\nx = nest()", b="%%step b\ny = 1")
    inner = []
    lab.tools["nest"] = lambda: inner.append(k.run("b")) or 5
    k = lab.kernel()
    k.go("a")

    assert inner[0].error.kind is ErrorKind.REFUSED
    assert "inside step a" in str(inner[0].error)
    assert lab.ledger == ["a"]
    assert k.session.stepper.running is None


def test_comments_above_the_header_are_fine():
    """The step is found below them."""
    lab = Lab(a="# my notes\n\n%%step a\nx = 1")

    assert lab.kernel().go() == ["a"]


def test_a_cell_that_is_not_in_the_saved_file_counts_as_the_last_one():
    """It runs with what all the others made."""
    lab = chain()
    k = lab.kernel()
    k.go()

    assert k.run("new", "%%step new\nn = (x, y, z)").how == "ran"
    assert k["n"] == ([1], [1, 2], 2)


def test_without_a_saved_notebook_the_first_intents_tell_the_order():
    """A notebook whose file nobody knows works too, and replays."""
    lab = chain()
    lab.notebook.is_known = False
    lab.notebook.path = ""
    k = lab.kernel(run_id="0" * 16)
    assert k.go("a", "b", "c") == ["a", "b", "c"]

    k = lab.kernel(run_id="0" * 16)

    assert k.go("a", "b", "c") == []
    assert k.view().order == "the order in which steps first ran"


# -- a step under a new name ----------------------------------------------------


def test_equal_work_under_a_new_name_is_the_same_step():
    """It is renamed and told, and does not run."""
    lab = chain()
    k = lab.kernel()
    k.go()
    lab.edit(b="%%step better\ny = x + [2]")

    assert k.go() == []
    assert "step b is called better now" in "\n".join(k.screen.said)
    assert [step.name for step in k.view().steps] == ["a", "better", "c"]
    k = k.restart()
    assert k.go() == []
    assert k["y"] == [1, 2]


def test_other_work_under_a_new_name_is_a_new_step():
    """It runs; the former step stays as it was."""
    lab = chain()
    k = lab.kernel()
    k.go()
    lab.edit(b="%%step better\ny = x + [3]")

    assert k.go() == ["better", "c"]
    assert k.state("b") is State.ORPHANED


def test_a_copy_under_another_name_is_not_the_same_step():
    """While the former cell carries its name, another cell's name is new."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    lab.edit(a2="%%step a2\nx = 1")

    assert k.go() == ["a2"]


def test_a_step_with_effects_under_another_name_is_refused():
    """The refusal says both ways out: rename, or rerun as a new step."""
    lab = Lab(mail="%%step mail --effects\nsent = 1")
    k = lab.kernel()
    k.go()
    lab.edit(mail="%%step post --effects\nsent = 2")

    refused = k.run("mail")

    assert refused.error.kind is ErrorKind.LOCKED
    assert "%steps rename mail post" in refused.text
    assert "%steps rerun post" in refused.text
    assert lab.ledger == ["mail"]


def test_a_renamed_step_with_effects_carries_its_commit():
    """After ``%steps rename`` it is locked under the new name."""
    lab = Lab(mail="%%step mail --effects\nsent = 1")
    k = lab.kernel()
    k.go()
    lab.edit(mail="%%step post --effects\nsent = 1")
    k.parts.recovery.rename("mail", "post")

    assert k.go() == []
    lab.edit(mail="%%step post --effects\nsent = 2")
    assert k.run("mail").error.kind is ErrorKind.LOCKED


def test_a_new_step_in_the_cell_of_one_with_effects_runs_when_a_person_says_so():
    """``%steps rerun`` says that it is a new step."""
    lab = Lab(mail="%%step mail --effects\nsent = 1")
    k = lab.kernel()
    k.go()
    lab.edit(mail="%%step post --effects\nsent = 2")
    k.run("mail")
    k.parts.recovery.rerun("post", because="another letter")

    assert k.go() == ["post"]


# -- committed, nothing changed -------------------------------------------------


@pytest.mark.parametrize("fresh", [False, True])
def test_a_committed_unchanged_step_replays(fresh):
    """The body does not start and the journal does not grow, in any kernel."""
    lab = chain()
    k = lab.kernel()
    k.go()
    before = dict(lab.backend.files)
    if fresh:
        k = k.restart()

    assert k.go() == []

    assert lab.backend.files == before
    assert (k["x"], k["y"], k["z"]) == ([1], [1, 2], 2)
    assert all("[restored]" in line for line in k.screen.said)


def test_what_a_step_showed_is_shown_again():
    """Its output is replayed, also if it showed nothing."""
    lab = Lab(a="%%step a\nprint('one')\nprint('two')", b="%%step b\nx = 1")
    k = lab.kernel()
    k.go()
    k = k.restart()
    k.go()

    assert k.screen.restored == [Stream(name="stdout", text="one\ntwo\n")]


def test_a_step_without_outputs_replays():
    """There is nothing to bind, and it does not run again."""
    lab = Lab(a="%%step a\nprint('done')")
    k = lab.kernel()
    k.go()

    assert k.restart().go() == []


def test_a_deleted_name_stays_deleted():
    """Replay deletes what the step deleted."""
    lab = Lab(a="%%step a\nraw = [1]", b="%%step b\nn = len(raw)\ndel raw")
    k = lab.kernel()
    k.go()
    assert k.go() == []
    assert "raw" not in k
    k = k.restart()

    assert k.go() == []
    assert "raw" not in k
    assert k["n"] == 1


def test_a_replayed_step_imports_again():
    """An import acts on the process, whether or not its name is read."""
    lab = Lab(a="%%step a\nimport json\nx = 1")
    k = lab.kernel()
    k.go()
    k = k.restart()
    k.go()

    assert k["json"].__name__ == "json"


def test_a_module_that_is_gone_is_told():
    """A replay without it goes on, and says so."""
    lab = Lab(
        a="%%step a\ntry:\n    import nowhere_to_be\nexcept ImportError:\n    x = 1"
    )
    k = lab.kernel()
    k.go()
    k = k.restart()

    assert k.go() == []
    assert "imported nowhere_to_be, which is not here" in "\n".join(k.screen.said)


def test_aliases_between_steps_are_kept():
    """Names that shared an object share it after a restart."""
    lab = Lab(
        a="%%step a\nL = [1]", b="%%step b\nd = {'x': L}", c="%%step c\nL.append(2)"
    )
    k = lab.kernel()
    k.go()
    k = k.restart()

    assert k.go() == []
    assert k["d"]["x"] is k["L"]
    assert k["L"] == [1, 2]


def test_instances_know_their_class():
    """A class of a plain cell and one of a step both come back as one object."""
    lab = Lab(
        p="class P:\n    pass",
        a="%%step a\nclass Q:\n    pass\npq = (P(), Q())",
        b="%%step b\nok = isinstance(pq[0], P) and isinstance(pq[1], Q)",
    )
    k = lab.kernel()
    k.go()
    assert k.go() == []
    assert type(k["pq"][0]) is k["P"]
    k = k.restart()

    assert k.go() == []
    assert type(k["pq"][0]) is k["P"]
    assert type(k["pq"][1]) is k["Q"]


# -- something changed ----------------------------------------------------------


def test_an_edited_step_runs_with_the_reason_and_the_last_duration():
    """One line says why, and how long it took."""
    lab = chain()
    lab.tools["work"] = lambda: lab.clock.advance(3.2)
    lab.edit(b="%%step b\nwork()\ny = x + [2]")
    k = lab.kernel()
    k.go()
    lab.edit(b="%%step b\nwork()\ny = x + [3]")

    assert k.go("a", "b") == ["b"]
    assert "step b runs again: its code changed (last time 3.2 s)" in k.screen.said
    assert k.commits("b").commit_number == 2


def test_a_changed_input_makes_a_step_run():
    """An edit above is felt below, step by step."""
    lab = chain()
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\nx = [1, 1]")

    assert k.go() == ["a", "b", "c"]
    assert k["z"] == 3
    assert any("b runs again: x changed" in line for line in k.screen.said)


def test_a_changed_helper_makes_its_callers_run():
    """Functions are values; the names that they use are inputs too."""
    lab = Lab(
        p="k = 1\ndef inner(v):\n    return v + k",
        q="def outer(v):\n    return inner(v) * 2",
        a="%%step a\nx = outer(1)",
        b="%%step b\ny = 1",
    )
    k = lab.kernel()
    k.go()
    assert k.go() == []
    lab.edit(p="k = 2\ndef inner(v):\n    return v + k")

    assert k.go() == ["a"]
    assert k["x"] == 6
    assert k.restart().go() == []


NO_CHANGE = {
    "comments and blank lines": "%%step b\n# a note\n\ny = x + [2]   # more",
    "comments above the header": "# a note\n%%step b\ny = x + [2]",
    "other spaces and quotes": "%%step b\ny = (x+[2])",
    "a policy flag": "%%step b --retry\ny = x + [2]",
    "another declaration": "%%step b --pure\ny = x + [2]",
    "--effects typed later": "%%step b --effects\ny = x + [2]",
}


@pytest.mark.parametrize("source", NO_CHANGE.values(), ids=NO_CHANGE)
def test_what_is_no_change(source):
    """Comments, blanks, tags and policy flags do not cost a rerun."""
    lab = chain()
    k = lab.kernel()
    k.go()
    lab.edit(b=source)

    assert k.go() == []
    assert k.restart().go() == []


def test_cell_order_is_no_change():
    """Steps that do not depend on each other may stand in any order."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = 2", c="%%step c\nz = x + y")
    k = lab.kernel()
    k.go()
    lab.reorder("b", "a", "c")

    assert k.go() == []


def test_order_of_in_place_changes_is_a_change():
    """Where a value depends on the order, the order counts."""
    lab = Lab(
        a="%%step a\nL = [1]", b="%%step b\nL.append(2)", c="%%step c\nL.append(3)"
    )
    k = lab.kernel()
    k.go()
    lab.reorder("a", "c", "b")

    assert k.go() == ["c", "b"]
    assert k["L"] == [1, 3, 2]
    k = k.restart()
    assert k.go() == []
    assert k["L"] == [1, 3, 2]


def test_an_edit_that_was_undone_makes_the_older_commit_current():
    """It is one record for each step that was made for it, and nothing runs."""
    lab = chain()
    k = lab.kernel()
    k.go()
    first = lab.notebook.sources["b"]
    lab.edit(b="%%step b\ny = x + [5]")
    assert k.go() == ["b", "c"]
    lab.edit(b=first)
    count = len(lab.records(k.run_id))

    assert k.go() == []

    assert lab.records(k.run_id)[count:] == ["made_current", "made_current"]
    assert k["y"] == [1, 2]
    assert "is current again" in "\n".join(k.screen.said)
    assert k.restart().go() == []


def test_an_old_commit_that_is_damaged_is_not_made_current():
    """The step runs instead."""
    lab = Lab(a="%%step a\nx = [1]")
    k = lab.kernel()
    k.go()
    group = k.commits("a").manifest.group
    lab.edit(a="%%step a\nx = [2]")
    k.go()
    lab.edit(a="%%step a\nx = [1]")
    k = k.restart()
    for key in list(lab.backend.files):
        if f"/{group}/pack" in key:
            lab.backend.files[key] = b""

    assert k.go() == ["a"]


def test_an_edit_undone_after_many_commits_is_found_in_the_chain():
    """A commit that is not in the folded state any more still counts."""
    lab = Lab(a="%%step a\nx = 0")
    k = lab.kernel()
    for n in range(8):
        lab.edit(a=f"%%step a\nx = {n}")
        assert k.go() == ["a"]
    lab.edit(a="%%step a\nx = 0")

    assert k.go() == []
    assert k["x"] == 0
    other = lab.kernel()
    assert other.go() == []
    k = k.restart()
    assert k.go() == []
    assert k["x"] == 0


def test_an_equal_output_makes_nothing_stale():
    """It keeps its version and its object id; what held it holds the new one."""
    lab = Lab(a="%%step a\nL = [1]", b="%%step b\nd = {'x': L}")
    k = lab.kernel()
    k.go()
    before = k.commits("a").outputs["L"]
    lab.edit(a="%%step a\nL = list((1,))")

    assert k.go() == ["a"]

    assert k.commits("a").outputs["L"] == before
    assert k["d"]["x"] is k["L"]
    k = k.restart()
    assert k.go() == []
    assert k["d"]["x"] is k["L"]


def test_a_step_named_by_after_is_an_input():
    """Its key counts: an edit of it makes the later one run, a repeat does not."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b --after a\ny = 1")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\nx = 2")
    assert k.go() == ["a", "b"]
    assert "step a (--after) was run again" in "\n".join(k.screen.said)


def test_an_always_step_does_not_make_its_followers_stale():
    """Equal keys of the named commits mean that nothing changed."""
    lab = Lab(a="%%step a --always\nx = 1", b="%%step b --after a\ny = 1")
    k = lab.kernel()
    k.go()

    assert k.go() == ["a"]


def test_after_an_uncommitted_step_is_refused():
    """The step that is waited for has to be committed first."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b --after a\ny = 1")
    k = lab.kernel()

    assert k.run("b").error.kind is ErrorKind.NOT_COMMITTED
    assert "Run step a first" in k.last.text


def test_an_in_place_always_step_starts_from_its_position():
    """Run All twice appends once."""
    lab = Lab(a="%%step a\nL = [1]", b="%%step b --always\nL.append(2)")
    k = lab.kernel()
    k.go()

    assert k.go() == ["b"]
    assert k.go("b") == ["b"]
    assert k["L"] == [1, 2]


def test_a_name_that_the_edited_step_no_longer_sets_is_gone():
    """Outputs of the earlier run go before the step runs again."""
    lab = Lab(
        p="flag = True",
        a="%%step a\nif flag:\n    y = 1\nz = 2",
        b="%%step b\nw = 'y' in globals()",
    )
    k = lab.kernel()
    k.go()
    assert k["w"] is True
    lab.edit(p="flag = False")
    k.go()

    assert "y" not in k
    assert k["w"] is False
    k = k.restart()
    assert k.go() == []
    assert "y" not in k


ODD = "class Odd:\n    def __reduce__(self):\n        raise TypeError('no')\n"


def test_what_cannot_be_compared_makes_the_step_run():
    """The reason says which name cannot be compared."""
    lab = Lab(p=f"{ODD}g = Odd()", a="%%step a\nx = type(g).__name__")
    k = lab.kernel()
    assert k.go() == ["a"]
    k = k.restart()

    assert k.go() == ["a"]
    assert "cannot compare g" in "\n".join(k.screen.said)


def test_a_plain_value_that_a_step_used_up_is_not_taken_away():
    """It cannot be brought back, so the step is refused until its cell has run."""
    lab = Lab(p="g = (v for v in [1, 2])", a="%%step a\nx = list(g)")
    k = lab.kernel()
    assert k.go() == ["a"]

    assert k.run("a").error.kind is ErrorKind.OUT_OF_POSITION
    assert "run its cell again" in k.last.text
    assert "g" in k
    assert k.go() == []
    assert k["x"] == [1, 2]


def test_a_damaged_commit_runs_again():
    """What was told is what is missing; nothing is restored from it."""
    lab = chain()
    k = lab.kernel()
    k.go()
    group = k.commits("b").manifest.group
    k = k.restart()
    for key in list(lab.backend.files):
        if f"/{group}/pack" in key:
            lab.backend.files[key] = lab.backend.files[key][:10]

    assert k.go() == ["b"]
    assert "step b is damaged" in "\n".join(k.screen.said)
    assert k["z"] == 2


def test_a_flipped_bit_is_never_restored():
    """A payload that is not what its digest says counts as damaged."""
    lab = Lab(a="%%step a\nx = [1234567]")
    k = lab.kernel()
    k.go()
    group = k.commits("a").manifest.group
    k = k.restart()
    for key, data in list(lab.backend.files.items()):
        if f"/{group}/pack" in key and data[:1] != b"{":
            lab.backend.files[key] = bytes([data[0] ^ 1]) + data[1:]

    assert k.go() == []
    with pytest.raises(RefusedError, match="digest"):
        k["x"]
    assert k.go() == ["a"]
    assert k["x"] == [1234567]


def test_a_damaged_step_with_effects_is_refused():
    """It does not act again because its values are lost."""
    lab = Lab(a="%%step a --effects\nx = [1]")
    k = lab.kernel()
    k.go()
    group = k.commits("a").manifest.group
    k = k.restart()
    for key in list(lab.backend.files):
        if f"/{group}/pack" in key:
            lab.backend.files[key] = b""

    assert k.run("a").error.kind is ErrorKind.LOCKED


# -- effects --------------------------------------------------------------------


def test_a_committed_step_with_effects_never_runs_again_unasked():
    """Neither an edit nor a changed input lets it run; a person does."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b --effects\ny = x", c="%%step c\nz = y")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\nx = 2")

    assert k.go() == ["a"]
    assert k.last.error.kind is ErrorKind.LOCKED
    assert "x changed" in k.last.text
    k.parts.recovery.rerun("b", because="the first mail was wrong")
    assert k.go() == ["b", "c"]
    assert k["z"] == 2


def test_what_depends_on_a_locked_stale_step_uses_its_committed_outputs():
    """The step below replays or runs on what was committed."""
    lab = Lab(a="%%step a --effects\nx = 1", b="%%step b\ny = x")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a --effects\nx = 2", b="%%step b\ny = x + 10")
    k = k.restart()
    assert k.run("a").how == "refused"

    assert k.run("b").how == "ran"
    assert k["y"] == 11


# -- failure, interrupt, RAN ----------------------------------------------------


def test_an_exception_is_recorded_and_the_step_can_run_again():
    """The namespace is left as it is; the next run begins at the position."""
    lab = Lab(
        a="%%step a\nL = [1]",
        b="%%step b\nL.append(2)\nextra = 1\n"
        "if fails():\n    raise ValueError\nn = len(L)",
    )
    fails = [True]
    lab.tools["fails"] = lambda: fails[0]
    k = lab.kernel()
    k.go()
    assert k.last.how == "failed"
    assert k.state("b") is State.FAILED
    assert (k["L"], k["extra"]) == ([1, 2], 1)

    fails[0] = False
    assert k.go() == ["b"]

    assert (k["L"], k["n"]) == ([1, 2], 2)


def test_extra_names_of_a_failed_attempt_go():
    """What only the failed code set is not there for the next attempt."""
    lab = Lab(a="%%step a\nextra = 1\nraise ValueError")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a\nx = 'extra' in globals()")
    k.go()

    assert k["x"] is False
    assert "extra" not in k


def test_a_name_set_since_the_failure_is_not_rolled_back():
    """Only a value that is still the one the attempt left is taken away."""
    lab = Lab(a="%%step a\nk = 1\nraise ValueError", p="k = 5")
    k = lab.kernel()
    k.run("a")
    k.run("p")
    lab.edit(a="%%step a\ny = k")
    lab.reorder("p", "a")

    assert k.run("a").how == "ran"
    assert k["y"] == 5


def test_an_interrupt_is_a_failure_that_says_so():
    """Ctrl-C in the body is recorded as such."""
    lab = Lab(a="%%step a\nraise KeyboardInterrupt")
    k = lab.kernel()
    k.go()
    history = k.journal.state.step("a")

    assert history.attempt.failed.interrupted
    assert k.state("a") is State.FAILED


def test_a_cancelled_await_is_an_interrupt():
    """The front end knows no error then."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    lab.tools["x"] = 1
    lab.edit(a="%%step a\ncancel()")
    lab.tools["cancel"] = lambda: k.session.stepper.finish(None, finished=False)
    k = lab.kernel()
    k.run("a")
    history = k.journal.state.step("a")

    assert history.attempt.failed.error_type == "KeyboardInterrupt"


def test_finishing_without_a_step_does_nothing():
    """The end of a cell that was no step, or was fenced, is no outcome."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.session.stepper.finish(None, finished=True)

    assert lab.records(k.run_id) == []


def fail_next_commit(lab):
    """Let the disk be full when the next commit writes its payloads."""
    lab.backend.fail_at("write", 1, Unavailable("the disk is full"))


def test_a_failed_commit_is_ran_and_can_be_committed_again():
    """The finished body is not lost: ``%steps commit`` captures it."""
    lab = chain()
    k = lab.kernel()
    k.go("a")
    fail_next_commit(lab)
    failed = k.run("b")
    assert failed.how == "RAN"
    assert "%steps commit b" in failed.text
    assert k.state("b") is State.RAN
    assert k.step("b").remedy == "%steps commit b"

    record = k.session.stepper.commit_again("b")

    assert record.commit_number == 1
    assert k.go() == ["c"]
    assert k.restart().go() == []


def test_a_finished_body_that_was_changed_is_not_committed():
    """`%steps commit` takes only what the body left."""
    lab = chain(p="y.append(9)")
    k = lab.kernel()
    k.go("a")
    fail_next_commit(lab)
    k.run("b")
    k.run("p")

    with pytest.raises(Exception, match="y is no longer what the step left") as caught:
        k.session.stepper.commit_again("b")

    assert caught.value.kind is ErrorKind.REFUSED


def test_a_finished_body_whose_name_is_gone_is_not_committed():
    """A deleted name is no longer what the step left."""
    lab = chain(p="del y")
    k = lab.kernel()
    k.go("a")
    fail_next_commit(lab)
    k.run("b")
    k.run("p")

    with pytest.raises(Exception, match="y is no longer"):
        k.session.stepper.commit_again("b")


def test_a_step_that_is_ran_may_run_again_instead():
    """It begins at its position, not on what the lost body left."""
    lab = Lab(a="%%step a\nL = [1]", b="%%step b\nL.append(2)")
    k = lab.kernel()
    k.go("a")
    fail_next_commit(lab)
    k.run("b")

    assert k.go() == ["b"]
    assert k["L"] == [1, 2]


def test_only_the_kernel_that_holds_the_body_sees_ran():
    """To others it runs, and once the kernel is gone it was interrupted."""
    lab = chain()
    k = lab.kernel()
    k.go("a")
    fail_next_commit(lab)
    k.run("b")
    other = lab.kernel()
    assert other.state("b") is State.RUNNING
    k.kill()

    assert other.state("b") is State.INTERRUPTED
    with pytest.raises(Exception, match="holds no finished") as caught:
        other.session.stepper.commit_again("b")
    assert caught.value.kind is ErrorKind.NOT_COMMITTED


def test_a_failed_capture_forgets_what_it_took_for_stored():
    """The second try writes everything that the first one did not."""
    lab = chain()
    k = lab.kernel()
    k.go("a")
    lab.backend.fail_at("seal", 1, Unavailable("the disk is full"))
    k.run("b")
    k.session.stepper.commit_again("b")
    k = k.restart()

    assert k.go() == ["c"]
    assert k["y"] == [1, 2]


def test_an_interrupt_during_the_commit_record_is_held_back():
    """The commit is whole; the interrupt arrives after it, and says nothing else."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.world.interrupts.comes_at = "committed"

    with pytest.raises(KeyboardInterrupt):
        k.run("a")

    assert lab.records(k.run_id) == ["claim", "intent", "committed"]
    assert k.state("a") is State.COMMITTED
    assert k.go() == []
    with pytest.raises(Exception, match="holds no finished"):
        k.session.stepper.commit_again("a")
    assert k.restart().go() == []


def test_an_interrupt_after_the_body_is_ran():
    """What the body did was looked at in full; ``%steps commit`` commits it."""
    lab = Lab(a="%%step a\nL = [1]", b="%%step b\nL.append(2)")
    k = lab.kernel()
    k.go("a")
    k.world.interrupts.comes_at = "looked"

    interrupted = k.run("b")

    assert interrupted.how == "RAN"
    assert k.session.stepper.commit_again("b").in_place == ["L"]
    assert k.restart().go() == []


def test_a_record_that_was_written_although_the_disk_failed_counts_once():
    """``%steps commit`` finds it and writes no second one."""
    lab = chain()
    k = lab.kernel()
    k.go("a")
    lab.backend.fail_at("create", 2, Unavailable("lost reply"), late=True)
    assert k.run("b").how == "RAN"

    record = k.session.stepper.commit_again("b")

    assert record.commit_number == 1
    assert lab.records(k.run_id).count("committed") == 2
    assert k.go() == ["c"]


def test_a_record_that_was_written_counts_although_its_names_have_moved_on():
    """The step below starts from what was committed."""
    lab = chain(p="y.append(9)")
    k = lab.kernel()
    k.go("a")
    lab.backend.fail_at("create", 2, Unavailable("lost reply"), late=True)
    k.run("b")
    k.run("p")

    assert k.session.stepper.commit_again("b").step == "b"
    assert k.run("c").error.kind is ErrorKind.OUT_OF_POSITION
    assert k.restart().go("a", "b", "c") == ["c"]


def test_a_publication_that_cannot_be_prepared_stops_no_commit():
    """The record stands all the same; the next claim publishes it."""
    lab = Lab(a="%%step a\nx = [1]")
    k = lab.kernel()
    stage = lab.backend.stage

    def full(documents):
        raise Unavailable("the disk is full")

    lab.backend.stage = full
    assert k.run("a").how == "ran"
    assert "is committed, but its zarr metadata was not written" in k.last.text
    lab.backend.stage = stage

    group = f"data.zarr/{k.run_id}/{k.commits('a').manifest.group}/zarr.json"
    assert group not in lab.backend.files
    k = k.restart()
    assert k.go() == []
    lab.edit(b="%%step b\ny = 1")
    k.go()
    assert group in lab.backend.files


def test_a_commit_that_cannot_be_published_is_a_commit():
    """Its zarr metadata is derived: it is told, and the next claim writes it."""
    lab = Lab(a="%%step a\nx = [1]")
    k = lab.kernel()
    lab.backend.fail_at("publish", 4, Unavailable("the disk is full"))

    assert k.run("a").how == "ran"
    assert "is committed, but its zarr metadata was not written" in k.last.text
    group = f"data.zarr/{k.run_id}/{k.commits('a').manifest.group}/zarr.json"
    assert group not in lab.backend.files
    k = k.restart()
    assert k.go() == []
    assert "the next claim writes it again" in "\n".join(k.screen.said)
    lab.edit(b="%%step b\ny = 1")
    k.go()
    assert group in lab.backend.files
