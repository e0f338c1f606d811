"""The one read model: what people see of a run in every state."""

import json

import msgspec
import pytest
from unit.run.fakes import FakeLiveness, Lab
from unit.run.views import GOLDEN, TOLD
from unit.run.write_goldens import (
    FOLDER,
    SCHEMA,
    TOLD_FOLDER,
    as_text,
    golden,
    golden_told,
)

from nbresume.model.states import State
from nbresume.plan.planner import Verdict
from nbresume.run.view import RunView, schema


@pytest.mark.parametrize("name", GOLDEN)
def test_a_view_is_the_golden_one(name):
    """The same files are read by the tests of every face."""
    assert (FOLDER / f"{name}.json").read_text() == golden(GOLDEN[name]())


@pytest.mark.parametrize("name", TOLD)
def test_what_is_told_of_a_step_is_the_golden_one(name):
    """The page's parsers read the same files."""
    assert (TOLD_FOLDER / f"{name}.json").read_text() == golden_told(TOLD[name]())


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda p: p.stem)
def test_a_golden_view_can_be_read(path):
    """It has the shape of the schema, and comes back as it was."""
    view = RunView.from_json(path.read_bytes())

    assert path.stem in GOLDEN
    assert json.loads(view.to_json()) == json.loads(path.read_text())


def test_the_golden_views_show_every_state():
    """But one that is not derived from records: damage is told when it is met."""
    views = [RunView.from_json(p.read_bytes()) for p in FOLDER.glob("*.json")]
    seen = {step.state for view in views for step in view.steps}

    assert seen == set(State) - {State.QUARANTINED}
    assert {step.plan for view in views for step in view.steps} == set(Verdict)


def test_the_schema_file_is_the_schema():
    """Who reads views in another language relies on it."""
    assert SCHEMA.read_text() == as_text(schema())


def test_an_unknown_field_is_refused():
    """A view of a later release is not half understood."""
    data = json.loads((FOLDER / "new.json").read_text()) | {"later": 1}

    with pytest.raises(msgspec.ValidationError):
        RunView.from_json(json.dumps(data).encode())


def chain():
    """Return a kernel in which three steps are committed."""
    lab = Lab(
        a="%%step a\nx = 1", b="%%step b\ny = x", c="%%step c --after b\nz = 1", d="1"
    )
    k = lab.kernel()
    k.go()
    return lab, k


def reasons(k):
    """Return step → (plan, reasons)."""
    return {step.name: (str(step.plan), step.reasons) for step in k.view().steps}


def test_an_edit_is_foreseen_through_the_steps_below():
    """The plan says what may run, and why, before anything runs."""
    lab, k = chain()
    lab.edit(a="%%step a\nx = 2")

    assert reasons(k) == {
        "a": ("rerun", ["its code changed"]),
        "b": ("rerun", ["x may change: step a runs"]),
        "c": ("rerun", ["step b (--after) runs"]),
    }
    assert k.view().headline == "0 of 3 steps locked; goes on at a"


def test_an_input_that_has_moved_is_named():
    """The step above has run; those below are stale now."""
    lab, k = chain()
    lab.edit(a="%%step a\nx = 2")
    k.go("a")

    assert reasons(k)["b"] == ("rerun", ["x changed"])
    assert k.view().headline == "1 of 3 steps locked; goes on at b"


def test_a_plain_cells_change_is_no_reason():
    """The input was made of exactly the version that stands above."""
    lab = Lab(a="%%step a\nL = [1]", p="L.append(2)", b="%%step b\nn = len(L)")
    k = lab.kernel()
    k.go()

    assert reasons(k)["b"] == ("replay", [])


def test_an_input_that_no_step_makes_any_more_is_not_judged():
    """Whether a plain cell makes it is known when the step runs."""
    lab, k = chain()
    lab.delete("a")
    lab.insert("b", p="x = 1")

    assert reasons(k)["b"] == ("replay", [])


def test_a_comment_is_no_reason():
    """The code version is that of the code."""
    lab, k = chain()
    lab.edit(a="%%step a\n# a note\nx = 1")

    assert reasons(k)["a"] == ("replay", [])


def test_a_body_with_magics_is_not_judged():
    """Its version is known when it runs."""
    lab, k = chain()
    lab.edit(a="%%step a\n%time x = 1")

    assert reasons(k)["a"] == ("replay", [])


def test_a_rerun_that_was_asked_for_is_in_the_plan():
    """So is a step that runs each time."""
    lab, k = chain()
    k.parts.recovery.rerun("a", because="asked for")
    assert k.step("a").plan is Verdict.RERUN

    lab.edit(a="%%step a --always\nx = 1")
    k.go("a")
    assert k.step("a").plan is Verdict.RERUN
    assert k.step("a").locked


def test_a_stale_step_with_effects_is_refused_until_a_person_says_so():
    """The remedy is the command."""
    lab = Lab(a="%%step a --effects\nx = 1")
    k = lab.kernel()
    k.go()
    lab.edit(a="%%step a --effects\nx = 2")
    step = k.step("a")
    assert (step.state, step.plan) == (State.STALE, Verdict.REFUSED)
    assert step.remedy == "%steps rerun a --because TEXT"
    assert k.view().headline.endswith("stopped at a, which is refused")

    k.parts.recovery.rerun("a", because="it was wrong")
    assert k.step("a").plan is Verdict.RERUN


def test_an_orphan_in_doubt_stays_in_doubt():
    """Deleting the cell settles nothing."""
    lab = Lab(m="%%step m --effects\ndie()", n="1")
    lab.kernel().go()
    lab.delete("m")
    step = lab.kernel().step("m")

    assert (step.state, step.plan, step.place) == (
        State.AMBIGUOUS,
        Verdict.REFUSED,
        -1,
    )


def test_a_step_that_is_known_by_its_commit_alone_is_listed():
    """Its intent was damaged, and its cell is gone."""
    lab, k = chain()
    lab.backend.files[f"journal/{k.run_id}/{1:010d}.rec"] = b"{"
    lab.delete("a")
    k = lab.kernel()
    step = k.step("a")

    assert (step.state, step.cell_id, step.attempts) == (State.ORPHANED, "", 0)


def test_a_view_reads_no_payload_and_no_namespace():
    """It needs the records alone."""
    lab, k = chain()
    for key in [key for key in lab.backend.files if key.startswith("data.zarr/")]:
        del lab.backend.files[key]

    assert lab.inspect(k.run_id).view().steps == k.view().steps


def test_a_view_asks_whether_a_process_lives_for_open_attempts_only(monkeypatch):
    """With a hundred committed steps it would ask the system a hundred times."""
    lab = Lab(**{f"c{n}": f"%%step s{n}\nx{n} = 1" for n in range(100)})
    k = lab.kernel()
    k.go()
    k = k.restart()
    asked = []
    alive = FakeLiveness.is_alive

    def counted(self, writer):
        asked.append(writer)
        return alive(self, writer)

    monkeypatch.setattr(FakeLiveness, "is_alive", counted)

    assert k.view().headline.startswith("100 of 100 steps locked")
    assert len(asked) < 5


def test_a_step_whose_input_has_no_maker_above_will_run():
    """The step that made it was deleted, or moved below: Run All runs this one."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = x", p="k = 2", c="%%step c\nz = k")
    k = lab.kernel()
    k.go()

    lab.reorder("b", "a", "p", "c")
    plans = {step.name: (step.plan, step.reasons) for step in k.view().steps}
    assert plans["b"] == (Verdict.RERUN, ["x is gone"])
    assert plans["c"] == (Verdict.REPLAY, [])

    lab.delete("a")
    plans = {step.name: (step.plan, step.reasons) for step in k.view().steps}
    assert plans["b"] == (Verdict.RERUN, ["x is gone"])
