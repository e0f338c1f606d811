"""One function over many pieces: order, what fails, and who works."""

import threading
import time

import pytest

from nbresume.model.threads import in_threads


@pytest.mark.parametrize("threads", [1, 2, 8])
@pytest.mark.parametrize("count", [0, 1, 2, 100])
def test_results_are_in_the_order_of_the_pieces(count, threads):
    """However many threads share them."""
    found = in_threads(lambda piece: piece * 2, range(count), threads=threads)

    assert found == [piece * 2 for piece in range(count)]


def test_two_pieces_are_worked_on_at_once():
    """Each waits for the other: one thread alone would never end."""
    both = threading.Barrier(2, timeout=10)

    def work(_piece):
        both.wait()
        return threading.current_thread()

    one, other = in_threads(work, [1, 2])

    assert one is not other
    assert threading.current_thread() in (one, other)


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("where", ["the caller", "another thread"])
def test_after_a_failure_nothing_more_is_begun(error, where):
    """Its error is raised, and no thread is left."""
    caller, before = threading.current_thread(), threading.active_count()
    begun, both = [], threading.Barrier(2, timeout=10)

    def work(piece):
        begun.append(piece)
        if piece < 2:
            both.wait()
        if (threading.current_thread() is caller) is (where == "the caller"):
            raise error
        time.sleep(0.001)
        return piece

    with pytest.raises(error):
        in_threads(work, range(1000))

    assert len(begun) < 1000
    assert threading.active_count() == before
