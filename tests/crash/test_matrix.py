"""The ladder of crash tests: each row of `rows.py` in each situation, and judged.

Points 24 to 29 and the rest of 36 are no single boundary; they are written out below.
"""

from collections import Counter
from pathlib import Path

import pytest
import rows
from rows import BEFORE, COMMITTED, CUT, DOUBT, FAILED
from scene import SITUATIONS, WORK, Scene

pytestmark = pytest.mark.kernel

ROOT = Path(__file__).resolve().parents[2]
CLASSES = {"plain": "", "effects": "--effects"}
LAST_POINT = 38
EFFECT_ABSENT = 8


def every(table, *, quick=frozenset()):
    """Return (row, situation, class) for each row; all but a few are long.

    A row whose body makes effects or is seen is played with no other declaration.
    """
    return [
        pytest.param(
            row,
            situation,
            options,
            id=f"{row.name}-{situation}-{name}",
            marks=[] if (row.title, situation) in quick else pytest.mark.long,
        )
        for row in table
        for situation in SITUATIONS
        if row.only in ("", situation)
        if situation == "first" or not row.is_like_another
        for name, options in CLASSES.items()
        if not (options and row in rows.OUTSIDE)
    ]


def before(scene: Scene) -> str:
    """Return the state of the step before the strike."""
    return scene.judge.states().get("work", "NEW")


def state_after(row, scene: Scene, former: str) -> str:
    """Return the state that the step must have after the strike."""
    cut = "AMBIGUOUS" if "--effects" in scene.options else "INTERRUPTED"
    states = {BEFORE: former, CUT: cut, COMMITTED: "COMMITTED", FAILED: "FAILED"}
    return (states | {DOUBT: "AMBIGUOUS"})[row.after]


def place(row, situation) -> int:
    """Return the cell at which it happens: a new run is claimed by its first step."""
    claims = row.fault.kind == "claim" or row.point == 2
    return 1 if claims and situation == "first" else WORK


QUICK = {
    ("before the claim", "first"),
    ("intent torn, half", "first"),
    ("intent visible, folder not flushed", "recovery"),
    ("in the body", "recovery-of-recovery"),
    ("write 5 of a large payload torn", "first"),
    ("committed flushed, not visible", "recovery"),
    ("committed visible, folder not flushed", "first"),
    ("not published", "recovery"),
}


@pytest.mark.parametrize(
    ("row", "situation", "options"), every(rows.KILLS, quick=QUICK)
)
def test_a_kernel_that_ends_there(play, row, situation, options):
    """Whatever ends the kernel at a boundary: nothing lost, doubled, wrongly shown."""
    scene = play(situation, options, row)
    former, marks = before(scene), scene.outside.marks().count("work")
    cell = place(row, situation)
    shell = scene.ready(cell)
    scene.at_mark("work", row.body)
    shell.arm(row.fault)
    scene.dies(shell, cell)

    scene.look()
    if row.after == COMMITTED:
        scene.acked.add("work")
    ran = scene.outside.marks().count("work") - marks
    scene.expect("marks of the body", row.marks, ran)
    expected = state_after(row, scene, former)
    if cell == WORK:
        scene.expect("state", expected, before(scene))
    scene.finish()
    again = 0 if row.after == COMMITTED else 1
    scene.expect(
        "marks at the end",
        marks + row.marks + again,
        scene.outside.marks().count("work"),
    )


QUICK_OUTSIDE = {
    ("note flushed, not visible", "first"),
    ("note visible, folder not flushed", "recovery"),
    ("effect_opened torn, half", "first"),
    ("effect_opened durable, nobody told", "first"),
    ("in the effect", "recovery"),
    ("in an idempotent effect", "recovery-of-recovery"),
    ("effect_done flushed, not visible", "first"),
    ("effect_done visible, folder not flushed", "recovery"),
    ("between two effects", "first"),
}


@pytest.mark.parametrize(
    ("row", "situation", "options"), every(rows.OUTSIDE, quick=QUICK_OUTSIDE)
)
def test_a_kernel_that_ends_around_a_call(play, row, situation, options):
    """A call that may have been made is in doubt; one on record is never repeated."""
    scene = play(situation, options, row)
    former = scene.acted()
    shell = scene.ready()
    scene.at_mark(row.mark, row.body)
    shell.arm(row.fault)
    scene.dies(shell)

    scene.look()
    is_idempotent = row.code == rows.IDEMPOTENT
    acted = 0 if is_idempotent and former else row.marks
    scene.expect("calls", former + acted, scene.acted())
    expected = state_after(row, scene, "")
    if row.point == EFFECT_ABSENT and former:
        # the call of the attempt before was allowed once, and is as open as it was
        expected = "AMBIGUOUS"
    scene.expect("state", expected, before(scene))
    scene.finish()
    scene.expect("calls at the end", former + acted + row.again, scene.acted())


QUICK_LOOPS = {
    ("progress torn, half", "first"),
    ("progress visible, folder not flushed", "recovery"),
}


@pytest.mark.parametrize(
    ("row", "situation", "options"), every(rows.LOOPS, quick=QUICK_LOOPS)
)
def test_a_kernel_that_ends_in_a_loop(play, row, situation, options):
    """The loop goes on at whatever progress is there, and its step commits once."""
    scene = play(situation, options, row)
    shell = scene.ready()
    marks = scene.outside.marks().count("work")
    shell.arm(row.fault)
    scene.dies(shell)

    scene.look()
    ran = scene.outside.marks().count("work") - marks
    scene.expect("marks of the body", row.marks, ran)
    scene.expect("state", state_after(row, scene, ""), before(scene))
    scene.finish()
    scene.expect(
        "marks at the end", marks + 2 * row.marks, scene.outside.marks().count("work")
    )


@pytest.mark.parametrize(
    ("row", "situation", "options"),
    every(rows.FAILURES, quick={("ENOSPC payload write 3", "first")}),
)
def test_a_device_that_fails_there(play, row, situation, options):
    """A failing disk acknowledges nothing, and the store stays readable."""
    scene = play(situation, options, row)
    cell = place(row, situation)
    shell = scene.ready(cell)
    marks = scene.outside.marks().count("work")
    said = scene.armed(shell, row.fault, cell)

    scene.expect("the reply", False, said.ok)
    scene.expect(
        "marks of the body", row.marks, scene.outside.marks().count("work") - marks
    )
    scene.look()
    if row.marks:
        again = shell.run("%steps commit work", "x")
        scene.expect("the second try", "", again.error)
        scene.acked.add("work")
    else:
        for number in range(cell, WORK + 1):
            said = scene.run(shell, number)
            if "--effects" in options and "in doubt" in said.error:
                # the intent is there although the disk said no
                shell.run("%steps resolve work retry --because disk", "x")
                said = scene.run(shell, number)
            scene.expect("the second try", "", said.error)
    scene.expect("marks of both", marks + 1, scene.outside.marks().count("work"))
    shell.kill()
    scene.finish()


@pytest.mark.parametrize(
    ("row", "situation", "options"),
    every(rows.LOST_REPLIES, quick={("taken, said the store of intent", "first")}),
)
def test_a_store_whose_reply_is_lost(play, row, situation, options):
    """A writer knows its own record again: one revision, and nothing runs twice."""
    scene = play(situation, options, row)
    cell = place(row, situation)
    shell = scene.ready(cell)
    marks = scene.outside.marks().count("work")
    said = scene.armed(shell, row.fault, cell)
    scene.expect("the reply", "", said.error)
    for number in range(cell + 1, WORK + 1):
        scene.expect("the reply", "", scene.run(shell, number).error)

    scene.look()
    scene.expect("marks", marks + 1, scene.outside.marks().count("work"))
    shell.kill()
    scene.finish()


def test_every_point_has_a_row():
    """Each point of the ladder is run, here or elsewhere."""
    tables = (rows.KILLS, rows.OUTSIDE, rows.LOOPS, rows.FAILURES, rows.LOST_REPLIES)
    run = {row.point for table in tables for row in table}
    run |= {24, 25, 26, 27, 28, 29}

    others = [*rows.ELSEWHERE]
    assert run.isdisjoint(others)
    assert run | set(others) == set(range(1, LAST_POINT + 1))
    for told in rows.ELSEWHERE.values():
        path, name = told.split(": ")
        assert f"def {name}(" in (ROOT / path).read_text()


def test_every_event_is_used():
    """No audit event of the product is a point at which nothing was ever tried."""
    text = (ROOT / "docs" / "reference" / "audit-events.md").read_text()
    used = Counter(row.fault.event for row in (*rows.KILLS, *rows.FAILURES))
    # those of an import: tests/unit/compose/test_backups_killed.py
    used.update(("load", "place", "placed"))
    unused = [
        line.split("`")[1]
        for line in text.splitlines()
        if line.startswith("| `nbresume.")
        and not used[line.split("`")[1].removeprefix("nbresume.")]
    ]

    assert unused == []
