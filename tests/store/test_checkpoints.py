"""Checkpoints with compare-and-swap, as users meet them."""

from itertools import count

import pytest
from store_checks import NOW, break_file, flip

from nbresume.errors import (
    CaptureError,
    ConflictError,
    Damaged,
    NotCommitted,
    NotTrusted,
    Unavailable,
    UsageError,
)
from nbresume.store.chain import Chain
from nbresume.store.checkpoints import CheckpointStore
from nbresume.store.trust import Trust


def store_of(backend, trust=None):
    """Return a checkpoint store with a clock that stands and counted nonces."""
    numbers = count()
    return CheckpointStore(
        backend,
        trust or Trust(b"k" * 32),
        now=lambda: NOW,
        new_nonce=lambda: f"{id(numbers):x}-{next(numbers)}",
    )


@pytest.fixture
def store(memory):
    """Return an empty checkpoint store."""
    return store_of(memory)


def begun(store, payload=None):
    """Create the checkpoint ``order``."""
    first = store.initial("order", kind="acme.order", payload=payload or {"n": 0})
    return store.compare_and_swap(first, expected=None)


def test_a_checkpoint_is_created_changed_and_loaded(store):
    """The newest revision is what was stored last."""
    first = begun(store)
    second = store.compare_and_swap(store.next(first, {"n": 1}), expected=0)

    assert (first.revision, second.revision) == (0, 1)
    assert second.payload == {"n": 1}
    assert store.load("order") == second
    assert store.history("order") == [first, second]


def test_what_does_not_exist_is_not_loaded(store):
    """A checkpoint that nobody created is told, not made up."""
    with pytest.raises(NotCommitted):
        store.load("order")

    assert store.history("order") == []


def test_only_what_was_expected_is_replaced(store):
    """Who saw an older revision, or none, changes nothing."""
    first = begun(store)
    one, other = store.next(first, {"n": 1}), store.next(first, {"n": 2})
    again = store.initial("order", kind="acme.order", payload={})
    kept = store.compare_and_swap(one, expected=0)

    for late, expected in ((other, 0), (other, 1), (again, None), (again, 1)):
        with pytest.raises(ConflictError):
            store.compare_and_swap(late, expected=expected)

    assert store.load("order") == kept


def test_nothing_is_appended_to_nothing(store):
    """Revision 1 needs a revision 0."""
    first = store.initial("order", kind="acme.order", payload={})
    for following, expected in ((store.next(first, {}), 0), (first, 0)):
        with pytest.raises(ConflictError):
            store.compare_and_swap(following, expected=expected)

    with pytest.raises(NotCommitted):
        store.load("order")


def test_what_was_not_made_from_the_stored_one_is_refused(store):
    """A revision that hangs on something that was never stored is not appended."""
    begun(store)
    unstored = store.initial("order", kind="acme.order", payload={"n": 0})

    with pytest.raises(ConflictError, match="not the stored one"):
        store.compare_and_swap(store.next(unstored, {"n": 1}), expected=0)


def test_a_lost_reply_is_recognized(memory, store):
    """Storing the same checkpoint again after a failure succeeds."""
    first = begun(store)
    following = store.next(first, {"n": 1})
    memory.fail_at("create", 1, Unavailable("no reply"), late=True)
    with pytest.raises(Unavailable):
        store.compare_and_swap(following, expected=0)

    kept = store.compare_and_swap(following, expected=0)

    assert kept == store.load("order")
    assert kept.payload == {"n": 1}


def test_two_writers_at_the_same_moment(memory, store):
    """Of two that both saw revision 0 one is told when it appends."""
    first = begun(store)
    ours, theirs = store.next(first, {"n": 1}), store.next(first, {"n": 2})
    create = memory.create

    def overtaken(key, data, **options):
        memory.create = create
        store_of(memory).compare_and_swap(theirs, expected=0)
        create(key, data, **options)

    memory.create = overtaken

    with pytest.raises(ConflictError, match="another writer"):
        store.compare_and_swap(ours, expected=0)

    assert store.load("order").payload == {"n": 2}


@pytest.mark.parametrize(
    "payload",
    [
        {"a": float("nan")},
        {"a": [1, {"b": float("inf")}]},
        {"a": (1, 2)},
        {"a": {1, 2}},
        {"a": b"x"},
        {1: "a"},
        {"a": {None: 1}},
        {"a": 2**64},
        {"a": "\ud800"},
        {"\ud800": 1},
        {"a": NOW},
        [1],
        None,
    ],
)
def test_a_payload_that_would_come_back_changed_is_refused(store, payload):
    """What JSON cannot hold exactly is refused, with its place."""
    with pytest.raises(CaptureError, match="JSON has no exact form"):
        store.initial("order", kind="acme.order", payload=payload)


def test_a_payload_comes_back_exactly(store):
    """All of JSON comes back with the types that it had."""
    payload = {
        "a": [None, True, 1, 1.0, -0.0, 2**64 - 1, -(2**63), "ä\n€😀", 1e300, 0.1],
        "": {"b": {}, "c": []},
    }

    begun(store, payload)

    assert repr(store.load("order").payload["a"]) == repr(payload["a"])
    assert store.load("order").payload == payload


def test_a_payload_is_copied(store):
    """A later change of the dictionary does not reach what is stored."""
    payload = {"n": [0]}
    first = store.initial("order", kind="acme.order", payload=payload)
    payload["n"].append(1)

    assert store.compare_and_swap(first, expected=None).payload == {"n": [0]}


def test_the_products_own_kinds_are_refused(memory, store, trust):
    """Users do not write into the chains by which nbresume decides."""
    begun(store)
    own = store.initial("run", kind="acme.run", payload={})
    own = type(own)(
        **{name: getattr(own, name) for name in own.__struct_fields__}
        | {"kind": "nbresume.claim"}
    )
    Chain(memory, trust, "run").append(own)

    with pytest.raises(UsageError, match="written by nbresume alone"):
        store.initial("order", kind="nbresume.claim", payload={})
    with pytest.raises(UsageError, match="written by nbresume alone"):
        store.compare_and_swap(own, expected=None)
    with pytest.raises(UsageError, match="namespaced"):
        store.initial("order", kind="order", payload={})
    with pytest.raises(UsageError, match="written by nbresume alone"):
        store.compare_and_swap(
            store.initial("run", kind="acme.run", payload={}), expected=None
        )
    with pytest.raises(UsageError):
        store.initial("../order", kind="acme.order", payload={})


def test_a_damaged_head_is_told(local, trust):
    """A damaged checkpoint is not loaded, and not written over."""
    store = store_of(local, trust)
    first = begun(store)
    following = store.next(first, {"n": 1})
    break_file(local.root / "journal" / "order" / "0000000000.rec", flip(20))

    for attempt in (
        lambda: store.load("order"),
        lambda: store.history("order"),
        lambda: store.compare_and_swap(following, expected=0),
    ):
        with pytest.raises(Damaged):
            attempt()


def test_a_hole_in_the_history_is_told(local, trust):
    """A record that was deleted is missed."""
    store = store_of(local, trust)
    first = begun(store)
    store.compare_and_swap(store.next(first, {"n": 1}), expected=0)
    (local.root / "journal" / "order" / "0000000000.rec").unlink()

    with pytest.raises(Damaged, match="a revision is missing"):
        store.history("order")


def test_a_record_put_in_the_place_of_another_is_told(memory, trust):
    """History that was exchanged, even for a signed record, is noticed."""
    store = store_of(memory, trust)
    first = begun(store)
    store.compare_and_swap(store.next(first, {"n": 1}), expected=0)
    del memory.files["journal/order/0000000000.rec"]
    other = store.initial("order", kind="acme.order", payload={"n": 7})
    Chain(memory, trust, "order").append(other)

    with pytest.raises(Damaged):
        store.history("order")

    assert store.load("order").payload == {"n": 1}


def test_a_foreign_checkpoint_is_refused(memory):
    """What was written under another key is not loaded before it is trusted."""
    begun(store_of(memory, Trust(b"o" * 32)))
    store = store_of(memory)

    with pytest.raises(NotTrusted):
        store.load("order")
    with pytest.raises(NotTrusted):
        store.history("order")
    with pytest.raises(NotTrusted):
        begun(store)


def test_times_decide_nothing(memory, trust):
    """A clock that goes backwards changes no outcome."""
    clock = iter([NOW.replace(year=2030), NOW.replace(year=1999)])
    store = CheckpointStore(
        memory, trust, now=lambda: next(clock), new_nonce=iter("abcdef").__next__
    )

    second = store.compare_and_swap(store.next(begun(store), {"n": 1}), expected=0)

    assert store.load("order") == second
    assert second.updated_at.year == 1999
