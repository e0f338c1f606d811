"""A run in the formats of a later release: beside the old one, then a switch."""

import msgspec
import pytest
from unit.run.fakes import Killed, Lab
from unit.run.later import LATER, Committed2

from nbresume.compose.migrating import migrator
from nbresume.errors import (
    ConflictError,
    Damaged,
    FencedError,
    NotTrusted,
    RefusedError,
    SchemaError,
    TakenRun,
)
from nbresume.model.codec import SCHEMAS
from nbresume.model.states import State
from nbresume.model.values import How
from nbresume.run.history import events
from nbresume.run.migrate import CURRENT, Wish
from nbresume.run.recovery import Answer
from nbresume.store.trust import Trust

WISH = Wish("a new release")
CELLS = {
    "a": "%%step a\nx = [1, 2]",
    "b": "%%step b\nraise ValueError",
    "m": "%%step m --effects\ndie()",
    "c": "%%step c\ny = sum(x)",
}


def written():
    """Return a lab with a run of several kinds of record, and the run's id."""
    lab = Lab(**CELLS)
    k = lab.kernel()
    k.go("a", "b")
    k.go("c")
    k.go("m")
    k = lab.kernel()
    k.parts.recovery.resolve("m", Answer(How.RETRY, "nothing arrived"))
    k.kill()
    return lab, k.run_id


def migrate(lab, run_id, *, wish=WISH, formats=LATER):
    """Migrate the run as the later release does."""
    work = migrator(lab.store(), lab.world(alive=False), formats=formats)
    return work.migrate(lab.store().chain(run_id), wish)


def undo(lab, run_id, *, wish=WISH):
    """Undo the migration as the later release does."""
    work = migrator(lab.store(), lab.world(alive=False), formats=LATER)
    return work.undo(lab.store().chain(run_id), wish)


def later(lab):
    """Start a kernel with the later release."""
    lab.schemas = LATER.schemas
    return lab.kernel()


def earlier(lab):
    """Start a kernel with the release that wrote the run."""
    lab.schemas = SCHEMAS
    return lab.kernel()


def journal(lab):
    """Return the bytes of every record of the store."""
    return {k: v for k, v in lab.backend.files.items() if k.startswith("journal/")}


def told(state):
    """Return what a run's records say about its steps, without their format."""
    plain = msgspec.to_builtins(
        [state.steps, state.usage, state.ambient, state.next_object], str_keys=True
    )
    for history in plain[0].values():
        for record in [c["record"] for c in history["commits"].values()]:
            record.pop("interpreter", None)
            record.pop("fold", None)
        if history["attempt"]:
            history["attempt"]["intent"].pop("row", None)
    return plain


def test_the_run_goes_on_where_it_was():
    """The later release replays what the earlier one committed."""
    lab, run_id = written()
    before = told(earlier(lab).journal.state)

    moved = migrate(lab, run_id)

    k = later(lab)
    assert moved.changes == {"nbresume.committed": (1, 2), "nbresume.intent": (1, 2)}
    assert k.run_id == run_id
    assert told(k.journal.state) == before
    assert isinstance(k.commits("a"), Committed2)
    assert k.go("a") == []
    assert k["x"] == [1, 2]
    assert k.go("c") == []
    assert k["y"] == 3


def test_it_goes_on_with_records_of_its_own():
    """The chain is the new one; the old one is closed and complete."""
    lab, run_id = written()
    migrate(lab, run_id)
    old = {k: v for k, v in journal(lab).items() if f"/{run_id}/" in k}
    k = later(lab)

    k.parts.claims.ensure(k.session.order())
    k.parts.recovery.rerun("a", because="a test")

    newest = k.journal.envelopes()[-1].envelope
    assert (newest.id, newest.run_id) == (f"{run_id}.2", run_id)
    assert {k: v for k, v in journal(lab).items() if f"/{run_id}/" in k} == old
    assert later(lab).journal.state.steps["a"].rerun is not None


def test_the_audit_trail_tells_of_the_migration():
    """Between what was taken along and what came after; nothing is told twice."""
    lab, run_id = written()
    migrate(lab, run_id)
    k = later(lab)
    k.parts.claims.ensure(k.session.order())

    found = events(k.journal.envelopes(), closings=k.journal.closing_records())

    claimed, moved, again = found[-3:]
    assert (claimed.kind, again.kind) == ("nbresume.claim", "nbresume.claim")
    assert f"goes on in chain {run_id}.2: nbresume." in moved.text
    assert (moved.why, moved.actor) == ("a new release", "someone")
    assert [e.kind for e in found].count("nbresume.migration") == 1
    assert [e.revision for e in found[:-2]] == list(range(len(found) - 2))


def test_no_record_is_replaced():
    """The old chain only gets a claim and the migration; values are not touched."""
    lab, run_id = written()
    before = dict(lab.backend.files)

    migrate(lab, run_id)

    assert before.items() <= lab.backend.files.items()
    added = [k for k in lab.backend.files if k not in before and f"/{run_id}/" in k]
    assert len(added) == 2
    links = lab.store().read_chain(run_id)
    assert [link.envelope.kind for link in links[-2:]] == [
        "nbresume.claim",
        "nbresume.migration",
    ]
    assert links[-2].envelope.epoch == links[-3].envelope.epoch + 1


def test_the_release_before_is_refused_then_and_writes_nothing():
    """It says what it found, what it reads, and who wrote it."""
    lab, run_id = written()
    migrate(lab, run_id)
    before = dict(lab.backend.files)

    with pytest.raises(SchemaError, match=r"version 2, written by .* reads .* 1"):
        earlier(lab)
    assert lab.backend.files == before


def test_the_later_release_asks_for_the_migration():
    """It reads no record of a schema that it has left, and says what to type."""
    lab, _ = written()
    before = dict(lab.backend.files)

    with pytest.raises(SchemaError, match="Type nbresume migrate"):
        later(lab)
    assert lab.backend.files == before


def test_nothing_is_done_twice():
    """A run that can be read is left as it is."""
    lab, run_id = written()
    before = dict(lab.backend.files)
    assert migrate(lab, run_id, formats=CURRENT).changes == {}
    assert lab.backend.files == before
    migrate(lab, run_id)
    before = dict(lab.backend.files)

    again = migrate(lab, run_id)

    assert (again.changes, again.chain) == ({}, f"{run_id}.2")
    assert lab.backend.files == before


def test_a_format_without_a_way_is_refused_before_anything_is_written():
    """A newer record than this release knows, or a version that nobody leads out of."""
    lab, run_id = written()
    migrate(lab, run_id)
    before = dict(lab.backend.files)

    with pytest.raises(SchemaError):
        migrate(lab, run_id, formats=CURRENT)
    assert lab.backend.files == before


def test_a_foreign_run_is_not_signed_anew():
    """Whoever migrates vouches for every record."""
    lab, run_id = written()
    lab.trust = Trust(b"o" * 32)
    before = dict(lab.backend.files)

    with pytest.raises(NotTrusted):
        migrate(lab, run_id)
    assert lab.backend.files == before


# -- other kernels --------------------------------------------------------------


def test_a_living_kernel_stops_it():
    """Nothing is written while somebody may be at work."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    before = dict(lab.backend.files)

    with pytest.raises(TakenRun, match="pid 100 on host-1"):
        migrate(lab, k.run_id)
    assert lab.backend.files == before


def test_a_running_kernel_is_fenced():
    """By a person's word; it learns so at its next append, and starts no body."""
    lab = Lab(a="%%step a\nx = 1", b="%%step b\ny = x")
    k = lab.kernel()
    k.go("a")

    migrate(lab, k.run_id, wish=Wish("now", take_over=True))
    before = journal(lab)

    outcome = k.run("b")
    assert outcome.how == "fenced"
    assert "was migrated and goes on in chain" in outcome.text
    assert lab.ledger == ["a"]
    with pytest.raises(FencedError):
        k.parts.claims.ensure(k.session.order(), take_over=True)
    with pytest.raises(FencedError):
        k.parts.recovery.rerun("a", because="a test")
    assert journal(lab) == before


@pytest.mark.parametrize("at", ["the claim", "the migration"])
def test_an_append_in_between_stops_it(at):
    """What was decided meanwhile is neither lost nor overwritten."""
    lab, run_id = written()
    decider = lab.kernel()
    create = lab.backend.create
    suffix = {"the claim": run_id, "the migration": f"{run_id}.2"}[at]

    def decide_first(key, data, **options):
        lab.backend.create = create
        if at == "the migration":
            create(key, data, **options)
        decider.parts.recovery.rerun("a", because="meanwhile")
        if at == "the claim":
            create(key, data, **options)

    def watch(key, data, **options):
        if f"/{suffix}/" in key:
            decide_first(key, data, **options)
        else:
            create(key, data, **options)

    lab.backend.create = watch
    with pytest.raises(ConflictError):
        migrate(lab, run_id)

    migrate(lab, run_id)
    assert later(lab).journal.state.steps["a"].rerun.because == "meanwhile"


# -- crashes --------------------------------------------------------------------


def writes_of_a_migration():
    """Return how many keys a migration of the run creates."""
    lab, run_id = written()
    before = len(lab.backend.files)
    migrate(lab, run_id)
    return len(lab.backend.files) - before


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("nth", range(1, writes_of_a_migration() + 1))
def test_a_migration_that_is_cut_off_anywhere_is_finished_later(nth, late):
    """Until the last record the old release reads the run; then the new one does."""
    lab, run_id = written()
    before = told(earlier(lab).journal.state)
    whole, _ = written()
    migrate(whole, run_id)
    wanted = told(later(whole).journal.state)

    lab.backend.fail_at("create", nth, Killed(), late=late)
    with pytest.raises(Killed):
        migrate(lab, run_id)

    is_done = late and nth == writes_of_a_migration()
    if is_done:
        with pytest.raises(SchemaError):
            earlier(lab)
    else:
        assert told(earlier(lab).journal.state) == before
        with pytest.raises(SchemaError, match="Type nbresume migrate"):
            later(lab)
    assert migrate(lab, run_id).chain == f"{run_id}.2"
    assert told(later(lab).journal.state) == wanted


def test_the_old_release_may_go_on_after_a_cut():
    """What it wrote then is migrated with the rest."""
    lab, run_id = written()
    lab.backend.fail_at("create", 6, Killed())
    with pytest.raises(Killed):
        migrate(lab, run_id)
    lab.edit(a="%%step a\nx = [4]")
    k = earlier(lab)
    k.go("a")
    k.kill()

    migrate(lab, run_id)

    k = later(lab)
    assert k.go("a") == []
    assert k["x"] == [4]


def test_a_copy_that_came_out_otherwise_is_left_alone():
    """Another release had begun: its records are no part of this migration."""
    lab, run_id = written()
    lab.backend.fail_at("create", 6, Killed())
    with pytest.raises(Killed):
        migrate(lab, run_id)
    begun = {k: v for k, v in journal(lab).items() if f"{run_id}.2" in k}
    commit_key = ("nbresume.committed", 1)
    other = {
        **LATER.upgrades,
        commit_key: lambda payload: payload | {"interpreter": "another"},
    }

    moved = migrate(lab, run_id, formats=with_upgrades(LATER, other))

    assert moved.chain == f"{run_id}.3"
    assert begun.items() <= journal(lab).items()
    assert later(lab).commits("a").interpreter == "another"


def with_upgrades(formats, upgrades):
    """Return the formats with other ways."""
    return type(formats)(formats.schemas, upgrades)


# -- damage ---------------------------------------------------------------------


@pytest.mark.parametrize("how", ["truncated", "missing"])
def test_a_damaged_record_keeps_its_place(how):
    """What it said stays undecided; its bytes are there as they were found."""
    lab, run_id = written()
    key = f"journal/{run_id}/{2:010d}.rec"
    if how == "missing":
        del lab.backend.files[key]
    else:
        lab.backend.files[key] = lab.backend.files[key][:50]
    before = told(earlier(lab).journal.state)

    migrate(lab, run_id)

    k = later(lab)
    assert told(k.journal.state) == before
    assert k.journal.state.damaged == [2]
    copied = lab.backend.files[f"journal/{run_id}.2/{2:010d}.rec"]
    assert copied == lab.backend.files.get(key, b"")
    assert k.state("a") is State.INTERRUPTED


def test_a_copy_that_the_disk_did_not_keep_is_not_used():
    """It is read back before the switch: the planted fault changes one byte of it."""
    lab, run_id = written()
    before = told(earlier(lab).journal.state)
    create = lab.backend.create

    def create_badly(key, data, **options):
        create(key, data, **options)
        if key == f"journal/{run_id}.2/{3:010d}.rec":
            lab.backend.files[key] = data.replace(b"nbresume", b"nbresumf")

    lab.backend.create = create_badly
    with pytest.raises(Damaged, match="revision 3 is not what was written"):
        migrate(lab, run_id)
    assert told(earlier(lab).journal.state) == before

    lab.backend.create = create
    assert migrate(lab, run_id).chain == f"{run_id}.3"
    assert told(later(lab).journal.state) == before


def test_a_migration_record_that_is_damaged_is_not_passed_over():
    """Going on in the old chain would forget what was committed in the new one."""
    lab, run_id = written()
    migrate(lab, run_id)
    key = max(k for k in journal(lab) if f"/{run_id}/" in k)
    lab.backend.files[key] = lab.backend.files[key][:-2]
    before = dict(lab.backend.files)

    for release in (later, earlier):
        with pytest.raises(Damaged, match=f"migrated to {run_id}.2"):
            release(lab)
    assert lab.backend.files == before


def test_damage_after_a_migration_was_undone_is_damage_as_ever():
    """The copy is closed: nothing can have been committed there."""
    lab, run_id = written()
    migrate(lab, run_id)
    undo(lab, run_id)
    k = earlier(lab)
    k.parts.recovery.rerun("a", because="a test")
    key = max(k for k in journal(lab) if f"/{run_id}/" in k)
    lab.backend.files[key] = lab.backend.files[key][:-2]

    assert earlier(lab).journal.state.damaged == [int(key[-14:-4])]


def test_a_run_without_a_readable_claim_is_refused():
    """No kernel could be fenced."""
    lab = Lab(a="%%step a\nx = 1")
    k = lab.kernel()
    k.go()
    k.kill()
    lab.backend.files[f"journal/{k.run_id}/{0:010d}.rec"] = b"{"
    before = dict(lab.backend.files)

    with pytest.raises(Damaged, match="no kernel can be fenced"):
        migrate(lab, k.run_id)
    assert lab.backend.files == before


# -- undo -----------------------------------------------------------------------


def test_a_migration_is_undone():
    """The old release goes on as if it had not been; the copy stays, closed."""
    lab, run_id = written()
    before = told(earlier(lab).journal.state)
    migrate(lab, run_id)
    files = dict(lab.backend.files)

    undone = undo(lab, run_id)

    assert undone.chain == run_id
    assert files.items() <= lab.backend.files.items()
    k = earlier(lab)
    assert told(k.journal.state) == before
    assert k.go("a") == []
    lab.edit(a="%%step a\nx = [7]")
    assert k.go("a") == ["a"]


def test_it_can_be_done_again_after_it_was_undone():
    """In a fresh chain; what the old release wrote meanwhile is in it."""
    lab, run_id = written()
    migrate(lab, run_id)
    undo(lab, run_id)
    lab.edit(a="%%step a\nx = [7]")
    k = earlier(lab)
    k.go("a")
    k.kill()

    assert migrate(lab, run_id).chain == f"{run_id}.3"
    k = later(lab)
    assert k.go("a") == []
    assert k["x"] == [7]


def test_there_is_nothing_to_undo():
    """A run that never moved stays where it is."""
    lab, run_id = written()
    before = dict(lab.backend.files)

    assert undo(lab, run_id) is None
    assert lab.backend.files == before


def test_nothing_is_undone_that_would_be_lost():
    """The run has gone on in the new chain."""
    lab, run_id = written()
    migrate(lab, run_id)
    k = later(lab)
    k.parts.claims.ensure(k.session.order())
    k.parts.recovery.rerun("a", because="a test")
    k.kill()
    before = dict(lab.backend.files)

    with pytest.raises(RefusedError, match="1 records were written to it since"):
        undo(lab, run_id)
    assert lab.backend.files == before


def test_a_kernel_that_holds_the_new_chain_stops_the_undoing():
    """It may be at work; with a person's word it is fenced."""
    lab, run_id = written()
    migrate(lab, run_id)
    k = later(lab)
    k.parts.claims.ensure(k.session.order())

    with pytest.raises(TakenRun):
        undo(lab, run_id)
    undo(lab, run_id, wish=Wish("now", take_over=True))
    before = dict(lab.backend.files)

    with pytest.raises(FencedError, match=f"goes on in chain {run_id}"):
        k.journal.refresh() or k.journal.check_fence()
    assert lab.backend.files == before


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("nth", [1, 2])
def test_an_undoing_that_is_cut_off_is_finished_later(nth, late):
    """In the middle of it the run is refused with what to type."""
    lab, run_id = written()
    before = told(earlier(lab).journal.state)
    migrate(lab, run_id)
    lab.backend.fail_at("create", nth, Killed(), late=late)
    with pytest.raises(Killed):
        undo(lab, run_id)

    if (nth, late) in ((1, True), (2, False)):
        with pytest.raises(RefusedError, match="--undo to finish it"):
            earlier(lab)
        with pytest.raises(RefusedError, match="--undo to finish it"):
            migrate(lab, run_id)
    finished = undo(lab, run_id)

    assert (finished is None) is ((nth, late) == (2, True))
    assert told(earlier(lab).journal.state) == before
