"""Forks: runs that begin with the commits of another one."""

from dataclasses import replace

import pytest
from unit.run.fakes import Lab
from unit.run.later import LATER

from nbresume.compose import forking
from nbresume.compose.keeping import Kin
from nbresume.compose.migrating import migrator
from nbresume.errors import NotCommitted, NotTrusted, RefusedError
from nbresume.model.borrowed import refs_of
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.plan.planner import Verdict
from nbresume.run.forks import Wanted, plan_fork
from nbresume.run.history import events
from nbresume.run.migrate import Wish
from nbresume.run.recovery import Answer
from nbresume.run.verify import prove, verify
from nbresume.settings import Settings
from nbresume.store.trust import Trust

CELLS = {
    "a": "%%step a\nL = [1]\nbig = bytes(2_000_000)",
    "p": "k = 3",
    "b": "%%step b\nL.append(k)",
    "c": "%%step c\nz = sum(L)",
}


def ran(**more):
    """Return a lab and a kernel that ran all cells."""
    lab = Lab(**CELLS | more)
    k = lab.kernel()
    k.go()
    return lab, k


def payload_bytes(lab, run_id):
    """Return how many bytes of payloads lie in a run's groups."""
    files = lab.backend.files.items()
    return sum(
        len(data) for key, data in files if key.startswith(f"data.zarr/{run_id}/")
    )


def test_a_fork_shares_the_steps_down_to_one():
    """They replay; what stands below is new; the origin stays as it is."""
    lab, k = ran()
    origin, before = k.run_id, lab.records(k.run_id)

    k.fork("b")

    assert k.run_id != origin
    assert lab.records(k.run_id) == ["forked"]
    states = [(step.name, step.state, step.plan) for step in k.view().steps]
    assert states == [
        ("a", State.COMMITTED, Verdict.REPLAY),
        ("b", State.COMMITTED, Verdict.REPLAY),
        ("c", State.NEW, Verdict.RERUN),
    ]
    assert (k["L"], k["k"]) == ([1, 3], 3)
    assert "z" not in k
    assert k.go() == ["c"]
    assert lab.records(origin) == before


def test_no_payload_is_copied():
    """Payloads lie where they lay: the fork holds decisions."""
    lab, k = ran()

    k.fork("c")

    assert payload_bytes(lab, k.run_id) < 20_000
    assert len(k["big"]) == 2_000_000
    manifests = {ref.run for ref in refs_of(k.journal.state)}
    assert manifests == {k.journal.state.origin.run}


def test_the_notebook_goes_on_with_the_fork():
    """After a restart too; nothing of what is shared runs."""
    _, k = ran()
    k.fork("b")
    fork = k.run_id

    k = k.restart()

    assert k.run_id == fork
    assert k.go() == ["c"]
    assert k["z"] == 4
    assert k.restart().go() == []


def test_the_fork_outlives_folds_and_edits():
    """Shared commits are found again by key, also behind many newer ones."""
    lab, k = ran()
    k.fork("c")
    for number in range(2, 12):
        lab.edit(a=CELLS["a"].replace("[1]", f"[{number}]"))
        k.go()
    k = k.restart()

    lab.edit(a=CELLS["a"])

    assert k.go() == []
    assert k["z"] == 4
    assert "is current again" in "\n".join(k.screen.said)


def test_commits_keep_their_numbers():
    """The next commit of a shared step has the next number."""
    lab, k = ran()
    lab.edit(a=CELLS["a"].replace("[1]", "[2]"))
    k.go()
    k.fork("a")
    assert k.commits("a").commit_number == 2

    lab.edit(a=CELLS["a"].replace("[1]", "[5]"))
    k.go("a")

    assert k.commits("a").commit_number == 3
    k.undo()
    assert k["L"] == [2]


def test_a_fork_begins_at_any_commit():
    """``STEP@COMMIT``: with the commits that counted when it was made."""
    lab, k = ran()
    lab.edit(a=CELLS["a"].replace("[1]", "[2]"))
    k.go()
    assert k["z"] == 5

    k.fork("b@1")

    assert k.step("a").state is State.STALE  # so it is where the fork goes on
    lab.edit(a=CELLS["a"])
    k.resume()
    assert k["L"] == [1, 3]
    assert k.go() == ["c"]


def test_a_plain_cells_value_that_a_step_read_is_shared():
    """In a kernel that never ran the plain cell the shared step replays."""
    _, k = ran()
    k.fork("b")
    k = k.restart()

    assert k.go("b") == []
    assert k["L"] == [1, 3]


def test_a_fork_of_a_fork():
    """Each payload is found in the run that stored it."""
    lab, k = ran()
    origin = k.run_id
    k.fork("a")
    middle = k.run_id
    k.go()
    k.fork("c")
    k = k.restart()

    assert k.go() == []
    assert (k["L"], k["z"], len(k["big"])) == ([1, 3], 4, 2_000_000)
    assert {ref.run for ref in refs_of(k.journal.state)} == {origin, middle}
    kin = Kin(lab.store(), lab.world())
    (family,) = kin.families()
    assert {*family} == {origin, middle, k.run_id}
    assert kin.family(family).forks_of(middle) == [middle, k.run_id]
    assert lab.store().runs().origin(origin) is None


def test_the_first_record_names_the_origin():
    """Run, revision, and the digest of the record there: the link that is signed."""
    lab, k = ran()
    origin, digest = k.run_id, k.journal.state.digest

    k.fork("b")

    found = lab.store().runs().origin(k.run_id)
    assert (found.run, found.revision, found.digest) == (origin, 6, digest)
    assert (found.at, found.steps, found.chain) == ("b", ["a", "b"], "")
    assert k.journal.state.origin == found
    (told,) = events(k.journal.envelopes())
    assert told.text.endswith("began the run as a fork")
    assert told.why == f"run {origin} up to step b, revision 6"


def test_a_fork_is_verified_down_to_the_shared_payloads():
    """Every digest of what it shares is checked, and a step's proof is its fork's."""
    lab, k = ran()
    origin = k.run_id
    k.fork("b")

    report = verify(k.journal)
    proof = prove(k.journal, "a")

    assert report.problems == []
    assert report.payload_bytes > 2_000_000
    assert proof.revision == 0
    group = k.commits("a").manifest.group
    key = f"data.zarr/{origin}/{group}/pack/c.0"
    lab.backend.files[key] = b"\0" * len(lab.backend.files[key])
    assert verify(k.journal).problems != []


def test_undo_in_a_fork_goes_back_over_what_is_shared():
    """The moments of the origin's commits are told in their order."""
    _, k = ran()
    k.fork("c")
    k.session.stepper.stand_at(["a", "b", "c"])
    k.checkout("c")

    k.undo()
    assert ("z" in k, k["L"]) == (False, [1, 3])
    k.undo()
    assert k["L"] == [1]
    k.undo()
    assert "L" not in k


def test_a_step_that_was_renamed_or_lost_its_cell_is_shared():
    """Only what stands below is not: an orphan's lock must hold in the fork too."""
    lab, k = ran(d="%%step d --effects\nw = 1")
    lab.delete("d")

    k.fork("a")

    assert k.commits("d").effects == ["it declared --effects"]


def test_effects_below_are_told():
    """They are new in the fork, so they would act again."""
    _, k = ran(d="%%step d --effects\nw = 1")

    assert k.fork("c").planned.acts == ("d",)
    assert k.step("d").state is State.NEW


def test_effects_that_are_shared_stay_locked_and_replay():
    """A recorded effect of a shared step is not called in the fork."""
    cell = "%%step d\nfrom nbresume import effect\nr = effect('pay', pay)\nw = {}"
    lab = Lab(d=cell.format(1))
    calls = []
    lab.tools["pay"] = lambda: calls.append(1) or [7]
    k = lab.kernel()
    k.go()
    k.fork("d")

    lab.edit(d=cell.format(2))
    assert k.go() == []
    assert k.last.how == "refused"
    k.parts.recovery.rerun("d", because="a fork")
    assert k.go() == ["d"]
    assert (calls, k["r"]) == ([1], [7])


def test_a_fork_of_another_run_of_the_store():
    """The kernel leaves its run; names that its steps made go."""
    lab, k = ran()
    origin = k.run_id
    other = lab.kernel(run_id="e" * 16)
    lab.edit(d="%%step d\nmine = 1")
    other.go("d")

    other.fork("c", run_id=origin)

    assert other["z"] == 4
    assert "mine" not in other
    assert other.journal.state.origin.run == origin


def test_what_a_fork_would_lose_is_said_first():
    """Values that no record holds: nothing has begun."""
    lab, k = ran(d="%%step d\nw = 1\n1 / 0")
    runs = lab.store().runs().ids()

    with pytest.raises(RefusedError, match=r"w \(left by step d.*--at c --yes"):
        k.fork("c")
    assert k["w"] == 1
    assert lab.store().runs().ids() == runs
    k.fork("c", yes=True)
    assert "w" not in k


# -- refusals ---------------------------------------------------------------------


def check_refused(lab, k, at, told, kind=RefusedError, **options):
    """Assert that a fork is refused and that nothing is written."""
    before = dict(lab.backend.files)
    with pytest.raises(kind, match=told):
        k.fork(at, **options)
    assert lab.backend.files == before


def test_an_unknown_run_is_refused():
    """The runs that there are are named."""
    lab, k = ran()

    check_refused(
        lab, k, "a", rf"one of its runs \({k.run_id}\)", NotCommitted, run_id="nope"
    )


@pytest.mark.parametrize(
    ("at", "told"),
    [("nope", "has no step nope"), ("a@9", "no commit 9"), ("d", "no commit in this")],
)
def test_an_unknown_or_uncommitted_step_is_refused(at, told):
    """What is committed is named."""
    lab, k = ran(d="%%step d\n1 / 0")

    check_refused(lab, k, at, told, NotCommitted, yes=True)


def test_a_step_without_a_cell_is_refused():
    """Nobody can say what stands below it."""
    lab, k = ran()
    lab.delete("c")

    check_refused(lab, k, "c", "no cell of this notebook carries step c")


def test_a_step_in_doubt_is_refused():
    """A fork does not forget a doubt of what it would share, or of its beginning."""
    lab = Lab(**CELLS, d="%%step d --effects\ndie()", e="%%step e\nw = 1")
    k = lab.kernel()
    k.go()
    k = lab.kernel()
    k.go("a", "p", "b", "c")
    lab.delete("d")
    lab.insert("a", d="%%step d --effects\ndie()")

    check_refused(lab, k, "c", r"step d is ambiguous \(in doubt\).*%steps explain d")
    k.parts.recovery.resolve("d", Answer(How.RETRY, "looked"), k.session.order())
    k.fork("c")


def test_a_step_below_in_doubt_is_none_of_the_forks_business():
    """It is told as one that may have acted."""
    lab = Lab(**CELLS, d="%%step d --effects\ndie()")
    lab.kernel().go()
    k = lab.kernel()
    k.go("a", "p", "b", "c")

    assert k.fork("c").planned.acts == ("d",)


def test_a_step_that_failed_since_its_commit_is_refused_with_the_way_out():
    """Which commit is meant has to be said."""
    lab, k = ran()
    lab.edit(b=CELLS["b"] + "\n1 / 0")
    k.go("b")

    check_refused(lab, k, "b", r"step b failed when.*--at b@1", yes=True)
    lab.edit(b=CELLS["b"])
    k.fork("b@1", yes=True)
    assert k["L"] == [1, 3]


def test_an_attempt_in_flight_is_refused():
    """Another kernel runs a step that would be shared."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go()
    seen = []

    def during():
        other = lab.kernel()
        wanted = Wanted(k.run_id, "c")
        try:
            forking.plan(
                lab.store(), wanted, other.world, Settings(), other.session.order()
            )
        except RefusedError as error:
            seen.append(str(error))

    lab.edit(b="%%step b\nduring()\nL.append(k)")
    k.namespace["__builtins__"]["during"] = during
    k.go("b")

    assert "step b is running" in seen[0]


def test_an_erased_payload_is_refused():
    """A group that is gone: which step to run again is said."""
    lab, k = ran()
    group = k.commits("a").manifest.group
    for key in [key for key in lab.backend.files if f"/{group}/" in key]:
        del lab.backend.files[key]

    check_refused(lab, k, "b", "erased or damaged.*run that step again", NotCommitted)


def test_a_foreign_run_is_refused_until_it_is_trusted():
    """Its values would be loaded as code."""
    lab, k = ran()
    origin = k.run_id
    lab.trust = Trust(b"o" * 32)
    other = lab.kernel(run_id="e" * 16)

    check_refused(lab, other, "b", "nbresume trust", NotTrusted, run_id=origin)
    newest = max(
        key for key in lab.backend.files if key.startswith(f"journal/{origin}")
    )
    link = lab.store().chain(origin).read(int(newest[-14:-4]))
    lab.trust = Trust(b"o" * 32, pins={(origin, link.revision): link.digest})
    other = lab.kernel(run_id="e" * 16)
    other.fork("b", run_id=origin)
    assert other["L"] == [1, 3]
    # the fork's own record vouches for all of it
    lab.trust = Trust(b"o" * 32)
    assert lab.kernel(run_id=other.run_id).go("a", "b") == []


def test_two_kernels_that_fork_at_once_make_one_run():
    """The later one is told, and finds the run there."""
    lab, k = ran()
    other = lab.kernel()
    other.go()
    wanted = Wanted(k.run_id, "b")
    settings, order = Settings(), k.session.order()
    fork = forking.plan(lab.store(), wanted, k.world, settings, order)
    run_id = lab.store().runs().next_id(lab.notebook.path)
    forking.begin(fork, run_id)

    with pytest.raises(RefusedError, match="has begun already"):
        forking.begin(replace(fork, world=other.world), run_id)


def test_a_fork_that_lost_its_shared_state_is_refused_not_empty():
    """Nothing else tells what it shares."""
    lab, k = ran()
    k.fork("b")
    for key in [k_ for k_ in lab.backend.files if "-origin/pack/c.0" in k_]:
        del lab.backend.files[key]

    with pytest.raises(Exception, match="cannot be read"):
        k.restart()


def migrate(lab, run_id):
    """Migrate a run as the later release does; its kernels read that from now on."""
    lab.schemas = LATER.schemas
    work = migrator(lab.store(), lab.world(alive=False), formats=LATER)
    return work.migrate(lab.store().chain(run_id), Wish("a new release"))


def test_a_fork_is_migrated_like_any_run():
    """Its first record goes along, and it is fenced by a claim of its own."""
    lab, k = ran()
    k.fork("b")
    k.go()
    k.kill()

    assert migrate(lab, k.run_id) is not None
    later = lab.kernel(run_id=k.run_id)

    assert later.journal.chain_id == f"{k.run_id}.2"
    assert later.journal.state.origin == k.journal.state.origin
    assert later.go() == []
    assert later["z"] == 4


def test_a_run_that_was_migrated_is_forked_in_the_chain_where_it_goes_on():
    """The first record names that chain."""
    lab, k = ran()
    origin = k.run_id
    k.kill()
    migrate(lab, origin)
    later = lab.kernel(run_id=origin)
    journal, order = later.journal, later.session.order()

    planned = plan_fork(Wanted(origin, "b"), journal, order, later.parts.recovery.state)

    assert planned.origin.chain == f"{origin}.2"
