"""What a body did, and how it becomes a commit."""

import json
import statistics
import sys

import pytest
from unit.run.fakes import Killed, Lab

from nbresume.errors import ErrorKind, RefusedError, Unavailable
from nbresume.model.states import State

REAL_MEAN = statistics.mean


def done(**cells):
    """Return a kernel in which all these steps have run."""
    k = Lab(**cells).kernel()
    k.go()
    assert k.last.how in ("ran", "replayed", "plain"), k.last
    return k


# -- what is written ------------------------------------------------------------


def test_new_names_names_bound_anew_and_changes_in_place_are_outputs():
    """And nothing that the body only read."""
    k = done(
        a="%%step a\nL = [1]\nd = {}\nx = 1\nread = [0]",
        b="%%step b\nL.append(2)\nd = {'k': 1}\nnew = read[0]\nx = 1",
    )
    record = k.commits("b")

    assert sorted(record.outputs) == ["L", "d", "new", "x"]
    assert record.in_place == ["L"]
    assert record.inputs.keys() == {"L", "read"}


def test_a_change_through_an_alias_is_an_output():
    """Every name that reaches the object is written."""
    k = done(a="%%step a\nL = [1]\nd = {'x': L}", b="%%step b\nd['x'].append(2)")

    assert k.commits("b").in_place == ["L", "d"]
    assert k.commits("b").inputs.keys() == {"d"}


def test_a_change_inside_a_function_is_an_output():
    """Through the globals that it uses."""
    k = done(
        p="def add(v):\n    L.append(v)",
        a="%%step a\nL = [1]",
        b="%%step b\nadd(2)",
    )

    assert k.commits("b").in_place == ["L"]
    assert k.restart().go() == []


def test_a_wild_cell_touches_everything():
    """What exec makes and changes is committed."""
    k = done(
        a="%%step a\nL = [1]",
        b="%%step b\nexec('L.append(2)\\nmade = 1')",
    )

    assert sorted(k.commits("b").outputs) == ["L", "made"]
    k = k.restart()
    assert k.go() == []
    assert (k["L"], k["made"]) == ([1, 2], 1)


def test_deleted_names_are_recorded():
    """So that a replay deletes them."""
    k = done(a="%%step a\nraw = [1]\nkept = 2", b="%%step b\ndel raw")

    assert k.commits("b").deleted == ["raw"]


def test_durations_and_sizes_are_recorded():
    """Wall and CPU seconds, and the bytes of the payloads."""
    lab = Lab(a="%%step a\nwork()\nx = 'a' * 5000")
    lab.tools["work"] = lambda: lab.clock.advance(3.0)
    k = lab.kernel()
    k.go()
    record = k.commits("a")

    assert (record.duration_s, record.cpu_s) == (3.0, 1.5)
    assert record.payload_bytes >= record.pack_bytes > 5000
    usage = k.journal.state.usage
    assert (usage.attempts, usage.wall_s, usage.cpu_s) == (1, 3.0, 1.5)
    assert usage.bytes == record.payload_bytes


def test_usage_counts_every_attempt():
    """A failed one too; nothing decreases."""
    lab = Lab(a="%%step a\nwork()\nif fails():\n    raise ValueError\nx = 1")
    lab.tools |= {"work": lambda: lab.clock.advance(2.0), "fails": lambda: fails[0]}
    fails = [True]
    k = lab.kernel()
    k.go()
    fails[0] = False
    k.go()

    assert k.view().usage.attempts == 2
    assert k.view().usage.wall_s == 4.0


def test_an_unchanged_object_is_not_written_again():
    """A commit refers to what an earlier one has stored."""
    k = done(
        a="%%step a\nbig = list(range(3000))",
        b="%%step b\nholder = {'big': big}",
    )

    assert k.commits("b").pack_bytes < k.commits("a").pack_bytes / 2


# -- what cannot be kept --------------------------------------------------------


def test_what_cannot_be_kept_is_named():
    """The step is committed without it, and says so with the remedy."""
    k = done(a="%%step a\ng = (v for v in [1])\nx = 1")

    assert k.commits("a").not_kept.keys() == {"g"}
    assert "committed without g (" in k.last.text
    assert "--always" in k.last.text
    assert k.step("a").not_kept.keys() == {"g"}


def test_what_holds_such_a_value_is_not_kept_either():
    """The reason names what it holds."""
    k = done(a="%%step a\ng = (v for v in [1])\nbox = [g]")

    assert k.commits("a").not_kept.keys() == {"g", "box"}


def test_a_closed_file_is_not_announced(tmp_path):
    """Every data cell leaves such a handle, and nobody misses it."""
    path = tmp_path / "v.txt"
    path.write_text("1")
    k = done(a=f"%%step a\nwith open({str(path)!r}) as fh:\n    v = fh.read()")
    assert k.last.said == []
    assert k.commits("a").not_kept.keys() == {"fh"}
    k = k.restart()
    k.go()

    assert k["v"] == "1"
    assert not any("fh" in line for line in k.screen.said)


def test_a_lost_value_of_this_kernel_stays_through_its_replay():
    """The object is good where it was made."""
    k = done(a="%%step a\ng = (v for v in [1])\nx = 1")
    value = k["g"]

    assert k.go() == []
    assert k["g"] is value


# -- limits ---------------------------------------------------------------------


def test_a_step_that_is_too_large_is_ran():
    """It says which names are largest; after ``del`` it can be run again."""
    lab = Lab(a="%%step a\nbig = b'x' * 3_000_000\nsmall = [1]")
    k = lab.kernel(max_step_bytes=1 << 20)
    k.go()

    assert k.last.how == "RAN"
    for part in ("too large to commit", "max_step_bytes is 1 MB", "%steps commit a"):
        assert part in k.last.text
    assert k.state("a") is State.RAN
    assert lab.kernel(max_step_bytes=1 << 30).journal.state.commit("a") is None


def test_a_large_list_is_named():
    """The largest names come first."""
    lab = Lab(a="%%step a\nbig = [b'x' * 2_000_000]\nsmall = [1]")
    k = lab.kernel(max_step_bytes=1 << 20)
    k.go()

    assert "largest: big (1 MB)" in k.last.text


# -- crash points ---------------------------------------------------------------


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(
    ("operation", "nth"),
    [
        ("create", 1),  # the claim
        ("publish", 1),  # the claim's copy
        ("create", 2),  # the intent
        ("write", 1),  # the payloads
        ("flush", 1),
        ("seal", 1),
        ("create", 3),  # the commit record
        ("publish", 2),  # the group
        ("publish", 3),
        ("publish", 4),
    ],
)
@pytest.mark.parametrize("power", ["stays", "is lost"])
def test_a_crash_at_any_point_loses_nothing_and_shows_nothing_twice(
    operation, nth, late, power
):
    """Committed is what has its record; everything else runs again."""
    lab = Lab(a="%%step a\nL = [1]", b="%%step b\nM = L + [2]")
    k = lab.kernel()
    lab.backend.fail_at(operation, nth, Killed(), late=late)
    assert k.run("a").how == "killed"
    if power == "is lost":
        lab.backend.lose_power()
    run_id = k.run_id
    k = lab.kernel(run_id=run_id)
    committed = "committed" in lab.records(run_id)
    bodies = len(lab.ledger)

    ran = k.go()

    assert ran == (["b"] if committed else ["a", "b"])
    assert bodies == len(lab.ledger) - len(ran)
    assert (k["L"], k["M"]) == ([1], [1, 2])
    assert lab.records(run_id).count("committed") == 2
    lab.backend.lose_power()
    k = lab.kernel(run_id=run_id)
    assert k.go() == []
    assert k["M"] == [1, 2]


def test_a_pack_that_no_record_will_name_is_taken_away():
    """Whatever goes wrong between its writing and its flush; the body is not lost."""
    lab = Lab(a="%%step a\nL = [1]")
    k = lab.kernel()

    def broken(documents):
        raise ValueError("a fault of ours")

    lab.backend.stage = broken
    assert k.run("a").how == "RAN"
    assert not [key for key in lab.backend.files if "/pack/" in key]


@pytest.mark.parametrize(
    ("operation", "nth"), [("write", 1), ("flush", 1), ("seal", 1), ("create", 3)]
)
def test_a_failing_device_leaves_the_step_ran(operation, nth):
    """Every write path raises; nothing is committed, and the body is not lost."""
    lab = Lab(a="%%step a\nL = [1]")
    k = lab.kernel()
    lab.backend.fail_at(operation, nth, Unavailable("the disk is full"))

    assert k.run("a").how == "RAN"
    assert k.last.error.kind is ErrorKind.CAPTURE
    assert k.session.stepper.commit_again("a").outputs.keys() == {"L"}
    assert k.restart().go() == []


def test_a_full_disk_is_seen_before_writing():
    """Nothing is written when there is no space."""
    lab = Lab(a="%%step a\nL = list(range(5000))")
    k = lab.kernel()
    lab.backend.free = 10

    assert k.run("a").how == "RAN"
    assert [k for k in lab.backend.files if k.startswith("data.zarr/")] == []
    lab.backend.free = None
    k.session.stepper.commit_again("a")
    assert k.state("a") is State.COMMITTED


def test_a_third_try_to_commit_works_too():
    """Each try writes a group of its own."""
    lab = Lab(a="%%step a\nL = [1]")
    k = lab.kernel()
    lab.backend.fail_at("create", 3, Unavailable("no"))
    lab.backend.fail_at("create", 4, Unavailable("no"))
    k.run("a")
    with pytest.raises(Exception, match="RAN but is not committed"):
        k.session.stepper.commit_again("a")

    record = k.session.stepper.commit_again("a")

    assert record.manifest.group == f"{record.attempt}-3"


def test_a_value_that_cannot_be_compared_is_not_committed_later():
    """Whether it is still what the body left, nobody can tell."""
    odd = "class Odd:\n    def __reduce__(self):\n        raise TypeError('no')\n"
    lab = Lab(a=f"%%step a\n{odd}o = Odd()")
    k = lab.kernel()
    lab.backend.fail_at("write", 1, Unavailable("no"))
    k.run("a")

    with pytest.raises(RefusedError, match="o is no longer"):
        k.session.stepper.commit_again("a")


# -- the published group --------------------------------------------------------


def test_the_group_says_what_plain_zarr_readers_want_to_know():
    """Step, number, key, code, inputs and outputs stand in its attributes."""
    lab = Lab(a="%%step a\nx = [1]", b="%%step b\ny = x + [2]")
    k = lab.kernel()
    k.go()
    record = k.commits("b")
    key = f"data.zarr/{k.run_id}/{record.manifest.group}/zarr.json"
    found = json.loads(lab.backend.files[key])["attributes"]["nbresume"]

    assert (found["step"], found["commit_number"]) == ("b", 1)
    assert found["inputs"] == record.inputs
    assert found["outputs"]["y"]["type"] == "list"
    assert found["idempotency_key"] == record.idempotency_key


def test_damaged_zarr_metadata_is_told_and_mended_by_the_next_claim():
    """The values are whole: the step replays."""
    lab = Lab(a="%%step a\nx = [1]")
    k = lab.kernel()
    k.go()
    key = f"data.zarr/{k.run_id}/{k.commits('a').manifest.group}/zarr.json"
    whole = lab.backend.files[key]
    lab.backend.files[key] = whole[:-9]
    k = k.restart()

    assert k.go() == []
    assert k.go() == []
    told = [line for line in k.screen.said if "zarr metadata of step a" in line]
    assert len(told) == 1
    lab.edit(b="%%step b\ny = 1")
    k.go()
    assert lab.backend.files[key] == whole


def test_a_damaged_commit_is_not_published_again():
    """There is nothing whole to describe."""
    lab = Lab(a="%%step a\nx = [1]")
    k = lab.kernel()
    k.go()
    group = k.commits("a").manifest.group
    for key in [key for key in lab.backend.files if f"/{group}/" in key]:
        del lab.backend.files[key]
    k = k.restart()

    assert k.go() == ["a"]
    assert f"data.zarr/{k.run_id}/{group}/zarr.json" not in lab.backend.files


def test_a_relative_import_is_not_repeated():
    """It has no meaning in a cell."""
    k = done(a="%%step a\nif False:\n    from . import nothing\nx = 1")

    assert k.commits("a").imports == []


def test_a_patched_module_is_named_as_not_kept():
    """Another kernel imports it without the patch, so what needs it is refused."""
    lab = Lab(
        p="import statistics",
        a="%%step a\nreal = statistics.mean\n"
        "statistics.mean = lambda xs: 0.5 + real(xs)",
        b="%%step b --after a\nm = statistics.mean([1, 2, 3])",
    )
    try:
        k = lab.kernel()
        k.go("p", "a", "b")
        assert k["m"] == 2.5
        assert k.go() == []
        lab.edit(b="%%step b --after a\nm = statistics.mean([1, 2, 3]) + 1")
        assert k.go() == ["b"]
        statistics.mean = REAL_MEAN
        k = lab.kernel()
        lab.edit(b="%%step b --after a\nm = statistics.mean([1, 2, 3]) + 2")
        k.go("p", "a")
        refused = k.run("b")
    finally:
        statistics.mean = REAL_MEAN

    assert refused.error.kind is ErrorKind.NOT_KEPT
    assert "statistics.mean" in refused.text


def test_an_assigned_search_path_is_process_state():
    """It is kept as such, and `sys` remains a module that imports find."""
    before = list(sys.path)
    lab = Lab(p="import sys", a='%%step a\nsys.path = [*sys.path, "/added"]')
    try:
        k = lab.kernel()
        k.go("p", "a")
    finally:
        sys.path[:] = before

    assert k.commits("a").not_kept == {}
    assert "sys.path" in k.commits("a").process
