"""The ladder catches what it is meant to catch: faults planted in real kernels.

A claim by the pid alone is planted in `test_ways.py`, faults of the store alone in
``tests/store/test_planted_faults.py``.
"""

import pytest
import rows
from faults import Fault
from judge import Verdict
from scene import Scene
from test_matrix import test_a_kernel_that_ends_around_a_call as around_a_call
from test_matrix import test_a_store_whose_reply_is_lost as lost_reply
from test_power import cut_everywhere, record
from test_scenes import test_26_killed_while_a_policy_decides as policy
from test_scenes import test_28_stopped_while_another_takes_over as stopped

pytestmark = pytest.mark.kernel

NO_FENCE = """
from nbresume.run.journal import Journal
Journal.check_fence = lambda self: None
"""

NO_FENCE_OF_EFFECTS = """
from nbresume.errors import FencedError
from nbresume.run.outcomes import Outcomes
opened = Outcomes.open
def unfenced(self, scope, call):
    try:
        opened(self, scope, call)
    except FencedError:
        call.started_s = self._world.clock.monotonic_s()
Outcomes.open = unfenced
"""

NOTED_LATER = """
import threading
from nbresume.run.journal import Journal
note = Journal.note
def later(self, *args):
    threading.Timer(0.3, note, (self, *args)).start()
Journal.note = later
"""

OPEN_IS_FREE = """
from nbresume.model.effects import EffectHistory
from nbresume.run import effects
EffectHistory.is_in_doubt = lambda self, now: False
effects.Effects._repeat = lambda self, scope, call, known: effects._Next.CALL
"""

SEEN_IS_NOTHING = """
from nbresume.model import histories
histories.held_against = lambda *facts: ""
"""

LOST_RACE = """
from nbresume.errors import ConflictError
from nbresume.store.chain import Chain
def lost(self, found, wanted, taken):
    raise ConflictError("lost") from taken
Chain._own = lost
"""

AUDIT_LAST = """
from nbresume.run.stepper import Stepper
def late(self, brought, passage, reason):
    parts = self._parts
    parts.claims.ensure(brought.standing.order)
    self._ran = None
    self._running = parts.intents.open(brought, passage, reason=reason)
    if passage.resolution is not None:
        parts.journal.decide(passage.resolution)
Stepper._open = late
"""

NO_FOLDER_FLUSH = """
from nbresume.store import disk
disk.flush_folder = lambda path: None
"""

NO_PAYLOAD_FLUSH = """
from nbresume.store import disk
flush = disk.NewFile.flush
def unflushed(self):
    if "/data.zarr/" not in self._path:
        flush(self)
disk.NewFile.flush = unflushed
"""

UNSETTLED = """
from nbresume.store.chain import Chain
Chain.settle = lambda self: None
"""


@pytest.fixture
def objections(stage, zygote):
    """Return what plays a scene of another test, with a fault, and is objected."""

    def found(plant, scene_of, *arguments):
        scenes = []

        def play(situation, options="", row=None):
            folder = stage / str(len(list(stage.iterdir())))
            folder.mkdir()
            scenes.append(Scene(folder, zygote, options, row))
            scenes[0].plant = plant
            return scenes[0]

        scene_of(play, *arguments)
        scenes[0].close()
        return scenes[0].verdict

    return found


def row_of(table, title):
    """Return the row of a title."""
    return next(row for row in table if row.title == title)


def test_an_append_without_a_fence_is_caught(objections):
    """A woken kernel that appends behind the claim of another is found out."""
    row = row_of(rows.STOPS, "intent flushed, not visible")

    assert objections("", stopped, row, "first", "") == Verdict()
    assert objections(NO_FENCE, stopped, row, "first", "").objections


@pytest.mark.parametrize(
    "title", ["before the effect is opened", "effect_opened flushed, not visible"]
)
def test_an_effect_without_a_fence_is_caught(objections, title):
    """A woken kernel that calls an effect behind the claim of another is found out."""
    row = row_of(rows.STOPS, title)

    assert objections("", stopped, row, "first", "") == Verdict()
    assert objections(NO_FENCE_OF_EFFECTS, stopped, row, "first", "").doubled


def test_a_note_after_the_call_is_caught(objections):
    """A call that goes out before its note is durable is found out."""
    row = row_of(rows.OUTSIDE, "in a call that was noted")

    assert objections("", around_a_call, row, "first", "") == Verdict()
    assert objections(NOTED_LATER, around_a_call, row, "first", "").doubled


@pytest.mark.parametrize(
    ("plant", "title"),
    [(OPEN_IS_FREE, "in the effect"), (SEEN_IS_NOTHING, "in a call that was noted")],
    ids=["an open effect", "a call that was seen"],
)
def test_a_doubt_that_is_passed_over_is_caught(objections, plant, title):
    """A step that goes on although its call may have been made is found out."""
    row = row_of(rows.OUTSIDE, title)
    doubled = objections(plant, around_a_call, row, "first", "").doubled

    assert any("before anybody decided" in objection for objection in doubled)


def test_a_lost_reply_taken_for_a_lost_race_is_caught(objections):
    """A writer that does not know its own record again is found out."""
    row = row_of(rows.LOST_REPLIES, "taken, said the store of intent")

    assert objections("", lost_reply, row, "first", "") == Verdict()
    assert objections(LOST_RACE, lost_reply, row, "first", "").objections


def test_an_audit_record_after_the_act_is_caught(objections):
    """A decision that is recorded after the attempt that it allows is found out."""
    row = ("before the decision", Fault("append", "resolution"), "AMBIGUOUS")

    assert objections("", policy, "first", *row) == Verdict()
    assert objections(AUDIT_LAST, policy, "first", *row).doubled


@pytest.mark.parametrize(
    ("plant", "fault"),
    [
        (NO_FOLDER_FLUSH, None),
        (NO_PAYLOAD_FLUSH, None),
        (UNSETTLED, Fault("linked", "committed")),
    ],
    ids=["no folder is", "no payload is", "another's record is not"],
)
def test_a_missing_flush_is_caught(tmp_path, zygote, plant, fault):
    """A commit whose name a power cut can take is found out."""
    recorded = record(zygote, tmp_path / "run", fault, plant=plant)

    assert cut_everywhere(recorded, zygote, step=10, parts=0).verdict.lost
