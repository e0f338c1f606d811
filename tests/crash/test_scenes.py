"""Points 24 to 29 and the rest of 36: more than one kernel, or no single boundary."""

import json

import pytest
import rows
from faults import Fault
from rows import BEFORE, COMMITTED, CUT, DOUBT
from scene import SITUATIONS, WORK, Dead
from test_matrix import CLASSES, every

pytestmark = pytest.mark.kernel

LONG = pytest.mark.long
BOTH = pytest.mark.parametrize("options", list(CLASSES.values()), ids=list(CLASSES))
ALL = pytest.mark.parametrize(
    "situation", ["first", *(pytest.param(s, marks=LONG) for s in list(SITUATIONS)[1:])]
)


def resolving(*more):
    """Return the boundaries of a resolution; all but two are long."""
    quick = (
        "resolution flushed, not visible",
        "resolution visible, folder not flushed",
    )
    return [
        pytest.param(*case, id=case[0], marks=[] if case[0] in quick else LONG)
        for case in (*rows.RESOLVING, *more)
    ]


@ALL
@BOTH
def test_24_killed_after_the_reply(play, situation, options):
    """Once the reply is out, the commit and its audit trail are there."""
    scene = play(situation, options)
    shell = scene.ready()
    said = scene.run(shell, WORK)
    shell.kill()

    scene.expect("the reply", "", said.error)
    scene.look()
    assert "committed as number 1" in scene.judge.command("history", "work")
    scene.finish()


@ALL
@BOTH
@pytest.mark.parametrize(
    "name", [1, pytest.param(2, marks=LONG), pytest.param(3, marks=LONG)]
)
def test_25_killed_while_a_name_is_restored(play, situation, options, name):
    """A restore that was cut off leaves nothing behind: the next one is complete."""
    scene = play(situation, options)
    shell = scene.ready()
    scene.run(shell, WORK)
    shell.kill()
    for _ in range(SITUATIONS[situation] + 1):
        shell = scene.kernel()
        shell.arm(Fault("load", nth=name))
        with pytest.raises(Dead):
            shell.run("%steps resume", "x")
        scene.look()

    scene.finish()


@ALL
@pytest.mark.parametrize(
    ("title", "fault", "after"),
    resolving(("before the intent", Fault("append", "intent"), "NEW")),
)
def test_26_killed_while_a_policy_decides(play, situation, title, fault, after):
    """A policy's decision is on record before the attempt that it allows."""
    scene = play(situation, "--effects --retry")
    scene.at_mark("work", "kill")
    scene.dies(scene.ready())
    marks = scene.outside.marks().count("work")
    shell = scene.ready()
    shell.arm(fault)
    scene.dies(shell)

    scene.look()
    scene.expect("state", after, scene.judge.states()["work"])
    scene.finish(settles=False)
    scene.expect("marks", marks + 1, scene.outside.marks().count("work"))


@ALL
@pytest.mark.parametrize("how", ["retry", "evidence", "abandon"])
@pytest.mark.parametrize(("title", "fault", "after"), resolving())
def test_27_killed_while_a_person_decides(play, situation, how, title, fault, after):
    """A step is in doubt or settled, never half; settled, there is who and why."""
    scene = play(situation, "--effects")
    scene.at_mark("work", "kill")
    scene.dies(scene.ready())
    marks = scene.outside.marks()
    shell = scene.kernel()
    shell.arm(fault)
    with pytest.raises(Dead):
        shell.run(f"%steps resolve work {how} --because looked", "x")

    scene.look()
    settled = {"retry": "NEW", "evidence": "COMMITTED", "abandon": "ABANDONED"}[how]
    expected = settled if after == "NEW" else after
    scene.expect("state", expected, scene.judge.states()["work"])
    scene.expect("marks", marks, scene.outside.marks())
    trail = [json.loads(path.read_bytes())["payload"] for path in scene.judge.files()]
    said = [payload for payload in trail if payload.get("because") == "looked"]
    assert all(payload["actor"] for payload in said)
    if expected == "COMMITTED":
        return
    scene.finish()


@pytest.mark.parametrize(
    ("row", "situation", "options"),
    every(
        rows.STOPS,
        quick={
            ("intent flushed, not visible", "first"),
            ("committed flushed, not visible", "first"),
            ("committed visible, folder not flushed", "first"),
        },
    ),
)
def test_28_stopped_while_another_takes_over(play, row, situation, options):
    """A kernel that wakes up fenced changes nothing that a reader can see."""
    scene = play(situation, options, row)
    old = scene.ready()
    scene.stop_at(old, row)
    new = scene.take_over()
    seen, records = scene.judge.visible(), len(scene.judge.files())
    old.go_on()
    said = old.answer()

    was_committed = row.after == COMMITTED
    scene.expect("the old one's reply", was_committed, said.ok)
    if row.after in (BEFORE, CUT, DOUBT):
        scene.expect("fenced", True, "fenced" in said.error)
    scene.expect("what is seen", seen, scene.judge.visible())
    scene.expect("records", records, len(scene.judge.files()))
    scene.look()
    again = scene.run(new, WORK)
    scene.expect("the new one's step", True, "[restored]" in again.text)
    old.kill()
    new.kill()
    scene.finish()


@pytest.mark.parametrize("number", range(3))
def test_29_four_kernels_claim_at_once(play, number):
    """Each epoch has one kernel, each revision one writer, each step one commit."""
    scene = play("first")
    shells = [scene.ready(1) for _ in range(4)]
    for shell in shells:
        shell.send(scene.cells[1], "c1")
    for shell in shells:
        scene.note(1, shell.answer())

    assert "load" in scene.acked
    scene.look()
    scene.expect("commits", 1, scene.judge.count("committed", "load"))
    scene.expect("marks", ["load"], scene.outside.marks())
    for shell in shells:
        shell.kill()
    scene.finish()


# -- the rest of point 36 ----------------------------------------------------------


@ALL
@BOTH
def test_36_the_namespace_is_emptied(play, situation, options):
    """After ``%reset`` the committed steps bind their names again."""
    scene = play(situation, options)
    shell = scene.ready()
    scene.run(shell, WORK)
    marks = scene.outside.marks()
    shell.run("%reset -f", "x")
    said = [scene.run(shell, number) for number in range(1, 5)]

    assert all(one.ok for one in said), said
    scene.expect("marks", [*marks, "end"], scene.outside.marks())
    scene.expect("total", "100", shell.look("total"))
    shell.kill()
    scene.finish()


@ALL
@BOTH
@pytest.mark.parametrize(
    "second",
    ["ended", pytest.param("write", marks=LONG), pytest.param("linked", marks=LONG)],
)
def test_36_interrupted_twice(play, situation, options, second):
    """Ctrl-C in the body, and again while that is recorded: failed or cut off."""
    scene = play(situation, options)
    shell = scene.ready()
    scene.at_mark("work", "interrupt")
    marks = scene.outside.marks().count("work") + 1
    kind = None if second == "ended" else "failed"
    said = scene.armed(shell, Fault(second, kind, action="interrupt"))

    scene.expect("an error", True, "KeyboardInterrupt" in said.error)
    shell.kill()
    scene.look()
    cut = "AMBIGUOUS" if options else "INTERRUPTED"
    assert scene.judge.states()["work"] in ("FAILED", cut)
    scene.finish()
    scene.expect("marks", marks + 1, scene.outside.marks().count("work"))
