"""What workers write into a bucket is read from there, by whoever needs it."""

import pickle

import pytest
from conformance_sealed import sealed
from services import EVERYWHERE

from nbresume.errors import Damaged, Unavailable
from nbresume.model.digests import chunk_digest
from nbresume.store.objects import Objects
from nbresume.store.remote_open import open_remote

RUN = "0123456789abcdef"


def sent(value):
    """Return what another process gets of a value."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


@EVERYWHERE
@pytest.mark.parametrize("over", [lambda store: store, sealed], ids=["clear", "sealed"])
def test_chunks_of_workers_lie_in_the_bucket(bucket, over):
    """A worker opens it by its URL, with the credentials of its own environment."""
    objects = Objects(over(open_remote(bucket)), RUN)
    draft = objects.draft("a1")
    shelf = draft.shelf()
    sink = shelf.array("o1", "<f8", (4,), (2,))
    worker = sent(sink)
    digests = [worker.keep((i,), bytes([i] * 16)) for i in range(2)]
    again = sent(sink).keep((1,), b"x" * 16)
    digest = shelf.adopt(sink, digests, (2,), 16)
    draft.add_to_pack(b"x")
    draft.write()
    place = shelf.places[digest]

    pieces = sent(objects.buffer(place, digest))

    assert again == digests[1] == chunk_digest(bytes([1] * 16))
    assert bytes(pieces.read((1,), digests[1])) == bytes([1] * 16)
    with pytest.raises(Damaged):
        pieces.read((0,), digests[1])
    objects.check(place, digest)
    lying = open_remote(bucket).read(f"data.zarr/{RUN}/a1/o1/c.1")
    assert (bytes([1] * 16) in lying) == (over is not sealed)
    assert not objects.missing([place])


@EVERYWHERE
def test_a_worker_of_another_bucket_is_refused(bucket):
    """It would write where nobody looks."""
    sink = Objects(open_remote(bucket), RUN).draft("a1").shelf().table("o1")
    open_remote(bucket).delete(sink.token)

    with pytest.raises(Unavailable, match="does not see the store"):
        sent(sink).keep_part(0, b"x")
